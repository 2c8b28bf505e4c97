"""A job remembers which toolchain was recognised, and how much of the text was read and left out.

Revision ID: 0007
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_json = sa.JSON().with_variant(JSONB(), "postgresql")


def upgrade() -> None:
    op.add_column("ingestion_jobs", sa.Column("coverage", _json))  # empty for earlier jobs


def downgrade() -> None:
    op.drop_column("ingestion_jobs", "coverage")
