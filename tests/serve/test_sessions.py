"""A conversation from the outside: a thread, its history, who may see it, and how it is erased."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from contracts.library_contract import a_turn
from doors import ASKED, REFUSAL, SESSION, UNKNOWN, Doors, a_key, check_problem, closed, opened
from quoth.domain import Message
from quoth.errors import ModelUnavailable
from quoth.testing.model import ScriptedModel
from samples import TickingClock

TRUE = "Transient local durability keeps the last message for late subscribers [1]."
TOPIC = "How durability treats late subscribers"


class SetClock(TickingClock):
    """A clock that can be set forward."""

    def forward(self, by: timedelta) -> None:
        self._now += by


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
async def doors(tmp_path: Path, clock: SetClock) -> AsyncIterator[Doors]:
    async with opened(tmp_path, clock=clock) as joined:
        yield joined


async def thread(doors: Doors) -> dict[str, Any]:
    response = await doors.client.get(f"/session/{SESSION}")
    assert response.status_code == 200, response.text
    body: dict[str, Any] = response.json()
    return body


async def long_ago(doors: Doors, turns: int) -> None:
    for number in range(turns):
        await doors.quoth.library.add_turn(a_turn(number, SESSION))


# --- the thread -------------------------------------------------------------------------------------------------------


async def test_a_session_is_a_thread_of_questions_and_answers(doors: Doors) -> None:
    answered = await doors.ask(session_id=SESSION)
    await doors.ask(UNKNOWN, session_id=SESSION)
    body = await thread(doors)
    assert body["thread_id"] == SESSION
    assert [(message["role"], message["content"]) for message in body["messages"]] == [
        ("user", ASKED),
        ("assistant", answered["answer"]),
        ("user", UNKNOWN),
        ("assistant", REFUSAL),
    ]
    assert [message.get("confidence") for message in body["messages"]][:2] == [None, answered["confidence"]]
    assert body["updated_at"] == body["messages"][-1]["timestamp"] > body["created_at"]
    assert body["metadata"]["book_ids"] == ["book"]
    assert (body["metadata"]["total_messages"], body["metadata"]["archived_messages"]) == (4, 0)


async def test_a_model_that_failed_says_so_in_the_thread(tmp_path: Path) -> None:
    async with opened(tmp_path, model=ScriptedModel([[ModelUnavailable("down")]])) as doors:
        body = await doors.ask(session_id=SESSION)
        assert (await thread(doors))["messages"][1]["content"] == body["fallback_message"]


async def test_fifty_messages_are_live_and_the_older_ones_can_be_read(doors: Doors) -> None:
    await long_ago(doors, 130)
    body = await thread(doors)
    contents = [message["content"] for message in body["messages"]]
    assert (len(contents), contents[0], contents[-1]) == (50, "question 105", "answer 129")
    assert (body["metadata"]["total_messages"], body["metadata"]["archived_messages"]) == (260, 210)

    read: list[str] = []
    for offset in (100, 0):
        response = await doors.client.get(f"/session/{SESSION}/history", params={"limit": 100, "offset": offset})
        assert response.json()["total_messages"] == 260
        read += [message["content"] for message in response.json()["messages"]]
    assert read == [words for number in range(130) for words in (f"question {number}", f"answer {number}")]


async def test_the_old_history_reads_archived_entries_too(doors: Doors) -> None:
    await long_ago(doors, 130)
    response = await doors.client.get(f"/history/{SESSION}", params={"limit": 3, "offset": 127})
    assert [entry["query"] for entry in response.json()["entries"]] == ["question 0", "question 1", "question 2"]
    assert response.json()["total_entries"] == 130
    beyond = await doors.client.get(f"/history/{SESSION}", params={"offset": 130})
    assert (beyond.status_code, beyond.json()["entries"], beyond.json()["total_entries"]) == (200, [], 130)


@pytest.mark.parametrize("path", [f"/history/{SESSION}", f"/session/{SESSION}/history"])
@pytest.mark.parametrize("wrong", [{"limit": 0}, {"limit": 101}, {"offset": -1}, {"limit": "many"}])
async def test_a_wrong_limit_is_told(doors: Doors, path: str, wrong: dict[str, Any]) -> None:
    check_problem(await doors.client.get(path, params=wrong), 400, "INVALID_REQUEST")


async def test_a_thread_rests_after_an_hour_and_the_next_question_resumes_it(doors: Doors, clock: SetClock) -> None:
    await doors.ask(session_id=SESSION)
    assert (await thread(doors))["metadata"]["state"] == "active"
    clock.forward(timedelta(minutes=59))
    assert (await thread(doors))["metadata"]["state"] == "active"
    clock.forward(timedelta(minutes=2))
    resting = await thread(doors)
    assert (resting["metadata"]["state"], len(resting["messages"])) == ("archived", 2)

    follow_up = await doors.ask("and what about volatile?", session_id=SESSION)
    assert follow_up["metadata"]["searched_query"] == "durability: and what about volatile?"
    resumed = await thread(doors)
    assert (resumed["metadata"]["state"], len(resumed["messages"])) == ("active", 4)
    assert resumed["created_at"] == resting["created_at"]


# --- what it is about -------------------------------------------------------------------------------------------------


async def test_from_the_fifth_exchange_on_the_cited_headings_tell_what_it_is_about(doors: Doors) -> None:
    for _ in range(4):
        await doors.ask(session_id=SESSION)
    assert (await thread(doors))["topic_summary"] is None
    await doors.ask("What does the deadline policy name?", session_id=SESSION)
    topic = (await thread(doors))["topic_summary"]
    assert topic.split(" · ")[0] == "Durability"
    assert "Timing" in topic


def asks_for_a_topic(messages: list[Message]) -> bool:
    return messages[0].content.startswith("You write the title of a conversation")


class Titled(ScriptedModel):
    """Follows its script, and knows a title."""

    title: str | ModelUnavailable = TOPIC

    def reply(self, messages: Any, tools: Any = ()) -> Any:
        asked_for = asks_for_a_topic(list(messages))
        self.script = [[self.title if asked_for else TRUE]]
        return super().reply(messages, tools)


async def settled(doors: Doors) -> None:
    """Wait until the background work is done."""
    while tasks := doors.quoth.conversations.memory._tasks:
        await next(iter(tasks))


async def test_with_a_model_the_topic_is_its_sentence_and_asked_for_with_every_fifth_exchange(tmp_path: Path) -> None:
    model = Titled([[]])
    async with opened(tmp_path, model=model) as doors:
        asked_for = []
        for _ in range(11):
            await doors.ask(session_id=SESSION)
            await settled(doors)
            asked_for.append(sum(map(asks_for_a_topic, model.shown)))
        assert asked_for == [0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2]
        assert (await thread(doors))["topic_summary"] == TOPIC
        shown = next(messages for messages in model.shown if asks_for_a_topic(messages))
        assert ASKED in shown[1].content


async def test_a_title_that_fails_takes_nothing_away_and_is_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = Titled([[]])
    model.title = ModelUnavailable("out of words")
    async with opened(tmp_path, model=model) as doors:
        for _ in range(5):
            assert (await doors.ask(session_id=SESSION))["answer"] == TRUE
        await settled(doors)
        assert "could not be given a new topic: out of words" in caplog.text
        assert (await thread(doors))["topic_summary"] == "Durability"
        model.title = f'"{"A very long title " * 20}"'
        await doors.ask(session_id=SESSION)
        await settled(doors)
        topic = (await thread(doors))["topic_summary"]
        assert topic.startswith("A very long title")
        assert len(topic) <= 200


# --- whose it is ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", f"/history/{SESSION}"),
        ("GET", f"/session/{SESSION}"),
        ("GET", f"/session/{SESSION}/history"),
        ("DELETE", f"/session/{SESSION}"),
        ("POST", "/chat"),
        ("POST", "/chat/stream"),
        ("POST", "/chat/run"),
    ],
)
async def test_another_key_finds_no_session_at_any_door(tmp_path: Path, method: str, path: str) -> None:
    async with closed(tmp_path) as doors:
        mine, other = await a_key(doors), await a_key(doors)
        body = {"query": ASKED, "session_id": SESSION}
        assert (await doors.client.post("/chat", json=body, headers=mine)).status_code == 200
        sent = body if method == "POST" else None
        check_problem(await doors.client.request(method, path, headers=other, json=sent), 404, "SESSION_NOT_FOUND")
        seen = await doors.client.get(f"/session/{SESSION}", headers=mine)
        assert len(seen.json()["messages"]) == 2


async def test_beside_a_selection_another_keys_session_is_not_found_either(tmp_path: Path) -> None:
    async with closed(tmp_path) as doors:
        mine, other = await a_key(doors), await a_key(doors)
        body = {"query": ASKED, "session_id": SESSION, "selected_text": "Volatile durability keeps nothing."}
        assert (await doors.client.post("/chat", json=body, headers=mine)).status_code == 200
        check_problem(await doors.client.post("/chat", json=body, headers=other), 404, "SESSION_NOT_FOUND")


# --- erasing ----------------------------------------------------------------------------------------------------------


async def test_an_erased_session_is_gone_from_every_door(doors: Doors) -> None:
    await doors.ask(session_id=SESSION)
    erased = await doors.client.delete(f"/session/{SESSION}")
    assert (erased.status_code, erased.content) == (204, b"")
    for path in (f"/history/{SESSION}", f"/session/{SESSION}", f"/session/{SESSION}/history"):
        check_problem(await doors.client.get(path), 404, "SESSION_NOT_FOUND")
    check_problem(await doors.client.delete(f"/session/{SESSION}"), 404, "SESSION_NOT_FOUND")
    begun = datetime.fromisoformat((await doors.ask(session_id=SESSION))["timestamp"])
    assert datetime.fromisoformat((await thread(doors))["created_at"]) == begun


# --- tags ------------------------------------------------------------------------------------------------------------


async def test_a_thread_has_the_tags_that_it_was_given_and_knows_its_searches(doors: Doors) -> None:
    await doors.ask(session_id=SESSION)
    changed = await doors.client.patch(f"/session/{SESSION}", json={"tags": [" homework ", "ros2", "homework"]})
    assert changed.status_code == 200, changed.text
    metadata = (await thread(doors))["metadata"]
    assert metadata == changed.json()["metadata"]
    assert (metadata["tags"], metadata["turn_count"]) == (["homework", "ros2"], 1)
    [search] = metadata["retrieval_history"]
    assert (search["tool_name"], search["query"]) == ("search_book_content", ASKED)
    assert search["results_count"] > 0
    question, answer = (await thread(doors))["messages"]
    assert answer["tool_calls"] == [search]
    assert question["timestamp"] < search["timestamp"] <= answer["timestamp"]
    assert (await doors.client.patch(f"/session/{SESSION}", json={"tags": []})).json()["metadata"]["tags"] == []


@pytest.mark.parametrize("body", [{}, {"tags": "one"}, {"tags": [""]}, {"tags": ["x"] * 21}, {"topic": "x"}])
async def test_what_is_no_list_of_tags_is_refused(doors: Doors, body: dict[str, object]) -> None:
    await doors.ask(session_id=SESSION)
    assert (await doors.client.patch(f"/session/{SESSION}", json=body)).status_code == 400
    unknown = await doors.client.patch("/session/11111111-2222-4333-8444-555555555555", json={"tags": []})
    assert unknown.status_code == 404
