"""Counts requests in Redis for all workers on all machines, by the sliding window of the library `limits`.

In: a URL and a limit. Out: an `Allowance`, or `LimiterUnavailable` after half a second. One script counts and decides,
so two workers cannot both take the last place. Needs the extra `redis`.
"""

from __future__ import annotations

import asyncio
import time
from typing import cast

from limits import RateLimitItemPerSecond
from limits.aio.storage import RedisStorage
from limits.aio.storage.redis.redispy import RedispyBridge
from limits.aio.strategies import MovingWindowRateLimiter
from limits.errors import StorageError
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from quoth.domain import Allowance
from quoth.errors import LimiterUnavailable

ANSWER_WITHIN = 0.5  # seconds: counting must not keep a reader waiting


class RedisLimiter:
    def __init__(self, url: str, limit: int, window: int) -> None:
        self._storage = RedisStorage(
            f"async+{'redis+' if url.startswith('unix') else ''}{url}",
            wrap_exceptions=True,
            implementation="redispy",
            key_prefix="quoth",
            # Reopen a stale connection once; the client's own default retries for seconds.
            retry=Retry(NoBackoff(), 1),  # type: ignore[arg-type]  # passed on to the client as it is
        )
        self._limiter = MovingWindowRateLimiter(self._storage)
        self._item = RateLimitItemPerSecond(limit, window)

    async def hit(self, who: str) -> Allowance:
        try:
            async with asyncio.timeout(ANSWER_WITHIN):
                allowed = await self._limiter.hit(self._item, who)
                stats = await self._limiter.get_window_stats(self._item, who)
        except (StorageError, TimeoutError) as error:
            reason = str(error) or f"nothing within {ANSWER_WITHIN:g} s"
            raise LimiterUnavailable(f"Redis does not answer ({reason}).", hint="Check QUOTH_REDIS_URL.") from error
        reset = max(0.0, stats.reset_time - time.time())
        return Allowance(allowed, self._item.amount, max(0, stats.remaining), reset)

    async def close(self) -> None:
        await cast(RedispyBridge, self._storage.bridge).storage.aclose()
