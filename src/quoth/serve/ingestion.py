"""`/ingestion/jobs`, `/ingestion/changes`: ingest a book, and watch it.

In: a request for a folder that the operator allows, or for a known book from its old place. Out: a queued job; `jobs`
runs it in its own process. Progress is read from the library, so a job that was started in a terminal is shown as well.
A folder's real path, with all links followed, is checked before the door says anything about its contents: this door
must not be a way to read the machine.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from pydantic.config import JsonDict

from quoth.ask.request import Name
from quoth.bootstrap import Quoth
from quoth.chunks.payload import BOOK_ID, check_book_id
from quoth.domain import Book, IngestJob, IngestMode
from quoth.errors import Forbidden, NotFound, UnknownBook, Unreadable, WrongUsage
from quoth.ports import Library
from quoth.serve.bodies import body_schema, read_body
from quoth.serve.deps import BookId, jobs_of, quoth_of
from quoth.serve.disclosure import visible_source
from quoth.serve.jobs import ACTIVE, IngestOrder, Jobs
from quoth.serve.library_views import JobResponse, job_view
from quoth.serve.problems import problem_teller
from quoth.serve.shapes import Responses, Shape, answers, event_content, problems
from quoth.serve.sse import Event, EventStream

if TYPE_CHECKING:
    from quoth.sources import BookSource

router = APIRouter(prefix="/ingestion", tags=["ingestion"])

FOLLOW_POLL = 0.5  # seconds between two looks at a job that someone follows
_QUIET = 20.0  # seconds without progress after which we check whether its process is alive

_OnlyBook = Annotated[str | None, Query(alias="book_id", description="Only jobs of this book")]
Limit = Annotated[int, Query(ge=1, le=100, description="How many of the newest jobs")]
_JobId = Annotated[int, Path(ge=0, le=2**31 - 1)]  # fits every database


_WITH_PATH: JsonDict = {
    "if": {"required": ["path"], "properties": {"path": {"type": "string"}}},
    "then": {"required": ["book_id"], "properties": {"book_id": {"type": "string"}}},
}


class IngestRequest(BaseModel):
    """What to ingest: a folder that the operator allows, or a known book again."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=_WITH_PATH)

    path: Annotated[str, StringConstraints(min_length=1, max_length=4096, pattern=r"^[^\x00]+$")] | None = Field(
        None, description="A folder inside QUOTH_INGEST_ROOTS; default: the book's old folder", examples=["my-docs"]
    )
    book_id: Annotated[Name, Field(json_schema_extra={"pattern": f"^{BOOK_ID}$"})] | None = Field(
        None, description="Needed with `path`; otherwise it may be left out if there is only one book"
    )
    base_url: Annotated[str, StringConstraints(max_length=2048, pattern=r"^(https?://\S+)?$")] | None = Field(
        None, description="Where the book is published; default: as before", examples=["https://docs.example.com"]
    )
    mode: IngestMode = "incremental"
    dry_run: Annotated[bool, Field(strict=True)] = Field(
        False, description="Count what would change without changing anything"
    )


class JobsResponse(Shape):
    jobs: list[JobResponse]


class ChangesResponse(Shape):
    """The files in the book's folder that differ from the index."""

    book_id: str
    source: str
    new: list[str]
    modified: list[str]
    deleted: list[str]
    unchanged: int


_JOB_EVENTS: Responses = {
    200: {
        "description": "progress*, then completed or failed; each with an id and the whole job as JSON data",
        "content": event_content("progress", "completed", "failed", "error"),
    },
    204: {"description": "`Last-Event-ID` names the last event: there is nothing more"},
    **problems(400, 404, 503),
}


# --- the doors -------------------------------------------------------------------------------------------------------


@router.post(
    "/jobs",
    status_code=202,
    openapi_extra=body_schema(IngestRequest),
    responses={202: {"model": JobResponse}, **problems(400, 403, 404, 409, 413, 415, 503)},
)
async def start(request: Request) -> JSONResponse:
    """Ingest a book; the answer is the queued job, which then runs on its own."""
    order = await _order_of(quoth_of(request), await read_body(request, IngestRequest))
    job = await jobs_of(request).start(order)
    return JSONResponse(job_view(job), status_code=202, headers={"location": f"/ingestion/jobs/{job.job_id}"})


@router.get("/jobs", responses=answers(JobsResponse, 400, 503))
async def jobs(request: Request, book_id: _OnlyBook = None, limit: Limit = 50) -> JSONResponse:
    """The last jobs, newest first."""
    quoth = quoth_of(request)
    if book_id is not None:
        quoth.check_book(book_id)
    found = await quoth.library.jobs(book_id or quoth.only_book or None, limit=limit)
    body: JobsResponse = {"jobs": [job_view(job) for job in found]}
    return JSONResponse(body)


@router.get("/jobs/{job_id}", responses=answers(JobResponse, 400, 404, 503))
async def job(request: Request, job_id: _JobId) -> JSONResponse:
    """One job, with its warnings."""
    return JSONResponse(job_view(await _visible_job(request, job_id)))


@router.get("/jobs/{job_id}/events", responses=_JOB_EVENTS)
async def events(request: Request, job_id: _JobId) -> Response:
    """The progress of a job as server-sent events, whichever process runs it."""
    library = quoth_of(request).library
    job = await _visible_job(request, job_id)  # an unknown job is a 404, not a stream
    if job.status not in ACTIVE and request.headers.get("last-event-id") == f"{job_id}.{job.status}":
        return Response(status_code=204)  # a reader who has the last event need not reconnect
    following = follow(library, jobs_of(request), job_id, poll=FOLLOW_POLL, quiet=_QUIET)
    return EventStream(following, explain=problem_teller(request), identify=lambda name, data: f"{job_id}.{name}")


@router.get("/changes", responses=answers(ChangesResponse, 400, 404, 503))
async def changes(request: Request, book_id: BookId = None) -> JSONResponse:
    """Which files in the book's folder an incremental job would find new, modified or deleted. Changes nothing."""
    quoth = quoth_of(request)
    book = await quoth.choose_book(book_id)
    records = await quoth.library.page_records(book.book_id)

    def compare() -> ChangesResponse:
        from quoth.chunks.plan import changed_files

        plan = changed_files(_reopen(book, quoth.settings.ingest_roots).files(), records)
        return {
            "book_id": book.book_id,
            "source": visible_source(request, book),
            "new": [file.source_file for file in plan.new],
            "modified": [file.source_file for file in plan.changed],
            "deleted": list(plan.deleted),
            "unchanged": len(plan.unchanged),
        }

    return JSONResponse(await asyncio.to_thread(compare))


async def _visible_job(request: Request, job_id: int) -> IngestJob:
    """A job of a book that the caller may not see is hidden too."""
    quoth = quoth_of(request)
    job = await quoth.library.job(job_id)
    if quoth.only_book not in ("", job.book_id):
        raise NotFound(f"There is no ingestion job {job_id}.")
    return job


async def follow(library: Library, ours: Jobs, job_id: int, *, poll: float, quiet: float) -> AsyncGenerator[Event]:
    """`progress` with every change, then `completed` or `failed`; each with the whole job."""
    told: JobResponse | None = None
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
        await asyncio.sleep(poll)
        silent += poll


# --- what may be ingested --------------------------------------------------------------------------------------------


async def _order_of(quoth: Quoth, wanted: IngestRequest) -> IngestOrder:
    order = await _known_or_allowed(quoth, wanted)
    order = replace(order, mode=wanted.mode, dry_run=wanted.dry_run)
    return order if wanted.base_url is None else replace(order, base_url=wanted.base_url)


async def _known_or_allowed(quoth: Quoth, wanted: IngestRequest) -> IngestOrder:
    if wanted.path is None:
        return await order_again(quoth, await quoth.choose_book(wanted.book_id))
    if wanted.book_id is None:
        raise WrongUsage("`book_id` is missing.", hint="With `path`, also send the id to store the book under.")
    check_book_id(wanted.book_id)
    quoth.check_book(wanted.book_id)
    book = await _find_book(quoth, wanted.book_id)
    if book is not None and book.source == wanted.path:
        return await order_again(quoth, book)
    folder = await asyncio.to_thread(_allowed_folder, wanted.path, quoth.settings.ingest_roots)
    return IngestOrder(wanted.book_id, str(folder))


async def order_again(quoth: Quoth, book: Book) -> IngestOrder:
    """The same book from the same place. `Unreadable` if that place is gone."""
    base_url = await asyncio.to_thread(_base_url_of, book, quoth.settings.ingest_roots)
    return IngestOrder(book.book_id, book.source, base_url=base_url)


def _allowed_folder(path: str, roots: Sequence[FilePath]) -> FilePath:
    """The folder that `path` names, absolute or below a root. `Forbidden` if it is outside all roots."""
    inside = []
    for root in (root.resolve() for root in roots):
        folder = (root / path).resolve()
        if folder.is_relative_to(root):
            inside.append(folder)
    if not inside:
        raise Forbidden(
            f"{path} is not in a folder that may be ingested over HTTP.",
            hint="Add its folder to QUOTH_INGEST_ROOTS on the server, or run `quoth ingest PATH` there.",
        )
    for folder in inside:
        if folder.is_dir():
            return folder
    raise Unreadable(f"{path} is not a folder.", hint="Give the folder that holds the book.")


def _base_url_of(book: Book, roots: Sequence[FilePath]) -> str:
    """The base URL to ingest the book with again. Empty if its toolchain names the recorded one itself: a given URL is
    not read quite like one from the toolchain's own settings."""
    from quoth.sources import open_source  # imports the parsers, which answering does not need

    if not book.source:
        raise Unreadable(
            f"The folder of the book {book.book_id!r} is not recorded.", hint="Ingest it once with its path."
        )
    if book.source.startswith(("http://", "https://")):
        return ""  # a site knows its own URL, and asking it would mean a visit
    found = open_source(book.source, book_id=book.book_id, roots=roots).book.base_url
    return "" if found == book.base_url else book.base_url


def _reopen(book: Book, roots: Sequence[FilePath]) -> BookSource:
    from quoth.sources import open_source

    base_url = _base_url_of(book, roots)
    return open_source(book.source, book_id=book.book_id, base_url=base_url, roots=roots, url_style=book.url_style)


async def _find_book(quoth: Quoth, book_id: str) -> Book | None:
    try:
        return await quoth.shelf.book(book_id)
    except UnknownBook:
        return None
