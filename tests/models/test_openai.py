"""The language model's adapter over a real connection to a scripted server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pytest

from quoth.domain import Message, ModelText, ModelTurn, Tool, ToolCall
from quoth.errors import ModelRejected, ModelUnavailable
from quoth.models.breaker import Breaker
from quoth.models.openai import ModelOptions, OpenAIChat
from quoth.models.openai_wire import EventLines
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
    bench.server.then([calls("search_book_content", {"query": "q"})])
    assert (await bench.say())[1].tool_calls[0].arguments == '{"query": "q"}'


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_what_may_pass_is_tried_again(bench: Bench, status: int) -> None:
    bench.server.then([fails(status), fails(status), says("two")])
    assert (await bench.say())[0] == "two"
    assert len(bench.pauses) == 2
    assert 0.25 <= bench.pauses[0] <= 0.75
    assert 0.5 <= bench.pauses[1] <= 1.5


async def test_a_server_that_says_when_to_come_back_is_believed_and_left_when_that_is_too_long(bench: Bench) -> None:
    bench.server.then([fails(429, retry_after="3"), fails(429, retry_after="3600"), says("two")])
    with pytest.raises(ModelUnavailable, match="429"):
        await bench.say()
    assert (bench.pauses, len(bench.server.bodies)) == ([3.0], 2)


async def test_after_three_attempts_it_is_unavailable(bench: Bench) -> None:
    bench.server.then([fails(500, "boom")])
    with pytest.raises(ModelUnavailable, match="boom"):
        await bench.say()
    assert len(bench.server.bodies) == 3


@pytest.mark.parametrize(
    ("status", "hint"),
    [(401, "OPENAI_API_KEY"), (403, "its permissions"), (404, "OPENAI_MODEL"), (400, "config --check")],
)
async def test_what_would_be_refused_again_is_not_tried_again(bench: Bench, status: int, hint: str) -> None:
    bench.server.then([fails(status)])
    with pytest.raises(ModelRejected) as caught:
        await bench.say()
    assert hint in caught.value.hint
    assert len(bench.server.bodies) == 1


async def test_an_account_without_credit_is_not_asked_again(bench: Bench) -> None:
    bench.server.then([fails(429, "insufficient_quota: pay first")])
    with pytest.raises(ModelRejected):
        await bench.say()


# --- parameters that a server refuses ---


TOOLS = [Tool("search_book_content", "Searches.", {"type": "object"})]


async def with_tools(bench: Bench) -> str:
    words = ""
    async for event in bench.model.reply(ASK, TOOLS):
        words += event.text if isinstance(event, ModelText) else ""
    return words


@pytest.mark.parametrize("name", ["temperature", "stream_options"])
async def test_a_parameter_the_model_refuses_is_left_out_from_then_on(bench: Bench, name: str) -> None:
    bench.server.then([fails(400, f"Unsupported parameter: '{name}'"), says("two")])
    assert (await bench.say())[0] == "two"
    assert (await bench.say())[0] == "two"
    assert [name in body for body in bench.server.bodies] == [True, False, False]


REFUSALS = {
    "Ollama": fails(400, "registry.ollama.ai/library/gemma:2b does not support tools"),
    "vLLM": fails(400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
    "llama.cpp": fails(500, "tools param requires --jinja flag"),
    "LiteLLM, a keyword": fails(500, "litellm.APIError: create() got an unexpected keyword argument 'tools'"),
    "LiteLLM, parameters": fails(400, "UnsupportedParamsError: x does not support parameters: ['tools']"),
    "OpenRouter": fails(404, "No endpoints found that support tool use."),
    "Gemini": fails(400, "Function calling is not enabled for models/gemma-3"),
    "FastAPI": Reply(
        (b'{"detail":[{"loc":["body","tools"],"msg":"Extra inputs are not permitted"}]}',),
        status=422,
        content_type="application/json",
    ),
    "a template": fails(500, "Only user and assistant roles are supported!"),
    "without a word": Reply((), status=501),
    "about something else": fails(400, "Bad request."),
}


@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
async def test_a_model_that_refuses_tools_in_any_words_is_asked_without_them(bench: Bench, refusal: Reply) -> None:
    bench.server.then([refusal, says("two")])
    assert [await with_tools(bench), await with_tools(bench)] == ["two", "two"]
    assert ["tools" in body for body in bench.server.bodies] == [True, False, False]
    assert ["tool_choice" in body for body in bench.server.bodies] == [True, False, False]
    assert bench.pauses == []


async def test_without_tools_what_was_found_is_read_before_the_question(bench: Bench) -> None:
    call = ToolCall("search001", "search_book_content", '{"query": "bread"}')
    messages = [
        Message("system", "Rules."),
        Message("user", "What is bread?"),
        Message("assistant", "", tool_calls=(call,)),
        Message("tool", '{"results": []}', tool_call_id=call.id),
    ]
    bench.server.then([fails(400, "no tools here"), says("two")])
    async for _ in bench.model.reply(messages, TOOLS):
        pass
    with_them, without = (body["messages"] for body in bench.server.bodies)
    assert [one["role"] for one in with_them] == ["system", "user", "assistant", "tool"]
    assert [one["role"] for one in without] == ["system", "user"]
    assert without[1]["content"] == 'What a search of the book returned:\n{"results": []}\n\nWhat is bread?'


async def test_a_refusal_that_stays_without_the_tools_was_not_about_them(bench: Bench) -> None:
    bench.server.then([fails(404, "no such model"), fails(404, "no such model"), says("two")])
    with pytest.raises(ModelRejected, match="no such model"):
        await with_tools(bench)
    assert await with_tools(bench) == "two"
    assert ["tools" in body for body in bench.server.bodies] == [True, False, True]


async def test_a_fault_without_words_is_a_bad_moment_until_the_last_attempt(bench: Bench) -> None:
    bench.server.then([fails(500, "oops"), says("two")])
    assert await with_tools(bench) == "two"
    assert ["tools" in body for body in bench.server.bodies] == [True, True]
    bench.server.bodies.clear()
    bench.server.then([fails(500, "oops"), fails(500, "oops"), fails(500, "oops"), says("two")])
    assert [await with_tools(bench), await with_tools(bench)] == ["two", "two"]
    assert ["tools" in body for body in bench.server.bodies] == [True, True, True, False, False]


async def test_a_prompt_that_is_too_long_is_not_blamed_on_the_tools(bench: Bench) -> None:
    said = "This model's maximum context length is 8192 tokens, but you requested 9000 (500 in the functions)."
    bench.server.then([fails(400, said)])
    with pytest.raises(ModelRejected):
        await with_tools(bench)
    assert len(bench.server.bodies) == 1


@pytest.mark.parametrize("status", [401, 403])
async def test_a_wrong_key_is_told_at_once_and_not_blamed_on_the_tools(bench: Bench, status: int) -> None:
    bench.server.then([fails(status, "no tools for you")])
    with pytest.raises(ModelRejected):
        await with_tools(bench)
    assert len(bench.server.bodies) == 1


async def test_the_limit_of_an_answer_is_sent_under_the_name_that_the_server_knows() -> None:
    said = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    async with ModelServer(fails(400, said), says("two")) as server:
        bench = Bench(server, max_tokens=500, temperature=0.7)
        assert (await bench.say())[0] == "two"
        await bench.model.close()
        first, second = server.bodies
    assert (first["max_tokens"], first["temperature"]) == (500, 0.7)
    assert (second.get("max_tokens"), second["max_completion_tokens"]) == (None, 500)


# --- streams that break ---


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
SlowStart = Callable[[Mapping[str, Any], float], Reply]


@pytest.fixture
async def jump(monkeypatch: pytest.MonkeyPatch) -> Jump:
    """Moves the clock: no test waits for a limit, and none depends on the speed of the machine."""
    loop, ahead = asyncio.get_running_loop(), 0.0
    time = loop.time

    def jump(seconds: float) -> None:
        nonlocal ahead
        ahead += seconds

    monkeypatch.setattr(loop, "time", lambda: time() + ahead)
    return jump


class LongThinker(ModelServer):
    """Thinks for this long each time it is asked, and says nothing."""

    def __init__(self, jump: Jump, seconds: float) -> None:
        super().__init__(stalls())
        self._think = partial(jump, seconds)

    def reply_to(self, body: Mapping[str, Any]) -> Reply:
        self._think()
        return super().reply_to(body)


async def test_a_model_that_stalls_is_given_up_after_its_time(jump: Jump) -> None:
    async with LongThinker(jump, 61) as server:
        bench = Bench(server, first_token=60, total=600)
        with pytest.raises(ModelUnavailable, match="no answer"):
            await bench.say()
        await bench.model.close()
        assert len(server.bodies) == 3


async def test_a_model_that_goes_on_for_too_long_is_cut_off_and_its_words_are_kept(jump: Jump) -> None:
    async with ModelServer(stalls(chunk({"content": "half"}))) as server:
        bench = Bench(server, first_token=60, total=600)
        events = bench.model.reply(ASK)
        assert await anext(events) == ModelText("half")
        jump(601)
        assert [event async for event in events] == [ModelTurn(truncated=True, model="scripted")]
        await bench.model.close()
        await server.someone_left.wait()


@pytest.fixture
def slow_start(jump: Jump, monkeypatch: pytest.MonkeyPatch) -> SlowStart:
    """A model that sends this first, and the rest this many seconds later."""
    read = asyncio.Event()
    feed = EventLines.feed

    def reading(lines: EventLines, block: bytes) -> Iterator[str]:
        read.set()
        return feed(lines, block)

    monkeypatch.setattr(EventLines, "feed", reading)

    def reply(delta: Mapping[str, Any], seconds: float) -> Reply:
        async def nothing_read() -> None:
            read.clear()

        async def later() -> None:
            await read.wait()
            jump(seconds)
            await asyncio.sleep(0.01)  # do everything that is due by then

        return Reply((nothing_read, chunk(delta), later, *says("two").steps))

    return reply


async def test_a_server_that_only_says_who_speaks_has_not_begun(bench: Bench, slow_start: SlowStart) -> None:
    bench.server.then([slow_start({"role": "assistant", "content": ""}, 31)])
    with pytest.raises(ModelUnavailable, match="no answer within 30 seconds"):
        await bench.say()


@pytest.mark.parametrize(
    "delta", [{"reasoning_content": "Hm."}, {"tool_calls": [{"index": 0, "function": {"name": "a"}}]}]
)
async def test_thoughts_and_calls_are_first_tokens_too(
    bench: Bench, slow_start: SlowStart, delta: dict[str, Any]
) -> None:
    bench.server.then([slow_start(delta, 31)])
    assert (await bench.say())[0] == "two"
    bench.server.then([slow_start(delta, 62)])
    with pytest.raises(ModelUnavailable, match="no end within 60 seconds"):
        await bench.say()


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
        assert bench.pauses == []  # there is no time for the pause, so the reader is told at once


async def test_a_reader_who_leaves_stops_the_model(bench: Bench) -> None:
    bench.server.then([stalls(chunk({"content": "half"}))])
    events = bench.model.reply(ASK)
    await anext(events)
    await events.aclose()
    await asyncio.wait_for(bench.server.someone_left.wait(), 60)
    assert bench.server.left == 1


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    async with ModelServer(says("x")) as server:
        url = server.url
    pauses = Pauses()
    model = OpenAIChat(ModelOptions(url, "m"), sleep=pauses)
    with pytest.raises(ModelUnavailable, match="no connection"):
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


async def test_the_check_asks_as_a_question_does_and_says_what_answers(bench: Bench) -> None:
    assert await bench.model.check(TOOLS) == f"scripted at {bench.server.url} answers."
    assert "tools" in bench.server.bodies[0]
    bench.server.then([calls("search_book_content", {"query": "ready"})])
    assert "answers" in await bench.model.check(TOOLS)
    bench.server.then([Reply((chunk({}, finish="stop"), DONE))])
    with pytest.raises(ModelUnavailable, match="empty answer"):
        await bench.model.check(TOOLS)


async def test_the_check_says_what_the_model_refuses(bench: Bench) -> None:
    bench.server.then([fails(400, "tools? temperature?"), says("ready")])
    assert (await bench.model.check(TOOLS)).endswith(
        "answers. It refuses temperature, tools; requests leave these out."
    )


async def test_a_server_that_does_not_stream_is_understood(bench: Bench) -> None:
    body = data({"choices": [{"message": {"content": "two"}, "finish_reason": "stop"}]}).removeprefix(b"data: ")
    bench.server.then([Reply((body,), content_type="application/json")])
    assert (await bench.say())[0] == "two"


async def test_words_before_a_malformed_chunk_are_not_lost_with_it(bench: Bench) -> None:
    """They arrive in one block, and the reader gets them before the fault."""
    bench.server.then([Reply((chunk({"content": "half"}) + b"data: {oops\n\n",))])
    events = bench.model.reply(ASK)
    assert await anext(events) == ModelText("half")
    with pytest.raises(ModelUnavailable, match="oops"):
        await anext(events)
    assert len(bench.server.bodies) == 1
