"""The addresses of a Qdrant server or cluster: which one is asked, which one next, and which is left alone for a while.

Under `qdrant_server`. In: an HTTP request that any node can answer, and that may be made twice. Out: the first answer
that is one. The next address is asked at once when one refuses or has a fault of its own, and after a short wait when
one is silent; the first answer is taken. An address that failed, was outrun or is behind is asked last for a while,
then tried again. The only module of the index that knows aiohttp. It must not know what is asked.
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
_LONGEST_WAIT = 0.6
_TIMES_USUAL = 3  # a node is silent when it takes this many times as long as usual
_SHARE = 0.05  # weight of the last answer in what is usual
# If every node is slow, asking twice makes it worse: each question allows a tenth of a second request, and at most so
# many are saved up. When none is left, it takes longer until a second address is asked.
_SECONDS_ALLOWED = 0.1
_MOST_ALLOWED = 20.0
_WAIT_UNDER_LOAD = 1.5
_TIMES_FASTER = 3  # a node is outrun by one that is this many times as fast
# Shorter than the server's own limit, so that the server rarely closes a connection that we are about to use.
_KEEP_ALIVE = 4.0
_NOT_FOUND = 404

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str  # with the query
    body: bytes | None = None


@dataclass(slots=True)
class Node:
    """One address and its state."""

    url: str
    pause: float = 0.0  # 0: it is healthy
    quiet_until: float = 0.0
    fault: str = ""
    trying: bool = False  # a request is trying it again right now
    behind_until: float = 0.0
    heard: float = 0.0  # when it last answered anything

    @property
    def name(self) -> str:
        return urlsplit(self.url).netloc

    @property
    def alone_until(self) -> float:
        return max(self.quiet_until, self.behind_until)

    @property
    def is_behind(self) -> bool:
        return self.behind_until > _now()


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    body: bytes
    node: Node
    retry_after: str = ""


class NoAnswer(Exception):
    """Nobody answered: refused, closed, or silent for too long."""


class Nodes:
    def __init__(self, urls: Sequence[str], api_key: str | None) -> None:
        self.all = [Node(url.rstrip("/")) for url in urls]
        self._headers = {"Accept-Encoding": "identity", **({"api-key": api_key} if api_key else {})}
        self._session: aiohttp.ClientSession | None = None
        self._closed = False
        self._turn = random.randrange(len(self.all))  # processes begin at different nodes
        self._usual = 0.0  # seconds for a question
        self._allowed = _MOST_ALLOWED  # second addresses that may be asked because the first is silent

    @property
    def name(self) -> str:
        return ", ".join(node.name for node in self.all)

    async def ask(
        self, request: Request, *, limit: float, wait: float | None = None, first: Node | None = None
    ) -> Reply:
        """The first answer of any node. `wait`: seconds of silence before the next one is asked; None: a few times as
        long as a question usually takes. `first`: the node to ask first, unless it has failed. A "not found" counts
        when a second node says so too: the first may not yet have heard of what another has just made."""
        well = first is not None and (first.trying or not first.pause) and not first.is_behind
        order = [first, *self._others(first)] if first is not None and well else self.in_order()
        asking = _Asking(self, request, order, self._patience() if wait is None else wait)
        try:
            async with asyncio.timeout(limit):
                begun = _now()
                reply = await asking.answer()
        except TimeoutError:
            for asked in asking.pending.values():
                self._failed(asked.node, f"no answer within {limit:g} s")
            raise NoAnswer(f"no answer within {limit:g} s") from None
        finally:
            await asking.stop()
        if wait is None:
            self._usual += _SHARE * (_now() - begun - self._usual)
            self._allowed = min(_MOST_ALLOWED, self._allowed + _SECONDS_ALLOWED)
        return reply

    async def ask_one(self, node: Node, request: Request) -> Reply:
        """`NoAnswer` when it refuses or breaks off."""
        headers = self._headers if request.body is None else {**self._headers, "Content-Type": "application/json"}
        try:
            async with self._opened().request(
                request.method, node.url + request.path, data=request.body, headers=headers, allow_redirects=False
            ) as response:
                reply = Reply(response.status, await response.read(), node, _retry_after(response.headers))
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise NoAnswer(str(error) or type(error).__name__) from error
        node.heard = _now()
        return reply

    async def close(self) -> None:
        """For good: a request that comes later opens nothing, since nobody would close it."""
        self._closed = True
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def next(self) -> Node:
        """The node whose turn it is."""
        return self.in_order()[0]

    def in_order(self) -> list[Node]:
        """Healthy nodes take turns at being first. One that failed is tried again by one request at a time."""
        self._turn += 1
        found = self._sorted()
        if found[0].pause:
            found[0].quiet_until, found[0].trying = _now() + found[0].pause, True
        return found

    def answered(self, node: Node) -> None:
        if node.pause:
            log.info("a Qdrant node answers again", extra={"node": node.name})
            node.pause, node.quiet_until, node.fault, node.trying = 0.0, 0.0, "", False

    def outrun(self, node: Node) -> None:
        self._failed(node, "it was silent while another answered")

    def behind(self, node: Node) -> None:
        """It answers, but has missed a write that this process has seen."""
        if not node.is_behind:
            log.warning("the copy of a Qdrant node is behind", extra={"node": node.name})
        node.behind_until = _now() + _FIRST_PAUSE

    def asked_another(self) -> None:
        self._allowed = max(0.0, self._allowed - 1)

    def _failed(self, node: Node, fault: str) -> None:
        now = _now()
        if node.quiet_until > now and not node.trying:
            return  # another request has just reported it
        if not node.pause:
            # With a single server the caller hears of it anyway.
            level = logging.WARNING if len(self.all) > 1 else logging.INFO
            log.log(level, "a Qdrant node is not asked for a while", extra={"node": node.name, "fault": fault})
        node.pause = min(_LONGEST_PAUSE, 2 * node.pause or _FIRST_PAUSE)
        node.quiet_until, node.fault, node.trying = now + node.pause, fault, False

    def failed(self, node: Node, outcome: Reply | NoAnswer) -> None:
        self._failed(node, f"status {outcome.status}" if isinstance(outcome, Reply) else str(outcome))

    def _patience(self) -> float:
        longest = _LONGEST_WAIT if self._allowed >= 1 else _WAIT_UNDER_LOAD
        return min(longest, max(_SHORTEST_WAIT, _TIMES_USUAL * self._usual))

    def _others(self, first: Node) -> list[Node]:
        return [node for node in self._sorted() if node is not first]

    def _sorted(self) -> list[Node]:
        now = _now()
        well = [node for node in self.all if node.alone_until <= now]
        turn = self._turn % len(well) if well else 0
        others = sorted((node for node in self.all if node.alone_until > now), key=lambda node: node.alone_until)
        return [*well[turn:], *well[:turn], *others]

    def _opened(self) -> aiohttp.ClientSession:
        if self._closed:
            raise NoAnswer("the index was closed")
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_ALIVE),
                timeout=aiohttp.ClientTimeout(total=None),  # the limit is that of the whole call
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session


@dataclass(frozen=True, slots=True)
class _Asked:
    node: Node
    begun: float = field(default_factory=lambda: _now())

    def is_outrun_by(self, winner: _Asked, now: float) -> bool:
        """It has answered nobody meanwhile, or the other was much faster. If all are slow, none is outrun."""
        return self.node.heard < self.begun or _TIMES_FASTER * (now - winner.begun) <= now - self.begun


@dataclass(slots=True)
class _Asking:
    """One request, and the nodes that were asked, in order."""

    nodes: Nodes
    request: Request
    left: list[Node]
    wait: float
    pending: dict[asyncio.Task[Reply | NoAnswer], _Asked] = field(default_factory=dict)
    missing: int = 0  # nodes that have said "not found"
    fault: Reply | NoAnswer = field(default_factory=lambda: NoAnswer("no address was asked"))

    async def answer(self) -> Reply:
        self._begin_next()
        while self.pending:
            in_time = self.wait if self.left or self.missing else None
            done, _ = await asyncio.wait(self.pending, timeout=in_time, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                before = takewhile(lambda other, task=task: other is not task, self.pending)  # type: ignore[misc]
                silent = [self.pending[other] for other in before if not other.done()]
                if (reply := self._taken(self.pending.pop(task), task.result(), silent)) is not None:
                    return reply
            if self.left:
                if not done:
                    self.nodes.asked_another()
                self._begin_next()
            elif not done:
                break  # one has said that it is not there, and the others are silent
        if isinstance(self.fault, NoAnswer):
            raise self.fault
        return self.fault

    def _begin_next(self) -> None:
        node = self.left.pop(0)
        self.pending[asyncio.create_task(self._ask(node))] = _Asked(node)

    async def _ask(self, node: Node) -> Reply | NoAnswer:
        try:
            return await self.nodes.ask_one(node, self.request)
        except NoAnswer as none:
            return none

    def _taken(self, asked: _Asked, outcome: Reply | NoAnswer, silent: Sequence[_Asked]) -> Reply | None:
        """The outcome, if it settles the request. `silent`: the nodes that were asked before this one."""
        if isinstance(outcome, NoAnswer) or outcome.status in PASSING_STATUSES:
            self.nodes.failed(asked.node, outcome)
            if isinstance(outcome, Reply) or isinstance(self.fault, NoAnswer):
                self.fault = outcome  # an answer tells more than silence
            return None
        self.nodes.answered(asked.node)
        if outcome.status == _NOT_FOUND:
            self.missing, self.fault = self.missing + 1, outcome
            return outcome if self.missing > 1 else None
        now = _now()
        for slower in silent:
            if slower.is_outrun_by(asked, now):
                self.nodes.outrun(slower.node)
        return outcome

    async def stop(self) -> None:
        for task in self.pending:
            task.cancel()
        if self.pending:
            await asyncio.wait(self.pending)


def _now() -> float:
    return time.monotonic()


def _retry_after(headers: Mapping[str, str]) -> str:
    return headers.get("Retry-After", "")
