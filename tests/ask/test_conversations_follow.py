"""Follow-up questions through the real doors: what is searched, what is reported, what is never used."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from doors import ASKED, SESSION, Doors, opened


@pytest.fixture
async def doors(tmp_path: Path) -> AsyncIterator[Doors]:
    async with opened(tmp_path) as joined:
        yield joined


async def test_a_follow_up_is_searched_with_what_the_conversation_is_about(doors: Doors) -> None:
    await doors.ask("What does the deadline policy name?", session_id=SESSION)
    body = await doors.ask("Why does it exist?", session_id=SESSION)
    searched = body["metadata"]["searched_query"]
    assert searched == "deadline policy: Why does it exist?"
    assert body["sources"][0]["section"] == "Timing"
    turns, _ = await doors.quoth.library.turns(SESSION)
    assert turns[-1].query == "Why does it exist?"
    assert turns[-1].searched_query == searched


async def test_a_streamed_follow_up_searches_the_same_and_says_so_with_the_results(doors: Doors) -> None:
    await doors.ask("What does the deadline policy name?", session_id=SESSION)
    events = dict(await doors.stream("Why does it exist?", session_id=SESSION))
    searched = events["retrieval"]["searched_query"]
    assert searched == "deadline policy: Why does it exist?"
    assert events["done"]["metadata"]["searched_query"] == events["sources"]["metadata"]["searched_query"] == searched


async def test_a_question_that_makes_sense_alone_is_not_touched_by_the_conversation(doors: Doors) -> None:
    await doors.ask("What does the deadline policy name?", session_id=SESSION)
    assert (await doors.ask(ASKED, session_id=SESSION))["metadata"]["searched_query"] == ASKED


async def test_another_session_does_not_inform_a_question(doors: Doors) -> None:
    await doors.ask("What does the deadline policy name?", session_id=SESSION)
    assert (await doors.ask("Why does it exist?"))["metadata"]["searched_query"] == "Why does it exist?"


async def test_what_was_asked_of_another_book_does_not_inform_a_question(tmp_path: Path) -> None:
    async with opened(tmp_path, books=2) as doors:
        await doors.ask("What does the deadline policy name?", session_id=SESSION, book_id="book-2")
        body = await doors.ask("Why does it exist?", session_id=SESSION, book_id="book")
        assert body["metadata"]["searched_query"] == "Why does it exist?"


async def test_a_question_with_a_selection_is_never_rewritten(doors: Doors) -> None:
    await doors.ask("What does the deadline policy name?", session_id=SESSION)
    body = await doors.ask("Why does it exist?", session_id=SESSION, selected_text="It exists because of time.")
    assert body["metadata"]["searched_query"] == "Why does it exist?"


async def test_the_source_that_is_pointed_at_comes_first_and_more_than_it_said_is_told(doors: Doors) -> None:
    first = await doors.ask("What keeps the last message for late subscribers?", session_id=SESSION)
    source = first["sources"][0]
    events = dict(await doors.stream("Tell me more about the first source", session_id=SESSION))
    assert events["retrieval"]["results"][0]["chunk_id"] == source["chunk_id"]
    cited = [other["quote"] for other in events["done"]["sources"]]
    assert cited
    assert not any(quote in source["quote"] for quote in cited)


@pytest.mark.parametrize("filters", [{"section": "Timing"}, {"parent_doc_id": "another-page"}])
async def test_a_source_outside_of_the_filters_is_not_used_even_when_pointed_at(
    doors: Doors, filters: dict[str, str]
) -> None:
    pointed_at = (await doors.ask(session_id=SESSION))["sources"][0]["chunk_id"]
    events = dict(await doors.stream("Tell me more about the first source", session_id=SESSION, filters=filters))
    assert pointed_at not in [result["chunk_id"] for result in events["retrieval"]["results"]]


async def test_a_source_that_is_gone_is_simply_not_there_any_more(doors: Doors) -> None:
    await doors.ask(session_id=SESSION)
    turns, _ = await doors.quoth.library.turns(SESSION)
    gone = replace(turns[0], sources=(replace(turns[0].sources[0], chunk_id="gone"),))
    await doors.quoth.library.add_turn(gone)
    body = await doors.ask("Tell me more about the first source", session_id=SESSION)
    assert body["metadata"]["retrieval_count"] > 0


async def test_the_source_that_is_pointed_at_comes_before_passages_that_fit_better(doors: Doors) -> None:
    source = (await doors.ask(session_id=SESSION))["sources"][0]
    question = "What does the first source say about the deadline policy and the longest time?"
    plain = dict(await doors.stream(question))
    events = dict(await doors.stream(question, session_id=SESSION))
    assert plain["retrieval"]["results"][0]["section_title"] == "Timing"
    assert events["retrieval"]["results"][0]["chunk_id"] == source["chunk_id"]
    assert source["section"] == "Durability"
