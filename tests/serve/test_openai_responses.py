"""`/v1/responses` and `/v1/embeddings`, through the unmodified openai client."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from doors import ASKED, REFUSAL, UNKNOWN, Doors, a_key, closed, opened
from quoth.domain import ToolCall
from quoth.errors import ModelUnavailable
from quoth.testing.model import ScriptedModel

LISTED = "\n\n---\n**Sources:**\n- [1] Topics › Durability https://book.example.com/topics#durability"


@pytest.fixture
async def doors(tmp_path: Path) -> AsyncIterator[Doors]:
    async with opened(tmp_path) as joined:
        yield joined


def client_of(doors: Doors, **options: Any) -> openai.AsyncOpenAI:
    http = httpx2.AsyncClient(transport=httpx2.ASGITransport(doors.app))
    given = {"base_url": "http://localhost/v1", "api_key": "none", "max_retries": 0, **options}
    return openai.AsyncOpenAI(http_client=http, **given)


# --- responses --------------------------------------------------------------------------------------------------------


async def test_a_response_is_the_very_answer_of_the_chat_door(doors: Doors) -> None:
    plain = await doors.ask()
    response = await client_of(doors).responses.create(model="quoth/book", input=ASKED)
    assert (response.status, response.model, response.output_text) == (
        "completed",
        "quoth/book",
        plain["answer"] + LISTED,
    )
    assert (response.model_extra or {})["quoth"]["sources"] == plain["sources"]
    [message] = response.output
    assert message.type == "message"
    [part] = message.content
    assert part.type == "output_text"
    for one in part.annotations:
        assert one.type == "url_citation"
        assert part.text[one.start_index : one.end_index] == "[1]"
        assert one.url == "https://book.example.com/topics#durability"
    assert part.annotations


async def test_the_events_of_a_stream_come_in_openais_order_and_end_with_the_response(doors: Doors) -> None:
    stream = await client_of(doors).responses.create(model="quoth/book", input=ASKED, stream=True)
    events = [event async for event in stream]
    names = [event.type for event in events]
    deltas = names.count("response.output_text.delta")
    annotations = names.count("response.output_text.annotation.added")
    assert deltas > 0
    assert annotations > 0
    assert names == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        *["response.output_text.delta"] * deltas,
        *["response.output_text.annotation.added"] * annotations,
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    last = events[-1]
    assert last.type == "response.completed"
    assert text == last.response.output_text == (await doors.ask())["answer"] + LISTED
    assert (last.response.model_extra or {})["quoth"]["sources"]


async def test_the_clients_own_stream_helper_reads_it(doors: Doors) -> None:
    async with client_of(doors).responses.stream(model="quoth/book", input=ASKED) as stream:
        async for _ in stream:
            pass
        final = await stream.get_final_response()
    assert final.output_text == (await doors.ask())["answer"] + LISTED


async def test_a_conversation_goes_on_from_the_response_before(doors: Doors) -> None:
    client = client_of(doors)
    first = await client.responses.create(model="quoth/book", input=ASKED)
    second = await client.responses.create(
        model="quoth/book", input="What is it good for?", previous_response_id=first.id
    )
    extra = (second.model_extra or {})["quoth"]
    assert extra["metadata"]["searched_query"] == "durability: What is it good for?"
    assert extra["session_id"] == (first.model_extra or {})["quoth"]["session_id"]
    assert second.previous_response_id == first.id
    with pytest.raises(openai.NotFoundError):
        await client.responses.create(model="quoth/book", input=ASKED, previous_response_id="resp_1")


async def test_the_conversation_of_another_key_is_not_there(tmp_path: Path) -> None:
    async with closed(tmp_path) as doors:
        mine, theirs = [(await a_key(doors))["authorization"].removeprefix("Bearer ") for _ in range(2)]
        first = await client_of(doors, api_key=mine).responses.create(model="quoth", input=ASKED)
        with pytest.raises(openai.NotFoundError):
            await client_of(doors, api_key=theirs).responses.create(
                model="quoth", input="And then?", previous_response_id=first.id
            )


async def test_a_conversation_may_be_in_the_input_with_all_that_came_back(doors: Doors) -> None:
    client = client_of(doors)
    first = await client.responses.create(model="quoth/book", input=[{"role": "user", "content": ASKED}])
    said: Any = [
        {"role": "user", "content": [{"type": "input_text", "text": ASKED}]},
        *[item.model_dump() for item in first.output],
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"role": "user", "content": "What is it good for?"},
    ]
    second = await client.responses.create(model="quoth/book", input=said, instructions="Be brief.")
    extra = (second.model_extra or {})["quoth"]
    assert extra["metadata"]["searched_query"] == "durability: What is it good for?"
    assert extra["ignored"] == ["instructions"]


async def test_a_refusal_is_a_response_with_the_nearest_sections(doors: Doors) -> None:
    response = await client_of(doors).responses.create(model="quoth/book", input=UNKNOWN)
    assert response.output_text.startswith(f"{REFUSAL}\n\n---\n**Nearest sections:**\n- ")
    assert (response.model_extra or {})["quoth"]["should_answer"] is False


async def test_an_answer_without_its_end_is_incomplete(tmp_path: Path) -> None:
    broken = ScriptedModel([["Transient local durability keeps the last message ", ModelUnavailable("cut")]])
    async with opened(tmp_path, model=broken) as doors:
        client = client_of(doors)
        response = await client.responses.create(model="quoth", input=ASKED)
        events = [event async for event in await client.responses.create(model="quoth", input=ASKED, stream=True)]
    assert response.status == "incomplete"
    assert response.incomplete_details is not None
    assert response.incomplete_details.reason == "max_output_tokens"
    assert response.output_text.startswith("Transient local durability keeps the last message")
    assert events[-1].type == "response.incomplete"


async def test_tokens_are_counted_over_all_calls(tmp_path: Path) -> None:
    search = ToolCall("c", "search_book_content", '{"query": "deadline"}')
    async with opened(tmp_path, model=ScriptedModel([[search], ["Transient local [1]."]])) as doors:
        response = await client_of(doors).responses.create(model="quoth", input=ASKED)
    assert response.usage is not None
    assert response.usage.total_tokens == 14


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"input": " "}, "EMPTY_QUERY"),
        ({"input": []}, "INVALID_REQUEST"),
        ({"input": [{"role": "assistant", "content": "So."}]}, "INVALID_REQUEST"),
        ({"input": [{"role": "user", "content": [{"type": "input_image"}]}]}, "UNSUPPORTED_PARAMETER"),
        ({"text": {"format": {"type": "json_schema"}}}, "UNSUPPORTED_PARAMETER"),
        ({"tool_choice": "required"}, "UNSUPPORTED_PARAMETER"),
        ({"background": True}, "UNSUPPORTED_PARAMETER"),
        ({"temprature": 1}, "UNKNOWN_FIELD"),
        ({"quoth": {"top_k": 0}}, "INVALID_TOP_K"),
    ],
)
async def test_a_wrong_request_is_the_clients_typed_error(doors: Doors, fields: dict[str, Any], code: str) -> None:
    with pytest.raises(openai.BadRequestError) as raised:
        await client_of(doors).post(
            "/responses", cast_to=object, body={"model": "quoth/book", "input": ASKED, **fields}
        )
    assert raised.value.code == code


# --- embeddings -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["float", "base64"])
async def test_texts_become_the_vectors_that_the_index_is_searched_with(doors: Doors, form: Any) -> None:
    texts = ["Bread is baked.", "Beer is brewed."]
    found = await client_of(doors).embeddings.create(model="quoth", input=texts, encoding_format=form)
    wanted = await doors.quoth.embedder.embed_passages(texts)
    raw = [one.embedding for one in found.data]
    vectors = raw if form == "float" else [_floats(str(one)) for one in raw]
    for vector, expected in zip(vectors, wanted, strict=True):
        assert list(vector) == pytest.approx([float(number) for number in expected], abs=1e-6)
    assert found.model == doors.quoth.embedder.name
    assert found.usage.total_tokens > 0


def _floats(text: str) -> list[float]:
    import base64
    import struct

    raw = base64.b64decode(text)
    return list(struct.unpack(f"<{len(raw) // 4}f", raw))


async def test_the_client_as_it_comes_reads_the_numbers(doors: Doors) -> None:
    found = await client_of(doors).embeddings.create(
        model="quoth/book", input="What is bread?", extra_body={"quoth": {"input_type": "query"}}
    )
    asked = await doors.quoth.embedder.embed_query("What is bread?")
    assert found.data[0].embedding == pytest.approx([float(number) for number in asked], abs=1e-6)


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"input": ""}, 400),
        ({"input": [" "]}, 400),
        ({"input": [1, 2]}, 400),
        ({"dimensions": 3}, 400),
        ({"model": "atlantis"}, 404),
        ({"input": "word " * 5_000}, 400),
        ({"input": ["x"] * 257}, 400),
    ],
)
async def test_what_cannot_be_embedded_is_refused(doors: Doors, fields: dict[str, Any], status: int) -> None:
    body = {"model": "quoth", "input": "Bread.", **fields}
    response = await doors.client.post("/v1/embeddings", json=body)
    assert response.status_code == status
    assert response.json()["error"]["message"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([1, 2], "in LangChain: check_embedding_ctx_length=False"),
        ([[1]], "tokens"),
        (["x"] * 257, "257"),
        ([], "1 to 256"),
    ],
)
async def test_a_list_that_cannot_be_embedded_is_told_in_plain_words(
    doors: Doors, given: list[object], told: str
) -> None:
    response = await doors.client.post("/v1/embeddings", json={"model": "quoth", "input": given})
    problem = response.json()
    assert (problem["details"]["field"], problem["error_code"]) == ("input", "INVALID_REQUEST")
    assert told in problem["message"]
