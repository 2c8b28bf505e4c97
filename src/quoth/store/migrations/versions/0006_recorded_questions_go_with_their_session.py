"""A recorded question is deleted when its session is erased.

Revision ID: 0006
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Earlier questions have no mark: they stay until their retention ends.
    op.add_column(
        "recorded_questions", sa.Column("session_mark", sa.String(64), nullable=False, server_default=sa.text("''"))
    )
    op.create_index("idx_recorded_questions_session", "recorded_questions", ["session_mark"])


def downgrade() -> None:
    op.drop_index("idx_recorded_questions_session", "recorded_questions")
    op.drop_column("recorded_questions", "session_mark")
