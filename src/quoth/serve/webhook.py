"""`POST /ingestion/webhook/github`: a push to the book's repository starts an incremental job.

Who asks is proven by GitHub's signature over the raw body (HMAC-SHA256) and by nothing else, so nothing is looked at
before it. Which book is meant stands in the address that the operator gave to GitHub (`?book_id=`), never in the body.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import OrderedDict
from dataclasses import replace
from typing import Annotated, cast

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import Field

from quoth.errors import QuothError, Unauthorized
from quoth.ports import Clock
from quoth.serve.deps import jobs_of, quoth_of
from quoth.serve.ingestion import order_again
from quoth.serve.shapes import Shape, answers

router = APIRouter(prefix="/ingestion", tags=["ingestion"])

MAX_DELIVERY = 25 * 2**20  # GitHub sends no more
WINDOW = 3600.0  # seconds in which a delivery that comes again is known
MOST_KNOWN = 10_000

BookId = Annotated[str | None, Query(description="The book of this repository; may be left out when there is one")]
# GitHub's own words: what the body says is not looked at.
DELIVERY = {
    "requestBody": {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}},
    "parameters": [
        {"in": "header", "name": name, "description": told, "schema": {"type": "string"}, "example": example}
        for name, told, example in (
            ("X-Hub-Signature-256", "HMAC-SHA256 of the body with the secret", f"sha256={'0' * 64}"),
            ("X-GitHub-Event", "`push` starts a job", "push"),
            ("X-GitHub-Delivery", "One that comes again within an hour starts nothing again", "1"),
        )
    ],
}
HINT = "Give the webhook on GitHub the secret that stands in QUOTH_GITHUB_WEBHOOK_SECRET."


class WebhookResponse(Shape):
    message: Annotated[str, Field(examples=["pong"])]
    job_id: int | None


class Deliveries:
    """The deliveries of the last hour, so that one that is sent again starts nothing again."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: OrderedDict[str, tuple[float, int | None]] = OrderedDict()

    def __contains__(self, delivery: str) -> bool:
        now = self._clock.monotonic()
        while self._known and (len(self._known) > MOST_KNOWN or now - next(iter(self._known.values()))[0] > WINDOW):
            self._known.popitem(last=False)
        return delivery in self._known

    def add(self, delivery: str, job_id: int | None = None) -> None:
        if delivery:  # without an id nothing can be told apart
            self._known[delivery] = (self._clock.monotonic(), job_id)

    def forget(self, delivery: str) -> None:
        self._known.pop(delivery, None)

    def job_id(self, delivery: str) -> int | None:
        return self._known[delivery][1]


def check_signature(secret: str, body: bytes, header: str) -> None:
    """`Unauthorized` unless the header is GitHub's signature of exactly this body; takes as long for any header."""
    expected = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(expected.encode(), header.encode("utf-8", "replace")):
        raise Unauthorized("The signature of the webhook is wrong.", hint=HINT)


async def signed_body(request: Request) -> bytes:
    secret = quoth_of(request).settings.github_webhook_secret
    if secret is None:
        raise Unauthorized("This server has no webhook secret, so it trusts no webhook.", hint=HINT)
    header = request.headers.get("x-hub-signature-256", "")
    if not header:
        raise Unauthorized("The webhook is not signed (X-Hub-Signature-256).", hint=HINT)
    body = await request.body()
    check_signature(secret.get_secret_value(), body, header)
    return body


@router.post(
    "/webhook/github",
    openapi_extra=DELIVERY,
    responses={
        **answers(WebhookResponse, 400, 401, 404, 409, 413, 503),
        202: {"model": WebhookResponse, "description": "A job was started, or will follow the one at work"},
        204: {"description": "An event that means nothing to a book"},
    },
)
async def github(request: Request, book_id: BookId = None) -> Response:
    """GitHub's webhook: `push` ingests the book again, `ping` is answered, everything else is let pass."""
    await signed_body(request)
    event = request.headers.get("x-github-event", "")
    if event == "ping":
        return JSONResponse({"message": "pong", "job_id": None})
    if event != "push":
        return Response(status_code=204)
    deliveries = cast(Deliveries, request.app.state.deliveries)
    delivery = request.headers.get("x-github-delivery", "")
    if delivery in deliveries:
        return JSONResponse({"message": "already received", "job_id": deliveries.job_id(delivery)})
    deliveries.add(delivery)  # before anything is awaited: the same delivery may come twice at once
    try:
        job_id = await start_job(request, book_id)
    except QuothError:
        deliveries.forget(delivery)
        raise
    deliveries.add(delivery, job_id)
    if job_id is None:
        message = "a job is at work on the book; another one follows it"
        return JSONResponse({"message": message, "job_id": None}, status_code=202)
    headers = {"location": f"/ingestion/jobs/{job_id}"}
    return JSONResponse({"message": "started", "job_id": job_id}, status_code=202, headers=headers)


async def start_job(request: Request, book_id: str | None) -> int | None:
    quoth = quoth_of(request)
    order = await order_again(await quoth.choose_book(book_id))
    job = await jobs_of(request).start_or_follow(replace(order, pull=quoth.settings.webhook_pull))
    return None if job is None else job.job_id
