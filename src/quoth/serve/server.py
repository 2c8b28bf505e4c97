"""Runs the application under uvicorn for `quoth serve`: in this process, or in several that `workers` supervises.

In: settings (host, port, workers). The port is bound and everything is joined before the server starts, so a failure to
start is one of our errors with its hint, not a traceback from the server.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import multiprocessing
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from quoth.bootstrap import Quoth, bootstrap, threads_of_worker
from quoth.errors import BadConfiguration
from quoth.logs import set_up_logging
from quoth.serve.app import create_app
from quoth.serve.jobs import Jobs
from quoth.serve.metrics import shared_metrics
from quoth.serve.workers import Supervisor, tell
from quoth.settings import Settings

GRACE = 10  # seconds for open answers to end after the server is told to stop
_LINUX = sys.platform == "linux"  # elsewhere SO_REUSEPORT does not balance, and there is no TCP_USER_TIMEOUT
_UNREAD_TIMEOUT = 60  # seconds; longer than WRITE_TIMEOUT, after which the answer is stopped
_STORE_TIMEOUT = 2  # seconds to store the answers that were cut off


class Server(uvicorn.Server):
    """uvicorn raises a captured signal again at the end, which would kill the process before the index and the database
    are closed. Here a signal only asks it to stop."""

    def __init__(self, app: FastAPI, ready: Callable[[], None]) -> None:
        self._app = app
        self._ready = ready
        config = uvicorn.Config(
            app,
            log_config=None,  # quoth.logs has set it up
            access_log=False,  # the doorway writes a line for each request
            server_header=False,
            proxy_headers=False,  # quoth.serve.access decides which proxies to trust
            ws="none",
            timeout_graceful_shutdown=GRACE,
        )
        super().__init__(config)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Jobs end first: the streams that follow them then end by themselves with the last event."""
        jobs: Jobs | None = getattr(self._app.state, "jobs", None)  # missing if the application could not start
        if jobs is not None:
            await jobs.close()
        await super().shutdown(sockets)
        if cut_off := set(self.server_state.tasks):
            await asyncio.wait(cut_off, timeout=_STORE_TIMEOUT)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    def stop_soon(self) -> None:
        self.should_exit = True


def _announce(listener: socket.socket) -> None:
    sys.stderr.write(f"Quoth is at {address_of(listener)} (Ctrl-C stops it)\n")
    sys.stderr.flush()


def address_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def listen(host: str, port: int, *, beside_others: bool = False) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048, reuse_port=beside_others)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise BadConfiguration(
                f"Port {port} on {host} is already in use.",
                hint="Choose another: --port 8001, or --port 0 for a free one.",
            ) from None
        raise BadConfiguration(
            f"Cannot listen on {host}, port {port}: {error}.", hint="See --host and --port."
        ) from None
    if _LINUX:
        # Connections inherit it: the kernel ends one whose client does not read what was sent.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNREAD_TIMEOUT * 1000)
    return listener


def _reserve(listener: socket.socket) -> socket.socket:
    """Replace the listener, which found the port free, with a socket that reserves the port for workers that listen
    side by side. Nothing arrives at this socket."""
    family, address = listener.family, listener.getsockname()
    listener.close()
    kept = socket.socket(family)
    kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    kept.bind(address)
    return kept


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    if sys.platform == "win32":
        return asyncio.new_event_loop
    import uvloop

    return uvloop.new_event_loop


def server_for(quoth: Quoth, *, ready: Callable[[], None] = lambda: None, workers: Path | None = None) -> Server:
    return Server(create_app(quoth.settings, quoth=quoth, workers=workers), ready)


async def _serve(
    settings: Settings, listener: socket.socket, ready: Callable[[], None], workers: Path | None = None
) -> None:
    parent = multiprocessing.parent_process()
    async with bootstrap(settings, threads=threads_of_worker(settings) if parent else None) as quoth:
        server = server_for(quoth, ready=ready, workers=workers)
        if parent is not None:
            # A killed parent cannot stop its workers, and the port would stay in use.
            asyncio.get_running_loop().add_reader(parent.sentinel, server.stop_soon)
        await server.serve(sockets=[listener])
        if parent is not None:
            asyncio.get_running_loop().remove_reader(parent.sentinel)


def _serve_here(
    settings: Settings, listener: socket.socket, ready: Callable[[], None], workers: Path | None = None
) -> None:
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_serve(settings, listener, ready, workers))


def _work(settings: Settings, place: socket.socket, workers: Path | None, log_level: str, telling: Connection) -> None:
    """The whole life of a worker. Linux spreads connections over several sockets on one port more evenly than workers
    take them from one socket; on other systems they share the parent's."""
    set_up_logging(log_level, format=settings.log_format, log_questions=settings.log_questions)
    host, port = place.getsockname()[:2]
    with place, listen(host, port, beside_others=True) if _LINUX else place as listener:
        _serve_here(settings, listener, partial(tell, telling, None), workers)


def serve_forever(settings: Settings) -> None:
    listener = listen(settings.host, settings.port)
    if settings.workers == 1:
        with listener:
            _serve_here(settings, listener, partial(_announce, listener))
        return
    with (
        _reserve(listener) if _LINUX else listener as place,
        shared_metrics() as forget,
        tempfile.TemporaryDirectory(prefix="quoth-workers-") as folder,
    ):
        level = logging.getLevelName(logging.getLogger("quoth").level)
        workers = Path(folder) if hasattr(socket, "AF_UNIX") else None
        doing = partial(_work, settings, place, workers, level)
        Supervisor(doing, settings.workers, ready=partial(_announce, place), gone=forget).run()
