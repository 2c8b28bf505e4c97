"""MemoryIndex: the ChunkIndex port in a few dicts, for tests that need a real index but no engine.

Brute force, float64, the same filters, IDF, ties and publications as the real ones; it passes the same contract suite
(tests/contracts/index_contract.py). Two MemoryIndex over one MemoryStorage play two processes over one data directory.
Set `outage` to an error and every call raises it.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from quoth.chunks.payload import check_book_id, check_dimensions, check_fingerprint, check_put, payload_hash
from quoth.domain import (
    Chunk,
    Filters,
    Fingerprint,
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
    """One publication of a book. Never changed: a reader that holds it sees nothing of the next."""

    number: int
    fingerprint: Fingerprint
    published_at: datetime
    points: Mapping[str, IndexedChunk]


@dataclass(slots=True)
class MemoryStorage:
    """In the place of the data directory."""

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

    async def search(self, query: IndexQuery) -> IndexHits:
        points = self._current(query.book_id).points
        check_dimensions(self._fingerprint, [query.dense])
        found = [point for point in points.values() if passes(point.chunk, query.filters)]
        rarity = _idf(points.values(), query.sparse.ids)
        dense = [(_cosine(query.dense, point.dense), point.chunk) for point in found]
        sparse = [
            (_bm25(query.sparse, point.sparse, rarity), point.chunk)
            for point in found
            if not set(query.sparse.ids).isdisjoint(point.sparse.ids)
        ]
        return IndexHits(dense=_best(dense, query.limit), sparse=_best(sparse, query.limit), total_found=len(found))

    async def idf(self, book_id: str, term_ids: Sequence[int]) -> dict[int, float]:
        return _idf(self._current(book_id).points.values(), term_ids)

    async def count(self, book_id: str, filters: Filters = Filters()) -> int:
        return sum(passes(point.chunk, filters) for point in self._current(book_id).points.values())

    async def chunks(self, book_id: str, ids: Sequence[str]) -> list[Chunk]:
        points = self._current(book_id).points
        return [points[chunk_id].chunk for chunk_id in ids if chunk_id in points]

    async def dense_vectors(self, book_id: str, ids: Sequence[str]) -> dict[str, Vector]:
        points = self._current(book_id).points
        return {chunk_id: points[chunk_id].dense for chunk_id in ids if chunk_id in points}

    async def page(self, book_id: str, parent_doc_id: str) -> list[Chunk]:
        return [point.chunk for point in self._in_order(book_id) if point.chunk.parent_doc_id == parent_doc_id]

    async def scan(self, book_id: str) -> AsyncIterator[Chunk]:
        for point in self._in_order(book_id):
            yield point.chunk

    async def points(self, book_id: str) -> AsyncIterator[IndexedChunk]:
        for point in self._in_order(book_id):
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
        )

    @asynccontextmanager
    async def writer(self, book_id: str, *, recreate: bool = False) -> AsyncIterator[_MemoryWriter]:
        self._check_outage()
        check_book_id(book_id)
        if self._storage.writing is not None:
            raise Conflict(f"Another writer is writing to the book {self._storage.writing!r}.")
        self._storage.writing = book_id
        try:
            known = book_id in self._storage.books
            points = {} if recreate or not known else dict(self._current(book_id).points)
            yield _MemoryWriter(book_id, self._fingerprint, self._storage, points, recreate=recreate)
        finally:
            self._storage.writing = None

    async def delete_book(self, book_id: str) -> None:
        self._published(book_id)
        if self._storage.writing is not None:
            raise Conflict(f"Another writer is writing to the book {self._storage.writing!r}.")
        del self._storage.books[book_id]

    async def close(self) -> None:
        """Nothing is held."""

    def _check_outage(self) -> None:
        if self.outage is not None:
            raise self.outage

    def _published(self, book_id: str) -> _Generation:
        self._check_outage()
        try:
            return self._storage.books[book_id]
        except KeyError:
            raise UnknownBook(f"There is no book {book_id!r} in the index.") from None

    def _current(self, book_id: str) -> _Generation:
        generation = self._published(book_id)
        check_fingerprint(book_id, generation.fingerprint, self._fingerprint)
        return generation

    def _in_order(self, book_id: str) -> list[IndexedChunk]:
        points = self._current(book_id).points.values()
        return sorted(points, key=lambda point: (point.chunk.source_file, point.chunk.chunk_index, point.chunk.id))


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

    async def stored(self) -> dict[str, StoredChunk]:
        return {
            chunk_id: StoredChunk(
                id=chunk_id,
                source_file=point.chunk.source_file,
                payload_hash=payload_hash(point.chunk),
                embed_hash=point.embed_hash,
                created_at=point.created_at,
            )
            for chunk_id, point in self._points.items()
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

    async def publish(self) -> None:
        if not self._changed:
            return
        before = self._storage.books.get(self._book_id)
        number = before.number + 1 if before else 1
        self._storage.books[self._book_id] = _Generation(
            number, self._fingerprint, datetime.now(UTC), dict(self._points)
        )
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
