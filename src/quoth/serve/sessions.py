"""`GET`, `PATCH`, `DELETE /session/{id}`, `GET /session/{id}/history`: a conversation as a thread of messages.

In: a session id. Out: the shapes below, made by the views below; `GET /history/{id}` of `chat` shows the same turns
as exchanges.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Literal, NotRequired

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from quoth.ask.request import SessionId
from quoth.ask.threads import LIVE_TURNS, ThreadState, archived_messages, state_of, topic_of
from quoth.domain import AnswerMode, ConfidenceLevel, Conversation, ToolUse, Turn
from quoth.serve.bodies import body_schema, read_body
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
        list[UnsupportedSentence], Field(description="Sentences of the response that its sources do not support")
    ]
    interrupted: Annotated[bool, Field(description="The response broke off here")]
    disclaimer: str | None
    fallback_message: str | None
    mode: AnswerMode
    confidence: Annotated[Score | None, Field(description="Null if no verdict is known")]
    confidence_level: ConfidenceLevel | None
    partial: Annotated[bool, Field(description="The response itself says that a part is not in the book")]
    checked: Annotated[int, Field(description="Sentences compared with their sources; 0 if unknown")]
    removed: Annotated[int, Field(description="Unsupported sentences that were removed")]
    suggestions: Annotated[list[Suggestion], Field(description="For a refusal: the nearest sections")]
    missing_terms: Annotated[list[str], Field(description="For a refusal: words that the book never uses")]
    searched_query: str
    model: str | None
    query_time_ms: float
    request_id: str
    rating: Annotated[Literal["up", "down"] | None, Field(description="Set by POST /feedback")]


class HistoryResponse(Shape):
    session_id: Uuid
    entries: list[HistoryEntry]
    total_entries: int


def history_view(session_id: str, turns: Sequence[Turn], total: int) -> HistoryResponse:
    """Oldest first."""
    return {"session_id": session_id, "entries": [entry_view(turn) for turn in turns], "total_entries": total}


def entry_view(turn: Turn) -> HistoryEntry:
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
        "rating": None if turn.feedback is None else turn.feedback.rating,
    }


# --- messages --------------------------------------------------------------------------------------------------------


class ThreadToolCall(Shape):
    """A search for an answer, as a call of the search tool, whether a model made it or not."""

    id: str
    tool_name: Annotated[str, Field(examples=["search_book_content"])]
    arguments: Annotated[str, Field(description="JSON, as written", examples=['{"query": "late subscribers"}'])]
    query: str
    results_count: int
    avg_similarity: Score
    timestamp: Moment
    error: Annotated[str | None, Field(description="Why nothing was searched")]


class ThreadMessage(Shape):
    role: Literal["user", "assistant"]
    content: str
    timestamp: Moment
    confidence: NotRequired[Annotated[Score | None, Field(description="For an assistant's message")]]
    interrupted: NotRequired[Annotated[bool, Field(description="The assistant's message broke off")]]
    tool_calls: NotRequired[
        Annotated[list[ThreadToolCall], Field(description="The searches for the assistant's message, in order")]
    ]


class ThreadMetadata(Shape):
    state: Annotated[
        ThreadState, Field(description="Archived after an hour without a question; the next question resumes it")
    ]
    total_messages: int
    archived_messages: Annotated[
        int, Field(description="Messages older than the live ones; read them at /session/{session_id}/history")
    ]
    book_ids: Annotated[list[str], Field(description="The books that the live messages are about")]
    user_id: Annotated[str | None, Field(description="The key that opened the session")]
    tags: Annotated[list[str], Field(description="Set by PATCH /session/{session_id}")]
    turn_count: Annotated[int, Field(description="Questions asked so far")]
    retrieval_history: Annotated[
        list[ThreadToolCall], Field(description="The searches for the live messages, oldest first")
    ]


class ThreadResponse(Shape):
    """A session as a thread of messages."""

    thread_id: Uuid
    messages: Annotated[list[ThreadMessage], Field(max_length=50, description="The live messages, oldest first")]
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
            "tags": list(conversation.tags),
            "turn_count": conversation.turns,
            "retrieval_history": [_tool_call_view(search) for turn in turns for search in turn.searches],
        },
    }


def messages_view(turns: Sequence[Turn]) -> list[ThreadMessage]:
    """Each turn becomes a question, with the time it was asked, and an answer, with the time it was finished."""
    messages: list[ThreadMessage] = []
    for turn in turns:
        asked = turn.timestamp - timedelta(milliseconds=turn.query_time_ms)
        messages.append({"role": "user", "content": turn.query, "timestamp": timestamp(asked)})
        messages.append(
            {
                "role": "assistant",
                "content": turn.response or turn.fallback_message or "",
                "timestamp": timestamp(turn.timestamp),
                "confidence": None if turn.confidence is None else round(turn.confidence, 4),
                "interrupted": turn.interrupted,
                "tool_calls": [_tool_call_view(search) for search in turn.searches],
            }
        )
    return messages


def _tool_call_view(search: ToolUse) -> ThreadToolCall:
    return {
        "id": search.call.id,
        "tool_name": search.call.name,
        "arguments": search.call.arguments,
        "query": search.query,
        "results_count": search.results,
        "avg_similarity": round(search.average, 4),
        "timestamp": timestamp(search.timestamp),
        "error": search.error or None,
    }


# --- the doors -------------------------------------------------------------------------------------------------------


router = APIRouter(tags=["sessions"])

Limit = Annotated[int, Query(ge=1, le=100, description="How many of the newest exchanges; they come oldest first")]
Offset = Annotated[int, Query(ge=0, le=2**31 - 1, description="How many of the newest exchanges to skip")]


@router.get("/session/{session_id}", responses=answers(ThreadResponse, 400, 404, 503))
async def session(request: Request, session_id: SessionId) -> JSONResponse:
    """A session: its live messages, its topic, and whether it is archived."""
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


class TagsRequest(BaseModel):
    """What to change in a session."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    tags: Annotated[
        list[Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=64, pattern=r"\S")]],
        Field(max_length=20, description="They replace the earlier tags"),
    ]


@router.patch(
    "/session/{session_id}",
    openapi_extra=body_schema(TagsRequest),
    responses=answers(ThreadResponse, 400, 404, 413, 415, 503),
)
async def change(request: Request, session_id: SessionId) -> JSONResponse:
    """Set a session's tags, for clients that sort their threads by them."""
    wanted = await read_body(request, TagsRequest)
    tags = tuple(dict.fromkeys(wanted.tags))
    await quoth_of(request).library.put_tags(session_id, tags, owner=owner_of(request))
    return await session(request, session_id)


@router.delete("/session/{session_id}", status_code=204, responses=problems(400, 404, 503))
async def forget(request: Request, session_id: SessionId) -> Response:
    """Erase a session and everything asked in it for good."""
    await quoth_of(request).conversations.forget(session_id, owner=owner_of(request))
    return Response(status_code=204)
