"""What the store promises on every database, beyond `LibraryContract`: what several stores and processes on one
database do to each other, and what a database cannot hold. Give the fixtures `library` and `url`, its address."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from dataclasses import replace
from datetime import datetime

import pytest

from contracts.library_contract import NOW, SESSION, LibraryContract, a_record, a_turn
from quoth.domain import Book, IngestJob
from quoth.errors import Conflict, InternalError, NotFound
from quoth.ports import Library
from quoth.store.library import open_library

WRITER = """
import asyncio, sys
from datetime import UTC, datetime
from quoth.store.library import open_library
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


class SqlContract(LibraryContract):
    async def test_what_was_stored_is_there_when_the_store_is_opened_again(self, url: str) -> None:
        first = await open_library(url)
        await first.add_turn(a_turn())
        await first.close()
        second = await open_library(url)
        assert (await second.turns(SESSION))[1] == 1
        await second.close()

    async def test_two_open_stores_on_one_database_see_each_other(self, library: Library, url: str) -> None:
        other = await open_library(url)
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

    async def test_page_records_are_all_stored_or_none(self, library: Library) -> None:
        with pytest.raises(InternalError, match="time zone"):
            await library.put_page_records([a_record(), a_record(source_file="b.md", ingested_at=datetime(2030, 1, 1))])
        assert await library.page_records("robots") == {}

    async def test_text_that_no_database_can_hold_does_not_lose_the_turn(self, library: Library) -> None:
        backslashes = "\\u0000 \\\\u0000"
        odd = a_turn(query="half \ud83d of a pair", response="nul \x00", missing_terms=("\ud83d", "a\x00b"))
        await library.add_turn(replace(odd, searched_query=backslashes))
        [turn], _ = await library.turns(SESSION)
        assert turn.query == "half \ufffd of a pair"
        assert turn.response == "nul \ufffd"
        assert turn.missing_terms == ("\ufffd", "a\ufffdb")
        assert turn.searched_query == backslashes

    async def test_a_title_with_a_nul_does_not_end_an_ingest(self, library: Library) -> None:
        await library.put_page_records([a_record(title="nul \x00"), a_record(source_file="b.md")])
        assert set(await library.page_records("robots")) == {"docs/intro.md", "b.md"}

    async def test_a_number_that_no_job_can_have_is_not_found(self, library: Library) -> None:
        for number in (2**31, 2**63 - 1, 2**63, 10**30):
            with pytest.raises(NotFound):
                await library.job(number)

    async def test_books_are_listed_in_the_order_of_their_letters_not_of_a_language(self, library: Library) -> None:
        for book_id in ("b", "B", "a-b", "ab", "É"):
            await library.put_book(Book(book_id, book_id))
        assert [book.book_id for book in await library.books()] == ["B", "a-b", "ab", "b", "É"]

    async def test_a_value_that_is_not_json_is_a_fault_of_ours_and_stores_nothing(self, library: Library) -> None:
        with pytest.raises(InternalError):
            await library.add_turn(a_turn(model=object()))
        await library.add_turn(a_turn(1))
        assert (await library.turns(SESSION))[1] == 1

    async def test_a_cancelled_caller_leaves_whole_turns_and_a_working_store(self, library: Library) -> None:
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

    async def test_a_job_can_be_taken_over_after_its_process_died(self, url: str) -> None:
        dead = await open_library(url)
        job = await dead.start_job(IngestJob("robots", "full", status="running"))
        await dead.close()
        library = await open_library(url, now=lambda: NOW)
        assert await library.fail_running_jobs("robots", "its process ended") == 1
        assert await library.job(job.job_id) == replace(
            job, status="failed", error_message="its process ended", completed_at=NOW
        )
        await library.close()

    @pytest.mark.slow
    def test_four_processes_on_a_new_database_migrate_once_and_lose_nothing(self, url: str) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
        processes = [
            subprocess.Popen(
                [sys.executable, "-c", WRITER, url, f"p{number}", SESSION],
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
            library = await open_library(url)
            turns, total = await library.turns(SESSION, limit=1000)
            await library.close()
            return [turn.query for turn in turns], total

        queries, total = asyncio.run(stored())
        assert total == 100
        for number in range(4):
            mine = [query for query in queries if query.startswith(f"p{number} ")]
            assert mine == [f"p{number} {count}" for count in range(25)]
