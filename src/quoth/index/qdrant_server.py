"""Talking to Qdrant: REST calls with JSON, every one with a time limit and a few attempts, and our own errors.

Under `qdrant` and its parts, above `qdrant_nodes`. In: a path and a body. Out: the result of the answer; whatever goes
wrong is raised as an error of `quoth.errors`. Every call that is made here may be made twice, and at any node: ids are
ours, and what depends on the state before says so in its filter. What a foreign server says, and where it is, goes into
the `inside` of an error, which only the operator reads. It must not know what is stored.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from pydantic_core import from_json, to_json

from quoth.errors import BadConfiguration, IndexUnavailable, QuothError
from quoth.index.qdrant_nodes import NoAnswer, Node, Nodes, Reply, Request
from quoth.retrying import PASSING_STATUSES, Passing, Retries, retry_after

Json = dict[str, Any]

# The first version that finds addresses by their prefix.
OLDEST = (1, 19)
REBUILD = "Build it again: `quoth ingest PATH`, or `quoth migrate-index --to cluster`."

_ATTEMPTS = 3
_LONGEST_WAIT = 5.0  # seconds that a server may ask for
# A write waits for every copy, even for one that hangs, until the server has given that one up.
_WRITE_ATTEMPTS = 8
_WRITE_SECONDS = 90.0
_WRITE_WAIT = 3.0  # seconds of silence before another node is asked to write the same
_NODE_SECONDS = 1.0  # for one node, when every node is asked
_LONG_READ_WAIT = 2.0  # the same for what is read in large pieces

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class QdrantOptions:
    urls: tuple[str, ...]
    api_key: str | None = field(default=None, repr=False)
    collection: str = "quoth"
    replicas: int = 1
    shards: int = 1
    write_consistency: int | None = None  # copies that have a write before it is done; None: a majority of them
    int8: bool = False  # dense vectors of a new collection also as bytes in memory, which are compared first
    on_disk: bool = False  # dense vectors of a new collection on disk instead of in memory
    batch: int = 128  # points in one write
    timeout: float = 10.0  # seconds, for one attempt
    backoff: float = 0.2  # seconds before the second attempt; see `retrying`
    lease: float = 18.0  # seconds after which a silent writer is taken for dead

    @property
    def copies(self) -> Json:
        """How a new collection is kept."""
        majority = self.replicas // 2 + 1
        return {
            "replication_factor": self.replicas,
            "write_consistency_factor": min(self.replicas, self.write_consistency or majority),
        }


class CollectionMissing(IndexUnavailable):
    """Before the first book is written, this is not a fault; afterwards somebody has deleted it."""

    retryable = False


class AlreadyThere(IndexUnavailable):
    """Another process has just created it."""


class Server:
    def __init__(self, options: QdrantOptions) -> None:
        if options.api_key and any(url.startswith("http://") for url in options.urls):
            log.warning("QDRANT_API_KEY is sent over an unencrypted connection")
        self.options = options
        self.nodes = Nodes(options.urls, options.api_key)
        self._greeted = False
        self._greeting = asyncio.Lock()

    async def question(
        self, path: str, body: Json, *, query: Mapping[str, str] | None = None, at: Node | None = None
    ) -> Any:
        """A short read that somebody waits for, so no node is given long. `at`: the node to ask first."""
        return self._result(await self._ask(_request("POST", path, body, query), at=at))

    async def question_and_node(
        self, path: str, body: Json, *, query: Mapping[str, str] | None = None, at: Node | None = None
    ) -> tuple[Any, Node]:
        """The same, with the node that answered."""
        reply = await self._ask(_request("POST", path, body, query), at=at)
        return self._result(reply), reply.node

    async def read(self, path: str, body: Json | None = None, *, at: Node | None = None) -> Any:
        """A read that may take longer."""
        request = _request("GET" if body is None else "POST", path, body)
        return self._result(await self._ask(request, wait=_LONG_READ_WAIT, at=at))

    async def state(self, path: str) -> Any:
        """What the nearest node says about the cluster or a collection, for a caller who is waiting."""
        return self._result(await self._ask(_request("GET", path)))

    async def write(
        self, path: str, body: Json, *, method: str = "POST", ordering: str = "weak", patience: float = 1.0
    ) -> None:
        """Returns when the change is applied, not when it was merely received. `patience`: how many times the usual
        timeout one attempt may take."""
        query = {"wait": "true", **({"ordering": ordering} if ordering != "weak" else {})}
        request = _request(method, path, body, query)
        done = self._result(await self._ask(request, wait=_WRITE_WAIT, patience=patience, writes=True))
        if done["status"] != "completed":
            raise self._unavailable(f"a write is {done['status']} instead of completed")

    async def make(self, path: str, body: Json, *, method: str = "PUT", patience: float = 1.0) -> None:
        """Create or change a collection."""
        self._result(await self._ask(_request(method, path, body), wait=_WRITE_WAIT, patience=patience, writes=True))

    async def of_each(self, path: str, body: Json) -> list[Any]:
        """What each node says, from what it has at hand: those that answer within a second; `IndexUnavailable` if none
        does."""

        async def said_by(node: Node) -> Any:
            try:
                async with asyncio.timeout(_NODE_SECONDS):
                    return self._result(await self.nodes.ask_one(node, _request("POST", path, body)))
            except (NoAnswer, TimeoutError, IndexUnavailable) as silence:
                return silence

        said = await asyncio.gather(*map(said_by, self.nodes.all))
        answers = [one for one in said if not isinstance(one, Exception)]
        if not answers:
            raise self._unavailable("no node answers") from said[0]
        return answers

    async def of_one(self, node: Node, path: str) -> Any:
        """What one node says about itself."""
        try:
            return self._result(await self.nodes.ask_one(node, _request("GET", path)))
        except NoAnswer as none:
            raise self._unavailable(f"{node.name}: {none}") from none

    async def close(self) -> None:
        await self.nodes.close()

    async def _ask(
        self,
        request: Request,
        *,
        wait: float | None = None,
        patience: float = 1.0,
        writes: bool = False,
        at: Node | None = None,
    ) -> Reply:
        if not self._greeted:
            async with self._greeting:
                if not self._greeted:
                    self._check_version(await self._attempts(Request("GET", "/"), None, 1.0, writes=False))
                    self._greeted = True
        return await self._attempts(request, wait, patience, writes=writes, at=at)

    async def _attempts(
        self, request: Request, wait: float | None, patience: float, *, writes: bool, at: Node | None = None
    ) -> Reply:
        limit = self.options.timeout * patience

        async def attempt(_: int) -> Reply:
            try:
                reply = await self.nodes.ask(request, limit=limit, wait=wait, first=at)
            except NoAnswer as none:
                raise Passing(self._unavailable(str(none))) from none
            if reply.status in PASSING_STATUSES:
                said, _ = _said(reply)
                raise Passing(self._unavailable(f"{said} ({reply.status})"), retry_after(reply.retry_after))
            return reply

        attempts = _WRITE_ATTEMPTS if writes else _ATTEMPTS
        until = asyncio.get_running_loop().time() + max(_WRITE_SECONDS, limit * _ATTEMPTS)
        retries = Retries(attempts, backoff=self.options.backoff, longest_wait=_LONGEST_WAIT)
        return await retries.run(attempt, until=until)

    def _result(self, reply: Reply) -> Any:
        if reply.status != 200:
            raise self._fault(reply)
        try:
            return from_json(reply.body)["result"]
        except (ValueError, KeyError, TypeError) as error:
            raise self._stranger() from error

    def _fault(self, reply: Reply) -> QuothError:
        said, from_qdrant = _said(reply)
        told = f"{said} ({reply.status})"
        if reply.status in (401, 403):
            return BadConfiguration(
                "Qdrant refuses the API key.",
                hint="Set QDRANT_API_KEY to a key of that server that may read and write its collections.",
                inside=self._inside(told),
            )
        if not from_qdrant:
            return self._stranger()
        if reply.status == 404:
            return CollectionMissing("The index is not on the Qdrant server.", hint=REBUILD, inside=self._inside(told))
        if reply.status == 409:
            return AlreadyThere("Qdrant already has it.", inside=self._inside(told))
        return self._unavailable(told)

    def _check_version(self, reply: Reply) -> None:
        if reply.status != 200:
            raise self._fault(reply)
        try:
            info = from_json(reply.body)
            version, title = str(info["version"]), str(info["title"])
        except (ValueError, KeyError, TypeError) as error:
            raise self._stranger() from error
        parts = version.split(".")[:2]
        if "qdrant" not in title.lower() or not all(part.isdigit() for part in parts):
            raise self._stranger()
        if tuple(map(int, parts)) < OLDEST:
            wanted = ".".join(map(str, OLDEST))
            raise BadConfiguration(
                f"Qdrant has version {version}; Quoth needs {wanted} or newer.",
                hint="Update the server: older versions cannot find addresses by their prefix.",
                inside=self._inside("it is too old"),
            )

    def _unavailable(self, why: str) -> IndexUnavailable:
        return IndexUnavailable(
            "The index cannot be used: Qdrant does not answer properly.",
            hint="Check that it is running and that QDRANT_URL is right, then try again. Nothing is lost.",
            inside=self._inside(why),
        )

    def _stranger(self) -> IndexUnavailable:
        return IndexUnavailable(
            "The server at QDRANT_URL does not answer like Qdrant.",
            hint="QDRANT_URL must name a Qdrant server.",
            inside=self._inside("not an answer of Qdrant"),
        )

    def _inside(self, why: str) -> str:
        return f"{self.nodes.name}: {why}"


def _request(method: str, path: str, body: Json | None = None, query: Mapping[str, str] | None = None) -> Request:
    address = f"{path}?{urlencode(query)}" if query else path
    return Request(method, address, None if body is None else to_json(body))


def _said(reply: Reply) -> tuple[str, bool]:
    """What the server says went wrong, and whether it says so as Qdrant does rather than as some proxy."""
    try:
        said = from_json(reply.body)["status"]["error"]
    except (ValueError, KeyError, TypeError):
        return reply.body[:200].decode("utf-8", "replace").strip() or "no reason given", False
    return str(said).rstrip("."), True
