"""Questions asked at once in one session are answered one after the other, in the order in which they arrived."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from pathlib import Path
from typing import NamedTuple

import httpx2
import pytest

from doors import ASKED, SESSION, Doors, a_key, closed, frames, opened, served
from quoth.ask.memory import SessionOrder
from quoth.domain import Message, ModelEvent, ModelText, ModelTurn, Tool
from quoth.serve import asking
from quoth.store.library import open_library
from quoth.testing.model import ScriptedModel

pytestmark = pytest.mark.slow

TRUE = "Transient local durability keeps the last message for late subscribers [1]."


async def test_the_first_to_come_is_let_in_first_and_alone() -> None:
    order, log = SessionOrder(), list[str]()

    async def ask(name: int) -> None:
        async with order.turn("", SESSION):
            log.append(f"in {name}")
            await asyncio.sleep(0)
            log.append(f"out {name}")

    await asyncio.gather(*(ask(name) for name in range(20)))
    assert log == [f"{way} {name}" for name in range(20) for way in ("in", "out")]


async def test_other_sessions_and_other_keys_do_not_wait() -> None:
    order = SessionOrder()
    async with order.turn("key-1", SESSION), order.turn("key-2", SESSION), order.turn("key-1", "another"):
        assert len(order) == 3
    assert len(order) == 0


async def test_a_caller_that_fails_or_is_cancelled_gives_its_place_back_and_nothing_is_kept() -> None:
    order, entered = SessionOrder(), list[str]()

    async def ask(name: str) -> None:
        async with order.turn("", SESSION):
            entered.append(name)
            raise RuntimeError(name)

    async with order.turn("", SESSION):
        waiting = [asyncio.create_task(ask(name)) for name in ("first", "leaves", "last")]
        await asyncio.sleep(0)
        assert order.waiting(owner="", session_id=SESSION) == 3
        waiting[1].cancel()
        await asyncio.sleep(0)
        assert order.waiting(owner="", session_id=SESSION) == 2
    await asyncio.gather(*waiting, return_exceptions=True)
    assert entered == ["first", "last"]
    assert len(order) == 0


class Counting(ScriptedModel):
    """Takes its time for every answer, and notes how many it writes at once."""

    at_once = 0
    most = 0

    async def reply(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> AsyncGenerator[ModelEvent]:
        if not messages[0].content.startswith("You answer"):  # a request for a title, not for an answer
            yield ModelTurn()
            return
        self.shown.append(list(messages))
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        try:
            for word in TRUE.split(" "):
                await asyncio.sleep(0.002)
                yield ModelText(f"{word} ")
        finally:
            self.at_once -= 1
        yield ModelTurn(tokens=1, model=self.name)


def said_before(messages: Sequence[Message]) -> list[str]:
    return [message.content for message in messages[1:-1] if message.role == "user"]


@pytest.mark.parametrize("door", ["/chat", "/chat/stream", "/chat/run"])
async def test_questions_at_once_over_http_are_kept_in_order_and_none_is_lost(tmp_path: Path, door: str) -> None:
    model = Counting([[]])
    library = await open_library(f"sqlite:///{tmp_path / 'quoth.db'}")
    async with opened(tmp_path, model=model, library=library) as doors, served(doors.quoth) as address:
        async with httpx2.AsyncClient(base_url=address, timeout=60) as client:
            asked = [
                client.post(door, json={"query": f"{ASKED}{'!' * number}", "session_id": SESSION})
                for number in range(12)
            ]
            responses = await asyncio.gather(*asked)
        assert {response.status_code for response in responses} == {200}
        turns, total = await library.turns(SESSION)
        assert (total, model.most) == (12, 1)
        queries = [turn.query for turn in turns]
        assert sorted(queries) == sorted(f"{ASKED}{'!' * number}" for number in range(12))
        # Each was shown the exchanges that were stored before it: no two were answered at the same time.
        assert [said_before(messages) for messages in model.shown] == [queries[max(0, at - 5) : at] for at in range(12)]
        assert len(doors.quoth.conversations.memory.order) == 0


FOLLOWING = {"query": ASKED, "session_id": SESSION}


class Pausing(ScriptedModel):
    """Writes nothing until it is told to."""

    def __init__(self) -> None:
        super().__init__([[TRUE]])
        self.asked, self.may_write = asyncio.Event(), asyncio.Event()

    async def reply(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> AsyncGenerator[ModelEvent]:
        self.asked.set()
        await self.may_write.wait()
        async for event in super().reply(messages, tools):
            yield event


class Behind(NamedTuple):
    doors: Doors
    client: httpx2.AsyncClient
    model: Pausing
    first: asyncio.Task[httpx2.Response]


@pytest.fixture
async def behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Behind]:
    """A session in which somebody is asking, and a door that soon sends the head of its response."""
    monkeypatch.setattr(asking, "_FIRST_EVENT_TIMEOUT", 0.01)
    model = Pausing()
    async with (
        opened(tmp_path, model=model) as doors,
        served(doors.quoth) as address,
        httpx2.AsyncClient(base_url=address, timeout=60) as client,
    ):
        first = asyncio.create_task(client.post("/chat/stream", json=FOLLOWING))
        await model.asked.wait()
        yield Behind(doors, client, model, first)


async def test_a_stream_that_has_to_wait_for_its_turn_begins_all_the_same(behind: Behind) -> None:
    async with behind.client.stream("POST", "/chat/stream", json=FOLLOWING) as second:
        assert (second.status_code, behind.first.done()) == (200, False)
        behind.model.may_write.set()
        assert frames((await second.aread()).decode())[-1][0] == "done"
    assert frames((await behind.first).text)[-1][0] == "done"
    assert len((await behind.doors.quoth.library.turns(SESSION))[0]) == 2


async def test_a_reader_who_leaves_while_waiting_asks_nothing(behind: Behind) -> None:
    order = behind.doors.quoth.conversations.memory.order
    async with behind.client.stream("POST", "/chat/stream", json=FOLLOWING):
        assert order.waiting(owner="", session_id=SESSION) == 1
    async with asyncio.timeout(60):
        while order.waiting(owner="", session_id=SESSION):  # noqa: ASYNC110 - there is no event for it
            await asyncio.sleep(0.01)
    behind.model.may_write.set()
    assert frames((await behind.first).text)[-1][0] == "done"
    assert len((await behind.doors.quoth.library.turns(SESSION))[0]) == 1


async def test_sessions_side_by_side_are_answered_side_by_side(tmp_path: Path) -> None:
    model = Counting([[]])
    async with opened(tmp_path, model=model) as doors, served(doors.quoth) as address:
        async with httpx2.AsyncClient(base_url=address, timeout=60) as client:
            asked = [client.post("/chat/stream", json={"query": ASKED}) for _ in range(12)]
            responses = await asyncio.gather(*asked)
        assert {frames(response.text)[-1][0] for response in responses} == {"done"}
        assert model.most > 1


async def test_keys_with_a_budget_wait_for_each_other_in_their_session_too(tmp_path: Path) -> None:
    """Such a key asks through a copy of the conversations; there is still one order and one memory."""
    model = Counting([[]])
    async with closed(tmp_path, model=model) as doors:
        key = await a_key(doors, daily=50)
        body = {"query": ASKED, "session_id": SESSION}
        asked = [doors.client.post("/chat", json=body, headers=key) for _ in range(5)]
        assert {response.status_code for response in await asyncio.gather(*asked)} == {200}
        assert model.most == 1
        assert len((await doors.client.get(f"/session/{SESSION}", headers=key)).json()["messages"]) == 10


async def test_two_processes_store_every_turn_of_one_session(tmp_path: Path) -> None:
    """Two stores on one file, as two workers have: no lock spans them, and nothing is lost."""
    url = f"sqlite:///{tmp_path / 'quoth.db'}"
    one, other = await open_library(url), await open_library(url)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    async with opened(tmp_path / "a", library=one) as first, opened(tmp_path / "b", library=other) as second:

        async def ask(doors: Doors, number: int) -> None:
            await doors.ask(f"{ASKED}{'!' * number}", session_id=SESSION)

        await asyncio.gather(*(ask(doors, number) for number in range(10) for doors in (first, second)))
        turns, total = await one.turns(SESSION)
        assert total == 20
        assert [turn.turn_id for turn in turns] == sorted(turn.turn_id for turn in turns)
