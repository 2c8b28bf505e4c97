"""How a database grows from one version of Quoth to the next: readable, ordered, shipped in the package.

`sql.py` calls `upgrade` inside one transaction that it has already opened and that shuts everyone else out, so a
migration is applied once and whole, or not at all, however many processes start together. There is no alembic.ini.
"""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection


def _config() -> Config:
    config = Config()
    # Alembic reads % as the start of an interpolation, and a folder may have one in its name.
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def known_versions() -> list[str]:
    """Every version this code knows, oldest first."""
    return [script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()][::-1]


def upgrade(connection: Connection, version: str = "head") -> None:
    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, version)


def downgrade(connection: Connection, version: str) -> None:
    config = _config()
    config.attributes["connection"] = connection
    command.downgrade(config, version)
