"""The language model's adapter over a real connection to a scripted server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from typing import Any

import httpx2
import pytest

from quoth.domain import Message, ModelText, ModelTurn, Tool
from quoth.errors import ModelRejected, ModelUnavailable
from quoth.models.breaker import Breaker
from quoth.models.openai import ModelOptions, OpenAIChat
from quoth.testing.model_server import DONE, ModelServer, Reply, calls, chunk, data, fails, says, stalls

ASK = [Message("user", "How many?")]


class Pauses(list[float]):
    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


class Bench:
    """A scripted server and a model that asks it."""

    def __init__(self, server: ModelServer, **options: float) -> None:
        self.server = server
        self.pauses = Pauses()
        self.time = 0.0
        self.breaker = Breaker(now=lambda: self.time)
        chosen = ModelOptions(server.url, "scripted", api_key="sk-test", **options)  # type: ignore[arg-type]
        self.model = OpenAIChat(chosen, breaker=self.breaker, sleep=self.pauses)

    async def say(self) -> tuple[str, ModelTurn]:
        words, turn = "", None
        async for event in self.model.reply(ASK):
            if isinstance(event, ModelText):
                words += event.text
            else:
                turn = event
        assert turn is not None
        return words, turn


@pytest.fixture
async def bench(request: pytest.FixtureRequest) -> AsyncIterator[Bench]:
    replies: Sequence[Reply] = getattr(request, "param", (says("two"),))
    async with ModelServer(*replies) as server:
        made = Bench(server)
        yield made
        await made.model.close()


async def test_words_then_one_turn_and_the_request_is_what_the_wire_wants(bench: Bench) -> None:
    words, turn = await bench.say()
    assert (words, turn.tokens, turn.tool_calls) == ("two", 120, ())
    assert bench.server.bodies == [
        {
            "model": "scripted",
            "messages": [{"role": "user", "content": "How many?"}],
            "stream": True,
            "temperature": 0.0,
            "stream_options": {"include_usage": True},
        }
    ]
    assert bench.server.headers[0]["authorization"] == "bearer sk-test"


async def test_a_tool_call_arrives_whole(bench: Bench) -> None:
    bench.server.then([calls("search_book", {"query": "q"})])
    assert (await bench.say())[1].tool_calls[0].arguments == '{"query": "q"}'


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_what_may_pass_is_tried_again(bench: Bench, status: int) -> None:
    bench.server.then([fails(status), fails(status), says("two")])
    assert (await bench.say())[0] == "two"
    assert len(bench.pauses) == 2
    assert 0.25 <= bench.pauses[0] <= 0.75
    assert 0.5 <= bench.pauses[1] <= 1.5


async def test_a_server_that_says_when_to_come_back_is_believed_up_to_a_limit(bench: Bench) -> None:
    bench.server.then([fails(429, retry_after="3"), fails(429, retry_after="3600"), says("two")])
    await bench.say()
    assert bench.pauses == [3.0, 10.0]


async def test_after_three_attempts_it_is_unavailable(bench: Bench) -> None:
    bench.server.then([fails(500, "boom")])
    with pytest.raises(ModelUnavailable, match="boom"):
        await bench.say()
    assert len(bench.server.bodies) == 3


@pytest.mark.parametrize(("status", "hint"), [(401, "OPENAI_API_KEY"), (404, "OPENAI_MODEL"), (400, "config --check")])
async def test_what_would_be_refused_again_is_not_tried_again(bench: Bench, status: int, hint: str) -> None:
    bench.server.then([fails(status)])
    with pytest.raises(ModelRejected) as caught:
        await bench.say()
    assert hint in caught.value.hint
    assert len(bench.server.bodies) == 1


async def test_an_empty_purse_is_not_tried_again(bench: Bench) -> None:
    bench.server.then([fails(429, "insufficient_quota: pay first")])
    with pytest.raises(ModelRejected):
        await bench.say()


@pytest.mark.parametrize("name", ["temperature", "stream_options"])
async def test_a_parameter_the_model_refuses_is_left_out_from_then_on(bench: Bench, name: str) -> None:
    bench.server.then([fails(400, f"Unsupported parameter: '{name}'"), says("two")])
    assert (await bench.say())[0] == "two"
    assert (await bench.say())[0] == "two"
    assert [name in body for body in bench.server.bodies] == [True, False, False]


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "registry.ollama.ai/library/gemma:2b does not support tools"),
        (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
        (500, "tools param requires --jinja flag"),
    ],
)
async def test_a_model_that_knows_no_tools_is_asked_without(bench: Bench, status: int, said: str) -> None:
    bench.server.then([fails(status, said), says("two")])
    for _ in range(2):
        async for _ in bench.model.reply(ASK, [Tool("search_book", "Searches.", {"type": "object"})]):
            pass
    assert ["tools" in body for body in bench.server.bodies] == [True, False, False]
    assert ["tool_choice" in body for body in bench.server.bodies] == [True, False, False]


async def test_a_stream_cut_before_the_first_word_is_tried_again(bench: Bench) -> None:
    bench.server.then([Reply((), cut=True), Reply((chunk({"role": "assistant"}),)), says("two")])
    assert (await bench.say())[0] == "two"


async def test_a_stream_cut_after_the_first_word_is_not_tried_again(bench: Bench) -> None:
    bench.server.then([Reply((chunk({"content": "half"}),), cut=True), says("two")])
    events = bench.model.reply(ASK)
    assert await anext(events) == ModelText("half")
    with pytest.raises(ModelUnavailable):
        await anext(events)
    assert len(bench.server.bodies) == 1


async def test_garbage_is_tried_again_and_then_unavailable(bench: Bench) -> None:
    bench.server.then([Reply((b"data: {oops\n\n",))])
    with pytest.raises(ModelUnavailable, match="oops"):
        await bench.say()
    assert len(bench.server.bodies) == 3


Jump = Callable[[float], None]


@pytest.fixture
async def jump(monkeypatch: pytest.MonkeyPatch) -> Jump:
    """Time that passes when it is told to: no test waits for a limit, and none depends on how fast a machine is."""
    loop, ahead = asyncio.get_running_loop(), 0.0
    time = loop.time

    def jump(seconds: float) -> None:
        nonlocal ahead
        ahead += seconds

    monkeypatch.setattr(loop, "time", lambda: time() + ahead)
    return jump


class LongThinker(ModelServer):
    """Each time it is asked it thinks for so long, and says nothing."""

    def __init__(self, jump: Jump, seconds: float) -> None:
        super().__init__(stalls())
        self._think = partial(jump, seconds)

    def reply_to(self, body: Mapping[str, Any]) -> Reply:
        self._think()
        return super().reply_to(body)


async def test_a_model_that_stalls_is_given_up_after_its_time(jump: Jump) -> None:
    async with LongThinker(jump, 61) as server:
        bench = Bench(server, first_token=60, total=600, attempts=2)
        with pytest.raises(ModelUnavailable, match="no answer"):
            await bench.say()
        await bench.model.close()
        assert len(server.bodies) == 2


async def test_a_model_that_never_ends_is_stopped_after_its_whole_time(jump: Jump) -> None:
    async with ModelServer(stalls(chunk({"content": "half"}))) as server:
        bench = Bench(server, first_token=60, total=600)
        events = bench.model.reply(ASK)
        assert await anext(events) == ModelText("half")
        jump(601)
        with pytest.raises(ModelUnavailable, match="no end"):
            await anext(events)
        await bench.model.close()


def after(delta: dict[str, Any], jump: Jump, seconds: float) -> OpenAIChat:
    """A model that sends this first, and all the rest so much later."""

    async def body() -> AsyncIterator[bytes]:
        yield chunk(delta)
        jump(seconds)  # whoever reads has taken the first
        await asyncio.sleep(0.01)
        for step in says("two").steps:
            assert isinstance(step, bytes)
            yield step

    stream = {"content-type": "text/event-stream"}
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, headers=stream, content=body()))
    options = ModelOptions("http://model.test/v1", "scripted", first_token=60, total=600, attempts=1)
    return OpenAIChat(options, transport=transport)


async def test_a_server_that_only_says_who_speaks_has_not_begun(jump: Jump) -> None:
    model = after({"role": "assistant", "content": ""}, jump, 61)
    with pytest.raises(ModelUnavailable, match="no answer"):
        await anext(model.reply(ASK))
    await model.close()


@pytest.mark.parametrize(
    "delta", [{"reasoning_content": "Hm."}, {"tool_calls": [{"index": 0, "function": {"name": "a"}}]}]
)
async def test_thoughts_and_calls_are_first_tokens_too(delta: dict[str, Any], jump: Jump) -> None:
    model = after(delta, jump, 61)
    events = [event async for event in model.reply(ASK)]
    assert events[0] == ModelText("two")
    await model.close()
    model = after(delta, jump, 601)
    with pytest.raises(ModelUnavailable, match="no end"):
        await anext(model.reply(ASK))
    await model.close()


async def test_all_attempts_together_have_one_time(jump: Jump) -> None:
    async with LongThinker(jump, 61) as server:
        bench = Bench(server, first_token=60, total=100)
        with pytest.raises(ModelUnavailable, match="no answer"):
            await bench.say()
        await bench.model.close()
        assert len(server.bodies) == 2
    async with ModelServer(fails(429, retry_after="8")) as server:
        bench = Bench(server, total=5.0)
        with pytest.raises(ModelUnavailable, match="429"):
            await bench.say()
        await bench.model.close()
        assert bench.pauses == []  # who would have to wait longer than there is time is told at once


async def test_a_reader_who_leaves_stops_the_model(bench: Bench) -> None:
    bench.server.then([stalls(chunk({"content": "half"}))])
    events = bench.model.reply(ASK)
    await anext(events)
    await events.aclose()
    await asyncio.wait_for(bench.server.someone_left.wait(), 60)
    assert bench.server.left == 1


async def test_nobody_listening_is_unavailable() -> None:
    async with ModelServer(says("x")) as server:
        url = server.url
    pauses = Pauses()
    model = OpenAIChat(ModelOptions(url, "m"), sleep=pauses)
    with pytest.raises(ModelUnavailable, match="ConnectError"):
        await anext(model.reply(ASK))
    await model.close()
    assert len(pauses) == 2


async def test_five_failures_in_a_row_stop_the_asking_for_a_minute(bench: Bench) -> None:
    bench.server.then([fails(500)])
    for _ in range(5):
        with pytest.raises(ModelUnavailable):
            await bench.say()
    asked = len(bench.server.bodies)
    with pytest.raises(ModelUnavailable, match="in a row"):
        await bench.say()
    assert len(bench.server.bodies) == asked
    bench.server.then([says("two")])
    bench.time = 61.0
    assert (await bench.say())[0] == "two"
    assert (await bench.say())[0] == "two"


async def test_the_first_call_after_the_pause_goes_alone(bench: Bench) -> None:
    bench.server.then([fails(500)])
    for _ in range(5):
        with pytest.raises(ModelUnavailable):
            await bench.say()
    bench.time = 61.0
    bench.server.then([stalls(chunk({"content": "half"}))])
    trying = bench.model.reply(ASK)
    await anext(trying)
    with pytest.raises(ModelUnavailable, match="in a row"):
        await bench.say()
    await trying.aclose()  # nothing was learned, so the next one may try
    bench.server.then([says("two")])
    assert (await bench.say())[0] == "two"


async def test_a_refusal_of_the_request_does_not_open_the_circuit(bench: Bench) -> None:
    bench.server.then([fails(400)])
    for _ in range(6):
        with pytest.raises(ModelRejected):
            await bench.say()


async def test_the_check_says_what_answers(bench: Bench) -> None:
    assert "scripted" in await bench.model.check()
    bench.server.then([Reply((chunk({}, finish="stop"), DONE))])
    with pytest.raises(ModelUnavailable, match="without a word"):
        await bench.model.check()


async def test_a_server_that_does_not_stream_is_understood(bench: Bench) -> None:
    body = data({"choices": [{"message": {"content": "two"}, "finish_reason": "stop"}]}).removeprefix(b"data: ")
    bench.server.then([Reply((body,), content_type="application/json")])
    assert (await bench.say())[0] == "two"


async def test_a_proxy_of_the_environment_is_asked_in_its_place(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", bench.server.url.removesuffix("/v1"))
    model = OpenAIChat(ModelOptions("http://model.invalid/v1", "scripted"))
    assert ModelText("two") in [event async for event in model.reply(ASK)]
    await model.close()
    assert bench.server.headers[0]["host"] == "model.invalid"


async def test_words_before_a_malformed_chunk_are_not_lost_with_it(bench: Bench) -> None:
    """They arrive in one block, and the reader gets them before the fault."""
    bench.server.then([Reply((chunk({"content": "half"}) + b"data: {oops\n\n",))])
    events = bench.model.reply(ASK)
    assert await anext(events) == ModelText("half")
    with pytest.raises(ModelUnavailable, match="oops"):
        await anext(events)
    assert len(bench.server.bodies) == 1
