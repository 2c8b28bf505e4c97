"""One question at a time in each session, in the order in which they came.

A follow-up has to know the answer before it, so a question waits while the session has another under way. Within this
process; across processes the store keeps the order in which turns end. Nothing is kept of a session in which nobody
asks or waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class _Queue:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)  # lets those who wait through in their order
    inside: int = 0  # who asks and who waits


class SessionOrder:
    def __init__(self) -> None:
        self._queues: dict[tuple[str, str], _Queue] = {}

    @asynccontextmanager
    async def turn(self, owner: str, session_id: str) -> AsyncIterator[None]:
        """Another key's session of the same id is another session: it is not waited for."""
        key = (owner, session_id)
        queue = self._queues.setdefault(key, _Queue())
        queue.inside += 1
        try:
            async with queue.lock:
                yield
        finally:
            queue.inside -= 1
            if not queue.inside:
                del self._queues[key]

    def waiting(self, *, owner: str, session_id: str) -> int:
        """How many wait in it behind the one who asks."""
        queue = self._queues.get((owner, session_id))
        return queue.inside - 1 if queue else 0

    def __len__(self) -> int:
        """Sessions in which somebody asks or waits."""
        return len(self._queues)
