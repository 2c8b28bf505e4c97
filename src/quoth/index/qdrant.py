"""The index on a Qdrant server or cluster: the ChunkIndex port over one collection for all books.

Between the port and its parts: `qdrant_ledger` (which generation is live, and what is known about it as a whole),
`qdrant_points` (the chunks, seen in a View) and `qdrant_writer`. A question sees one publication from its first call to
its last. The search runs on the one that this process saw last, while the ledger is asked whether that is still live,
and runs again if it is not. The previous generation stays until the next publication, so that questions under way
finish on what they began with. docs/decisions/0013 gives the reasons.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from quoth.chunks.payload import check_book_id, check_dimensions, check_fingerprint, is_book_id
from quoth.domain import (
    Chunk,
    Filters,
    Fingerprint,
    IndexedChunk,
    IndexHit,
    IndexHits,
    IndexQuery,
    IndexStatus,
    TermWeights,
)
from quoth.errors import IndexUnavailable, QuothError, UnknownBook
from quoth.index.qdrant_collection import Collection
from quoth.index.qdrant_filters import View
from quoth.index.qdrant_health import cluster_fault
from quoth.index.qdrant_lease import Lease
from quoth.index.qdrant_ledger import Entry, Ledger, check_format
from quoth.index.qdrant_nodes import Node
from quoth.index.qdrant_points import Held, Hit, Points, chunk_of
from quoth.index.qdrant_records import TermCounts
from quoth.index.qdrant_server import REBUILD, CollectionMissing, QdrantOptions, Server
from quoth.index.qdrant_writer import Draft, QdrantWriter, view_of
from quoth.together import together

_BOOKS = 64  # whose word counts are kept in memory


class QdrantIndex:
    def __init__(
        self, options: QdrantOptions, fingerprint: Fingerprint, *, wall: Callable[[], float] = time.time
    ) -> None:
        self._fingerprint = fingerprint
        self._options = options
        self._wall = wall
        self._server = Server(options)
        self._collection = Collection(self._server, fingerprint.dimensions)
        self.ledger = Ledger(self._server)
        self.stored_points = Points(self._server, fingerprint.dimensions)
        self.counts = WordCounts(self.ledger)

    @property
    def fingerprint(self) -> Fingerprint:
        return self._fingerprint

    def view(self, book_id: str) -> QdrantView:
        return QdrantView(self, book_id)

    async def scan(self, book_id: str) -> AsyncIterator[Chunk]:
        view = view_of(*await self.current(book_id))
        async for record in self.stored_points.in_order(view, vectors=False):
            yield chunk_of(record)

    async def points(self, book_id: str) -> AsyncIterator[IndexedChunk]:
        view = view_of(*await self.current(book_id))
        async for record in self.stored_points.in_order(view, vectors=True):
            yield self.stored_points.indexed(record)

    async def books(self) -> list[str]:
        return await self.ledger.books()

    async def status(self, book_id: str) -> IndexStatus:
        entry, _ = await self._published(book_id)
        return IndexStatus(
            book_id=book_id,
            chunks=entry.chunks,
            generation=entry.generation,
            fingerprint=entry.fingerprint,
            bytes_on_disk=0,
            published_at=entry.published_at,
            book=entry.book,
            outdated=not entry.readable,
        )

    async def fault(self) -> QuothError | None:
        return await cluster_fault(self._server)

    @asynccontextmanager
    async def writer(self, book_id: str, *, recreate: bool = False) -> AsyncIterator[QdrantWriter]:
        check_book_id(book_id)
        async with self._lease(book_id) as lease:
            entry = await self.ledger.sure_entry(book_id)
            if entry is not None and not recreate:
                check_fingerprint(book_id, entry.fingerprint, self._fingerprint)
                recreate = not entry.readable  # of an earlier Quoth: every ingest builds it again
            await self._collection.prepare()
            _, at = await self.ledger.entry(book_id)
            draft = Draft(book_id, self._fingerprint, entry, recreate, at)
            writer = QdrantWriter(self.stored_points, self.ledger, lease, draft, batch=self._options.batch)
            await writer.prepare()
            yield writer

    async def delete_book(self, book_id: str) -> None:
        await self._published(book_id)
        async with self._lease(book_id):
            await self.ledger.delete(book_id)
            with suppress(CollectionMissing):
                await self.stored_points.delete_book(book_id)

    async def close(self) -> None:
        await self._server.close()

    async def current(self, book_id: str, at: Node | None = None) -> tuple[Entry, Node | None]:
        """The publication that is live, if this process can read it, and a node that has it."""
        entry, node = await self._published(book_id, at)
        check_fingerprint(book_id, entry.fingerprint, self._fingerprint)
        check_format(entry)
        return entry, node

    def next_node(self) -> Node:
        return self._server.nodes.next()

    @asynccontextmanager
    async def _lease(self, book_id: str) -> AsyncIterator[Lease]:
        await self.ledger.prepare()
        async with Lease(self.ledger, book_id, self._wall) as lease:
            yield lease

    async def _published(self, book_id: str, at: Node | None = None) -> tuple[Entry, Node | None]:
        entry, node = await self.ledger.entry(book_id, at) if is_book_id(book_id) else (None, None)
        if entry is None:
            raise UnknownBook(f"There is no book {book_id!r} in the index.")
        return entry, node


@dataclass(frozen=True, slots=True)
class Found:
    """What a search brings back from one publication, which may turn out not to be the live one."""

    dense: list[Hit]
    sparse: list[Hit]
    size: int
    total: int | None


class QdrantView:
    """One publication of a book; the first call finds out which. Later calls ask the node that showed it first, because
    another may be behind."""

    def __init__(self, index: QdrantIndex, book_id: str) -> None:
        self._index = index
        self._book_id = book_id
        self._entry: Entry | None = None
        self._at: Node | None = None
        self._binding = asyncio.Lock()
        self._points: dict[str, str] = {}  # of the chunks that were found here

    async def search(self, query: IndexQuery) -> IndexHits:
        check_dimensions(self._index.fingerprint, [query.dense])
        guess = self._entry or self._index.ledger.seen(self._book_id)
        if self._entry is not None or guess is None or not self._index.counts.has(guess):
            entry = await self.entry()
            return self._kept(await self._search(entry, query, self._at))
        node = self._index.next_node()
        searching = asyncio.ensure_future(self._search(guess, query, node))
        try:
            entry = await self.entry(node)
            if entry == guess and (self._at is None or not node.is_behind):
                return self._kept(await searching)
        finally:
            searching.cancel()
            await asyncio.gather(searching, return_exceptions=True)
        return self._kept(await self._search(entry, query, self._at))

    async def idf(self, term_ids: Sequence[int]) -> dict[int, float]:
        entry = await self.entry()
        return (await self._index.counts.of(entry)).idf(list(dict.fromkeys(term_ids)), entry.chunks)

    async def count(self, filters: Filters = Filters()) -> int:
        """Really counted, so that lost chunks are noticed here."""
        entry = await self.entry()
        found = await self._index.stored_points.count(view_of(entry, self._at), filters)
        if filters == Filters() and found != entry.chunks:
            raise IndexUnavailable(
                f"The index of {self._book_id!r} is damaged: it holds {found} chunks instead of {entry.chunks}.",
                hint=REBUILD,
            )
        return found

    async def chunks(self, ids: Sequence[str]) -> list[Chunk]:
        found = {chunk_id: held.chunk for chunk_id, held in (await self._found_here(ids)).items()}
        if unknown := [chunk_id for chunk_id in ids if chunk_id not in self._points]:
            found |= await self._index.stored_points.chunks(await self._view(), unknown)
        return [found[chunk_id] for chunk_id in ids if chunk_id in found]

    async def dense_vectors(self, ids: Sequence[str]) -> Mapping[str, Sequence[float]]:
        found: dict[str, Sequence[float]] = {
            chunk_id: held.dense for chunk_id, held in (await self._found_here(ids)).items()
        }
        if unknown := [chunk_id for chunk_id in ids if chunk_id not in self._points]:
            found |= await self._index.stored_points.dense_vectors(await self._view(), unknown)
        return found

    async def page(self, parent_doc_id: str) -> list[Chunk]:
        return await self._index.stored_points.page(await self._view(), parent_doc_id)

    async def entry(self, at: Node | None = None) -> Entry:
        """`at`: the node to ask first, if none was asked before."""
        async with self._binding:
            if self._entry is None:
                self._entry, self._at = await self._index.current(self._book_id, at)
            return self._entry

    async def _view(self) -> View:
        return view_of(await self.entry(), self._at)

    async def _search(self, entry: Entry, query: IndexQuery, at: Node | None) -> Found:
        counts = await self._index.counts.of(entry)
        rarity = counts.idf(query.sparse.ids, entry.chunks)
        pairs = [(id, weight * rarity[id]) for id, weight in _pairs(query.sparse) if id in rarity]
        terms = TermWeights(tuple(id for id, _ in pairs), tuple(weight for _, weight in pairs))
        points, view = self._index.stored_points, view_of(entry, at)
        searching = points.search(view, query.dense, terms, query.filters, query.limit, size=entry.chunks)
        total: int | None = None
        if query.filters == Filters():
            (dense, sparse), total = await searching, entry.chunks
        elif query.count:
            (dense, sparse), total = await together(searching, points.count(view, query.filters))
        else:
            dense, sparse = await searching
        return Found(dense, sparse, entry.chunks, total)

    def _kept(self, found: Found) -> IndexHits:
        """Remember where the chunks are, for `chunks`."""
        lists = found.dense, found.sparse
        self._points.update((hit.chunk_id, hit.point_id) for hits in lists for hit in hits)
        dense, sparse = (tuple(IndexHit(hit.chunk_id, hit.score) for hit in hits) for hits in lists)
        return IndexHits(dense=dense, sparse=sparse, size=found.size, total_found=found.total)

    async def _found_here(self, ids: Sequence[str]) -> dict[str, Held]:
        """What a search of this view has found, by point: with its text and its vector, in one request."""
        known = {self._points[chunk_id]: chunk_id for chunk_id in ids if chunk_id in self._points}
        if not known:
            return {}
        held = await self._index.stored_points.held(list(known), self._at)
        return {known[point]: one for point, one in held.items()}


class WordCounts:
    """How many chunks of a book hold each word in a publication: read once, and then only what is new."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._known: OrderedDict[str, tuple[Entry, TermCounts]] = OrderedDict()
        self._reading = asyncio.Lock()

    def has(self, entry: Entry) -> bool:
        known = self._known.get(entry.book_id)
        return known is not None and known[0].records == entry.records

    async def of(self, entry: Entry) -> TermCounts:
        if (known := self._known.get(entry.book_id)) and known[0].records == entry.records:
            self._known.move_to_end(entry.book_id)
            return known[1]
        async with self._reading:
            known = self._known.get(entry.book_id)
            before = known[0].records if known else ()
            goes_on = known is not None and entry.records[: len(before)] == before
            new = entry.records[len(before) :] if goes_on else entry.records
            texts = await self._ledger.records(new, "terms")
            counts = await asyncio.to_thread(_summed, [known[1]] if known and goes_on else [], texts)
            if known is None or known[0].lineage != entry.lineage or known[0].generation <= entry.generation:
                self._known[entry.book_id] = entry, counts
                self._known.move_to_end(entry.book_id)
            while len(self._known) > _BOOKS:
                self._known.popitem(last=False)
            return counts


def _summed(known: list[TermCounts], texts: Sequence[str]) -> TermCounts:
    return TermCounts.sum([*known, *map(TermCounts.decode, texts)])


def _pairs(terms: TermWeights) -> Sequence[tuple[int, float]]:
    return list(zip(terms.ids, terms.weights, strict=True))
