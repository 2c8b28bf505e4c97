"""What a reader erases is gone from every table and every file of the data directory, and what others wrote is not."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from contracts.library_contract import NOW, OTHER, SESSION, a_question, a_turn, recorded_in
from doors import Doors, opened
from quoth.errors import NotFound, SessionNotFound
from quoth.store import sqlite
from quoth.store.library import SqlLibrary, open_library
from quoth.store.sqlite import SqliteDatabase

PROMISED = 60.0  # seconds
MINE, THEIRS = "zyzzyvaquixotry", "syzygyxylograph"  # words that are nowhere else


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
async def library(folder: Path) -> AsyncIterator[SqlLibrary]:
    library = await open_library(f"sqlite:///{folder / 'quoth.db'}", now=lambda: NOW)
    yield library
    await library.close()


def files_with(word: str, folder: Path) -> list[str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return sorted(path.name for path in files if word.encode() in path.read_bytes())


async def until(is_so: Callable[[], bool], seconds: float = PROMISED) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, "it took longer than promised"
        await asyncio.sleep(0.05)


async def asked(doors: Doors, word: str, session_id: str) -> None:
    """A refused question, with everything that is kept about it."""
    body = await doors.ask(f"Who built the {word} of the harbour?", session_id=session_id)
    assert not body["should_answer"]
    async with asyncio.timeout(PROMISED):
        while True:  # traces are stored a moment later
            with suppress(NotFound):
                await doors.quoth.library.trace(body["metadata"]["request_id"])
                return
            await asyncio.sleep(0.05)


@pytest.mark.slow
async def test_after_delete_the_words_are_in_no_file_of_the_data_directory(tmp_path: Path, library: SqlLibrary) -> None:
    data = tmp_path / "data"
    async with opened(tmp_path, settings={"record_questions": True}, library=library) as doors:
        await asked(doors, MINE, SESSION)
        await asked(doors, THEIRS, OTHER)
        assert files_with(MINE, data)
        assert (await doors.client.delete(f"/session/{SESSION}")).status_code == 204
        questions = await library.recorded_questions(since=NOW.replace(year=2000))
        assert [THEIRS in one.question for one in questions] == [True]
        await until(lambda: not files_with(MINE, data))
        assert (await doors.client.get(f"/history/{OTHER}")).json()["total_entries"] == 1
        assert files_with(THEIRS, data)


async def test_a_store_that_is_closed_at_once_leaves_nothing_either(library: SqlLibrary, folder: Path) -> None:
    await recorded_in(library, a_question(question=MINE))
    await library.add_turn(a_turn(query=MINE, response=f"{MINE} " * 5_000))
    # Another store keeps the file open: SQLite empties the log by itself only when the last one closes.
    other = await open_library(f"sqlite:///{folder / 'quoth.db'}")
    await other.ping()
    await library.delete_conversation(SESSION)
    await library.close()
    assert files_with(MINE, folder) == []
    await other.close()


@pytest.mark.slow
async def test_of_many_erased_rows_none_is_left_in_an_unused_part_of_a_page(library: SqlLibrary, folder: Path) -> None:
    chance = random.Random(1)
    asked = [(number, f"{chance.randrange(300):08}-0000-4000-8000-000000000000") for number in range(1_500)]
    for number, session in asked:
        await library.add_turn(a_turn(number, session, query=f"canary{number:05} " * chance.choice((1, 3, 20, 100))))
    sessions = sorted({session for _, session in asked})
    erased = set(chance.sample(sessions, 200))
    for session in sorted(erased, key=lambda _: chance.random()):
        await library.delete_conversation(session)
    await library.close()
    written = (folder / "quoth.db").read_bytes()
    left = {number for number, _ in asked if f"canary{number:05}".encode() in written}
    assert left == {number for number, session in asked if session not in erased}


async def test_a_larger_file_is_not_rewritten_but_its_rows_are_overwritten(
    library: SqlLibrary, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "_LARGEST_REWRITTEN", 0)
    monkeypatch.setattr(sqlite, "_CLEANING_DELAY", 0.0)
    await library.add_turn(a_turn(query=MINE, response=f"{MINE} " * 5_000))
    await library.delete_conversation(SESSION)
    await until(lambda: not files_with(MINE, folder))
    with sqlite3.connect(folder / "quoth.db") as file:
        assert file.execute("PRAGMA freelist_count").fetchone()[0] > 10
    file.close()


async def test_a_program_that_reads_the_old_state_is_waited_for(
    library: SqlLibrary, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "_CLEANING_DELAY", 0.0)
    monkeypatch.setattr(sqlite, "_CLEANING_RETRIES", (0.1,) * 100)
    monkeypatch.setattr(sqlite, "_CLEANING_BUSY_MS", 10)
    tries = counted(monkeypatch)
    await library.add_turn(a_turn(query=MINE))
    reader = sqlite3.connect(folder / "quoth.db", isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM conversations").fetchone() == (1,)
    await library.delete_conversation(SESSION)
    await until(lambda: len(tries) > 1)
    assert files_with(MINE, folder)
    reader.execute("ROLLBACK")
    reader.close()
    await until(lambda: not files_with(MINE, folder))


async def test_a_file_that_stays_busy_is_told_to_the_operator(
    library: SqlLibrary, folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sqlite, "_CLEANING_DELAY", 0.0)
    monkeypatch.setattr(sqlite, "_CLEANING_RETRIES", (0.01,))
    monkeypatch.setattr(sqlite, "_CLEANING_BUSY_MS", 10)
    await library.add_turn(a_turn(query=MINE))
    reader = sqlite3.connect(folder / "quoth.db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM conversations").fetchone()
    await library.delete_conversation(SESSION)
    await until(lambda: "erased words may still be in" in caplog.text)
    assert MINE not in caplog.text
    reader.close()


async def test_where_nothing_was_erased_nothing_is_rewritten(
    library: SqlLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "_CLEANING_DELAY", 0.0)
    tries = counted(monkeypatch)
    with pytest.raises(SessionNotFound):
        await library.delete_conversation(SESSION)
    assert await library.forget_questions(before=NOW) == 0
    await asyncio.sleep(0.1)
    await library.close()
    assert tries == []


async def test_a_caller_who_erases_all_the_time_does_not_keep_the_disk_busy(
    library: SqlLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "_CLEANING_DELAY", 0.0)
    tries = counted(monkeypatch)
    for _ in range(30):
        await library.add_turn(a_turn())
        await library.delete_conversation(SESSION)
        await asyncio.sleep(0.01)
    assert len(tries) == 1


def counted(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each cleaning succeeded."""
    clean, tries = SqliteDatabase._clean_files, list[bool]()

    def counting(self: SqliteDatabase) -> bool:
        tries.append(clean(self))
        return tries[-1]

    monkeypatch.setattr(SqliteDatabase, "_clean_files", counting)
    return tries
