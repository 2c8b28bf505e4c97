"""The ingesting pipeline: source → chunks → plan → embed → apply, as a job.

In: a `BookSource`. Out: the finished `IngestJob`. Pages are read one at a time and applied in batches, so memory does
not grow with the book. The index is published before the library notes it, and a file counts as unchanged only if both
agree. So a run that is killed anywhere leaves the old book or a newer one, and the next run repairs the rest. A bad
page does not stop the others: it keeps its old chunks, and the job reports it. The job's counters are saved during the
run, so any process can show the progress.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from quoth.chunks.held import HeldChunks
from quoth.chunks.payload import payload_hash
from quoth.chunks.plan import FilePlan, WantedChunk, plan_files, plan_page
from quoth.chunks.split import embedding_text, split
from quoth.chunks.weights import chunk_weights
from quoth.domain import (
    Book,
    Chunk,
    IndexedChunk,
    IngestJob,
    IngestMode,
    Notice,
    Page,
    PageRecord,
    SourceFile,
    StoredChunk,
    Vector,
)
from quoth.errors import Conflict, QuothError, TextTooLong, Unreadable
from quoth.index import status_of
from quoth.ports import ABANDONED, ChunkIndex, Clock, Embedder, IndexWriter, Library

if TYPE_CHECKING:
    from quoth.sources import BookSource


_SAVE_SECONDS = 1.0  # between two saves of the job's counters


@dataclass(frozen=True, slots=True)
class IngestOptions:
    batch_chunks: int = 256  # embedded and written together
    embed_slice: int | None = None  # embedded between two reports of progress; None: what the embedder likes best
    publish_seconds: float = 60.0  # a killed run loses at most this much work


@dataclass(frozen=True, slots=True)
class Progress:
    """Reported after every page and every embedded slice, for a progress bar or a job's events."""

    pages_done: int
    pages_total: int
    chunks_embedded: int
    source_file: str = ""
    share: float = 0.0  # pages of the current batch that are embedded, as a fraction of pages


TellProgress = Callable[[Progress], None]
Planned = Callable[[FilePlan], None]


@dataclass(frozen=True, slots=True)
class PreparedPage:
    """A page that has been read and split, waiting to be written."""

    file: SourceFile
    page: Page
    wanted: tuple[WantedChunk, ...]


@dataclass(slots=True)
class Run:
    """The mutable state of one run: what the index holds of the pages being written, and the counters."""

    job: IngestJob
    writer: IndexWriter
    tell: TellProgress
    pages_total: int = field(init=False)  # known once the files are
    held: HeldChunks = field(default_factory=HeldChunks)
    notices: list[Notice] = field(default_factory=list)
    pages_done: int = 0
    batch: list[PreparedPage] = field(default_factory=list)
    unrecorded: list[PageRecord] = field(default_factory=list)
    dropped: dict[str, array[float]] = field(default_factory=dict)
    made: set[str] = field(default_factory=set)  # texts of this batch that were embedded now
    published_at: float = 0.0
    saved_at: float = 0.0

    def count(self, **more: int) -> None:
        self.job = replace(self.job, **{name: getattr(self.job, name) + value for name, value in more.items()})

    def outcome(self) -> IngestJob:
        return replace(self.job, notices=tuple(self.notices))


class Ingest:
    def __init__(
        self,
        index: ChunkIndex,
        library: Library,
        embedder: Embedder,
        clock: Clock,
        options: IngestOptions = IngestOptions(),
    ) -> None:
        self._index = index
        self._library = library
        self._embedder = embedder
        self._clock = clock
        self._options = options

    async def run(
        self,
        source: BookSource,
        *,
        mode: IngestMode = "incremental",
        dry_run: bool = False,
        tell: TellProgress = lambda progress: None,
        planned: Planned = lambda plan: None,
        job_id: int | None = None,
    ) -> IngestJob:
        """With `job_id` the run takes over a queued job. Without it, it starts its own job, or none for a dry run,
        which leaves no trace."""
        book_id = source.book.book_id
        job = IngestJob(book_id=book_id, mode=mode, dry_run=dry_run, status="running", started_at=self._clock.now())
        async with self._index.writer(book_id, recreate=mode == "recreate") as writer:
            run = Run(await self._begin(job, job_id), writer, tell)
            try:
                await self._run(source, run, planned)
            except (QuothError, asyncio.CancelledError, KeyboardInterrupt) as error:
                failed = replace(run.outcome(), error_message=str(error) or "interrupted")
                await self._save(self._finish(failed, "failed"))
                raise
            done = self._finish(run.outcome(), "completed")
            # Still under the lock: its next holder may rely on no job of the book running.
            await self._save(done)
        return done

    async def _begin(self, job: IngestJob, job_id: int | None) -> IngestJob:
        if job_id is not None:
            waiting = await self._library.job(job_id)
            if (waiting.book_id, waiting.status) != (job.book_id, "queued"):
                raise Conflict(
                    f"Job {job_id} of book {waiting.book_id!r} is {waiting.status} and cannot be taken over.",
                    hint="Start a new job.",
                )
            await self._library.save_job(job := replace(job, job_id=job_id))
            return job
        if job.dry_run:
            return job
        await self._library.fail_running_jobs(job.book_id, ABANDONED)
        return await self._library.start_job(job)

    async def _save(self, job: IngestJob) -> None:
        if job.job_id:  # a dry run without a queued job is not stored
            await self._library.save_job(job)

    async def _run(self, source: BookSource, run: Run, planned: Planned) -> None:
        job = run.job
        files = await asyncio.to_thread(source.files)
        recreate = job.mode == "recreate"
        records = {} if recreate else await self._library.page_records(job.book_id)
        before = await status_of(self._index, job.book_id) if recreate else None
        plan = plan_files(files, records, await run.writer.files(), force=job.mode != "incremental")
        planned(plan)
        run.job = replace(job, files_discovered=len(files), files_skipped=len(plan.unchanged), coverage=source.coverage)
        run.pages_total, run.published_at = len(plan.to_read), self._clock.monotonic()
        run.notices.extend((*source.skipped, *source.notices))
        run.count(
            chunks_kept=sum(len(records[file.source_file].chunk_ids) for file in plan.unchanged),
            chunks_deleted=before.chunks if before else 0,  # all of them, when starting over
        )
        await self._progress(run)
        await self._read_all(source, plan, run)
        await self._apply(run)
        await self._delete(plan, run)
        await self._publish(run, source.book)
        if not job.dry_run:
            await self._library.drop_page_records(job.book_id, plan.deleted)
            await self._library.put_book(source.book)

    async def _progress(self, run: Run, source_file: str = "", *, share: float = 0.0) -> None:
        """Report to this process at once, and to the library from time to time."""
        run.tell(Progress(run.pages_done, run.pages_total, run.job.chunks_embedded, source_file, share))
        now = self._clock.monotonic()
        if now - run.saved_at >= _SAVE_SECONDS:
            run.saved_at = now
            await self._save(run.job)

    async def _read_all(self, source: BookSource, plan: FilePlan, run: Run) -> None:
        waiting = 0
        for file in plan.to_read:
            try:
                prepared = await asyncio.to_thread(self._prepare, source, file)
            except (Unreadable, TextTooLong) as error:
                run.notices.append(
                    Notice("UNREADABLE_PAGE", str(error), file.source_file, error.details.get("line"), fatal=True)
                )
                run.count(files_processed=1, files_failed=1)
                run.pages_done += 1
                await self._progress(run, file.source_file)
                continue
            run.notices.extend(prepared.page.notices)
            run.batch.append(prepared)
            waiting += len(prepared.wanted)
            if waiting >= self._options.batch_chunks:
                await self._apply(run)
                waiting = 0
                if self._clock.monotonic() - run.published_at > self._options.publish_seconds:
                    await self._publish(run, source.book)

    def _prepare(self, source: BookSource, file: SourceFile) -> PreparedPage:
        """`Unreadable` even if our own code fails on the page; the traceback is in the log."""
        try:
            page = source.read(file)
            chunks = split(page, self._embedder.tokens)
        except (QuothError, OSError):
            raise
        except Exception as error:
            logging.getLogger(__name__).exception("%s could not be read", file.source_file)
            what = f"{file.source_file} could not be read because of a bug in Quoth ({type(error).__name__}: {error})."
            raise Unreadable(what, hint="Please report it with the page.") from error
        wanted = tuple(WantedChunk(chunk, payload_hash(chunk), embed_hash(chunk)) for chunk in chunks)
        return PreparedPage(file, page, wanted)

    async def _apply(self, run: Run) -> None:
        """Write the waiting pages: add new and moved chunks, then drop stale ones."""
        if not run.batch:
            return
        batch, run.batch = run.batch, []
        vectors = await self._vectors(batch, run)
        held, imagined, now = run.held, run.job.dry_run, self._clock.now()
        ids = {item.chunk.id for prepared in batch for item in prepared.wanted}
        await held.read(run.writer, {prepared.file.source_file for prepared in batch}, ids)
        for prepared in batch:
            file = prepared.file.source_file
            plan = plan_page(prepared.wanted, held.stored, held.by_file.get(file, ()))
            items = [item for item in prepared.wanted if item.chunk.id in plan.put]
            created = [item for item in items if item.chunk.id not in held.stored]
            puts = [
                indexed(
                    item, vectors[item.embed_hash], held.stored.get(item.chunk.id), now, new=item.embed_hash in run.made
                )
                for item in items
            ]
            if not run.job.dry_run:
                await run.writer.put(puts)
                await self._drop(plan.drop, run)
            for item, put in zip(items, puts, strict=True):
                hashes, stamps = (item.payload_hash, item.embed_hash), put.stamps
                chunk = StoredChunk(item.chunk.id, file, *hashes, stamps.created_at, stamps.embedded_at, stamps.version)
                held.put(chunk, imagined=imagined)
            held.drop(plan.drop, imagined=imagined)
            run.count(
                files_processed=1,
                chunks_created=len(created),
                chunks_kept=len(prepared.wanted) - len(created),
                chunks_deleted=len(plan.drop),
            )
            run.unrecorded.append(record_of(prepared, now))
            run.pages_done += 1
            await self._progress(run, file)

    async def _drop(self, ids: Sequence[str], run: Run) -> None:
        """A dropped text may come back on a later page, so its vector is kept until the run ends."""
        hashes = {run.held.stored[id].embed_hash for id in ids}
        for hash, vector in (await run.writer.vectors(hashes)).items():
            run.dropped[hash] = array("f", vector)
        await run.writer.drop(ids)

    async def _vectors(self, batch: Sequence[PreparedPage], run: Run) -> dict[str, Vector]:
        """A vector for every text of the batch, from the index if it has one, else from the embedder."""
        texts = {item.embed_hash: item.chunk for prepared in batch for item in prepared.wanted}
        vectors = await run.writer.vectors(texts)
        if run.job.dry_run:
            new = texts.keys() - vectors.keys() - run.held.imagined_texts
            run.count(chunks_embedded=len(new), tokens_embedded=sum(texts[hash].token_count for hash in new))
            return dict.fromkeys(texts, ())
        vectors |= {hash: tuple(run.dropped[hash]) for hash in texts.keys() - vectors.keys() if hash in run.dropped}
        missing = [hash for hash in texts if hash not in vectors]
        run.made = set(missing)
        at_once = self._options.embed_slice or self._embedder.batch
        for start in range(0, len(missing), at_once):
            hashes = missing[start : start + at_once]
            made = await self._embedder.embed_passages([embedding_text(texts[hash]) for hash in hashes])
            vectors.update(zip(hashes, made, strict=True))
            run.count(chunks_embedded=len(hashes), tokens_embedded=sum(texts[hash].token_count for hash in hashes))
            await self._progress(run, share=len(batch) * (start + len(hashes)) / len(missing))
        return vectors

    async def _delete(self, plan: FilePlan, run: Run) -> None:
        """Drop the chunks of deleted pages. Those of a renamed page already have its new name, and stay."""
        await run.held.read(run.writer, plan.deleted)
        for source_file in plan.deleted:
            ids = sorted(run.held.by_file.get(source_file, ()))
            if not run.job.dry_run:
                await run.writer.drop(ids)
            run.held.drop(ids, imagined=run.job.dry_run)
            run.count(files_deleted=1, chunks_deleted=len(ids))

    async def _publish(self, run: Run, book: Book) -> None:
        """First the index, then the library: a crash in between only means that these pages are read again."""
        if run.job.dry_run:
            return
        await run.writer.publish(book)
        await self._library.put_page_records(run.unrecorded)
        run.unrecorded = []
        run.published_at = self._clock.monotonic()

    def _finish(self, job: IngestJob, status: str) -> IngestJob:
        now = self._clock.now()
        spent = (now - (job.started_at or now)).total_seconds()
        done = replace(job, completed_at=now, duration_seconds=spent)
        return replace(done, status="completed" if status == "completed" else "failed")


def embed_hash(chunk: Chunk) -> str:
    return hashlib.sha256(embedding_text(chunk).encode()).hexdigest()


def indexed(
    item: WantedChunk, vector: Vector, before: StoredChunk | None, now: datetime, *, new: bool = True
) -> IndexedChunk:
    """`new`: its vector was computed now, not for an earlier version."""
    return IndexedChunk(
        chunk=item.chunk,
        dense=vector,
        sparse=chunk_weights(item.chunk),
        embed_hash=item.embed_hash,
        created_at=now if before is None else before.created_at,
        updated_at=now,
        embedded_at=now if new or before is None else before.embedded_at or before.created_at,
        version=1 if before is None else before.version + 1,
    )


def record_of(prepared: PreparedPage, now: datetime) -> PageRecord:
    page = prepared.page
    return PageRecord(
        book_id=page.book_id,
        source_file=page.source_file,
        digest=prepared.file.digest,
        file_hash=page.file_hash,
        chunk_ids=tuple(item.chunk.id for item in prepared.wanted),
        ingested_at=now,
        title=page.title,
        url=page.url,
        module=page.labels.module,
        chapter=page.labels.chapter,
        lesson=page.labels.lesson,
    )
