"""Nothing outside can keep a reader waiting forever: each part that hangs is reported as down in time."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from pathlib import Path

import pytest

from contracts.library_contract import SESSION, a_turn
from doors import ASKED, REFUSAL, Doors, check_problem, opened
from quoth.bootstrap import fingerprint_of
from quoth.errors import IndexUnavailable, LibraryUnavailable
from quoth.ports import within
from quoth.store.database import TimedDatabase
from quoth.store.library import SqlLibrary
from quoth.store.sqlite import SqliteDatabase
from quoth.testing.embedder import FakeEmbedder
from quoth.testing.index import MemoryIndex
from samples import TickingClock

pytestmark = pytest.mark.slow

LATE = LibraryUnavailable("late")


async def test_what_takes_too_long_is_the_outage_and_is_stopped() -> None:
    stopped = asyncio.Event()

    async def work() -> None:
        async with within(0.01, LATE):
            try:
                await asyncio.Event().wait()
            finally:
                stopped.set()

    with pytest.raises(LibraryUnavailable, match="late"):
        await work()
    assert stopped.is_set()


async def test_a_time_limit_of_the_caller_stays_theirs() -> None:
    with pytest.raises(TimeoutError):
        async with within(60, LATE):
            raise TimeoutError


async def test_a_caller_who_is_cancelled_is_cancelled_and_not_told_of_an_outage() -> None:
    async def wait() -> None:
        async with within(60, LATE):
            await asyncio.Event().wait()

    waiting = asyncio.create_task(wait())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


@pytest.fixture
async def database(tmp_path: Path) -> SqliteDatabase:
    database = SqliteDatabase(tmp_path / "quoth.db")
    await database.open()
    return database


async def test_a_database_that_hangs_is_an_outage_in_its_time_and_heals(database: SqliteDatabase) -> None:
    bounded = TimedDatabase(database, 0.05)
    library = SqlLibrary(bounded, TickingClock().now)
    begun, let_go = threading.Event(), threading.Event()

    def hang(connection: object) -> None:
        begun.set()
        let_go.wait(30)

    hanging = asyncio.create_task(database.write(hang))
    await asyncio.to_thread(begun.wait, 10)
    with pytest.raises(LibraryUnavailable, match=r"did not answer within 0\.05 seconds") as told:
        await library.add_turn(a_turn())
    assert told.value.retryable
    let_go.set()
    await hanging
    bounded._seconds = 30  # this does not test how busy the machine is
    await library.add_turn(a_turn(1))
    turns, _ = await library.turns(SESSION)
    assert [turn.query for turn in turns] == ["question 1"]  # the abandoned call never started
    await library.close()


async def test_a_read_that_hangs_is_an_outage_too(database: SqliteDatabase) -> None:
    bounded = TimedDatabase(database, 0.05)
    let_go = threading.Event()
    with pytest.raises(LibraryUnavailable, match="did not answer"):
        await bounded.read(lambda connection: let_go.wait(30))
    let_go.set()
    await bounded.close()


async def test_a_reader_is_told_of_a_database_that_is_locked_for_long(tmp_path: Path) -> None:
    path = tmp_path / "quoth.db"
    bounded = TimedDatabase(SqliteDatabase(path), 30)
    await bounded.open()
    async with opened(tmp_path, library=SqlLibrary(bounded, TickingClock().now)) as doors:
        bounded._seconds = 0.2
        blocker = sqlite3.connect(path, isolation_level=None)
        blocker.execute("BEGIN IMMEDIATE")
        problem = check_problem(await doors.client.post("/chat", json={"query": ASKED}), 503, "SERVICE_UNAVAILABLE")
        assert REFUSAL not in str(problem)
        blocker.execute("ROLLBACK")
        blocker.close()
        bounded._seconds = 30
        assert (await doors.ask())["should_answer"]


class Hanging(MemoryIndex):
    def __init__(self, call: str) -> None:
        super().__init__(fingerprint_of(FakeEmbedder()))
        self._call = call
        self.hangs = False

    async def asked(self, call: str, book_id: str) -> None:
        if self.hangs and call == self._call:
            await asyncio.Event().wait()
        await super().asked(call, book_id)


@pytest.mark.parametrize("call", ["search", "chunks", "idf"])
@pytest.mark.parametrize("door", ["/chat", "/chat/stream", "/search"])
async def test_an_index_that_hangs_is_an_outage_in_its_time(tmp_path: Path, call: str, door: str) -> None:
    index = Hanging(call)
    async with opened(tmp_path, index=index, settings={"index_timeout": 0.5}) as doors:
        await doors.ask(session_id=SESSION)
        index.hangs = True
        body = {"query": ASKED} if door == "/search" else {"query": "and what about volatile?", "session_id": SESSION}
        response = await doors.client.post(door, json=body)
        check_problem(response, 503, "QDRANT_UNAVAILABLE")
        index.hangs = False
        assert (await doors.ask(session_id=SESSION))["should_answer"]


async def test_pointing_at_a_source_in_an_index_that_hangs_is_an_outage(tmp_path: Path) -> None:
    index = Hanging("chunks")
    async with opened(tmp_path, index=index, settings={"index_timeout": 0.5}) as doors:
        await doors.ask(session_id=SESSION)
        index.hangs = True
        with pytest.raises(IndexUnavailable):
            await _pointing(doors)


async def _pointing(doors: Doors) -> None:
    from samples import question

    await doors.quoth.conversations.answer(question("Tell me more about the first source", session_id=SESSION))
