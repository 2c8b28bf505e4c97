"""A book moves between two indexes, whole, without embedding, and never over something newer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contracts.index_contract import BOOK, FINGERPRINT, OTHER_FINGERPRINT, a_chunk, all_ids, indexed, unit, write
from quoth.bootstrap import fingerprint_of
from quoth.domain import IndexedChunk
from quoth.errors import Conflict, IndexMismatch, IndexUnavailable, UnknownBook
from quoth.index.embedded import EmbeddedIndex
from quoth.index.qdrant import QdrantIndex
from quoth.index.qdrant_server import QdrantOptions
from quoth.ingest import Ingest
from quoth.migrate import BATCH, Moved, move_book
from quoth.ports import ChunkIndex, IndexWriter
from quoth.sources import open_source
from quoth.testing.embedder import FakeEmbedder
from quoth.testing.index import MemoryIndex
from quoth.testing.library import MemoryLibrary
from samples import TickingClock

MakeIndex = Callable[[str], ChunkIndex]


@pytest.fixture
async def make(data_dir: Path) -> AsyncIterator[MakeIndex]:
    """An index of each kind: memory, embedded, cluster."""
    made: list[ChunkIndex] = []
    with ExitStack() as stack:

        def make_(kind: str) -> ChunkIndex:
            if kind == "memory":
                made.append(MemoryIndex(FINGERPRINT))
            elif kind == "embedded":
                made.append(EmbeddedIndex(data_dir / str(len(made)), FINGERPRINT))
            else:
                from qdrant_wire import qdrant_wire  # seconds, which only the slow tests spend

                wire = stack.enter_context(qdrant_wire())
                made.append(QdrantIndex(QdrantOptions(urls=(wire.url,), backoff=0.0), FINGERPRINT))
            return made[-1]

        yield make_
        for index in made:
            await index.close()


def some(count: int, **fields: Any) -> list[IndexedChunk]:
    return [
        indexed(a_chunk(f"{n:04}", **fields), unit(1, n, 3, 0.5), {n: 0.5, n + 1: 1.25}, embed_hash=f"e{n}")
        for n in range(count)
    ]


async def points_of(index: ChunkIndex) -> list[IndexedChunk]:
    return [point async for point in index.points(BOOK)]


def assert_same(found: list[IndexedChunk], expected: list[IndexedChunk]) -> None:
    """Engines keep single precision, and normalise vectors."""
    assert [replace(point, dense=()) for point in found] == [replace(point, dense=()) for point in expected]
    assert np.allclose([point.dense for point in found], [point.dense for point in expected], rtol=0, atol=1e-6)


WAYS = [
    ("memory", "memory"),
    pytest.param("embedded", "cluster", marks=pytest.mark.slow),
    pytest.param("cluster", "embedded", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("kind", "other"), WAYS)
async def test_a_book_arrives_whole_and_goes_back_the_same(make: MakeIndex, kind: str, other: str) -> None:
    source, target, back = make(kind), make(other), make(kind)
    await write(source, *some(BATCH + 40))
    before = await points_of(source)
    told: list[tuple[int, int]] = []
    moved = await move_book(BOOK, source, target, tell=lambda done, total: told.append((done, total)))
    assert moved == Moved(BOOK, chunks=296, written=296, dropped=0)
    assert told == [(256, 296), (296, 296)]
    assert_same(await points_of(target), before)
    await move_book(BOOK, target, back)
    assert_same(await points_of(back), before)
    assert_same(await points_of(source), before)


@pytest.mark.parametrize(("kind", "other"), WAYS)
async def test_the_second_time_only_what_differs_is_written(make: MakeIndex, kind: str, other: str) -> None:
    source, target = make(kind), make(other)
    await write(source, *some(30))
    await move_book(BOOK, source, target)
    generation = (await target.status(BOOK)).generation
    assert await move_book(BOOK, source, target) == Moved(BOOK, chunks=30, written=0, dropped=0)
    assert (await target.status(BOOK)).generation == generation
    async with source.writer(BOOK) as writer:
        await writer.put([*some(2, title="Changed"), indexed(a_chunk("new"))])
        await writer.drop([a_chunk("0029").id])
        await writer.publish()
    assert await move_book(BOOK, source, target) == Moved(BOOK, chunks=30, written=3, dropped=1)
    assert_same(await points_of(target), await points_of(source))


@pytest.mark.parametrize(("kind", "other"), WAYS)
async def test_a_dry_run_says_the_same_and_changes_nothing(make: MakeIndex, kind: str, other: str) -> None:
    source, target = make(kind), make(other)
    await write(source, *some(5))
    planned = await move_book(BOOK, source, target, dry_run=True)
    assert planned == Moved(BOOK, chunks=5, written=5, dropped=0, dry_run=True)
    assert await target.books() == []
    await write(target, *some(3), indexed(a_chunk("other")))
    await write(source, *some(5, title="Newer"))
    planned = await move_book(BOOK, source, target, dry_run=True)
    assert planned == Moved(BOOK, chunks=5, written=5, dropped=1, dry_run=True)
    assert len(await all_ids(target)) == 4


@pytest.mark.parametrize("dry_run", [False, True])
async def test_something_newer_is_not_replaced_unless_told_so(dry_run: bool) -> None:
    source, target = MemoryIndex(FINGERPRINT), MemoryIndex(FINGERPRINT)
    await write(source, *some(3))
    await move_book(BOOK, source, target)
    async with target.writer(BOOK) as writer:
        await writer.drop([a_chunk("0001").id])
        await writer.publish()
    with pytest.raises(Conflict, match="newer") as caught:
        await move_book(BOOK, source, target, dry_run=dry_run)
    assert "--force" in caught.value.hint
    assert len(await all_ids(target)) == 2
    await move_book(BOOK, source, target, force=True)
    assert len(await all_ids(target)) == 3


async def test_a_book_of_the_target_that_was_built_otherwise_is_replaced() -> None:
    source, target = MemoryIndex(FINGERPRINT), MemoryIndex(OTHER_FINGERPRINT)
    await write(source, *some(3))
    await write(target, *some(4))
    now = MemoryIndex(FINGERPRINT, target._storage)
    assert (await move_book(BOOK, source, now, dry_run=True)).written == 3
    await move_book(BOOK, source, now)
    assert_same(await points_of(now), await points_of(source))


async def test_a_book_that_is_not_there_or_built_otherwise_does_not_move() -> None:
    source, target = MemoryIndex(OTHER_FINGERPRINT), MemoryIndex(FINGERPRINT)
    await write(source, *some(1))
    for dry_run in (False, True):
        with pytest.raises(UnknownBook):
            await move_book("nobody", MemoryIndex(FINGERPRINT), target, dry_run=dry_run)
        with pytest.raises(IndexMismatch):
            await move_book(BOOK, MemoryIndex(FINGERPRINT, source._storage), target, dry_run=dry_run)
    assert await target.books() == []


async def test_nobody_writes_the_book_while_it_moves() -> None:
    source, target = MemoryIndex(FINGERPRINT), MemoryIndex(FINGERPRINT)
    await write(source, *some(1))
    for held in (source, target):
        async with held.writer(BOOK):
            with pytest.raises(Conflict):
                await move_book(BOOK, source, target)
    assert await target.books() == []


class Forgetful(MemoryIndex):
    """Loses a chunk of every batch; or fails at the second batch."""

    def __init__(self, *, fails: bool = False) -> None:
        super().__init__(FINGERPRINT)
        self.fails = fails

    def writer(self, book_id: str, *, recreate: bool = False):  # type: ignore[no-untyped-def]
        from contextlib import asynccontextmanager

        @asynccontextmanager
        async def opened() -> AsyncIterator[IndexWriter]:
            async with MemoryIndex.writer(self, book_id, recreate=recreate) as writer:
                put, batches = writer.put, 0

                async def forget(chunks: Sequence[IndexedChunk]) -> None:
                    nonlocal batches
                    batches += 1
                    if self.fails and batches == 2:
                        raise IndexUnavailable("The server went away.")
                    await put(chunks if self.fails else chunks[1:])

                writer.put = forget  # type: ignore[method-assign]
                yield writer

        return opened()


async def test_a_copy_that_differs_is_not_published() -> None:
    source, target = MemoryIndex(FINGERPRINT), Forgetful()
    await write(source, *some(3))
    with pytest.raises(IndexUnavailable, match="differs"):
        await move_book(BOOK, source, target)
    assert await target.books() == []


async def test_a_move_that_fails_halfway_leaves_the_target_as_it_was_and_can_be_run_again() -> None:
    source, target = MemoryIndex(FINGERPRINT), Forgetful(fails=True)
    await write(source, *some(BATCH + 1))
    with pytest.raises(IndexUnavailable, match="went away"):
        await move_book(BOOK, source, target)
    assert await target.books() == []
    again = MemoryIndex(FINGERPRINT, target._storage)
    assert (await move_book(BOOK, source, again)).written == BATCH + 1


async def test_after_the_move_an_ingest_finds_nothing_to_do(tmp_path: Path) -> None:
    embedder, library, clock = FakeEmbedder(), MemoryLibrary(), TickingClock()
    source, target = MemoryIndex(fingerprint_of(embedder)), MemoryIndex(fingerprint_of(embedder))
    for name in ("one", "two"):
        (tmp_path / f"{name}.md").write_text(f"# {name}\n\nThe page {name} says something.\n")
    await Ingest(source, library, embedder, clock).run(open_source(tmp_path, book_id=BOOK))
    await move_book(BOOK, source, target)
    job = await Ingest(target, library, embedder, clock).run(open_source(tmp_path, book_id=BOOK))
    assert (job.files_discovered, job.files_skipped, job.files_processed) == (2, 2, 0)
    assert (job.chunks_created, job.chunks_embedded) == (0, 0)
