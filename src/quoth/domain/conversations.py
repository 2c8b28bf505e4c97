"""What is remembered: conversations and their turns, questions for the author, traces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from quoth.domain.answers import AnswerMode, ConfidenceLevel, Suggestion
from quoth.domain.messages import ToolUse
from quoth.domain.searching import CitedSource


@dataclass(frozen=True, slots=True)
class Conversation:
    """Created by its first question; belongs to the key that opened it. Called a session or a thread at the doors."""

    session_id: str
    created_at: datetime
    last_active: datetime
    owner: str = ""
    topic_summary: str = ""  # as a model wrote it; empty if none has
    turns: int = 0
    tags: tuple[str, ...] = ()  # whatever a client sorts its threads by


@dataclass(frozen=True, slots=True)
class Doubt:
    """A sentence of a stored answer that its sources do not support."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Feedback:
    """What a reader thinks of an answer."""

    rating: Literal["up", "down"]
    reason: str = ""  # for a `down`: a given word, or the reader's own


@dataclass(frozen=True, slots=True)
class Turn:
    """One stored exchange: what was asked, what was answered, and what it rested on, as its reader saw it.

    `turn_id` is 0 until the library has numbered it. Turns of a client that keeps its own history have little beyond
    the question and the answer.
    """

    session_id: str
    timestamp: datetime
    query: str
    response: str
    book_id: str = ""
    request_id: str = ""
    searched_query: str = ""
    mode: AnswerMode = "full"
    sources: tuple[CitedSource, ...] = ()
    confidence: float | None = None  # None if no verdict is known
    level: ConfidenceLevel | None = None
    disclaimer: str | None = None
    fallback_message: str | None = None
    interrupted: bool = False
    partial: bool = False  # the answer itself says that a part of the question is not in the book
    checked: int = 0  # sentences that were compared with their sources
    removed: int = 0  # sentences that no source supports and that were taken out
    doubts: tuple[Doubt, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    missing_terms: tuple[str, ...] = ()
    retrieval_count: int = 0
    query_time_ms: float = 0.0
    stage_ms: Mapping[str, float] = field(default_factory=dict)
    model: str | None = None
    tokens_used: int = 0
    searches: tuple[ToolUse, ...] = ()  # as calls of the search tool, whether a model made them or not
    feedback: Feedback | None = None
    share: str = ""  # the secret that lets others read it; empty: nobody else may
    turn_id: int = 0
    owner: str = ""  # of its conversation

    @property
    def refused(self) -> bool:
        """The book does not hold it, or the selected text does not."""
        return self.mode == "no_results" or (self.mode == "selected_text" and self.level == "insufficient")


@dataclass(frozen=True, slots=True)
class RecordedQuestion:
    """A question that the book does not answer, or answers only loosely. It is for the author, who must not learn who
    asked: texts are redacted before they get here, and neither the session nor the key is named."""

    book_id: str
    asked_at: datetime
    question: str
    searched: str
    level: ConfidenceLevel
    confidence: float
    missing_terms: tuple[str, ...] = ()
    nearest: tuple[str, ...] = ()  # the breadcrumb of the nearest section
    nearest_url: str = ""


@dataclass(frozen=True, slots=True)
class Trace:
    """How one answer came about, for `quoth explain`. Belongs to its conversation and is deleted with it."""

    request_id: str
    session_id: str
    book_id: str
    created_at: datetime
    record: Mapping[str, Any]  # JSON; `quoth.insight.trace` writes it
