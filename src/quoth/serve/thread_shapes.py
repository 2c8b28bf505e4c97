"""What S4's doors answer, for OpenAPI only, like `schemas`: `/chat/run` and a session as a thread."""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import Field

from quoth.ask.threads import ThreadState
from quoth.domain import ConfidenceLevel
from quoth.serve.shapes import ConfidenceMetrics, Documented, ResponseMetadata, Score


class RunSource(Documented):
    """S4 Source."""

    chunk_text: str = Field(max_length=500)
    similarity_score: float = Score
    chapter: str = Field(description="Title of the page")
    section: str = Field(description="Nearest heading")
    url: str
    chunk_index: int


class RunResponse(Documented):
    """S4 ChatResponse and ConfidenceMetrics: the same answer as that of /chat."""

    response: str
    confidence: float = Score
    sources: list[RunSource]
    session_id: UUID
    timestamp: datetime
    confidence_level: ConfidenceLevel
    should_answer: bool
    metrics: ConfidenceMetrics
    metadata: ResponseMetadata


class ThreadMessage(Documented):
    role: Literal["user", "assistant"]
    content: str
    timestamp: datetime
    confidence: float | None = Field(None, ge=0, le=1, description="Of an assistant's message")
    interrupted: bool = Field(False, description="The assistant's message broke off")


class ThreadMetadata(Documented):
    state: ThreadState = Field(description="Archived after an hour without a question; the next one resumes it")
    total_messages: int
    archived_messages: int = Field(description="Older than the live ones: /session/{session_id}/history reads them")
    book_ids: list[str] = Field(description="The books that the live messages are about")
    user_id: str | None = Field(description="The key that opened the session")


class ThreadResponse(Documented):
    """S4 ConversationThread."""

    thread_id: UUID
    messages: list[ThreadMessage] = Field(max_length=50, description="The live ones, oldest first")
    created_at: datetime
    updated_at: datetime
    topic_summary: str | None = Field(max_length=200, description="From the fifth exchange on")
    metadata: ThreadMetadata


class ThreadHistoryResponse(Documented):
    thread_id: UUID
    messages: list[ThreadMessage]
    total_messages: int
