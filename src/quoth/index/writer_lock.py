"""One writer for each data directory of the embedded index, among all processes.

A writer takes the lock before it changes anything and holds it until it is done. It must not know what is written;
readers do not need it.
"""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import socket
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from quoth.errors import Conflict
from quoth.index.generations import disk_errors


class WriterLock:
    """The lock is the kernel's and ends with its process. The content of the file only tells people who holds it."""

    def __init__(self, data_dir: Path, book_id: str) -> None:
        self._data_dir = data_dir
        self._book_id = book_id
        self._file: TextIO | None = None

    def acquire(self) -> None:
        with disk_errors(self._data_dir):
            self._data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = (self._data_dir / "writer.lock").open("a+", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with file:
                raise Conflict(self._held_by(file)) from None
        self._file = file
        with disk_errors(self._data_dir):
            file.truncate(0)
            file.write(json.dumps(self._holder()))
            file.flush()

    def release(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> WriterLock:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _holder(self) -> dict[str, str | int]:
        return {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])[:200],
            "since": datetime.now(UTC).isoformat(timespec="seconds"),
            "book": self._book_id,
        }

    def _held_by(self, file: TextIO) -> str:
        file.seek(0)
        try:
            holder = json.loads(file.read())
            since = datetime.fromisoformat(holder["since"]).astimezone()
            who = f" (pid {holder['pid']} on {holder['host']}, `{holder['command']}`, since {since:%H:%M:%S})"
            what = f"the book {holder['book']!r} in {self._data_dir}"
        except (ValueError, KeyError, TypeError):
            # The holder has the lock but has not yet signed.
            who, what = "", str(self._data_dir)
        return f"Another process{who} is writing to {what}."
