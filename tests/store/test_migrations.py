"""Migrations: they make what the tables say, they run both ways, and they run once."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, create_engine, inspect

from quoth.errors import BadConfiguration
from quoth.store import migrations
from quoth.store.library import open_library
from quoth.store.tables import SCHEMA_VERSION, metadata


async def _make(url: str) -> None:
    await (await open_library(url)).close()


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    engine = create_engine(f"sqlite:///{tmp_path / 'quoth.db'}")
    with engine.connect() as connection:
        yield connection
    engine.dispose()


def test_the_version_in_the_code_is_the_head_of_the_migrations() -> None:
    assert migrations.known_versions()[-1] == SCHEMA_VERSION


def test_versions_are_numbered_one_after_the_other() -> None:
    known = migrations.known_versions()
    assert known == [f"{number:04}" for number in range(1, len(known) + 1)]


def test_the_migrated_schema_is_exactly_that_of_the_tables(connection: Connection) -> None:
    migrations.upgrade(connection)
    newest_first = "idx_conversations_timestamp"  # SQLite shows the order of an index only in its SQL

    def comparable(item: object, name: str | None, *more: object) -> bool:
        return name != newest_first

    options = {"compare_type": True, "compare_server_default": True, "include_object": comparable}
    assert compare_metadata(MigrationContext.configure(connection, opts=options), metadata) == []
    made = connection.exec_driver_sql(f"SELECT sql FROM sqlite_master WHERE name = '{newest_first}'").scalar_one()
    assert made.endswith("(timestamp DESC)")


def test_the_index_that_keeps_jobs_apart_covers_active_jobs_only(connection: Connection) -> None:
    migrations.upgrade(connection)
    made = connection.exec_driver_sql("SELECT sql FROM sqlite_master WHERE name = 'one_active_job_per_book'").scalar()
    assert made is not None
    assert made.startswith("CREATE UNIQUE INDEX")
    assert made.endswith("WHERE status IN ('queued', 'running')")


def test_down_and_up_again_leaves_the_same_schema(connection: Connection) -> None:
    def schema() -> list[tuple[str, str]]:
        rows = connection.exec_driver_sql("SELECT name, sql FROM sqlite_master ORDER BY name").all()
        return [(row[0], row[1]) for row in rows]

    migrations.upgrade(connection)
    before = schema()
    migrations.downgrade(connection, "base")
    assert set(inspect(connection).get_table_names()) <= {"alembic_version"}
    migrations.upgrade(connection)
    assert schema() == before


async def test_a_migration_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = migrations.upgrade

    def stops_half_way(connection: Connection, version: str = "head") -> None:
        real(connection, version)
        raise BadConfiguration("the power went out")

    monkeypatch.setattr(migrations, "upgrade", stops_half_way)
    url = f"sqlite:///{tmp_path / 'quoth.db'}"
    with pytest.raises(BadConfiguration, match="power"):
        await open_library(url)
    with sqlite3.connect(tmp_path / "quoth.db") as file:
        assert file.execute("SELECT name FROM sqlite_master").fetchall() == []
    file.close()

    monkeypatch.setattr(migrations, "upgrade", real)
    library = await open_library(url)
    assert await library.books() == []
    await library.close()


async def test_a_database_of_a_newer_quoth_is_refused_and_left_alone(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'quoth.db'}"
    await _make(url)
    file = sqlite3.connect(tmp_path / "quoth.db")
    with file:
        file.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(BadConfiguration, match="newer Quoth") as caught:
        await open_library(url)
    assert "Upgrade Quoth" in caught.value.hint
    assert file.execute("SELECT version_num FROM alembic_version").fetchall() == [("9999",)]
    file.close()


@pytest.mark.slow
def test_a_database_that_is_up_to_date_is_opened_without_alembic(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'quoth.db'}"
    asyncio.run(_make(url))
    program = (
        "import asyncio, sys\n"
        "from quoth.store.library import open_library\n"
        "async def main():\n"
        "    library = await open_library(sys.argv[1])\n"
        "    print(await library.books())\n"
        "    await library.close()\n"
        "asyncio.run(main())\n"
        "heavy = ('alembic', 'mako', 'sqlalchemy.orm', 'sqlalchemy.dialects.postgresql')\n"
        "print([name for name in heavy if name in sys.modules])\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    done = subprocess.run(
        [sys.executable, "-c", program, url], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stdout.split() == ["[]", "[]"]
