"""One clock for many waits."""

from __future__ import annotations

import asyncio

import pytest

from quoth.models.deadline import Deadline


def soon(seconds: float) -> float:
    return asyncio.get_running_loop().time() + seconds


async def for_ever() -> None:
    await asyncio.Event().wait()


async def test_a_wait_beyond_it_is_a_timeout_and_no_cancellation() -> None:
    with Deadline(soon(0.01)) as clock:
        with pytest.raises(TimeoutError), clock.running():
            await for_ever()
        with pytest.raises(TimeoutError), clock.running():  # also every later one
            await asyncio.sleep(0)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_between_two_waits_it_stops_nobody() -> None:
    with Deadline(soon(0.01)) as clock:
        with clock.running():
            await asyncio.sleep(0)
        await asyncio.sleep(0.05)  # longer than there is
        with pytest.raises(TimeoutError), clock.running():
            raise AssertionError("it is too late to begin")


async def test_it_can_be_put_off() -> None:
    with Deadline(soon(0.01)) as clock:
        clock.move(soon(60))
        with clock.running():
            assert await asyncio.sleep(0.05, "not rung") == "not rung"


async def test_nothing_rings_once_it_is_left() -> None:
    with Deadline(soon(0.01)) as clock:
        pass
    with clock.running():
        assert await asyncio.sleep(0.05, "not rung") == "not rung"


async def test_whoever_is_cancelled_by_somebody_else_stays_cancelled() -> None:
    async def wait() -> None:
        with Deadline(soon(60)) as clock, clock.running():
            await for_ever()

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
