"""Keys, and what they have spent.

Revision ID: 0004
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_time = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "access_keys",
        sa.Column("key_id", sa.String(32), primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("scope", sa.String(20), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("created_at", _time, nullable=False),
        sa.Column("book_id", sa.String(200), nullable=False),
        sa.Column("origins", sa.JSON().with_variant(JSONB(), "postgresql"), nullable=False),
        sa.Column("daily", sa.Integer),
        sa.Column("expires_at", _time),
        sa.Column("revoked_at", _time),
    )
    op.create_table(
        "key_spending",
        sa.Column("key_id", sa.String(32), sa.ForeignKey("access_keys.key_id", ondelete="CASCADE"), primary_key=True),
        sa.Column("day", sa.Date, primary_key=True),
        sa.Column("answers", sa.Integer, nullable=False),
    )


def downgrade() -> None:
    op.drop_table("key_spending")
    op.drop_table("access_keys")
