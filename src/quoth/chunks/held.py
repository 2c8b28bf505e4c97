"""What the index holds of the pages that are being written, for planning the next one.

In: the writer of a book, and what a run puts and drops. Out: the stored chunks by id and by file. A dry run writes
nothing, so what it would have written is remembered here. Knows nothing of vectors or texts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from quoth.domain import StoredChunk
from quoth.ports import IndexWriter


@dataclass(slots=True)
class HeldChunks:
    """What the index holds of the pages being written and of the chunks that they need. A dry run writes nothing, so it
    remembers what it would have written, for the pages after it."""

    stored: dict[str, StoredChunk] = field(default_factory=dict)
    by_file: dict[str, set[str]] = field(default_factory=dict)
    imagined: dict[str, StoredChunk | None] = field(default_factory=dict)  # None: dropped

    async def read(self, writer: IndexWriter, files: Collection[str], ids: Collection[str] = ()) -> None:
        found = await writer.stored(files=files, ids=ids)
        for id in self.imagined.keys() & {*found, *ids}:  # a page is read once, so no other can be among these files
            chunk = self.imagined[id]
            if chunk is not None:
                found[id] = chunk
            else:
                found.pop(id, None)
        self.stored, self.by_file = found, {}
        for chunk in found.values():
            self.by_file.setdefault(chunk.source_file, set()).add(chunk.id)

    def put(self, chunk: StoredChunk, *, imagined: bool) -> None:
        before = self.stored.get(chunk.id)
        if before is not None:
            self.by_file[before.source_file].discard(chunk.id)
        self.stored[chunk.id] = chunk
        self.by_file.setdefault(chunk.source_file, set()).add(chunk.id)
        if imagined:
            self.imagined[chunk.id] = chunk

    def drop(self, ids: Sequence[str], *, imagined: bool) -> None:
        for id in ids:
            gone = self.stored.pop(id)
            self.by_file[gone.source_file].discard(id)
            if imagined:
                self.imagined[id] = None

    @property
    def imagined_texts(self) -> set[str]:
        return {chunk.embed_hash for chunk in self.imagined.values() if chunk is not None}
