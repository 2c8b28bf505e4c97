"""Temporary faults: a call is retried after a pause, but not forever."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from quoth.errors import IndexUnavailable, QuothError
from quoth.retrying import Passing, Retries, retry_after

RETRIES = Retries(attempts=4, backoff=1.0, longest_wait=10.0)


class Pauses(list[float]):
    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


class Server:
    """Fails with the given faults, one for each attempt, and then works."""

    def __init__(self, *faults: Exception) -> None:
        self._faults = list(faults)
        self.attempts: list[int] = []

    async def __call__(self, attempt: int) -> str:
        self.attempts.append(attempt)
        if self._faults:
            raise self._faults.pop(0)
        return "well"


def busy(message: str = "It is busy.", wait: float | None = None) -> Passing:
    return Passing(IndexUnavailable(message), wait)


async def test_a_fault_that_passes_is_not_noticed_and_pauses_double() -> None:
    server, pauses = Server(busy(), busy(), busy()), Pauses()
    assert await RETRIES.run(server, sleep=pauses) == "well"
    assert server.attempts == [1, 2, 3, 4]
    assert [1.0 <= pause / 2**number <= 1.5 for number, pause in enumerate(pauses)] == [True] * 3


async def test_no_two_callers_come_back_at_the_same_moment() -> None:
    pauses = Pauses()
    for _ in range(20):
        await RETRIES.run(Server(busy()), sleep=pauses)
    assert len(set(pauses)) == 20


async def test_a_fault_that_stays_is_raised_as_the_error_of_the_last_attempt() -> None:
    server, pauses = Server(*(busy(f"Fault {number}.") for number in range(1, 9))), Pauses()
    with pytest.raises(IndexUnavailable) as caught:
        await RETRIES.run(server, sleep=pauses)
    assert caught.value.message == "Fault 4."
    assert (server.attempts, len(pauses)) == ([1, 2, 3, 4], 3)


async def test_every_other_error_is_raised_at_once() -> None:
    server, pauses = Server(QuothError("No.")), Pauses()
    with pytest.raises(QuothError, match="No"):
        await RETRIES.run(server, sleep=pauses)
    assert (server.attempts, pauses) == ([1], [])


async def test_a_server_is_given_the_time_it_asks_for_and_not_asked_again_when_that_is_too_long() -> None:
    server, pauses = Server(busy(wait=0.0), busy(wait=10.0), busy(wait=10.1)), Pauses()
    with pytest.raises(IndexUnavailable):
        await RETRIES.run(server, sleep=pauses)
    assert (server.attempts, pauses) == ([1, 2, 3], [0.0, 10.0])


async def test_a_pause_that_would_end_too_late_is_not_made() -> None:
    now = asyncio.get_running_loop().time()
    server, pauses = Server(busy(wait=5.0), busy(wait=9.0)), Pauses()
    with pytest.raises(IndexUnavailable):
        await RETRIES.run(server, sleep=pauses, until=now + 8)
    assert (server.attempts, pauses) == ([1, 2], [5.0])


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0),
        (" 7 ", 7.0),
        ("1.5", 1.5),
        ("0", 0.0),
        ("", None),
        (".", None),
        ("soon", None),
        ("-5", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("Wed, 21 Oct 2015 07:28:00 -0000", 0.0),
    ],
)
def test_the_header_is_a_number_a_date_or_nothing(value: str, seconds: float | None) -> None:
    assert retry_after(value) == seconds


def test_a_date_to_come_is_as_many_seconds_as_there_are_until_then() -> None:
    when = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    assert 3_500 < (retry_after(when) or 0.0) <= 3_600
