"""Talking to a Qdrant server: one client, every call with a time limit, three attempts, and errors of ours.

Under `adapters/qdrant.py` and its two parts. In comes a call on qdrant-client, out comes its result; whatever goes
wrong leaves as an error of `quoth.errors`. Calls are repeated only where that can help, and every call that is made
here may be made twice: ids are ours, and what depends on the state before says so in its filter. It must not know
what is stored.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import warnings
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import urlsplit

import httpx
from grpc import StatusCode
from grpc.aio import AioRpcError
from pydantic import ValidationError
from qdrant_client import AsyncQdrantClient, models
from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

from quoth.errors import BadConfiguration, IndexUnavailable, QuothError
from quoth.retrying import PASSING_STATUSES, Passing, Retries

T = TypeVar("T")
Call = Callable[[AsyncQdrantClient], Awaitable[T]]

# The first server whose IDF can be limited to one book and which finds addresses by their beginning.
OLDEST = (1, 19)
# All that the client raises; an answer without a result is an AssertionError.
FOREIGN = (ApiException, QdrantException, AioRpcError, ValidationError, json.JSONDecodeError, AssertionError)
_LONGEST_WAIT = 5.0  # seconds that a server may ask for
_LIKE_HTTP = {
    StatusCode.UNAUTHENTICATED: 401,
    StatusCode.PERMISSION_DENIED: 403,
    StatusCode.NOT_FOUND: 404,
    StatusCode.ALREADY_EXISTS: 409,
    StatusCode.RESOURCE_EXHAUSTED: 429,
    StatusCode.UNAVAILABLE: 503,
    StatusCode.DEADLINE_EXCEEDED: 504,
    StatusCode.INTERNAL: 500,
    StatusCode.ABORTED: 500,
    StatusCode.CANCELLED: 500,
}

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class QdrantOptions:
    url: str
    api_key: str | None = field(default=None, repr=False)
    collection: str = "quoth"
    replicas: int = 1
    shards: int = 1
    write_consistency: int | None = None  # replicas that have a write before it is done; None: all of them
    prefer_grpc: bool = False
    grpc_port: int = 6334
    batch: int = 128  # points in one write
    timeout: float = 10.0  # seconds, for one attempt
    backoff: float = 0.2  # seconds before the second attempt; see `retrying`
    lease: float = 60.0  # seconds after which a writer that is silent has died


class CollectionMissing(IndexUnavailable):
    """Before the first book is written that is no fault at all; afterwards somebody has deleted it."""

    retryable = False


class AlreadyThere(IndexUnavailable):
    """Somebody else has just created it."""


class Server:
    def __init__(self, options: QdrantOptions) -> None:
        self.options = options
        self.name = urlsplit(options.url).netloc.rpartition("@")[2]
        self._client = _client(options)
        self._greeted = False
        self._greeting = asyncio.Lock()

    async def ask(self, call: Call[T], *, patience: float = 1.0) -> T:
        """`patience`: how many times the usual timeout it may take."""
        if not self._greeted:
            async with self._greeting:
                if not self._greeted:
                    self._check_version(await self._attempts(lambda client: client.info(), 1.0))
                    self._greeted = True
        return await self._attempts(call, patience)

    async def write(self, call: Call[models.UpdateResult], *, patience: float = 1.0) -> None:
        """Returns when the change is in, not when it was merely heard of."""
        done = await self.ask(call, patience=patience)
        if done.status != models.UpdateStatus.COMPLETED:
            raise self._unavailable(f"a write is {done.status.value} instead of completed")

    async def close(self) -> None:
        await self._client.close()

    async def _attempts(self, call: Call[T], patience: float) -> T:
        limit = self.options.timeout * patience

        async def attempt(number: int) -> T:
            try:
                async with asyncio.timeout(limit):
                    return await call(self._client)
            except TimeoutError as error:
                raise Passing(self._unavailable(f"no answer within {limit:g} s")) from error
            except FOREIGN as error:
                raise self._fault(error) from error

        return await Retries(attempts=3, backoff=self.options.backoff, longest_wait=_LONGEST_WAIT).run(attempt)

    def _fault(self, error: Exception) -> QuothError | Passing:
        match error:
            case ResponseHandlingException(source=httpx.TransportError() as source):
                return Passing(self._unavailable(str(source) or type(source).__name__))
            case ResourceExhaustedResponse():
                return Passing(self._unavailable(f"{error} (429)"), error.retry_after_s)
            case UnexpectedResponse():
                return self._status(error.status_code or 0, *_said(error))
            case AioRpcError():
                return self._status(_LIKE_HTTP.get(error.code(), 400), error.details() or error.code().name, True)
            case _:
                return self._stranger()

    def _status(self, status: int, said: str, from_qdrant: bool) -> QuothError | Passing:
        if status in (401, 403):
            return BadConfiguration(
                f"Qdrant at {self.name} refuses the key ({status}: {said}).",
                hint="Set QDRANT_API_KEY to a key of that server that may read and write its collections.",
            )
        if not from_qdrant and status not in PASSING_STATUSES:
            return self._stranger()
        if status == 404:
            return CollectionMissing(f"Qdrant at {self.name} does not have it: {said}.", hint=REBUILD)
        if status == 409:
            return AlreadyThere(f"Qdrant at {self.name}: {said}.")
        error = self._unavailable(f"{said} ({status})")
        return Passing(error) if status in PASSING_STATUSES else error

    def _check_version(self, info: models.VersionInfo) -> None:
        parts = info.version.split(".")[:2]
        if "qdrant" not in info.title.lower() or not all(part.isdigit() for part in parts):
            raise self._stranger()
        if tuple(map(int, parts)) < OLDEST:
            wanted = ".".join(map(str, OLDEST))
            raise BadConfiguration(
                f"Qdrant at {self.name} has version {info.version}; Quoth needs {wanted} or newer.",
                hint="Older ones would weigh the words of all books together. Update the server.",
            )

    def _unavailable(self, why: str) -> IndexUnavailable:
        return IndexUnavailable(
            f"Qdrant at {self.name} cannot be used: {why}.",
            hint="Is it running, and is QDRANT_URL right? Nothing is lost; try again in a moment.",
        )

    def _stranger(self) -> IndexUnavailable:
        return IndexUnavailable(
            f"What answers at {self.name} does not answer like Qdrant.", hint="QDRANT_URL must name a Qdrant server."
        )


REBUILD = "Write it again: `quoth ingest PATH`, or `quoth migrate-index --to cluster`."


def _client(options: QdrantOptions) -> AsyncQdrantClient:
    if options.api_key and urlsplit(options.url).scheme == "http":
        log.warning("QDRANT_API_KEY is sent over an unencrypted connection")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the client: it says the same, on standard error
        return AsyncQdrantClient(
            url=options.url,
            api_key=options.api_key,
            prefer_grpc=options.prefer_grpc,
            grpc_port=options.grpc_port,
            # Ours is the limit; the client only knows whole seconds.
            timeout=math.ceil(options.timeout * 10),
            check_compatibility=False,
        )


def _said(error: UnexpectedResponse) -> tuple[str, bool]:
    """What the server says went wrong, and whether it says so as Qdrant does rather than as some proxy."""
    try:
        said = json.loads(error.content)["status"]["error"]
    except (ValueError, KeyError, TypeError):
        return error.reason_phrase or "no reason given", False
    return str(said).rstrip("."), True
