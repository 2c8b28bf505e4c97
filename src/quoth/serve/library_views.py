"""The library's contents as JSON: books, ingestion jobs, recorded questions, feedback, keys. Shapes and views, pure.

In: domain values. Out: dicts whose keys and types are declared here, once; the doors and the terminal's `--json` share
them. Knows no transport.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from quoth.ask.gaps import shown
from quoth.domain import (
    Book,
    ConfidenceLevel,
    Coverage,
    Feedback,
    IndexStatus,
    IngestJob,
    IngestMode,
    IngestTimes,
    JobStatus,
    Key,
    Notice,
    RecordedQuestion,
    Scope,
    Turn,
)
from quoth.serve.shapes import Moment, Shape, timestamp

if TYPE_CHECKING:
    from quoth.bootstrap import Quoth
    from quoth.chunks.plan import FilePlan


class BookFields(Shape):
    book_id: str
    title: str
    base_url: str
    source: str
    toolchain: str
    chunks: int
    generation: int | None
    bytes_on_disk: int
    fingerprint: dict[str, str | int] | None
    collection_name: Annotated[str | None, Field(description="On a Qdrant server; null if the index is in files")]
    last_full_ingest: Annotated[Moment | None, Field(description="When the whole book was last read")]
    last_incremental_update: Annotated[Moment | None, Field(description="When only the changed files were last read")]


async def book_state(quoth: Quoth, book: Book, status: IndexStatus | None) -> BookFields:
    """A book with the state of its index and its last ingests."""
    collection = quoth.settings.qdrant_collection_name if quoth.settings.qdrant_url else None
    return book_view(book, status, await quoth.library.ingest_times(book.book_id), collection)


def book_view(book: Book, status: IndexStatus | None, times: IngestTimes, collection: str | None) -> BookFields:
    return {
        "book_id": book.book_id,
        "title": book.title,
        "base_url": book.base_url,
        "source": book.source,
        "toolchain": book.toolchain,
        "chunks": 0 if status is None else status.chunks,
        "generation": None if status is None else status.generation,
        "bytes_on_disk": 0 if status is None else status.bytes_on_disk,
        "fingerprint": None if status is None else status.fingerprint.as_dict(),
        "collection_name": collection,
        "last_full_ingest": timestamp(times.full),
        "last_incremental_update": timestamp(times.incremental),
    }


class IngestNotice(Shape):
    code: Annotated[str, Field(examples=["FRONT_MATTER_DEFAULT"])]
    message: str
    source_file: str
    line: int | None
    fatal: Annotated[bool, Field(description="This kept the page out of the index")]


class ShareFields(Shape):
    kind: Annotated[str, Field(examples=["Markdown"])]
    files: int
    words: Annotated[int, Field(description="As far as known without converting documents")]


class LeftFields(ShareFields):
    reason: str
    lost: Annotated[bool, Field(description="Quoth cannot read it, though the book's own toolchain would include it")]


class CoverageFields(Shape):
    """Which toolchain was recognised, and how much of the source's text became pages."""

    toolchain: Annotated[str, Field(examples=["mkdocs"])]
    recognised_by: Annotated[str, Field(description="A file of the project; empty for a plain folder or a site")]
    taken: list[ShareFields]
    left: list[LeftFields]


class JobResponse(Shape):
    """An ingestion job with its warnings."""

    job_id: int
    book_id: str
    mode: IngestMode
    status: JobStatus
    dry_run: bool
    files_discovered: int
    files_processed: Annotated[
        int, Field(description="files_processed + files_skipped is every discovered file, once the job has completed")
    ]
    files_skipped: Annotated[int, Field(description="Unchanged")]
    files_failed: Annotated[int, Field(description="Also counted in files_processed")]
    files_deleted: int
    chunks_created: int
    chunks_kept: int
    chunks_deleted: int
    chunks_embedded: int
    tokens_embedded: Annotated[int, Field(description="Tokens of those chunks; an estimate for a remote embedder")]
    started_at: Moment | None
    completed_at: Moment | None
    duration_seconds: float | None
    error_message: str | None
    coverage: Annotated[CoverageFields | None, Field(description="Null until the source has been scanned")]
    warnings: list[IngestNotice]


def _notice_view(notice: Notice) -> IngestNotice:
    return {
        "code": notice.code,
        "message": notice.message,
        "source_file": notice.source_file,
        "line": notice.line,
        "fatal": notice.fatal,
    }


def job_view(job: IngestJob) -> JobResponse:
    return {
        "job_id": job.job_id,
        "book_id": job.book_id,
        "mode": job.mode,
        "status": job.status,
        "dry_run": job.dry_run,
        "files_discovered": job.files_discovered,
        "files_processed": job.files_processed,
        "files_skipped": job.files_skipped,
        "files_failed": job.files_failed,
        "files_deleted": job.files_deleted,
        "chunks_created": job.chunks_created,
        "chunks_kept": job.chunks_kept,
        "chunks_deleted": job.chunks_deleted,
        "chunks_embedded": job.chunks_embedded,
        "tokens_embedded": job.tokens_embedded,
        "started_at": timestamp(job.started_at),
        "completed_at": timestamp(job.completed_at),
        "duration_seconds": None if job.duration_seconds is None else round(job.duration_seconds, 3),
        "error_message": job.error_message,
        "coverage": None if job.coverage is None else _coverage_view(job.coverage),
        "warnings": [_notice_view(notice) for notice in job.notices],
    }


def _coverage_view(coverage: Coverage) -> CoverageFields:
    return {
        "toolchain": coverage.toolchain,
        "recognised_by": coverage.recognised_by,
        "taken": [{"kind": one.kind, "files": one.files, "words": one.words} for one in coverage.taken],
        "left": [
            {"kind": one.kind, "files": one.files, "words": one.words, "reason": one.reason, "lost": one.lost}
            for one in coverage.left
        ],
    }


class PlanFields(Shape):
    new: list[str]
    changed: list[str]
    deleted: list[str]
    unchanged: int
    embeddings_saved: int


def plan_view(plan: FilePlan, job: IngestJob) -> PlanFields:
    """What a dry run found, and how many texts already have a vector in the index."""
    return {
        "new": [file.source_file for file in plan.new],
        "changed": [file.source_file for file in plan.changed],
        "deleted": list(plan.deleted),
        "unchanged": len(plan.unchanged),
        "embeddings_saved": job.chunks_created + job.chunks_kept - job.chunks_embedded,
    }


class NearestSection(Shape):
    breadcrumb: list[str]
    source_url: str


class RecordedFields(Shape):
    book_id: str
    asked_at: Moment
    question: str
    searched_query: str
    confidence_level: ConfidenceLevel
    confidence: float
    missing_terms: list[str]
    nearest: NearestSection | None
    times: int


def recorded_view(question: RecordedQuestion, times: int) -> RecordedFields:
    """A question that the book does not answer, for its author; `times` counts it and similar ones."""
    nearest: NearestSection = {"breadcrumb": list(question.nearest), "source_url": question.nearest_url}
    return {
        "book_id": question.book_id,
        "asked_at": timestamp(question.asked_at),
        "question": question.question,
        "searched_query": question.searched,
        "confidence_level": question.level,
        "confidence": question.confidence,
        "missing_terms": list(question.missing_terms),
        "nearest": nearest if question.nearest else None,
        "times": times,
    }


class RatedFields(Shape):
    """An answer that a reader rated, for the author: neither the reader nor the session is named."""

    book_id: str
    asked_at: Moment
    rating: Literal["up", "down"]
    reason: str
    question: str
    answer: str
    sections: list[NearestSection]


def rated_view(turn: Turn, feedback: Feedback) -> RatedFields:
    """The reader's words are redacted, and so is the answer, because a model may repeat them."""
    cited = {source.breadcrumb: source.url for source in turn.sources if source.breadcrumb}
    return {
        "book_id": turn.book_id,
        "asked_at": timestamp(turn.timestamp),
        "rating": feedback.rating,
        "reason": shown(feedback.reason),
        "question": shown(turn.query),
        "answer": shown(turn.response),
        "sections": [{"breadcrumb": list(trail), "source_url": url} for trail, url in cited.items()],
    }


class KeyFields(Shape):
    key_id: str
    name: str
    scope: Scope
    status: Literal["active", "expired", "revoked"]
    book_id: str | None
    public: bool
    origins: list[str]
    daily: int | None
    created_at: Moment
    expires_at: Moment | None
    revoked_at: Moment | None


def key_view(key: Key, now: datetime) -> KeyFields:
    """A key without its secret."""
    return {
        "key_id": key.key_id,
        "name": key.name,
        "scope": key.scope,
        "status": "revoked" if key.revoked_at else "active" if key.in_force(now) else "expired",
        "book_id": key.book_id or None,
        "public": key.public,
        "origins": list(key.origins),
        "daily": key.daily,
        "created_at": timestamp(key.created_at),
        "expires_at": timestamp(key.expires_at),
        "revoked_at": timestamp(key.revoked_at),
    }
