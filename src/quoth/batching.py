"""Batches: waiting questions are answered together, in threads.

Sits between a port that takes one question at a time and work that is cheaper for several at once, or that has only a
few cores. A free thread takes its share of whatever is waiting at that moment; no question waits for others to arrive,
so a single one is a batch of one, through the same code. Knows nothing about the questions.
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
        """`answer` is called from any of the threads, with questions that weigh at most `most`, or with one."""
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
        """Cancel the waiting questions; block until the running ones are answered."""
        with self._lock:
            for _, answered in self._waiting:
                answered.cancel()
        self._pool.shutdown()

    def _work(self) -> None:
        if batch := self._next_batch():  # else another thread took the question too, or its caller gave up
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
        except BaseException as error:  # noqa: BLE001 - whatever it is, the caller gets it
            if len(batch) == 1:
                batch[0][1].set_exception(error)
            else:  # logged, or a fault of batches alone would never be seen; without a reader's words
                logger.warning("a batch of %d failed (%s); each runs alone now", len(batch), type(error).__name__)
                for one in batch:
                    self._settle([one])
        else:
            for (_, answered), answer in zip(batch, answers, strict=True):
                answered.set_result(answer)


def usable_cores() -> int:
    """The cores that this process may use; in a container these are fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
