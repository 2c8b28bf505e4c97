"""Where the statements of the relational store run, and what all of them share.

`library.py`, `conversations.py` and `keys.py` hand functions with their statements to a `Database`: SQLite
(`sqlite.py`) or PostgreSQL (`postgres.py`). The statements are written for both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Protocol, TypeVar, cast

from sqlalchemy import ColumnElement, Connection, Table, delete, inspect
from sqlalchemy import exc as sa
from sqlalchemy.dialects.sqlite import Insert

from quoth.errors import InternalError, LibraryUnavailable, QuothError
from quoth.ports import within

T = TypeVar("T")

# What a text column cannot hold: half of a surrogate pair is not UTF-8, and PostgreSQL refuses NUL.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class Database(Protocol):
    """Where the statements run. Both verbs leave the event loop free and raise the errors of `quoth.errors`. Only an
    `IntegrityError` comes through, because the author of the statement knows which promise was broken. Writes of the
    same `order` happen one after the other, in the order of the calls. What a write that `erases` has deleted also
    leaves the database files soon afterwards, as far as that is in our hands (docs/security.md); if it returns 0, there
    was nothing to erase."""

    async def open(self) -> None: ...

    async def read(self, work: Callable[[Connection], T]) -> T: ...

    async def write(self, work: Callable[[Connection], T], *, order: str = "", erases: bool = False) -> T: ...

    async def close(self) -> None: ...


class TimedDatabase:
    """A database that callers wait for only for a limited time. What it has begun goes on: a caller that was told of an
    outage may find the turn stored after all, but never half of it."""

    def __init__(self, database: Database, seconds: float) -> None:
        self._database = database
        self._seconds = seconds

    async def open(self) -> None:
        await self._database.open()  # a migration may take long

    async def read(self, work: Callable[[Connection], T]) -> T:
        async with within(self._seconds, self._late()):
            return await self._database.read(work)

    async def write(self, work: Callable[[Connection], T], *, order: str = "", erases: bool = False) -> T:
        async with within(self._seconds, self._late()):
            return await self._database.write(work, order=order, erases=erases)

    async def close(self) -> None:
        await self._database.close()

    def _late(self) -> LibraryUnavailable:
        return LibraryUnavailable(
            f"The database did not answer within {self._seconds:g} seconds.", hint="Try again in a moment."
        )


@contextmanager
def translated(
    what: str, named: Callable[[BaseException], QuothError], lost: type[BaseException] | tuple[type[BaseException], ...]
) -> Iterator[None]:
    """Turns a database's faults into our errors: `named` makes the error; `lost` are the faults of connecting."""
    try:
        yield
    except sa.IntegrityError:
        raise  # the author of the statement knows which promise was broken
    except sa.DBAPIError as fault:
        raise named(fault.orig or fault) from fault
    except sa.TimeoutError as fault:
        raise named(fault) from fault
    except sa.SQLAlchemyError as fault:
        raise InternalError(f"{what} cannot run a statement: {fault}") from fault
    except lost as fault:
        raise named(fault) from fault


@cache
def upsert(dialect: str, table: Table) -> Insert:
    """An INSERT that can say ON CONFLICT. Each database has its own class for it."""
    if dialect == "sqlite":
        return Insert(table)
    from sqlalchemy.dialects.postgresql import Insert as PostgresInsert  # imported only where it is used

    return cast(Insert, PostgresInsert(table))


def stored_version(connection: Connection) -> str | None:
    """What Alembic wrote, read without Alembic; None in a database without tables."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    version: str | None = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    return version


def delete_from(connection: Connection, table: Table, *conditions: ColumnElement[bool]) -> int:
    return connection.execute(delete(table).where(*conditions)).rowcount


def storable(text: str) -> str:
    return _UNSTORABLE.sub("\ufffd", text)
