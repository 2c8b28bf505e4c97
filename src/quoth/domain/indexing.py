"""What goes into an index and what an ingest keeps of its work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from hashlib import blake2b
from operator import xor
from typing import Literal

from quoth.domain.books import Book, Chunk, Notice, Stamps

IngestMode = Literal["incremental", "full", "recreate"]
JobStatus = Literal["queued", "running", "completed", "failed"]

Vector = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class TermWeights:
    """A sparse vector: one weight for each term id. Ids are ascending and unique."""

    ids: tuple[int, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class IndexedChunk:
    """What goes into the index: the chunk, both its vectors, and the hash of the text that was embedded."""

    chunk: Chunk
    dense: Vector
    sparse: TermWeights
    embed_hash: str
    created_at: datetime
    updated_at: datetime
    embedded_at: datetime | None = None  # None: when it was created
    version: int = 1  # goes up with every change of its place or its labels

    @property
    def stamps(self) -> Stamps:
        return Stamps(self.created_at, self.updated_at, self.embedded_at or self.created_at, self.version)


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """What an ingest needs to know about a chunk that is already in the index."""

    id: str
    source_file: str
    payload_hash: str  # of everything but vectors and timestamps: equal means nothing to write
    embed_hash: str
    created_at: datetime
    embedded_at: datetime | None = None
    version: int = 1


@dataclass(frozen=True, slots=True)
class IdSet:
    """Which chunks a file has, in a few bytes: how many, and the sum of their hashes without carry. Equal means that
    they are the same. Chunks can be added and taken away without knowing the others, in any order."""

    count: int = 0
    mark: int = 0

    @classmethod
    def of(cls, ids: Iterable[str]) -> IdSet:
        marks = [_mark(chunk_id) for chunk_id in ids]
        return cls(len(marks), reduce(xor, marks, 0))

    def __add__(self, other: IdSet) -> IdSet:
        return IdSet(self.count + other.count, self.mark ^ other.mark)

    def __sub__(self, other: IdSet) -> IdSet:
        return IdSet(self.count - other.count, self.mark ^ other.mark)


def _mark(chunk_id: str) -> int:
    return int.from_bytes(blake2b(chunk_id.encode(), digest_size=16).digest(), "big")


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """How an index was built. A search with another embedder or another chunker would be silently wrong."""

    embedder: str
    dimensions: int
    chunker: str
    terms: str

    def as_dict(self) -> dict[str, str | int]:
        return {
            "embedder": self.embedder,
            "dimensions": self.dimensions,
            "chunker": self.chunker,
            "terms": self.terms,
        }


@dataclass(frozen=True, slots=True)
class IndexStatus:
    book_id: str
    chunks: int
    generation: int
    fingerprint: Fingerprint
    bytes_on_disk: int  # 0 if the index does not know
    published_at: datetime
    book: Book | None = None  # its record in the publication, without the place it came from
    outdated: bool = False  # written by another version of Quoth, in a format that this one does not read


@dataclass(frozen=True, slots=True)
class IndexPlan:
    """What has to change so that the index holds exactly the wanted chunks of one page."""

    put: tuple[str, ...]  # ids that are new, or whose text, neighbours or metadata changed
    keep: tuple[str, ...]  # ids already right
    drop: tuple[str, ...]  # ids to delete once the others are in


@dataclass(frozen=True, slots=True)
class PageRecord:
    """What the library remembers of a page that is in the index (IngestionRecord at the doors)."""

    book_id: str
    source_file: str
    digest: str
    file_hash: str
    chunk_ids: tuple[str, ...]
    ingested_at: datetime
    title: str = ""
    url: str = ""
    module: str | None = None
    chapter: int | None = None
    lesson: int | None = None


@dataclass(frozen=True, slots=True)
class Share:
    """Files of one kind, and their words as far as they are known without converting them."""

    kind: str  # Markdown, LaTeX, …
    files: int
    words: int
    reason: str = ""  # why they were left out
    lost: bool = False  # the book may be in them, but Quoth cannot read it


@dataclass(frozen=True, slots=True)
class Coverage:
    """What a source was taken for, and how much of its text became pages."""

    toolchain: str
    recognised_by: str = ""  # a file, by its path from the folder that was given; empty for a plain folder
    taken: tuple[Share, ...] = ()
    left: tuple[Share, ...] = ()

    @property
    def mostly_lost(self) -> bool:
        """Whether more words were lost than read. What the book's own toolchain leaves out is not lost."""
        lost = sum(share.words for share in self.left if share.lost)
        return lost > sum(share.words for share in self.taken)


@dataclass(frozen=True, slots=True)
class IngestTimes:
    """When the last job that read all of a book ended, and the last that read only what had changed (IngestionState at
    the doors). The first job reads all of the book, whatever its mode."""

    full: datetime | None = None
    incremental: datetime | None = None

    @classmethod
    def of(cls, ended: Mapping[IngestMode, tuple[datetime, datetime]]) -> IngestTimes:
        """From the first and the last end of the completed jobs, by mode."""
        if not ended:
            return cls()
        first = min(start for start, _ in ended.values())
        whole = [end for mode, (_, end) in ended.items() if mode != "incremental"]
        _, partial = ended.get("incremental", (first, first))
        return cls(max(whole, default=first), partial if partial != first else None)


@dataclass(frozen=True, slots=True)
class IngestJob:
    """One run of ingestion over a book (IngestionJob at the doors). `job_id` is 0 until the library has numbered it."""

    book_id: str
    mode: IngestMode
    job_id: int = 0
    status: JobStatus = "queued"
    files_discovered: int = 0
    files_processed: int = 0
    files_skipped: int = 0
    files_failed: int = 0  # counted in files_processed too: they were looked at
    files_deleted: int = 0
    chunks_created: int = 0
    chunks_kept: int = 0
    chunks_deleted: int = 0
    chunks_embedded: int = 0
    tokens_embedded: int = 0  # as the embedder counts them, or carefully estimated
    dry_run: bool = False
    started_at: datetime | None = None
    completed_at: datetime | None = None
    duration_seconds: float | None = None
    error_message: str | None = None
    notices: tuple[Notice, ...] = ()
    coverage: Coverage | None = None  # None until the source has been looked at
