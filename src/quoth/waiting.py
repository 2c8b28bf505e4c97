"""How long a call to the outside may take. Below everything that waits for a disk or a server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from quoth.errors import Outage


@asynccontextmanager
async def within(seconds: float, late: Outage) -> AsyncIterator[None]:
    """What takes longer is given up and is this outage. Never around a `yield`: the clock would stop whoever reads."""
    try:
        async with asyncio.timeout(seconds) as clock:
            yield
    except TimeoutError:
        if not clock.expired():
            raise
        raise late from None
