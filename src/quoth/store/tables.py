"""The tables of the relational store, as SQLAlchemy metadata.

`library.py`, `conversations.py` and `keys.py` write their statements against these; the migrations create them. A
migration never imports this module: it is frozen history, this is the present, and a test proves that the two agree.
Tables have the names that the doors use: `sessions` and `conversations`, `ingestion_jobs`, `recorded_questions`.
"""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Date,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    func,
    text,
)
from sqlalchemy.types import TypeEngine

# The revision that this code works with. A database that already has it is opened without importing Alembic.
SCHEMA_VERSION = "0009"

metadata = MetaData()


class _UtcTime(TypeDecorator[datetime]):
    """Aware in, aware UTC out. SQLite has no time zones, so it stores the UTC clock time."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"a time without a time zone cannot be stored: {value!r}")
        value = value.astimezone(UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Json(TypeDecorator[Any]):
    """JSONB on PostgreSQL, text on SQLite. The PostgreSQL dialect is imported only where it is used."""

    impl = JSON
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if dialect.name == "postgresql":
            from sqlalchemy.dialects.postgresql import JSONB

            return dialect.type_descriptor(JSONB())
        return dialect.type_descriptor(JSON())


class SessionId(TypeDecorator[str]):
    """A UUID on PostgreSQL, text on SQLite; text in, text out. Doors let nothing else through."""

    impl = String(36)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if dialect.name == "postgresql":
            from sqlalchemy.dialects.postgresql import UUID

            return dialect.type_descriptor(UUID(as_uuid=True))
        return dialect.type_descriptor(String(36))

    def process_bind_param(self, value: str | None, dialect: Dialect) -> Any:
        return value if value is None or dialect.name != "postgresql" else uuid.UUID(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> str | None:
        return None if value is None else str(value)


# SQLite numbers rows by itself only in a column declared INTEGER.
_RowId = BigInteger().with_variant(Integer(), "sqlite")

books = Table(
    "books",
    metadata,
    Column("book_id", String(200), primary_key=True),
    Column("title", Text, nullable=False),
    Column("base_url", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("toolchain", String(50), nullable=False),
    Column("url_style", String(20), nullable=False, server_default=text("''")),
)

page_records = Table(
    "page_records",
    metadata,
    Column("book_id", String(200), primary_key=True),
    Column("source_file", Text, primary_key=True),
    Column("digest", String(128), nullable=False),
    Column("file_hash", String(128), nullable=False),
    Column("chunk_ids", Json, nullable=False),
    Column("ingested_at", _UtcTime, nullable=False),
    Column("title", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("module", Text),
    Column("chapter", Integer),
    Column("lesson", Integer),
)

ACTIVE = ("queued", "running")

ingestion_jobs = Table(
    "ingestion_jobs",
    metadata,
    Column("job_id", _RowId, primary_key=True, autoincrement=True),
    Column("book_id", String(200), nullable=False),
    Column("mode", String(20), nullable=False),
    Column("status", String(20), nullable=False),
    Column("files_discovered", Integer, nullable=False),
    Column("files_processed", Integer, nullable=False),
    Column("files_skipped", Integer, nullable=False),
    Column("files_failed", Integer, nullable=False),
    Column("files_deleted", Integer, nullable=False),
    Column("chunks_created", Integer, nullable=False),
    Column("chunks_kept", Integer, nullable=False),
    Column("chunks_deleted", Integer, nullable=False),
    Column("chunks_embedded", Integer, nullable=False),
    Column("tokens_embedded", Integer, nullable=False, server_default=text("0")),
    Column("dry_run", Boolean, nullable=False),
    Column("started_at", _UtcTime),
    Column("completed_at", _UtcTime),
    Column("duration_seconds", Float),
    Column("error_message", Text),
    Column("notices", Json, nullable=False),
    Column("coverage", Json),
    # One job at a time for each book, whichever process starts it: the database itself refuses the second. (The
    # migration makes the same index on PostgreSQL; declaring it here would import that dialect at every start.)
    Index("one_active_job_per_book", "book_id", unique=True, sqlite_where=text("status IN ('queued', 'running')")),
    Index("idx_ingestion_jobs_book", "book_id", "job_id"),
    # A number is never used twice, so an old job_id can never mean another job.
    sqlite_autoincrement=True,
)

sessions = Table(
    "sessions",
    metadata,
    Column("session_id", SessionId, primary_key=True),
    Column("created_at", _UtcTime, nullable=False),
    Column("last_active", _UtcTime, nullable=False),
    Column("owner", String(200), nullable=False, server_default=text("''")),  # the key that opened it
    Column(
        "topic_summary", Text, nullable=False, server_default=text("''")
    ),  # by a model; empty: from the cited headings
    Column("tags", Json, nullable=False, server_default=text("'[]'")),  # whatever a client sorts its threads by
)

conversations = Table(
    "conversations",
    metadata,
    Column("id", _RowId, primary_key=True, autoincrement=True),
    Column("session_id", SessionId, ForeignKey("sessions.session_id", ondelete="CASCADE"), nullable=False),
    Column("timestamp", _UtcTime, nullable=False),
    Column("query", Text, nullable=False),
    Column("response", Text, nullable=False),
    Column("sources", Json, nullable=False),
    Column("metadata", Json, nullable=False),
    Column("created_at", _UtcTime, nullable=False, server_default=func.now()),
    Index("idx_conversations_session", "session_id", "id"),
    Index("idx_conversations_timestamp", text("timestamp DESC")),
    sqlite_autoincrement=True,
)

recorded_questions = Table(
    "recorded_questions",
    metadata,
    Column("id", _RowId, primary_key=True, autoincrement=True),
    Column("book_id", String(200), nullable=False),
    Column("asked_at", _UtcTime, nullable=False),
    Column("question", Text, nullable=False),
    Column("searched", Text, nullable=False),
    Column("level", String(20), nullable=False),
    Column("confidence", Float, nullable=False),
    Column("missing_terms", Json, nullable=False),
    Column("nearest", Json, nullable=False),
    Column("nearest_url", Text, nullable=False),
    # A keyed hash of the session's id: erasing the session finds the question, but nothing leads back to the session.
    Column("session_mark", String(64), nullable=False, server_default=text("''")),  # empty: recorded before 0006
    Index("idx_recorded_questions_book", "book_id", "asked_at"),
    Index("idx_recorded_questions_asked", "asked_at"),
    Index("idx_recorded_questions_session", "session_mark"),
    sqlite_autoincrement=True,
)

access_keys = Table(
    "access_keys",
    metadata,
    Column("key_id", String(32), primary_key=True),
    Column("name", Text, nullable=False),
    Column("scope", String(20), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("created_at", _UtcTime, nullable=False),
    Column("book_id", String(200), nullable=False),
    Column("origins", Json, nullable=False),
    Column("daily", Integer),
    Column("expires_at", _UtcTime),
    Column("revoked_at", _UtcTime),
)

# How many answers a language model wrote for a key on one day.
key_spending = Table(
    "key_spending",
    metadata,
    Column("key_id", String(32), ForeignKey("access_keys.key_id", ondelete="CASCADE"), primary_key=True),
    Column("day", Date, primary_key=True),
    Column("answers", Integer, nullable=False),
)

# A request id may come twice, from a client that sends its own: the newest counts.
traces = Table(
    "traces",
    metadata,
    Column("id", _RowId, primary_key=True, autoincrement=True),
    Column("request_id", String(36), nullable=False),
    Column("session_id", SessionId, ForeignKey("sessions.session_id", ondelete="CASCADE"), nullable=False),
    Column("book_id", String(200), nullable=False),
    Column("created_at", _UtcTime, nullable=False),
    Column("record", Json, nullable=False),
    Index("idx_traces_request", "request_id"),
    Index("idx_traces_session", "session_id"),
    Index("idx_traces_created", "created_at"),
    sqlite_autoincrement=True,
)
