"""Ingestion jobs requested from the server: each runs as `quoth ingest` in its own process.

In: an `IngestOrder`. Out: a queued `IngestJob`, whose progress and result any process can read in the library. The work
is not done here because an index update holds the interpreter's lock, which readers would feel; the server notices the
new generation as it does after any other ingest. A data directory has one writer, so jobs run one after another, even
those of several workers (`JobLocks`). Knows nothing about HTTP.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TextIO

from quoth.bootstrap import Quoth
from quoth.domain import IngestJob, IngestMode
from quoth.errors import Conflict, LibraryUnavailable, Outage
from quoth.ports import ABANDONED

logger = logging.getLogger(__name__)

ACTIVE = ("queued", "running")
STOPPED = "interrupted: the server was stopped"
_STOP_TIMEOUT = 8.0  # seconds for a job's process to end cleanly when the server stops
_LOCK_POLL = 0.2  # seconds between two attempts to take a lock that another process holds
CONFLICT_POLL = 1.0  # seconds between two attempts to start a job on a book that another process is writing


@dataclass(frozen=True, slots=True)
class IngestOrder:
    """What to ingest and how."""

    book_id: str
    source: str
    base_url: str = ""
    mode: IngestMode = "incremental"
    dry_run: bool = False
    pull: bool = False  # first `git pull --ff-only` in the source


class JobProcess(Protocol):
    """A process that works on one job."""

    async def wait(self) -> str:
        """Start it and wait for the end. Returns "" on success, otherwise the last line of its output."""

    def stop(self) -> None:
        """Ask it to end cleanly."""

    def kill(self) -> None: ...


Launch = Callable[[Quoth, IngestOrder, int], JobProcess]  # the number is the id of the queued job to take over


class Jobs:
    def __init__(self, quoth: Quoth, launch: Launch) -> None:
        self._quoth = quoth
        self._launch = launch
        self._starting = asyncio.Lock()  # one job starts at a time
        self._locks = JobLocks(quoth.settings.data_dir)
        self._process: JobProcess | None = None
        self._tasks: dict[asyncio.Task[None], str] = {}  # with the book each works on
        self._again: dict[str, IngestOrder] = {}  # by book: ordered while a job was running
        self._closing = False

    async def start(self, order: IngestOrder) -> IngestJob:
        """Queue it. `Conflict` if the book already has a job, or if another process is writing."""
        async with self._starting:
            if self._closing:
                raise Outage("The server is stopping and starts no new jobs.", hint="Try again in a moment.")
            await self._bury(order.book_id, recreate=order.mode == "recreate")
            await self._locks.take()
            try:
                job = await self._queue(order)
            except BaseException:
                self._locks.give_back()
                raise
            self._begin(self._work(order, job.job_id), order.book_id)
            return job

    async def start_or_follow(self, order: IngestOrder) -> IngestJob | None:
        """Like `start`, but if the book already has a job, another one follows it (None): later changes may have come
        too late for the first."""
        try:
            return await self.start(order)
        except Conflict:
            self._again[order.book_id] = order
        if order.book_id not in self._tasks.values():  # another process is working on it
            self._begin(self._later(order.book_id), order.book_id)
        return None

    async def bury_the_dead(self) -> None:
        """Mark the jobs of dead processes as failed. The holder of the writer lock may be alive and is left alone."""
        for job in await self._quoth.library.jobs(active=True, limit=10_000):
            await self.bury(job)

    async def bury(self, job: IngestJob) -> None:
        """Mark this job as failed if no process can be working on it."""
        async with self._starting:
            if job.book_id in self._tasks.values():
                return
            try:
                # Starting from nothing works even if the index does not fit this process.
                await self._bury(job.book_id, recreate=True)
            except Conflict as conflict:
                logger.info("job %s is left as it is: %s", job.job_id, conflict)

    async def close(self) -> None:
        """Stop the process, mark waiting jobs as failed, and wait until the library knows. May be called again."""
        self._closing = True
        if self._process is not None:
            self._process.stop()
        if self._tasks and (await asyncio.wait(self._tasks, timeout=_STOP_TIMEOUT))[1]:
            if self._process is not None:
                self._process.kill()
            await asyncio.wait(self._tasks)

    def _begin(self, work: Coroutine[None, None, None], book_id: str) -> None:
        task = asyncio.create_task(work, name=f"ingest of {book_id}")
        self._tasks[task] = book_id
        task.add_done_callback(self._end)
        task.add_done_callback(_log_fault)

    def _end(self, task: asyncio.Task[None]) -> None:
        book_id = self._tasks.pop(task)
        # It was ordered at the very moment the job ended.
        if book_id in self._again and book_id not in self._tasks.values() and not self._closing:
            self._begin(self._later(book_id), book_id)

    async def _bury(self, book_id: str, *, recreate: bool) -> None:
        with self._locks.alone() as alone:
            if not alone:  # a queued job may be about to start, in this process or in another worker
                return
            # If the book can be opened for writing, no other process is writing it.
            async with self._quoth.index.writer(book_id, recreate=recreate):
                await self._quoth.library.fail_running_jobs(book_id, ABANDONED)

    async def _queue(self, order: IngestOrder) -> IngestJob:
        job = IngestJob(book_id=order.book_id, mode=order.mode, dry_run=order.dry_run, status="queued")
        return await self._quoth.library.start_job(job)

    async def _work(self, order: IngestOrder, job_id: int) -> None:
        try:
            await self._run_job(order, job_id)
            while not self._closing and (following := self._again.pop(order.book_id, None)) is not None:
                await self._run_job(following, (await self._queue(following)).job_id)
        finally:
            self._locks.give_back()

    async def _later(self, book_id: str) -> None:
        """Start the order as soon as the book is free."""
        while not self._closing and (order := self._again.pop(book_id, None)) is not None:
            try:
                await self.start(order)
            except Conflict:
                self._again.setdefault(book_id, order)
                await asyncio.sleep(CONFLICT_POLL)

    async def _run_job(self, order: IngestOrder, job_id: int) -> None:
        async with self._locks.turn(unless=lambda: self._closing):
            words = "" if self._closing else await self._run_process(order, job_id)
        # A process that was able to has recorded the end of its job itself.
        job = await self._quoth.library.job(job_id)
        if job.status in ACTIVE:
            reason = STOPPED if self._closing else words or "its process ended without saying why"
            failed = replace(job, status="failed", error_message=reason, completed_at=self._quoth.clock.now())
            await self._quoth.library.save_job(failed)

    async def _run_process(self, order: IngestOrder, job_id: int) -> str:
        self._process = self._launch(self._quoth, order, job_id)
        try:
            return await self._process.wait()
        finally:
            self._process = None


def _log_fault(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (fault := task.exception()) is not None:
        logger.error("the end of the %s could not be recorded: %s", task.get_name(), fault, exc_info=fault)


class JobLocks:
    """Decides which server process on one data directory may ingest now.

    Two kernel locks, which die with their process. Every process with jobs shares `jobs-waiting`; it tells the others
    that a queued job may belong to a living process. The process whose job is running holds `jobs-turn`."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._here = asyncio.Lock()  # within this process, jobs run in the order they were requested
        self._in_hand = 0
        self._waiting: TextIO | None = None

    async def take(self) -> None:
        """Call it before a job is queued. Must not be called twice at the same time."""
        while self._waiting is None:
            self._waiting = self._lock("jobs-waiting.lock", fcntl.LOCK_SH)
            if self._waiting is None:  # another process is checking whether it is alone
                await asyncio.sleep(_LOCK_POLL)
        self._in_hand += 1

    def give_back(self) -> None:
        """Call it when that job has ended."""
        self._in_hand -= 1
        if not self._in_hand and self._waiting is not None:
            self._waiting.close()
            self._waiting = None

    @contextmanager
    def alone(self) -> Iterator[bool]:
        """Whether no process has a job. If so, none can take one meanwhile."""
        file = None if self._in_hand else self._lock("jobs-waiting.lock", fcntl.LOCK_EX)
        try:
            yield file is not None
        finally:
            if file is not None:
                file.close()

    @asynccontextmanager
    async def turn(self, *, unless: Callable[[], bool]) -> AsyncIterator[None]:
        """One job at a time across all processes. Stops waiting when `unless` becomes true."""
        async with self._here:
            with await self._our_turn(unless) or nullcontext():
                yield

    async def _our_turn(self, unless: Callable[[], bool]) -> TextIO | None:
        while not unless():
            if (file := self._lock("jobs-turn.lock", fcntl.LOCK_EX)) is not None:
                return file
            await asyncio.sleep(_LOCK_POLL)
        return None

    def _lock(self, name: str, how: int) -> TextIO | None:
        try:
            self._data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = (self._data_dir / name).open("a", encoding="utf-8")
        except OSError as fault:
            raise LibraryUnavailable(
                f"{self._data_dir / name} cannot be written: {fault.strerror}.",
                hint="Check the folder and its permissions.",
            ) from fault
        try:
            fcntl.flock(file, how | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return None
        return file
