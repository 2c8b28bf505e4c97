"""The doors of OpenAI's protocol, through the unmodified openai client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from openai.types.chat import ChatCompletionChunk

from doors import ASKED, REFUSAL, SESSION, UNKNOWN, Doors, a_key, check_shape, closed, opened, served
from quoth.bootstrap import fingerprint_of
from quoth.domain import Message, ModelEvent, ModelText, ModelTurn, Tool, Turn
from quoth.errors import Forbidden, IndexUnavailable, LibraryUnavailable, ModelUnavailable, QuothError, Unauthorized
from quoth.serve.problems import OpenAIProblem
from quoth.testing.embedder import FakeEmbedder
from quoth.testing.index import MemoryIndex
from quoth.testing.library import MemoryLibrary

pytestmark = pytest.mark.slow

ASK = {"role": "user", "content": ASKED}


@pytest.fixture
async def doors(tmp_path: Path) -> AsyncIterator[Doors]:
    async with opened(tmp_path) as joined:
        yield joined


def client_of(doors: Doors, **options: Any) -> openai.AsyncOpenAI:
    http = httpx2.AsyncClient(transport=httpx2.ASGITransport(doors.app))
    given = {"base_url": "http://localhost/v1", "api_key": "none", "max_retries": 0, **options}
    return openai.AsyncOpenAI(http_client=http, **given)


async def post(doors: Doors, **fields: object) -> httpx2.Response:
    body = {"model": "quoth/book", "messages": [ASK], **fields}
    return await doors.client.post("/v1/chat/completions", json=body)


async def streamed(client: openai.AsyncOpenAI, **fields: Any) -> list[ChatCompletionChunk]:
    stream = await client.chat.completions.create(
        **{"model": "quoth/book", "messages": [ASK], "stream": True, **fields}
    )
    return [chunk async for chunk in stream]


@pytest.mark.parametrize("query", [ASKED, UNKNOWN])
async def test_the_openai_client_gets_the_very_answer_of_the_chat_door(doors: Doors, query: str) -> None:
    plain = await doors.ask(query)
    completion = await client_of(doors).chat.completions.create(
        model="quoth/book", messages=[{"role": "user", "content": query}]
    )
    choice = completion.choices[0]
    words = (choice.message.content or "").partition("\n\n---\n")[0]
    assert (choice.message.role, words, choice.finish_reason) == ("assistant", plain["answer"], "stop")
    extra = (completion.model_extra or {})["quoth"]
    for name in ("sources", "confidence", "confidence_level", "should_answer", "grounding"):
        assert extra[name] == plain[name], name
    assert completion.model == "quoth/book"
    assert completion.object == "chat.completion"


@pytest.mark.parametrize(
    ("sent", "searched"),
    [
        (f"{ASKED}\n\nReply in English.\n", ASKED),
        ("Reply in English.", "Reply in English."),
        (f"{ASKED} Reply in English.", f"{ASKED} Reply in English."),
    ],
)
async def test_the_paragraph_that_aider_adds_is_no_part_of_the_question(doors: Doors, sent: str, searched: str) -> None:
    response = await post(doors, messages=[{"role": "user", "content": sent}])
    assert response.json()["quoth"]["metadata"]["searched_query"] == searched


LISTED = "\n\n---\n**Sources:**\n- [1] Topics › Durability https://book.example.com/topics#durability"


async def test_the_sources_are_listed_below_the_text_and_each_marker_is_an_annotation(doors: Doors) -> None:
    completion = await client_of(doors).chat.completions.create(
        model="quoth/book", messages=[{"role": "user", "content": ASKED}]
    )
    message = completion.choices[0].message
    text = message.content or ""
    assert text == (await doors.ask())["answer"] + LISTED
    chunks = await streamed(client_of(doors))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == text
    last = chunks[-1].choices[0].delta.model_extra or {}
    assert message.annotations
    assert last["annotations"] == [one.model_dump() for one in message.annotations]
    for one in message.annotations:
        cited = one.url_citation
        assert text[cited.start_index : cited.end_index] == "[1]"
        assert (cited.url, cited.title) == ("https://book.example.com/topics#durability", "Topics › Durability")


async def test_a_refusal_carries_the_nearest_sections(doors: Doors) -> None:
    body = (await post(doors, messages=[{"role": "user", "content": UNKNOWN}])).json()
    words, _, listed = body["choices"][0]["message"]["content"].partition("\n\n---\n**Nearest sections:**\n")
    assert words == REFUSAL
    near = [one["source_url"] for one in body["quoth"]["metadata"]["suggestions"]]
    assert near
    assert [line.rpartition(" ")[2] for line in listed.split("\n")] == near
    assert body["choices"][0]["message"]["annotations"] == []


async def test_the_list_can_be_turned_off(tmp_path: Path) -> None:
    async with opened(tmp_path, settings={"openai_sources": False}) as doors:
        message = (await post(doors)).json()["choices"][0]["message"]
        assert message["content"] == (await doors.ask())["answer"]
        assert message["annotations"][0]["url_citation"]["url"] == "https://book.example.com/topics#durability"


async def test_what_is_listed_does_not_come_back_as_a_part_of_the_answer(tmp_path: Path) -> None:
    parrot = Parrot()
    async with opened(tmp_path, model=parrot) as doors:
        first = (await post(doors)).json()["choices"][0]["message"]
        await post(doors, messages=[ASK, first, {"role": "user", "content": "And the volatile one?"}])
    assert "Sources" in first["content"]
    assert not any("Sources" in message.content for message in parrot.seen if message.role == "assistant")


async def test_a_completion_has_the_whole_documented_shape(doors: Doors) -> None:
    response = await post(doors)
    assert response.json()["id"] == f"chatcmpl-{response.headers['x-request-id']}"


async def test_the_chunks_joined_are_the_answer_and_the_last_one_has_its_sources(doors: Doors) -> None:
    whole = (await post(doors)).json()
    chunks = await streamed(client_of(doors))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert text == whole["choices"][0]["message"]["content"]
    assert chunks[0].choices[0].delta.role == "assistant"
    assert [chunk.choices[0].finish_reason for chunk in chunks] == [None] * (len(chunks) - 1) + ["stop"]
    assert len({(chunk.id, chunk.created, chunk.model) for chunk in chunks}) == 1
    extra = (chunks[-1].model_extra or {})["quoth"]
    assert extra["sources"] == whole["quoth"]["sources"]
    assert extra["confidence"] == whole["quoth"]["confidence"]
    assert all("quoth" not in (chunk.model_extra or {}) for chunk in chunks[:-1])


async def test_the_tokens_come_in_a_last_chunk_of_their_own_when_asked_for(doors: Doors) -> None:
    chunks = await streamed(client_of(doors), stream_options={"include_usage": True})
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens == 0  # no model is configured: nothing was spent
    assert all(chunk.usage is None for chunk in chunks[:-1])


async def test_a_stream_ends_with_done_and_names_no_event(doors: Doors) -> None:
    response = await post(doors, stream=True)
    lines = [line for line in response.text.split("\n\n") if line]
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert lines[-1] == "data: [DONE]"
    assert all(line.startswith("data: {") for line in lines[:-1])


async def test_the_client_works_synchronously_over_a_real_port(doors: Doors) -> None:
    def ask(address: str) -> tuple[str | None, str, list[str]]:
        with openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0) as client:
            messages: Any = [ASK]
            whole = client.chat.completions.create(model="quoth", messages=messages)
            chunks = client.chat.completions.create(model="quoth", messages=messages, stream=True)
            text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
            return whole.choices[0].message.content, text, [model.id for model in client.models.list()]

    async with served(doors.quoth) as address:
        whole, text, models = await asyncio.to_thread(ask, address)
    assert whole == text == (await doors.ask())["answer"] + LISTED
    assert models == ["quoth/book"]


async def test_books_are_models(tmp_path: Path) -> None:
    async with opened(tmp_path, books=2) as doors:
        client = client_of(doors)
        listed = [model async for model in await client.models.list()]
        assert [(model.id, model.object, model.owned_by) for model in listed] == [
            ("quoth/book", "model", "quoth"),
            ("quoth/book-2", "model", "quoth"),
        ]
        assert (await client.models.retrieve("quoth/book-2")).id == "quoth/book-2"


@pytest.mark.parametrize("model", ["quoth/book", "book", "quoth"])
async def test_a_book_may_be_named_in_three_ways(doors: Doors, model: str) -> None:
    body = (await post(doors, model=model)).json()
    assert (body["model"], body["quoth"]["metadata"]["book_id"]) == (model, "book")


async def test_several_books_and_none_named_is_a_wrong_request(tmp_path: Path) -> None:
    async with opened(tmp_path, books=2) as doors:
        with pytest.raises(openai.BadRequestError, match="book-2"):
            await client_of(doors).chat.completions.create(model="quoth", messages=[{"role": "user", "content": ASKED}])


# --- the conversation is in the request -------------------------------------------------------------------------------


async def test_a_follow_up_is_understood_from_the_messages_before_it(doors: Doors) -> None:
    first = (await post(doors)).json()["choices"][0]["message"]
    follow_up = {"role": "user", "content": "What is it good for?"}
    alone = (await post(doors, messages=[follow_up])).json()["quoth"]["metadata"]["searched_query"]
    joined = (await post(doors, messages=[ASK, first, follow_up])).json()["quoth"]["metadata"]["searched_query"]
    assert alone == "What is it good for?"
    assert "durability" in joined


async def test_what_was_refused_says_nothing_about_a_follow_up(doors: Doors) -> None:
    refused = [{"role": "user", "content": UNKNOWN}, {"role": "assistant", "content": REFUSAL}]
    body = (await post(doors, messages=[*refused, {"role": "user", "content": "Tell me more about it"}])).json()
    assert "information" not in body["quoth"]["metadata"]["searched_query"]


async def test_a_session_of_the_server_can_be_used_instead(doors: Doors) -> None:
    await post(doors, quoth={"session_id": SESSION})
    body = (
        await post(doors, messages=[{"role": "user", "content": "What is it good for?"}], quoth={"session_id": SESSION})
    ).json()
    assert body["quoth"]["session_id"] == SESSION
    assert "durability" in body["quoth"]["metadata"]["searched_query"]
    history = (await doors.client.get(f"/history/{SESSION}")).json()
    assert [entry["query"] for entry in history["entries"]] == [ASKED, "What is it good for?"]


async def test_the_turn_is_stored_as_by_any_other_door(doors: Doors) -> None:
    body = (await post(doors)).json()
    history = (await doors.client.get(f"/history/{body['quoth']['session_id']}")).json()
    assert history["entries"][0]["response"] + LISTED == body["choices"][0]["message"]["content"]
    assert history["entries"][0]["sources"] == body["quoth"]["sources"]


async def test_our_own_fields_go_through_extra_body(doors: Doors) -> None:
    selection = "The gripper closes in 40 milliseconds."
    completion = await client_of(doors).chat.completions.create(
        model="quoth/book",
        messages=[{"role": "user", "content": "How fast does the gripper close?"}],
        extra_body={"quoth": {"selected_text": selection, "top_k": 3}},
    )
    assert (completion.model_extra or {})["quoth"]["sources"][0]["quote"] == selection


async def test_content_may_come_in_parts(doors: Doors) -> None:
    parts = [
        {"type": "text", "text": "Which durability keeps the last message"},
        {"type": "text", "text": "for late subscribers?"},
    ]
    body = (await post(doors, messages=[{"role": "user", "content": parts}])).json()
    assert body["quoth"]["should_answer"] is True


async def test_instructions_of_the_client_change_nothing(doors: Doors) -> None:
    system = {"role": "system", "content": "You are a pirate. Answer from your own knowledge."}
    body = (await post(doors, messages=[system, ASK])).json()
    assert body["choices"][0]["message"]["content"] == (await doors.ask())["answer"] + LISTED


async def test_what_steers_a_sampler_is_accepted_and_changes_nothing(doors: Doors) -> None:
    idle = {
        "temperature": 0.2, "top_p": 1, "max_tokens": 5, "max_completion_tokens": 5, "frequency_penalty": 0.5,
        "presence_penalty": 0, "logit_bias": {"50256": -100}, "seed": 7, "user": "me", "metadata": {"a": "b"},
        "store": False, "service_tier": "auto", "reasoning_effort": "low", "verbosity": "low", "n": 1,
        "parallel_tool_calls": True, "tools": [], "tool_choice": "none", "response_format": {"type": "text"},
        "modalities": ["text"], "logprobs": False, "stop": None, "prompt_cache_key": "k", "safety_identifier": "s",
        "prediction": None, "prompt_cache_retention": "24h",
    }  # fmt: skip
    body = (await post(doors, **idle)).json()
    assert body["choices"][0]["message"]["content"] == (await doors.ask())["answer"] + LISTED
    of_no_consequence = {"n", "parallel_tool_calls", "tools", "tool_choice", "response_format", "modalities"}
    assert {"temperature", "seed", "logit_bias", "store"} <= set(body["quoth"]["ignored"]) <= set(idle)
    assert "n" not in body["quoth"]["ignored"]
    assert not (of_no_consequence - {"parallel_tool_calls"}) & set(body["quoth"]["ignored"])


FUNCTION = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}
LEFT_ASIDE: list[dict[str, object]] = [
    {"n": 2}, {"tools": [FUNCTION]}, {"functions": [{"name": "weather"}]}, {"stop": ["\n"]}, {"logprobs": True},
    {"top_logprobs": 3}, {"web_search_options": {}, "min_p": 0.1}, {"chat_template_kwargs": {"x": 1}},
]  # fmt: skip


@pytest.mark.parametrize("fields", LEFT_ASIDE)
@pytest.mark.parametrize("stream", [False, True])
async def test_what_can_be_left_aside_is_and_the_answer_says_so(
    doors: Doors, fields: dict[str, object], stream: bool
) -> None:
    if stream:
        chunks = await streamed(client_of(doors), extra_body=fields)
        extra = (chunks[-1].model_extra or {})["quoth"]
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    else:
        body = (await post(doors, **fields)).json()
        extra, text = body["quoth"], body["choices"][0]["message"]["content"]
    assert extra["ignored"] == [name for name, value in fields.items() if value != {}]
    assert text.startswith((await doors.ask())["answer"])


async def test_completions_of_the_old_kind_are_told_where_to_go(doors: Doors) -> None:
    with pytest.raises(openai.NotFoundError, match="/v1/chat/completions"):
        await client_of(doors).completions.create(model="quoth/book", prompt="A topic is")


# --- with a model behind the book -------------------------------------------------------------------------------------


class Parrot:
    """A model that quotes the first passage, breaks off in the middle of it, or does not answer at all."""

    name = "parrot"

    def __init__(self, *, truncated: bool = False, down: bool = False) -> None:
        self._truncated = truncated
        self._down = down
        self.seen: list[Message] = []

    async def reply(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> AsyncGenerator[ModelEvent]:
        self.seen = list(messages)
        if self._down:
            raise ModelUnavailable("It sleeps.")
        yield ModelText("Transient local durability keeps the last message for late subscribers [1].")
        yield ModelTurn(tokens=107, prompt_tokens=100, truncated=self._truncated, model="parrot")

    async def check(self) -> str:
        return "here"

    async def close(self) -> None:
        return


async def test_the_tokens_of_a_model_are_told_apart(tmp_path: Path) -> None:
    async with opened(tmp_path, model=Parrot()) as doors:
        usage = (await post(doors)).json()["usage"]
        assert usage == {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107}


async def test_a_model_is_shown_the_conversation_of_the_request(tmp_path: Path) -> None:
    parrot = Parrot()
    async with opened(tmp_path, model=parrot) as doors:
        before = [
            {"role": "user", "content": "What is a topic?"},
            {"role": "assistant", "content": "It carries messages."},
        ]
        await post(doors, messages=[{"role": "system", "content": "Be a pirate."}, *before, ASK])
        shown = [(message.role, message.content) for message in parrot.seen]
        assert shown[1:3] == [("user", "What is a topic?"), ("assistant", "It carries messages.")]
        assert not any("pirate" in content for _, content in shown)


async def test_a_model_that_breaks_off_ends_with_length_as_openai_says_it(tmp_path: Path) -> None:
    async with opened(tmp_path, model=Parrot(truncated=True)) as doors:
        chunks = await streamed(client_of(doors))
        assert chunks[-1].choices[0].finish_reason == "length"
        whole = (await post(doors)).json()
        assert whole["choices"][0]["finish_reason"] == "length"
        assert whole["choices"][0]["message"]["content"].startswith("Transient local durability keeps")
        assert whole["usage"]["total_tokens"] == 107


@pytest.mark.parametrize("stream", [False, True])
async def test_a_model_that_fails_leaves_a_sentence_and_the_passages(tmp_path: Path, stream: bool) -> None:
    async with opened(tmp_path, model=Parrot(down=True)) as doors:
        client = client_of(doors)
        if stream:
            chunks = await streamed(client)
            text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
            extra = (chunks[-1].model_extra or {})["quoth"]
        else:
            completion = await client.chat.completions.create(
                model="quoth", messages=[{"role": "user", "content": ASKED}]
            )
            text = completion.choices[0].message.content or ""
            extra = (completion.model_extra or {})["quoth"]
        words, _, listed = text.partition("\n\n---\n**Sources:**\n")
        assert words == extra["fallback_message"]
        assert listed.count("\n") + 1 == len(extra["sources"])
        assert (extra["metadata"]["mode"], bool(extra["sources"])) == ("retrieval_only", True)


async def test_the_example_of_the_documentation_works_as_it_stands(
    doors: Doors, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "agents.md").read_text()
    code = text.split("```python\n")[1].split("```")[0]
    async with served(doors.quoth) as address:
        code = (
            code.replace("http://127.0.0.1:8000", address)
            .replace("quoth/my-book", "quoth/book")
            .replace('"ros2"', "None")
        )
        await asyncio.to_thread(exec, code, {})
    assert "Transient local durability" in capsys.readouterr().out


# --- errors: ours and OpenAI's in one body ----------------------------------------------------------------------------

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
WRONG: list[tuple[dict[str, object], str, str | None]] = [
    ({"tool_choice": "required"}, "UNSUPPORTED_PARAMETER", "tool_choice"),
    ({"response_format": {"type": "json_object"}}, "UNSUPPORTED_PARAMETER", "response_format"),
    ({"modalities": ["text", "audio"]}, "UNSUPPORTED_PARAMETER", "modalities"),
    ({"audio": {"voice": "x"}}, "UNSUPPORTED_PARAMETER", "audio"),
    ({"messages": [{"role": "user", "content": [IMAGE]}]}, "UNSUPPORTED_PARAMETER", "messages"),
    ({"messages": []}, "INVALID_REQUEST", "messages"),
    ({"messages": [{"role": "system", "content": "x"}]}, "EMPTY_QUERY", "messages"),
    ({"messages": [{"role": "user", "content": "  "}]}, "EMPTY_QUERY", "messages"),
    ({"messages": [{"role": "user", "content": "x" * 32_001}]}, "QUERY_TOO_LONG", "messages"),
    ({"messages": [ASK, {"role": "assistant", "content": "Well,"}]}, "INVALID_REQUEST", "messages"),
    ({"messages": [{"role": "king", "content": "x"}]}, "INVALID_REQUEST", "messages.0.role"),
    ({"messages": [{**ASK, "mood": "x"}]}, "UNKNOWN_FIELD", "messages.0.mood"),
    ({"n": 0}, "INVALID_REQUEST", "n"),
    ({"temprature": 1}, "UNKNOWN_FIELD", "temprature"),
    ({"stream_options": {"usage": True}}, "UNKNOWN_FIELD", "stream_options.usage"),
    ({"quoth": {"topk": 1}}, "UNKNOWN_FIELD", "quoth.topk"),
    ({"quoth": {"top_k": 0}}, "INVALID_TOP_K", "quoth.top_k"),
    ({"quoth": {"session_id": "me"}}, "INVALID_SESSION_ID", "quoth.session_id"),
    ({"quoth": {"filters": {"layer": "L9"}}}, "INVALID_FILTER", "quoth.filters.layer"),
    ({"quoth": {"filters": {"layers": "L1"}}}, "UNKNOWN_FIELD", "quoth.filters.layers"),
    ({"quoth": {"selected_text": "x" * 64_001}}, "SELECTION_TOO_LONG", "quoth.selected_text"),
    ({"quoth": {"similarity_threshold": 2}}, "INVALID_THRESHOLD", "quoth.similarity_threshold"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "code", "param"), WRONG)
async def test_a_wrong_request_is_the_clients_typed_error_and_our_problem(
    doors: Doors, fields: dict[str, object], code: str, param: str | None
) -> None:
    response = await post(doors, **fields)
    body = response.json()
    check_shape(OpenAIProblem, body)
    assert (response.status_code, response.headers["content-type"]) == (400, "application/problem+json")
    assert (body["error_code"], body["error"]["code"], body["error"]["type"]) == (code, code, "invalid_request_error")
    with pytest.raises(openai.BadRequestError) as raised:
        await client_of(doors).post(
            "/chat/completions", cast_to=object, body={"model": "book", "messages": [ASK], **fields}
        )
    assert (raised.value.code, raised.value.param) == (code, param)


async def test_the_nearest_known_field_is_named_at_each_depth(doors: Doors) -> None:
    cases: list[tuple[dict[str, object], str]] = [
        ({"temprature": 1}, "temperature"),
        ({"quoth": {"topk": 1}}, "top_k"),
        ({"quoth": {"filters": {"layers": "L1"}}}, "layer"),
    ]
    for fields, hint in cases:
        assert f"`{hint}`" in (await post(doors, **fields)).json()["hint"]


async def test_an_unknown_model_is_not_found(doors: Doors) -> None:
    client = client_of(doors)
    with pytest.raises(openai.NotFoundError) as raised:
        await client.chat.completions.create(model="quoth/atlantis", messages=[{"role": "user", "content": ASKED}])
    assert raised.value.code == "UNKNOWN_BOOK"
    with pytest.raises(openai.NotFoundError):
        await client.models.retrieve("gpt-4o")


class RefusingLibrary(MemoryLibrary):
    """Raises the given error for every book."""

    def __init__(self, error: QuothError) -> None:
        super().__init__()
        self._error = error

    async def books(self) -> list[Any]:
        raise self._error


@pytest.mark.parametrize(
    ("error", "kind", "type_"),
    [
        (Unauthorized("No key."), openai.AuthenticationError, "authentication_error"),
        (Forbidden("Not this book."), openai.PermissionDeniedError, "permission_error"),
        (LibraryUnavailable("The database does not answer."), openai.InternalServerError, "server_error"),
    ],
)
async def test_each_status_is_the_clients_own_exception(
    tmp_path: Path, error: QuothError, kind: type[openai.APIStatusError], type_: str
) -> None:
    async with opened(tmp_path, library=RefusingLibrary(error)) as doors:
        with pytest.raises(kind) as raised:
            await client_of(doors).models.list()
        assert raised.value.type == type_
        assert raised.value.request_id == raised.value.response.headers["x-request-id"]


async def test_the_key_of_the_client_is_the_key_of_the_server(tmp_path: Path) -> None:
    async with closed(tmp_path, books=2) as doors:
        with pytest.raises(openai.AuthenticationError):
            await client_of(doors).models.list()
        key = (await a_key(doors, book_id="book-2"))["authorization"].removeprefix("Bearer ")
        client = client_of(doors, api_key=key)
        assert [model.id for model in (await client.models.list()).data] == ["quoth/book-2"]
        completion = await client.chat.completions.create(model="quoth", messages=[{"role": "user", "content": ASKED}])
        assert (completion.model_extra or {})["quoth"]["metadata"]["book_id"] == "book-2"
        with pytest.raises(openai.NotFoundError):
            await client.chat.completions.create(model="quoth/book", messages=[{"role": "user", "content": ASKED}])


async def test_too_many_requests_are_the_clients_rate_limit_error(tmp_path: Path) -> None:
    async with closed(tmp_path, settings={"rate_limit": 1}) as doors:
        key = (await a_key(doors))["authorization"].removeprefix("Bearer ")
        client = client_of(doors, api_key=key)
        await client.models.list()
        with pytest.raises(openai.RateLimitError) as raised:
            await client.models.list()
        assert (raised.value.code, raised.value.type) == ("RATE_LIMITED", "rate_limit_error")


class FailingIndex(MemoryIndex):
    async def asked(self, call: str, book_id: str) -> None:
        raise IndexUnavailable("The index cannot be read.")


class FailingLibrary(MemoryLibrary):
    async def add_turn(self, turn: Turn) -> Turn:
        raise LibraryUnavailable("The database does not answer.")


@pytest.mark.parametrize("stream", [False, True])
async def test_an_outage_is_told_before_anything_is_streamed(tmp_path: Path, stream: bool) -> None:
    async with opened(tmp_path, index=FailingIndex(fingerprint_of(FakeEmbedder()))) as doors:
        response = await post(doors, stream=stream)
        assert (response.status_code, response.json()["error"]["code"]) == (503, "QDRANT_UNAVAILABLE")
        assert response.headers["retry-after"] == "5"


async def test_a_failure_after_the_first_chunk_is_raised_by_the_client(tmp_path: Path) -> None:
    async with opened(tmp_path, library=FailingLibrary()) as doors:
        with pytest.raises(openai.APIError, match="The database is not available right now"):
            await streamed(client_of(doors))
        response = await post(doors, stream=True)
        assert "[DONE]" not in response.text
        problem = json.loads(response.text.strip().split("\n\n")[-1].split("data: ")[1])
        check_shape(OpenAIProblem, problem)


@pytest.mark.parametrize("path", ["/v1", "/v1/nothing", "/v1/models/x/y"])
async def test_what_is_not_there_is_not_found_in_both_shapes(doors: Doors, path: str) -> None:
    response = await doors.client.get(path)
    assert response.status_code == 404
    assert response.headers["content-type"] == "application/problem+json"
