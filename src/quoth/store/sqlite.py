"""A SQLite file as the place of the relational store: open it, bring it up to date, read, write, name what went wrong.

`library.py` hands in functions that run statements on a connection; here they get a thread and a transaction. Measured:
one hop to a thread for a whole transaction costs 1.5 ms of CPU a turn. SQLAlchemy's asyncio layer over aiosqlite hops
for every cursor and costs 3.8 ms, and importing it another 0.1 s at every start. This file sees to it that readers and
the writer of any process do not wait for each other (WAL), that there is one writer at a time in the order of the
calls, that migrations run exactly once however many processes start together, and that SQLite's faults become our
errors.
"""

from __future__ import annotations

import asyncio
import errno
import json
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, create_engine, event
from sqlalchemy import exc as sa
from sqlalchemy.engine import URL

from quoth.errors import DiskFull, LibraryUnavailable, QuothError
from quoth.store.database import translated
from quoth.store.tables import SCHEMA_VERSION

T = TypeVar("T")

_BUSY_SECONDS = 15.0  # how long a writer waits for the writer of another process
_READERS = 4
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


class SqliteDatabase:
    """One file. Nothing is touched before `open`; `close` waits for the writes that were asked for."""

    def __init__(self, path: Path, *, busy_seconds: float = _BUSY_SECONDS) -> None:
        self._path = path
        self._busy_seconds = busy_seconds
        self._engine = create_engine(
            URL.create("sqlite", database=str(path)),
            # The driver must not begin anything by itself: `_begin` opens every transaction.
            connect_args={"isolation_level": None, "timeout": busy_seconds},
            json_serializer=_to_json,
            hide_parameters=True,  # what readers asked does not belong in an error
            pool_size=_READERS + 1,
        )
        event.listen(self._engine, "connect", self._set_up)
        event.listen(self._engine, "begin", _begin)
        self._writing = self._engine.execution_options(quoth_write=True)
        # SQLite has one writer. A thread of its own is a fair queue; SQLite's busy handler sleeps and starves.
        self._writer = ThreadPoolExecutor(1, "quoth-sqlite-write")
        self._readers = ThreadPoolExecutor(_READERS, "quoth-sqlite-read")

    async def open(self) -> None:
        """Create the file if there is none, and bring the tables to the version of this code."""
        await asyncio.get_running_loop().run_in_executor(self._writer, self._open)

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work`, which makes one statement and so sees one moment."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read, work)

    async def write(self, work: Callable[[Connection], T], *, order: str = "") -> T:
        """Run `work` in a transaction: all of it or, on any error, nothing. All calls are served in order.

        A caller who is cancelled while it runs does not stop it half-way."""
        return await asyncio.get_running_loop().run_in_executor(self._writer, self._write, work)

    async def close(self) -> None:
        await asyncio.to_thread(self._close)

    # --- in the threads ---

    def _read(self, work: Callable[[Connection], T]) -> T:
        with self._translated(), self._engine.connect() as connection:
            return work(connection)

    def _write(self, work: Callable[[Connection], T]) -> T:
        with self._translated(), self._writing.begin() as connection:
            return work(connection)

    def _open(self) -> None:
        with self._translated():
            self._path.parent.mkdir(parents=True, exist_ok=True)
        if self._read(_stored_version) != SCHEMA_VERSION:
            self._write(self._migrate)

    def _migrate(self, connection: Connection) -> None:
        # Asked again inside the transaction, which shuts out all others: another process may have been first.
        version = _stored_version(connection)
        if version == SCHEMA_VERSION:
            return
        from quoth.store import migrations  # Alembic is heavy, and needed once in the life of a database

        migrations.bring_up_to_date(connection, version, name=f"The database {self._path}")

    def _close(self) -> None:
        self._writer.shutdown()
        self._readers.shutdown()
        with self._translated():
            self._engine.dispose()

    def _set_up(self, connection: sqlite3.Connection, _record: object) -> None:
        self._use_wal(connection)
        # Safe against a crash of the process; a power cut can cost the last writes, never the file. Ingestion heals
        # a lost page record by itself, so nothing here is worth a flush of the disk for every write.
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA foreign_keys=ON")

    def _use_wal(self, connection: sqlite3.Connection) -> None:
        # Unlike every other statement, the switch of a new file to WAL does not wait for other processes.
        deadline = time.monotonic() + self._busy_seconds
        while True:
            try:
                connection.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as fault:
                if _code(fault) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    # --- errors ---

    def _translated(self) -> AbstractContextManager[None]:
        return translated(f"The database {self._path}", self._named, OSError)

    def _named(self, fault: BaseException) -> QuothError:
        what = f"The database {self._path}"
        if isinstance(fault, sa.TimeoutError):
            return LibraryUnavailable(f"{what} is busy: no connection came free.", hint="Try again in a moment.")
        code = _code(fault)
        if code == sqlite3.SQLITE_FULL or (isinstance(fault, OSError) and fault.errno in _NO_SPACE):
            return DiskFull(f"{what} could not be written: the disk is full.")
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return LibraryUnavailable(
                f"{what} is locked by another program.", hint="Close what is writing to it, or try again in a moment."
            )
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return LibraryUnavailable(
                f"{what} is damaged or not a SQLite database ({fault}).",
                hint="Put a copy back, or move it away and run `quoth ingest PATH` again: books can be rebuilt.",
            )
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM) or isinstance(
            fault, OSError
        ):
            return LibraryUnavailable(
                f"{what} cannot be opened for writing ({fault}).",
                hint="Check the folder and its permissions, or name another one: --data-dir DIR.",
            )
        return LibraryUnavailable(f"{what} failed: {fault}", hint="Check the file and its disk, then try again.")


def _begin(connection: Connection) -> None:
    # A writer takes the lock at the start: a reader that turns into a writer would fail at once instead of waiting.
    # A reader makes one statement and needs no transaction.
    if connection.get_execution_options().get("quoth_write"):
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def _stored_version(connection: Connection) -> str | None:
    """What Alembic wrote, read without Alembic."""
    try:
        version: str | None = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    except sa.OperationalError as fault:
        if _code(fault.orig) == sqlite3.SQLITE_ERROR:  # no such table: a new file
            return None
        raise
    return version


def _code(fault: BaseException | None) -> int | None:
    """SQLite's primary error code; the bits above tell variants apart."""
    code: Any = getattr(fault, "sqlite_errorcode", None)
    return code & 0xFF if isinstance(code, int) else None


def _to_json(value: object) -> str:
    # Half of a surrogate pair is not UTF-8 and would lose the whole turn.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace").decode()
