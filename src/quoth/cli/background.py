"""Runs the pipelines on an event loop in a thread of their own; the main thread belongs to the terminal.

Line editing and Ctrl-C work only in the main thread. An interactive command stays there and sends its work here.
Everything is opened once and closed at the end.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from quoth.bootstrap import Quoth, bootstrap
from quoth.settings import Settings

T = TypeVar("T")

GRACE = 5.0  # seconds for stopped work to clean up


@dataclass(frozen=True, slots=True)
class Background:
    quoth: Quoth
    loop: asyncio.AbstractEventLoop

    def do(self, work: Callable[[Quoth], Coroutine[Any, Any, T]]) -> T:
        """Run the work on that loop and wait for it here. An interrupt stops the work, and is raised once it ended."""
        ended = threading.Lock()  # not an Event: Ctrl-C inside its wait can leave it locked forever
        ended.acquire()
        tasks: list[asyncio.Task[T]] = []

        def begin() -> None:
            tasks.append(self.loop.create_task(work(self.quoth)))
            tasks[0].add_done_callback(lambda _: ended.release())

        def stop() -> None:
            if tasks:
                tasks[0].cancel()
            else:  # Ctrl-C came before the work began
                ended.release()

        try:
            self.loop.call_soon_threadsafe(begin)
            ended.acquire()
        finally:
            if not tasks or not tasks[0].done():
                self.loop.call_soon_threadsafe(stop)
                ended.acquire(timeout=GRACE)
        return tasks[0].result()


@contextmanager
def background(settings: Settings) -> Iterator[Background]:
    ready: Future[Background] = Future()
    outcome: Future[None] = Future()
    either: list[Future[Any]] = [ready, outcome]
    leaving = asyncio.Event()

    async def joined() -> None:
        async with bootstrap(settings, warm=True) as quoth:
            ready.set_result(Background(quoth, asyncio.get_running_loop()))
            await leaving.wait()

    def live() -> None:
        try:
            outcome.set_result(asyncio.run(joined()))
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            outcome.set_exception(error)

    threading.Thread(target=live, name="quoth-pipelines", daemon=True).start()
    try:
        wait(either, return_when=FIRST_COMPLETED)
        if not ready.done():
            outcome.result()
        yield ready.result()
    finally:
        wait(either, GRACE, return_when=FIRST_COMPLETED)
        if ready.done():
            ready.result().loop.call_soon_threadsafe(leaving.set)
        wait((outcome,), GRACE)
    outcome.result(GRACE)
