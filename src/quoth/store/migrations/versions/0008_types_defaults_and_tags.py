"""Session ids are UUIDs on PostgreSQL, columns have defaults there, newest turns first; tags; what embedding costs.

SQLite has neither a type for UUIDs nor a way to give a column a default later, so its tables keep theirs: Quoth always
writes every column. On both, the index over the times of turns is descending.

Revision ID: 0008
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_json = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
_referring = ("conversations", "traces")
_defaults = (
    ("sessions", "created_at", "now()"),
    ("sessions", "last_active", "now()"),
    ("conversations", "timestamp", "now()"),
    ("conversations", "sources", "'[]'::jsonb"),
    ("conversations", "metadata", "'{}'::jsonb"),
)


def upgrade() -> None:
    op.add_column("ingestion_jobs", sa.Column("tokens_embedded", sa.Integer, nullable=False, server_default="0"))
    op.add_column("sessions", sa.Column("tags", _json, nullable=False, server_default=sa.text("'[]'")))
    op.drop_index("idx_conversations_timestamp", "conversations")
    op.create_index("idx_conversations_timestamp", "conversations", [sa.text("timestamp DESC")])
    if op.get_bind().dialect.name == "postgresql":
        _retype_session_ids("UUID")
        for table, column, default in _defaults:
            op.alter_column(table, column, server_default=sa.text(default))


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        for table, column, _ in _defaults:
            op.alter_column(table, column, server_default=None)
        _retype_session_ids("VARCHAR(36)")
    op.drop_index("idx_conversations_timestamp", "conversations")
    op.create_index("idx_conversations_timestamp", "conversations", ["timestamp"])
    op.drop_column("sessions", "tags")
    op.drop_column("ingestion_jobs", "tokens_embedded")


def _retype_session_ids(kind: str) -> None:
    """The columns that refer to a session change with it."""
    for table in _referring:
        op.execute(f"ALTER TABLE {table} DROP CONSTRAINT {table}_session_id_fkey")
    for table in ("sessions", *_referring):
        op.execute(f"ALTER TABLE {table} ALTER COLUMN session_id TYPE {kind} USING session_id::{kind}")
    for table in _referring:
        op.create_foreign_key(
            f"{table}_session_id_fkey", table, "sessions", ["session_id"], ["session_id"], ondelete="CASCADE"
        )
