"""What is stored + what is wanted → what has to change. Pure.

In: the chunks one page should have and what the index holds of it. Out: an `IndexPlan`. New chunks go in before stale
ones go out, so a page is never missing; vectors are reused by the hash of the embedded text, wherever it was before.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from quoth.domain import Chunk, IdSet, IndexPlan, PageRecord, SourceFile, StoredChunk


@dataclass(frozen=True, slots=True)
class WantedChunk:
    """A chunk that a page should have, with the hashes that tell whether the index already holds it."""

    chunk: Chunk
    payload_hash: str
    embed_hash: str


@dataclass(frozen=True, slots=True)
class FilePlan:
    """Which files of a book have to be read."""

    new: tuple[SourceFile, ...]
    changed: tuple[SourceFile, ...]
    unchanged: tuple[SourceFile, ...]
    deleted: tuple[str, ...]

    @property
    def to_read(self) -> tuple[SourceFile, ...]:
        return tuple(sorted(self.new + self.changed, key=lambda file: file.source_file))


def plan_files(
    files: Sequence[SourceFile], records: Mapping[str, PageRecord], indexed: Mapping[str, IdSet], *, force: bool
) -> FilePlan:
    """A file is unchanged only when its digest is the recorded one AND the index still holds exactly its chunks: the
    record may be newer or older than the index when a run was killed between the two."""
    new, changed, unchanged = [], [], []
    for file in files:
        record = records.get(file.source_file)
        if record is None and file.source_file not in indexed:
            new.append(file)
        elif (
            force
            or record is None
            or record.digest != file.digest
            or IdSet.of(record.chunk_ids) != indexed.get(file.source_file, IdSet())
        ):
            changed.append(file)
        else:
            unchanged.append(file)
    present = {file.source_file for file in files}
    deleted = sorted((records.keys() | indexed.keys()) - present)
    return FilePlan(tuple(new), tuple(changed), tuple(unchanged), tuple(deleted))


def changed_files(files: Sequence[SourceFile], records: Mapping[str, PageRecord]) -> FilePlan:
    """What an author did since the last ingest, from the records alone. Only the writer knows what else an ingest would
    repair (an index that lost chunks)."""
    new: list[SourceFile] = []
    changed: list[SourceFile] = []
    unchanged: list[SourceFile] = []
    for file in files:
        record = records.get(file.source_file)
        state = new if record is None else unchanged if record.digest == file.digest else changed
        state.append(file)
    deleted = sorted(records.keys() - {file.source_file for file in files})
    return FilePlan(tuple(new), tuple(changed), tuple(unchanged), tuple(deleted))


def plan_page(wanted: Sequence[WantedChunk], stored: Mapping[str, StoredChunk], filed: Collection[str]) -> IndexPlan:
    """`stored` is what the index holds of these chunks, under any page; `filed` are the ids under this one."""
    put: list[str] = []
    keep: list[str] = []
    for item in wanted:
        present = stored.get(item.chunk.id)
        same = present is not None and (present.payload_hash, present.embed_hash) == (
            item.payload_hash,
            item.embed_hash,
        )
        (keep if same else put).append(item.chunk.id)
    drop = sorted(set(filed) - {item.chunk.id for item in wanted})
    return IndexPlan(tuple(put), tuple(keep), tuple(drop))
