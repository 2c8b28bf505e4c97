"""What a generation of the embedded index holds, in two small files beside the engine's.

`Inventory` is all that an ingest asks of every chunk: it plans an edit without opening the engine, whose opening and
reading of every payload would cost more than the edit. `TermCounts` says in how many chunks each term stands: IDF is
then ours, exact after deletions, which the engine goes on counting. Whoever writes chunks keeps both in step and saves
them into the folder before it is published. Nothing here knows the engine or which folder is live.
"""

from __future__ import annotations

import json
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from quoth.domain import StoredChunk
from quoth.errors import IndexUnavailable

REBUILD_HINT = "Build it again: `quoth ingest PATH --mode recreate`."
_CHUNKS = "chunks.json"
_TERMS = "terms.dat"
_UINT32 = "I"


class Inventory:
    def __init__(self, chunks: Iterable[StoredChunk] = ()) -> None:
        self.chunks: dict[str, StoredChunk] = {}
        self._by_text: dict[str, tuple[str, ...]] = {}  # embed_hash → chunks
        for chunk in chunks:
            self._add(chunk)

    @classmethod
    def load(cls, folder: Path) -> Inventory:
        try:
            rows = json.loads((folder / _CHUNKS).read_text("utf-8"))
            return cls(
                StoredChunk(chunk_id, source_file, payload_hash, embed_hash, datetime.fromisoformat(created))
                for chunk_id, source_file, payload_hash, embed_hash, created in rows
            )
        except (OSError, ValueError, TypeError) as error:
            raise _damaged(folder / _CHUNKS, error) from error

    def save(self, folder: Path) -> None:
        rows = [
            (chunk.id, chunk.source_file, chunk.payload_hash, chunk.embed_hash, chunk.created_at.isoformat())
            for chunk in self.chunks.values()
        ]
        (folder / _CHUNKS).write_text(json.dumps(rows, ensure_ascii=False, separators=(",", ":")), "utf-8")

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


class TermCounts:
    """Two sorted columns as they stand in the file, and what has changed since."""

    def __init__(self) -> None:
        self._terms, self._counts = array(_UINT32), array(_UINT32)
        self._changes: Counter[int] = Counter()

    @classmethod
    def load(cls, folder: Path) -> TermCounts:
        counts = cls()
        try:
            content = (folder / _TERMS).read_bytes()
            counts._terms.frombytes(content[: len(content) // 2])
            counts._counts.frombytes(content[len(content) // 2 :])
        except (OSError, ValueError) as error:
            raise _damaged(folder / _TERMS, error) from error
        return counts

    def save(self, folder: Path) -> None:
        if self._changes:
            merged = Counter(dict(zip(self._terms, self._counts, strict=True)))
            merged.update(self._changes)
            terms = sorted(term for term, count in merged.items() if count)
            self._terms = array(_UINT32, terms)
            self._counts = array(_UINT32, (merged[term] for term in terms))
            self._changes.clear()
        (folder / _TERMS).write_bytes(self._terms.tobytes() + self._counts.tobytes())

    def add(self, terms: Iterable[int]) -> None:
        self._changes.update(terms)

    def remove(self, terms: Iterable[int]) -> None:
        self._changes.subtract(terms)

    def holders(self, term: int) -> int:
        place = bisect_left(self._terms, term)
        known = place < len(self._terms) and self._terms[place] == term
        return (self._counts[place] if known else 0) + self._changes[term]


def _damaged(file: Path, error: Exception) -> IndexUnavailable:
    return IndexUnavailable(f"{file} is missing or damaged: {error}.", hint=REBUILD_HINT)
