"""`quoth …` on a real terminal: a process on its own pseudo-terminal, read and typed into as by a person."""

from __future__ import annotations

import asyncio
import os
import pty
import re
import select
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from commands import Started, start

PATIENCE = 60.0  # seconds, for a busy machine
ENTER, CTRL_C, CTRL_D, UP = "\r", "\x03", "\x04", "\x1b[A"


class Terminal:
    def __init__(self, process: Started, ours: int, theirs: int) -> None:
        self.process = process
        self._ours = ours
        self._theirs = theirs
        self.seen = ""  # everything that was ever on the screen
        self._from = 0  # where the next `until` starts to look

    def settings(self) -> list[Any]:
        return termios.tcgetattr(self._theirs)

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    async def until(self, text: str) -> str:
        """Everything up to and including this text, from where the last `until` ended."""
        return await asyncio.to_thread(self._read_until, text)

    async def ended(self, pressing: str = "") -> int:
        """Its exit code, once it has ended. Line editing can miss a Ctrl-C that comes between its prompt and its wait;
        a person would press again."""
        deadline = time.monotonic() + PATIENCE
        while (code := await asyncio.to_thread(self._poll_and_read, pressing)) is None:
            if time.monotonic() > deadline:
                raise AssertionError(f"it did not leave; this came: {self.rest()!r}")
        return code

    def _poll_and_read(self, pressing: str) -> int | None:
        if pressing:
            self.type(pressing)
        code = self.process.poll(2)
        while select.select([self._ours], [], [], 0)[0]:
            self.seen += os.read(self._ours, 65536).decode()
        return code

    def rest(self) -> str:
        return self.seen[self._from :]

    def _read_until(self, text: str) -> str:
        while (found := self.seen.find(text, self._from)) < 0:
            if not select.select([self._ours], [], [], PATIENCE)[0]:
                raise AssertionError(f"{text!r} did not come; this came: {self.rest()!r}")
            self.seen += os.read(self._ours, 65536).decode()
        start, self._from = self._from, found + len(text)
        return self.seen[start : self._from]


@contextmanager
def terminal(*arguments: str | Path, cwd: Path, **environment: str) -> Iterator[Terminal]:
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH", "HOME")}
    ours, theirs = pty.openpty()
    environment = {"TERM": "xterm", "LANG": "C.UTF-8", **kept, **environment}
    process = start("quoth", *arguments, files=(theirs, theirs, theirs), cwd=cwd, env=environment)
    try:
        yield Terminal(process, ours, theirs)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(ours)
        os.close(theirs)


def plain(text: str) -> str:
    """The text without colours and other terminal codes."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", text)
