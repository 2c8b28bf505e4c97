from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.ask.threads import archived_messages, one_line, state_of, topic_is_due, topic_of
from quoth.domain import CitedSource, Conversation, Turn

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def a_conversation(turns: int = 1, topic_summary: str = "") -> Conversation:
    return Conversation("id", NOW, NOW, turns=turns, topic_summary=topic_summary)


def citing(*sections: str | None) -> Turn:
    return Turn("id", NOW, "q", "a", sources=tuple(CitedSource(1, section=section or "") for section in sections))


@pytest.mark.parametrize(("minutes", "state"), [(0, "active"), (60, "active"), (61, "archived"), (60 * 24, "archived")])
def test_a_thread_is_archived_when_it_has_rested_for_more_than_an_hour(minutes: int, state: str) -> None:
    assert state_of(a_conversation(), NOW + timedelta(minutes=minutes)) == state


@pytest.mark.parametrize(("turns", "archived"), [(0, 0), (25, 0), (26, 2), (130, 210)])
def test_what_is_older_than_fifty_messages_is_archived(turns: int, archived: int) -> None:
    assert archived_messages(a_conversation(turns)) == archived


def test_headings_that_were_cited_most_come_first_and_selections_have_none() -> None:
    turns = [
        citing("QoS", "Topics"),
        citing("Topics"),
        citing(None),
        Turn("id", NOW, "q", "a", sources=(CitedSource(1, selection_length=9),)),
    ]
    assert topic_of(a_conversation(5), turns) == "Topics · QoS"
    assert topic_of(a_conversation(5), [citing(None)]) is None


def test_a_short_conversation_has_no_topic_and_a_models_comes_before_the_headings() -> None:
    turns = [citing("Topics")]
    assert topic_of(a_conversation(4, topic_summary="By a model"), turns) is None
    assert topic_of(a_conversation(5, topic_summary="By a model"), turns) == "By a model"
    assert topic_of(a_conversation(5), turns) == "Topics"


def test_a_topic_is_due_with_the_fifth_exchange_and_with_every_fifth_after_it() -> None:
    assert [turns for turns in range(1, 22) if topic_is_due(turns, "known")] == [5, 10, 15, 20]
    assert [turns for turns in range(1, 9) if topic_is_due(turns, "")] == [5, 6, 7, 8]


@given(st.text())
def test_a_topic_is_one_line_of_at_most_200_characters(text: str) -> None:
    line = one_line(text)
    assert len(line) <= 200
    assert len(line.splitlines()) <= 1
