"""Runs the application under uvicorn; what `quoth serve` calls.

In: settings (host and port). The port is taken and everything is joined before the server starts, so that a failure to
start is one of our errors with its hint, not a traceback of the server.
"""

from __future__ import annotations

import asyncio
import errno
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from quoth.api.app import create_app
from quoth.api.jobs import Jobs
from quoth.bootstrap import Quoth, bootstrap
from quoth.errors import BadConfiguration
from quoth.settings import Settings

GRACE = 10  # seconds for open answers to end once the server was told to stop


class Server(uvicorn.Server):
    """uvicorn raises a captured signal again once it is done, which would end the process before the index and the
    database are closed. Here the signal only asks it to stop."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        config = uvicorn.Config(
            app,
            log_config=None,  # quoth.logs has set it up
            access_log=False,  # the doorway writes one line for each request
            server_header=False,
            proxy_headers=False,  # whom to believe about addresses is settled in quoth.api.callers
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
        """Jobs end first: with their last event the streams that follow them end by themselves."""
        jobs: Jobs | None = getattr(self._app.state, "jobs", None)  # none when the application could not start
        if jobs is not None:
            await jobs.close()
        await super().shutdown(sockets)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in sockets or ():
            sys.stderr.write(f"Quoth is at {address_of(listener)} (Ctrl-C stops it)\n")
            sys.stderr.flush()


def address_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise BadConfiguration(
                f"Port {port} of {host} is already taken.",
                hint="Choose another: --port 8001, or --port 0 for a free one.",
            ) from None
        raise BadConfiguration(
            f"Cannot listen on {host}, port {port}: {error}.", hint="See --host and --port."
        ) from None


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    if sys.platform == "win32":
        return asyncio.new_event_loop
    import uvloop

    return uvloop.new_event_loop


def server_for(quoth: Quoth) -> Server:
    return Server(create_app(quoth.settings, quoth=quoth))


async def serve(settings: Settings, listener: socket.socket) -> None:
    async with bootstrap(settings) as quoth:
        await server_for(quoth).serve(sockets=[listener])


def serve_forever(settings: Settings) -> None:
    with listen(settings.host, settings.port) as listener, asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(serve(settings, listener))
