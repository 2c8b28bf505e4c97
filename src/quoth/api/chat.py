"""`POST /chat`, `POST /chat/stream`, `GET /history/{session_id}`: S0's doors.

Streamed or not, the answer is that of the one pipeline; here it only gets its clothes.
"""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from quoth.api.asking import answered, read_question, streamed
from quoth.api.bodies import documented
from quoth.api.parts import owner_of, quoth_of
from quoth.api.schemas import STREAM, ChatResponse, HistoryResponse, answers
from quoth.api.sessions import Limit, Offset
from quoth.requests import ChatRequest, SessionId
from quoth.threadviews import history_view
from quoth.views import answer_view

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
