"""`POST /chat/run`, and the promise that every door gives the same answer."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from doors import ASKED, REFUSAL, SESSION, UNKNOWN, Doors, check_problem, frames, opened
from quoth.ask import judge as judging
from quoth.ask.request import ChatRequest, parse
from quoth.cli.ask import answered_live
from quoth.cli.output import print_answer
from quoth.domain import DISCLAIMER, Answer, Chunk, Labels, Turn, Verdict
from quoth.errors import ModelUnavailable
from quoth.serve.views import answer_view
from quoth.testing.model import ScriptedModel

TRUE = "Transient local durability keeps the last message for late subscribers [1]."


@pytest.fixture
async def doors(tmp_path: Path) -> AsyncIterator[Doors]:
    async with opened(tmp_path) as joined:
        yield joined


async def run(doors: Doors, query: str = ASKED, **fields: object) -> dict[str, Any]:
    response = await doors.client.post("/chat/run", json={"message": query, **fields})
    assert response.status_code == 200, response.text
    body: dict[str, Any] = response.json()
    return body


async def test_the_answer_has_the_shorter_shape(doors: Doors) -> None:
    body = await run(doors, session_id=SESSION)
    assert "Transient local durability keeps the last message" in body["response"]
    source = body["sources"][0]
    assert set(source) == {"chunk_text", "similarity_score", "chapter", "section", "url", "chunk_index"}
    assert (source["chapter"], source["section"]) == ("Topics", "Durability")
    assert source["url"] == "https://book.example.com/topics#durability"
    assert source["chunk_text"].startswith("## Durability")
    assert body["session_id"] == SESSION


@pytest.mark.parametrize(
    ("lesson", "trail", "chapter"),
    [(3, ("Module 1", "Chapter 2: Topics"), "Chapter 2: Topics"), (3, (), "QoS"), (None, ("Part one",), "QoS")],
)
def test_the_chapter_of_a_source_is_that_of_its_lesson(
    lesson: int | None, trail: tuple[str, ...], chapter: str
) -> None:
    cited = Chunk(
        "id",
        "book",
        "Text.",
        title="QoS",
        heading_path=("Durability",),
        breadcrumb=(*trail, "QoS", "Durability"),
        labels=Labels("ros2", 2, lesson),
    )
    assert cited.chapter_title == chapter


async def test_the_metrics_are_those_of_a_search_for_the_same(doors: Doors) -> None:
    found = (await doors.client.post("/search", json={"text": ASKED})).json()
    assert (await run(doors))["metrics"] == found["metrics"]


async def test_a_long_passage_is_shown_up_to_500_characters(doors: Doors, tmp_path: Path) -> None:
    selection = "The gripper closes in 40 milliseconds. " * 40
    body = await run(doors, "How fast does the gripper close?", selected_text=selection)
    assert len(body["sources"][0]["chunk_text"]) == 500


@pytest.mark.parametrize("top_k", [0, 11, "3", 2.5])
async def test_it_reads_one_to_ten_passages(doors: Doors, top_k: object) -> None:
    response = await doors.client.post("/chat/run", json={"message": ASKED, "top_k": top_k})
    assert "1 to 10" in check_problem(response, 400, "INVALID_TOP_K")["message"]


async def test_a_default_of_more_passages_ends_at_ten(tmp_path: Path) -> None:
    async with opened(tmp_path, settings={"top_k": 20}) as doors:
        assert (await run(doors))["metadata"]["retrieval_count"] <= 10


async def test_stream_must_be_true_or_false_and_is_a_word_of_this_door_only(doors: Doors) -> None:
    check_problem(await doors.client.post("/chat/run", json={"query": ASKED, "stream": "yes"}), 400, "INVALID_REQUEST")
    check_problem(await doors.client.post("/chat", json={"query": ASKED, "stream": True}), 400, "UNKNOWN_FIELD")


async def test_a_model_that_failed_leaves_its_message_as_the_response(tmp_path: Path) -> None:
    async with opened(tmp_path, model=ScriptedModel([[ModelUnavailable("down")]])) as doors:
        body = await run(doors)
        assert body["response"]
        assert REFUSAL not in json.dumps(body)
        assert body["sources"]


# --- the same answer at every door ------------------------------------------------------------------------------------


def essence(view: dict[str, Any]) -> dict[str, Any]:
    """What must not depend on the door."""
    unlike = {"query_time_ms", "stage_ms", "request_id"}
    metadata = {name: value for name, value in view["metadata"].items() if name not in unlike}
    return {
        "text": view["answer"],
        "sources": view["sources"],
        "judged": (view["confidence"], view["confidence_level"], view["should_answer"]),
        "grounding": view["grounding"],
        "metadata": metadata,
    }


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def stored(turn: Turn) -> dict[str, Any]:
    unlike = {"query_time_ms", "stage_ms", "request_id", "session_id", "timestamp", "turn_id"}
    timeless = replace(turn, searches=tuple(replace(one, timestamp=NOON) for one in turn.searches))
    return {name: value for name, value in asdict(timeless).items() if name not in unlike}


SCRIPT = [
    "Transient local",
    " durability keeps the last message for late",
    " subscribers [1]. It was",
    " made in 1977 [1].",
]


@pytest.mark.parametrize("model", [None, ScriptedModel([list(SCRIPT)])], ids=["in the book's words", "by a model"])
@pytest.mark.parametrize("query", [ASKED, UNKNOWN])
async def test_whatever_door_is_asked_it_is_one_answer(
    tmp_path: Path, query: str, model: ScriptedModel | None, capsys: pytest.CaptureFixture[str]
) -> None:
    async with opened(tmp_path, model=model) as doors:
        client, quoth = doors.client, doors.quoth

        async def at_the_terminal(session: str, *, live: bool) -> Answer:
            asked = parse(ChatRequest, {"query": query, "session_id": session})
            book = await quoth.choose_book(None)
            question = asked.to_question(book=book, request_id=str(uuid.uuid4()), top_k=quoth.settings.top_k)
            return await (answered_live(quoth, question) if live else quoth.conversations.answer(question))

        sessions = [str(uuid.uuid4()) for _ in range(6)]
        whole = (await client.post("/chat", json={"query": query, "session_id": sessions[0]})).json()
        events = await doors.stream(query, session_id=sessions[1])
        ran = (await client.post("/chat/run", json={"query": query, "session_id": sessions[2]})).json()
        body = {"query": query, "session_id": sessions[3], "stream": True}
        ran_streamed = frames((await client.post("/chat/run", json=body)).text)
        printed = await at_the_terminal(sessions[4], live=False)
        shown = await at_the_terminal(sessions[5], live=True)

        same = essence(whole)
        for streamed in (events, ran_streamed):
            assert essence(dict(streamed)["done"]) == same
            assert "".join(data["delta"] for name, data in streamed if name == "delta") == whole["answer"]
        assert [name for name, _ in ran_streamed] == [name for name, _ in events]
        for answer in (printed, shown):
            assert essence(dict(answer_view(answer))) == same
        assert whole["answer"].splitlines()[0] in capsys.readouterr().out
        assert ran["response"] == whole["answer"]
        assert [source["url"] for source in ran["sources"]] == [source["source_url"] for source in whole["sources"]]
        assert (ran["confidence"], ran["confidence_level"]) == (whole["confidence"], whole["confidence_level"])

        turns = [(await quoth.library.turns(session))[0] for session in sessions]
        assert all(len(of_session) == 1 for of_session in turns)
        assert [stored(turn) for [turn] in turns] == [stored(turns[0][0])] * len(sessions)


# --- the disclaimer ---------------------------------------------------------------------------------------------------


@pytest.fixture
def unsure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every verdict has low confidence."""
    real = judging.judge

    def judge(*given: Any) -> Verdict:
        return replace(real(*given), level="low", should_answer=True)

    monkeypatch.setattr(judging, "judge", judge)


@pytest.mark.usefixtures("unsure")
async def test_an_answer_of_low_confidence_carries_the_disclaimer_at_every_door(
    doors: Doors, capsys: pytest.CaptureFixture[str]
) -> None:
    events = dict(await doors.stream(session_id=SESSION))
    carried = [
        (await doors.ask())["metadata"],
        events["sources"]["metadata"],
        events["done"]["metadata"],
        (await run(doors))["metadata"],
        (await doors.client.get(f"/history/{SESSION}")).json()["entries"][0],
    ]
    assert [one["disclaimer"] for one in carried] == [DISCLAIMER] * len(carried)
    question = parse(ChatRequest, {"query": ASKED}).to_question(
        book=await doors.quoth.choose_book(None), request_id="r", top_k=5
    )
    print_answer(await doors.quoth.conversations.answer(question))
    assert DISCLAIMER in capsys.readouterr().out


@pytest.mark.parametrize("query", [ASKED, UNKNOWN])
async def test_a_sure_answer_and_a_refusal_carry_none(doors: Doors, query: str) -> None:
    assert (await doors.ask(query))["metadata"]["disclaimer"] is None
