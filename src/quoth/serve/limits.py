"""How much anyone may ask: requests in the last minute, and answers in progress at once.

In: the caller. Out: an `Allowance`, or `RateLimited`. Each process counts in its own memory. With a Redis URL, Redis
counts for all workers on all machines (`redis_limiter.py`). While Redis is down each process counts alone, because a
broken counter must not stop all answers. The library `limits` also counts in memory, but starts a task with a thread
for every request: 370 µs with one caller and 1,850 µs with a hundred, against two to five here.
"""

from __future__ import annotations

import logging
import math
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from importlib.util import find_spec

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quoth.domain import Allowance
from quoth.errors import BadConfiguration, LimiterUnavailable, RateLimited
from quoth.ports import Clock, RateLimiter
from quoth.settings import Settings

logger = logging.getLogger(__name__)

_WINDOW = 60  # seconds
DEFAULT_LIMIT = 100
PAUSE = 5.0  # seconds before a failed Redis is tried again
MOST_NAMES = 100_000  # callers remembered at once
_RETRY_SOON = {"retry_after": 1}  # seconds: answers end all the time
# The doors that answer a question, which takes a while.
_ANSWERING = frozenset({"/chat", "/chat/stream", "/chat/run", "/v1/chat/completions", "/v1/responses", "/mcp"})


class MemoryLimiter:
    """A sliding window: at any moment, the requests of the last minute count."""

    def __init__(self, limit: int, clock: Clock, window: float = _WINDOW) -> None:
        self._limit = limit
        self._clock = clock
        self._window = window
        self._seen: OrderedDict[str, deque[float]] = OrderedDict()  # the least recently admitted caller comes first

    async def hit(self, who: str) -> Allowance:
        now = self._clock.monotonic()
        self._forget(now - self._window)
        moments = self._seen.setdefault(who, deque())
        while moments and moments[0] <= now - self._window:
            moments.popleft()
        allowed = len(moments) < self._limit
        if allowed:
            moments.append(now)
            self._seen.move_to_end(who)
        return Allowance(allowed, self._limit, self._limit - len(moments), moments[0] + self._window - now)

    def _forget(self, before: float) -> None:
        while self._seen and (len(self._seen) > MOST_NAMES or next(iter(self._seen.values()))[-1] <= before):
            self._seen.popitem(last=False)

    async def close(self) -> None:
        return


class FallbackLimiter:
    """Counts together with the other processes while that is possible, otherwise alone."""

    def __init__(self, shared: RateLimiter, alone: RateLimiter, clock: Clock) -> None:
        self._shared = shared
        self._alone = alone
        self._clock = clock
        self._down_until: float | None = None

    async def hit(self, who: str) -> Allowance:
        if self._down_until is not None and self._clock.monotonic() < self._down_until:
            return await self._alone.hit(who)
        try:
            allowance = await self._shared.hit(who)
        except LimiterUnavailable as error:
            if self._down_until is None:
                logger.warning("each process counts requests alone: %s", error)
            self._down_until = self._clock.monotonic() + PAUSE
            return await self._alone.hit(who)
        if self._down_until is not None:
            logger.warning("the processes count requests together again")
            self._down_until = None
        return allowance

    async def fault(self) -> LimiterUnavailable | None:
        """Why each process counts alone now; None if they count together. For /health."""
        try:
            await self._shared.hit("health")
        except LimiterUnavailable as error:
            return error
        return None

    async def close(self) -> None:
        await self._shared.close()


class AnswerPlaces:
    """The answers in progress in this process. A caller who holds more places than are free gets no more: one caller
    can hold half of the places, and the rest is left for others."""

    def __init__(self, most: int) -> None:
        self._free = most
        self._most = most
        self._held: Counter[str] = Counter()

    @contextmanager
    def take(self, caller: str) -> Iterator[None]:
        if not self._free:
            raise RateLimited(f"The server is busy: {self._most} answers are already in progress.", details=_RETRY_SOON)
        if self._held[caller] > self._free:
            raise RateLimited(
                f"{self._held[caller]} of your answers are in progress; the last {self._free} places are for others.",
                details=_RETRY_SOON,
            )
        self._free -= 1
        self._held[caller] += 1
        try:
            yield
        finally:
            self._free += 1
            self._held[caller] -= 1
            self._held += Counter()  # drops callers who hold none


class AnswerLimit:
    """A question takes a place once it has arrived in full, and keeps it until its answer is sent."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] not in _ANSWERING:
            await self._app(scope, receive, send)
            return
        places: AnswerPlaces = scope["app"].state.guard.places
        with ExitStack() as held:
            taken = False

            async def receive_then_take() -> Message:
                nonlocal taken
                message = await receive()
                if not taken and message["type"] == "http.request" and not message.get("more_body", False):
                    held.enter_context(places.take(scope["state"]["caller"]))
                    taken = True
                return message

            await self._app(scope, receive_then_take, send)


def _redis_limiter(settings: Settings, limit: int) -> RateLimiter:
    if find_spec("redis") is None:
        raise BadConfiguration(
            "QUOTH_REDIS_URL is set, but the Redis client is not installed.",
            hint="Install it: pip install 'quoth[redis]'.",
        )
    from quoth.serve.redis_limiter import RedisLimiter

    return RedisLimiter(settings.redis_url or "", limit, _WINDOW)


@asynccontextmanager
async def open_limiter(settings: Settings, limit: int, clock: Clock) -> AsyncIterator[RateLimiter]:
    alone = MemoryLimiter(limit, clock)
    limiter: RateLimiter = alone
    if settings.redis_url is not None:
        limiter = FallbackLimiter(_redis_limiter(settings, limit), alone, clock)
    try:
        yield limiter
    finally:
        await limiter.close()


def check(allowance: Allowance) -> None:
    if not allowance.allowed:
        wait = max(1, math.ceil(allowance.reset))
        raise RateLimited(
            f"You sent more than {allowance.limit} requests in a minute.",
            hint=f"Try again in {wait} seconds.",
            details={"retry_after": wait, "limit": allowance.limit},
        )


def headers(allowance: Allowance, now: float) -> dict[str, str]:
    """`Reset` is a point in time, in seconds since 1970, as GitHub and most others send it."""
    return {
        "x-ratelimit-limit": str(allowance.limit),
        "x-ratelimit-remaining": str(allowance.remaining),
        "x-ratelimit-reset": str(math.ceil(now + allowance.reset)),
    }
