"""The store on a real SQLite file: the contract, several processes at once, and everything that can break."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from contracts.library_contract import NOW, SESSION, a_turn
from contracts.sql_contract import SqlContract
from quoth.errors import BadConfiguration, DiskFull, LibraryUnavailable
from quoth.ports import Library
from quoth.store import library as store
from quoth.store.library import SqlLibrary, database_at, open_library
from quoth.store.postgres import PostgresDatabase
from quoth.store.sqlite import SqliteDatabase


def url_of(path: Path) -> str:
    return f"sqlite:///{path.as_posix()}"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "made on demand" / "quoth.db"


@pytest.fixture
async def library(path: Path) -> AsyncIterator[Library]:
    library = await open_library(url_of(path), now=lambda: NOW)
    yield library
    await library.close()


@pytest.fixture
def url(path: Path) -> str:
    return url_of(path)


class TestSqlLibrary(SqlContract):
    """The fixture `library` above is the one under test."""


async def test_the_event_loop_stays_free_while_another_program_holds_the_file(library: Library, path: Path) -> None:
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    writing = asyncio.create_task(library.add_turn(a_turn()))
    await library.ping()  # a reader does not wait for a writer
    assert not writing.done()
    blocker.execute("ROLLBACK")
    blocker.close()
    assert (await writing).turn_id == 1


async def test_a_file_that_stays_locked_is_an_outage_that_can_be_tried_again(path: Path) -> None:
    database = SqliteDatabase(path, busy_seconds=0.05)
    await database.open()
    impatient = SqlLibrary(database, lambda: NOW)
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    with pytest.raises(LibraryUnavailable, match="locked by another program") as caught:
        await impatient.add_turn(a_turn())
    assert caught.value.retryable
    blocker.execute("ROLLBACK")
    blocker.close()
    assert (await impatient.add_turn(a_turn())).turn_id == 1
    await impatient.close()


async def test_a_full_disk_is_named_and_nothing_is_lost(library: SqlLibrary, path: Path) -> None:
    await library.add_turn(a_turn(0))
    await library._database.write(lambda connection: connection.exec_driver_sql("PRAGMA max_page_count = 1"))
    with pytest.raises(DiskFull, match="disk is full") as caught:
        await library.add_turn(a_turn(1, response="long " * 20_000))
    assert "intact" in caught.value.hint
    assert (await library.turns(SESSION))[1] == 1


async def test_a_file_that_may_not_be_written_is_named_and_still_read(library: SqlLibrary) -> None:
    await library.add_turn(a_turn(0))
    await library._database.read(lambda connection: connection.exec_driver_sql("PRAGMA query_only = 1"))
    with pytest.raises(LibraryUnavailable, match="cannot be opened for writing") as caught:
        await library.add_turn(a_turn(1))
    assert "permissions" in caught.value.hint
    assert (await library.turns(SESSION))[1] == 1


async def test_a_file_that_is_not_a_database_is_named_with_a_way_out(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"This is a letter, not a database. " * 50)
    with pytest.raises(LibraryUnavailable, match=r"quoth\.db is damaged") as caught:
        await open_library(url_of(path))
    assert "move the file away" in caught.value.hint
    assert path.read_bytes().startswith(b"This is a letter")


async def test_a_damaged_file_is_named_when_it_is_met(path: Path) -> None:
    library = await open_library(url_of(path))
    for number in range(50):
        await library.add_turn(a_turn(number, response="word " * 500))
    await library.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    with pytest.raises(LibraryUnavailable, match="damaged"):
        await open_library(url_of(path))


async def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(LibraryUnavailable, match="cannot be opened") as caught:
        await open_library(url_of(tmp_path / "file" / "quoth.db"))
    assert "--data-dir" in caught.value.hint


async def test_a_path_that_is_a_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(LibraryUnavailable, match="cannot be opened"):
        await open_library(url_of(tmp_path))


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("not a url", "cannot be read"),
        ("mysql://user:hunter2@host/db", "mysql"),
        ("sqlite://", "without a file"),
        ("sqlite:///:memory:", "without a file"),
    ],
)
async def test_a_url_that_cannot_be_used_is_bad_configuration_and_keeps_its_password(url: str, message: str) -> None:
    with pytest.raises(BadConfiguration, match=message) as caught:
        await open_library(url)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("missing", ["asyncpg", "greenlet"])
def test_a_server_whose_driver_is_not_installed_is_named_with_the_way_to_get_it(
    monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    server = "postgresql+asyncpg://user:hunter2@host/db"
    monkeypatch.setattr(store, "find_spec", lambda name: object())
    assert isinstance(database_at(server), PostgresDatabase)
    monkeypatch.setattr(store, "find_spec", lambda name: None if name == missing else object())
    with pytest.raises(BadConfiguration, match="driver is not installed") as caught:
        database_at(server)
    assert "quoth[postgres]" in caught.value.hint


async def test_sqlite_runs_with_wal_foreign_keys_and_secure_delete(library: SqlLibrary) -> None:
    pragmas = {}
    for name in ("journal_mode", "foreign_keys", "synchronous", "secure_delete"):
        pragmas[name] = await library._database.read(
            lambda connection, name=name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()  # type: ignore[misc]
        )
    assert pragmas == {"journal_mode": "wal", "foreign_keys": 1, "synchronous": 1, "secure_delete": 1}
