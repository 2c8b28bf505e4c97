"""The addresses of a Qdrant server or cluster: which one is asked, which one next, and which is left alone for a while.

Under `qdrant_server`. In: an HTTP request that any node can answer, and that may be made twice. Out: the first answer
that is one. The next address is asked at once when one refuses or has a fault of its own, and after a short wait when
one is silent; the first answer is taken. An address that failed or was outrun is asked last for a while, then tried
again. The only module of the index that knows aiohttp. It must not know what is asked.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from urllib.parse import urlsplit

import aiohttp

from quoth.retrying import PASSING_STATUSES

_FIRST_PAUSE = 2.0  # seconds for which an address that failed is left alone; doubled each time it fails again
_LONGEST_PAUSE = 30.0
_SHORTEST_WAIT = 0.25  # seconds of silence before a second address is asked a question
_LONGEST_WAIT = 1.5
_TIMES_USUAL = 3  # a node is silent when it takes so many times as long as usual
_SHARE = 0.05  # of the last answer in what is usual
# Shorter than the server's own limit, so that it is rarely the server who closes a connection that we are about to use.
_KEEP_ALIVE = 4.0
_NOT_FOUND = 404

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str  # with the query
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    body: bytes
    retry_after: str = ""


class NoAnswer(Exception):
    """Nobody answered: refused, closed, or silent for too long."""


@dataclass(slots=True)
class Node:
    """One address, and how it is."""

    url: str
    pause: float = 0.0  # 0: it is well
    quiet_until: float = 0.0
    fault: str = ""

    @property
    def name(self) -> str:
        return urlsplit(self.url).netloc


class Nodes:
    def __init__(self, urls: Sequence[str], api_key: str | None) -> None:
        self.all = [Node(url.rstrip("/")) for url in urls]
        self._headers = {"Accept-Encoding": "identity", **({"api-key": api_key} if api_key else {})}
        self._session: aiohttp.ClientSession | None = None
        self._turn = random.randrange(len(self.all))  # processes begin at different nodes
        self._usual = 0.0  # seconds for a question

    @property
    def name(self) -> str:
        return ", ".join(node.name for node in self.all)

    async def ask(self, request: Request, *, limit: float, wait: float | None = None) -> Reply:
        """The first answer of any node. `wait`: seconds of silence before the next one is asked; None: a few times as
        long as a question usually takes. An answer that says "not found" counts when a second node says so too: the
        first may not have heard yet of what another has just made."""
        asking = _Asking(self, request, self._patience() if wait is None else wait)
        try:
            async with asyncio.timeout(limit):
                begun = time.monotonic()
                reply = await asking.answer()
        except TimeoutError:
            for node in asking.pending.values():
                self._failed(node, f"no answer within {limit:g} s")
            raise NoAnswer(f"no answer within {limit:g} s") from None
        finally:
            await asking.stop()
        if wait is None:
            self._usual += _SHARE * (time.monotonic() - begun - self._usual)
        return reply

    async def ask_one(self, node: Node, request: Request) -> Reply:
        """`NoAnswer` when it refuses or breaks off."""
        headers = self._headers if request.body is None else {**self._headers, "Content-Type": "application/json"}
        try:
            async with self._opened().request(
                request.method, node.url + request.path, data=request.body, headers=headers, allow_redirects=False
            ) as response:
                return Reply(response.status, await response.read(), _retry_after(response.headers))
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise NoAnswer(str(error) or type(error).__name__) from error

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def in_order(self) -> list[Node]:
        """Those that are well take turns to be first. One that was not is tried again by one request at a time."""
        now = time.monotonic()
        self._turn += 1
        turned = [self.all[(self._turn + place) % len(self.all)] for place in range(len(self.all))]
        found = sorted(turned, key=lambda node: max(0.0, node.quiet_until - now))
        if found[0].pause:
            found[0].quiet_until = now + found[0].pause
        return found

    def answered(self, node: Node) -> None:
        if node.pause:
            log.info("a Qdrant node answers again", extra={"node": node.name})
            node.pause, node.quiet_until, node.fault = 0.0, 0.0, ""

    def outrun(self, node: Node) -> None:
        self._failed(node, "it was silent while another answered")

    def _failed(self, node: Node, fault: str) -> None:
        if not node.pause:
            # Of a server alone the caller hears it anyway.
            level = logging.WARNING if len(self.all) > 1 else logging.INFO
            log.log(level, "a Qdrant node is left alone for a while", extra={"node": node.name, "fault": fault})
        node.pause = min(_LONGEST_PAUSE, 2 * node.pause or _FIRST_PAUSE)
        node.quiet_until, node.fault = time.monotonic() + node.pause, fault

    def failed(self, node: Node, outcome: Reply | NoAnswer) -> None:
        self._failed(node, f"status {outcome.status}" if isinstance(outcome, Reply) else str(outcome))

    def _patience(self) -> float:
        return min(_LONGEST_WAIT, max(_SHORTEST_WAIT, _TIMES_USUAL * self._usual))

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_ALIVE),
                timeout=aiohttp.ClientTimeout(total=None),  # the limit is that of the whole call
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session


@dataclass(slots=True)
class _Asking:
    """One request, and the nodes that were asked it, in this order."""

    nodes: Nodes
    request: Request
    wait: float
    pending: dict[asyncio.Task[Reply | NoAnswer], Node] = field(default_factory=dict)
    missing: int = 0  # nodes that have said "not found"
    fault: Reply | NoAnswer = field(default_factory=lambda: NoAnswer("no address was asked"))

    async def answer(self) -> Reply:
        left = self.nodes.in_order()
        self._begin(left.pop(0))
        while self.pending:
            in_time = self.wait if left or self.missing else None
            done, _ = await asyncio.wait(self.pending, timeout=in_time, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                before = takewhile(lambda other, task=task: other is not task, self.pending)  # type: ignore[misc]
                silent = [self.pending[other] for other in before if not other.done()]
                node = self.pending.pop(task)
                if (reply := self._taken(node, task.result(), silent)) is not None:
                    return reply
            if left:
                self._begin(left.pop(0))
            elif not done:
                break  # one has said that it is not there, and the others are silent
        if isinstance(self.fault, NoAnswer):
            raise self.fault
        return self.fault

    def _begin(self, node: Node) -> None:
        self.pending[asyncio.create_task(self._ask(node))] = node

    async def _ask(self, node: Node) -> Reply | NoAnswer:
        try:
            return await self.nodes.ask_one(node, self.request)
        except NoAnswer as none:
            return none

    def _taken(self, node: Node, outcome: Reply | NoAnswer, silent: Sequence[Node]) -> Reply | None:
        """The outcome, if that is the end of it. `silent`: nodes that were asked before this one."""
        if isinstance(outcome, NoAnswer) or outcome.status in PASSING_STATUSES:
            self.nodes.failed(node, outcome)
            if isinstance(outcome, Reply) or isinstance(self.fault, NoAnswer):
                self.fault = outcome  # what a server says tells more than silence
            return None
        self.nodes.answered(node)
        if outcome.status == _NOT_FOUND:
            self.missing, self.fault = self.missing + 1, outcome
            return outcome if self.missing > 1 else None
        for slower in silent:
            self.nodes.outrun(slower)
        return outcome

    async def stop(self) -> None:
        for task in self.pending:
            task.cancel()
        if self.pending:
            await asyncio.wait(self.pending)


def _retry_after(headers: Mapping[str, str]) -> str:
    return headers.get("Retry-After", "")
