"""The store on a real SQLite file: the contract, several processes at once, and everything that can break."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from contracts.library_contract import NOW, SESSION, LibraryContract, a_record, a_turn
from quoth.adapters.sql import SqlLibrary, open_library
from quoth.adapters.sqlite import SqliteDatabase
from quoth.domain import IngestJob
from quoth.errors import BadConfiguration, Conflict, DiskFull, InternalError, LibraryUnavailable
from quoth.ports import Library


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


class TestSqlLibrary(LibraryContract):
    """The fixture `library` above is the one under test."""


async def test_what_was_stored_is_there_when_the_file_is_opened_again(path: Path) -> None:
    first = await open_library(url_of(path))
    await first.add_turn(a_turn())
    await first.close()
    second = await open_library(url_of(path))
    assert (await second.turns(SESSION))[1] == 1
    await second.close()


async def test_two_open_stores_on_one_file_see_each_other(library: Library, path: Path) -> None:
    other = await open_library(url_of(path))
    await asyncio.gather(
        *(library.add_turn(a_turn(number)) for number in range(20)),
        *(other.add_turn(a_turn(number)) for number in range(20)),
    )
    assert (await library.turns(SESSION))[1] == 40
    assert (await other.turns(SESSION))[1] == 40
    await library.start_job(IngestJob("robots", "full"))
    with pytest.raises(Conflict):
        await other.start_job(IngestJob("robots", "full"))
    await other.close()


async def test_page_records_are_all_stored_or_none(library: Library) -> None:
    with pytest.raises(InternalError, match="time zone"):
        await library.put_page_records([a_record(), a_record(source_file="b.md", ingested_at=datetime(2030, 1, 1))])
    assert await library.page_records("robots") == {}


async def test_text_that_no_database_can_hold_does_not_lose_the_turn(library: Library) -> None:
    await library.add_turn(a_turn(query="half \ud83d of a pair", response="nul \x00", metadata={"k": "\ud83d"}))
    [turn], _ = await library.turns(SESSION)
    assert turn.query == "half \ufffd of a pair"
    assert turn.response == "nul \ufffd"


async def test_a_value_that_is_no_json_is_a_fault_of_ours_and_stores_nothing(library: Library) -> None:
    with pytest.raises(InternalError):
        await library.add_turn(a_turn(metadata={"when": object()}))
    await library.add_turn(a_turn(1))
    assert (await library.turns(SESSION))[1] == 1


async def test_a_cancelled_caller_leaves_whole_turns_and_a_working_store(library: Library) -> None:
    tasks = [asyncio.create_task(library.add_turn(a_turn(number))) for number in range(30)]
    await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await library.add_turn(a_turn(99))
    turns, total = await library.turns(SESSION, limit=100)
    assert total == len(turns)
    asked = [turn.query for turn in turns]
    assert {f"question {number}" for number in range(1, 30, 2)} <= set(asked)
    assert asked[-1] == "question 99"


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


async def test_a_full_disk_is_said_so_and_nothing_is_lost(library: SqlLibrary, path: Path) -> None:
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
    assert "rights" in caught.value.hint
    assert (await library.turns(SESSION))[1] == 1


async def test_a_file_that_is_no_database_is_named_with_a_way_out(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"This is a letter, not a database. " * 50)
    with pytest.raises(LibraryUnavailable, match=r"quoth\.db is damaged") as caught:
        await open_library(url_of(path))
    assert "move it away" in caught.value.hint
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


async def test_sqlite_runs_with_wal_and_foreign_keys(library: SqlLibrary) -> None:
    pragmas = {}
    for name in ("journal_mode", "foreign_keys", "synchronous"):
        pragmas[name] = await library._database.read(
            lambda connection, name=name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()  # type: ignore[misc]
        )
    assert pragmas == {"journal_mode": "wal", "foreign_keys": 1, "synchronous": 1}


async def test_a_job_can_be_taken_over_after_its_process_died(path: Path) -> None:
    dead = await open_library(url_of(path))
    job = await dead.start_job(IngestJob("robots", "full", status="running"))
    await dead.close()
    library = await open_library(url_of(path), now=lambda: NOW)
    assert await library.fail_running_jobs("robots", "its process ended") == 1
    assert await library.job(job.job_id) == replace(
        job, status="failed", error_message="its process ended", completed_at=NOW
    )
    await library.close()


WRITER = """
import asyncio, sys
from datetime import UTC, datetime
from quoth.adapters.sql import open_library
from quoth.domain import IngestJob, Turn
from quoth.errors import Conflict

async def main(url, name, session):
    sys.stdin.read()  # all start together
    library = await open_library(url)
    for number in range(25):
        await library.add_turn(Turn(session, datetime.now(UTC), f"{name} {number}", "answer"))
    try:
        await library.start_job(IngestJob("robots", "full", status="running"))
        print("started")
    except Conflict:
        print("conflict")
    await library.close()

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.slow
def test_four_processes_on_a_new_file_migrate_once_and_lose_nothing(path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, url_of(path), f"p{number}", SESSION],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            text=True,
        )
        for number in range(4)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
    outcomes = [process.communicate(timeout=100) for process in processes]
    assert [errors for _, errors in outcomes] == [""] * 4
    assert sorted(output.strip() for output, _ in outcomes) == ["conflict"] * 3 + ["started"]

    async def stored() -> tuple[list[str], int]:
        library = await open_library(url_of(path))
        turns, total = await library.turns(SESSION, limit=1000)
        await library.close()
        return [turn.query for turn in turns], total

    queries, total = asyncio.run(stored())
    assert total == 100
    for number in range(4):
        mine = [query for query in queries if query.startswith(f"p{number} ")]
        assert mine == [f"p{number} {count}" for count in range(25)]
