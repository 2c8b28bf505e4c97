"""How often, and how much at once: windows in memory and in a real Redis, and what readers are told."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.limiter_contract import LimiterContract
from doors import ASKED, SITE, Doors, a_key, check_problem, opened
from quoth.domain import Allowance
from quoth.errors import LimiterUnavailable, RateLimited
from quoth.ports import RateLimiter
from quoth.serve import limits, redis_limiter
from quoth.serve.limits import AnswerPlaces, FallbackLimiter, MemoryLimiter
from quoth.serve.redis_limiter import RedisLimiter
from redis_server import Redis, running_redis
from samples import StillClock


class TestMemoryLimiter(LimiterContract):
    @pytest.fixture
    def limiter(self) -> RateLimiter:
        return MemoryLimiter(3, StillClock())


async def test_the_window_moves() -> None:
    clock = StillClock()
    limiter = MemoryLimiter(2, clock)
    assert (await limiter.hit("me")).allowed
    clock.pass_by(40)
    assert (await limiter.hit("me")).allowed
    refused = await limiter.hit("me")
    assert (refused.allowed, refused.reset) == (False, 20)
    clock.pass_by(20)  # the first one is forgotten, the second is not
    assert [(await limiter.hit("me")).allowed for _ in range(2)] == [True, False]


async def test_those_who_left_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = StillClock()
    limiter = MemoryLimiter(2, clock)
    for number in range(50):
        await limiter.hit(f"address {number}")
    clock.pass_by(61)
    await limiter.hit("me")
    assert list(limiter._seen) == ["me"]


async def test_no_crowd_takes_all_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_NAMES", 10)
    limiter = MemoryLimiter(2, StillClock())
    for number in range(100):
        await limiter.hit(f"address {number}")
    assert len(limiter._seen) <= 11


# --- Redis -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def redis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Redis]:
    monkeypatch.setattr(redis_limiter, "ANSWER_WITHIN", 30.0)  # this does not test how busy the machine is
    with running_redis(tmp_path) as server:
        yield server


class TestRedisLimiter(LimiterContract):
    @pytest.fixture
    async def limiter(self, redis: Redis) -> AsyncIterator[RateLimiter]:
        limiter = RedisLimiter(redis.url, 3, 60)
        yield limiter
        await limiter.close()


PROGRAM = """
import asyncio, sys
from quoth.serve import redis_limiter
from quoth.serve.redis_limiter import RedisLimiter

redis_limiter.ANSWER_WITHIN = 30.0

async def main():
    limiter = RedisLimiter(sys.argv[1], 30, 60)
    hits = await asyncio.gather(*(limiter.hit("shared") for _ in range(25)))
    print(sum(hit.allowed for hit in hits))
    await limiter.close()

asyncio.run(main())
"""


@pytest.mark.slow
def test_two_processes_share_one_limit(redis: Redis) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    command = [sys.executable, "-c", PROGRAM, redis.url]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(2)]
    allowed = [int(process.communicate(timeout=60)[0]) for process in both]
    assert sum(allowed) == 30


@pytest.mark.slow
async def test_a_redis_that_goes_away_is_logged_once_and_limits_go_on(
    redis: Redis, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = StillClock()
    settings = {"rate_limit": 3, "redis_url": redis.url}
    (tmp_path / "served").mkdir()
    async with opened(tmp_path / "served", settings=settings, clock=clock) as doors:
        with caplog.at_level(logging.WARNING, logger="quoth"):
            before = [(await doors.client.get("/books")).status_code for _ in range(4)]
            redis.stop()
            during = [(await doors.client.get("/books")).status_code for _ in range(4)]
            redis.start()  # it has forgotten everything
            clock.pass_by(limits.PAUSE)
            after = [(await doors.client.get("/books")).status_code for _ in range(4)]
    assert before == during == after == [200, 200, 200, 429]
    told = [record.getMessage() for record in caplog.records if record.name == limits.__name__]
    assert [("alone" in line, "together" in line) for line in told] == [(True, False), (False, True)]


class Broken:
    """A shared counter that fails on demand."""

    def __init__(self) -> None:
        self.down = True
        self.asked = 0

    async def hit(self, who: str) -> Allowance:
        self.asked += 1
        if self.down:
            raise LimiterUnavailable("away")
        return Allowance(True, 100, 99, 60)

    async def close(self) -> None:
        return


async def test_a_counter_that_failed_is_left_alone_for_a_while() -> None:
    clock, broken = StillClock(), Broken()
    sturdy = FallbackLimiter(broken, MemoryLimiter(2, clock), clock)
    assert [(await sturdy.hit("me")).allowed for _ in range(3)] == [True, True, False]
    assert broken.asked == 1
    clock.pass_by(limits.PAUSE)
    broken.down = False
    assert (await sturdy.hit("me")).remaining == 99


async def test_no_reader_waits_for_a_silent_redis() -> None:
    async def silence(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_server(silence, "127.0.0.1", 0) as server:
        limiter = RedisLimiter(f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}", 3, 60)
        with pytest.raises(LimiterUnavailable, match=r"nothing within 0\.5 s"):
            await limiter.hit("me")
        await limiter.close()


async def test_a_redis_that_is_not_there_says_so() -> None:
    limiter = RedisLimiter("redis://127.0.0.1:1/0", 3, 60)
    with pytest.raises(LimiterUnavailable, match="Redis"):
        await limiter.hit("me")
    await limiter.close()


# --- at the doors ----------------------------------------------------------------------------------------------------


async def test_every_answer_tells_how_much_is_left_and_the_next_one_is_refused(tmp_path: Path) -> None:
    clock = StillClock()
    async with opened(tmp_path, settings={"rate_limit": 2}, clock=clock) as doors:
        first, second, third = [await doors.client.get(path) for path in ("/books", "/nowhere", "/books")]
        assert (first.status_code, second.status_code) == (200, 404)
        told = [response.headers["x-ratelimit-remaining"] for response in (first, second, third)]
        assert told == ["1", "0", "0"]
        assert {response.headers["x-ratelimit-limit"] for response in (first, second, third)} == {"2"}
        problem = check_problem(third, 429, "RATE_LIMITED")
        assert third.headers["retry-after"] == "60"
        assert "60 seconds" in problem["hint"]
        assert int(third.headers["x-ratelimit-reset"]) == int(clock.now().timestamp()) + 60
        clock.pass_by(60)
        assert (await doors.client.get("/books")).status_code == 200


async def test_the_questions_of_browsers_are_counted_too(tmp_path: Path) -> None:
    """A browser sends a preflight before the request, and anyone else can send one for free."""
    headers = {"origin": SITE, "access-control-request-method": "POST"}
    async with opened(tmp_path, settings={"rate_limit": 2, "cors_origins": SITE}) as doors:
        answers = [await doors.client.options("/chat", headers=headers) for _ in range(3)]
        assert [answer.status_code for answer in answers] == [204, 204, 429]


@pytest.mark.parametrize("path", ["/health", "/healthz", "/readyz", "/", "/assets/page.css"])
async def test_health_and_pages_are_not_counted(tmp_path: Path, path: str) -> None:
    async with opened(tmp_path, settings={"rate_limit": 1}) as doors:
        answers = [await doors.client.get(path) for _ in range(3)]
        assert {answer.status_code for answer in answers} == {200}
        assert "x-ratelimit-limit" not in answers[0].headers


async def test_each_key_has_a_limit_of_its_own_wherever_it_is_used(tmp_path: Path) -> None:
    settings = {"auth": "keys", "rate_limit": 1, "trusted_proxies": "127.0.0.1"}
    async with opened(tmp_path, settings=settings) as doors:
        one, other = await a_key(doors), await a_key(doors)
        here, there = {"x-forwarded-for": "192.0.2.1"}, {"x-forwarded-for": "192.0.2.2"}
        status = [
            (await doors.client.get("/books", headers=headers)).status_code
            for headers in ({**one, **here}, {**one, **there}, {**other, **here})
        ]
        assert status == [200, 429, 200]


async def test_no_reader_of_a_public_key_can_use_it_up_for_the_others(tmp_path: Path) -> None:
    settings = {"auth": "keys", "rate_limit": 1, "trusted_proxies": "127.0.0.1"}
    async with opened(tmp_path, settings=settings) as doors:
        public = {**await a_key(doors, origins=[SITE]), "origin": SITE}
        status = [
            (await doors.client.get("/books", headers={**public, "x-forwarded-for": address})).status_code
            for address in ("192.0.2.1", "192.0.2.1", "192.0.2.2")
        ]
        assert status == [200, 429, 200]


async def test_who_guesses_keys_is_slowed_down(tmp_path: Path) -> None:
    async with opened(tmp_path, settings={"auth": "keys", "rate_limit": 2}) as doors:
        guess = {"authorization": "Bearer qk_0123456789ab_" + "a" * 43}
        status = [(await doors.client.get("/books", headers=guess)).status_code for _ in range(3)]
        assert status == [401, 401, 429]
        assert (await doors.client.get("/books", headers=await a_key(doors))).status_code == 200


async def test_asking_whether_one_may_ask_is_counted_too(tmp_path: Path) -> None:
    async with opened(tmp_path, settings={"auth": "keys", "rate_limit": 2}) as doors:
        public = {**await a_key(doors, origins=[SITE]), "origin": SITE}
        wants = {"origin": SITE, "access-control-request-method": "POST"}
        status = [(await doors.client.options("/chat", headers=wants)).status_code for _ in range(3)]
        assert status == [204, 204, 429]
        assert (await doors.client.get("/books", headers=public)).status_code == 200  # the key has its own count


async def test_on_loopback_nothing_is_limited_until_a_key_is_needed(tmp_path: Path) -> None:
    async with opened(tmp_path, clock=StillClock()) as doors:
        open_to_all = await doors.client.get("/books")
        assert "x-ratelimit-limit" not in open_to_all.headers
    (tmp_path / "elsewhere").mkdir()
    async with opened(tmp_path / "elsewhere", settings={"host": "0.0.0.0"}) as doors:
        assert (await doors.client.get("/books")).headers["x-ratelimit-limit"] == "100"
        assert (await doors.client.get("/books", headers=await a_key(doors))).headers["x-ratelimit-remaining"] == "99"


# --- answers at once -------------------------------------------------------------------------------------------------


def test_a_place_is_free_again_when_an_answer_has_ended_however_it_ended() -> None:
    places = AnswerPlaces(1)

    def fail() -> None:
        with places.take("me"):
            with pytest.raises(RateLimited, match="The server is busy: 1 answers"), places.take("you"):
                pass
            raise ZeroDivisionError

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            fail()


def taken_by(places: AnswerPlaces, caller: str, held: ExitStack) -> int:
    """How many places a caller gets who tries to take all of them."""
    for number in range(1_000):
        try:
            held.enter_context(places.take(caller))
        except RateLimited:
            return number
    raise AssertionError


def test_one_caller_leaves_half_of_the_places_to_others() -> None:
    places = AnswerPlaces(128)
    with ExitStack() as held:
        greedy = [taken_by(places, f"address {number}", held) for number in range(3)]
        assert greedy == [65, 32, 16]
        with pytest.raises(RateLimited, match="65 of your answers are in progress; the last 15 places are for others"):
            held.enter_context(places.take("address 0"))
        held.enter_context(places.take("an administrator"))
    assert not places._held


@given(
    most=st.integers(1, 20),
    steps=st.lists(st.tuples(st.sampled_from("abcde"), st.booleans()), max_size=200),
)
def test_a_caller_who_holds_nothing_gets_a_place_while_one_is_free(most: int, steps: list[tuple[str, bool]]) -> None:
    places, held = AnswerPlaces(most), dict[str, list[ExitStack]]()
    for caller, asks in steps:
        mine = held.setdefault(caller, [])
        had, free, place = len(mine), most - sum(map(len, held.values())), ExitStack()
        if not asks:
            (mine.pop() if mine else place).close()
            continue
        try:
            place.enter_context(places.take(caller))
        except RateLimited:
            assert free == 0 or had > 0
        else:
            mine.append(place)
        assert sum(map(len, held.values())) <= most
        assert len(mine) <= most // 2 + 1


@pytest.fixture
async def narrow(tmp_path: Path) -> AsyncIterator[Doors]:
    async with opened(tmp_path, settings={"max_answers": 1}) as doors:
        yield doors


@pytest.mark.parametrize("path", ["/chat", "/chat/stream"])
async def test_more_answers_than_there_is_room_for_are_put_off(narrow: Doors, path: str) -> None:
    with narrow.app.state.guard.places.take("another caller"):
        response = await narrow.client.post(path, json={"query": ASKED})
        check_problem(response, 429, "RATE_LIMITED")
        assert response.headers["retry-after"] == "1"
        assert (await narrow.client.post("/search", json={"text": ASKED})).status_code == 200
    assert (await narrow.client.post(path, json={"query": ASKED})).status_code == 200
    assert (await narrow.client.post(path, json={})).status_code == 400
    assert (await narrow.client.post(path, json={"query": ASKED})).status_code == 200


async def test_crowds_are_answered_or_put_off_but_never_failed(tmp_path: Path) -> None:
    async with opened(tmp_path, settings={"max_answers": 2}) as doors:
        crowd = await asyncio.gather(*(doors.client.post("/chat", json={"query": ASKED}) for _ in range(12)))
        assert {response.status_code for response in crowd} == {200, 429}
        assert sum(response.status_code == 200 for response in crowd) >= 2


async def test_a_page_may_ask_for_so_many_headers_and_no_more(tmp_path: Path) -> None:
    names = [f"x-own-{number}" for number in range(70)]
    headers = {"origin": SITE, "access-control-request-method": "POST"}
    headers["access-control-request-headers"] = ",".join(names)
    async with opened(tmp_path, settings={"cors_origins": SITE}) as doors:
        answer = await doors.client.options("/chat", headers=headers)
    allowed = answer.headers["access-control-allow-headers"].split(", ")
    assert [name for name in names if name in allowed] == names[:64]
