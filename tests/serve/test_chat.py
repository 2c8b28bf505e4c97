from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from doors import ASKED, PAGE, REFUSAL, SESSION, UNKNOWN, Doors, opened


@pytest.fixture
async def doors(tmp_path: Path) -> AsyncIterator[Doors]:
    async with opened(tmp_path) as joined:
        yield joined


def without_time_and_ids(body: dict[str, Any]) -> dict[str, Any]:
    metadata = {
        name: value
        for name, value in body["metadata"].items()
        if name not in {"query_time_ms", "stage_ms", "request_id"}
    }
    return {**body, "metadata": metadata, "timestamp": None}


async def test_an_answer_has_the_whole_documented_shape_and_quotes_the_file(doors: Doors) -> None:
    body = await doors.ask()
    assert body["should_answer"] is True
    assert body["metadata"]["mode"] == "extractive"
    source = body["sources"][0]
    assert PAGE[source["start"] : source["end"]] == source["quote"]
    assert PAGE.splitlines()[source["line"] - 1].startswith("Transient local durability")
    start, end = source["highlight"]
    assert source["quote"][start:end] == "Transient local durability keeps the last message for late subscribers."
    assert source["source_url"] == "https://book.example.com/topics#durability"
    assert f"[{source['index']}]" in body["answer"]


async def test_a_refusal_is_an_answer_with_the_nearest_sections(doors: Doors) -> None:
    body = await doors.ask(UNKNOWN)
    assert (body["answer"], body["should_answer"], body["sources"]) == (REFUSAL, False, [])
    assert body["metadata"]["mode"] == "no_results"
    assert body["metadata"]["suggestions"]
    assert "football" in body["metadata"]["missing_terms"]


@pytest.mark.parametrize("name", ["query", "message", "question"])
async def test_the_question_may_have_three_names(doors: Doors, name: str) -> None:
    response = await doors.client.post("/chat", json={name: ASKED})
    assert response.json()["should_answer"] is True


async def test_a_selection_grounds_the_answer_alone(doors: Doors) -> None:
    selection = "The gripper closes in 40 milliseconds. Its jaws are made of rubber."
    body = await doors.ask("How fast does the gripper close?", selected_text=selection)
    assert body["metadata"]["mode"] == "selected_text"
    source = body["sources"][0]
    assert source["source_type"] == "selected_text"
    assert selection[source["start"] : source["end"]] == source["quote"]


async def test_the_request_id_of_the_header_is_that_of_the_answer(doors: Doors) -> None:
    response = await doors.client.post("/chat", json={"query": ASKED})
    assert response.headers["x-request-id"] == response.json()["metadata"]["request_id"]


async def test_the_events_of_a_stream_come_in_the_promised_order(doors: Doors) -> None:
    events = await doors.stream()
    names = [name for name, _ in events]
    head = ["status", "retrieval", "status"]
    tail = ["sources", "grounding", "done"]
    deltas = names[len(head) : -len(tail)]
    assert (names[: len(head)], names[-len(tail) :]) == (head, tail)
    assert set(deltas) == {"delta"}
    assert [data["stage"] for name, data in events if name == "status"] == ["retrieving", "generating"]


async def test_a_refusal_streams_no_generating(doors: Doors) -> None:
    names = [name for name, _ in await doors.stream(UNKNOWN)]
    assert names == ["status", "retrieval", "delta", "sources", "grounding", "done"]


@pytest.mark.parametrize("query", [ASKED, UNKNOWN])
async def test_the_deltas_joined_are_the_answer(doors: Doors, query: str) -> None:
    events = await doors.stream(query)
    joined = "".join(data["delta"] for name, data in events if name == "delta")
    assert joined == events[-1][1]["answer"]


async def test_the_sources_of_the_stream_are_those_of_its_end(doors: Doors) -> None:
    events = dict(await doors.stream())
    assert events["sources"]["sources"] == events["done"]["sources"]
    assert events["grounding"] == events["done"]["grounding"]


@pytest.mark.parametrize("query", [ASKED, UNKNOWN])
async def test_streamed_or_not_it_is_the_same_answer(doors: Doors, query: str) -> None:
    whole = await doors.ask(query, session_id=SESSION)
    done = dict(await doors.stream(query, session_id=SESSION))["done"]
    assert done.pop("done") is True
    assert without_time_and_ids(done) == without_time_and_ids(whole)


async def test_a_session_is_made_when_none_is_sent_and_kept_when_one_is(doors: Doors) -> None:
    made = (await doors.ask())["session_id"]
    assert uuid.UUID(made).version == 4
    assert (await doors.ask(session_id=made))["session_id"] == made
    history = (await doors.client.get(f"/history/{made}")).json()
    assert history["total_entries"] == 2


async def test_history_gives_the_newest_entries_oldest_first_and_the_true_total(doors: Doors) -> None:
    asked = [f"{ASKED} {number}" for number in range(4)]
    for query in asked:
        await doors.ask(query, session_id=SESSION)
    body = (await doors.client.get(f"/history/{SESSION}", params={"limit": 2})).json()
    assert [entry["query"] for entry in body["entries"]] == asked[2:]
    assert body["total_entries"] == 4


async def test_what_was_streamed_is_what_is_remembered(doors: Doors) -> None:
    done = dict(await doors.stream(session_id=SESSION))["done"]
    entry = (await doors.client.get(f"/history/{SESSION}")).json()["entries"][0]
    assert (entry["query"], entry["response"], entry["sources"]) == (ASKED, done["answer"], done["sources"])


async def test_a_session_is_erased_for_good(doors: Doors) -> None:
    await doors.ask(session_id=SESSION)
    erased = await doors.client.delete(f"/session/{SESSION}")
    assert (erased.status_code, erased.content) == (204, b"")
    after = await doors.client.get(f"/history/{SESSION}")
    assert (after.status_code, after.json()["error_code"]) == (404, "SESSION_NOT_FOUND")
    again = await doors.client.delete(f"/session/{SESSION}")
    assert (again.status_code, again.json()["error_code"]) == (404, "SESSION_NOT_FOUND")
