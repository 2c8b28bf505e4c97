"""Several calls at once, of which none is left behind.

In: calls. Out: their results, in the same order. When one fails, or the caller is cancelled, the others are stopped
before the error goes on: `asyncio.gather` alone lets them run, and they may ask a connection that has been closed
meanwhile. It must not know what the calls do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar, overload

A = TypeVar("A")
B = TypeVar("B")


@overload
async def together(one: Awaitable[A], other: Awaitable[B], /) -> tuple[A, B]: ...
@overload
async def together(*calls: Awaitable[A]) -> tuple[A, ...]: ...
async def together(*calls: Awaitable[Any]) -> tuple[Any, ...]:
    tasks = [asyncio.ensure_future(call) for call in calls]
    try:
        return tuple(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
