"""The index of a book: in files of the data directory, or on a Qdrant server. Both implement `ports.ChunkIndex`."""

from __future__ import annotations

from quoth.domain import IndexStatus
from quoth.errors import UnknownBook
from quoth.ports import ChunkIndex


async def status_of(index: ChunkIndex, book_id: str) -> IndexStatus | None:
    """None if nothing of the book is published: its first ingest is under way, or its index is gone."""
    try:
        return await index.status(book_id)
    except UnknownBook:
        return None
