"""A model's answer has an end, whatever its server does: the words so far are kept and marked."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from quoth.domain import Message, ModelText, ModelTurn
from quoth.errors import ModelUnavailable
from quoth.models import endpoint, openai, openai_wire
from quoth.models.openai import ModelOptions, OpenAIChat
from quoth.testing.model_server import DONE, ModelServer, Reply, chunk, data, never_ends, says, stalls, usage

ASK = [Message("user", "How many?")]
LONGEST = 1_000  # characters, in these tests


async def no_pause(seconds: float) -> None:
    return


@dataclass
class Asked:
    server: ModelServer
    model: OpenAIChat

    async def say(self) -> tuple[str, ModelTurn]:
        events = [event async for event in self.model.reply(ASK)]
        *words, turn = events
        assert isinstance(turn, ModelTurn)
        return "".join(word.text for word in words if isinstance(word, ModelText)), turn


@asynccontextmanager
async def asking(*replies: Reply, **limits: Any) -> AsyncIterator[Asked]:
    async with ModelServer(*replies) as server:
        model = OpenAIChat(ModelOptions(server.url, "scripted", **limits), sleep=no_pause)
        yield Asked(server, model)
        await model.close()


@pytest.fixture(autouse=True)
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small limits, so that reaching them takes no time."""
    monkeypatch.setattr(openai_wire, "LONGEST_ANSWER", LONGEST)
    monkeypatch.setattr(openai_wire, "LONGEST_EVENT", 10_000)
    monkeypatch.setattr(openai_wire, "LONGEST_STREAM", 300_000)
    monkeypatch.setattr(endpoint, "LONGEST_FAULT", 10_000)


async def test_an_endless_answer_is_cut_at_its_longest_and_the_server_is_left() -> None:
    async with asking(never_ends(chunk({"content": "word "}))) as asked:
        words, turn = await asked.say()
        await asked.server.someone_left.wait()
    assert words == ("word " * LONGEST)[:LONGEST]
    assert turn == ModelTurn(truncated=True, model="scripted")


async def test_an_answer_that_fits_exactly_is_whole() -> None:
    async with asking(says("x" * LONGEST), says("x" * LONGEST + "y")) as asked:
        assert [len((turn := await asked.say())[0]), turn[1].truncated] == [LONGEST, False]
        assert [len((turn := await asked.say())[0]), turn[1].truncated] == [LONGEST, True]


async def test_an_answer_that_is_sent_whole_is_cut_too() -> None:
    whole = json.dumps({"choices": [{"message": {"content": "x" * 5_000}, "finish_reason": "stop"}]}).encode()
    async with asking(Reply((whole,), content_type="application/json")) as asked:
        words, turn = await asked.say()
    assert (len(words), turn.truncated) == (LONGEST, True)


def dripping(words: str) -> Reply:
    """Each frame comes in time; the whole answer does not."""
    return never_ends(chunk({"content": words, "reasoning_content": "Hm."}), pace=0.01)


async def test_what_a_dripping_model_said_is_kept_when_its_time_is_over() -> None:
    async with asking(dripping("half"), first_token=5.0, total=0.3) as asked:
        said, turn = await asked.say()
        await asked.server.someone_left.wait()
    assert (said[:4], turn.truncated) == ("half", True)


async def test_a_dripping_model_that_said_nothing_is_unavailable_when_its_time_is_over() -> None:
    async with asking(dripping(""), first_token=5.0, total=0.3) as asked:
        with pytest.raises(ModelUnavailable, match=r"no end within 0\.3 seconds"):
            await asked.say()
        await asked.server.someone_left.wait()


async def test_frames_that_never_pause_do_not_outlive_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_wire, "LONGEST_STREAM", 2**60)
    async with asking(never_ends(chunk({"reasoning_content": "Hm. " * 1_000})), total=0.3) as asked:
        with pytest.raises(ModelUnavailable, match="no end within"):
            await asked.say()
        await asked.server.someone_left.wait()


async def test_a_silent_model_is_unavailable() -> None:
    async with asking(stalls(), first_token=0.1, total=5.0) as asked:
        with pytest.raises(ModelUnavailable, match=r"no answer within 0\.1 seconds"):
            await asked.say()
        assert len(asked.server.bodies) == 3


async def test_a_model_that_falls_silent_leaves_what_it_said() -> None:
    async with asking(stalls(chunk({"content": "half"})), total=0.2) as asked:
        words, turn = await asked.say()
    assert (words, turn.truncated) == ("half", True)


@pytest.mark.parametrize("last", [DONE, b""])
async def test_a_server_that_does_not_hang_up_after_the_end_delays_nobody(
    last: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openai, "END_SECONDS", 0.05)
    async with asking(stalls(chunk({"content": "two"}), chunk({}, finish="stop"), usage(5, 1), last)) as asked:
        assert await asked.say() == ("two", ModelTurn(tokens=6, prompt_tokens=5, model="scripted"))


ENDLESS = {
    "a line": b"x" * 1_000,
    "an event": b"data: x\n" * 100,
    "a value of an event": b'data: {"a": "' + b"x" * 1_000,
    "a comment": b": " + b"x" * 1_000,
    "comments": b": ping\n\n" * 100,
    "events without data": b"data:\n\n" * 100,
    "thoughts in a field": chunk({"reasoning_content": "Hm. " * 100}),
    "thoughts between tags": chunk({"content": "<think>" + "Hm. " * 100}),
    "arguments of a call": chunk({"tool_calls": [{"index": 0, "function": {"name": "a", "arguments": "x" * 100}}]}),
    "calls": chunk({"tool_calls": [{"function": {"name": "a", "arguments": "{}"}}]}),
    "empty deltas": chunk({"content": ""}),
}


@pytest.mark.parametrize("frame", ENDLESS.values(), ids=ENDLESS)
async def test_whatever_does_not_end_is_left_without_a_second_attempt(frame: bytes) -> None:
    async with asking(never_ends(frame)) as asked:
        with pytest.raises(ModelUnavailable, match="does not end"):
            await asked.say()
        await asked.server.someone_left.wait()
        assert len(asked.server.bodies) == 1


@pytest.mark.parametrize("frame", ENDLESS.values(), ids=ENDLESS)
async def test_words_before_it_are_kept_and_marked_and_no_half_call_is_made(frame: bytes) -> None:
    reply = Reply((chunk({"content": "half"}),), endless=frame)
    async with asking(reply) as asked:
        words, turn = await asked.say()
    assert words == "half"
    assert (turn.truncated, turn.tool_calls) == (True, ())


async def test_of_an_endless_error_only_the_beginning_is_read() -> None:
    async with asking(Reply((b"out of memory ",), status=507, endless=b"x" * 1_000)) as asked:
        with pytest.raises(ModelUnavailable, match="out of memory x"):
            await asked.say()
        await asked.server.someone_left.wait()


async def test_thoughts_without_an_answer_are_a_failure_and_not_an_empty_answer() -> None:
    silent: Sequence[Reply] = [
        Reply((chunk({"content": "<think>The answer is two."}), chunk({}, finish="stop"))),
        Reply((chunk({"content": "<think>The answer"}), chunk({}, finish="length"))),
    ]
    async with asking(*silent) as asked:
        for _ in silent:
            with pytest.raises(ModelUnavailable, match="it only thought and gave no answer"):
                await asked.say()


async def test_a_server_that_keeps_the_opening_tag_to_itself_is_known_after_its_first_answer() -> None:
    thinking = says("Hm", ".", "</think>", "\n\n", "two")
    async with asking(thinking, thinking, says("three"), says("four", "five"), says("six")) as asked:
        answers = [(await asked.say())[0] for _ in range(4)]
        assert answers == ["Hm.\n\ntwo", "two", "three", "fourfive"]
        events = [event async for event in asked.model.reply(ASK)]
        assert events[0] == ModelText("six")


@pytest.mark.parametrize(
    "lie",
    [
        {"model": ["a"], "usage": {"total_tokens": -5, "prompt_tokens": "many"}},
        {"model": {}, "usage": {"total_tokens": 10**40}},
        {"model": "m" * 5_000, "usage": [1]},
    ],
)
async def test_figures_and_names_that_cannot_be_true_are_not_believed(lie: dict[str, Any]) -> None:
    frames = (chunk({"content": "two"}), data({"choices": [], **lie}), chunk({}, finish="stop"))
    async with asking(Reply(frames)) as asked:
        _, turn = await asked.say()
    assert (turn.tokens, turn.prompt_tokens) == (0, 0)
    assert turn.model in ("scripted", "m" * openai_wire.LONGEST_NAME)
