"""`quoth serve` as a separate process on a free port, for tests of workers, stopping and load.

It is made as `commands` makes one, so that it does not import everything again; its workers do.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from commands import Started, start

STARTED = re.compile(r"Quoth is at (http://\S+?)/ ")


@dataclass
class Served:
    process: Started
    address: str
    said: list[str] = field(default_factory=list)  # on stderr, line by line
    up_or_gone: asyncio.Event = field(default_factory=asyncio.Event)

    async def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            os.kill(self.process.pid, number)
        return await asyncio.wait_for(self.process.ended(), timeout=40)

    def workers(self) -> list[int]:
        """The pids of the processes that answer."""
        return [pid for pid in children_of(self.process.pid) if "spawn_main" in command_of(pid)]


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def environment(more: Mapping[str, str]) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry), **more}


START_SECONDS = 300  # on a busy machine; a test's own limit is lower


@asynccontextmanager
async def serving(folder: Path, *arguments: str, **variables: str) -> AsyncIterator[Served]:
    """Starts a server, and kills it at the end if it still runs."""
    reads, writes = os.pipe()
    command = ("serve", "--port", "0", "--data-dir", folder / "data", *arguments)
    try:
        process = start("quoth", *command, files=(0, 1, writes), cwd=folder, env=environment(variables))
    finally:
        os.close(writes)
    served = Served(process, "")
    reading = asyncio.create_task(listen(served, reads))
    try:
        await asyncio.wait_for(served.up_or_gone.wait(), timeout=START_SECONDS)
        yield served
    finally:
        if process.poll() is None:
            process.kill()
            await process.ended()
        await reading


async def listen(served: Served, errors: int) -> None:
    lines = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(lines), os.fdopen(errors, "rb")
    )
    while line := (await lines.readline()).decode():
        served.said.append(line)
        if found := STARTED.search(line):
            served.address = found[1]
            served.up_or_gone.set()
    served.up_or_gone.set()
    transport.close()
