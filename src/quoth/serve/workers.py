"""The parent of `quoth serve --workers N`: starts the workers, replaces dead ones, stops them all together.

In: how many workers, and what each does with the pipe to its parent (a picklable function: a worker is a fresh
interpreter, never a fork, which would hang in the engine). Out: nothing; it runs until a signal stops it. It answers no
requests itself and knows neither HTTP nor books. Why not uvicorn's own supervisor:
docs/decisions/0021-postgres-and-workers.md.
"""

from __future__ import annotations

import logging
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess

from quoth.errors import InternalError, QuothError

logger = logging.getLogger(__name__)

# What a worker does; it sends None through the pipe when it is ready, or the error that stopped it.
Work = Callable[[Connection], None]

_STOP_TIMEOUT = 25.0  # seconds for the workers to stop: open answers take up to 10, a job's process 8
_MOST_DEATHS = 5  # within a minute; after that, restarting does not help
_STOPPING = (signal.SIGINT, signal.SIGTERM)


@dataclass(slots=True)
class _Worker:
    process: SpawnProcess
    told: Connection
    ready: bool = False


class Supervisor:
    def __init__(
        self,
        work: Work,
        count: int,
        *,
        ready: Callable[[], None] = lambda: None,
        gone: Callable[[int], None] = lambda pid: None,
    ) -> None:
        self._work = work
        self._count = count
        self._ready = ready  # called once, when all workers are ready
        self._gone = gone  # called with each worker that ends
        self._announced = False
        self._workers: list[_Worker] = []
        self._deaths: list[float] = []

    def run(self) -> None:
        """Returns after a signal. Raises one of our errors if the workers cannot start or do not stay alive."""
        with _signals() as told_to_stop:
            try:
                for _ in range(self._count):
                    self._start()
                while told_to_stop not in (happened := connection.wait([told_to_stop, *self._watched()])):
                    for worker in list(self._workers):
                        if worker.told in happened:
                            self._listen(worker)
                        if worker.process.sentinel in happened:
                            self._replace(worker)
            finally:
                self._stop()

    def _watched(self) -> Iterator[Connection | int]:
        for worker in self._workers:
            yield worker.process.sentinel
            if not worker.told.closed:
                yield worker.told

    def _start(self) -> None:
        told, telling = connection.Pipe(duplex=False)
        process = get_context("spawn").Process(target=_run, args=(self._work, telling), daemon=False)
        # A worker that is still starting must not die noisily from the terminal's Ctrl-C; it inherits the mask.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        telling.close()
        self._workers.append(_Worker(process, told))

    def _listen(self, worker: _Worker) -> None:
        try:
            error: QuothError | None = worker.told.recv()
        except EOFError:
            worker.told.close()
            return
        if error is None:
            worker.ready = True
            if not self._announced and all(worker.ready for worker in self._workers):
                self._announced = True
                self._ready()
        elif self._announced:
            logger.error("a worker could not start: %s", error)
        else:  # the others would fail in the same way
            raise error

    def _replace(self, worker: _Worker) -> None:
        if not worker.told.closed and worker.told.poll():  # it may have sent an error
            self._listen(worker)
        worker.process.join()
        code = worker.process.exitcode
        self._forget(worker)
        if not self._announced:
            raise InternalError(f"A worker ended while it was starting ({_ending(code)}).")
        logger.error("worker %s ended (%s) and will be replaced", worker.process.name, _ending(code))
        now = time.monotonic()
        self._deaths = [death for death in self._deaths if now - death < 60] + [now]
        if len(self._deaths) > _MOST_DEATHS:
            raise InternalError(
                f"Workers ended {len(self._deaths)} times within a minute, the last by {_ending(code)}."
            )
        self._start()

    def _stop(self) -> None:
        for worker in self._workers:
            worker.process.terminate()
        deadline = time.monotonic() + _STOP_TIMEOUT
        for worker in list(self._workers):
            worker.process.join(max(0.0, deadline - time.monotonic()))
            if worker.process.is_alive():
                logger.error("worker %s did not stop within %g s and was killed", worker.process.name, _STOP_TIMEOUT)
                worker.process.kill()
                worker.process.join()
            self._forget(worker)

    def _forget(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        if worker.process.pid is not None:
            self._gone(worker.process.pid)
        worker.told.close()


def _run(work: Work, telling: Connection) -> None:
    """Runs in the worker. Until the server handles signals itself, only the parent receives them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPPING)
    try:
        work(telling)
    except QuothError as error:
        tell(telling, error)
        sys.exit(error.exit_code)


def tell(telling: Connection, word: QuothError | None) -> None:
    with suppress(BrokenPipeError):  # a parent that is stopping no longer listens
        telling.send(word)


@contextmanager
def _signals() -> Iterator[socket.socket]:
    """A socket that becomes readable when the process is told to stop."""
    reading, writing = socket.socketpair()
    writing.setblocking(False)
    before = {number: signal.signal(number, lambda *_: writing.send(b"!")) for number in _STOPPING}
    try:
        with reading, writing:
            yield reading
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _ending(code: int | None) -> str:
    if code is None or code >= 0:
        return f"exit code {code}"
    return f"signal {-code}"
