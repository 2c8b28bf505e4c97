"""`POST /chat/run`: S4's door, for API clients. The same answer as `POST /chat`, and with `stream` the same events."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from quoth.api.asking import answered, read_question, streamed
from quoth.api.bodies import documented
from quoth.api.schemas import STREAM, answers
from quoth.api.thread_schemas import RunResponse
from quoth.requests import RunRequest
from quoth.views import run_view

router = APIRouter(tags=["chat"])

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
