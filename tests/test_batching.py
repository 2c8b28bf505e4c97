"""Waiting questions are answered in one batch, and none of them harms another."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence

import pytest

from quoth.batching import Batcher


class Work:
    """Doubles numbers, but stops at the first batch until it may continue."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.begun = threading.Event()
        self.go_on = threading.Event()

    def answer(self, numbers: Sequence[int]) -> list[int]:
        self.batches.append([*numbers])
        self.begun.set()
        assert self.go_on.wait(30)
        if -1 in numbers:
            raise ValueError("minus one")
        return [2 * number for number in numbers]


@pytest.fixture
def work() -> Iterator[Work]:
    made = Work()
    yield made
    made.go_on.set()


def batcher(work: Work, *, threads: int = 1, most: int = 100) -> Batcher[int, int]:
    return Batcher(work.answer, threads=threads, name="test", most=most)


async def waiting(asked: Batcher[int, int], work: Work, numbers: Sequence[int]) -> list[asyncio.Task[int]]:
    """Tasks: the first is being answered while the others wait."""
    first = asyncio.create_task(asked.ask(numbers[0]))
    await asyncio.to_thread(work.begun.wait, 30)
    tasks = [first, *(asyncio.create_task(asked.ask(number)) for number in numbers[1:])]
    await asyncio.sleep(0)
    return tasks


async def test_one_alone_is_answered_at_once(work: Work) -> None:
    work.go_on.set()
    asked = batcher(work)
    assert await asked.ask(4) == 8
    assert work.batches == [[4]]
    asked.close()


async def test_those_that_wait_are_answered_together_and_each_gets_its_own(work: Work) -> None:
    asked = batcher(work)
    tasks = await waiting(asked, work, [1, 2, 3, 4])
    work.go_on.set()
    assert await asyncio.gather(*tasks) == [2, 4, 6, 8]
    assert work.batches == [[1], [2, 3, 4]]
    asked.close()


async def test_no_batch_is_heavier_than_said_unless_one_question_is(work: Work) -> None:
    asked = Batcher(work.answer, threads=1, name="test", most=10, weight=lambda number: number)
    tasks = await waiting(asked, work, [1, 6, 4, 5, 20, 2])
    work.go_on.set()
    await asyncio.gather(*tasks)
    assert work.batches == [[1], [6, 4], [5], [20], [2]]
    asked.close()


async def test_a_thread_leaves_their_share_to_the_others(work: Work) -> None:
    asked = batcher(work, threads=2)
    tasks = await waiting(asked, work, range(10))
    work.go_on.set()
    assert await asyncio.gather(*tasks) == [2 * number for number in range(10)]
    assert max(len(batch) for batch in work.batches) <= 5
    asked.close()


async def test_one_that_gives_up_while_it_waits_is_never_begun_and_the_others_are_answered(work: Work) -> None:
    asked = batcher(work)
    tasks = await waiting(asked, work, [1, 2, 3])
    tasks[1].cancel()
    with pytest.raises(asyncio.CancelledError):
        await tasks[1]
    work.go_on.set()
    assert [await tasks[0], await tasks[2]] == [2, 6]
    assert work.batches == [[1], [3]]
    asked.close()


async def test_one_that_gives_up_while_it_is_answered_takes_no_other_with_it(work: Work) -> None:
    asked = batcher(work)
    first, second = await waiting(asked, work, [1, 2])
    first.cancel()
    work.go_on.set()
    assert await second == 4
    asked.close()


async def test_an_error_belongs_to_the_question_that_caused_it(work: Work, caplog: pytest.LogCaptureFixture) -> None:
    asked = batcher(work)
    tasks = await waiting(asked, work, [1, 2, -1, 3])
    work.go_on.set()
    *answers, failed, last = await asyncio.gather(*tasks, return_exceptions=True)
    assert (answers, last) == ([2, 4], 6)
    assert isinstance(failed, ValueError)
    assert "a batch of 3 failed (ValueError); each runs alone now" in caplog.text
    asked.close()


async def test_closing_gives_up_those_that_wait(work: Work) -> None:
    asked = batcher(work)
    first, second = await waiting(asked, work, [1, 2])
    closing = asyncio.create_task(asyncio.to_thread(asked.close))
    with pytest.raises(asyncio.CancelledError):
        await second
    work.go_on.set()
    assert await first == 2
    await closing
