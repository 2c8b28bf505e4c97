"""Keys in memory, for tests. They pass the same contract suite as those of the real store."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime

from quoth.domain import Key
from quoth.errors import NotFound


class MemoryKeys:
    def __init__(self) -> None:
        self._keys: dict[str, Key] = {}
        self._spent: dict[tuple[str, date], int] = {}

    async def add(self, key: Key) -> None:
        self._keys[key.key_id] = key

    async def find(self, key_id: str) -> Key | None:
        return self._keys.get(key_id)

    async def all(self) -> list[Key]:
        return sorted(self._keys.values(), key=lambda key: (key.created_at, key.key_id))

    async def any(self) -> bool:
        return bool(self._keys)

    async def revoke(self, key_id: str, *, at: datetime) -> Key:
        if key_id not in self._keys:
            raise NotFound(f"There is no key {key_id!r}.", hint="`quoth keys list` shows their ids.")
        key = self._keys[key_id]
        self._keys[key_id] = replace(key, revoked_at=key.revoked_at or at)
        return self._keys[key_id]

    async def spend(self, key_id: str, *, day: date, most: int) -> bool:
        spent = self._spent.get((key_id, day), 0)
        if spent >= most:
            return False
        self._spent[key_id, day] = spent + 1
        return True
