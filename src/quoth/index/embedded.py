"""The embedded index: the ChunkIndex port on files of our own, one folder for each book.

Between the port and its sync parts: `open_books` answers reads, `draft` takes what is written, `generations` knows what
is live. Waiting searches run together in one thread, other reads in a few more threads. The next call sees a
publication by any process; calls under way finish on what they began with.
"""

from __future__ import annotations

import asyncio
import threading
from array import array
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from quoth.batching import Batcher
from quoth.chunks.payload import check_book_id, check_dimensions
from quoth.domain import Chunk, Filters, Fingerprint, IndexedChunk, IndexHits, IndexQuery, IndexStatus
from quoth.errors import QuothError
from quoth.index.draft import Draft
from quoth.index.generations import FORMAT, Generations, Pointer, published_books
from quoth.index.open_books import Book, OpenBooks
from quoth.index.writer_lock import WriterLock

MOST_CHANGES = 512  # chunks beside the base of a book before a new base is built
_OPEN_BOOKS = 16  # kept for the next question; others are opened again when needed
_THREADS = 4  # for everything but searches
_SEARCHES_TOGETHER = 16  # the first waits for the last
_SCAN = 256  # chunks that are read at a time

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Verified:
    """The number and size of a book's files, all of which match what was published."""

    files: int
    bytes: int


class EmbeddedIndex:
    def __init__(self, data_dir: Path, fingerprint: Fingerprint, *, most_changes: int = MOST_CHANGES) -> None:
        self._data_dir = data_dir
        self._index_dir = data_dir / "index"
        self._fingerprint = fingerprint
        self._most_changes = most_changes
        self._books = OpenBooks(self._index_dir, fingerprint, _OPEN_BOOKS)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="quoth-index")
        # One thread: several would take the interpreter's lock from each other. The cores are kept busy below it.
        self._searches = Batcher(self._search, threads=1, name="quoth-searches", most=_SEARCHES_TOGETHER)

    @property
    def fingerprint(self) -> Fingerprint:
        return self._fingerprint

    def view(self, book_id: str) -> EmbeddedView:
        return EmbeddedView(self, book_id)

    def scan(self, book_id: str) -> AsyncIterator[Chunk]:
        return self._in_order(book_id, lambda book, ids: book.chunks(ids))

    def points(self, book_id: str) -> AsyncIterator[IndexedChunk]:
        return self._in_order(book_id, lambda book, ids: book.points(ids))

    async def books(self) -> list[str]:
        return await self.read(lambda: published_books(self._index_dir))

    async def status(self, book_id: str) -> IndexStatus:
        return await self.read(lambda: _status(Generations(self._index_dir, book_id)))

    async def fault(self) -> QuothError | None:
        return None  # files are there or not; reading them will tell

    async def verify(self, book_id: str) -> Verified:
        """Read every file of the book. Raises `IndexDamaged` with those that are not what was published."""
        return await self.read(lambda: _verified(Generations(self._index_dir, book_id)))

    @asynccontextmanager
    async def writer(self, book_id: str, *, recreate: bool = False) -> AsyncIterator[Draft]:
        check_book_id(book_id)
        generations = Generations(self._index_dir, book_id)
        # One thread, so that what a cancelled caller left running is over before anything is cleaned up.
        with ThreadPoolExecutor(1, thread_name_prefix="quoth-index-writer") as thread:
            loop = asyncio.get_running_loop()
            lock = WriterLock(self._data_dir, book_id)
            await loop.run_in_executor(thread, lock.acquire)
            draft = Draft(generations, self._fingerprint, self._books, self._most_changes, thread)
            try:
                await draft.open(recreate=recreate)
                yield draft
            finally:
                await asyncio.shield(loop.run_in_executor(thread, lambda: _leave(draft, lock)))

    async def delete_book(self, book_id: str) -> None:
        await self.read(lambda: self._delete(book_id))

    async def close(self) -> None:
        await asyncio.to_thread(self._searches.close)
        await asyncio.to_thread(self._threads.shutdown)
        self._books.clear()

    def open_book(self, book_id: str) -> Book:
        return self._books.book(book_id)

    async def search(self, view: EmbeddedView, query: IndexQuery) -> IndexHits:
        check_dimensions(self._fingerprint, [query.dense])
        if not self._books.has(view.book_id):  # opened here, so that searches of other books need not wait for it
            await self.read(view.book)
        return await self._searches.ask((view, query))

    async def read(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    def _search(self, asked: Sequence[tuple[EmbeddedView, IndexQuery]]) -> list[IndexHits]:
        of_book: dict[Book, list[int]] = {}
        for place, (view, _) in enumerate(asked):
            of_book.setdefault(view.book(), []).append(place)
        found: dict[int, IndexHits] = {}
        for book, places in of_book.items():
            found.update(zip(places, book.search([asked[place][1] for place in places]), strict=True))
        return [found[place] for place in range(len(asked))]

    async def _in_order(self, book_id: str, read: Callable[[Book, list[str]], dict[str, T]]) -> AsyncIterator[T]:
        book = await self.read(lambda: self._books.book(book_id))
        ids = await self.read(book.ids_in_order)
        for start in range(0, len(ids), _SCAN):
            page = ids[start : start + _SCAN]
            found = await self.read(lambda page=page: read(book, page))  # type: ignore[misc]
            for chunk_id in page:
                yield found[chunk_id]

    def _delete(self, book_id: str) -> None:
        generations = Generations(self._index_dir, book_id)
        generations.stamp()
        with WriterLock(self._data_dir, book_id):
            generations.delete()
        self._books.forget(book_id)


class EmbeddedView:
    """A book as it was when it was first asked."""

    def __init__(self, index: EmbeddedIndex, book_id: str) -> None:
        self.book_id = book_id
        self._index = index
        self._book: Book | None = None
        self._opening = threading.Lock()

    def book(self) -> Book:
        """In a thread: it may have to be opened."""
        with self._opening:
            if self._book is None:
                self._book = self._index.open_book(self.book_id)
            return self._book

    async def search(self, query: IndexQuery) -> IndexHits:
        return await self._index.search(self, query)

    async def idf(self, term_ids: Sequence[int]) -> dict[int, float]:
        return await self._index.read(lambda: self.book().idf(term_ids))

    async def count(self, filters: Filters = Filters()) -> int:
        return await self._index.read(lambda: self.book().count(filters))

    async def chunks(self, ids: Sequence[str]) -> list[Chunk]:
        found = await self._index.read(lambda: self.book().chunks(ids))
        return [found[chunk_id] for chunk_id in ids if chunk_id in found]

    async def dense_vectors(self, ids: Sequence[str]) -> dict[str, array[float]]:
        return await self._index.read(lambda: self.book().dense_vectors(ids))

    async def page(self, parent_doc_id: str) -> list[Chunk]:
        return await self._index.read(lambda: self.book().page(parent_doc_id))


def _status(generations: Generations) -> IndexStatus:
    pointer = generations.pointer()
    return IndexStatus(
        book_id=generations.book_id,
        chunks=pointer.chunks,
        generation=pointer.generation,
        fingerprint=pointer.fingerprint,
        bytes_on_disk=sum(file.bytes for file in pointer.files.values()),
        published_at=generations.published_at(),
        book=pointer.book,
        outdated=pointer.format != FORMAT,
    )


def _verified(generations: Generations) -> Verified:
    def whole(pointer: Pointer, stamp: object) -> Verified:
        generations.check_format(pointer)
        generations.check(pointer)
        return Verified(len(pointer.files), sum(file.bytes for file in pointer.files.values()))

    return generations.steadily(whole)


def _leave(draft: Draft, lock: WriterLock) -> None:
    try:
        draft.discard()
    finally:
        lock.release()
