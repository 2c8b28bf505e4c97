"""A large book is searched by columns: it is found what is found without, filters hold, and edits come and go."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from contracts.index_contract import BOOK, FINGERPRINT, a_chunk, a_query, all_ids, indexed, unit, write
from quoth.domain import Filters, IndexedChunk, IndexHit, Vector
from quoth.errors import UnknownBook
from quoth.index import columns
from quoth.index.embedded import EmbeddedIndex

pytestmark = pytest.mark.slow

SIZE = 3000
DIMENSIONS = 64
WIDE = replace(FINGERPRINT, dimensions=DIMENSIONS)
LARGE = DraftOptions(most_changes=100, plain_up_to=500)
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
    """Vectors in clusters, as those of texts are."""
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
async def large(data_dir: Path) -> EmbeddedIndex:
    return EmbeddedIndex(data_dir / "large", WIDE, EdgeOptions(drafts=LARGE))


@pytest.fixture
async def plain(data_dir: Path) -> EmbeddedIndex:
    return EmbeddedIndex(data_dir / "plain", WIDE)


def has_columns(data_dir: Path) -> bool:
    return any((data_dir / "large").rglob("scan"))


async def compare(one: EmbeddedIndex, other: EmbeddedIndex) -> float:
    """The share of the best ten by vector that both find; everything else must be equal."""
    dice, shared, wanted = random.Random(9), 0, 0
    assert await all_ids(one) == await all_ids(other)
    for filters in FILTERS:
        for _ in range(8):
            around = points(numbers=[dice.randrange(SIZE)])[0].dense
            query = a_query(
                vector(dice, around), {dice.randrange(210): dice.uniform(0.5, 2) for _ in range(5)}, filters, limit=20
            )
            found, expected = await one.search(query), await other.search(query)
            assert found.total_found == expected.total_found
            assert [hit.chunk_id for hit in found.sparse] == [hit.chunk_id for hit in expected.sparse]
            assert len(found.dense) == len(expected.dense)
            assert scores(found.dense[:1]) == pytest.approx(scores(expected.dense[:1]), abs=1e-5)
            shared += len({hit.chunk_id for hit in found.dense[:10]} & {hit.chunk_id for hit in expected.dense[:10]})
            wanted += len(expected.dense[:10])
    return shared / wanted


def scores(hits: Sequence[IndexHit]) -> list[float]:
    return [hit.score for hit in hits]


async def test_a_large_book_finds_what_a_plain_one_finds(
    data_dir: Path, large: EmbeddedIndex, plain: EmbeddedIndex
) -> None:
    for index in (large, plain):
        await write(index, *points())
    assert has_columns(data_dir)
    assert not any((data_dir / "plain").rglob("scan"))
    assert await compare(large, plain) >= 0.97
    segments = next((data_dir / "large").rglob("segments"))
    assert len(list(segments.iterdir())) == 2  # the packed one, and one for what comes later
    for index in (large, plain):
        await index.close()


async def test_searches_asked_at_once_find_what_each_finds_alone(
    large: EmbeddedIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, "_WORTH_SPREADING", 0)
    monkeypatch.setattr(columns, "_SCORED", 100)  # so that signs are compared
    await write(large, *points())
    dice = random.Random(11)
    queries = [
        a_query(vector(dice, points(numbers=[number])[0].dense), {number % 210: 1.0, 3: 0.5}, filters, limit=limit)
        for number, filters, limit in zip(range(0, 400, 10), FILTERS * 10, [1, 5, 2] * 20, strict=False)
    ]
    alone = [await large.search(query) for query in queries]
    assert large._books.book(BOOK).search(queries) == alone  # asked below, where nothing is asked again that fails
    lost = replace(queries[0], book_id="no-such-book")
    *at_once, failed = await asyncio.gather(*map(large.search, [*queries, lost]), return_exceptions=True)
    assert at_once == alone
    assert isinstance(failed, UnknownBook)
    await large.close()


@pytest.mark.parametrize("changed", [30, 200], ids=["beside the base", "a new base"])
async def test_edits_of_a_large_book_are_found_and_what_they_replace_is_not(
    data_dir: Path, large: EmbeddedIndex, plain: EmbeddedIndex, changed: int
) -> None:
    for index in (large, plain):
        await write(index, *points())
        async with index.writer(BOOK) as writer:
            await writer.put(points(version=1, numbers=range(0, 15 * changed, 15)))
            await writer.drop([point.chunk.id for point in points(numbers=range(1, 1 + 7 * changed, 7))])
            await writer.put(points(version=2, numbers=range(SIZE, SIZE + changed // 2)))
            await writer.publish()
    assert any((data_dir / "large").rglob("gen-000002.json")) == (changed == 30)
    assert has_columns(data_dir)
    assert await compare(large, plain) >= 0.97
    for index in (large, plain):
        await index.close()


async def test_a_book_that_has_become_small_again_has_no_columns(data_dir: Path, large: EmbeddedIndex) -> None:
    await write(large, *points())
    async with large.writer(BOOK) as writer:
        await writer.drop([point.chunk.id for point in points(numbers=range(400, SIZE))])
        await writer.publish()
    assert not any(next((data_dir / "large").rglob("gen-000002")).rglob("scan"))
    [wanted] = points(numbers=[7])
    found = await large.search(a_query(wanted.dense, {}, Filters(section="Part 7"), limit=1))
    assert [hit.chunk_id for hit in found.dense] == [wanted.chunk.id]
    assert found.total_found == 14  # 7, 37 … 397
    await large.close()
