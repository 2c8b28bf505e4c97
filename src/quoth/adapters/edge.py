"""The embedded index: the ChunkIndex port on Qdrant's engine inside this process, one shard for each book.

Between the port and two sync parts: `generations` (which folder is live, who may write) and `edge_shard` (what is in
it). Reads run in a few threads of its own and follow the pointer file: a publication by any process is seen by the
next call, calls under way finish on the generation they began with. A writer works on a copy of the live generation
that nobody else sees and publishes it at once. Nothing here may fork once a shard is open: the child would hang.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from quoth.adapters.generations import Generations, Pointer, Stamp, WriterLock, published_books, writing
from quoth.adapters.inventory import REBUILD_HINT, Inventory
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
from quoth.errors import IndexMismatch, IndexUnavailable, InternalError
from quoth.payload import check_book_id

if TYPE_CHECKING:
    from quoth.adapters.edge_shard import Shard

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class EdgeOptions:
    open_books: int = 16  # kept open for the next question; others are opened again when asked
    threads: int = 4
    scan_page: int = 256


class EdgeIndex:
    def __init__(self, data_dir: Path, fingerprint: Fingerprint, options: EdgeOptions = EdgeOptions()) -> None:
        self._data_dir = data_dir
        self._fingerprint = fingerprint
        self._options = options
        self._open = OpenShards(data_dir / "index", fingerprint, options.open_books)
        self._threads = ThreadPoolExecutor(options.threads, thread_name_prefix="quoth-index")

    @property
    def fingerprint(self) -> Fingerprint:
        return self._fingerprint

    async def search(self, query: IndexQuery) -> IndexHits:
        _check_dimensions(self._fingerprint, [query.dense])
        return await self._read(query.book_id, lambda shard: shard.search(query))

    async def idf(self, book_id: str, term_ids: Sequence[int]) -> dict[int, float]:
        return await self._read(book_id, lambda shard: shard.idf(term_ids))

    async def count(self, book_id: str, filters: Filters = Filters()) -> int:
        return await self._read(book_id, lambda shard: shard.count(filters))

    async def chunks(self, book_id: str, ids: Sequence[str]) -> list[Chunk]:
        found = await self._read(book_id, lambda shard: shard.chunks(ids))
        return [found[chunk_id] for chunk_id in ids if chunk_id in found]

    async def dense_vectors(self, book_id: str, ids: Sequence[str]) -> dict[str, Vector]:
        return await self._read(book_id, lambda shard: shard.dense_vectors(ids))

    async def page(self, book_id: str, parent_doc_id: str) -> list[Chunk]:
        return await self._read(book_id, lambda shard: shard.page(parent_doc_id))

    async def scan(self, book_id: str) -> AsyncIterator[Chunk]:
        shard = await self._run(lambda: self._open.shard(book_id))
        ids = await self._run(shard.ids_in_order)
        step = self._options.scan_page
        for start in range(0, len(ids), step):
            page = ids[start : start + step]
            found = await self._run(lambda page=page: shard.chunks(page))  # type: ignore[misc]
            for chunk_id in page:
                yield found[chunk_id]

    async def books(self) -> list[str]:
        return await self._run(lambda: published_books(self._data_dir / "index"))

    async def status(self, book_id: str) -> IndexStatus:
        return await self._run(lambda: self._status(book_id))

    @asynccontextmanager
    async def writer(self, book_id: str, *, recreate: bool = False) -> AsyncIterator[EdgeWriter]:
        check_book_id(book_id)
        generations = Generations(self._data_dir / "index", book_id)
        # One thread, so that what a cancelled caller left running is over before anything is cleaned up.
        with ThreadPoolExecutor(1, thread_name_prefix="quoth-index-writer") as thread:
            loop = asyncio.get_running_loop()
            lock = WriterLock(self._data_dir, book_id)
            await loop.run_in_executor(thread, lock.acquire)
            draft = Draft(generations, self._fingerprint, self._open.keep)
            try:
                await loop.run_in_executor(thread, lambda: draft.open(recreate=recreate))
                yield EdgeWriter(draft, thread)
            finally:
                await asyncio.shield(loop.run_in_executor(thread, lambda: _leave(draft, lock)))

    async def delete_book(self, book_id: str) -> None:
        await self._run(lambda: self._delete(book_id))

    async def close(self) -> None:
        await asyncio.to_thread(self._threads.shutdown)
        self._open.clear()

    async def _run(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    async def _read(self, book_id: str, call: Callable[[Shard], T]) -> T:
        return await self._run(lambda: call(self._open.shard(book_id)))

    def _status(self, book_id: str) -> IndexStatus:
        generations = Generations(self._data_dir / "index", book_id)
        pointer = generations.pointer()
        return IndexStatus(
            book_id=book_id,
            chunks=pointer.chunks,
            generation=pointer.generation,
            fingerprint=pointer.fingerprint,
            bytes_on_disk=generations.bytes_on_disk(pointer.generation),
        )

    def _delete(self, book_id: str) -> None:
        generations = Generations(self._data_dir / "index", book_id)
        generations.stamp()
        with WriterLock(self._data_dir, book_id):
            generations.delete()
        self._open.forget(book_id)


class OpenShards:
    """The shards that are open for reading, the last used ones of each book. A shard that is replaced lives on until
    the last call that holds it is done."""

    _ATTEMPTS = 10

    def __init__(self, index_dir: Path, fingerprint: Fingerprint, most: int) -> None:
        self._index_dir = index_dir
        self._fingerprint = fingerprint
        self._most = most
        self._lock = threading.Lock()
        self._opening: dict[str, threading.Lock] = {}
        self._open: OrderedDict[str, tuple[Stamp, Shard]] = OrderedDict()

    def shard(self, book_id: str) -> Shard:
        """The live generation of the book, opened again when another one has been published."""
        generations = Generations(self._index_dir, book_id)
        stamp = generations.stamp()
        if (shard := self._known(book_id, stamp)) is not None:
            return shard
        with self._lock:
            opening = self._opening.setdefault(book_id, threading.Lock())
        with opening:
            # Somebody may have opened it while we waited.
            if (shard := self._known(book_id, stamp := generations.stamp())) is not None:
                return shard
            stamp, shard = self._load(generations, stamp)
            self._put(book_id, stamp, shard)
            return shard

    def keep(self, generations: Generations, shard: Shard) -> None:
        """What a writer of this process has just published: nobody has to open it again."""
        self._put(generations.book_id, generations.stamp(), shard)

    def forget(self, book_id: str) -> None:
        with self._lock:
            self._open.pop(book_id, None)

    def clear(self) -> None:
        with self._lock:
            self._open.clear()

    def _put(self, book_id: str, stamp: Stamp, shard: Shard) -> None:
        with self._lock:
            self._open[book_id] = (stamp, shard)
            self._open.move_to_end(book_id)
            while len(self._open) > self._most:
                self._open.popitem(last=False)

    def _known(self, book_id: str, stamp: Stamp) -> Shard | None:
        with self._lock:
            known = self._open.get(book_id)
            if known is None or known[0] != stamp:
                return None
            self._open.move_to_end(book_id)
            return known[1]

    def _load(self, generations: Generations, stamp: Stamp) -> tuple[Stamp, Shard]:
        for _ in range(self._ATTEMPTS):
            try:
                pointer = generations.pointer()
                check_fingerprint(generations.book_id, pointer.fingerprint, self._fingerprint)
                return stamp, load(generations, pointer)
            except IndexUnavailable:
                # A folder that vanishes while it is opened was replaced by newer ones; otherwise it is damaged.
                before, stamp = stamp, generations.stamp()
                if stamp == before:
                    raise
        raise IndexUnavailable(f"The index of {generations.book_id!r} changes faster than it can be opened.")


class Draft:
    """The next generation of a book while it is written. What an ingest asks first stands in the inventory, so the
    engine is opened only when vectors are wanted or something changes, and then on the copy."""

    def __init__(
        self, generations: Generations, fingerprint: Fingerprint, keep: Callable[[Generations, Shard], None]
    ) -> None:
        self._generations = generations
        self._fingerprint = fingerprint
        self._keep = keep
        self._live = 0  # 0: nothing has been published yet
        self._empty = True  # it starts from nothing rather than from the live generation
        self._held: Inventory | None = None
        self._next: tuple[Path, Shard] | None = None
        self._changed = False

    def open(self, *, recreate: bool) -> None:
        self._live = self._generations.sweep()
        if recreate or self._live == 0:
            return
        pointer = self._generations.pointer()
        check_fingerprint(self._generations.book_id, pointer.fingerprint, self._fingerprint)
        self._generations.check(pointer.generation)
        self._empty = False

    def stored(self) -> dict[str, StoredChunk]:
        return dict(self._inventory().chunks)

    def vectors(self, embed_hashes: Iterable[str]) -> dict[str, Vector]:
        holders = {hash: self._inventory().holder(hash) for hash in embed_hashes}
        wanted = {hash: holder for hash, holder in holders.items() if holder is not None}
        if not wanted:
            return {}
        _, shard = self._shard()
        found = shard.dense_vectors(wanted.values())
        return {hash: found[holder] for hash, holder in wanted.items()}

    def put(self, chunks: Sequence[IndexedChunk]) -> None:
        _check_dimensions(self._fingerprint, [indexed.dense for indexed in chunks])
        for indexed in chunks:
            if indexed.chunk.book_id != self._generations.book_id:
                raise InternalError(
                    f"A chunk of {indexed.chunk.book_id!r} was put into the book {self._generations.book_id!r}."
                )
        if chunks:
            inventory, (_, shard) = self._inventory(), self._shard()
            self._generations.reserve(sum(_room_for(indexed) for indexed in chunks))
            self._changed = True
            inventory.put(shard.put(chunks))

    def drop(self, ids: Sequence[str]) -> None:
        inventory = self._inventory()
        known = [id for id in ids if id in inventory.chunks]
        if known:
            self._changed = True
            self._shard()[1].drop(known)
            inventory.drop(known)

    def publish(self) -> None:
        if not self._changed and not self._empty:
            return
        inventory, (folder, shard) = self._inventory(), self._shard()
        pointer = Pointer(generation=self._live + 1, fingerprint=self._fingerprint, chunks=shard.count())
        shard.finish()
        with writing(folder):
            inventory.save(folder)
        self._generations.publish(pointer)
        self._keep(self._generations, shard)
        self._live, self._empty, self._next, self._changed = pointer.generation, False, None, False

    def discard(self) -> None:
        begun, self._next = self._next, None
        try:
            if begun is not None:
                begun[1].close()
        finally:
            self._generations.discard(self._live + 1)

    def _inventory(self) -> Inventory:
        if self._held is None:
            self._held = Inventory() if self._empty else Inventory.load(self._generations.folder(self._live))
        return self._held

    def _shard(self) -> tuple[Path, Shard]:
        """The generation that may be changed: begun with the first need of it after each publication."""
        from quoth.adapters.edge_shard import Shard

        if self._next is None:
            folder = self._generations.begin(self._live + 1, copy_of=None if self._empty else self._live)
            self._next = (
                folder,
                Shard.create(folder, self._fingerprint.dimensions) if self._empty else Shard.load(folder),
            )
        return self._next


class EdgeWriter:
    """A Draft, from the event loop."""

    def __init__(self, draft: Draft, thread: ThreadPoolExecutor) -> None:
        self._draft = draft
        self._thread = thread

    async def stored(self) -> dict[str, StoredChunk]:
        return await self._run(self._draft.stored)

    async def vectors(self, embed_hashes: Iterable[str]) -> dict[str, Vector]:
        wanted = list(embed_hashes)
        return await self._run(lambda: self._draft.vectors(wanted))

    async def put(self, chunks: Sequence[IndexedChunk]) -> None:
        await self._run(lambda: self._draft.put(chunks))

    async def drop(self, ids: Sequence[str]) -> None:
        await self._run(lambda: self._draft.drop(ids))

    async def publish(self) -> None:
        await self._run(self._draft.publish)

    async def _run(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)


def load(generations: Generations, pointer: Pointer) -> Shard:
    """A published generation, to be read."""
    # The engine is imported with the first book, not with the command line.
    from quoth.adapters.edge_shard import Shard

    generations.check(pointer.generation)
    shard = Shard.load(generations.folder(pointer.generation))
    if (found := shard.count()) != pointer.chunks:
        raise IndexUnavailable(
            f"The index of {generations.book_id!r} is damaged: it holds {found} chunks instead of {pointer.chunks}.",
            hint=REBUILD_HINT,
        )
    return shard


def check_fingerprint(book_id: str, found: Fingerprint, wanted: Fingerprint) -> None:
    if found != wanted:
        raise IndexMismatch(
            f"The index of {book_id!r} was built with {found.as_dict()}, "
            f"but this process works with {wanted.as_dict()}."
        )


def _leave(draft: Draft, lock: WriterLock) -> None:
    try:
        draft.discard()
    finally:
        lock.release()


def _check_dimensions(fingerprint: Fingerprint, vectors: Iterable[Vector]) -> None:
    for vector in vectors:
        if len(vector) != fingerprint.dimensions:
            raise InternalError(f"A vector has {len(vector)} dimensions; the index has {fingerprint.dimensions}.")


def _room_for(indexed: IndexedChunk) -> int:
    """Bytes on disk, rather too many: vectors, payload, and an entry in each payload index."""
    chunk = indexed.chunk
    return 4 * len(indexed.dense) + 16 * len(indexed.sparse.ids) + 4 * len(chunk.text + chunk.lead) + 8192
