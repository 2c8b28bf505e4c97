"""The right to write one book on a Qdrant server: a lease that ends when its holder stops renewing it.

Under `qdrant`, above `qdrant_ledger`. A lease is taken by a write that only succeeds while nobody holds it. It is
renewed by one that only succeeds while it is still ours. A renewal counts when a copy shows it, whether the write was
answered or not: a write waits for every copy, and one of them may hang. A writer whose lease may have ended stops
writing until it is renewed, or for good when another has taken it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import time
import uuid
from collections.abc import Callable
from contextlib import suppress

from quoth.errors import Conflict, Outage
from quoth.index.qdrant_filters import is_
from quoth.index.qdrant_ledger import Ledger, lease_point
from quoth.index.qdrant_server import Json

# Lease periods that a writer waits for its renewal: by then the server has given up a copy that hangs.
_WAITS_FOR = 5

log = logging.getLogger(__name__)


class Lease:
    """Kept alive in the background for as long as the block lasts."""

    def __init__(self, ledger: Ledger, book_id: str, wall: Callable[[], float] = time.time) -> None:
        options = ledger.server.options
        self._ledger = ledger
        self._book_id = book_id
        self._point = lease_point(book_id)
        self._wall = wall
        self.holder = str(uuid.uuid4())
        self._seconds = options.lease
        self._renew_after = options.lease / 4
        # Another writer may come when the lease is over; by then our last write must be over too.
        self._margin = min(2 * options.timeout, options.lease / 2)
        self._expires = 0.0
        self._lost: Conflict | None = None
        self._renewing: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()

    async def __aenter__(self) -> Lease:
        now = self._wall()
        expired = {"key": "expires", "range": {"lt": now}}
        wanted = self._payload(now)
        await self._ledger.put(self._point, wanted, only_if=[is_("holder", self.holder), expired])
        found = await self._ledger.sure(self._point)
        if found is None or found["holder"] != self.holder:
            raise Conflict(_held(self._book_id, found or {}, now))
        self._expires = wanted["expires"]
        self._renewing = asyncio.create_task(self._keep())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.wait([self._renewing])
        if self._lost is None:
            mine = [is_("kind", "lease"), is_("book_id", self._book_id), is_("holder", self.holder)]
            try:
                await self._ledger.remove({"filter": {"must": mine}})
            except Outage as outage:  # it ends by itself
                log.warning("a lease could not be given back", extra={"book_id": self._book_id, "fault": outage})

    async def secure(self) -> None:
        """Called before every write: the lease is ours, and will be until the write is over. Raises `Conflict` if
        not."""
        waited = 0.0
        while self._lost is None and self._wall() > self._expires - self._margin:
            if waited > _WAITS_FOR * self._seconds:
                raise Conflict(f"The lease of the book {self._book_id!r} has expired: Qdrant does not answer.")
            begun = time.monotonic()
            await self._renew()
            await asyncio.sleep(min(0.1, self._renew_after) if self._wall() > self._expires - self._margin else 0)
            waited += time.monotonic() - begun
        if self._lost is not None:
            raise self._lost

    async def _keep(self) -> None:
        while self._lost is None:
            await asyncio.sleep(self._renew_after)
            await self._renew()

    async def _renew(self) -> None:
        async with self._turn:
            wanted = self._payload(self._wall())
            with suppress(Outage, TimeoutError):
                async with asyncio.timeout(self._renew_after):
                    mine = [is_("holder", self.holder)]
                    await self._ledger.put(self._point, wanted, only_if=mine, update_only=True)
            try:
                found = await self._ledger.read(self._point)
                if found is None or found["holder"] != self.holder:
                    found = await self._ledger.sure(self._point)
            except Outage as outage:
                log.warning("a lease could not be renewed", extra={"book_id": self._book_id, "fault": outage})
                return
            if found is None or found["holder"] != self.holder:
                self._lost = Conflict(f"Another process has taken over the book {self._book_id!r}.")
            else:
                self._expires = found["expires"]

    def _payload(self, now: float) -> Json:
        return {
            "kind": "lease",
            "book_id": self._book_id,
            "holder": self.holder,
            "who": f"pid {os.getpid()} on {socket.gethostname()}",
            "expires": now + self._seconds,
        }


def _held(book_id: str, lease: Json, now: float) -> str:
    left = max(0.0, lease.get("expires", now) - now)
    who = lease.get("who", "another process")
    return f"Another process ({who}) is writing the book {book_id!r}; if it has died, its lease ends in {left:.0f} s."
