"""The index on a Qdrant server or cluster: the ChunkIndex port over one collection for all books.

Between the port and two parts: `qdrant_ledger` (which generation is live, who may write) and `qdrant_points` (the
chunks, seen in a View). A reader asks the ledger for the live generation and reads in its view; a writer puts points
that are in nobody's view yet, and publishes them all by replacing one entry of the ledger. What the generation before
held stays until the next publication, so that reads under way finish on what they began with. A writer that is killed
leaves points that nobody sees; the next one removes them. docs/decisions/0013 gives the reasons.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from quoth.chunks.payload import check_book_id, check_dimensions, check_fingerprint, check_put, is_book_id
from quoth.domain import (
    Chunk,
    Filters,
    Fingerprint,
    IndexedChunk,
    IndexHits,
    IndexQuery,
    IndexStatus,
    StoredChunk,
    Vector,
)
from quoth.errors import IndexUnavailable, UnknownBook
from quoth.index.qdrant_client import REBUILD, CollectionMissing, QdrantOptions, Server
from quoth.index.qdrant_filters import View
from quoth.index.qdrant_ledger import Entry, Lease, Ledger
from quoth.index.qdrant_points import Points, chunk_of


class QdrantIndex:
    def __init__(
        self, options: QdrantOptions, fingerprint: Fingerprint, *, wall: Callable[[], float] = time.time
    ) -> None:
        self._fingerprint = fingerprint
        self._options = options
        self._wall = wall
        self._server = Server(options)
        self._ledger = Ledger(self._server, wall)
        self._points = Points(self._server, fingerprint.dimensions)

    @property
    def fingerprint(self) -> Fingerprint:
        return self._fingerprint

    async def search(self, query: IndexQuery) -> IndexHits:
        entry = await self._current(query.book_id)
        check_dimensions(self._fingerprint, [query.dense])
        return await self._points.search(view_of(entry), query, entry.chunks)

    async def idf(self, book_id: str, term_ids: Sequence[int]) -> dict[int, float]:
        return await self._points.idf(await self._view(book_id), term_ids)

    async def count(self, book_id: str, filters: Filters = Filters()) -> int:
        entry = await self._current(book_id)
        found = await self._points.count(view_of(entry), filters)
        if filters == Filters() and found != entry.chunks:
            raise IndexUnavailable(
                f"The index of {book_id!r} is damaged: it holds {found} chunks instead of {entry.chunks}.",
                hint=REBUILD,
            )
        return found

    async def chunks(self, book_id: str, ids: Sequence[str]) -> list[Chunk]:
        found = await self._points.chunks(await self._view(book_id), ids)
        return [found[chunk_id] for chunk_id in ids if chunk_id in found]

    async def dense_vectors(self, book_id: str, ids: Sequence[str]) -> dict[str, Vector]:
        return await self._points.dense_vectors(await self._view(book_id), ids)

    async def page(self, book_id: str, parent_doc_id: str) -> list[Chunk]:
        return await self._points.page(await self._view(book_id), parent_doc_id)

    async def scan(self, book_id: str) -> AsyncIterator[Chunk]:
        async for record in self._points.in_order(await self._view(book_id), vectors=False):
            yield chunk_of(record)

    async def points(self, book_id: str) -> AsyncIterator[IndexedChunk]:
        async for record in self._points.in_order(await self._view(book_id), vectors=True):
            yield self._points.indexed(record)

    async def books(self) -> list[str]:
        return await self._ledger.books()

    async def status(self, book_id: str) -> IndexStatus:
        entry = await self._published(book_id)
        return IndexStatus(
            book_id=book_id,
            chunks=entry.chunks,
            generation=entry.generation,
            fingerprint=entry.fingerprint,
            bytes_on_disk=0,
            published_at=entry.published_at,
        )

    @asynccontextmanager
    async def writer(self, book_id: str, *, recreate: bool = False) -> AsyncIterator[QdrantWriter]:
        check_book_id(book_id)
        async with self._lease(book_id) as lease:
            entry = await self._ledger.entry(book_id)
            if entry is not None and not recreate:
                check_fingerprint(book_id, entry.fingerprint, self._fingerprint)
            await self._points.prepare()
            writer = QdrantWriter(self._points, self._ledger, lease, Draft(book_id, self._fingerprint, entry, recreate))
            await writer.undo()
            yield writer

    async def delete_book(self, book_id: str) -> None:
        await self._published(book_id)
        async with self._lease(book_id):
            # The entry first, so that no reader finds half a book.
            await self._ledger.delete(book_id)
            with suppress(CollectionMissing):
                await self._points.delete_book(book_id)

    async def close(self) -> None:
        await self._server.close()

    @asynccontextmanager
    async def _lease(self, book_id: str) -> AsyncIterator[Lease]:
        await self._ledger.prepare()
        async with Lease(self._ledger, book_id, self._options.lease, self._options.timeout) as lease:
            yield lease

    async def _published(self, book_id: str) -> Entry:
        entry = await self._ledger.entry(book_id) if is_book_id(book_id) else None
        if entry is None:
            raise UnknownBook(f"There is no book {book_id!r} on {self._server.name}.")
        return entry

    async def _current(self, book_id: str) -> Entry:
        entry = await self._published(book_id)
        check_fingerprint(book_id, entry.fingerprint, self._fingerprint)
        return entry

    async def _view(self, book_id: str) -> View:
        return view_of(await self._current(book_id))


@dataclass(slots=True)
class Draft:
    """The next generation of a book while it is written: what is live, and what will be."""

    book_id: str
    fingerprint: Fingerprint
    live: Entry | None
    recreate: bool
    changed: bool = False

    def __post_init__(self) -> None:
        self.changed = self.recreate or self.live is None

    @property
    def generation(self) -> int:
        return self.live.generation if self.live else 0

    @property
    def view(self) -> View:
        """What the writer sees: the live generation with its own changes, or its own points alone."""
        last = self.generation + 1
        return View(self.book_id, last if self.recreate or self.live is None else self.live.first, last)


class QdrantWriter:
    def __init__(self, points: Points, ledger: Ledger, lease: Lease, draft: Draft) -> None:
        self._points = points
        self._ledger = ledger
        self._lease = lease
        self._draft = draft

    async def undo(self) -> None:
        """Remove what a writer has left that was killed or never published."""
        self._lease.check()
        await self._points.undo(self._draft.view)

    async def stored(self) -> dict[str, StoredChunk]:
        return await self._points.stored(self._draft.view)

    async def vectors(self, embed_hashes: Iterable[str]) -> dict[str, Vector]:
        return await self._points.vectors(self._draft.view, embed_hashes)

    async def put(self, chunks: Sequence[IndexedChunk]) -> None:
        check_put(self._draft.book_id, self._draft.fingerprint, chunks)
        self._draft.changed = self._draft.changed or bool(chunks)
        await self._points.put(self._draft.view, chunks, before_each=self._lease.check)

    async def drop(self, ids: Sequence[str]) -> None:
        known = await self._points.known(self._draft.view, ids)
        self._draft.changed = self._draft.changed or bool(known)
        self._lease.check()
        await self._points.drop(self._draft.view, known)

    async def publish(self) -> None:
        draft = self._draft
        if not draft.changed:
            return
        view, before = draft.view, draft.live
        entry = Entry(
            book_id=draft.book_id,
            generation=view.last,
            first=view.first,
            fingerprint=draft.fingerprint,
            chunks=await self._points.count(view),
            published_at=datetime.now(UTC),
            writer=self._lease.holder,
        )
        self._lease.check()
        await self._ledger.publish(entry, instead_of=draft.generation)
        draft.live, draft.recreate, draft.changed = entry, False, False
        if before is not None:
            # Readers of the generation before may still be at work; of those before it, none.
            await self._points.forget(view_of(before))


def view_of(entry: Entry) -> View:
    return View(entry.book_id, entry.first, entry.generation)
