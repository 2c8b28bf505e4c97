"""`POST /chat`, `/chat/stream`, `/chat/run`, `GET /history/{session_id}`: the doors for pages and API clients.

Streamed or not, the answer comes from the same pipeline; this module only gives it the door's shape.
"""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from quoth.ask.request import ChatRequest, RunRequest, SessionId
from quoth.serve.asking import answer_question, read_question, stream_answer
from quoth.serve.bodies import body_schema
from quoth.serve.deps import owner_of, quoth_of
from quoth.serve.resuming import StreamIds, resumed
from quoth.serve.sessions import HistoryResponse, Limit, Offset, history_view
from quoth.serve.shapes import Responses, answers, event_content, problems
from quoth.serve.views import ChatResponse, RunResponse, answer_view, run_view

router = APIRouter(tags=["chat"])

_EVENTS = event_content("status", "retrieval", "delta", "sources", "grounding", "done", "error")
_STREAM: Responses = {
    200: {
        "description": "status, retrieval, delta*, sources, grounding, done – or error; each with an id and JSON data."
        " With `Last-Event-ID`: the rest of that answer, without asking again",
        "content": _EVENTS,
    },
    204: {"description": "The stream that `Last-Event-ID` names is over"},
    **problems(400, 404, 413, 415, 503),
}


# --- web pages -------------------------------------------------------------------------------------------------------


@router.post("/chat", openapi_extra=body_schema(ChatRequest), responses=answers(ChatResponse, 400, 404, 413, 415, 503))
async def chat(request: Request) -> JSONResponse:
    """Ask the book and get the whole answer at once."""
    _, question = await read_question(request, ChatRequest)
    return JSONResponse(answer_view(await answer_question(request, question)))


@router.post("/chat/stream", openapi_extra=body_schema(ChatRequest), responses=_STREAM)
async def chat_stream(request: Request) -> Response:
    """Ask the book and get the same answer as server-sent events. `Last-Event-ID` resumes a broken stream."""
    if (rest := await resumed(request)) is not None:
        return rest
    _, question = await read_question(request, ChatRequest)
    return await stream_answer(request, question, identify=StreamIds(question))


@router.get("/history/{session_id}", responses=answers(HistoryResponse, 400, 404, 503))
async def history(request: Request, session_id: SessionId, limit: Limit = 50, offset: Offset = 0) -> JSONResponse:
    """The questions and answers of a session, oldest first."""
    library = quoth_of(request).library
    turns, total = await library.turns(session_id, owner=owner_of(request), limit=limit, offset=offset)
    return JSONResponse(history_view(session_id, turns, total))


# --- API clients: the same answer in a shorter shape -----------------------------------------------------------------


@router.post(
    "/chat/run",
    openapi_extra=body_schema(RunRequest),
    responses={
        **answers(RunResponse, 400, 404, 413, 415, 503),
        200: {"model": RunResponse, "content": _EVENTS},  # a JSON body or, with `stream`, events
        204: {"description": "The stream that `Last-Event-ID` names is over"},
    },
)
async def run(request: Request) -> Response:
    """Ask the book and get a shorter answer, or with `stream` the events of /chat/stream."""
    asked, question = await read_question(request, RunRequest)
    if asked.stream:
        return await resumed(request) or await stream_answer(request, question, identify=StreamIds(question))
    return JSONResponse(run_view(await answer_question(request, question)))
