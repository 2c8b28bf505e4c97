"""`GET /session/{id}`, `GET /session/{id}/history`, `DELETE /session/{id}`: a conversation as a thread of messages.

In: a session id. Out: the shapes below, made by the views below; `GET /history/{id}` of `chat` shows the same turns
as exchanges.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal, NotRequired

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import Field

from quoth.ask.request import SessionId
from quoth.ask.threads import LIVE_TURNS, ThreadState, archived_messages, state_of, topic_of
from quoth.domain import AnswerMode, ConfidenceLevel, Conversation, Turn
from quoth.serve.deps import owner_of, quoth_of
from quoth.serve.shapes import Moment, Score, Shape, Uuid, answers, problems, timestamp
from quoth.serve.views import AnySource, Suggestion, source_view, suggestion_view

# --- exchanges -------------------------------------------------------------------------------------------------------


class UnsupportedSentence(Shape):
    text: str
    reason: str


class HistoryEntry(Shape):
    timestamp: Moment
    query: str
    response: str
    sources: list[AnySource]
    unsupported: Annotated[
        list[UnsupportedSentence], Field(description="Sentences of the response that its sources do not say")
    ]
    interrupted: Annotated[bool, Field(description="The response broke off here")]
    disclaimer: str | None
    fallback_message: str | None
    mode: AnswerMode
    confidence: Annotated[Score | None, Field(description="Null where no verdict is known")]
    confidence_level: ConfidenceLevel | None
    partial: Annotated[bool, Field(description="The response says itself that a part is not in the book")]
    checked: Annotated[int, Field(description="Sentences that were compared with their sources; 0: not known")]
    removed: Annotated[int, Field(description="Unsupported sentences that were taken out")]
    suggestions: Annotated[list[Suggestion], Field(description="The nearest sections, with a refusal")]
    missing_terms: Annotated[list[str], Field(description="Words that the book never uses, with a refusal")]
    searched_query: str
    model: str | None
    query_time_ms: float
    request_id: str


class HistoryResponse(Shape):
    session_id: Uuid
    entries: list[HistoryEntry]
    total_entries: int


def history_view(session_id: str, turns: Sequence[Turn], total: int) -> HistoryResponse:
    """Oldest first."""
    return {"session_id": session_id, "entries": [_entry_view(turn) for turn in turns], "total_entries": total}


def _entry_view(turn: Turn) -> HistoryEntry:
    return {
        "timestamp": timestamp(turn.timestamp),
        "query": turn.query,
        "response": turn.response,
        "sources": [source_view(source) for source in turn.sources],
        "unsupported": [{"text": doubt.text, "reason": doubt.reason} for doubt in turn.doubts],
        "interrupted": turn.interrupted,
        "disclaimer": turn.disclaimer,
        "fallback_message": turn.fallback_message,
        "mode": turn.mode,
        "confidence": None if turn.confidence is None else round(turn.confidence, 4),
        "confidence_level": turn.level,
        "partial": turn.partial,
        "checked": turn.checked,
        "removed": turn.removed,
        "suggestions": [suggestion_view(suggestion) for suggestion in turn.suggestions],
        "missing_terms": list(turn.missing_terms),
        "searched_query": turn.searched_query,
        "model": turn.model,
        "query_time_ms": round(turn.query_time_ms, 2),
        "request_id": turn.request_id,
    }


# --- messages --------------------------------------------------------------------------------------------------------


class ThreadMessage(Shape):
    role: Literal["user", "assistant"]
    content: str
    timestamp: Moment
    confidence: NotRequired[Annotated[Score | None, Field(description="Of an assistant's message")]]
    interrupted: NotRequired[Annotated[bool, Field(description="The assistant's message broke off")]]


class ThreadMetadata(Shape):
    state: Annotated[
        ThreadState, Field(description="Archived after an hour without a question; the next question resumes it")
    ]
    total_messages: int
    archived_messages: Annotated[
        int, Field(description="Older than the live ones: /session/{session_id}/history reads them")
    ]
    book_ids: Annotated[list[str], Field(description="The books that the live messages are about")]
    user_id: Annotated[str | None, Field(description="The key that opened the session")]


class ThreadResponse(Shape):
    """A session as a thread of messages."""

    thread_id: Uuid
    messages: Annotated[list[ThreadMessage], Field(max_length=50, description="The live ones, oldest first")]
    created_at: Moment
    updated_at: Moment
    topic_summary: Annotated[str | None, Field(max_length=200, description="From the fifth exchange on")]
    metadata: ThreadMetadata


class ThreadHistoryResponse(Shape):
    thread_id: Uuid
    messages: list[ThreadMessage]
    total_messages: int


def _thread_view(conversation: Conversation, turns: Sequence[Turn], now: datetime) -> ThreadResponse:
    return {
        "thread_id": conversation.session_id,
        "messages": messages_view(turns),
        "created_at": timestamp(conversation.created_at),
        "updated_at": timestamp(conversation.last_active),
        "topic_summary": topic_of(conversation, turns),
        "metadata": {
            "state": state_of(conversation, now),
            "total_messages": 2 * conversation.turns,
            "archived_messages": archived_messages(conversation),
            "book_ids": sorted({turn.book_id for turn in turns if turn.book_id}),
            "user_id": conversation.owner or None,
        },
    }


def messages_view(turns: Sequence[Turn]) -> list[ThreadMessage]:
    """Each turn is a question and its answer. Both have the time at which the turn was over."""
    messages: list[ThreadMessage] = []
    for turn in turns:
        when = timestamp(turn.timestamp)
        messages.append({"role": "user", "content": turn.query, "timestamp": when})
        messages.append(
            {
                "role": "assistant",
                "content": turn.response or turn.fallback_message or "",
                "timestamp": when,
                "confidence": None if turn.confidence is None else round(turn.confidence, 4),
                "interrupted": turn.interrupted,
            }
        )
    return messages


# --- the doors -------------------------------------------------------------------------------------------------------


router = APIRouter(tags=["sessions"])

Limit = Annotated[int, Query(ge=1, le=100, description="How many exchanges: the newest, shown oldest first")]
Offset = Annotated[int, Query(ge=0, le=2**31 - 1, description="How many of the newest exchanges to skip, to read on")]


@router.get("/session/{session_id}", responses=answers(ThreadResponse, 400, 404, 503))
async def session(request: Request, session_id: SessionId) -> JSONResponse:
    """A session: its live messages, its topic, whether it is archived."""
    quoth, owner = quoth_of(request), owner_of(request)
    conversation = await quoth.library.conversation(session_id, owner=owner)
    turns = await quoth.library.recent_turns(session_id, owner=owner, limit=LIVE_TURNS)
    return JSONResponse(_thread_view(conversation, turns, quoth.clock.now()))


@router.get("/session/{session_id}/history", responses=answers(ThreadHistoryResponse, 400, 404, 503))
async def messages(request: Request, session_id: SessionId, limit: Limit = 50, offset: Offset = 0) -> JSONResponse:
    """All messages of a session, including archived ones: the newest exchanges, oldest first."""
    library = quoth_of(request).library
    turns, total = await library.turns(session_id, owner=owner_of(request), limit=limit, offset=offset)
    body: ThreadHistoryResponse = {
        "thread_id": session_id,
        "messages": messages_view(turns),
        "total_messages": 2 * total,
    }
    return JSONResponse(body)


@router.delete("/session/{session_id}", status_code=204, responses=problems(400, 404, 503))
async def forget(request: Request, session_id: SessionId) -> Response:
    """Erase a session and everything asked in it, for good."""
    await quoth_of(request).conversations.forget(session_id, owner=owner_of(request))
    return Response(status_code=204)
