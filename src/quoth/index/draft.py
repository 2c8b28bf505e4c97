"""The next publication of a book while it is written: the IndexWriter of the embedded index, under the writer's lock.

Few changes stay in memory and are published as one small file over the same base: nothing is copied, and readers keep
the base open. Many are spooled, and the publication copies them and what is left of the base into a new base. What an
ingest asks of every chunk is in the inventory, so the base is opened only when one of its vectors is wanted or when it
is copied. Every public method runs in the one thread of the draft.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable, Collection, Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from quoth.chunks.payload import check_fingerprint, check_put, to_payload, to_stored
from quoth.domain import Book, Fingerprint, IdSet, IndexedChunk, StoredChunk, Vector
from quoth.errors import IndexDamaged
from quoth.index.generations import FORMAT, Generations, Pointer, disk_errors
from quoth.index.inventory import INVENTORY, Inventory

if TYPE_CHECKING:
    from quoth.index.base import Base
    from quoth.index.changes import Point
    from quoth.index.columns import Floats
    from quoth.index.open_books import OpenBooks
    from quoth.index.spool import Spool

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")


def in_thread(
    work: Callable[Concatenate[Draft, P], T],
) -> Callable[Concatenate[Draft, P], Coroutine[Any, Any, T]]:
    @functools.wraps(work)
    async def call(self: Draft, /, *args: P.args, **kwargs: P.kwargs) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.thread, lambda: work(self, *args, **kwargs))

    return call


class Draft:
    def __init__(
        self,
        generations: Generations,
        fingerprint: Fingerprint,
        books: OpenBooks,
        most_changes: int,
        thread: ThreadPoolExecutor,
    ) -> None:
        self.thread = thread
        self._generations = generations
        self._fingerprint = fingerprint
        self._books = books
        self._most_changes = most_changes
        self._live: Pointer | None = None  # what it starts from; None: from nothing
        self._number = 0  # of the live generation, even when the draft starts from nothing
        self._held: Inventory | None = None
        self._gone: set[str] = set()  # ids of the base
        self._points: dict[str, Point] = {}  # new, while there are few
        self._spool: Spool | None = None  # for the new ones, once there are many
        self._book: Book | None = None  # its record in the live generation
        self._changed = False

    @in_thread
    def open(self, *, recreate: bool) -> None:
        self._number = self._generations.sweep()
        if self._number == 0:
            return
        try:
            pointer = self._generations.pointer()
        except IndexDamaged:
            if recreate:  # that is the way out; the publication makes the book's record anew
                return
            raise
        self._book = pointer.book
        if recreate:
            return
        check_fingerprint(self._generations.book_id, pointer.fingerprint, self._fingerprint)
        if pointer.format < FORMAT:
            log.warning("The index of %r was built by an earlier Quoth; building it again", self._generations.book_id)
            return
        self._generations.check_format(pointer)
        self._generations.check(pointer, whole=lambda name: False)
        from quoth.index.changes import Changes

        changes = Changes.read(self._generations, pointer)
        self._gone, self._points, self._live = set(changes.gone), dict(changes.points), pointer

    @in_thread
    def files(self) -> dict[str, IdSet]:
        held: dict[str, list[str]] = {}
        for chunk in self._inventory().chunks.values():
            held.setdefault(chunk.source_file, []).append(chunk.id)
        return {file: IdSet.of(ids) for file, ids in held.items()}

    @in_thread
    def stored(self, *, files: Collection[str] | None = None, ids: Collection[str] = ()) -> dict[str, StoredChunk]:
        chunks = self._inventory().chunks
        if files is None:
            return dict(chunks)
        of_files, wanted = set(files), set(ids)
        return {id: chunk for id, chunk in chunks.items() if id in wanted or chunk.source_file in of_files}

    @in_thread
    def vectors(self, embed_hashes: Iterable[str]) -> dict[str, Vector]:
        holders = {hash: self._inventory().holder(hash) for hash in embed_hashes}
        wanted = {hash: holder for hash, holder in holders.items() if holder is not None}
        found = self._vectors(set(wanted.values()))
        return {hash: tuple(found[holder].tolist()) for hash, holder in wanted.items()}

    @in_thread
    def put(self, chunks: Sequence[IndexedChunk]) -> None:
        check_put(self._generations.book_id, self._fingerprint, chunks)
        if not chunks:
            return
        points = _points_of(chunks)
        self._make_room(len(points))
        self._hide(points)
        if self._spool is not None:
            with disk_errors(self._generations.root):
                self._spool.put(points.items())
        else:
            self._points.update(points)
        self._inventory().put(to_stored(id, point.payload) for id, point in points.items())
        self._changed = True

    @in_thread
    def drop(self, ids: Sequence[str]) -> None:
        known = [id for id in ids if id in self._inventory().chunks]
        if not known:
            return
        self._make_room(len(known))
        self._hide(known)
        if self._spool is not None:
            self._spool.drop(known)
        for id in known:
            self._points.pop(id, None)
        self._inventory().drop(known)
        self._changed = True

    @in_thread
    def publish(self, book: Book | None = None) -> None:
        book = self._book if book is None else replace(book, source="")
        if not self._changed and self._live is not None and book == self._book:
            return
        if self._live is None and self._spool is None:
            self._begin()
        number, chunks = self._number + 1, len(self._inventory().chunks)
        if self._spool is not None:
            self._write_base(self._spool, number)
            self._live = self._generations.publish_base(number, self._fingerprint, chunks, book)
            self._spool, self._gone = None, set()
        else:
            from quoth.index.changes import Changes

            assert self._live is not None
            changes = Changes(self._gone, self._points).encode()
            self._live = self._generations.publish_changes(number, self._live, chunks, changes, book)
        self._number, self._book, self._changed = number, book, False

    def discard(self) -> None:
        spool, self._spool = self._spool, None
        if spool is not None:
            spool.close()
        self._generations.discard(self._number + 1)

    def _inventory(self) -> Inventory:
        if self._held is None:
            if self._live is None:
                self._held = Inventory()
            else:
                file = self._generations.folder(self._live.base) / INVENTORY
                self._held = Inventory.decode(self._generations.read(self._live, file))
                self._held.drop(self._gone)
                self._held.put(to_stored(id, point.payload) for id, point in self._points.items())
        return self._held

    def _base(self) -> Base:
        return self._books.book(self._generations.book_id).base

    def _vectors(self, ids: set[str]) -> dict[str, Floats]:
        found = {id: self._points[id].dense for id in ids if id in self._points}
        if self._spool is not None:
            found |= {id: self._spool.vector(id) for id in ids if id in self._spool}
        if elsewhere := ids - found.keys():
            columns = self._base().columns
            found |= {id: columns.rows.vectors[row] for id, row in columns.find(elsewhere).items()}
        return found

    def _make_room(self, more: int) -> None:
        """A book without a base, or with too many changes beside it, gets a new base."""
        few = max(len(self._gone), len(self._points)) + more <= self._most_changes
        if self._spool is None and (self._live is None or not few):
            self._begin()

    def _begin(self) -> None:
        from quoth.index.spool import Spool

        self._inventory()  # built now, from the points that are about to leave
        with disk_errors(self._generations.root):
            folder = self._generations.begin(self._number + 1)
            self._spool = Spool(folder / "spool", self._fingerprint.dimensions)
            self._spool.put(self._points.items())
        self._points = {}

    def _hide(self, ids: Iterable[str]) -> None:
        """Hide the ids that the base shows: those in the inventory that are not among the new points."""
        known, spooled = self._inventory().chunks, self._spool if self._spool is not None else ()
        self._gone.update(id for id in ids if id in known and id not in self._points and id not in spooled)

    def _write_base(self, spool: Spool, number: int) -> None:
        from quoth.index.base import write_base

        folder = self._generations.folder(number)
        with disk_errors(self._generations.root):
            parts = [spool.part()]
            if self._live is not None:
                parts.append(self._base().part(without=self._gone))
            write_base(folder, parts)
            (folder / INVENTORY).write_bytes(self._inventory().encode())
            spool.close()


def _points_of(chunks: Sequence[IndexedChunk]) -> dict[str, Point]:
    from quoth.index.changes import Point
    from quoth.index.columns import unit

    vectors = unit([indexed.dense for indexed in chunks])
    return {
        indexed.chunk.id: Point(to_payload(indexed), vector, indexed.sparse)
        for indexed, vector in zip(chunks, vectors, strict=True)
    }
