"""Batches: questions that wait are answered together, in threads.

Between a port that is asked one thing at a time and work that is cheaper for several at once, or that only so many
cores can do. A free thread takes its share of whatever waits at that moment; no question waits for others to come, so a
single one is a batch of one, through the same code. Knows nothing of what is asked.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

logger = logging.getLogger(__name__)

Q = TypeVar("Q")
A = TypeVar("A")


class Batcher(Generic[Q, A]):
    def __init__(
        self,
        answer: Callable[[Sequence[Q]], Sequence[A]],
        *,
        threads: int,
        name: str,
        most: int,
        weight: Callable[[Q], int] = lambda _: 1,
    ) -> None:
        """`answer` is called from any of the threads, with questions that weigh `most` at most, or with one."""
        self._answer = answer
        self._threads = threads
        self._most = most
        self._weight = weight
        self._waiting: deque[tuple[Q, Future[A]]] = deque()
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)

    async def ask(self, question: Q) -> A:
        """A caller that gives up takes only its own question out of the batch."""
        answered: Future[A] = Future()
        with self._lock:
            self._waiting.append((question, answered))
        self._pool.submit(self._work)
        return await asyncio.wrap_future(answered)

    def close(self) -> None:
        """Cancel the questions that wait; block until those under way are answered."""
        with self._lock:
            for _, answered in self._waiting:
                answered.cancel()
        self._pool.shutdown()

    def _work(self) -> None:
        if batch := self._next_batch():  # else another thread took the question along, or its caller gave up
            self._settle(batch)

    def _next_batch(self) -> list[tuple[Q, Future[A]]]:
        with self._lock:
            share, weight, batch = -(-len(self._waiting) // self._threads), 0, list[tuple[Q, Future[A]]]()
            while self._waiting and len(batch) < share:
                weight += self._weight(self._waiting[0][0])
                if batch and weight > self._most:
                    break
                one = self._waiting.popleft()
                if one[1].set_running_or_notify_cancel():
                    batch.append(one)
            return batch

    def _settle(self, batch: Sequence[tuple[Q, Future[A]]]) -> None:
        try:
            answers = self._answer([question for question, _ in batch])
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is raised where it was asked
            if len(batch) == 1:
                batch[0][1].set_exception(error)
            else:  # logged, or a fault that only batches have would never be seen; without a reader's words
                logger.warning("a batch of %d failed (%s); each is asked alone", len(batch), type(error).__name__)
                for one in batch:
                    self._settle([one])
        else:
            for (_, answered), answer in zip(batch, answers, strict=True):
                answered.set_result(answer)


def usable_cores() -> int:
    """The cores that this process may run on; in a container these are fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
