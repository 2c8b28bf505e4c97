"""What every ChunkIndex must do, one test for each sentence of the port.

A test class inherits IndexContract and gives the fixture `open_index`: called any number of times it opens the same
storage again, as another process would, for the fingerprint asked for.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from quoth.chunks.payload import payload_hash
from quoth.domain import (
    Book,
    Chunk,
    Filters,
    Fingerprint,
    IdSet,
    IndexedChunk,
    IndexQuery,
    Labels,
    TermWeights,
    Vector,
)
from quoth.errors import Conflict, IndexMismatch, InternalError, UnknownBook, WrongUsage
from quoth.ports import ChunkIndex

OpenIndex = Callable[..., ChunkIndex]

FINGERPRINT = Fingerprint(embedder="contract", dimensions=4, chunker="contract-1", terms="contract-1")
OTHER_FINGERPRINT = replace(FINGERPRINT, embedder="contract-other")
MADE = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
BOOK = "robots"
NAMESPACE = uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")


def chunk_id(name: str) -> str:
    return str(uuid.uuid5(NAMESPACE, name))


def a_chunk(name: str, *, book_id: str = BOOK, **fields: Any) -> Chunk:
    text = fields.pop("text", f"The text of {name}.")
    given: dict[str, Any] = {
        "id": chunk_id(f"{book_id}:{name}"),
        "book_id": book_id,
        "text": text,
        "start": 0,
        "end": len(text),
        "line": 1,
        "source_file": f"{name}.md",
        "source_file_hash": hashlib.sha256(name.encode()).hexdigest(),
        "title": name.title(),
        "url": f"https://book.example/{name}",
        "heading_path": (name.title(),),
        "breadcrumb": ("Guide", name.title()),
        "content_hash": hashlib.sha256(text.encode()).hexdigest(),
        "parent_doc_id": chunk_id(f"{book_id}:{name}:parent"),
        "chunk_index": 0,
        "total_chunks": 1,
        "prev_chunk_id": None,
        "next_chunk_id": None,
        "word_count": len(text.split()),
        "token_count": len(text.split()),
        "char_count": len(text),
    }
    labels = Labels(**{name: fields.pop(name) for name in Labels.__slots__ if name in fields})
    return Chunk(**{**given, "labels": labels, **fields})


def indexed(
    chunk: Chunk,
    dense: Sequence[float] = (1.0, 0.0, 0.0, 0.0),
    terms: dict[int, float] | None = None,
    embed_hash: str | None = None,
) -> IndexedChunk:
    weights = terms if terms is not None else {1: 1.0}
    ids = tuple(sorted(weights))
    return IndexedChunk(
        chunk=chunk,
        dense=tuple(dense),
        sparse=TermWeights(ids=ids, weights=tuple(weights[term] for term in ids)),
        embed_hash=embed_hash or chunk.content_hash,
        created_at=MADE,
        updated_at=MADE,
        embedded_at=MADE + timedelta(hours=1),
        version=3,
    )


def a_query(
    dense: Sequence[float] = (1.0, 0.0, 0.0, 0.0),
    terms: dict[int, float] | None = None,
    filters: Filters = Filters(),
    limit: int = 10,
) -> IndexQuery:
    weights = terms if terms is not None else {1: 1.0}
    ids = tuple(sorted(weights))
    sparse = TermWeights(ids=ids, weights=tuple(weights[term] for term in ids))
    return IndexQuery(dense=tuple(dense), sparse=sparse, filters=filters, limit=limit)


async def write(index: ChunkIndex, *points: IndexedChunk, book_id: str = BOOK, recreate: bool = False) -> None:
    async with index.writer(book_id, recreate=recreate) as writer:
        await writer.put(points)
        await writer.publish()


async def all_ids(index: ChunkIndex, book_id: str = BOOK) -> set[str]:
    return {chunk.id async for chunk in index.scan(book_id)}


def hand_idf(total: int, holders: int) -> float:
    return math.log(1 + (total - holders + 0.5) / (holders + 0.5))


def unit(*values: float) -> Vector:
    length = math.hypot(*values)
    return tuple(value / length for value in values)


FILTER_CASES = [
    (Filters(), "abcd"),
    (Filters(source_url_prefix="https://book.example/docs/x"), "ab"),
    (Filters(source_url_prefix="https://book.example/docs/x/"), "a"),
    (Filters(source_url_prefix="https://book.example/docs/x/#Top"), "a"),
    (Filters(source_url_prefix="https://book.example/DOCS"), ""),
    (Filters(source_url_prefix="book.example"), ""),
    (Filters(source_url_prefix=""), "abcd"),
    (Filters(section="Setup"), "ab"),
    (Filters(section="Install"), "a"),
    (Filters(section="setup"), ""),
    (Filters(section="Set"), ""),
    (Filters(module="ros2"), "ac"),
    (Filters(module="ros"), ""),
    (Filters(chapter_min=2), "bc"),
    (Filters(chapter_max=2), "ab"),
    (Filters(chapter_min=2, chapter_max=2), "b"),
    (Filters(chapter_min=0), "abc"),
    (Filters(chapter_max=100), "abc"),
    (Filters(lesson=0), "a"),
    (Filters(lesson=3), "b"),
    (Filters(hardware_tier=1), "ad"),
    (Filters(hardware_tier=3), "abd"),
    (Filters(hardware_tier=4), "abcd"),
    (Filters(proficiency_levels=("A2",)), "ad"),
    (Filters(proficiency_levels=("B1", "C2")), "bc"),
    (Filters(layer="L2"), "b"),
    (Filters(parent_doc_id=chunk_id("shared")), "ab"),
    (Filters(module="ros2", hardware_tier=3), "a"),
    (Filters(module="ros2", layer="L2"), ""),
]


class IndexContract:
    """Inherit, and give `open_index`."""

    @pytest.fixture
    def index(self, open_index: OpenIndex) -> ChunkIndex:
        return open_index()

    # --- reading --------------------------------------------------------------------------------------------------

    async def test_it_says_how_it_would_build(self, index: ChunkIndex) -> None:
        assert index.fingerprint == FINGERPRINT

    async def test_what_was_put_comes_back_equal(self, index: ChunkIndex) -> None:
        whole = a_chunk(
            "whole",
            text="Größe 🤖 \u2028 \x00 end",
            lead="```py",
            module="ros2",
            chapter=3,
            lesson=2,
            hardware_tier=4,
            proficiency_level="C1",
            layer="L3",
            language="de",
            version="2.1",
            heading_path=("A", "B"),
            prev_chunk_id=chunk_id("before"),
            next_chunk_id=chunk_id("after"),
        )
        bare = a_chunk("bare", heading_path=(), breadcrumb=())
        await write(index, indexed(whole), indexed(bare))
        assert await index.view(BOOK).chunks([whole.id, bare.id]) == [whole, bare]

    async def test_chunks_come_in_the_order_asked_and_unknown_ids_are_left_out(self, index: ChunkIndex) -> None:
        one, two, three = (a_chunk(name) for name in ("one", "two", "three"))
        await write(index, indexed(one), indexed(two), indexed(three))
        asked = [three.id, chunk_id("nobody"), one.id, "not even a uuid", two.id]
        assert await index.view(BOOK).chunks(asked) == [three, one, two]
        assert await index.view(BOOK).chunks([]) == []

    async def test_dense_vectors_come_back_and_unknown_ids_are_left_out(self, index: ChunkIndex) -> None:
        one, two = a_chunk("one"), a_chunk("two")
        await write(index, indexed(one, unit(1, 2, 3, 4)), indexed(two, unit(4, 3, 2, 1)))
        found = await index.view(BOOK).dense_vectors([two.id, chunk_id("nobody"), one.id])
        assert set(found) == {one.id, two.id}
        assert found[one.id] == pytest.approx(unit(1, 2, 3, 4), abs=1e-6)
        assert found[two.id] == pytest.approx(unit(4, 3, 2, 1), abs=1e-6)

    async def test_a_page_is_whole_and_in_order_however_long(self, index: ChunkIndex) -> None:
        parent = chunk_id("lesson")
        lesson = [
            a_chunk(f"part-{n}", source_file="lesson.md", chunk_index=n, total_chunks=1500, parent_doc_id=parent)
            for n in range(1500)
        ]
        await write(index, *(indexed(chunk) for chunk in reversed(lesson)), indexed(a_chunk("other")))
        assert await index.view(BOOK).page(parent) == lesson
        assert await index.view(BOOK).page(chunk_id("no such lesson")) == []

    async def test_a_scan_gives_every_chunk_by_file_and_position(self, index: ChunkIndex) -> None:
        chunks = [
            a_chunk(f"{file}-{n}", source_file=f"{file}.md", chunk_index=n, total_chunks=700)
            for file in ("a", "b/a", "b", "é")
            for n in range(300)
        ]
        await write(index, *(indexed(chunk) for chunk in sorted(chunks, key=lambda chunk: chunk.id)))
        expected = sorted(chunks, key=lambda chunk: (chunk.source_file, chunk.chunk_index))
        assert [chunk async for chunk in index.scan(BOOK)] == expected

    async def test_a_scan_that_has_begun_sees_nothing_of_a_later_publication(self, index: ChunkIndex) -> None:
        old = [a_chunk(f"old-{n:04}") for n in range(1200)]
        await write(index, *(indexed(chunk) for chunk in old))
        scan = index.scan(BOOK)
        seen = [await anext(scan)]
        await write(index, indexed(a_chunk("new")), recreate=True)
        seen += [chunk async for chunk in scan]
        assert seen == old

    async def test_points_are_all_that_was_put_in_the_order_of_a_scan(self, index: ChunkIndex) -> None:
        points = [
            indexed(a_chunk(f"{n:03}"), unit(1, n, 0, 2), terms={n: 0.5, n + 7: 1.25}, embed_hash=f"e{n}")
            for n in range(300)
        ]
        changed = replace(points[7], updated_at=MADE + timedelta(days=1))
        bare = indexed(a_chunk("zz"), terms={})
        await write(index, *reversed(points), bare)
        await write(index, changed)
        found = [point async for point in index.points(BOOK)]
        expected = [*points[:7], changed, *points[8:], bare]
        assert [replace(point, dense=()) for point in found] == [replace(point, dense=()) for point in expected]
        for got, wanted in zip(found, expected, strict=True):
            assert got.dense == pytest.approx(wanted.dense, abs=1e-6)
        assert [chunk.stamps async for chunk in index.scan(BOOK)] == [point.stamps for point in expected]
        [chunk] = await index.view(BOOK).chunks([changed.chunk.id])
        assert chunk.stamps == changed.stamps
        async with index.writer(BOOK) as writer:
            stored = await writer.stored(files=(), ids=[changed.chunk.id])
        held = stored[changed.chunk.id]
        assert (held.created_at, held.embedded_at, held.version) == (MADE, changed.embedded_at, 3)

    # --- searching ------------------------------------------------------------------------------------------------

    async def test_dense_hits_are_cosines_best_first(self, index: ChunkIndex) -> None:
        near, far, opposite = a_chunk("near"), a_chunk("far"), a_chunk("opposite")
        await write(
            index,
            indexed(far, unit(1, 1, 0, 0)),
            indexed(opposite, (-1.0, 0.0, 0.0, 0.0)),
            indexed(near, (1.0, 0.0, 0.0, 0.0)),
        )
        hits = await index.view(BOOK).search(a_query((1.0, 0.0, 0.0, 0.0)))
        assert [hit.chunk_id for hit in hits.dense] == [near.id, far.id, opposite.id]
        assert [hit.score for hit in hits.dense] == pytest.approx([1.0, math.sqrt(0.5), -1.0], abs=1e-5)

    async def test_sparse_hits_are_weighted_by_the_idf_of_the_book(self, index: ChunkIndex) -> None:
        rare, common, both = a_chunk("rare"), a_chunk("common"), a_chunk("both")
        fillers = [indexed(a_chunk(f"filler-{n}"), terms={8: 1.0}) for n in range(5)]
        await write(
            index,
            indexed(rare, terms={7: 1.5}),
            indexed(common, terms={8: 1.25}),
            indexed(both, terms={7: 0.5, 8: 0.75}),
            *fillers,
        )
        hits = await index.view(BOOK).search(a_query(terms={7: 2.0, 8: 1.0}, limit=3))
        seven, eight = hand_idf(8, 2), hand_idf(8, 7)
        assert [hit.chunk_id for hit in hits.sparse] == [rare.id, both.id, common.id]
        expected = [2.0 * 1.5 * seven, 2.0 * 0.5 * seven + 0.75 * eight, 1.25 * eight]
        assert [hit.score for hit in hits.sparse] == pytest.approx(expected, rel=1e-4)

    async def test_chunks_without_a_term_of_the_query_are_not_in_the_sparse_list(self, index: ChunkIndex) -> None:
        one, two = a_chunk("one"), a_chunk("two")
        await write(index, indexed(one, terms={5: 1.0}), indexed(two, terms={}))
        hits = await index.view(BOOK).search(a_query(terms={5: 1.0, 6: 1.0}))
        assert [hit.chunk_id for hit in hits.sparse] == [one.id]
        assert {hit.chunk_id for hit in hits.dense} == {one.id, two.id}
        assert (await index.view(BOOK).search(a_query(terms={}))).sparse == ()

    async def test_each_list_has_at_most_limit_hits_and_the_total_is_exact(self, index: ChunkIndex) -> None:
        chunks = [a_chunk(f"c{n}", chapter=n % 2) for n in range(40)]
        await write(index, *(indexed(chunk) for chunk in chunks))
        hits = await index.view(BOOK).search(a_query(limit=7, filters=Filters(chapter_min=1)))
        assert (len(hits.dense), len(hits.sparse), hits.total_found) == (7, 7, 20)

    async def test_ties_are_ordered_by_id_also_at_the_cut(self, index: ChunkIndex) -> None:
        chunks = [a_chunk(f"twin-{n}") for n in range(60)]
        best = a_chunk("best")
        await write(index, *(indexed(chunk, unit(1, 1, 0, 0)) for chunk in chunks), indexed(best, terms={1: 9.0}))
        hits = await index.view(BOOK).search(a_query(limit=5))
        expected = [best.id, *sorted(chunk.id for chunk in chunks)[:4]]
        assert [hit.chunk_id for hit in hits.dense] == expected
        assert [hit.chunk_id for hit in hits.sparse] == expected

    async def test_an_empty_book_finds_nothing(self, index: ChunkIndex) -> None:
        await write(index)
        hits = await index.view(BOOK).search(a_query())
        assert (hits.dense, hits.sparse, hits.total_found) == ((), (), 0)
        assert await index.view(BOOK).idf([1]) == {}
        assert await index.view(BOOK).count() == 0

    async def test_a_query_of_the_wrong_size_is_a_fault(self, index: ChunkIndex) -> None:
        await write(index, indexed(a_chunk("one")))
        with pytest.raises(InternalError, match="3 dimensions"):
            await index.view(BOOK).search(a_query((1.0, 0.0, 0.0)))

    async def test_idf_is_that_of_the_formula_and_unknown_terms_are_left_out(self, index: ChunkIndex) -> None:
        terms = [{1: 0.5, 2: 2.0}, {1: 3.0}, {1: 1.0, 3: 0.01}, {4: 1.0}]
        await write(index, *(indexed(a_chunk(f"c{n}"), terms=held) for n, held in enumerate(terms)))
        found = await index.view(BOOK).idf([3, 1, 2, 99])
        expected = {1: hand_idf(4, 3), 2: hand_idf(4, 1), 3: hand_idf(4, 1)}
        assert found == pytest.approx(expected, rel=1e-4)
        assert await index.view(BOOK).idf([]) == {}

    async def test_idf_forgets_what_was_dropped_and_replaced(self, index: ChunkIndex) -> None:
        chunks = [a_chunk(f"c{n}") for n in range(10)]
        await write(index, *(indexed(chunk, terms={1: 1.0, 2: 1.0}) for chunk in chunks))
        async with index.writer(BOOK) as writer:
            await writer.drop([chunk.id for chunk in chunks[:4]])
            await writer.put([indexed(chunks[9], terms={2: 1.0})])
            await writer.publish()
        assert await index.view(BOOK).idf([1, 2]) == pytest.approx({1: hand_idf(6, 5), 2: hand_idf(6, 6)}, rel=1e-4)
        hits = await index.view(BOOK).search(a_query(terms={1: 1.0}))
        assert [hit.score for hit in hits.sparse] == pytest.approx([hand_idf(6, 5)] * 5, rel=1e-4)

    # --- views ----------------------------------------------------------------------------------------------------

    async def test_a_view_sees_one_publication_from_its_first_call_to_its_last(self, open_index: OpenIndex) -> None:
        index, other = open_index(), open_index()
        old, new = a_chunk("old"), a_chunk("new")
        await write(index, indexed(old, terms={1: 1.0}))
        begun = [index.view(BOOK) for _ in range(6)]
        unused = index.view(BOOK)
        firsts = (
            begun[0].search(a_query()),
            begun[1].idf([1]),
            begun[2].count(),
            begun[3].chunks([old.id]),
            begun[4].dense_vectors([old.id]),
            begun[5].page(old.parent_doc_id),
        )
        for first in firsts:
            await first
        async with other.writer(BOOK) as writer:
            await writer.put([indexed(new, terms={2: 1.0})])
            await writer.drop([old.id])
            await writer.publish()
        for view in begun:
            hits = await view.search(a_query(terms={1: 1.0, 2: 1.0}))
            assert [hit.chunk_id for hit in (*hits.dense, *hits.sparse)] == [old.id, old.id]
            assert (hits.size, hits.total_found) == (1, 1)
            assert set(await view.idf([1, 2])) == {1}
            assert await view.count() == 1
            assert await view.chunks([old.id, new.id]) == [old]
            assert set(await view.dense_vectors([old.id, new.id])) == {old.id}
            assert await view.page(old.parent_doc_id) == [old]
            assert await view.page(new.parent_doc_id) == []
        for view in (unused, index.view(BOOK)):
            assert [hit.chunk_id for hit in (await view.search(a_query())).dense] == [new.id]
            assert await view.chunks([old.id, new.id]) == [new]

    async def test_questions_that_are_asked_at_once_see_one_publication(self, index: ChunkIndex) -> None:
        chunks = [a_chunk(f"c{n}") for n in range(5)]
        await write(index, *map(indexed, chunks))
        view = index.view(BOOK)
        hits, rarity, found = await asyncio.gather(
            view.search(a_query()), view.idf([1]), view.chunks([chunk.id for chunk in chunks])
        )
        assert (hits.size, found, set(rarity)) == (5, chunks, {1})

    async def test_hits_tell_the_size_of_the_book_and_count_under_filters_where_it_is_wanted(
        self, index: ChunkIndex
    ) -> None:
        await write(index, *(indexed(a_chunk(f"c{n}", chapter=n)) for n in range(5)))
        query = a_query(filters=Filters(chapter_max=1))
        counted = await index.view(BOOK).search(query)
        assert (counted.size, counted.total_found) == (5, 2)
        uncounted = await index.view(BOOK).search(replace(query, count=False))
        assert (uncounted.size, uncounted.dense) == (5, counted.dense)
        assert uncounted.total_found in (2, None)
        assert (await index.view(BOOK).search(a_query())).total_found == 5

    async def test_what_a_search_has_found_is_read_as_it_was_put(self, index: ChunkIndex) -> None:
        points = [indexed(a_chunk(f"c{n}"), unit(n, 1, 2, 3)) for n in range(8)]
        await write(index, *points)
        for _ in range(2):  # the second time an index may remember them
            view = index.view(BOOK)
            ids = [hit.chunk_id for hit in (await view.search(a_query())).dense]
            expected = {point.chunk.id: point for point in points}
            assert await view.chunks(ids) == [expected[id].chunk for id in ids]
            vectors = await view.dense_vectors(ids)
            assert set(vectors) == set(expected)
            for id in ids:
                assert vectors[id] == pytest.approx(expected[id].dense, abs=1e-6)

    # --- filters --------------------------------------------------------------------------------------------------

    async def test_filters_hold_in_search_and_count(self, index: ChunkIndex) -> None:
        shelf = {
            "a": a_chunk(
                "a",
                url="https://book.example/docs/x/#Top",
                heading_path=("Setup", "Install"),
                module="ros2",
                chapter=1,
                lesson=0,
                parent_doc_id=chunk_id("shared"),
            ),
            "b": a_chunk(
                "b",
                url="https://book.example/docs/x-ray#top",
                heading_path=("Start", "Setup"),
                module="gazebo",
                chapter=2,
                lesson=3,
                hardware_tier=2,
                proficiency_level="B1",
                layer="L2",
                parent_doc_id=chunk_id("shared"),
            ),
            "c": a_chunk("c", module="ros2", chapter=30, hardware_tier=4, proficiency_level="C2", layer="L4"),
            "d": a_chunk("d", heading_path=()),
        }
        await write(index, *(indexed(chunk) for chunk in shelf.values()))
        names = {chunk.id: name for name, chunk in shelf.items()}
        found = []
        for filters, _ in FILTER_CASES:
            hits = await index.view(BOOK).search(a_query(filters=filters))
            dense = "".join(sorted(names[hit.chunk_id] for hit in hits.dense))
            sparse = "".join(sorted(names[hit.chunk_id] for hit in hits.sparse))
            found.append((filters, dense, sparse, hits.total_found, await index.view(BOOK).count(filters)))
        assert found == [(filters, want, want, len(want), len(want)) for filters, want in FILTER_CASES]

    async def test_filters_do_not_change_the_idf(self, index: ChunkIndex) -> None:
        inside = a_chunk("inside", chapter=1)
        outside = [a_chunk(f"outside-{n}", chapter=2) for n in range(3)]
        await write(index, indexed(inside), *(indexed(chunk, terms={2: 1.0}) for chunk in outside))
        hits = await index.view(BOOK).search(a_query(filters=Filters(chapter_max=1)))
        assert [hit.score for hit in hits.sparse] == pytest.approx([hand_idf(4, 1)], rel=1e-4)

    # --- tenants --------------------------------------------------------------------------------------------------

    async def test_books_are_sealed_off_from_each_other(self, index: ChunkIndex) -> None:
        mine, yours = a_chunk("page"), a_chunk("page", book_id="cooking")
        others = [a_chunk(f"filler-{n}", book_id="cooking") for n in range(5)]
        await write(index, indexed(mine))
        await write(index, indexed(yours), *(indexed(chunk) for chunk in others), book_id="cooking")
        hits = await index.view(BOOK).search(a_query())
        assert [hit.chunk_id for hit in hits.dense] == [mine.id]
        assert [hit.chunk_id for hit in hits.sparse] == [mine.id]
        assert hits.sparse[0].score == pytest.approx(hand_idf(1, 1), rel=1e-4)
        assert await index.view(BOOK).idf([1]) == pytest.approx({1: hand_idf(1, 1)}, rel=1e-4)
        assert (await index.view(BOOK).count(), await index.view("cooking").count()) == (1, 6)
        assert await index.view(BOOK).chunks([yours.id]) == []
        assert await index.view(BOOK).dense_vectors([yours.id]) == {}
        assert await index.view(BOOK).page(yours.parent_doc_id) == []
        assert await all_ids(index) == {mine.id}
        assert await index.books() == ["cooking", BOOK]

    async def test_a_chunk_of_another_book_is_refused_and_nothing_of_its_batch_is_kept(self, index: ChunkIndex) -> None:
        async with index.writer(BOOK) as writer:
            with pytest.raises(InternalError, match="cooking"):
                await writer.put([indexed(a_chunk("mine")), indexed(a_chunk("yours", book_id="cooking"))])
            await writer.publish()
        assert await index.view(BOOK).count() == 0

    @pytest.mark.parametrize("book_id", ["nobody", "../nobody", "", "No Body", "a/b", "x" * 65, "."])
    async def test_a_book_never_written_is_unknown(self, index: ChunkIndex, book_id: str) -> None:
        with pytest.raises(UnknownBook):
            await index.view(book_id).search(a_query())
        with pytest.raises(UnknownBook):
            await index.view(book_id).count()
        with pytest.raises(UnknownBook):
            await index.view(book_id).idf([1])
        with pytest.raises(UnknownBook):
            await index.view(book_id).chunks([chunk_id("x")])
        with pytest.raises(UnknownBook):
            await index.view(book_id).dense_vectors([chunk_id("x")])
        with pytest.raises(UnknownBook):
            await index.view(book_id).page(chunk_id("x"))
        with pytest.raises(UnknownBook):
            await all_ids(index, book_id)
        with pytest.raises(UnknownBook):
            await index.status(book_id)
        with pytest.raises(UnknownBook):
            await index.delete_book(book_id)
        assert await index.books() == []

    @pytest.mark.parametrize("book_id", ["", "../up", "No Body", "a/b", "x" * 65, ".hidden", "-x", "book\n"])
    async def test_a_book_is_not_written_under_an_id_that_is_none(self, index: ChunkIndex, book_id: str) -> None:
        with pytest.raises(WrongUsage, match="id of a book"):
            async with index.writer(book_id):
                pass

    # --- fingerprints ---------------------------------------------------------------------------------------------

    async def test_an_index_built_otherwise_is_not_read_but_named(self, open_index: OpenIndex) -> None:
        await write(open_index(), indexed(a_chunk("one")))
        other = open_index(OTHER_FINGERPRINT)
        with pytest.raises(IndexMismatch, match=r"with contract .*name contract-other "):
            await other.view(BOOK).search(a_query())
        with pytest.raises(IndexMismatch):
            await other.view(BOOK).count()
        with pytest.raises(IndexMismatch):
            await all_ids(other)
        status = await other.status(BOOK)
        assert (status.fingerprint, status.chunks) == (FINGERPRINT, 1)

    async def test_an_index_built_otherwise_is_not_written_to_but_can_be_recreated(self, open_index: OpenIndex) -> None:
        await write(open_index(), indexed(a_chunk("one")))
        other = open_index(OTHER_FINGERPRINT)
        with pytest.raises(IndexMismatch):
            async with other.writer(BOOK):
                pass
        two = a_chunk("two")
        await write(other, indexed(two), recreate=True)
        assert await all_ids(other) == {two.id}
        assert (await other.status(BOOK)).fingerprint == OTHER_FINGERPRINT
        with pytest.raises(IndexMismatch):
            await open_index().view(BOOK).count()

    async def test_a_recreation_with_other_dimensions_works(self, open_index: OpenIndex) -> None:
        await write(open_index(), indexed(a_chunk("one")))
        small = open_index(replace(FINGERPRINT, dimensions=2))
        await write(small, indexed(a_chunk("two"), (0.0, 1.0)), recreate=True)
        assert len((await small.view(BOOK).search(a_query((0.0, 1.0)))).dense) == 1

    # --- writing --------------------------------------------------------------------------------------------------

    async def test_nothing_is_seen_before_publish_and_all_of_it_after(self, open_index: OpenIndex) -> None:
        index, reader = open_index(), open_index()
        one, two, three = a_chunk("one"), a_chunk("two"), a_chunk("three")
        async with index.writer(BOOK) as writer:
            await writer.put([indexed(one)])
            with pytest.raises(UnknownBook):
                await reader.view(BOOK).count()
            await writer.publish()
            assert await all_ids(reader) == {one.id}
            await writer.put([indexed(two), indexed(three)])
            await writer.drop([one.id])
            assert await all_ids(reader) == {one.id}
            assert await all_ids(index) == {one.id}
            await writer.publish()
            assert await all_ids(reader) == {two.id, three.id}
            assert await all_ids(index) == {two.id, three.id}
        assert await all_ids(reader) == {two.id, three.id}

    async def test_leaving_without_publish_changes_nothing(self, index: ChunkIndex) -> None:
        one, two = a_chunk("one"), a_chunk("two")
        async with index.writer(BOOK) as writer:
            await writer.put([indexed(one)])
        with pytest.raises(UnknownBook):
            await index.status(BOOK)
        await write(index, indexed(one))
        async with index.writer(BOOK) as writer:
            await writer.put([indexed(two)])
            await writer.drop([one.id])
        assert await all_ids(index) == {one.id}
        async with index.writer(BOOK, recreate=True) as writer:
            await writer.put([indexed(two)])
        assert await all_ids(index) == {one.id}

    async def test_a_failure_inside_the_writer_changes_nothing_and_frees_the_lock(self, index: ChunkIndex) -> None:
        one, two = a_chunk("one"), a_chunk("two")
        await write(index, indexed(one))

        async def fail_halfway() -> None:
            async with index.writer(BOOK) as writer:
                await writer.put([indexed(two)])
                raise RuntimeError("halfway")

        with pytest.raises(RuntimeError, match="halfway"):
            await fail_halfway()
        assert await all_ids(index) == {one.id}
        await write(index, indexed(two))
        assert await all_ids(index) == {one.id, two.id}

    async def test_a_second_writer_is_a_conflict(self, open_index: OpenIndex) -> None:
        first, second = open_index(), open_index()
        async with first.writer(BOOK):
            with pytest.raises(Conflict, match=BOOK):
                async with second.writer(BOOK):
                    pass
            with pytest.raises(Conflict, match=BOOK):
                async with first.writer(BOOK):
                    pass
        async with second.writer(BOOK):
            pass

    async def test_put_replaces_by_id(self, index: ChunkIndex) -> None:
        before = a_chunk("one", title="Before")
        after = replace(before, title="After")
        await write(index, indexed(before, (1.0, 0.0, 0.0, 0.0), {1: 1.0}))
        await write(index, indexed(after, (0.0, 1.0, 0.0, 0.0), {2: 1.0}))
        assert await index.view(BOOK).chunks([before.id]) == [after]
        assert await index.view(BOOK).count() == 1
        hits = await index.view(BOOK).search(a_query((0.0, 1.0, 0.0, 0.0), {1: 1.0}))
        assert hits.dense[0].score == pytest.approx(1.0, abs=1e-5)
        assert hits.sparse == ()

    async def test_putting_nothing_and_dropping_unknown_ids_are_not_errors(self, index: ChunkIndex) -> None:
        await write(index, indexed(a_chunk("one")))
        async with index.writer(BOOK) as writer:
            await writer.put([])
            await writer.drop([])
            await writer.drop([chunk_id("nobody"), "not even a uuid"])
            await writer.publish()
        assert await index.view(BOOK).count() == 1

    async def test_put_of_a_vector_of_the_wrong_size_is_a_fault(self, index: ChunkIndex) -> None:
        async with index.writer(BOOK) as writer:
            with pytest.raises(InternalError, match="3 dimensions"):
                await writer.put([indexed(a_chunk("one"), (1.0, 0.0, 0.0))])

    async def test_a_writer_knows_what_is_stored_and_what_it_has_put(self, index: ChunkIndex) -> None:
        chunks = [a_chunk(f"c{n}") for n in range(1100)]
        await write(index, *(indexed(chunk) for chunk in chunks))
        async with index.writer(BOOK) as writer:
            new = a_chunk("new")
            await writer.put([indexed(new, embed_hash="e-new")])
            await writer.drop([chunks[0].id])
            stored = await writer.stored()
        assert set(stored) == {chunk.id for chunk in [*chunks[1:], new]}
        known = stored[new.id]
        assert (known.id, known.source_file) == (new.id, "new.md")
        assert (known.payload_hash, known.embed_hash) == (payload_hash(new), "e-new")
        assert known.created_at == MADE

    async def test_a_writer_knows_the_chunks_of_some_files_and_of_some_ids(self, index: ChunkIndex) -> None:
        chunks = [a_chunk(f"{file}-{n}", source_file=f"{file}.md", chunk_index=n) for file in "abc" for n in range(3)]
        await write(index, *map(indexed, chunks))
        async with index.writer(BOOK) as writer:
            moved = replace(chunks[0], source_file="b.md")
            new = a_chunk("new", source_file="d.md")
            await writer.put([indexed(moved), indexed(new)])
            await writer.drop([chunks[3].id])
            of_b = await writer.stored(files=["b.md", "no-such.md"])
            assert {id: stored.source_file for id, stored in of_b.items()} == {
                moved.id: "b.md",
                chunks[4].id: "b.md",
                chunks[5].id: "b.md",
            }
            some = await writer.stored(files=["d.md"], ids=[chunks[8].id, chunks[3].id, "not even a uuid"])
            assert set(some) == {new.id, chunks[8].id}
            assert set(await writer.stored(files=[], ids=[chunks[1].id])) == {chunks[1].id}
            assert await writer.stored(files=[]) == {}
            assert set(await writer.stored()) == {chunk.id for chunk in [*chunks[:3], *chunks[4:], new]}

    async def test_a_writer_knows_which_chunks_each_file_has(self, open_index: OpenIndex) -> None:
        """Over more publications than any index keeps apart."""
        index = open_index()
        held: dict[str, set[str]] = {}
        for turn in range(20):
            file = f"{turn % 5}.md"
            new = [a_chunk(f"{turn}-{n}", source_file=file) for n in range(turn % 3 + 1)]
            async with index.writer(BOOK) as writer:
                gone = sorted(held.get(file, ()))[:2] if turn % 4 else sorted(held.pop("2.md", ()))
                await writer.put(list(map(indexed, new)))
                await writer.put([indexed(replace(new[0], title="Again"))])
                await writer.drop(gone)
                held.setdefault(file, set()).update(chunk.id for chunk in new)
                held[file] -= set(gone)
                expected = {name: IdSet.of(ids) for name, ids in held.items() if ids}
                assert await writer.files() == expected
                await writer.publish()
                assert await writer.files() == expected
        async with open_index().writer(BOOK) as writer:
            assert await writer.files() == expected
        async with index.writer(BOOK, recreate=True) as writer:
            assert await writer.files() == {}

    async def test_a_writer_finds_vectors_by_the_text_they_were_made_for(self, index: ChunkIndex) -> None:
        await write(index, indexed(a_chunk("one"), unit(1, 2, 0, 0), embed_hash="e1"))
        async with index.writer(BOOK) as writer:
            await writer.put(
                [
                    indexed(a_chunk("two"), unit(0, 1, 2, 0), embed_hash="e2"),
                    indexed(a_chunk("twin"), unit(0, 1, 2, 0), embed_hash="e2"),
                ]
            )
            found = await writer.vectors(hash_ for hash_ in ("e2", "e1", "e3"))
            assert await writer.vectors([]) == {}
        assert set(found) == {"e1", "e2"}
        assert found["e1"] == pytest.approx(unit(1, 2, 0, 0), abs=1e-6)
        assert found["e2"] == pytest.approx(unit(0, 1, 2, 0), abs=1e-6)

    async def test_vectors_survive_many_rewrites_unchanged(self, index: ChunkIndex) -> None:
        chunk = a_chunk("one")
        vector = unit(0.1, 0.7, -0.3, 0.2)
        await write(index, indexed(chunk, vector, embed_hash="e"))
        for turn in range(3):
            async with index.writer(BOOK) as writer:
                kept = (await writer.vectors(["e"]))["e"]
                await writer.put([indexed(replace(chunk, title=f"Turn {turn}"), kept, embed_hash="e")])
                await writer.publish()
        assert (await index.view(BOOK).dense_vectors([chunk.id]))[chunk.id] == pytest.approx(vector, abs=1e-6)

    async def test_a_recreation_starts_empty_and_the_old_index_stays_until_publish(self, index: ChunkIndex) -> None:
        one, two = a_chunk("one"), a_chunk("two")
        await write(index, indexed(one, embed_hash="e1"))
        async with index.writer(BOOK, recreate=True) as writer:
            assert await writer.stored() == {}
            assert await writer.vectors(["e1"]) == {}
            await writer.put([indexed(two)])
            assert await all_ids(index) == {one.id}
            await writer.publish()
            assert await all_ids(index) == {two.id}

    async def test_a_publication_that_changes_nothing_makes_no_new_generation(self, index: ChunkIndex) -> None:
        await write(index, indexed(a_chunk("one")))
        before = (await index.status(BOOK)).generation
        async with index.writer(BOOK) as writer:
            await writer.publish()
            await writer.publish()
        assert (await index.status(BOOK)).generation == before
        await write(index, indexed(a_chunk("two")))
        assert (await index.status(BOOK)).generation == before + 1

    async def test_the_record_of_a_book_travels_with_its_publication(self, open_index: OpenIndex) -> None:
        index, reader = open_index(), open_index()
        book = Book(BOOK, "Robots", base_url="https://book.example", source="/home/me/robots", toolchain="mdbook")
        async with index.writer(BOOK) as writer:
            await writer.put([indexed(a_chunk("one"))])
            await writer.publish(book)
        assert (await reader.status(BOOK)).book == replace(book, source="")
        await write(index, indexed(a_chunk("two")))
        status = await reader.status(BOOK)
        assert (status.book, status.generation) == (replace(book, source=""), 2)
        async with index.writer(BOOK) as writer:
            await writer.publish(book)
        assert (await reader.status(BOOK)).generation == 2
        async with index.writer(BOOK) as writer:
            await writer.publish(replace(book, title="Robots, second edition"))
        status = await reader.status(BOOK)
        assert (status.book and status.book.title, status.generation) == ("Robots, second edition", 3)
        assert await all_ids(reader) == {a_chunk("one").id, a_chunk("two").id}
        await write(index, indexed(a_chunk("three")), recreate=True)
        assert (await reader.status(BOOK)).book == replace(book, title="Robots, second edition", source="")

    async def test_an_index_that_is_well_has_no_fault(self, index: ChunkIndex) -> None:
        assert await index.fault() is None
        await write(index, indexed(a_chunk("one")))
        assert await index.fault() is None

    # --- books ----------------------------------------------------------------------------------------------------

    async def test_status_names_chunks_fingerprint_and_generation(self, index: ChunkIndex) -> None:
        await write(index, indexed(a_chunk("one")), indexed(a_chunk("two")))
        status = await index.status(BOOK)
        assert (status.book_id, status.chunks, status.generation) == (BOOK, 2, 1)
        assert status.fingerprint == FINGERPRINT
        assert status.bytes_on_disk >= 0
        before = status.published_at
        await write(index, indexed(a_chunk("three")))
        assert (await index.status(BOOK)).published_at > before

    async def test_a_deleted_book_is_unknown_and_can_be_written_anew(self, open_index: OpenIndex) -> None:
        index, reader = open_index(), open_index()
        await write(index, indexed(a_chunk("one")))
        await write(index, indexed(a_chunk("page", book_id="cooking")), book_id="cooking")
        assert await reader.view(BOOK).count() == 1
        await index.delete_book(BOOK)
        with pytest.raises(UnknownBook):
            await index.view(BOOK).count()
        with pytest.raises(UnknownBook):
            await reader.view(BOOK).search(a_query())
        assert await reader.books() == ["cooking"]
        two = a_chunk("two")
        await write(index, indexed(two))
        assert await all_ids(reader) == {two.id}

    async def test_a_book_is_not_deleted_under_a_writer(self, open_index: OpenIndex) -> None:
        index, other = open_index(), open_index()
        await write(index, indexed(a_chunk("one")))
        async with index.writer(BOOK):
            with pytest.raises(Conflict):
                await other.delete_book(BOOK)
        assert await index.view(BOOK).count() == 1

    async def test_a_mismatched_book_can_be_deleted(self, open_index: OpenIndex) -> None:
        await write(open_index(), indexed(a_chunk("one")))
        other = open_index(OTHER_FINGERPRINT)
        await other.delete_book(BOOK)
        assert await other.books() == []

    async def test_closing_twice_is_not_an_error(self, index: ChunkIndex) -> None:
        await write(index, indexed(a_chunk("one")))
        assert await index.view(BOOK).count() == 1
        await index.close()
        await index.close()
