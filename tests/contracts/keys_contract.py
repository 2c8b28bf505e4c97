"""What every `ports.Keys` promises. A test file subclasses `KeysContract` and gives a `keys` fixture."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from quoth.domain import Key
from quoth.errors import NotFound
from quoth.ports import Keys

NOW = datetime(2030, 5, 17, 12, 30, 15, 123456, tzinfo=UTC)
TODAY = date(2030, 5, 17)


def a_key(key_id: str = "0123456789ab", **changes: object) -> Key:
    key = Key(key_id, "the docs site", "ask", "d" * 64, NOW)
    return replace(key, **changes)  # type: ignore[arg-type]  # the names are those of Key


class KeysContract:
    async def test_a_key_comes_back_as_it_was_added(self, keys: Keys) -> None:
        key = a_key(
            name="Bücher 🤖",
            scope="ingest",
            book_id="robots",
            origins=("https://a.example", "http://localhost:3000"),
            daily=20,
            expires_at=NOW + timedelta(days=90),
        )
        await keys.add(key)
        assert await keys.find(key.key_id) == key

    async def test_a_key_that_was_never_added_is_not_found(self, keys: Keys) -> None:
        await keys.add(a_key())
        assert await keys.find("ba9876543210") is None

    async def test_keys_are_listed_oldest_first(self, keys: Keys) -> None:
        young, old = a_key("aaaaaaaaaaaa", created_at=NOW), a_key("bbbbbbbbbbbb", created_at=NOW - timedelta(days=1))
        await keys.add(young)
        await keys.add(old)
        assert await keys.all() == [old, young]

    async def test_whether_there_ever_was_a_key_is_known_when_all_are_revoked(self, keys: Keys) -> None:
        assert not await keys.any()
        await keys.add(a_key())
        await keys.revoke(a_key().key_id, at=NOW)
        assert await keys.any()

    async def test_a_key_is_revoked_once_and_for_good(self, keys: Keys) -> None:
        await keys.add(a_key())
        await keys.add(a_key("bbbbbbbbbbbb"))
        first = await keys.revoke(a_key().key_id, at=NOW)
        again = await keys.revoke(a_key().key_id, at=NOW + timedelta(days=1))
        assert first == again == await keys.find(a_key().key_id) == a_key(revoked_at=NOW)
        assert await keys.find("bbbbbbbbbbbb") == a_key("bbbbbbbbbbbb")

    async def test_a_key_that_is_not_there_cannot_be_revoked(self, keys: Keys) -> None:
        with pytest.raises(NotFound, match="ba9876543210"):
            await keys.revoke("ba9876543210", at=NOW)

    async def test_a_budget_is_used_up_answer_by_answer_and_whole_again_the_next_day(self, keys: Keys) -> None:
        await keys.add(a_key())
        key_id = a_key().key_id
        assert [await keys.spend(key_id, day=TODAY, most=2) for _ in range(4)] == [True, True, False, False]
        assert await keys.spend(key_id, day=TODAY + timedelta(days=1), most=2)

    async def test_a_budget_that_is_raised_goes_on_from_what_was_spent(self, keys: Keys) -> None:
        await keys.add(a_key())
        assert [await keys.spend(a_key().key_id, day=TODAY, most=most) for most in (1, 1, 2, 2)] == [
            True,
            False,
            True,
            False,
        ]

    async def test_a_budget_of_nothing_allows_nothing(self, keys: Keys) -> None:
        await keys.add(a_key())
        assert not await keys.spend(a_key().key_id, day=TODAY, most=0)

    async def test_each_key_has_a_budget_of_its_own(self, keys: Keys) -> None:
        for key_id in ("aaaaaaaaaaaa", "bbbbbbbbbbbb"):
            await keys.add(a_key(key_id))
        assert await keys.spend("aaaaaaaaaaaa", day=TODAY, most=1)
        assert await keys.spend("bbbbbbbbbbbb", day=TODAY, most=1)

    async def test_answers_that_are_counted_at_once_are_all_counted(self, keys: Keys) -> None:
        await keys.add(a_key())
        allowed = await asyncio.gather(*(keys.spend(a_key().key_id, day=TODAY, most=10) for _ in range(25)))
        assert sum(allowed) == 10
