"""Books, what was ingested of them, jobs, and conversations.

Revision ID: 0001
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_json = sa.JSON().with_variant(JSONB(), "postgresql")
_time = sa.DateTime(timezone=True)
_row_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    _create_books()
    _create_ingestion_jobs()
    _create_conversations()


def downgrade() -> None:
    for table in ("conversations", "sessions", "ingestion_jobs", "page_records", "books"):
        op.drop_table(table)


def _create_books() -> None:
    op.create_table(
        "books",
        sa.Column("book_id", sa.String(200), primary_key=True),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("base_url", sa.Text, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("toolchain", sa.String(50), nullable=False),
    )
    op.create_table(
        "page_records",
        sa.Column("book_id", sa.String(200), primary_key=True),
        sa.Column("source_file", sa.Text, primary_key=True),
        sa.Column("digest", sa.String(128), nullable=False),
        sa.Column("file_hash", sa.String(128), nullable=False),
        sa.Column("chunk_ids", _json, nullable=False),
        sa.Column("ingested_at", _time, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("module", sa.Text),
        sa.Column("chapter", sa.Integer),
        sa.Column("lesson", sa.Integer),
    )


def _create_ingestion_jobs() -> None:
    counts = [
        "files_discovered",
        "files_processed",
        "files_skipped",
        "files_failed",
        "files_deleted",
        "chunks_created",
        "chunks_kept",
        "chunks_deleted",
        "chunks_embedded",
    ]
    op.create_table(
        "ingestion_jobs",
        sa.Column("job_id", _row_id, primary_key=True, autoincrement=True),
        sa.Column("book_id", sa.String(200), nullable=False),
        sa.Column("mode", sa.String(20), nullable=False),
        sa.Column("status", sa.String(20), nullable=False),
        *(sa.Column(name, sa.Integer, nullable=False) for name in counts),
        sa.Column("dry_run", sa.Boolean, nullable=False),
        sa.Column("started_at", _time),
        sa.Column("completed_at", _time),
        sa.Column("duration_seconds", sa.Float),
        sa.Column("error_message", sa.Text),
        sa.Column("notices", _json, nullable=False),
        sqlite_autoincrement=True,
    )
    active = sa.text("status IN ('queued', 'running')")
    op.create_index(
        "one_active_job_per_book",
        "ingestion_jobs",
        ["book_id"],
        unique=True,
        sqlite_where=active,
        postgresql_where=active,
    )
    op.create_index("idx_ingestion_jobs_book", "ingestion_jobs", ["book_id", "job_id"])


def _create_conversations() -> None:
    op.create_table(
        "sessions",
        sa.Column("session_id", sa.String(36), primary_key=True),
        sa.Column("created_at", _time, nullable=False),
        sa.Column("last_active", _time, nullable=False),
    )
    op.create_table(
        "conversations",
        sa.Column("id", _row_id, primary_key=True, autoincrement=True),
        sa.Column(
            "session_id", sa.String(36), sa.ForeignKey("sessions.session_id", ondelete="CASCADE"), nullable=False
        ),
        sa.Column("timestamp", _time, nullable=False),
        sa.Column("query", sa.Text, nullable=False),
        sa.Column("response", sa.Text, nullable=False),
        sa.Column("sources", _json, nullable=False),
        sa.Column("metadata", _json, nullable=False),
        sa.Column("created_at", _time, nullable=False, server_default=sa.func.now()),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_conversations_session", "conversations", ["session_id", "id"])
    op.create_index("idx_conversations_timestamp", "conversations", ["timestamp"])
