"""How a database grows from one version of Quoth to the next: readable, ordered, shipped in the package.

`sqlite.py` and `postgres.py` call it inside their own transaction, which shuts out all other processes, so a migration
is applied once and whole, or not at all, however many processes start together. There is no alembic.ini.
"""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from quoth.errors import BadConfiguration


def _config() -> Config:
    config = Config()
    # Alembic reads % as the start of an interpolation, and a folder may have one in its name.
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def known_versions() -> list[str]:
    """Every version this code knows, oldest first."""
    return [script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()][::-1]


def bring_up_to_date(connection: Connection, version: str | None, *, name: str) -> None:
    """From `version` (None: an empty database) to the newest; an error calls the database by `name`."""
    known = known_versions()
    if version is not None and version not in known:
        raise BadConfiguration(
            f"{name} was written by a newer Quoth (its version is {version}, this Quoth knows {known[-1]}).",
            hint="Upgrade Quoth: `pip install --upgrade quoth`, or name another database.",
        )
    upgrade(connection)


def upgrade(connection: Connection, version: str = "head") -> None:
    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, version)


def downgrade(connection: Connection, version: str) -> None:
    config = _config()
    config.attributes["connection"] = connection
    command.downgrade(config, version)
