"""What the relational store needs of a database, whichever it is: two verbs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from sqlalchemy import Connection

T = TypeVar("T")


class Database(Protocol):
    """Where the statements run. Both verbs leave the event loop free and raise the errors of `quoth.errors`; only an
    `IntegrityError` comes through, because whoever wrote the statement knows which promise was broken. Writes of the
    same `order` happen one after the other, as they were called."""

    async def open(self) -> None: ...

    async def read(self, work: Callable[[Connection], T]) -> T: ...

    async def write(self, work: Callable[[Connection], T], *, order: str = "") -> T: ...

    async def close(self) -> None: ...
