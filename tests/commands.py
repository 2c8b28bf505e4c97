"""`quoth …` as a separate process, without the second that a new process takes to import everything.

Each test process has one helper, which imports everything and forks for every order it gets over a socket: the program,
its arguments, directory and environment, and the files for its input and output. The result is a real process in which
nothing has started: no threads, no loaded model, no open store.
"""

from __future__ import annotations

import asyncio
import atexit
import functools
import gc
import importlib
import json
import os
import runpy
import select
import socket
import struct
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from signal import SIG_IGN, SIGHUP, SIGINT, SIGKILL, SIGQUIT, SIGTERM, getsignal, signal
from typing import Any

OUR_VARIABLES = ("QUOTH_", "OPENAI_", "GEMINI_", "COHERE_", "QDRANT_", "AGENT_", "DATABASE_URL", "REDIS_URL", "OTEL_")
NUMBER = struct.Struct("i")
LARGEST = 2**20
# What commands import on demand. (Not onnxruntime: it starts threads, and those do not survive a fork.)
EARLY = (
    "alembic.command alembic.autogenerate numpy sqlalchemy.dialects.sqlite tokenizers quoth.serve.app"
    " quoth.bootstrap quoth.cli quoth.ingest quoth.sources quoth.testing.embedder quoth.store.database"
    " quoth.index.embedded quoth.index.draft quoth.index.base quoth.index.changes quoth.index.spool"
    " quoth.models.minilm quoth.models.openai quoth.store.library quoth.store.sqlite"
)


START_SECONDS = 300  # on a busy machine; a test's own limit is lower
RUN_SECONDS = 600  # no test has a higher limit


class Started:
    def __init__(self, told: int) -> None:
        self._told = told
        self._code: int | None = None
        self.pid = self._number(START_SECONDS)

    def poll(self, timeout: float = 0.0) -> int | None:
        """Its exit code, if it has ended by then; a signal is a negative number, as with subprocess."""
        if self._code is None and select.select([self._told], [], [], timeout)[0]:
            self._code = self._number(0)
            os.close(self._told)
        return self._code

    def wait(self, timeout: float = 110) -> int:
        code = self.poll(timeout)
        if code is None:
            self.kill()
            raise TimeoutError(f"the process did not end within {timeout} seconds")
        return code

    async def ended(self) -> int:
        """The same for a test that has other things to do meanwhile."""
        loop, over = asyncio.get_running_loop(), asyncio.Event()
        if self.poll() is None:
            loop.add_reader(self._told, over.set)
            try:
                await over.wait()
            finally:
                loop.remove_reader(self._told)
        return self.wait(0)

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, SIGKILL)

    def _number(self, timeout: float) -> int:
        if not select.select([self._told], [], [], timeout)[0]:
            raise TimeoutError("the process was not made")
        return int(NUMBER.unpack(os.read(self._told, NUMBER.size))[0])


def start(
    program: str,
    *arguments: object,
    files: tuple[int, int, int],
    cwd: str | Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Started:
    """`program` is a module's name or the path of a script. `files` are its input, output and errors; a terminal among
    them becomes the process's own, as a shell would do: only then does Ctrl-C reach it as a signal."""
    order = {
        "program": program,
        "arguments": [str(argument) for argument in arguments],
        "cwd": str(cwd or Path.cwd()),
        "env": dict(os.environ if env is None else env),
    }
    told, tells = os.pipe()
    socket.send_fds(_maker(), [json.dumps(order).encode()], [*files, tells])
    os.close(tells)
    return Started(told)


def quoth(
    *arguments: object, lines: str = "", cwd: str | Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run `quoth …` to its end, with these lines from a pipe and no other settings than these."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OUR_VARIABLES)}
    output, errors = (os.memfd_create(name) for name in ("output", "errors"))
    reads, writes = os.pipe()
    with open(output, encoding="utf-8") as said, open(errors, encoding="utf-8") as complained:
        try:
            started = start("quoth", *arguments, files=(reads, output, errors), cwd=cwd, env={**kept, **environment})
            os.write(writes, lines.encode())
        finally:
            os.close(reads)
            os.close(writes)
        try:
            code = started.wait(RUN_SECONDS)
        except BaseException:  # the test's own limit is lower, and what it waits for ends with it
            started.kill()
            raise
        for file in (said, complained):
            file.seek(0)
        return subprocess.CompletedProcess([*map(str, arguments)], code, said.read(), complained.read())


def give_children_their_signals() -> None:
    """A test run in the background of a script ignores Ctrl-C, and so would every process it starts: an ignored signal
    is inherited, a handler is not. A handler that does nothing leaves this process deaf and its children normal."""
    for number in (SIGINT, SIGQUIT, SIGTERM, SIGHUP):
        if getsignal(number) is SIG_IGN:
            signal(number, lambda number, frame: None)


BOOK = Path(__file__).resolve().parents[1] / "examples" / "robotics-book"
Run = subprocess.CompletedProcess[str]


def document(run: Run) -> Any:
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def one_line(run: Run) -> str:
    """An error is one line that says what to do next, never a traceback."""
    (line,) = run.stderr.strip().splitlines()
    assert line.startswith("quoth: ")
    assert run.stdout == ""
    return line


@functools.cache
def _maker() -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    path = os.pathsep.join(entry for entry in sys.path if entry)
    maker = subprocess.Popen(  # it ends when `ours` is closed, at the latest with this process
        [sys.executable, __file__, str(theirs.fileno())],
        pass_fds=[theirs.fileno()],
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": "error", "PYTHONIOENCODING": "utf-8"},
    )
    theirs.close()
    atexit.register(maker.wait)
    atexit.register(ours.close)  # registered later, so it is called earlier
    return ours


def _make(control: socket.socket) -> None:
    for name in EARLY.split():
        importlib.import_module(name)
    gc.freeze()  # none of this is garbage, and no fork needs to look at it again
    while True:
        message, files, _, _ = socket.recv_fds(control, LARGEST, 4)
        if not message:
            return None
        order = json.loads(message)
        if os.fork() == 0:
            control.close()
            return _keep(order, files)
        for file in files:
            os.close(file)
        while _ended_keeper():
            pass


def _ended_keeper() -> bool:
    try:
        return os.waitpid(-1, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return False


def _keep(order: dict[str, object], files: list[int]) -> None:
    """Be the parent of the process; report its pid, and later how it ended."""
    *standard, tells = files
    child = os.fork()
    if child == 0:
        os.close(tells)
        return _become(order, standard)
    for file in standard:
        os.close(file)
    os.write(tells, NUMBER.pack(child))
    os.write(tells, NUMBER.pack(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])))
    os._exit(0)


def _become(order: dict[str, object], standard: list[int]) -> None:
    for number, file in enumerate(standard):
        os.dup2(file, number)
        os.close(file)
    if os.isatty(0):
        os.login_tty(0)
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # it is the original one
    os.chdir(str(order["cwd"]))
    os.environ.clear()
    os.environ.update(order["env"])  # type: ignore[call-overload]  # it was a mapping when it was sent
    sys.warnoptions.clear()  # here a warning is an error; the processes that it starts are a user's
    program = str(order["program"])
    sys.argv = [program, *order["arguments"]]  # type: ignore[misc]  # it was a list
    if program.endswith(".py"):
        runpy.run_path(program, run_name="__main__")
    else:
        runpy.run_module(program, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as orders:
        _make(orders)
