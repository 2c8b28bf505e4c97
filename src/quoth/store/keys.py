"""Keys in the relational store, through the port `Keys`. Only the digest of a secret is stored."""

from __future__ import annotations

from dataclasses import fields
from datetime import date, datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, select, update
from sqlalchemy import exc as sa

from quoth.domain import Key
from quoth.errors import NotFound
from quoth.store.database import Database
from quoth.store.tables import access_keys, key_spending


class SqlKeys:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, key: Key) -> None:
        await self._database.write(lambda connection: connection.execute(access_keys.insert(), _row(key)))

    async def find(self, key_id: str) -> Key | None:
        query = select(access_keys).where(access_keys.c.key_id == key_id)
        row = await self._database.read(lambda connection: connection.execute(query).first())
        return None if row is None else _key(row)

    async def all(self) -> list[Key]:
        query = select(access_keys).order_by(access_keys.c.created_at, access_keys.c.key_id)
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        return [_key(row) for row in rows]

    async def any(self) -> bool:
        query = select(access_keys.c.key_id).limit(1)
        return await self._database.read(lambda connection: connection.execute(query).first()) is not None

    async def revoke(self, key_id: str, *, at: datetime) -> Key:
        mine = access_keys.c.key_id == key_id
        statement = update(access_keys).where(mine, access_keys.c.revoked_at.is_(None)).values(revoked_at=at)
        await self._database.write(lambda connection: connection.execute(statement))
        key = await self.find(key_id)
        if key is None:
            raise NotFound(f"There is no key {key_id!r}.", hint="`quoth keys list` shows their ids.")
        return key

    async def spend(self, key_id: str, *, day: date, most: int) -> bool:
        def work(connection: Connection) -> bool:
            mine = key_spending.c.key_id == key_id
            today = (mine, key_spending.c.day == day)
            one_more = update(key_spending).where(*today, key_spending.c.answers < most)
            if connection.execute(one_more.values(answers=key_spending.c.answers + 1)).rowcount:
                return True
            used_up = connection.execute(select(key_spending.c.answers).where(*today)).first() is not None
            if used_up or most < 1:
                return False
            connection.execute(delete(key_spending).where(mine, key_spending.c.day < day))
            connection.execute(key_spending.insert(), {"key_id": key_id, "day": day, "answers": 1})
            return True

        try:
            return await self._database.write(work)
        except sa.IntegrityError:  # the first answer of the day was counted by another process in the meantime
            return await self._database.write(work)


def _row(key: Key) -> dict[str, Any]:
    return {**{field.name: getattr(key, field.name) for field in fields(key)}, "origins": list(key.origins)}


def _key(row: Row[*tuple[Any, ...]]) -> Key:
    return Key(**{**row._mapping, "origins": tuple(row.origins)})
