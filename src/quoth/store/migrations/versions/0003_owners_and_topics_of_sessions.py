"""Who owns a session, and what it is about.

Revision ID: 0003
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("sessions", sa.Column("owner", sa.String(200), nullable=False, server_default=sa.text("''")))
    op.add_column("sessions", sa.Column("topic_summary", sa.Text, nullable=False, server_default=sa.text("''")))


def downgrade() -> None:
    op.drop_column("sessions", "topic_summary")
    op.drop_column("sessions", "owner")
