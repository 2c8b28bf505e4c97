"""A clock for work that is done in many short waits: one timer for all, where `asyncio.timeout` would set one each."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self


class Deadline:
    """`with Deadline(when) as clock:`, and each wait `with clock.running():`, which is a TimeoutError beyond it.

    Between the waits it stops nobody: they may stand in a generator, whose reader takes the time he wants and may be
    another task each time."""

    def __init__(self, when: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._when = when
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: asyncio.Task[object] | None = None
        self._late = False

    def __enter__(self) -> Self:
        self._timer = self._loop.call_at(self._when, self._ring)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def move(self, when: float) -> None:
        if when != self._when and self._timer is not None:
            self._timer.cancel()
            self._when, self._late = when, False
            self._timer = self._loop.call_at(when, self._ring)

    @contextmanager
    def running(self) -> Iterator[None]:
        if self._passed():
            raise TimeoutError
        self._waiting = task = asyncio.current_task()
        assert task is not None
        cancelled_before = task.cancelling()
        try:
            yield
        except asyncio.CancelledError as error:
            if self._passed() and task.uncancel() <= cancelled_before:
                raise TimeoutError from error
            raise
        finally:
            self._waiting = None

    def _passed(self) -> bool:
        return self._late

    def _ring(self) -> None:
        self._late = True
        if self._waiting is not None:
            self._waiting.cancel()
