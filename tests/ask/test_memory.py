"""Who waits for whom in a session, and what happens to turns that end early."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest

from quoth.ask import threads
from quoth.ask.memory import Memory, SessionOrder, TurnInProgress
from quoth.domain import Message, ModelEvent, ModelText, Tool
from quoth.testing.library import MemoryLibrary
from samples import question

SESSION = question().session_id


async def test_a_session_is_forgotten_when_its_last_caller_has_left() -> None:
    order = SessionOrder()
    assert order.waiting(owner="", session_id=SESSION) == 0
    async with order.turn("", SESSION):
        assert (len(order), order.waiting(owner="", session_id=SESSION)) == (1, 0)
        behind = asyncio.create_task(_pass_through(order))
        await asyncio.sleep(0)
        assert (len(order), order.waiting(owner="", session_id=SESSION)) == (1, 1)
    assert len(order) == 1
    await behind
    assert len(order) == 0


async def _pass_through(order: SessionOrder) -> None:
    async with order.turn("", SESSION):
        assert order.waiting(owner="", session_id=SESSION) == 0


async def test_a_turn_in_which_nothing_was_said_is_not_stored() -> None:
    turn = TurnInProgress(Memory(MemoryLibrary()), question())
    await turn.store()
    await turn.interrupt()


async def test_an_erased_turn_is_not_stored() -> None:
    turn = TurnInProgress(Memory(MemoryLibrary()), question())
    turn.so_far = lambda: pytest.fail("it was asked for")
    turn.forgotten = True
    await turn.store()


async def test_work_in_the_background_that_fails_or_is_cancelled_leaves_no_trace(
    caplog: pytest.LogCaptureFixture,
) -> None:
    memory, loop = Memory(MemoryLibrary()), asyncio.get_running_loop()
    told: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _, context: told.append(context))

    async def fail() -> None:
        raise ValueError("nobody waits for it")

    async def hang() -> None:
        await asyncio.sleep(60)

    failing, hanging = memory.in_background(fail()), memory.in_background(hang())
    await asyncio.sleep(0)
    hanging.cancel()
    await asyncio.wait([failing, hanging])
    await asyncio.sleep(0)
    del failing, hanging
    await asyncio.sleep(0)
    assert told == []
    assert caplog.records == []


class Endless:
    """A model that never stops."""

    name = "endless"
    letters = 0

    async def reply(
        self, messages: Sequence[Message], tools: Sequence[Tool] = (), *, cache: str = ""
    ) -> AsyncGenerator[ModelEvent]:
        while True:
            self.letters += 10
            yield ModelText("topics qos")

    async def close(self) -> None: ...


async def test_a_topic_is_cut_off_when_the_model_does_not_stop() -> None:
    model = Endless()
    topic = await Memory._topic(model, [])  # type: ignore[arg-type]  # it can do no more than reply
    assert model.letters == 4 * threads.LONGEST_TOPIC + 10
    assert 0 < len(topic) <= threads.LONGEST_TOPIC
