from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from quoth.ask.request import Search
from quoth.bootstrap import Quoth, bootstrap, fingerprint_of
from quoth.domain import AnswerEvent, Delta, Done, Filters, Grounded, Question, Retrieved, Sourced, Status, Turn
from quoth.errors import IndexUnavailable, LibraryUnavailable, ModelUnavailable, SessionNotFound
from quoth.settings import load_settings
from quoth.sources import open_source
from quoth.testing.embedder import FakeEmbedder
from quoth.testing.index import MemoryIndex
from quoth.testing.library import MemoryLibrary
from quoth.testing.model import Line, ScriptedModel
from samples import TickingClock, question

PAGE = """# Topics

A topic carries messages from publishers to subscribers.

## Durability

Transient local durability keeps the last message for late subscribers. Volatile durability keeps nothing.

## Timing

The deadline policy names the longest time between two messages.
"""
ASKED = "Which durability keeps the last message for late subscribers?"


@pytest.fixture
async def quoth(tmp_path: Path) -> AsyncIterator[Quoth]:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "topics.md").write_text(PAGE, encoding="utf-8")
    embedder = FakeEmbedder()
    parts = {"embedder": embedder, "index": MemoryIndex(fingerprint_of(embedder)), "library": MemoryLibrary()}
    async with _joined(tmp_path, parts) as joined:
        await joined.ingest.run(open_source(folder, book_id="book", base_url="https://book.example.com"))
        yield joined


async def events_of(quoth: Quoth, query: str, **fields: object) -> list[AnswerEvent]:
    return [event async for event in quoth.conversations.ask(question(query, **fields))]


def kinds(events: list[AnswerEvent]) -> list[type]:
    return [type(event) for event in events if not isinstance(event, Delta)]


async def test_the_events_of_an_answer_come_in_the_promised_order(quoth: Quoth) -> None:
    events = await events_of(quoth, ASKED)
    assert kinds(events) == [Status, Retrieved, Status, Sourced, Grounded, Done]
    first_delta = next(number for number, event in enumerate(events) if isinstance(event, Delta))
    assert isinstance(events[first_delta - 1], Status)


async def test_the_deltas_joined_are_the_answer_and_the_stored_turn(quoth: Quoth) -> None:
    events = await events_of(quoth, ASKED)
    done = events[-1]
    assert isinstance(done, Done)
    joined = "".join(event.text for event in events if isinstance(event, Delta))
    assert joined == done.answer.text
    turns, total = await quoth.library.turns(question().session_id)
    assert (total, turns[0].query, turns[0].response) == (1, ASKED, joined)


async def test_an_answer_quotes_the_file_at_its_offsets(quoth: Quoth) -> None:
    answer = await quoth.conversations.answer(question(ASKED))
    assert answer.mode == "extractive"
    assert "Transient local durability keeps the last message for late subscribers." in (answer.text or "")
    for citation in answer.citations:
        assert PAGE[citation.start : citation.end] == citation.quote
        assert f"[{citation.index}]" in (answer.text or "")
    assert answer.citations[0].chunk.url == "https://book.example.com/topics#durability"
    assert (answer.grounding.supported, answer.grounding.total) == (answer.grounding.total, answer.grounding.total)
    assert answer.grounding.total > 0


async def test_a_question_the_book_does_not_hold_is_refused_with_the_nearest_sections(quoth: Quoth) -> None:
    answer = await quoth.conversations.answer(question("Who won the football championship in 1966?"))
    assert answer.text == "I don't have information about that in the book content"
    assert (answer.mode, answer.verdict.should_answer, answer.citations) == ("no_results", False, ())
    assert answer.suggestions
    assert "football" in answer.missing_terms


async def test_the_answer_without_a_stream_is_the_answer_of_the_stream(quoth: Quoth) -> None:
    streamed = (await events_of(quoth, ASKED))[-1]
    assert isinstance(streamed, Done)
    whole = await quoth.conversations.answer(question(ASKED))
    assert (whole.text, whole.citations, whole.grounding, whole.verdict) == (
        streamed.answer.text,
        streamed.answer.citations,
        streamed.answer.grounding,
        streamed.answer.verdict,
    )


async def test_filters_reach_the_index(quoth: Quoth) -> None:
    search = Search("durability", "book", Filters(section="Timing"), limit=5)
    evidence, _ = await quoth.conversations.search(search)
    assert [passage.chunk.section_title for passage in evidence.passages] == ["Timing"]
    assert evidence.total_found == 1


async def test_passages_below_the_threshold_are_dropped_from_a_search(quoth: Quoth) -> None:
    everything, _ = await quoth.conversations.search(Search("durability", "book", Filters(), limit=5))
    best, *others = [passage.similarity for passage in everything.passages]
    assert others
    few = Search("durability", "book", Filters(), limit=5, similarity_threshold=best)
    assert [passage.similarity for passage in (await quoth.conversations.search(few))[0].passages] == [best]


async def test_a_threshold_that_all_passages_reach_changes_nothing(quoth: Quoth) -> None:
    usual = await quoth.conversations.answer(question(ASKED))
    evidence, _ = await quoth.conversations.search(Search(ASKED, "book", Filters(), limit=5))
    least = min(passage.similarity for passage in evidence.passages)
    same = await quoth.conversations.answer(question(ASKED, similarity_threshold=least))
    assert least > 0
    assert (same.text, same.verdict, same.retrieval_count) == (usual.text, usual.verdict, usual.retrieval_count)


async def test_whether_to_answer_is_decided_on_the_passages_that_are_left(quoth: Quoth) -> None:
    usual = await quoth.conversations.answer(question(ASKED))
    alone = await quoth.conversations.answer(
        question(ASKED, similarity_threshold=usual.citations[0].similarity, session_id="other")
    )
    assert (alone.retrieval_count, alone.text, alone.mode) == (1, usual.text, "extractive")
    assert alone.verdict.basis is not None
    assert usual.verdict.basis is not None
    assert alone.verdict.basis.threshold == usual.verdict.basis.threshold


async def test_where_every_passage_is_dropped_nothing_was_found(quoth: Quoth) -> None:
    answer = await quoth.conversations.answer(question(ASKED, similarity_threshold=1.0))
    assert (answer.mode, answer.verdict.should_answer, answer.verdict.confidence) == ("no_results", False, 0.0)
    assert (answer.retrieval_count, answer.citations, answer.suggestions) == (0, (), ())
    assert answer.text == "I don't have information about that in the book content"


async def test_a_source_that_is_pointed_at_is_used_only_if_it_is_similar_enough(quoth: Quoth) -> None:
    first = await quoth.conversations.answer(question(ASKED))
    assert first.citations
    asked = question("Tell me more about the first source", similarity_threshold=1.0)
    assert (await quoth.conversations.answer(asked)).retrieval_count == 0


async def test_a_threshold_says_nothing_about_a_selection(quoth: Quoth) -> None:
    selection = "A costmap holds obstacles. An inflation layer widens each obstacle by a radius."
    asked = question("What does the inflation layer do?", selected_text=selection, similarity_threshold=1.0)
    assert (await quoth.conversations.answer(asked)).verdict.should_answer


class Down:
    """Every call to the index fails, as if its disk were gone."""

    async def close(self) -> None:
        pass

    def view(self, book_id: str) -> Down:
        return self

    def __getattr__(self, name: str) -> object:
        async def fail(*args: object, **kwargs: object) -> None:
            raise IndexUnavailable("the index cannot be read")

        return fail


async def test_a_selection_is_answered_without_asking_the_index(quoth: Quoth, tmp_path: Path) -> None:
    parts = {"embedder": FakeEmbedder(), "index": Down(), "library": MemoryLibrary()}
    selection = "A costmap holds obstacles. An inflation layer widens each obstacle by a radius."
    async with _joined(tmp_path, parts) as joined:
        asked = question("What does the inflation layer do?", selected_text=selection)
        answer = await joined.conversations.answer(asked)
    assert (answer.mode, answer.retrieval_count) == ("selected_text", 0)
    assert "An inflation layer widens each obstacle by a radius." in (answer.text or "")
    assert all(selection[citation.start : citation.end] == citation.quote for citation in answer.citations)


async def test_what_the_selection_does_not_hold_is_not_answered_from_the_book(quoth: Quoth) -> None:
    answer = await quoth.conversations.answer(question(ASKED, selected_text="Bananas are yellow."))
    assert answer.text == "I could not find that in the selected text"
    assert answer.citations == ()


class ForgetfulLibrary(MemoryLibrary):
    async def add_turn(self, turn: Turn) -> Turn:
        raise LibraryUnavailable("the database is gone")


async def test_an_index_that_is_down_is_an_error_and_never_the_refusal(tmp_path: Path) -> None:
    parts = {"embedder": FakeEmbedder(), "index": Down(), "library": MemoryLibrary()}
    async with _joined(tmp_path, parts) as joined:
        with pytest.raises(IndexUnavailable):
            await joined.conversations.answer(question(ASKED))


async def test_a_database_that_is_down_is_an_error_and_never_the_refusal(quoth: Quoth, tmp_path: Path) -> None:
    parts = {"embedder": quoth.embedder, "index": quoth.index, "library": ForgetfulLibrary()}
    async with _joined(tmp_path, parts) as joined:
        events: list[AnswerEvent] = []
        with pytest.raises(LibraryUnavailable):
            events.extend([event async for event in joined.conversations.ask(question(ASKED))])
    assert events == []


def _joined(tmp_path: Path, parts: dict[str, Any]) -> AbstractAsyncContextManager[Quoth]:
    return bootstrap(load_settings(data_dir=tmp_path / "data"), clock=TickingClock(), **parts)


async def test_an_answer_says_how_long_each_stage_took(quoth: Quoth) -> None:
    answer = await quoth.conversations.answer(question(ASKED))
    assert list(answer.stage_ms) == ["retrieve", "judge", "answer", "check"]
    assert all(spent > 0 and spent % 1_000 == 0 for spent in answer.stage_ms.values())  # the clock ticks in seconds
    assert answer.query_time_ms % 1_000 == 0
    assert answer.query_time_ms > sum(answer.stage_ms.values())


async def test_a_forgotten_conversation_is_gone(quoth: Quoth) -> None:
    await quoth.conversations.answer(question(ASKED))
    await quoth.conversations.forget(question().session_id)
    with pytest.raises(SessionNotFound):
        await quoth.library.turns(question().session_id)


async def test_a_question_about_a_selection_searches_nothing(quoth: Quoth) -> None:
    about = await quoth.conversations.answer(question(ASKED, selected_text=PAGE))
    assert (about.searches, about.retrieval_count, about.missing_terms, about.suggestions) == ((), 0, (), ())
    searched = await quoth.conversations.answer(question(ASKED))
    assert (len(searched.searches), searched.retrieval_count) == (1, 3)


@pytest.mark.parametrize(("script", "topics"), [([["Transient local [1]."]], 1), ([[ModelUnavailable("down")]], 0)])
async def test_a_topic_is_looked_for_only_where_a_model_has_answered(
    tmp_path: Path, script: list[list[Line]], topics: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "topics.md").write_text(PAGE, encoding="utf-8")
    embedder = FakeEmbedder()
    parts = {"embedder": embedder, "index": MemoryIndex(fingerprint_of(embedder)), "library": MemoryLibrary()}
    considered: list[Question] = []
    async with _joined(tmp_path, {**parts, "model": ScriptedModel(script)}) as joined:
        monkeypatch.setattr(joined.conversations.memory, "consider_topic", considered.append)
        await joined.ingest.run(open_source(folder, book_id="book"))
        await joined.conversations.answer(question(ASKED))
    assert len(considered) == topics
