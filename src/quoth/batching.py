"""Questions that wait are answered together: between a port that is asked one thing at a time and work that is cheaper
for several at once, or that only so many cores can do.

A thread that becomes free takes its share of whatever waits by then, so nobody waits for others to come: one question
alone is a batch of one, through the same code. Knows nothing of what is asked.
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
        """`answer` is called from any of the threads, for questions of at most this weight in all, or for one."""
        self._answer = answer
        self._threads = threads
        self._most = most
        self._weight = weight
        self._waiting: deque[tuple[Q, Future[A]]] = deque()
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)

    async def ask(self, question: Q) -> A:
        """A caller that gives up while it waits takes only its own question with it."""
        answered: Future[A] = Future()
        with self._lock:
            self._waiting.append((question, answered))
        self._pool.submit(self._work)
        return await asyncio.wrap_future(answered)

    def close(self) -> None:
        """Those that wait are given up; blocks until those under way are answered."""
        with self._lock:
            for _, answered in self._waiting:
                answered.cancel()
        self._pool.shutdown()

    def _work(self) -> None:
        if taken := self._taken():  # else another thread took it along, or it was given up
            self._settle(taken)

    def _taken(self) -> list[tuple[Q, Future[A]]]:
        with self._lock:
            share, weight, taken = -(-len(self._waiting) // self._threads), 0, list[tuple[Q, Future[A]]]()
            while self._waiting and len(taken) < share:
                weight += self._weight(self._waiting[0][0])
                if taken and weight > self._most:
                    break
                one = self._waiting.popleft()
                if one[1].set_running_or_notify_cancel():
                    taken.append(one)
            return taken

    def _settle(self, taken: Sequence[tuple[Q, Future[A]]]) -> None:
        try:
            answers = self._answer([question for question, _ in taken])
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is raised where it was asked
            if len(taken) == 1:
                taken[0][1].set_exception(error)
            else:  # told, or a fault that only a batch has would never be seen; without words of a reader
                logger.warning("%d asked together failed (%s); each is asked alone", len(taken), type(error).__name__)
                for one in taken:
                    self._settle([one])
        else:
            for (_, answered), answer in zip(taken, answers, strict=True):
                answered.set_result(answer)


def usable_cores() -> int:
    """The cores this process may run on, which in a container are fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
