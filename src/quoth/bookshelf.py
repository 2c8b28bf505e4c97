"""The books that can be asked: those in the library, and those in the index that the library does not know yet.

Sits between the doors, which choose a book, and the two places that know books. A machine that finds a book in a shared
index, or in files that were moved to it, adopts it: the record published with the index goes into the library, and so
does one for each page, read from the chunks. Nothing is embedded and nothing in the index changes.
"""

from __future__ import annotations

import logging

from quoth.domain import Book, Chunk, PageRecord
from quoth.errors import Outage, UnknownBook
from quoth.ports import ChunkIndex, Clock, Library

_LOOK_AGAIN = 10.0  # seconds between two checks for books from other machines

logger = logging.getLogger(__name__)


class Bookshelf:
    def __init__(self, index: ChunkIndex, library: Library, clock: Clock) -> None:
        self._index = index
        self._library = library
        self._clock = clock
        self._looked: float | None = None

    async def book(self, book_id: str) -> Book:
        """`UnknownBook` if neither has it."""
        try:
            return await self._library.book(book_id)
        except UnknownBook:
            return await self._adopt(book_id)

    async def books(self) -> list[Book]:
        """By id. While the index cannot be read, only the books that the library knows."""
        known = await self._library.books()
        now = self._clock.monotonic()
        if known and self._looked is not None and now - self._looked < _LOOK_AGAIN:
            return known
        self._looked = now
        try:
            unknown = set(await self._index.books()) - {book.book_id for book in known}
            found = [await self._adopt(book_id) for book_id in sorted(unknown) if await self._can_adopt(book_id)]
        except Outage as outage:
            if not known:
                raise
            logger.warning("cannot look for more books in the index: %s", outage)
            return known
        return sorted([*known, *found], key=lambda book: book.book_id)

    async def _can_adopt(self, book_id: str) -> bool:
        try:
            status = await self._index.status(book_id)
        except UnknownBook:
            return False  # deleted meanwhile
        return status.book is not None and status.fingerprint == self._index.fingerprint and not status.outdated

    async def _adopt(self, book_id: str) -> Book:
        book = (await self._index.status(book_id)).book
        if book is None:
            raise UnknownBook(
                f"The index has a book {book_id!r} without a description.",
                hint="An earlier version of Quoth wrote it. Ingest it again: `quoth ingest PATH`.",
            )
        # The texts of a large book do not fit into memory; the first chunk of each page is enough.
        firsts: dict[str, Chunk] = {}
        ids: dict[str, list[str]] = {}
        async for chunk in self._index.scan(book_id):
            firsts.setdefault(chunk.source_file, chunk)
            ids.setdefault(chunk.source_file, []).append(chunk.id)
        # The book comes last, so that an interrupted adoption starts again.
        await self._library.put_page_records([self._record(first, ids[name]) for name, first in firsts.items()])
        await self._library.put_book(book)
        logger.info("adopted a book from the index", extra={"book_id": book_id, "pages": len(firsts)})
        return book

    def _record(self, first: Chunk, ids: list[str]) -> PageRecord:
        """The record lacks the file's digest, which only an ingest knows, so the next one reads the page again."""
        return PageRecord(
            book_id=first.book_id,
            source_file=first.source_file,
            digest="",
            file_hash=first.source_file_hash,
            chunk_ids=tuple(ids),
            ingested_at=self._clock.now(),
            title=first.title,
            url=first.url.partition("#")[0],
            module=first.labels.module,
            chapter=first.labels.chapter,
            lesson=first.labels.lesson,
        )
