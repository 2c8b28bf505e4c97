"""`GET /session/{id}`, `GET /session/{id}/history`, `DELETE /session/{id}`: a conversation as S4 sees it, a thread."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse

from quoth.ask.request import SessionId
from quoth.ask.threads import LIVE_TURNS
from quoth.serve.deps import owner_of, quoth_of
from quoth.serve.shapes import answers
from quoth.serve.thread_shapes import ThreadHistoryResponse, ThreadResponse
from quoth.serve.thread_views import thread_history_view, thread_view

router = APIRouter(tags=["sessions"])

Limit = Annotated[int, Query(ge=1, le=100, description="The newest exchanges, oldest first")]
Offset = Annotated[int, Query(ge=0, le=2**31 - 1, description="Exchanges to leave out at the new end, to read on")]


@router.get("/session/{session_id}", responses=answers(ThreadResponse, 400, 404, 503))
async def session(request: Request, session_id: SessionId) -> JSONResponse:
    """A session: its live messages, what it is about, whether it is archived."""
    quoth, owner = quoth_of(request), owner_of(request)
    conversation = await quoth.library.conversation(session_id, owner=owner)
    turns = await quoth.library.recent_turns(session_id, owner=owner, limit=LIVE_TURNS)
    return JSONResponse(thread_view(conversation, turns, quoth.clock.now()))


@router.get("/session/{session_id}/history", responses=answers(ThreadHistoryResponse, 400, 404, 503))
async def messages(request: Request, session_id: SessionId, limit: Limit = 50, offset: Offset = 0) -> JSONResponse:
    """All messages of a session, archived ones too: those of the newest exchanges, oldest first."""
    library = quoth_of(request).library
    turns, total = await library.turns(session_id, owner=owner_of(request), limit=limit, offset=offset)
    return JSONResponse(thread_history_view(session_id, turns, total))


@router.delete("/session/{session_id}", status_code=204, responses=answers(None, 400, 404, 503))
async def forget(request: Request, session_id: SessionId) -> Response:
    """Erase a session and everything asked in it, for good."""
    await quoth_of(request).conversations.forget(session_id, owner=owner_of(request))
    return Response(status_code=204)
