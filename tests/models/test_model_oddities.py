"""Habits of real servers that no specification describes, through the whole pipeline.

Each of them breaks other clients. Whatever a server does, readers get an answer with its sources, or the passages.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from doors import Doors, opened
from quoth.ask.reply import MODEL_FAILED
from quoth.models.openai import ModelOptions, OpenAIChat
from quoth.testing.model_server import DONE, ModelServer, Reply, calls, chunk, fails, says, stalls, usage

pytestmark = pytest.mark.slow

TRUE = "Transient local durability keeps the last message for late subscribers [1]."
DEADLINE = json.dumps({"query": "deadline policy"})
TOPICS = json.dumps({"query": "publishers and subscribers"})


@dataclass(frozen=True)
class Desk:
    doors: Doors
    server: ModelServer

    def results(self, at: int) -> list[dict[str, Any]]:
        """The tool results that the model had before its call number `at`."""
        return [message for message in self.server.bodies[at]["messages"] if message["role"] == "tool"]


async def no_pause(seconds: float) -> None:
    return


@asynccontextmanager
async def desk_at(place: Path, **limits: float) -> AsyncIterator[Desk]:
    async with ModelServer(says(TRUE)) as server:
        model = OpenAIChat(ModelOptions(server.url, "scripted", **limits), sleep=no_pause)  # type: ignore[arg-type]
        async with opened(place, model=model) as doors:
            yield Desk(doors, server)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with desk_at(tmp_path) as made:
        yield made


def calling(*deltas: dict[str, Any]) -> Reply:
    """A turn of tool calls, each delta in its own frame."""
    frames = [chunk({"tool_calls": [delta]}) for delta in deltas]
    return Reply((*frames, chunk({}, finish="tool_calls"), usage(80, 10), DONE))


def searching(arguments: str, **more: object) -> dict[str, Any]:
    return {"function": {"name": "search_book_content", "arguments": arguments}, **more}


TWO_CALLS = {
    "two calls at index 0 (Ollama)": calling(searching(DEADLINE, index=0, id="1"), searching(TOPICS, index=0, id="2")),
    "two calls at index 0, no ids": calling(searching(DEADLINE, index=0), searching(TOPICS, index=0)),
    "two calls without an index (Gemini)": calling(searching(DEADLINE, id="1"), searching(TOPICS, id="2")),
    "two calls without index or id": calling(searching(DEADLINE), searching(TOPICS)),
    "two calls in one frame": Reply(
        (
            chunk({"tool_calls": [searching(DEADLINE, index=0, id="1"), searching(TOPICS, index=1, id="2")]}),
            chunk({}, finish="tool_calls"),
            DONE,
        )
    ),
    "split and interleaved": calling(
        searching("", index=0, id="1"),
        searching("", index=1, id="2"),
        *({"index": 0, "function": {"arguments": letter}} for letter in DEADLINE),
        *({"index": 1, "function": {"arguments": letter}} for letter in TOPICS),
    ),
    "finished with `stop`": Reply(
        (
            chunk({"tool_calls": [searching(DEADLINE, index=0), searching(TOPICS, index=1)]}),
            chunk({}, finish="stop"),
            DONE,
        )
    ),
}


@pytest.mark.parametrize("odd", TWO_CALLS.values(), ids=TWO_CALLS)
async def test_both_calls_are_done_and_answered_under_ids_of_their_own(desk: Desk, odd: Reply) -> None:
    desk.server.then([odd, says(TRUE)])
    body = await desk.doors.ask(top_k=1)
    assert body["answer"] == TRUE
    results = desk.results(1)
    assert "longest time" in results[0]["content"]
    assert "carries messages" in "".join(message["content"] for message in results)
    asked = [call["id"] for call in desk.server.bodies[1]["messages"][-3]["tool_calls"]]
    assert asked == [message["tool_call_id"] for message in results]
    assert len(set(asked)) == 2
    assert all(asked)


ONE_CALL = {
    "a missing id": calling(searching(DEADLINE, index=0)),
    "a null id": calling(searching(DEADLINE, index=0, id=None)),
    "arguments as an object": calling({"function": {"name": "search_book_content", "arguments": json.loads(DEADLINE)}}),
    "words before the call": Reply(
        (chunk({"content": "Let me look. "}), *calls("search_book_content", DEADLINE).steps),
    ),
}


@pytest.mark.parametrize("odd", ONE_CALL.values(), ids=ONE_CALL)
async def test_a_call_is_understood_however_it_is_written(desk: Desk, odd: Reply) -> None:
    desk.server.then([odd, says(TRUE)])
    body = await desk.doors.ask(top_k=1)
    assert TRUE in body["answer"]
    [result] = desk.results(1)
    assert "longest time" in result["content"]
    assert result["tool_call_id"]


@pytest.mark.parametrize(
    "wrong", [searching("{oops"), {"function": {"name": "rm_rf"}}, {"function": {"arguments": "{}"}}, {"index": 0}]
)
async def test_a_call_that_cannot_be_made_is_answered_with_an_error_and_sent_back_as_sound_json(
    desk: Desk, wrong: dict[str, Any]
) -> None:
    desk.server.then([calling(wrong), says(TRUE)])
    assert (await desk.doors.ask())["answer"] == TRUE
    assert set(json.loads(desk.results(1)[0]["content"])) == {"error", "query"}
    [call] = desk.server.bodies[1]["messages"][-2]["tool_calls"]
    assert isinstance(json.loads(call["function"]["arguments"]), dict)
    assert call["function"]["name"]


USAGE = {
    "missing": (Reply((chunk({"content": TRUE}), chunk({}, finish="stop"), DONE)), 0),
    "repeated in every frame": (
        Reply((usage(100, 1), chunk({"content": TRUE}), usage(100, 9), chunk({}, finish="stop"), usage(100, 20), DONE)),
        120,
    ),
    "beside the last words": (
        Reply((chunk({"content": TRUE}, finish="stop", usage={"prompt_tokens": 7, "completion_tokens": 3}), DONE)),
        10,
    ),
    "null": (Reply((chunk({"content": TRUE}, usage=None), chunk({}, finish="stop", usage=None), DONE)), 0),
}


@pytest.mark.parametrize(("reply", "tokens"), USAGE.values(), ids=USAGE)
async def test_tokens_are_counted_once(desk: Desk, reply: Reply, tokens: int) -> None:
    desk.server.then([reply])
    body = await desk.doors.ask()
    assert (body["answer"], body["tokens_used"]) == (TRUE, tokens)


STREAMS = {
    "events without data": Reply(
        (
            b"event: ping\n\n",
            b": comment\n\n",
            b"data:\n\n",
            b"data: \n\n",
            chunk({"content": TRUE}),
            chunk({}, finish="stop"),
        )
    ),
    "no [DONE]": Reply((chunk({"content": TRUE}), chunk({}, finish="stop"))),
    "no finish_reason": Reply((chunk({"content": TRUE}), DONE)),
    "no empty line at the end": Reply((chunk({"content": TRUE}), chunk({}, finish="stop").rstrip())),
    "carriage returns": Reply(
        tuple(step.replace(b"\n", b"\r\n") for step in says(TRUE).steps if isinstance(step, bytes))
    ),
    "no choices": Reply((b'data: {"choices": null}\n\n', b'data: {"id": "x"}\n\n', chunk({"content": TRUE}), DONE)),
    "null delta": Reply((b'data: {"choices": [{"delta": null}]}\n\n', chunk({"content": TRUE}), DONE)),
    "letter by letter": says(*TRUE),
    "byte by byte": Reply(tuple(bytes([byte]) for byte in chunk({"content": TRUE}) + DONE)),
}


@pytest.mark.parametrize("reply", STREAMS.values(), ids=STREAMS)
async def test_an_unusual_stream_is_read_as_what_it_says(desk: Desk, reply: Reply) -> None:
    desk.server.then([reply])
    body = await desk.doors.ask()
    assert (body["answer"], body["metadata"]["mode"]) == (TRUE, "full")
    assert len(desk.server.bodies) == 1


FAULTS = {
    "429": fails(429, retry_after="1"),
    "500": fails(500),
    "a cut stream before the first word": Reply((), cut=True),
    "malformed": Reply((b"data: {oops\n\n",)),
    "no object": Reply((b"data: []\n\n",)),
    "a web page": Reply((b"<html>Bad gateway</html>",), content_type="text/html"),
    "an error in the stream": Reply((b'data: {"error": {"message": "overloaded"}}\n\n',)),
    "401": fails(401),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
async def test_a_model_that_fails_leaves_the_passages_and_never_a_refusal(desk: Desk, fault: Reply) -> None:
    desk.server.then([fault])
    body = await desk.doors.ask()
    assert (body["metadata"]["mode"], body["answer"]) == ("retrieval_only", None)
    assert body["fallback_message"] == MODEL_FAILED
    assert body["sources"]
    assert body["should_answer"]


async def test_a_model_that_stalls_is_given_up_and_leaves_the_passages(tmp_path: Path) -> None:
    async with desk_at(tmp_path, first_token=0.2) as desk:
        desk.server.then([stalls()])
        body = await desk.doors.ask()
    assert (body["metadata"]["mode"], body["answer"], body["fallback_message"]) == (
        "retrieval_only",
        None,
        MODEL_FAILED,
    )
    assert body["sources"]


async def test_a_fault_of_the_moment_costs_the_reader_nothing(desk: Desk) -> None:
    desk.server.then([fails(429), Reply((), cut=True), says(TRUE)])
    assert (await desk.doors.ask())["answer"] == TRUE
    assert len(desk.server.bodies) == 3


async def test_a_fault_between_two_rounds_keeps_what_was_read(desk: Desk) -> None:
    desk.server.then(
        [Reply((chunk({"content": TRUE + " "}), *calls("search_book_content", DEADLINE).steps)), fails(500)]
    )
    events = dict(await desk.doors.stream())
    assert events["done"]["answer"].startswith(TRUE)
    assert events["done"]["fallback_message"]


async def test_many_calls_at_once_are_done_up_to_a_limit(desk: Desk) -> None:
    desk.server.then([calling(*(searching(DEADLINE, index=at, id=f"c{at}") for at in range(7))), says(TRUE)])
    assert (await desk.doors.ask())["answer"] == TRUE
    results = [json.loads(message["content"]) for message in desk.results(1)]
    assert ["At most 4 calls" in one.get("error", "") for one in results] == [False] * 4 + [True] * 3
