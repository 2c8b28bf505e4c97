"""A PostgreSQL server as the relational store: the same verbs as `sqlite.py`, on asyncpg.

`library.py` hands in functions that run statements on a connection; here each gets a connection of a small pool and a
transaction, on the event loop, without a thread. This file sees to it that writes that belong together keep the order
of their calls, that a connection that died in the pool costs no caller an error, that migrations run once however many
workers start together, and that the server's faults become our errors, without a password in them.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import asyncpg
from sqlalchemy import Connection, event
from sqlalchemy import exc as sa
from sqlalchemy.engine import URL
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import AsyncAdaptedQueuePool, NullPool

from quoth.errors import DiskFull, InternalError, LibraryUnavailable, QuothError
from quoth.store.database import storable, stored_version, translated
from quoth.store.tables import SCHEMA_VERSION

T = TypeVar("T")

# An arbitrary constant: the process that migrates holds the server's lock with this number.
_MIGRATION_LOCK = 7_174_685_084
# Parameters of libpq that asyncpg does not have; hosted servers put them into the addresses that people copy.
_NOT_FOR_ASYNCPG = ("channel_binding",)

logger = logging.getLogger(__name__)


class PostgresDatabase:
    """One database on a server. Nothing is touched before `open`; `close` waits for the writes that were asked for."""

    def __init__(self, url: URL, *, pool_size: int, seconds: float) -> None:
        """`seconds` is the limit for a connection, for one statement, and for a place in the pool."""
        self._name = f"The database {url.database or url.username} at {url.host or url.query.get('host', 'localhost')}"
        self._dsn = _dsn(url)
        self._seconds = seconds
        self._engine = self._connected_by(seconds, pool_size=pool_size, max_overflow=0, pool_timeout=seconds)
        # A read is one statement, which sees one moment even without a transaction: one round trip.
        self._reading = self._engine.execution_options(isolation_level="AUTOCOMMIT")
        self._writes: set[asyncio.Task[Any]] = set()
        self._last: dict[str, asyncio.Task[Any]] = {}  # the newest write of each order

    async def open(self) -> None:
        """Bring the tables to the version of this code."""
        if await self.read(stored_version) == SCHEMA_VERSION:
            return
        # A migration of a large table, and waiting for another worker's, may take longer than any question.
        patient = self._connected_by(None, poolclass=NullPool)
        try:
            with self._translated():
                async with patient.begin() as connection:
                    await connection.run_sync(self._migrate)
        finally:
            await patient.dispose()

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work`, which makes one statement and so sees one moment."""
        with self._translated():
            return await self._run(self._reading, work)

    async def write(self, work: Callable[[Connection], T], *, order: str = "", erases: bool = False) -> T:
        """Run `work` in a transaction: all of it or, on any error, nothing. Writes of the same `order` come one after
        the other. A caller who is cancelled while it runs does not stop it half-way. What is erased leaves the server's
        files with its next VACUUM, which autovacuum does by itself."""
        task = asyncio.create_task(self._write(work, self._last.get(order)))
        self._writes.add(task)
        if order:
            self._last[order] = task
        task.add_done_callback(lambda done: self._written(done, order))
        return await asyncio.shield(task)

    async def close(self) -> None:
        if self._writes:
            await asyncio.wait(self._writes)
        with self._translated():
            await self._engine.dispose()

    def _connected_by(self, seconds: float | None, **pool: Any) -> AsyncEngine:
        async def connect() -> Any:  # asyncpg's connection is untyped
            return await asyncpg.connect(self._dsn, timeout=self._seconds, command_timeout=seconds)

        engine = create_async_engine(
            "postgresql+asyncpg://",
            async_creator=connect,  # asyncpg reads the address itself: sslmode, sslrootcert, several hosts …
            json_serializer=_to_json,
            hide_parameters=True,  # what readers asked does not belong in an error
            **{"poolclass": AsyncAdaptedQueuePool, **pool},
        )
        event.listen(engine.sync_engine, "before_cursor_execute", _storable, retval=True)
        return engine

    async def _write(self, work: Callable[[Connection], T], before: asyncio.Task[Any] | None) -> T:
        if before is not None:
            await asyncio.wait([before])
        with self._translated():
            return await self._run(self._engine, work)

    def _written(self, task: asyncio.Task[Any], order: str) -> None:
        self._writes.discard(task)
        if self._last.get(order) is task:
            del self._last[order]
        if not task.cancelled() and (fault := task.exception()) is not None:
            logger.debug("a write failed: %s", fault)  # the caller may have gone

    async def _run(self, engine: AsyncEngine, work: Callable[[Connection], T]) -> T:
        """A connection that the server closed in the pool shows only in use (asking first would triple the round
        trips). Work that was not yet being committed has not happened, and is done again, once."""
        for last in (False, True):
            committing = False
            try:
                async with engine.connect() as connection:
                    result = await connection.run_sync(work)
                    committing = True
                    await connection.commit()
                    return result
            except sa.DBAPIError as fault:
                if last or committing or not fault.connection_invalidated:
                    raise
        raise AssertionError("the last attempt returns or raises")

    def _migrate(self, connection: Connection) -> None:
        # Lock and migration belong to one transaction: no process sees half of it or runs it twice.
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})")
        version = stored_version(connection)
        if version == SCHEMA_VERSION:
            return
        from quoth.store import migrations  # Alembic is heavy, and needed once in the life of a database

        migrations.bring_up_to_date(connection, version, name=self._name)

    # --- errors ---

    def _translated(self) -> AbstractContextManager[None]:
        faults = (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError)
        return translated(self._name, self._named, faults)

    def _named(self, fault: BaseException) -> QuothError:
        if isinstance(fault, sa.TimeoutError):
            return LibraryUnavailable(
                f"{self._name} is busy: no connection came free within {self._seconds:g} s.",
                hint="Try again in a moment, or raise QUOTH_DATABASE_POOL_SIZE.",
            )
        if isinstance(fault, TimeoutError):
            return LibraryUnavailable(
                f"{self._name} did not answer within {self._seconds:g} s.", hint="Try again in a moment."
            )
        state = str(getattr(fault, "sqlstate", None) or "")
        if state == "53100":
            return DiskFull(f"{self._name} could not be written: the server's disk is full.")
        if state.startswith(("22", "42")) and state not in _HINTS:  # wrong data, or a wrong statement
            return InternalError(f"{self._name} cannot run a statement: {fault}")
        if isinstance(fault.__cause__, asyncpg.ClientConfigurationError):  # its words may repeat the address
            return LibraryUnavailable(f"{self._name} has an address that cannot be used.", hint=_HINTS["28"])
        hint = next((hint for states, hint in _HINTS.items() if state.startswith(states)), _HINTS[""])
        return LibraryUnavailable(f"{self._name} failed: {str(fault) or type(fault).__name__}.", hint=hint)


# By the beginning of the server's error code; the last one is for all others.
_HINTS = {
    "28": "Check user, password and parameters in DATABASE_URL.",
    "3D": "Create it: `createdb NAME`, or name another in DATABASE_URL.",
    "42704": "Check the parameters in DATABASE_URL.",
    "42501": "Give the user of DATABASE_URL the right to create and write tables there.",
    "25006": "DATABASE_URL names a read-only server; name the primary.",
    "53300": "Allow more connections (max_connections), or lower QUOTH_DATABASE_POOL_SIZE or QUOTH_WORKERS.",
    "57P": "The server is starting or stopping; try again in a moment.",
    "": "Check that the server is running and that DATABASE_URL names it, then try again.",
}


def _dsn(url: URL) -> str:
    query = {name: value for name, value in url.query.items() if name not in _NOT_FOR_ASYNCPG}
    if "ssl" in query:  # SQLAlchemy's name for it
        query["sslmode"] = query.pop("ssl")
    plain = url.set(drivername="postgresql", query=query)
    return plain.render_as_string(hide_password=False)


def _storable(_connection: object, _cursor: object, statement: str, parameters: Any, *_: object) -> tuple[str, Any]:
    """PostgreSQL refuses NUL and half of a surrogate pair; neither may lose a turn or end an ingest."""
    if isinstance(parameters, list):
        return statement, [_cleaned(row) for row in parameters]
    return statement, _cleaned(parameters)


def _cleaned(row: Any) -> Any:
    return tuple(storable(value) if isinstance(value, str) else value for value in row)


def _to_json(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # JSONB cannot hold NUL. An escaped backslash before u0000 is not one.
    return re.sub(r"\\(\\|u0000)", lambda found: "\ufffd" if found[1] == "u0000" else found[0], text)
