"""What an ingest asks about every chunk of a book, in one file of a base, to plan an edit without payloads.

`draft` keeps it in step with the chunks that it takes and drops, and writes it into the folder of a base before that is
published. Nothing here knows which folder is live.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime

from quoth.domain import StoredChunk

INVENTORY = "inventory.json"


class Inventory:
    def __init__(self, chunks: Iterable[StoredChunk] = ()) -> None:
        self.chunks: dict[str, StoredChunk] = {}
        self._by_text: dict[str, tuple[str, ...]] = {}  # embed_hash → chunks
        for chunk in chunks:
            self._add(chunk)

    @classmethod
    def decode(cls, content: bytes) -> Inventory:
        return cls(_stored(*row) for row in json.loads(content))

    def encode(self) -> bytes:
        rows = [
            (
                *(chunk.id, chunk.source_file, chunk.payload_hash, chunk.embed_hash, chunk.created_at.isoformat()),
                *((chunk.embedded_at or chunk.created_at).isoformat(), chunk.version),
            )
            for chunk in self.chunks.values()
        ]
        return json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode()

    def put(self, chunks: Iterable[StoredChunk]) -> None:
        for chunk in chunks:
            self.drop([chunk.id])
            self._add(chunk)

    def drop(self, ids: Iterable[str]) -> None:
        for chunk_id in ids:
            if (gone := self.chunks.pop(chunk_id, None)) is None:
                continue
            others = tuple(other for other in self._by_text[gone.embed_hash] if other != chunk_id)
            if others:
                self._by_text[gone.embed_hash] = others
            else:
                del self._by_text[gone.embed_hash]

    def holder(self, embed_hash: str) -> str | None:
        """A chunk with this text, if there is one."""
        return self._by_text.get(embed_hash, (None,))[0]

    def _add(self, chunk: StoredChunk) -> None:
        self.chunks[chunk.id] = chunk
        self._by_text[chunk.embed_hash] = (*self._by_text.get(chunk.embed_hash, ()), chunk.id)


def _stored(
    chunk_id: str,
    source_file: str,
    payload_hash: str,
    embed_hash: str,
    created: str,
    embedded: str = "",
    version: int = 1,
) -> StoredChunk:
    """Earlier files have neither the time of the embedding nor a version."""
    times = (datetime.fromisoformat(created), datetime.fromisoformat(embedded or created))
    return StoredChunk(chunk_id, source_file, payload_hash, embed_hash, *times, version)
