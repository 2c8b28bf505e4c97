"""`quoth serve` as a separate process on a free port, for tests of workers, stopping and load."""

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

STARTED = re.compile(r"Quoth is at (http://\S+?)/ ")


@dataclass
class Served:
    process: asyncio.subprocess.Process
    address: str
    said: list[str] = field(default_factory=list)  # on stderr, line by line
    up_or_gone: asyncio.Event = field(default_factory=asyncio.Event)

    async def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        if self.process.returncode is None:
            self.process.send_signal(number)
        return await asyncio.wait_for(self.process.wait(), timeout=40)

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
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "quoth", "serve", "--port", "0", "--data-dir", str(folder / "data"), *arguments),
        stderr=asyncio.subprocess.PIPE,
        cwd=folder,
        env=environment(variables),
    )
    served = Served(process, "")
    reading = asyncio.create_task(listen(served))
    try:
        await asyncio.wait_for(served.up_or_gone.wait(), timeout=START_SECONDS)
        yield served
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        await reading


async def listen(served: Served) -> None:
    assert served.process.stderr is not None
    while line := (await served.process.stderr.readline()).decode():
        served.said.append(line)
        if found := STARTED.search(line):
            served.address = found[1]
            served.up_or_gone.set()
    served.up_or_gone.set()
