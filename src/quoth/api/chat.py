"""`POST /chat`, `POST /chat/stream`, `GET /history/{session_id}`, `DELETE /session/{session_id}`: S0's doors.

Streamed or not, the answer is that of the one pipeline; here it only gets its clothes.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse

from quoth.api.bodies import documented, read_body
from quoth.api.parts import quoth_of
from quoth.api.problems import problem, request_id_of, take_note
from quoth.api.schemas import STREAM, ChatResponse, HistoryResponse, answers
from quoth.api.sse import Event, EventStream
from quoth.domain import AnswerEvent, Question, Retrieved
from quoth.errors import QuothError
from quoth.requests import ChatRequest, SessionId
from quoth.views import View, answer_view, event_view, history_view

router = APIRouter(tags=["chat"])

Limit = Annotated[int, Query(ge=1, le=100, description="The newest entries, oldest first")]
AnswerEvents = AsyncGenerator[AnswerEvent, None]


async def read_question(request: Request) -> Question:
    quoth = quoth_of(request)
    asked = await read_body(request, ChatRequest)
    book = await quoth.choose_book(asked.book_id)
    return asked.to_question(book=book, request_id=request_id_of(request), top_k=quoth.settings.top_k)


@router.post("/chat", openapi_extra=documented(ChatRequest), responses=answers(ChatResponse, 400, 404, 413, 415, 503))
async def chat(request: Request) -> JSONResponse:
    """Ask the book; the whole answer at once."""
    answer = await quoth_of(request).conversations.answer(await read_question(request))
    return JSONResponse(answer_view(answer))


@router.post("/chat/stream", openapi_extra=documented(ChatRequest), responses=STREAM)
async def chat_stream(request: Request) -> Response:
    """Ask the book; the same answer as server-sent events."""
    events = quoth_of(request).conversations.ask(await read_question(request))
    opening = await until_retrieved(events)

    def explain(error: QuothError) -> View:
        take_note(error, request)
        return problem(error, request_id=request_id_of(request), instance=request.url.path)

    return EventStream(named(opening, events), explain=explain)


async def until_retrieved(events: AnswerEvents) -> list[AnswerEvent]:
    """What happens before the first byte can still fail with a proper status; most failures are failures to find."""
    opening: list[AnswerEvent] = []
    async for event in events:
        opening.append(event)
        if isinstance(event, Retrieved):
            break
    return opening


async def named(opening: Sequence[AnswerEvent], events: AnswerEvents) -> AsyncGenerator[Event, None]:
    async with aclosing(events):
        for event in opening:
            yield event_view(event)
        async for event in events:
            yield event_view(event)


@router.get("/history/{session_id}", responses=answers(HistoryResponse, 400, 404, 503))
async def history(request: Request, session_id: SessionId, limit: Limit = 50) -> JSONResponse:
    """What was asked and answered in a session, oldest first."""
    turns, total = await quoth_of(request).library.turns(session_id, limit=limit)
    return JSONResponse(history_view(session_id, turns, total))


@router.delete("/session/{session_id}", status_code=204, responses=answers(None, 400, 404, 503))
async def forget(request: Request, session_id: SessionId) -> Response:
    """Erase a session and everything asked in it, for good."""
    await quoth_of(request).library.delete_conversation(session_id)
    return Response(status_code=204)
