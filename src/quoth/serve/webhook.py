"""`POST /ingestion/webhook/github`: a push to the book's repository starts an incremental job.

GitHub signs the raw body (HMAC-SHA256) and nothing else. So the body alone says what happened and in which repository;
the headers (event, delivery id) are ignored, and `?book_id=` in the URL only chooses between books from that
repository, or from a folder that belongs to none. A repeated body starts nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import re
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, cast
from urllib.parse import parse_qs, urlsplit

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import Field

from quoth.bootstrap import Quoth
from quoth.domain import Book
from quoth.errors import Forbidden, NotFound, QuothError, Unauthorized, WrongUsage
from quoth.ports import Clock
from quoth.serve.bodies import decode
from quoth.serve.deps import jobs_of, quoth_of
from quoth.serve.ingestion import order_again
from quoth.serve.shapes import Shape, answers

router = APIRouter(prefix="/ingestion", tags=["ingestion"])

MAX_DELIVERY = 25 * 2**20  # bytes; GitHub sends no more
WINDOW = 86_400.0  # seconds for which a body is remembered
MOST_KNOWN = 10_000  # bodies

_BookId = Annotated[
    str | None, Query(description="Which book, if several come from this repository or from no known one")
]
_SIGNATURE = {
    "in": "header",
    "name": "X-Hub-Signature-256",
    "description": "HMAC-SHA256 of the body with the secret",
    "schema": {"type": "string"},
    "example": f"sha256={'0' * 64}",
}
_DELIVERY = {
    "requestBody": {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}},
    "parameters": [_SIGNATURE],
}
_SET_SECRET = "Set the webhook's secret on GitHub to the value of QUOTH_GITHUB_WEBHOOK_SECRET."
_NAME_BOOK = "Add ?book_id=ID to the webhook's URL on GitHub."


class WebhookResponse(Shape):
    message: Annotated[str, Field(examples=["pong"])]
    job_id: int | None


class Deliveries:
    """The bodies of the last day, so that a repeated one starts nothing. Each process has its own: after a restart, or
    at another worker, a repeated body costs one job that finds nothing new."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: OrderedDict[str, tuple[float, int | None]] = OrderedDict()

    def __contains__(self, digest: str) -> bool:
        now = self._clock.monotonic()
        while self._known and (len(self._known) > MOST_KNOWN or now - next(iter(self._known.values()))[0] > WINDOW):
            self._known.popitem(last=False)
        return digest in self._known

    def add(self, digest: str, job_id: int | None = None) -> None:
        self._known[digest] = (self._clock.monotonic(), job_id)

    def forget(self, digest: str) -> None:
        self._known.pop(digest, None)

    def job_id(self, digest: str) -> int | None:
        return self._known[digest][1]


@router.post(
    "/webhook/github",
    openapi_extra=_DELIVERY,
    responses={
        **answers(WebhookResponse, 400, 401, 403, 404, 409, 413, 503),
        202: {"model": WebhookResponse, "description": "A job was started, or will follow the running one"},
        204: {"description": "An event that does not concern a book"},
    },
)
async def github(request: Request, book_id: _BookId = None) -> Response:
    """GitHub's webhook: a push ingests the book again, a ping is answered, everything else is ignored."""
    body = await _signed_body(request)
    event = _read_event(body)
    happened = _kind_of(event)
    if happened == "ping":
        return _told("pong", None)
    if happened != "push":
        return Response(status_code=204)
    deliveries = cast(Deliveries, request.app.state.deliveries)
    digest = hashlib.sha256(body).hexdigest()
    if digest in deliveries and not await _failed(quoth_of(request), deliveries.job_id(digest)):
        return _told("already received", deliveries.job_id(digest))
    deliveries.add(digest)  # before anything is awaited: the same delivery may come twice at once
    try:
        job_id = await _start_job(request, await _pushed_book(quoth_of(request), event, book_id))
    except QuothError:
        deliveries.forget(digest)
        raise
    deliveries.add(digest, job_id)
    if job_id is None:
        return _told("a job for this book is running; another one will follow", None, status=202)
    return _told("started", job_id, status=202, location=f"/ingestion/jobs/{job_id}")


def _told(message: str, job_id: int | None, *, status: int = 200, location: str = "") -> JSONResponse:
    body: WebhookResponse = {"message": message, "job_id": job_id}
    return JSONResponse(body, status_code=status, headers={"location": location} if location else None)


async def _failed(quoth: Quoth, job_id: int | None) -> bool:
    """Whether the job of an earlier delivery failed: then GitHub's "Redeliver" tries again."""
    return job_id is not None and (await quoth.library.job(job_id)).status == "failed"


async def _start_job(request: Request, book: Book) -> int | None:
    quoth = quoth_of(request)
    order = replace(await order_again(quoth, book), pull=quoth.settings.webhook_pull)
    job = await jobs_of(request).start_or_follow(order)
    return None if job is None else job.job_id


# --- the signature ---------------------------------------------------------------------------------------------------


def check_signature(secret: str, body: bytes, header: str) -> None:
    """`Unauthorized` unless the header is GitHub's signature of exactly this body. Any header takes the same time."""
    expected = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(expected.encode(), header.encode("utf-8", "replace")):
        raise Unauthorized("The webhook's signature is wrong.", hint=_SET_SECRET)


async def _signed_body(request: Request) -> bytes:
    secret = quoth_of(request).settings.github_webhook_secret
    if secret is None:
        raise Unauthorized("This server has no webhook secret, so it trusts no webhook.", hint=_SET_SECRET)
    header = request.headers.get("x-hub-signature-256", "")
    if not header:
        raise Unauthorized("The webhook is not signed (X-Hub-Signature-256).", hint=_SET_SECRET)
    body = await request.body()
    check_signature(secret.get_secret_value(), body, header)
    return body


def _read_event(body: bytes) -> dict[str, Any]:
    """GitHub sends JSON, or a form with the JSON in `payload`, which is its default."""
    forms = parse_qs(body.decode("utf-8", "replace")).get("payload") if body.startswith(b"payload=") else None
    event = decode(forms[0].encode() if forms else body)
    return event if isinstance(event, dict) else {}


def _kind_of(event: dict[str, Any]) -> Literal["ping", "push", "other"]:
    if "zen" in event:
        return "ping"
    is_push = isinstance(event.get("ref"), str) and isinstance(event.get("after"), str)
    return "push" if is_push and isinstance(event.get("repository"), dict) else "other"


# --- which book ------------------------------------------------------------------------------------------------------


async def _pushed_book(quoth: Quoth, event: dict[str, Any], book_id: str | None) -> Book:
    """The book from the signed repository; or one from no repository, if it is the only one or named."""
    pushed = _repository_names(event["repository"])
    books = [await quoth.choose_book(book_id)] if book_id else await quoth.books()
    remotes = await asyncio.to_thread(lambda: {book.book_id: remote_of(book.source) for book in books})
    found = [book for book in books if remotes[book.book_id] in pushed]
    found = found or [book for book in books if not remotes[book.book_id]]
    if not found and book_id:
        raise Forbidden(f"The book {book_id!r} does not come from the repository of this push.", hint=_NAME_BOOK)
    if not found:
        raise NotFound("No book comes from the repository of this push.", hint="Ingest its checkout once.")
    return _one_of(found, quoth.settings.book)


def _one_of(books: list[Book], configured: str | None) -> Book:
    """The only one, or the configured one of several."""
    chosen = [book for book in books if book.book_id == configured] if len(books) > 1 else books
    if len(chosen) != 1:
        raise WrongUsage(
            f"This push may be for several books: {', '.join(book.book_id for book in books)}.", hint=_NAME_BOOK
        )
    return chosen[0]


def _repository_names(repository: dict[str, Any]) -> set[str]:
    urls = (repository.get(name) for name in ("clone_url", "ssh_url", "git_url", "html_url"))
    return {_repository_name(url) for url in urls if isinstance(url, str)} - {""}


def _repository_name(url: str) -> str:
    """`github.com/owner/name`, however the URL is written; empty for a folder on this machine."""
    if short := re.fullmatch(r"(?:[^@/\s]+@)?([^:/\s]+):(?!//)([^\s]+)", url):  # git@github.com:owner/name.git
        host, path = short.groups()
    else:
        try:
            parts = urlsplit(url)
        except ValueError:
            return ""
        host, path = parts.hostname or "", parts.path
    return f"{host}/{path.strip('/').removesuffix('.git')}".lower() if host else ""


def remote_of(source: str) -> str:
    """The repository (`origin`) that the book's folder is a checkout of; empty if it is not a checkout."""
    if not source or "://" in source:
        return ""
    folder = Path(source)
    git = next((place / ".git" for place in (folder, *folder.parents) if (place / ".git").is_dir()), None)
    try:
        lines = (git / "config").read_text("utf-8", "replace").splitlines() if git else []
    except OSError:
        return ""
    return _repository_name(_origin_url(lines))


def _origin_url(lines: Iterable[str]) -> str:
    section = ""
    for line in lines:
        if line.strip().startswith("["):
            section = line.strip()
        elif section == '[remote "origin"]' and (url := re.fullmatch(r"\s*url\s*=\s*(\S+)\s*", line)):
            return url[1]
    return ""
