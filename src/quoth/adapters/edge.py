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

from quoth.adapters.generations import REBUILD_HINT, Generations, Pointer, Stamp, WriterLock, published_books
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
from quoth.errors import IndexUnavailable
from quoth.payload import check_book_id, check_dimensions, check_fingerprint, check_put

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
        check_dimensions(self._fingerprint, [query.dense])
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

    def scan(self, book_id: str) -> AsyncIterator[Chunk]:
        return self._in_order(book_id, lambda shard, ids: shard.chunks(ids))

    def points(self, book_id: str) -> AsyncIterator[IndexedChunk]:
        return self._in_order(book_id, lambda shard, ids: shard.points(ids))

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
            draft = Draft(generations, self._fingerprint)
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

    async def _in_order(self, book_id: str, read: Callable[[Shard, list[str]], dict[str, T]]) -> AsyncIterator[T]:
        shard = await self._run(lambda: self._open.shard(book_id))
        ids = await self._run(shard.ids_in_order)
        step = self._options.scan_page
        for start in range(0, len(ids), step):
            page = ids[start : start + step]
            found = await self._run(lambda page=page: read(shard, page))  # type: ignore[misc]
            for chunk_id in page:
                yield found[chunk_id]

    def _status(self, book_id: str) -> IndexStatus:
        generations = Generations(self._data_dir / "index", book_id)
        pointer = generations.pointer()
        return IndexStatus(
            book_id=book_id,
            chunks=pointer.chunks,
            generation=pointer.generation,
            fingerprint=pointer.fingerprint,
            bytes_on_disk=generations.bytes_on_disk(pointer.generation),
            published_at=generations.published_at(),
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
            with self._lock:
                self._open[book_id] = (stamp, shard)
                self._open.move_to_end(book_id)
                while len(self._open) > self._most:
                    self._open.popitem(last=False)
            return shard

    def forget(self, book_id: str) -> None:
        with self._lock:
            self._open.pop(book_id, None)

    def clear(self) -> None:
        with self._lock:
            self._open.clear()

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
    """The next generation of a book while it is written. Until something changes, the live one is only read."""

    def __init__(self, generations: Generations, fingerprint: Fingerprint) -> None:
        self._generations = generations
        self._fingerprint = fingerprint
        self._live = 0  # 0: nothing has been published yet
        self._empty = True  # it starts from nothing rather than from the live generation
        self._reading: Shard | None = None  # the live generation
        self._writing: tuple[Path, Shard] | None = None  # the next one, from the first change on

    def open(self, *, recreate: bool) -> None:
        self._live = self._generations.sweep()
        if recreate or self._live == 0:
            return
        found = self._generations.pointer().fingerprint
        check_fingerprint(self._generations.book_id, found, self._fingerprint)
        self._empty = False

    def stored(self) -> dict[str, StoredChunk]:
        shard = self._current()
        return shard.stored() if shard else {}

    def vectors(self, embed_hashes: Iterable[str]) -> dict[str, Vector]:
        shard = self._current()
        return shard.vectors(embed_hashes) if shard else {}

    def put(self, chunks: Sequence[IndexedChunk]) -> None:
        check_put(self._generations.book_id, self._fingerprint, chunks)
        if chunks:
            _, shard = self._next()
            self._generations.reserve(sum(_room_for(indexed) for indexed in chunks))
            shard.put(chunks)

    def drop(self, ids: Sequence[str]) -> None:
        known = self._known(ids)
        if known:
            self._next()[1].drop(known)

    def publish(self) -> None:
        if self._writing is None and not self._empty:
            return
        building, shard = self._next()
        pointer = Pointer(generation=self._live + 1, fingerprint=self._fingerprint, chunks=shard.count())
        shard.finish()
        self._generations.publish(building, pointer)
        self._live, self._empty = pointer.generation, False
        self._reading = self._writing = None

    def discard(self) -> None:
        writing, self._writing, self._reading = self._writing, None, None
        try:
            if writing is not None:
                writing[1].close()
        finally:
            self._generations.discard(self._live + 1)

    def _known(self, ids: Sequence[str]) -> list[str]:
        shard = self._current()
        return shard.known(ids) if shard else []

    def _current(self) -> Shard | None:
        """What the writer sees: its own changes, else the live generation, else nothing."""
        if self._writing is not None:
            return self._writing[1]
        if self._reading is None and not self._empty:
            self._reading = load(self._generations, self._generations.pointer())
        return self._reading

    def _next(self) -> tuple[Path, Shard]:
        """The generation that may be changed: begun with the first change after each publication."""
        if self._writing is None:
            # Let go of the live one first: open at the same time, the two would take twice the memory.
            self._reading = None
            copy_of = None if self._empty else self._live
            building = self._generations.begin(self._live + 1, copy_of=copy_of)
            self._writing = building, self._open_folder(building, new=copy_of is None)
        return self._writing

    def _open_folder(self, folder: Path, *, new: bool) -> Shard:
        from quoth.adapters.edge_shard import Shard

        if not new:
            return Shard.load(folder, self._generations.book_id)
        return Shard.create(folder, self._generations.book_id, self._fingerprint.dimensions)


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
    shard = Shard.load(generations.folder(pointer.generation), generations.book_id)
    if (found := shard.count()) != pointer.chunks:
        raise IndexUnavailable(
            f"The index of {generations.book_id!r} is damaged: it holds {found} chunks instead of {pointer.chunks}.",
            hint=REBUILD_HINT,
        )
    return shard


def _leave(draft: Draft, lock: WriterLock) -> None:
    try:
        draft.discard()
    finally:
        lock.release()


def _room_for(indexed: IndexedChunk) -> int:
    """Bytes on disk, rather too many: vectors, payload, and an entry in each payload index."""
    chunk = indexed.chunk
    return 4 * len(indexed.dense) + 16 * len(indexed.sparse.ids) + 4 * len(chunk.text + chunk.lead) + 8192
