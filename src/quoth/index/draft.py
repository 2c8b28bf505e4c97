"""The next publication of a book while it is written, synchronously and under the writer's lock.

Few changes stay in memory until they are published as one small file over the same base: the engine is not written to,
nothing is copied, and other readers need not open anything anew. Many are written into a copy of the base, which the
publication makes the new one. What an ingest asks of every chunk stands in the inventory, so the engine is opened only
when vectors are wanted or a chunk of the base goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quoth.chunks.payload import check_fingerprint, check_put, to_payload, to_stored
from quoth.domain import Fingerprint, IndexedChunk, StoredChunk, Vector
from quoth.index.book_reader import EdgeBook
from quoth.index.changes import NOTHING, Changes, Point
from quoth.index.generations import Generations, Pointer, writing
from quoth.index.inventory import Inventory

if TYPE_CHECKING:
    from quoth.index.engine import Shard
    from quoth.index.open_books import OpenBooks


@dataclass(frozen=True, slots=True)
class DraftOptions:
    most_changes: int = 512  # chunks that stand beside the base of a book before it is built anew
    plain_up_to: int = 5_000  # chunks of a book; a larger base is searched by columns of ours


class Draft:
    def __init__(
        self, generations: Generations, fingerprint: Fingerprint, books: OpenBooks, options: DraftOptions
    ) -> None:
        self._generations = generations
        self._fingerprint = fingerprint
        self._books = books
        self._options = options
        self._live: Pointer | None = None  # what it starts from; None: nothing
        self._number = 0  # of the generation that is live, also where it starts from nothing
        self._held: Inventory | None = None
        self._changes = NOTHING.copy()  # over the base, as long as they are few
        self._base: Shard | None = None  # the live one, once it had to be read
        self._building: Shard | None = None  # the next one, once they are many
        self._changed = False

    def open(self, *, recreate: bool) -> None:
        self._number = self._generations.sweep()
        if recreate or self._number == 0:
            return
        pointer = self._generations.pointer()
        check_fingerprint(self._generations.book_id, pointer.fingerprint, self._fingerprint)
        self._generations.check(pointer)
        self._changes = Changes.decode(self._generations.changes(pointer)).copy() if pointer.changed else NOTHING.copy()
        self._live = pointer

    def stored(self) -> dict[str, StoredChunk]:
        return dict(self._inventory().chunks)

    def vectors(self, embed_hashes: Iterable[str]) -> dict[str, Vector]:
        holders = {hash: self._inventory().holder(hash) for hash in embed_hashes}
        wanted = {hash: holder for hash, holder in holders.items() if holder is not None}
        if not wanted:
            return {}
        reader = self._building or EdgeBook(self._read(), self._changes)
        found = reader.dense_vectors(wanted.values())
        return {hash: tuple(found[holder]) for hash, holder in wanted.items()}

    def put(self, chunks: Sequence[IndexedChunk]) -> None:
        check_put(self._generations.book_id, self._fingerprint, chunks)
        if not chunks:
            return
        self._changed = True
        if self._building is None and (
            self._live is None or len(self._changes) + len(chunks) > self._options.most_changes
        ):
            self._build()
        if self._building is not None:
            self._generations.reserve(sum(_room_for(indexed) for indexed in chunks))
            self._inventory().put(self._building.put(chunks))
            return
        self._take_from_base([indexed.chunk.id for indexed in chunks])
        for indexed in chunks:
            payload = to_payload(indexed)
            self._changes.points[indexed.chunk.id] = Point(payload, indexed.dense, indexed.sparse)
            self._inventory().put([to_stored(indexed.chunk.id, payload)])

    def drop(self, ids: Sequence[str]) -> None:
        known = [id for id in ids if id in self._inventory().chunks]
        if not known:
            return
        self._changed = True
        if self._building is None and len(self._changes) + len(known) > self._options.most_changes:
            self._build()
        if self._building is not None:
            self._building.drop(known)
        else:
            self._take_from_base(known)
            for id in known:
                self._changes.points.pop(id, None)
        self._inventory().drop(known)

    def publish(self) -> None:
        if not self._changed and self._live is not None:
            return
        if self._live is None and self._building is None:
            self._build()
        chunks = len(self._inventory().chunks)
        number = self._number + 1
        if self._building is not None:
            pointer = Pointer(number, number, self._fingerprint, chunks)
            with writing(self._generations.root):
                self._building.finish(self._options.plain_up_to)
                self._inventory().save(self._generations.folder(number))
            self._generations.publish(pointer)
            self._base, self._building = self._building, None
        else:
            assert self._live is not None
            pointer = Pointer(number, self._live.base, self._fingerprint, chunks)
            self._generations.publish(pointer, self._changes.encode())
        if self._base is not None:
            self._books.keep(self._generations, pointer, EdgeBook(self._base, self._changes))
        self._changes = self._changes.copy()
        self._live, self._number, self._changed = pointer, number, False

    def discard(self) -> None:
        building, self._building = self._building, None
        try:
            if building is not None:
                building.close()
        finally:
            self._generations.discard(self._number + 1)

    def _inventory(self) -> Inventory:
        if self._held is None:
            if self._live is None:
                self._held = Inventory()
            else:
                self._held = Inventory.load(self._generations.folder(self._live.base))
                self._held.drop(self._changes.gone)
                self._held.put(to_stored(id, point.payload) for id, point in self._changes.points.items())
        return self._held

    def _read(self) -> Shard:
        if self._base is None:
            self._base = self._books.book(self._generations.book_id).base
        return self._base

    def _take_from_base(self, ids: Iterable[str]) -> None:
        """Those that the base still shows: they stand in the inventory, and not among the changes."""
        known = self._inventory().chunks
        shown = [id for id in ids if id in known and id not in self._changes.points]
        if shown:
            self._changes.gone |= self._read().terms_of(shown)

    def _build(self) -> None:
        """From here on every change goes into the engine."""
        from quoth.index.engine import Shard

        number = self._number + 1
        if self._live is None:
            folder = self._generations.begin(number, copy_of=None)
            self._building = Shard.create(folder, self._fingerprint.dimensions, self._options.plain_up_to)
            return
        # Let go of the live one first: open at the same time, the two would take twice the memory.
        self._base = None
        self._books.forget(self._generations.book_id)
        self._building = Shard.load(self._generations.begin(number, copy_of=self._live.base))
        self._building.drop([id for id in self._changes.gone if id not in self._changes.points])
        self._building.put([self._changes.indexed(id) for id in self._changes.points])
        self._changes = NOTHING.copy()


def _room_for(indexed: IndexedChunk) -> int:
    """Bytes on disk, rather too many: vectors, twice in a large book, payload, and an entry in each payload index."""
    chunk = indexed.chunk
    return 9 * len(indexed.dense) + 32 * len(indexed.sparse.ids) + 4 * len(chunk.text + chunk.lead) + 8192
