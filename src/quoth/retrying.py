"""Retries calls to a foreign server if its fault may be gone in a moment: how often, and after how long.

In: a call that raises `Passing` for such a fault. Out: its result, or the error of the last fault. The model, the
crawler and the Qdrant client each decide which of their faults pass. Knows nothing about their protocols.
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

from quoth.errors import QuothError

logger = logging.getLogger(__name__)

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]

# The statuses of a server that has a bad moment.
PASSING_STATUSES = frozenset((408, 425, 429, 500, 502, 503, 504, 529))


class Passing(Exception):
    """A fault that may be gone in a moment. `error` is raised instead when no attempt is left."""

    def __init__(self, error: QuothError, wait: float | None = None) -> None:
        super().__init__(error.message)
        self.error = error
        self.wait = wait  # seconds the server asks for


@dataclass(frozen=True, slots=True)
class Retries:
    attempts: int
    backoff: float  # seconds before the second attempt; doubled for each one after it, with jitter
    longest_wait: float  # if a server asks for more time than this, do not retry

    async def run(
        self, call: Callable[[int], Awaitable[T]], *, until: float = math.inf, sleep: Sleep | None = None
    ) -> T:
        """The result of `call`, which gets the number of the attempt, from 1. No attempt begins at or after `until`, on
        the event loop's clock: if the pause would last longer, the fault is raised at once."""
        attempt = 1
        while True:
            try:
                return await call(attempt)
            except Passing as fault:
                pause = self._pause(attempt) if fault.wait is None else fault.wait
                too_late = asyncio.get_running_loop().time() + pause >= until
                if attempt == self.attempts or too_late or (fault.wait or 0.0) > self.longest_wait:
                    raise fault.error from fault
                logger.info("trying again", extra={"attempt": attempt, "fault": fault.error.message})
            await (asyncio.sleep if sleep is None else sleep)(pause)
            attempt += 1

    def _pause(self, attempt: int) -> float:
        return self.backoff * 2.0 ** (attempt - 1) * random.uniform(1.0, 1.5)


def retry_after(value: str) -> float | None:
    """The header `Retry-After` in seconds, from a number or a date; None if it is neither."""
    if value.strip().replace(".", "", 1).isdecimal():
        return float(value)
    try:
        when = parsedate_to_datetime(value)
    except ValueError:
        return None
    aware = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (aware - datetime.now(UTC)).total_seconds())
