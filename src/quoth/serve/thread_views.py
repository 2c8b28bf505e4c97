"""A conversation as the JSON of the doors: S0's history, S4's thread. Pure, like `views`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from quoth.ask.threads import archived_messages, state_of, topic_of
from quoth.domain import Conversation, Turn
from quoth.serve.views import View, source_view, timestamp


def turn_view(turn: Turn) -> View:
    """S0 HistoryEntry."""
    return {
        "timestamp": timestamp(turn.timestamp),
        "query": turn.query,
        "response": turn.response,
        "sources": [source_view(source) for source in turn.sources],
        "unsupported": [{"text": doubt.text, "reason": doubt.reason} for doubt in turn.doubts],
        "interrupted": turn.interrupted,
        "disclaimer": turn.disclaimer,
    }


def history_view(session_id: str, turns: Sequence[Turn], total: int) -> View:
    """S0 ConversationHistoryResponse: oldest first."""
    return {"session_id": session_id, "entries": [turn_view(turn) for turn in turns], "total_entries": total}


def messages_view(turns: Sequence[Turn]) -> list[View]:
    """S4 Message: each turn is a question and its answer. Both bear the time at which the turn was over."""
    messages: list[View] = []
    for turn in turns:
        when = timestamp(turn.timestamp)
        said = turn.response or turn.fallback_message or ""
        messages.append({"role": "user", "content": turn.query, "timestamp": when})
        messages.append(
            {
                "role": "assistant",
                "content": said,
                "timestamp": when,
                "confidence": None if turn.confidence is None else round(turn.confidence, 4),
                "interrupted": turn.interrupted,
            }
        )
    return messages


def thread_view(conversation: Conversation, turns: Sequence[Turn], now: datetime) -> View:
    """S4 ConversationThread: the live messages. Archived ones are in its history."""
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


def thread_history_view(session_id: str, turns: Sequence[Turn], total: int) -> View:
    """All messages of a thread, live and archived: the newest, oldest first."""
    return {"thread_id": session_id, "messages": messages_view(turns), "total_messages": 2 * total}
