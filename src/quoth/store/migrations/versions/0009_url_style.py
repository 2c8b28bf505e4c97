"""A book remembers how its site writes addresses, if the user said so.

Revision ID: 0009
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("books", sa.Column("url_style", sa.String(20), nullable=False, server_default=""))


def downgrade() -> None:
    op.drop_column("books", "url_style")
