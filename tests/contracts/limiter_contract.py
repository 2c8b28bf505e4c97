"""What every `ports.RateLimiter` promises. A test file subclasses `LimiterContract` and gives a `limiter` fixture: a
limiter that allows three requests in its window."""

from __future__ import annotations

import asyncio

from quoth.ports import RateLimiter


class LimiterContract:
    async def test_as_many_as_are_allowed_and_no_more(self, limiter: RateLimiter) -> None:
        hits = [await limiter.hit("me") for _ in range(5)]
        assert [hit.allowed for hit in hits] == [True, True, True, False, False]
        assert [hit.remaining for hit in hits] == [2, 1, 0, 0, 0]
        assert {hit.limit for hit in hits} == {3}

    async def test_everybody_is_counted_alone(self, limiter: RateLimiter) -> None:
        for _ in range(4):
            await limiter.hit("me")
        assert (await limiter.hit("you")).allowed

    async def test_names_of_any_kind_can_be_counted(self, limiter: RateLimiter) -> None:
        for name in ("", "a b/c:d", "Ü🤖", "2001:db8::/64", "x" * 500):
            assert (await limiter.hit(name)).allowed

    async def test_the_time_to_wait_is_within_the_window(self, limiter: RateLimiter) -> None:
        for _ in range(4):
            assert 0 < (await limiter.hit("me")).reset <= 60

    async def test_many_at_once_are_all_counted(self, limiter: RateLimiter) -> None:
        hits = await asyncio.gather(*(limiter.hit("crowd") for _ in range(20)))
        assert sum(hit.allowed for hit in hits) == 3
