"""`quoth ingest` as a child of the server: its own interpreter, never a fork, which would hang in the engine.

In: an `IngestOrder` and the number of its queued job. Out: a `JobProcess`. It reads the same settings as the server, in
the same folder; the server's command-line options are passed on as variables. It records its progress in the library,
so only the last line of its output is kept, in case it cannot even do that.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from quoth.bootstrap import Quoth
from quoth.serve.jobs import IngestOrder
from quoth.settings import PREFIX, Settings

_PULL_TIMEOUT = 120.0  # seconds
_FOR_GIT = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "XDG_CONFIG_HOME"),
        *("SSH_AUTH_SOCK", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"),
        *("GIT_SSL_CAINFO", "SSL_CERT_FILE", "SSL_CERT_DIR"),
        *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    }
)
_TAIL = 8192  # bytes at the end of the output in which to find the last line


@dataclass(frozen=True, slots=True)
class Command:
    arguments: Sequence[str]
    environment: Mapping[str, str]
    timeout: float | None = None  # seconds


def launch(quoth: Quoth, order: IngestOrder, job_id: int) -> IngestProcess:
    commands = [ingest_command(quoth.settings, order, job_id)]
    if order.pull and is_checkout(Path(order.source)):
        commands.insert(0, pull_command(order.source))
    return IngestProcess(commands)


def ingest_command(settings: Settings, order: IngestOrder, job_id: int) -> Command:
    arguments = [sys.executable, "-m", "quoth", "ingest", "--book", order.book_id, "--mode", order.mode]
    arguments += ["--base-url", order.base_url] if order.base_url else []
    arguments += ["--dry-run"] if order.dry_run else []
    arguments += ["--job-id", str(job_id), "--", order.source]
    told = {"data_dir": settings.data_dir, "database_url": settings.database_url, "model_dir": settings.model_dir}
    variables = {f"{PREFIX}{name.upper()}": str(value) for name, value in told.items() if value is not None}
    return Command(arguments, {**os.environ, **variables})


def pull_command(folder: str) -> Command:
    """The checkout's hooks run with it, so it gets none of our secrets, whatever their names: only the variables that
    git, ssh and proxies need. It must never ask for a password."""
    kept = {name: value for name, value in os.environ.items() if name.upper() in _FOR_GIT or name.startswith("LC_")}
    return Command(
        ["git", "-C", folder, "pull", "--ff-only", "--quiet"], {**kept, "GIT_TERMINAL_PROMPT": "0"}, _PULL_TIMEOUT
    )


def is_checkout(folder: Path) -> bool:
    return any((place / ".git").exists() for place in (folder, *folder.parents))


class IngestProcess:
    """Runs its commands one after another until one fails."""

    def __init__(self, commands: Sequence[Command]) -> None:
        self._commands = commands
        self._process: asyncio.subprocess.Process | None = None
        self._stopped = False

    async def wait(self) -> str:
        for command in self._commands:
            if self._stopped:
                return "interrupted"
            if words := await self._run(command):
                return words
        return ""

    def stop(self) -> None:
        self._stopped = True
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self._stopped = True
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):  # it has already ended
                self._process.send_signal(number)

    async def _run(self, command: Command) -> str:
        name = " ".join(Path(part).name for part in command.arguments[:4])
        # A file, not a pipe: it never fills up, and processes left behind cannot hold it open.
        with tempfile.TemporaryFile() as output:
            try:
                process = self._process = await asyncio.create_subprocess_exec(
                    *command.arguments,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=asyncio.subprocess.DEVNULL,
                    stderr=output,
                    env=command.environment,
                    start_new_session=True,  # Ctrl-C in the terminal is for the server, which passes it on
                )
            except OSError as error:
                return f"`{name}` could not be started: {error}."
            if self._stopped:  # stopped while it was starting
                self._signal(signal.SIGTERM)
            try:
                async with asyncio.timeout(command.timeout):
                    code = await process.wait()
            except TimeoutError:
                self._signal(signal.SIGKILL)
                await process.wait()
                return f"`{name}` did not end within {command.timeout:g} s."
            finally:
                self._process = None
            return _ending(code, _last_words(output))


def _last_words(output: IO[bytes]) -> str:
    """The last non-empty line."""
    output.seek(max(0, output.seek(0, os.SEEK_END) - _TAIL))
    lines = [line.strip() for line in output.read().decode("utf-8", "replace").splitlines()]
    return next((line for line in reversed(lines) if line), "").removeprefix("quoth: ")


def _ending(code: int, words: str) -> str:
    if code == 0:
        return ""
    if code > 0:
        return words or f"its process ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"its process was ended by {name}" + (f"; its last line was: {words}" if words else "")
