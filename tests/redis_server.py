"""A real Redis for one test, on a free port of this machine, with nothing on disk."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PATIENCE = 30.0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


class Redis:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self._process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self._port}/0"

    def start(self) -> None:
        command = ["redis-server", "--port", str(self._port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        self._process = subprocess.Popen([*command, "--dir", str(self._folder)], stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if "Ready to accept connections" in line:
                return
        raise AssertionError("redis-server ended before it was ready")

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate(timeout=PATIENCE)
            self._process = None


@contextmanager
def running_redis(folder: Path) -> Iterator[Redis]:
    if shutil.which("redis-server") is None:
        pytest.skip("there is no redis-server on this machine")
    redis = Redis(folder)
    redis.start()
    try:
        yield redis
    finally:
        redis.stop()
