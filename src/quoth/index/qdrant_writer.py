"""The next generation of a book on a Qdrant server while it is written: the IndexWriter of `qdrant`.

In: chunks to put and to drop. Out: points that are in no view yet, and at the end one entry of the ledger that brings
them into view. The writer keeps the sums of what it has changed, so a publication reads nothing of the rest of the
book. It writes under a lease, which it secures before every write.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from quoth.chunks.payload import check_put
from quoth.domain import Book, Fingerprint, IdSet, IndexedChunk, StoredChunk, Vector
from quoth.errors import IndexUnavailable, Outage
from quoth.index.qdrant_filters import CHUNK_ID, View, each
from quoth.index.qdrant_lease import Lease
from quoth.index.qdrant_ledger import Entry, Ledger
from quoth.index.qdrant_ledger import Points as RecordPoints
from quoth.index.qdrant_nodes import Node
from quoth.index.qdrant_points import Points
from quoth.index.qdrant_records import Tally, TermCounts, decode_files, encode_files, sum_of_files

# Records that one publication may name; beyond that they are merged, so that a new reader has few to read.
_MOST_RECORDS = 16

# Seconds between two counts of a publication that is incomplete.
_PAUSES = (0.1, 0.5, 2.0)

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Draft:
    """What is live, and what will be."""

    book_id: str
    fingerprint: Fingerprint
    live: Entry | None
    recreate: bool
    at: Node | None = None  # a node whose copy shows what is live
    chunks: int = 0  # of the publication that this one continues
    records: tuple[RecordPoints, ...] = ()  # of the same
    changed: bool = False
    tally: Tally = field(default_factory=Tally)
    own: set[str] = field(default_factory=set)  # chunks that were put since the last publication

    def __post_init__(self) -> None:
        self.changed = self.recreate or self.live is None
        if self.kept is not None:
            self.chunks, self.records = self.kept.chunks, self.kept.records

    @property
    def generation(self) -> int:
        return self.live.generation if self.live else 0

    @property
    def kept(self) -> Entry | None:
        """The publication that this one continues; None if it begins anew."""
        return None if self.recreate else self.live

    @property
    def view(self) -> View:
        """What the writer sees: the live generation with its own changes, or its own points alone."""
        last = self.generation + 1
        return View(self.book_id, self.kept.first if self.kept else last, last, self.at)


def view_of(entry: Entry, at: Node | None = None) -> View:
    return View(entry.book_id, entry.first, entry.generation, at)


class QdrantWriter:
    def __init__(self, points: Points, ledger: Ledger, lease: Lease, draft: Draft, *, batch: int) -> None:
        self._points = points
        self._ledger = ledger
        self._lease = lease
        self._draft = draft
        self._batch = batch

    async def prepare(self) -> None:
        """Remove what a writer that was killed or never published has left. If chunks have been lost, count those that
        are there, so that an ingest finds out which are missing."""
        draft = self._draft
        await self._lease.secure()
        await self._points.undo(draft.view)
        await self._ledger.forget_records(draft.book_id, since=draft.view.last)
        if draft.kept is None or await self._points.count(draft.view) == draft.chunks:
            return
        log.warning("chunks of a book are missing", extra={"book_id": draft.book_id})
        draft.chunks, draft.records, draft.changed = 0, (), True
        async for held in self._points.all_versions(draft.view):
            draft.tally.add(held.chunk_id, held.source_file, held.terms)

    async def files(self) -> dict[str, IdSet]:
        texts = await self._ledger.records(self._draft.records, "files")
        return sum_of_files([*map(decode_files, texts), self._draft.tally.files])

    async def stored(
        self, *, files: Collection[str] | None = None, ids: Collection[str] = ()
    ) -> dict[str, StoredChunk]:
        view = self._draft.view
        if files is None:
            return await self._points.stored(view, [view.filter()])
        return await self._points.stored(view, [*each(view, "source_file", files), *each(view, CHUNK_ID, ids)])

    async def vectors(self, embed_hashes: Iterable[str]) -> dict[str, Vector]:
        return await self._points.vectors(self._draft.view, embed_hashes)

    async def put(self, chunks: Sequence[IndexedChunk]) -> None:
        draft = self._draft
        check_put(draft.book_id, draft.fingerprint, chunks)
        draft.changed = draft.changed or bool(chunks)
        last = {indexed.chunk.id: indexed for indexed in chunks}
        ids = list(last)
        for start in range(0, len(ids), self._batch):
            bite = ids[start : start + self._batch]
            # A book that is written for the first time has nothing else to replace.
            before = bite if draft.kept else draft.own.intersection(bite)
            replaced = await self._points.versions(draft.view, before)
            await self._lease.secure()
            await self._points.put(draft.view, [last[chunk_id] for chunk_id in bite], self._lease.holder)
            for old in replaced:
                draft.tally.take_away(old.chunk_id, old.source_file, old.terms)
            for chunk_id in bite:
                draft.tally.add(chunk_id, last[chunk_id].chunk.source_file, last[chunk_id].sparse.ids)
            draft.own.update(bite)

    async def drop(self, ids: Sequence[str]) -> None:
        draft = self._draft
        known = await self._points.versions(draft.view, ids)
        if not known:
            return
        draft.changed = True
        await self._lease.secure()
        await self._points.drop(draft.view, [old.chunk_id for old in known])
        for old in known:
            draft.tally.take_away(old.chunk_id, old.source_file, old.terms)

    async def publish(self, book: Book | None = None) -> None:
        draft, before = self._draft, self._draft.live
        known = before.book if before is not None else None
        book = known if book is None else replace(book, source="")  # a path of this machine stays here
        if not draft.changed and book == known:
            return
        view = draft.view
        chunks = draft.chunks + draft.tally.chunks
        await self._lease.secure()
        if (found := await self._counted(view, chunks)) != chunks:
            raise IndexUnavailable(
                f"The new generation of {draft.book_id!r} has {found} chunks instead of {chunks}; it is not published. "
                "The book stays as it was.",
                hint="Run the command again.",
            )
        await self._lease.secure()
        entry = Entry(
            book_id=draft.book_id,
            generation=view.last,
            first=view.first,
            fingerprint=draft.fingerprint,
            chunks=chunks,
            published_at=datetime.now(UTC),
            writer=self._lease.holder,
            lineage=before.lineage if before and before.lineage else str(uuid.uuid4()),
            records=await self._write_records(),
            book=book,
        )
        await self._lease.secure()
        await self._ledger.publish(entry, instead_of=draft.generation)
        self._draft = Draft(draft.book_id, draft.fingerprint, entry, recreate=False, at=draft.at)
        if before is not None:
            await self._forget(before)

    async def _counted(self, view: View, expected: int) -> int:
        """A copy that missed a write may be asked before the cluster has noticed."""
        for pause in _PAUSES:
            if (found := await self._points.count(view)) == expected:
                return found
            await asyncio.sleep(pause)
        return await self._points.count(view)

    async def _write_records(self) -> tuple[RecordPoints, ...]:
        draft = self._draft
        kept = draft.records
        terms, files = TermCounts.of(draft.tally.terms), dict(draft.tally.files)
        if len(kept) >= _MOST_RECORDS:
            counted = [TermCounts.decode(text) for text in await self._ledger.records(kept, "terms")]
            terms, files, kept = TermCounts.sum([*counted, terms]), await self.files(), ()
        written = await self._ledger.put_record(
            draft.book_id, draft.view.last, self._lease.holder, terms.encode(), encode_files(files)
        )
        return (*kept, written)

    async def _forget(self, before: Entry) -> None:
        """Readers of the previous generation may still be at work; older ones have none. What cannot be removed now is
        removed after the next publication."""
        try:
            await self._points.forget(view_of(before))
            # Every publication has written one record, so its last ones have the last numbers.
            await self._ledger.forget_records(before.book_id, before=before.generation - len(before.records) + 1)
        except Outage as outage:
            log.warning("what is no longer needed could not be removed yet", extra={"fault": outage.in_full()})
