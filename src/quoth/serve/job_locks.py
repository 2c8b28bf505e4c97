"""Whose turn it is to ingest, among all server processes on one data directory.

Two locks of the kernel, which die with their process: `waiting`, shared by every process that has jobs in hand, tells
the others that a queued job may belong to somebody alive; `turn` is held by the one whose child is at work. Knows
nothing of jobs.
"""

from __future__ import annotations

import asyncio
import fcntl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from pathlib import Path
from typing import TextIO

from quoth.errors import LibraryUnavailable

LOOK = 0.2  # seconds between two looks whether it is our turn


class JobLocks:
    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._here = asyncio.Lock()  # in this process they come in the order of the calls
        self._in_hand = 0
        self._waiting: TextIO | None = None

    async def take(self) -> None:
        """Before a job is queued. Not to be called twice at once."""
        while self._waiting is None:
            self._waiting = self._lock("jobs-waiting.lock", fcntl.LOCK_SH)
            if self._waiting is None:  # somebody is just finding out whether he is alone
                await asyncio.sleep(LOOK)
        self._in_hand += 1

    def give_back(self) -> None:
        """When that job has ended."""
        self._in_hand -= 1
        if not self._in_hand and self._waiting is not None:
            self._waiting.close()
            self._waiting = None

    @contextmanager
    def alone(self) -> Iterator[bool]:
        """Has nobody a job in hand? If so, nobody takes one in hand meanwhile."""
        file = None if self._in_hand else self._lock("jobs-waiting.lock", fcntl.LOCK_EX)
        try:
            yield file is not None
        finally:
            if file is not None:
                file.close()

    @asynccontextmanager
    async def turn(self, *, unless: Callable[[], bool]) -> AsyncIterator[None]:
        """One at a time, whichever process it is in; waits no longer when `unless` comes true."""
        async with self._here:
            with await self._our_turn(unless) or nullcontext():
                yield

    async def _our_turn(self, unless: Callable[[], bool]) -> TextIO | None:
        while not unless():
            if (file := self._lock("jobs-turn.lock", fcntl.LOCK_EX)) is not None:
                return file
            await asyncio.sleep(LOOK)
        return None

    def _lock(self, name: str, how: int) -> TextIO | None:
        try:
            self._data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = (self._data_dir / name).open("a", encoding="utf-8")
        except OSError as fault:
            raise LibraryUnavailable(
                f"{self._data_dir / name} cannot be written: {fault.strerror}.", hint="Check the folder and its rights."
            ) from fault
        try:
            fcntl.flock(file, how | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return None
        return file
