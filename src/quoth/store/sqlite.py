"""A SQLite file as the relational store: open it, bring it up to date, read, write, name what went wrong.

`library.py` hands in functions that run statements on a connection; here they get a thread and a transaction. Measured:
one hop to a thread for a whole transaction costs 1.5 ms of CPU a turn. SQLAlchemy's asyncio layer over aiosqlite hops
for every cursor and costs 3.8 ms, and importing it another 0.1 s at every start. This file sees to it that readers and
the writer of any process do not wait for each other (WAL), that there is one writer at a time in the order of the
calls, that migrations run exactly once however many processes start together, that only the owner can read the files,
that erased words soon leave them, and that SQLite's faults become our errors.
"""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import math
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, create_engine, event
from sqlalchemy import exc as sa
from sqlalchemy.engine import URL

from quoth.errors import DiskFull, LibraryUnavailable, Outage, QuothError
from quoth.store.database import stored_version, translated
from quoth.store.private import private_directory, private_file, tighten
from quoth.store.tables import SCHEMA_VERSION

T = TypeVar("T")

_BUSY_SECONDS = 15.0  # how long a writer waits for the writer of another process
_READERS = 4
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
# What was erased leaves the files within a minute. The waits let several erasures share one rewrite, so a caller who
# erases all the time does not keep the disk busy.
_CLEANING_DELAY, _CLEANING_PAUSE = 1.0, 30.0  # seconds after an erasure, and after the last cleaning
_CLEANING_RETRIES = (2.0, 5.0, 10.0)  # seconds, if another program is in the way
_CLEANING_BUSY_MS = 500  # to wait for a lock: the writer's thread is held no longer
# A larger file is not rewritten: writers would wait for longer than their callers do (measured: 1.7 s for 128 MB).
_LARGEST_REWRITTEN = 128 * 2**20  # bytes

logger = logging.getLogger(__name__)


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
        self._unclean = False  # something was erased and may still be in the files
        self._cleaned_at = -math.inf
        self._cleaning: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Create the file if there is none, and bring the tables to the version of this code."""
        await asyncio.get_running_loop().run_in_executor(self._writer, self._open)

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work`, which makes one statement and so sees one moment."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read, work)

    async def write(self, work: Callable[[Connection], T], *, order: str = "", erases: bool = False) -> T:
        """Run `work` in a transaction: all of it or, on any error, nothing. All calls are served in order.

        A caller who is cancelled while it runs does not stop it half-way."""
        writing = self._writer.submit(self._write, work)
        if erases:  # noted by the writer's thread: the caller may be cancelled, and the work is done all the same
            loop = asyncio.get_running_loop()
            writing.add_done_callback(lambda done: self._note_erasure(done, loop))
        return await asyncio.wrap_future(writing)

    async def close(self) -> None:
        if self._cleaning is not None:
            self._cleaning.cancel()
            await asyncio.wait([self._cleaning])
        await asyncio.to_thread(self._close)

    # --- erasing ---

    def _note_erasure(self, done: Future[T], loop: asyncio.AbstractEventLoop) -> None:
        if not done.cancelled() and done.exception() is None and done.result() != 0:  # 0: there was nothing to erase
            self._unclean = True
            loop.call_soon_threadsafe(self._clean_soon)

    def _clean_soon(self) -> None:
        if self._cleaning is None or self._cleaning.done():
            self._cleaning = asyncio.create_task(self._clean())

    async def _clean(self) -> None:
        while self._unclean:
            rest = self._cleaned_at + _CLEANING_PAUSE - time.monotonic()
            await asyncio.sleep(max(_CLEANING_DELAY, rest))
            for seconds in (*_CLEANING_RETRIES, None):
                self._unclean = False  # what is erased from now on needs another cleaning
                if await asyncio.get_running_loop().run_in_executor(self._writer, self._clean_files):
                    self._cleaned_at = time.monotonic()
                    break
                self._unclean = True
                if seconds is None:
                    logger.warning("erased words may still be in %s: another program keeps it busy", self._path)
                    return
                await asyncio.sleep(seconds)

    # --- in the threads ---

    def _read(self, work: Callable[[Connection], T]) -> T:
        with self._translated(), self._engine.connect() as connection:
            return work(connection)

    def _write(self, work: Callable[[Connection], T]) -> T:
        with self._translated(), self._writing.begin() as connection:
            return work(connection)

    def _open(self) -> None:
        with self._translated():
            private_directory(self._path.parent)
            private_file(self._path)
            for beside in ("-wal", "-shm"):  # new ones get the permissions of the file itself
                tighten(self._path.with_name(self._path.name + beside))
        if self._read(stored_version) != SCHEMA_VERSION:
            self._write(self._migrate)

    def _migrate(self, connection: Connection) -> None:
        # Asked again inside the transaction, which shuts everyone else out: another process may have been first.
        version = stored_version(connection)
        if version == SCHEMA_VERSION:
            return
        from quoth.store import migrations  # Alembic is heavy, and needed once in the life of a database

        migrations.bring_up_to_date(connection, version, name=f"The database {self._path}")

    def _clean_files(self) -> bool:
        """Rewrite the file without what was erased, and empty the write-ahead log; False if that has to wait.

        `secure_delete` overwrites a row where it is now. Where it was before its page was rearranged, a copy can be
        left in an unused part of the page (measured: 4 of 2,005 rows), so the file is rewritten."""
        try:
            with self._translated(), self._engine.connect() as connection:
                try:
                    connection.exec_driver_sql(f"PRAGMA busy_timeout={_CLEANING_BUSY_MS}")
                    connection.exec_driver_sql("PRAGMA temp_store=MEMORY")  # no copy outside the data directory
                    if self._path.stat().st_size <= _LARGEST_REWRITTEN:
                        connection.exec_driver_sql("VACUUM")
                    busy: int = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").scalar_one()
                finally:
                    connection.invalidate()  # its settings are for this work alone
        except Outage as fault:
            logger.info("erased words are not out of the files yet: %s", fault)
            return False
        return not busy

    def _close(self) -> None:
        if self._unclean:
            self._unclean = False
            self._writer.submit(self._clean_files).result()
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
        connection.execute("PRAGMA secure_delete=ON")  # what is deleted is overwritten, not only unlinked

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
                hint="Restore a backup, or move the file away and run `quoth ingest PATH` again: books can be rebuilt.",
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


def _code(fault: BaseException | None) -> int | None:
    """SQLite's primary error code; the bits above tell variants apart."""
    code: Any = getattr(fault, "sqlite_errorcode", None)
    return code & 0xFF if isinstance(code, int) else None


def _to_json(value: object) -> str:
    # Half of a surrogate pair is not UTF-8 and would lose the whole turn.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace").decode()
