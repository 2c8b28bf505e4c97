"""Large books: the rows that the signs select hold the best, filters work, and edits come and go."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contracts.index_contract import BOOK, FINGERPRINT, a_chunk, a_query, indexed, unit, write
from quoth.domain import Filters, IndexedChunk, Vector
from quoth.errors import UnknownBook
from quoth.index import columns
from quoth.index.embedded import EmbeddedIndex

pytestmark = pytest.mark.slow

SIZE = 3000
FEW = 1500  # rows that are scored exactly
DIMENSIONS = 64
WIDE = replace(FINGERPRINT, dimensions=DIMENSIONS)
FILTERS = [
    Filters(),
    Filters(chapter_min=3, chapter_max=5),
    Filters(module="a", hardware_tier=2),
    Filters(hardware_tier=3),
    Filters(hardware_tier=4),
    Filters(source_url_prefix="https://book.example/"),
    Filters(module="nowhere"),
    Filters(chapter_max=4, lesson=9),
    Filters(section="Part 7"),
    Filters(source_url_prefix="https://book.example/guide/"),
    Filters(source_url_prefix="https://book.example/guide/page-1"),
    Filters(source_url_prefix="https://book.example/guide/page-12#p"),
]


def vector(dice: random.Random, around: Sequence[float]) -> Vector:
    return unit(*(value + dice.gauss(0, 0.4) for value in around))


def points(version: int = 0, numbers: Sequence[int] = range(SIZE)) -> list[IndexedChunk]:
    """Vectors in clusters, like those of texts."""
    topics = random.Random(3)
    centres = [[topics.gauss(0, 1) for _ in range(DIMENSIONS)] for _ in range(20)]
    made = []
    for number in numbers:
        dice = random.Random(f"{version}-{number}")
        chunk = a_chunk(
            f"c{number}",
            title=f"Version {version}",
            chapter=number % 9 or None,
            module="ab"[number % 2],
            hardware_tier=1 + number % 4,
            heading_path=("Guide", f"Part {number % 30}"),
            url=f"https://book.example/{'guide' if number % 3 else 'api'}/page-{number // 10}#part-{number % 10}",
        )
        terms = {dice.randrange(200): dice.uniform(0.2, 2) for _ in range(12)}
        made.append(indexed(chunk, vector(dice, centres[number % 20]), terms, embed_hash=f"{version}-{number}"))
    return made


@pytest.fixture
async def large(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[EmbeddedIndex]:
    """Signs are compared, as in a book many times this size."""
    monkeypatch.setattr(columns, "_SCORED", FEW)
    monkeypatch.setattr(columns, "_SCORED_EACH", 5)
    index = EmbeddedIndex(data_dir, WIDE, most_changes=100)
    yield index
    await index.close()


async def check_against_an_exact_scan(index: EmbeddedIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    dice, shared, wanted = random.Random(9), 0, 0
    for filters in FILTERS:
        for _ in range(8):
            around = points(numbers=[dice.randrange(SIZE)])[0].dense
            query = a_query(
                vector(dice, around), {dice.randrange(210): dice.uniform(0.5, 2) for _ in range(5)}, filters, limit=20
            )
            found = await index.view(BOOK).search(query)
            with monkeypatch.context() as patched:
                patched.setattr(columns, "_SCORED", SIZE * 2)
                exact = await index.view(BOOK).search(query)
            assert (found.total_found, found.sparse) == (exact.total_found, exact.sparse)
            assert len(found.dense) == len(exact.dense)
            shared += len({hit.chunk_id for hit in found.dense[:10]} & {hit.chunk_id for hit in exact.dense[:10]})
            wanted += len(exact.dense[:10])
    assert shared / wanted >= 0.97


async def test_a_large_book_finds_what_an_exact_scan_finds(
    large: EmbeddedIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    await write(large, *points())
    compared = 0
    compare = columns.Columns._compare

    def counting(self: columns.Columns, asked: Any) -> None:
        nonlocal compared
        compared += 1
        compare(self, asked)
        query, away = asked
        assert np.array_equal(away, np.count_nonzero((self.rows.vectors > 0) != (query > 0), axis=1))

    monkeypatch.setattr(columns.Columns, "_compare", counting)
    half = a_query(points(numbers=[0])[0].dense, {}, Filters(module="a"))
    assert (await large.view(BOOK).search(half)).total_found == FEW
    assert not compared  # so few rows are scored exactly
    await check_against_an_exact_scan(large, monkeypatch)
    assert compared


async def test_searches_asked_at_once_find_what_each_finds_alone(
    large: EmbeddedIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, "_WORTH_SPREADING", 0)
    await write(large, *points())
    dice = random.Random(11)
    queries = [
        a_query(vector(dice, points(numbers=[number])[0].dense), {number % 210: 1.0, 3: 0.5}, filters, limit=limit)
        for number, filters, limit in zip(range(0, 400, 10), FILTERS * 10, [1, 5, 2] * 20, strict=False)
    ]
    alone = [await large.view(BOOK).search(query) for query in queries]
    # Asked one level down, where a failed search is not repeated.
    assert large._books.book(BOOK).search(queries) == alone
    asked = [*(large.view(BOOK).search(query) for query in queries), large.view("no-such-book").search(queries[0])]
    *at_once, failed = await asyncio.gather(*asked, return_exceptions=True)
    assert at_once == alone
    assert isinstance(failed, UnknownBook)


@pytest.mark.parametrize("changed", [30, 200], ids=["beside the base", "a new base"])
async def test_edits_of_a_large_book_are_found_and_what_they_replace_is_not(
    data_dir: Path, large: EmbeddedIndex, monkeypatch: pytest.MonkeyPatch, changed: int
) -> None:
    await write(large, *points())
    replaced = points(version=1, numbers=range(0, 15 * changed, 15))
    dropped = points(numbers=range(1, 1 + 7 * changed, 7))
    added = points(version=2, numbers=range(SIZE, SIZE + changed // 2))
    async with large.writer(BOOK) as writer:
        await writer.put(replaced)
        await writer.drop([point.chunk.id for point in dropped])
        await writer.put(added)
        await writer.publish()
    assert any(data_dir.rglob("gen-000002.json")) == (changed == 30)
    gone = {point.chunk.id for point in dropped}
    left = {point.chunk.id: point for point in [*points(), *replaced, *added] if point.chunk.id not in gone}
    assert {point.chunk.id: point.chunk.title async for point in large.points(BOOK)} == {
        id: point.chunk.title for id, point in left.items()
    }
    for point in added[:3]:
        [hit] = (await large.view(BOOK).search(a_query(point.dense, {}, limit=1))).dense
        assert hit.chunk_id == point.chunk.id
        assert hit.score == pytest.approx(1, abs=1e-5)
    await check_against_an_exact_scan(large, monkeypatch)
