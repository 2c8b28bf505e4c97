"""Ingestion jobs that the server was asked for: each runs as `quoth ingest` in a process of its own.

In: an `Order`. Out: a queued `IngestJob`, whose progress and end any process reads in the library. The work is not done
here because an update of the index holds the interpreter's lock, which readers would feel; the server notices what was
published as it notices any other ingest. A data directory has one writer, so children run one after the other, also
those of several workers (`turns`). Nothing here knows HTTP.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Protocol

from quoth.bootstrap import Quoth
from quoth.domain import IngestJob, IngestMode
from quoth.errors import Conflict, Outage
from quoth.ports import ABANDONED
from quoth.serve.job_locks import JobLocks

logger = logging.getLogger(__name__)

PATIENCE = 8.0  # seconds that a child gets to leave in good order when the server stops
ACTIVE = ("queued", "running")
LOOK = 1.0  # seconds between two looks whether somebody else's job has ended
STOPPED = "interrupted: the server was stopped"


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be ingested, and how."""

    book_id: str
    source: str
    base_url: str = ""
    mode: IngestMode = "incremental"
    dry_run: bool = False
    pull: bool = False  # first `git pull --ff-only` in the source


class Child(Protocol):
    """A process that works on one job."""

    async def wait(self) -> str:
        """Begin, and wait for the end: empty when all went well, otherwise what it said last."""

    def stop(self) -> None:
        """Ask it to leave in good order."""

    def kill(self) -> None: ...


Launch = Callable[[Quoth, Order, int], Child]  # the number is that of the queued job it takes over


class Jobs:
    def __init__(self, quoth: Quoth, launch: Launch) -> None:
        self._quoth = quoth
        self._launch = launch
        self._door = asyncio.Lock()  # one at a time is let in
        self._turns = JobLocks(quoth.settings.data_dir)
        self._child: Child | None = None
        self._tasks: dict[asyncio.Task[None], str] = {}  # with the book they work on
        self._again: dict[str, Order] = {}  # by book: asked for while one was under way
        self._closing = False

    async def start(self, order: Order) -> IngestJob:
        """Queue it. `Conflict` when the book has a job already, or when a process that is not ours is writing."""
        async with self._door:
            if self._closing:
                raise Outage("The server is stopping and starts nothing any more.", hint="Try again in a moment.")
            await self._bury(order.book_id, recreate=order.mode == "recreate")
            await self._turns.take()
            try:
                job = await self._queue(order)
            except BaseException:
                self._turns.give_back()
                raise
            self._begin(self._work(order, job.job_id), order.book_id)
            return job

    async def start_or_follow(self, order: Order) -> IngestJob | None:
        """As `start`; but when somebody is at work on the book, another job follows (None): what changed meanwhile may
        have come too late for the first."""
        try:
            return await self.start(order)
        except Conflict:
            self._again[order.book_id] = order
        if order.book_id not in self._tasks.values():  # it is another process that is at work
            self._begin(self._later(order.book_id), order.book_id)
        return None

    async def bury_the_dead(self) -> None:
        """Fail the jobs of processes that have died. Whoever holds the writer lock may be alive, and is left alone."""
        for job in await self._quoth.library.jobs(active=True, limit=10_000):
            await self.bury(job)

    async def bury(self, job: IngestJob) -> None:
        """Fail this job if nobody can be at work on it."""
        async with self._door:
            if job.book_id in self._tasks.values():
                return
            try:
                # To start from nothing needs no index that fits this process.
                await self._bury(job.book_id, recreate=True)
            except Conflict as conflict:
                logger.info("job %s is left as it is: %s", job.job_id, conflict)

    async def close(self) -> None:
        """Stop the child, fail what was waiting, and wait until the library knows. May be called again."""
        self._closing = True
        if self._child is not None:
            self._child.stop()
        if self._tasks and (await asyncio.wait(self._tasks, timeout=PATIENCE))[1]:
            if self._child is not None:
                self._child.kill()
            await asyncio.wait(self._tasks)

    def _begin(self, work: Coroutine[None, None, None], book_id: str) -> None:
        task = asyncio.create_task(work, name=f"ingest of {book_id}")
        self._tasks[task] = book_id
        task.add_done_callback(self._ended)
        task.add_done_callback(_tell_fault)

    def _ended(self, task: asyncio.Task[None]) -> None:
        book_id = self._tasks.pop(task)
        # Asked for in the very moment in which it ended.
        if book_id in self._again and book_id not in self._tasks.values() and not self._closing:
            self._begin(self._later(book_id), book_id)

    async def _bury(self, book_id: str, *, recreate: bool) -> None:
        with self._turns.alone() as alone:
            if not alone:  # what is queued may be about to start, in this process or in another worker
                return
            # Opening the book for writing and leaving it unchanged is how one learns that nobody else writes.
            async with self._quoth.index.writer(book_id, recreate=recreate):
                await self._quoth.library.fail_running_jobs(book_id, ABANDONED)

    async def _queue(self, order: Order) -> IngestJob:
        job = IngestJob(book_id=order.book_id, mode=order.mode, dry_run=order.dry_run, status="queued")
        return await self._quoth.library.start_job(job)

    async def _work(self, order: Order, job_id: int) -> None:
        try:
            await self._one(order, job_id)
            while not self._closing and (following := self._again.pop(order.book_id, None)) is not None:
                await self._one(following, (await self._queue(following)).job_id)
        finally:
            self._turns.give_back()

    async def _later(self, book_id: str) -> None:
        """Start what was asked for as soon as the book is free."""
        while not self._closing and (order := self._again.pop(book_id, None)) is not None:
            try:
                await self.start(order)
            except Conflict:
                self._again.setdefault(book_id, order)
                await asyncio.sleep(LOOK)

    async def _one(self, order: Order, job_id: int) -> None:
        async with self._turns.turn(unless=lambda: self._closing):
            words = "" if self._closing else await self._run(order, job_id)
        # A child that could, has said itself how its job ended.
        job = await self._quoth.library.job(job_id)
        if job.status in ACTIVE:
            reason = STOPPED if self._closing else words or "its process ended without a word"
            failed = replace(job, status="failed", error_message=reason, completed_at=self._quoth.clock.now())
            await self._quoth.library.save_job(failed)

    async def _run(self, order: Order, job_id: int) -> str:
        self._child = self._launch(self._quoth, order, job_id)
        try:
            return await self._child.wait()
        finally:
            self._child = None


def _tell_fault(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (fault := task.exception()) is not None:
        logger.error("the %s: its end could not be recorded: %s", task.get_name(), fault, exc_info=fault)
