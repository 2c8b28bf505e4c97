"""Copies a book from one index to another, without reading its source and without embedding.

In: two `ChunkIndex`es with the same fingerprint, and a book in the first. Out: `Moved`, with counts. Points are
streamed in batches, so memory does not grow with their vectors. Points that the target already has stay. The book is
compared and then published once, as a whole, with its record; a killed move leaves the target as it was. Chunk ids stay
the same, so page records fit the copy, and an ingest has nothing to do. A library that does not know the book adopts it
(`bookshelf`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from quoth.chunks.payload import payload_hash
from quoth.domain import Book, IndexedChunk, IndexStatus
from quoth.errors import Conflict, IndexMismatch, IndexUnavailable
from quoth.index import status_of
from quoth.ports import ChunkIndex, IndexWriter, TellSteps

BATCH = 256

Hashes = dict[str, str]  # of everything in a chunk, by its id


@dataclass(frozen=True, slots=True)
class Moved:
    book_id: str
    chunks: int  # in the book
    written: int  # new or different in the target
    dropped: int  # in the target, but not in the book
    dry_run: bool = False


async def move_book(
    book_id: str,
    source: ChunkIndex,
    target: ChunkIndex,
    *,
    force: bool = False,
    dry_run: bool = False,
    tell: TellSteps = lambda done, total: None,
    book: Book | None = None,
) -> Moved:
    """`Conflict` if the target has a newer book, unless `force`. `book`: its record, if the caller knows a newer one
    than the index."""
    before, now = await status_of(target, book_id), await source.status(book_id)
    if now.outdated:
        raise IndexMismatch(f"The index of {book_id!r} was built by another version of Quoth.")
    replaced = before is not None and (before.outdated or before.fingerprint != target.fingerprint)
    if dry_run:
        wanted = await _scanned(source, book_id)
        moved = _plan(book_id, wanted, {} if before is None or replaced else await _scanned(target, book_id))
        _refuse_older(moved, now, before, force=force or replaced)
        return moved
    # No other process may change the book while it is copied.
    async with source.writer(book_id) as reading, target.writer(book_id, recreate=replaced) as writing:
        wanted, found = await _stored(reading), await _stored(writing)
        moved = _plan(book_id, wanted, found, dry_run=False)
        _refuse_older(moved, await source.status(book_id), before, force=force or replaced)
        await _write(source, writing, moved, wanted, found, tell)
        if await _stored(writing) != wanted:
            raise IndexUnavailable(
                f"The copy of {book_id!r} differs from the original and was not published.", hint="Try again."
            )
        await writing.publish(book or now.book)
    await _verify(target, moved)
    return moved


async def _write(
    source: ChunkIndex, writing: IndexWriter, moved: Moved, wanted: Hashes, found: Hashes, tell: TellSteps
) -> None:
    """Put new chunks in, then take stale ones out."""
    batch: list[IndexedChunk] = []
    written = 0
    if moved.written:
        async for point in source.points(moved.book_id):
            if found.get(point.chunk.id) != wanted.get(point.chunk.id):
                batch.append(point)
            if len(batch) == BATCH:
                await writing.put(batch)
                written, batch = written + len(batch), []
                tell(written, moved.written)
    await writing.put(batch)
    await writing.drop([chunk_id for chunk_id in found if chunk_id not in wanted])
    tell(moved.written, moved.written)


async def _verify(target: ChunkIndex, moved: Moved) -> None:
    status = await target.status(moved.book_id)
    held = await target.view(moved.book_id).count()
    if (status.chunks, held, status.fingerprint) != (moved.chunks, moved.chunks, target.fingerprint):
        raise IndexUnavailable(
            f"After the move, {moved.book_id!r} has {held} chunks instead of {moved.chunks}.", hint="Move it again."
        )


def _plan(book_id: str, wanted: Hashes, found: Mapping[str, str], *, dry_run: bool = True) -> Moved:
    return Moved(
        book_id=book_id,
        chunks=len(wanted),
        written=sum(found.get(chunk_id) != known for chunk_id, known in wanted.items()),
        dropped=len(found.keys() - wanted.keys()),
        dry_run=dry_run,
    )


def _refuse_older(moved: Moved, source: IndexStatus, target: IndexStatus | None, *, force: bool) -> None:
    if target is None or force or not (moved.written or moved.dropped) or target.published_at <= source.published_at:
        return
    raise Conflict(
        f"{moved.book_id!r} in the target ({target.published_at:%Y-%m-%d %H:%M:%S} UTC) is newer than in the source "
        f"({source.published_at:%Y-%m-%d %H:%M:%S} UTC).",
        hint="Move in the other direction, or replace it with --force.",
    )


async def _scanned(index: ChunkIndex, book_id: str) -> Hashes:
    return {chunk.id: payload_hash(chunk) async for chunk in index.scan(book_id)}


async def _stored(writer: IndexWriter) -> Hashes:
    return {chunk_id: stored.payload_hash for chunk_id, stored in (await writer.stored()).items()}
