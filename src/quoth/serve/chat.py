"""`POST /chat`, `/chat/stream`, `/chat/run`, `GET /history/{session_id}`: the doors for pages and API clients.

Streamed or not, the answer is that of the one pipeline; this module only gives it the door's shape.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from quoth.ask.request import ChatRequest, RunRequest, SessionId
from quoth.serve.asking import answered, read_question, streamed
from quoth.serve.bodies import documented
from quoth.serve.deps import owner_of, quoth_of
from quoth.serve.sessions import Limit, Offset
from quoth.serve.shapes import STREAM, ChatResponse, HistoryResponse, answers
from quoth.serve.thread_shapes import RunResponse
from quoth.serve.thread_views import history_view
from quoth.serve.views import answer_view, run_view

# --- web pages -------------------------------------------------------------------------------------------------------


router = APIRouter(tags=["chat"])


@router.post("/chat", openapi_extra=documented(ChatRequest), responses=answers(ChatResponse, 400, 404, 413, 415, 503))
async def chat(request: Request) -> JSONResponse:
    """Ask the book; the whole answer at once."""
    _, question = await read_question(request, ChatRequest)
    return JSONResponse(answer_view(await answered(request, question)))


@router.post("/chat/stream", openapi_extra=documented(ChatRequest), responses=STREAM)
async def chat_stream(request: Request) -> Response:
    """Ask the book; the same answer as server-sent events."""
    _, question = await read_question(request, ChatRequest)
    return await streamed(request, question)


@router.get("/history/{session_id}", responses=answers(HistoryResponse, 400, 404, 503))
async def history(request: Request, session_id: SessionId, limit: Limit = 50, offset: Offset = 0) -> JSONResponse:
    """What was asked and answered in a session, oldest first."""
    library = quoth_of(request).library
    turns, total = await library.turns(session_id, owner=owner_of(request), limit=limit, offset=offset)
    return JSONResponse(history_view(session_id, turns, total))


# --- API clients: the same answer in a shorter shape -----------------------------------------------------------------

# Either a JSON body or, with `stream`, events.
EVENTS: dict[str, Any] = {"content": STREAM[200]["content"]}


@router.post(
    "/chat/run",
    openapi_extra=documented(RunRequest),
    responses={**answers(RunResponse, 400, 404, 413, 415, 503), 200: {"model": RunResponse, **EVENTS}},
)
async def run(request: Request) -> Response:
    """Ask the book; S4's ChatResponse, or with `stream` the events of /chat/stream."""
    asked, question = await read_question(request, RunRequest)
    if asked.stream:
        return await streamed(request, question)
    return JSONResponse(run_view(await answered(request, question)))
