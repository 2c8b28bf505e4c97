"""Calls that are made at once: all results, or one error and nothing that goes on."""

from __future__ import annotations

import asyncio

import pytest

from quoth.together import together


class Endless:
    """A call that ends only when it is stopped, and takes a moment to stop."""

    def __init__(self) -> None:
        self.begun, self.stopped = asyncio.Event(), False

    async def __call__(self) -> None:
        try:
            self.begun.set()
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            self.stopped = True


async def test_results_come_in_the_order_of_the_calls() -> None:
    second = asyncio.Event()

    async def slow() -> str:
        await second.wait()
        return "slow"

    async def quick() -> str:
        second.set()
        return "quick"

    assert await together(slow(), quick()) == ("slow", "quick")
    assert await together() == ()


async def test_when_one_fails_the_others_have_stopped() -> None:
    endless = Endless()

    async def fail() -> None:
        await endless.begun.wait()
        raise LookupError("no")

    with pytest.raises(LookupError, match="no"):
        await together(endless(), fail())
    assert endless.stopped


async def test_when_the_caller_is_cancelled_all_have_stopped() -> None:
    endless = [Endless(), Endless()]
    working = asyncio.create_task(together(*(call() for call in endless)))
    for call in endless:
        await call.begun.wait()
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    assert [call.stopped for call in endless] == [True, True]
