"""How each answer came about, for `quoth explain`.

Revision ID: 0005
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "traces",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), primary_key=True, autoincrement=True),
        sa.Column("request_id", sa.String(36), nullable=False),
        sa.Column(
            "session_id", sa.String(36), sa.ForeignKey("sessions.session_id", ondelete="CASCADE"), nullable=False
        ),
        sa.Column("book_id", sa.String(200), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("record", sa.JSON().with_variant(JSONB(), "postgresql"), nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_traces_request", "traces", ["request_id"])
    op.create_index("idx_traces_session", "traces", ["session_id"])
    op.create_index("idx_traces_created", "traces", ["created_at"])


def downgrade() -> None:
    op.drop_table("traces")
