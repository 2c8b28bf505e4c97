"""`/ingestion/jobs`, `/ingestion/changes`: ingest a book, and watch it (S3, CONTRACT section 8).

Asking for a job only queues it: `jobs` runs it in a process of its own. Progress is read from the library, so a job
that somebody started in a terminal is shown as well.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import JSONResponse

from quoth.ask.request import IngestRequest
from quoth.domain import IngestJob
from quoth.errors import NotFound
from quoth.ports import Library
from quoth.serve.bodies import documented, read_body
from quoth.serve.deps import jobs_of, quoth_of
from quoth.serve.jobs import ACTIVE, Jobs
from quoth.serve.orders import order_of, reopen
from quoth.serve.problems import explained
from quoth.serve.shapes import JOB_EVENTS, ChangesResponse, JobResponse, JobsResponse, answers, problems
from quoth.serve.sse import Event, EventStream
from quoth.serve.views import View, job_view

router = APIRouter(prefix="/ingestion", tags=["ingestion"])

LOOK = 0.5  # seconds between two looks at a job that somebody follows
QUIET = 20.0  # seconds without progress after which we ask whether anybody is still at work

BookId = Annotated[str | None, Query(description="May be left out when there is one book")]
OnlyBook = Annotated[str | None, Query(alias="book_id", description="Only jobs of this book")]
Limit = Annotated[int, Query(ge=1, le=100, description="The newest")]
JobId = Annotated[int, Path(ge=0, le=2**31 - 1)]  # what every database can hold


@router.post(
    "/jobs",
    status_code=202,
    openapi_extra=documented(IngestRequest),
    responses={202: {"model": JobResponse}, **problems(400, 403, 404, 409, 413, 415, 503)},
)
async def start(request: Request) -> JSONResponse:
    """Ingest a book; the answer is the queued job, which goes on by itself."""
    order = await order_of(quoth_of(request), await read_body(request, IngestRequest))
    job = await jobs_of(request).start(order)
    return JSONResponse(job_view(job), status_code=202, headers={"location": f"/ingestion/jobs/{job.job_id}"})


@router.get("/jobs", responses=answers(JobsResponse, 400, 503))
async def jobs(request: Request, book_id: OnlyBook = None, limit: Limit = 50) -> JSONResponse:
    """The last jobs, newest first."""
    quoth = quoth_of(request)
    if book_id is not None:
        quoth.check_book(book_id)
    found = await quoth.library.jobs(book_id or quoth.only_book or None, limit=limit)
    return JSONResponse({"jobs": [job_view(job) for job in found]})


async def job_of(request: Request, job_id: int) -> IngestJob:
    """A job of a book that whoever asks may not know of is not there either."""
    quoth = quoth_of(request)
    job = await quoth.library.job(job_id)
    if quoth.only_book not in ("", job.book_id):
        raise NotFound(f"There is no ingestion job {job_id}.")
    return job


@router.get("/jobs/{job_id}", responses=answers(JobResponse, 400, 404, 503))
async def job(request: Request, job_id: JobId) -> JSONResponse:
    """One job, with its warnings."""
    return JSONResponse(job_view(await job_of(request, job_id)))


@router.get("/jobs/{job_id}/events", responses=JOB_EVENTS)
async def events(request: Request, job_id: JobId) -> EventStream:
    """The progress of a job as server-sent events, whichever process runs it."""
    library = quoth_of(request).library
    await job_of(request, job_id)  # an unknown one is a 404, not a stream

    return EventStream(follow(library, jobs_of(request), job_id, look=LOOK, quiet=QUIET), explain=explained(request))


async def follow(
    library: Library, ours: Jobs, job_id: int, *, look: float, quiet: float
) -> AsyncGenerator[Event, None]:
    """`progress` with every change, then `completed` or `failed`; each with the whole job."""
    told: View = {}
    silent = 0.0
    while True:
        job = await library.job(job_id)
        if (view := job_view(job)) != told:
            told, silent = view, 0.0
            yield ("progress" if job.status in ACTIVE else job.status), view
        if job.status not in ACTIVE:
            return
        if silent >= quiet:
            await ours.bury(job)
            silent = 0.0
        await asyncio.sleep(look)
        silent += look


@router.get("/changes", responses=answers(ChangesResponse, 400, 404, 503))
async def changes(request: Request, book_id: BookId = None) -> JSONResponse:
    """What an incremental job would find new, modified and deleted in the book's folder. Changes nothing."""
    quoth = quoth_of(request)
    book = await quoth.choose_book(book_id)
    records = await quoth.library.page_records(book.book_id)

    def compare() -> View:
        from quoth.chunks.plan import changed_files

        plan = changed_files(reopen(book).files(), records)
        return {
            "book_id": book.book_id,
            "source": book.source,
            "new": [file.source_file for file in plan.new],
            "modified": [file.source_file for file in plan.changed],
            "deleted": list(plan.deleted),
            "unchanged": len(plan.unchanged),
        }

    return JSONResponse(await asyncio.to_thread(compare))
