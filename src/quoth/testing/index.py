"""MemoryIndex: the ChunkIndex port in a few dicts, for tests that need a real index but no engine.

Brute force, float64, with the same filters, IDF, ties and publications as the real ones; it passes the same contract
suite (tests/contracts/index_contract.py). Two MemoryIndex objects over one MemoryStorage act as two processes over one
data directory. Set `outage` to an error and every call raises it.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from quoth.chunks.payload import check_book_id, check_dimensions, check_fingerprint, check_put, payload_hash
from quoth.domain import (
    Book,
    Chunk,
    Filters,
    Fingerprint,
    IdSet,
    IndexedChunk,
    IndexHit,
    IndexHits,
    IndexQuery,
    IndexStatus,
    StoredChunk,
    TermWeights,
    Vector,
    passes,
)
from quoth.errors import Conflict, QuothError, UnknownBook

_FINGERPRINT = Fingerprint(embedder="test", dimensions=4, chunker="test-1", terms="test-1")


@dataclass(frozen=True, slots=True)
class _Generation:
    """One publication of a book. It never changes: a reader that holds it sees nothing of the next."""

    number: int
    fingerprint: Fingerprint
    published_at: datetime
    points: Mapping[str, IndexedChunk]
    book: Book | None = None

    def in_order(self) -> list[IndexedChunk]:
        points = self.points.values()
        return sorted(points, key=lambda point: (point.chunk.source_file, point.chunk.chunk_index, point.chunk.id))


@dataclass(slots=True)
class MemoryStorage:
    """Takes the place of the data directory."""

    books: dict[str, _Generation] = field(default_factory=dict)
    writing: str | None = None


class MemoryIndex:
    def __init__(self, fingerprint: Fingerprint = _FINGERPRINT, storage: MemoryStorage | None = None) -> None:
        self._fingerprint = fingerprint
        self._storage = storage if storage is not None else MemoryStorage()
        self.outage: QuothError | None = None

    @property
    def fingerprint(self) -> Fingerprint:
        return self._fingerprint

    def view(self, book_id: str) -> MemoryView:
        return MemoryView(self, book_id)

    async def asked(self, call: str, book_id: str) -> None:
        """Called before every call of a view. A test may override it to fail, to wait or to change something."""
        self._check_outage()

    async def scan(self, book_id: str) -> AsyncIterator[Chunk]:
        for point in self.current(book_id).in_order():
            yield replace(point.chunk, stamps=point.stamps)

    async def points(self, book_id: str) -> AsyncIterator[IndexedChunk]:
        for point in self.current(book_id).in_order():
            yield point

    async def books(self) -> list[str]:
        self._check_outage()
        return sorted(self._storage.books)

    async def status(self, book_id: str) -> IndexStatus:
        generation = self._published(book_id)
        return IndexStatus(
            book_id=book_id,
            chunks=len(generation.points),
            generation=generation.number,
            fingerprint=generation.fingerprint,
            bytes_on_disk=0,
            published_at=generation.published_at,
            book=generation.book,
        )

    async def fault(self) -> QuothError | None:
        self._check_outage()
        return None

    @asynccontextmanager
    async def writer(self, book_id: str, *, recreate: bool = False) -> AsyncIterator[_MemoryWriter]:
        self._check_outage()
        check_book_id(book_id)
        if self._storage.writing is not None:
            raise Conflict(f"Another writer is writing to the book {self._storage.writing!r}.")
        self._storage.writing = book_id
        try:
            known = book_id in self._storage.books
            points = {} if recreate or not known else dict(self.current(book_id).points)
            yield _MemoryWriter(book_id, self._fingerprint, self._storage, points, recreate=recreate)
        finally:
            self._storage.writing = None

    async def delete_book(self, book_id: str) -> None:
        self._published(book_id)
        if self._storage.writing is not None:
            raise Conflict(f"Another writer is writing to the book {self._storage.writing!r}.")
        del self._storage.books[book_id]

    async def close(self) -> None:
        """Nothing to close."""

    def _check_outage(self) -> None:
        if self.outage is not None:
            raise self.outage

    def _published(self, book_id: str) -> _Generation:
        self._check_outage()
        try:
            return self._storage.books[book_id]
        except KeyError:
            raise UnknownBook(f"There is no book {book_id!r} in the index.") from None

    def current(self, book_id: str) -> _Generation:
        generation = self._published(book_id)
        check_fingerprint(book_id, generation.fingerprint, self._fingerprint)
        return generation


class MemoryView:
    def __init__(self, index: MemoryIndex, book_id: str) -> None:
        self._index = index
        self._book_id = book_id
        self._held: _Generation | None = None

    async def _asked(self, call: str) -> _Generation:
        await self._index.asked(call, self._book_id)
        if self._held is None:
            self._held = self._index.current(self._book_id)
        return self._held

    async def search(self, query: IndexQuery) -> IndexHits:
        points = (await self._asked("search")).points
        check_dimensions(self._index.fingerprint, [query.dense])
        found = [point for point in points.values() if passes(point.chunk, query.filters)]
        rarity = _idf(points.values(), query.sparse.ids)
        dense = [(_cosine(query.dense, point.dense), point.chunk) for point in found]
        sparse = [
            (_bm25(query.sparse, point.sparse, rarity), point.chunk)
            for point in found
            if not set(query.sparse.ids).isdisjoint(point.sparse.ids)
        ]
        best = _best(dense, query.limit), _best(sparse, query.limit)
        return IndexHits(dense=best[0], sparse=best[1], size=len(points), total_found=len(found))

    async def idf(self, term_ids: Sequence[int]) -> dict[int, float]:
        return _idf((await self._asked("idf")).points.values(), term_ids)

    async def count(self, filters: Filters = Filters()) -> int:
        return sum(passes(point.chunk, filters) for point in (await self._asked("count")).points.values())

    async def chunks(self, ids: Sequence[str]) -> list[Chunk]:
        points = (await self._asked("chunks")).points
        found = [points[chunk_id] for chunk_id in ids if chunk_id in points]
        return [replace(point.chunk, stamps=point.stamps) for point in found]

    async def dense_vectors(self, ids: Sequence[str]) -> dict[str, Vector]:
        points = (await self._asked("dense_vectors")).points
        return {chunk_id: points[chunk_id].dense for chunk_id in ids if chunk_id in points}

    async def page(self, parent_doc_id: str) -> list[Chunk]:
        held = await self._asked("page")
        page = [point for point in held.in_order() if point.chunk.parent_doc_id == parent_doc_id]
        return [replace(point.chunk, stamps=point.stamps) for point in page]


class _MemoryWriter:
    def __init__(
        self,
        book_id: str,
        fingerprint: Fingerprint,
        storage: MemoryStorage,
        points: dict[str, IndexedChunk],
        *,
        recreate: bool,
    ) -> None:
        self._book_id = book_id
        self._fingerprint = fingerprint
        self._storage = storage
        self._points = points
        self._changed = recreate or book_id not in storage.books

    async def files(self) -> dict[str, IdSet]:
        held: dict[str, list[str]] = {}
        for point in self._points.values():
            held.setdefault(point.chunk.source_file, []).append(point.chunk.id)
        return {file: IdSet.of(ids) for file, ids in held.items()}

    async def stored(
        self, *, files: Collection[str] | None = None, ids: Collection[str] = ()
    ) -> dict[str, StoredChunk]:
        return {
            chunk_id: StoredChunk(
                id=chunk_id,
                source_file=point.chunk.source_file,
                payload_hash=payload_hash(point.chunk),
                embed_hash=point.embed_hash,
                created_at=point.created_at,
                embedded_at=point.stamps.embedded_at,
                version=point.version,
            )
            for chunk_id, point in self._points.items()
            if files is None or point.chunk.source_file in files or chunk_id in ids
        }

    async def vectors(self, embed_hashes: Iterable[str]) -> dict[str, Vector]:
        wanted = set(embed_hashes)
        return {point.embed_hash: point.dense for point in self._points.values() if point.embed_hash in wanted}

    async def put(self, chunks: Sequence[IndexedChunk]) -> None:
        check_put(self._book_id, self._fingerprint, chunks)
        self._points.update({indexed.chunk.id: indexed for indexed in chunks})
        self._changed = self._changed or bool(chunks)

    async def drop(self, ids: Sequence[str]) -> None:
        for chunk_id in ids:
            self._changed = self._points.pop(chunk_id, None) is not None or self._changed

    async def publish(self, book: Book | None = None) -> None:
        before = self._storage.books.get(self._book_id)
        known = before.book if before else None
        book = known if book is None else replace(book, source="")
        if not self._changed and book == known:
            return
        number = before.number + 1 if before else 1
        points = dict(self._points)
        self._storage.books[self._book_id] = _Generation(number, self._fingerprint, datetime.now(UTC), points, book)
        self._changed = False


def _cosine(one: Vector, other: Vector) -> float:
    lengths = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / lengths if lengths else 0.0


def _bm25(query: TermWeights, stored: TermWeights, rarity: Mapping[int, float]) -> float:
    weights = dict(zip(stored.ids, stored.weights, strict=True))
    terms = zip(query.ids, query.weights, strict=True)
    return sum(weight * rarity[term] * weights[term] for term, weight in terms if term in weights)


def _idf(points: Iterable[IndexedChunk], term_ids: Sequence[int]) -> dict[int, float]:
    wanted = set(term_ids)
    holders = dict.fromkeys(wanted, 0)
    total = 0
    for point in points:
        total += 1
        for term in wanted.intersection(point.sparse.ids):
            holders[term] += 1
    return {term: math.log(1 + (total - n + 0.5) / (n + 0.5)) for term, n in holders.items() if n}


def _best(scored: list[tuple[float, Chunk]], limit: int) -> tuple[IndexHit, ...]:
    ranked = sorted(scored, key=lambda hit: (-hit[0], hit[1].id))
    return tuple(IndexHit(chunk.id, score) for score, chunk in ranked[:limit])
