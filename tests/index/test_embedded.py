"""The embedded index keeps the contract, even across processes, kills and full disks."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

import quoth
from contracts.index_contract import (
    BOOK,
    FINGERPRINT,
    IndexContract,
    OpenIndex,
    a_chunk,
    a_query,
    all_ids,
    indexed,
    unit,
    write,
)
from contracts.index_process import publication, publish, seen
from quoth.domain import Filters, Fingerprint, IndexHits
from quoth.errors import Conflict, UnknownBook
from quoth.index.base import Base
from quoth.index.embedded import MOST_CHANGES, EmbeddedIndex
from quoth.index.open_books import OpenBooks
from quoth.testing.index import MemoryIndex

pytestmark = pytest.mark.slow

TESTS = Path(__file__).parents[1]
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def most_changes() -> int:
    return MOST_CHANGES


@pytest.fixture
async def open_index(data_dir: Path, most_changes: int) -> AsyncIterator[OpenIndex]:
    opened: list[EmbeddedIndex] = []

    def open_(fingerprint: Fingerprint = FINGERPRINT) -> EmbeddedIndex:
        opened.append(EmbeddedIndex(data_dir, fingerprint, most_changes=most_changes))
        return opened[-1]

    yield open_
    await asyncio.gather(*(index.close() for index in opened))


@pytest.fixture
def start(data_dir: Path) -> Iterator[Start]:
    """Start another process over the data directory; none outlives the test."""
    started: list[subprocess.Popen[str]] = []
    paths = os.pathsep.join([str(TESTS), str(Path(quoth.__file__).parents[1])])

    def start_(command: str, *arguments: str) -> subprocess.Popen[str]:
        program = [sys.executable, str(TESTS / "contracts" / "index_process.py"), command, str(data_dir), *arguments]
        environment = {**os.environ, "PYTHONPATH": paths}
        pipe = subprocess.PIPE
        started.append(subprocess.Popen(program, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment))
        return started[-1]

    yield start_
    for process in started:
        process.kill()
        process.communicate()


def finish(process: subprocess.Popen[str]) -> list[str]:
    out, err = process.communicate()
    assert process.returncode == 0, err
    return out.splitlines()


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def folders(data_dir: Path) -> list[str]:
    return sorted(path.name for path in (data_dir / "index" / BOOK).glob("gen-*"))


class TestEmbeddedIndex(IndexContract):
    """Edits are changes beside the base. `open_index` is the fixture above."""


class TestEmbeddedIndexBuiltAnew(IndexContract):
    """Every publication is a new base."""

    @pytest.fixture
    def most_changes(self) -> int:
        return 0


# --- this process ----------------------------------------------------------------------------------------------------


async def test_a_data_directory_has_one_writer_also_for_another_book(open_index: OpenIndex) -> None:
    index = open_index()
    async with index.writer(BOOK):
        with pytest.raises(Conflict, match=BOOK):
            async with index.writer("cooking"):
                pass


async def test_a_book_stays_open_until_another_generation_is_published(data_dir: Path, open_index: OpenIndex) -> None:
    index = open_index()
    await write(index, indexed(a_chunk("one")))
    books = OpenBooks(data_dir / "index", FINGERPRINT, 2)
    first = books.book(BOOK)
    assert books.book(BOOK) is first
    await write(index, indexed(a_chunk("two")))
    second = books.book(BOOK)
    assert (first.count(Filters()), second.count(Filters())) == (1, 2)
    assert books.book(BOOK) is second


@pytest.mark.parametrize("gone", [0, 40])
async def test_of_many_that_score_the_same_the_first_ids_come_first(open_index: OpenIndex, gone: int) -> None:
    index = open_index()
    chunks = [a_chunk(f"c{n}") for n in range(2000)]
    await write(index, *(indexed(chunk, unit(1, n // 8, 0, 0), {1: 1 + n // 8}) for n, chunk in enumerate(chunks)))
    async with index.writer(BOOK) as writer:
        await writer.drop([chunk.id for chunk in chunks[:gone]])
        await writer.publish()
    hits = await index.view(BOOK).search(a_query(limit=12))
    ranked = sorted(chunks[gone:], key=lambda chunk: (int(chunk.source_file[1:-3]) // 8, chunk.id))
    assert [hit.chunk_id for hit in hits.dense] == [chunk.id for chunk in ranked[:12]]
    best = sorted(chunks[gone:], key=lambda chunk: (-(int(chunk.source_file[1:-3]) // 8), chunk.id))
    assert [hit.chunk_id for hit in hits.sparse] == [chunk.id for chunk in best[:12]]


async def test_only_so_many_books_stay_open(data_dir: Path, open_index: OpenIndex) -> None:
    index = open_index()
    names = ["one", "two", "three"]
    for book_id in names:
        await write(index, indexed(a_chunk("page", book_id=book_id)), book_id=book_id)
    books = OpenBooks(data_dir / "index", FINGERPRINT, 2)
    one, two, three = (books.book(book_id) for book_id in names)
    assert books.book("three") is three
    assert books.book("two") is two
    again = books.book("one")
    assert again is not one
    assert again.count(Filters()) == 1


async def test_searches_under_way_finish_while_publications_go_on(open_index: OpenIndex) -> None:
    index, other = open_index(), open_index()
    await publish(index, 1, 1)
    versions, _ = await asyncio.gather(asyncio.gather(*(seen(other) for _ in range(30))), publish(index, 2, 3))
    assert set(versions) <= {1, 2, 3}
    assert await seen(other) == 3


async def test_the_event_loop_stays_free_while_a_book_is_opened_and_searched(open_index: OpenIndex) -> None:
    index = open_index()
    await write(index, *(indexed(a_chunk(f"c{n}")) for n in range(300)))
    search = asyncio.create_task(open_index().view(BOOK).search(a_query()))
    turns = 0
    while not search.done():
        await asyncio.sleep(0)
        turns += 1
    assert (await search).total_found == 300
    assert turns > 10


async def test_a_book_that_is_being_opened_keeps_no_other_waiting(
    open_index: OpenIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    for book_id in ("slow", "quick"):
        await write(open_index(), indexed(a_chunk("page", book_id=book_id)), book_id=book_id)
    index, load, may_open = open_index(), Base.open, threading.Event()
    assert (await index.view("quick").search(a_query())).total_found == 1

    def slowly(folder: Path) -> Base:
        assert may_open.wait(60)
        return load(folder)

    monkeypatch.setattr(Base, "open", slowly)
    slow = asyncio.create_task(index.view("slow").search(a_query()))
    await asyncio.sleep(0)
    assert (await index.view("quick").search(a_query())).total_found == 1
    assert not slow.done()
    may_open.set()
    assert (await slow).total_found == 1


@pytest.mark.parametrize("first_change", ["put", "drop"])
@pytest.mark.parametrize(("most_changes", "opens"), [(MOST_CHANGES, ["gen-000001"]), (0, ["gen-000001", "gen-000002"])])
async def test_an_edit_opens_each_base_once_for_the_writer_and_all_readers_here(
    open_index: OpenIndex, monkeypatch: pytest.MonkeyPatch, first_change: str, opens: list[str]
) -> None:
    """Opening is most of the cost of a small edit to a large book: all columns are read."""
    await publish(open_index(), 1, 1)
    index = open_index()
    opened: list[str] = []
    load = Base.open

    def watched(folder: Path) -> Base:
        opened.append(folder.name)
        return load(folder)

    monkeypatch.setattr(Base, "open", watched)
    async with index.writer(BOOK) as writer:
        stored = await writer.stored()
        await writer.vectors(chunk.embed_hash for chunk in stored.values())
        if first_change == "put":
            await writer.put(publication(2)[:1])
        else:
            await writer.drop(list(stored)[:1])
        await writer.publish()
    assert await index.view(BOOK).count() == len(stored) - (first_change == "drop")
    assert (await index.view(BOOK).search(a_query())).dense
    assert opened == opens


async def test_a_new_page_does_not_open_the_base_at_all(open_index: OpenIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    await publish(open_index(), 1, 1)
    index = open_index()
    monkeypatch.delattr(Base, "open")
    await write(index, indexed(a_chunk("new")))
    assert (await index.status(BOOK)).chunks == 22
    monkeypatch.undo()
    assert a_chunk("new").id in await all_ids(index)


async def test_a_reader_keeps_the_base_open_when_only_changes_are_published(
    data_dir: Path, open_index: OpenIndex
) -> None:
    index = open_index()
    await publish(index, 1, 1)
    books = OpenBooks(data_dir / "index", FINGERPRINT, 2)
    base = books.book(BOOK).base
    await publish(index, 2, 2)
    assert {chunk.title for chunk in books.book(BOOK).chunks(books.book(BOOK).ids_in_order()).values()} == {"2"}
    assert books.book(BOOK).base is base


async def test_the_files_of_a_book_that_was_replaced_are_let_go(data_dir: Path) -> None:
    index = EmbeddedIndex(data_dir, FINGERPRINT, most_changes=0)
    held = []
    for version in range(1, 5):
        await publish(index, version, version)
        assert await seen(index) == version
        gc.collect()
        mapped = Path("/proc/self/maps").read_text().count(str(data_dir))
        opened = [link for link in Path("/proc/self/fd").iterdir() if str(data_dir) in os.path.realpath(link)]
        held.append((mapped, len(opened)))
    assert held == [held[0]] * 4
    assert held[0][0] >= 10
    assert held[0][1] >= 10  # a map holds its file open too
    await index.close()


async def test_a_reader_does_not_take_the_base_of_a_deleted_book_for_that_of_a_new_one(
    data_dir: Path, open_index: OpenIndex
) -> None:
    index, reader = open_index(), open_index()
    await publish(index, 1, 1)
    assert await seen(reader) == 1
    await index.delete_book(BOOK)
    await write(index, indexed(a_chunk("new")))
    assert await all_ids(reader) == {a_chunk("new").id}


async def test_many_changes_become_a_new_base_and_few_do_not(data_dir: Path, open_index: OpenIndex) -> None:
    index = EmbeddedIndex(data_dir, FINGERPRINT, most_changes=4)
    names = [f"c{n}" for n in range(10)]
    await write(index, *(indexed(a_chunk(name)) for name in names))
    await write(index, *(indexed(a_chunk(name, title="Two")) for name in names[:4]))
    assert folders(data_dir) == ["gen-000001", "gen-000002.json"]
    await write(index, indexed(a_chunk("c4", title="Three")))
    assert folders(data_dir) == ["gen-000001", "gen-000002.json", "gen-000003"]
    found = {chunk.id: chunk.title async for chunk in index.scan(BOOK)}
    assert [found[a_chunk(name).id] for name in names] == ["Two"] * 4 + ["Three"] + [f"C{n}" for n in range(5, 10)]
    await index.close()


async def test_a_cancelled_writer_leaves_nothing_behind(data_dir: Path, open_index: OpenIndex) -> None:
    index = open_index()
    await publish(index, 1, 1)
    reached = asyncio.Event()

    async def stuck() -> None:
        async with index.writer(BOOK) as writer:
            await writer.put(publication(2))
            reached.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(stuck())
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await seen(index) == 1
    assert folders(data_dir) == ["gen-000001"]
    await publish(index, 2, 2)


async def test_nothing_is_copied_when_nothing_changes(data_dir: Path, open_index: OpenIndex) -> None:
    index = open_index()
    await publish(index, 1, 1)
    async with index.writer(BOOK) as writer:
        await writer.stored()
        await writer.vectors(["unknown"])
        await writer.drop(["00000000-0000-0000-0000-000000000000"])
        await writer.publish()
        assert folders(data_dir) == ["gen-000001"]
        await writer.put(publication(2)[:1])
        await writer.publish()
        assert folders(data_dir) == ["gen-000001", "gen-000002.json"]


async def test_generations_do_not_pile_up_and_the_status_tells_their_size(data_dir: Path) -> None:
    index = EmbeddedIndex(data_dir, FINGERPRINT, most_changes=0)
    await publish(index, 1, 4)
    book = data_dir / "index" / BOOK
    assert sorted(path.name for path in book.iterdir()) == ["CURRENT", "gen-000003", "gen-000004"]
    live = sum(file.stat().st_size for file in (book / "gen-000004").iterdir())
    assert (await index.status(BOOK)).bytes_on_disk == live
    await index.close()


@pytest.mark.parametrize("most_changes", [0, MOST_CHANGES, 10_000])
async def test_it_agrees_with_the_brute_force_index_after_many_changes(open_index: OpenIndex) -> None:
    dice = random.Random(7)
    embedded, memory = open_index(), MemoryIndex(FINGERPRINT)
    pool = [a_chunk(f"c{n}", chapter=n % 9 or None, module="ab"[n % 2]) for n in range(2600)]
    for round_ in range(4):
        changed = dice.sample(pool, 1500)
        points = [
            indexed(
                chunk,
                unit(*(dice.gauss(0, 1) for _ in range(4))),
                {dice.randrange(60): dice.uniform(0.2, 2) for _ in range(12)},
                embed_hash=f"{round_}-{chunk.id}",
            )
            for chunk in changed
        ]
        dropped = [chunk.id for chunk in dice.sample(pool, 1100)]
        for index in (embedded, memory):
            async with index.writer(BOOK) as writer:
                await writer.put(points)
                await writer.drop(dropped)
                await writer.publish()
        assert await all_ids(embedded) == await all_ids(memory)
        assert await embedded.view(BOOK).idf(range(70)) == pytest.approx(
            await memory.view(BOOK).idf(range(70)), rel=1e-4
        )
        for _ in range(25):
            query = a_query(
                unit(*(dice.gauss(0, 1) for _ in range(4))),
                {dice.randrange(70): dice.uniform(0.5, 2) for _ in range(5)},
                dice.choice([Filters(), Filters(chapter_min=3, module="a")]),
                limit=20,
            )
            compare(await embedded.view(BOOK).search(query), await memory.view(BOOK).search(query))


def compare(found: IndexHits, expected: IndexHits) -> None:
    assert found.total_found == expected.total_found
    for ours, theirs in ((found.dense, expected.dense), (found.sparse, expected.sparse)):
        assert len(ours) == len(theirs)
        assert [hit.score for hit in ours] == pytest.approx([hit.score for hit in theirs], rel=1e-4, abs=1e-5)
        # Single precision may swap neighbours whose scores differ in the seventh digit.
        assert len({hit.chunk_id for hit in ours} ^ {hit.chunk_id for hit in theirs}) <= 2


# --- other processes -------------------------------------------------------------------------------------------------


async def test_what_is_published_is_there_for_a_new_process(open_index: OpenIndex, start: Start) -> None:
    await publish(open_index(), 1, 2)
    assert finish(start("seen")) == ["seen 2"]


async def test_a_second_writer_in_another_process_is_told_who_holds_the_lock(
    open_index: OpenIndex, start: Start
) -> None:
    index = open_index()
    holder = start("hold")
    assert line(holder) == "holding"
    with pytest.raises(Conflict, match=rf"pid {holder.pid} .*index_process\.py hold .* since .*'{BOOK}'"):
        async with index.writer(BOOK):
            pass
    with pytest.raises(UnknownBook):
        await index.view(BOOK).count()
    holder.kill()
    holder.wait()
    await publish(index, 1, 1)
    assert await seen(index) == 1


@pytest.mark.slow
async def test_a_reader_in_another_process_sees_whole_publications_only(open_index: OpenIndex, start: Start) -> None:
    await publish(open_index(), 1, 1)
    readers = [start("follow", "15"), start("follow", "15")]
    assert [line(reader) for reader in readers] == ["seen 1", "seen 1"]
    finish(start("publish", "2", "15"))
    for reader in readers:
        *_, last = finish(reader)
        assert int(last.removeprefix("distinct ")) >= 2


@pytest.mark.slow
async def test_a_killed_writer_leaves_the_old_or_the_new_and_the_next_one_works(
    data_dir: Path, open_index: OpenIndex, start: Start
) -> None:
    dice = random.Random(11)
    index = open_index()
    await publish(index, 1, 1)
    live = 1
    for _ in range(12):
        writer = start("publish", str(live + 1), str(live + 50))
        for _ in range(dice.randrange(1, 6)):
            said = line(writer)
        with pytest.raises(subprocess.TimeoutExpired):
            writer.wait(timeout=dice.uniform(0, 0.25))
        writer.kill()
        rest, _ = writer.communicate()
        done = [int(text.split()[1]) for text in [said, *rest.splitlines()] if text.startswith("published")]
        last = max(done, default=live if said == f"begin {live + 1}" else int(said.split()[1]) - 1)
        live = await seen(index)
        assert live in (last, last + 1)
    await publish(index, live + 1, live + 1)
    assert finish(start("seen")) == [f"seen {live + 1}"]
    assert 2 <= len(folders(data_dir)) <= 3  # a base or two, the current changes and the previous ones


@pytest.mark.parametrize("mode", ["changes", "base", "recreate"])
@pytest.mark.parametrize("limit", [64, 2048])
async def test_a_full_disk_is_named_and_the_live_index_is_untouched(
    data_dir: Path, open_index: OpenIndex, start: Start, mode: str, limit: int
) -> None:
    """A limit on file sizes simulates the full disk and needs no privileges. Each limit fails at another file."""
    index = open_index()
    await publish(index, 1, 1)
    [said] = finish(start("full", mode, str(limit)))
    assert said.startswith("DiskFull: The disk of ")
    assert said.endswith("everything stored before is intact.")
    assert finish(start("seen")) == ["seen 1"]
    assert folders(data_dir) == ["gen-000001"]
    await publish(index, 2, 2)
    assert await seen(index) == 2
