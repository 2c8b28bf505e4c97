"""A database that an earlier Quoth wrote (schema 0005, before turns were typed) is read whole and stays in use.

The dump beside this file was made by running that code: an extractive answer, a refusal, a selection, a model's answer
with an unsupported sentence, an interrupted one, and one whose model could not be reached.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from contracts.library_contract import a_turn
from doors import ASKED, REFUSAL, SESSION, UNKNOWN
from quoth.ask.cited import past_turn
from quoth.ask.threads import topic_of
from quoth.domain import CitedSource, Conversation, Doubt, Turn
from quoth.serve.sessions import history_view, messages_view
from quoth.store.library import open_library

DUMP = Path(__file__).with_name("database_before_typed_turns.sql")


@pytest.fixture
def url(tmp_path: Path) -> str:
    connection = sqlite3.connect(tmp_path / "quoth.db")
    connection.executescript(DUMP.read_text(encoding="utf-8"))
    connection.close()
    return f"sqlite:///{tmp_path / 'quoth.db'}"


async def turns_of(url: str) -> list[Turn]:
    library = await open_library(url)
    turns, total = await library.turns(SESSION)
    await library.close()
    assert total == len(turns)
    return turns


async def test_every_kind_of_turn_is_read(url: str) -> None:
    turns = await turns_of(url)
    modes = ["extractive", "no_results", "selected_text", "full", "full", "retrieval_only"]
    assert [turn.mode for turn in turns] == modes
    assert [turn.interrupted for turn in turns] == [False, False, False, False, True, False]
    assert {turn.book_id for turn in turns} == {"book"}
    assert [turn.level for turn in turns] == [None] * 6


async def test_sources_doubts_and_suggestions_come_back_as_values(url: str) -> None:
    quoted, refused, selected, doubtful, _, failed = await turns_of(url)
    (source,) = quoted.sources
    assert (source.url, source.section, source.position, source.line) == ("topics.md#durability", "Durability", 1, 7)
    assert source.breadcrumb == ("Topics", "Durability")
    assert source.similarity == pytest.approx(0.8599)
    assert [one.title for one in refused.suggestions] == ["Timing", "Durability", "Topics"]
    assert refused.missing_terms == ("won", "football", "championship", "1966")
    kept = "Volatile durability keeps nothing."
    whole = f"Durability matters. {kept}"
    assert selected.sources == (CitedSource(1, quote=kept, start=20, end=54, snippet=whole, selection_length=54),)
    assert doubtful.doubts == (Doubt("It was invented in Atlantis in 1912. [1]", "1912 is not in the source"),)
    assert failed.fallback_message


async def test_old_turns_still_inform_follow_ups_and_topics(url: str) -> None:
    turns = await turns_of(url)
    answered, refused = past_turn(turns[0]), past_turn(turns[1])
    assert (answered.question, answered.searched) == (ASKED, ASKED)
    assert answered.sources[0].chunk_id
    assert answered.content == answered.answer
    assert (refused.question, refused.answer, refused.content) == (UNKNOWN, REFUSAL, "")
    long = Conversation(SESSION, turns[0].timestamp, turns[-1].timestamp, turns=5)
    assert topic_of(long, turns) == "Durability · Topics · Timing"


async def test_doors_show_an_old_turn_in_the_shape_of_a_new_one(url: str) -> None:
    turns = await turns_of(url)
    entries = history_view(SESSION, turns, len(turns))["entries"]
    cited, selected = dict(entries[0]["sources"][0]), dict(entries[2]["sources"][0])
    assert cited["source_url"] == "topics.md#durability"
    assert selected["source_type"] == "selected_text"
    assert selected["relevance_note"]
    assert entries[3]["unsupported"][0]["reason"] == "1912 is not in the source"
    assert messages_view(turns)[-1]["content"] == turns[-1].fallback_message


async def test_new_turns_are_stored_beside_old_ones(url: str) -> None:
    library = await open_library(url)
    await library.add_turn(a_turn(session_id=SESSION, level="high", model="scripted"))
    turns, total = await library.turns(SESSION)
    await library.close()
    assert total == 7
    assert (turns[-1].level, turns[-1].model) == ("high", "scripted")


async def test_a_row_of_a_later_layout_is_read_as_far_as_it_goes(url: str, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "quoth.db") as connection:
        connection.execute("""UPDATE conversations SET metadata = json_set(metadata, '$.version', 99, '$.new', 1)""")
    assert [turn.mode for turn in await turns_of(url)][:2] == ["extractive", "no_results"]
