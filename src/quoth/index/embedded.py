"""The embedded index: the ChunkIndex port on Qdrant's engine inside this process, one shard for each book.

Between the port and its sync parts: `open_books` and `edge_book` answer reads, `edge_draft` takes what is written,
`generations` knows what is live and who may write. Reads run in a few threads of its own; a publication by any process
is seen by the next call, calls under way finish on what they began with. Nothing here may fork once a book is open:
the child would hang.
"""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from quoth.batching import Batcher
from quoth.chunks.payload import check_book_id, check_dimensions
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
from quoth.index.book_reader import EdgeBook
from quoth.index.draft import Draft, DraftOptions
from quoth.index.generations import Generations, published_books
from quoth.index.open_books import OpenBooks
from quoth.index.writer_lock import WriterLock

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class EdgeOptions:
    open_books: int = 16  # kept open for the next question; others are opened again when asked
    threads: int = 4  # for all that is no search
    searches_together: int = 16  # the first waits for the last
    scan_page: int = 256
    drafts: DraftOptions = DraftOptions()


class EdgeIndex:
    def __init__(self, data_dir: Path, fingerprint: Fingerprint, options: EdgeOptions = EdgeOptions()) -> None:
        self._data_dir = data_dir
        self._fingerprint = fingerprint
        self._options = options
        self._books = OpenBooks(data_dir / "index", fingerprint, options.open_books)
        self._threads = ThreadPoolExecutor(options.threads, thread_name_prefix="quoth-index")
        # One thread: several would take the interpreter's lock from each other. The cores are filled below it.
        self._searches = Batcher(self._search, threads=1, name="quoth-searches", most=options.searches_together)

    @property
    def fingerprint(self) -> Fingerprint:
        return self._fingerprint

    async def search(self, query: IndexQuery) -> IndexHits:
        check_dimensions(self._fingerprint, [query.dense])
        if not self._books.has(query.book_id):  # who asks another book need not wait until this one is opened
            await self._run(lambda: self._books.book(query.book_id))
        return await self._searches.ask(query)

    async def idf(self, book_id: str, term_ids: Sequence[int]) -> dict[int, float]:
        return await self._read(book_id, lambda book: book.idf(term_ids))

    async def count(self, book_id: str, filters: Filters = Filters()) -> int:
        return await self._read(book_id, lambda book: book.count(filters))

    async def chunks(self, book_id: str, ids: Sequence[str]) -> list[Chunk]:
        found = await self._read(book_id, lambda book: book.chunks(ids))
        return [found[chunk_id] for chunk_id in ids if chunk_id in found]

    async def dense_vectors(self, book_id: str, ids: Sequence[str]) -> dict[str, array[float]]:
        return await self._read(book_id, lambda book: book.dense_vectors(ids))

    async def page(self, book_id: str, parent_doc_id: str) -> list[Chunk]:
        return await self._read(book_id, lambda book: book.page(parent_doc_id))

    def scan(self, book_id: str) -> AsyncIterator[Chunk]:
        return self._in_order(book_id, lambda book, ids: book.chunks(ids))

    def points(self, book_id: str) -> AsyncIterator[IndexedChunk]:
        return self._in_order(book_id, lambda book, ids: book.points(ids))

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
            draft = Draft(generations, self._fingerprint, self._books, self._options.drafts)
            try:
                await loop.run_in_executor(thread, lambda: draft.open(recreate=recreate))
                yield EdgeWriter(draft, thread)
            finally:
                await asyncio.shield(loop.run_in_executor(thread, lambda: _leave(draft, lock)))

    async def delete_book(self, book_id: str) -> None:
        await self._run(lambda: self._delete(book_id))

    async def close(self) -> None:
        await asyncio.to_thread(self._searches.close)
        await asyncio.to_thread(self._threads.shutdown)
        self._books.clear()

    def _search(self, queries: Sequence[IndexQuery]) -> list[IndexHits]:
        of_book: dict[str, list[int]] = {}
        for place, query in enumerate(queries):
            of_book.setdefault(query.book_id, []).append(place)
        found: dict[int, IndexHits] = {}
        for book_id, places in of_book.items():
            hits = self._books.book(book_id).search([queries[place] for place in places])
            found.update(zip(places, hits, strict=True))
        return [found[place] for place in range(len(queries))]

    async def _run(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    async def _read(self, book_id: str, call: Callable[[EdgeBook], T]) -> T:
        return await self._run(lambda: call(self._books.book(book_id)))

    async def _in_order(self, book_id: str, read: Callable[[EdgeBook, list[str]], dict[str, T]]) -> AsyncIterator[T]:
        book = await self._run(lambda: self._books.book(book_id))
        ids = await self._run(book.ids_in_order)
        step = self._options.scan_page
        for start in range(0, len(ids), step):
            page = ids[start : start + step]
            found = await self._run(lambda page=page: read(book, page))  # type: ignore[misc]
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
            bytes_on_disk=generations.bytes_on_disk(pointer),
            published_at=generations.published_at(),
        )

    def _delete(self, book_id: str) -> None:
        generations = Generations(self._data_dir / "index", book_id)
        generations.stamp()
        with WriterLock(self._data_dir, book_id):
            generations.delete()
        self._books.forget(book_id)


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


def _leave(draft: Draft, lock: WriterLock) -> None:
    try:
        draft.discard()
    finally:
        lock.release()
