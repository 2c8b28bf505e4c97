"""Questions that the book does not answer, for its author.

Revision ID: 0002
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_json = sa.JSON().with_variant(JSONB(), "postgresql")


def upgrade() -> None:
    op.create_table(
        "recorded_questions",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), primary_key=True, autoincrement=True),
        sa.Column("book_id", sa.String(200), nullable=False),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("question", sa.Text, nullable=False),
        sa.Column("searched", sa.Text, nullable=False),
        sa.Column("level", sa.String(20), nullable=False),
        sa.Column("confidence", sa.Float, nullable=False),
        sa.Column("missing_terms", _json, nullable=False),
        sa.Column("nearest", _json, nullable=False),
        sa.Column("nearest_url", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_recorded_questions_book", "recorded_questions", ["book_id", "asked_at"])
    op.create_index("idx_recorded_questions_asked", "recorded_questions", ["asked_at"])


def downgrade() -> None:
    op.drop_table("recorded_questions")
