"""A run of golden questions over a tiny book with fakes: labels are placed, questions asked, nothing is left behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from doors import ASKED, PAGE, opened
from eval_results import ANSWERABLE, QUOTE, SELECTED, SHUT_OUT, UNANSWERABLE
from quoth.bootstrap import Quoth
from quoth.conversation import Conversations
from quoth.domain import AnswerEvent, Done, Question, Turn
from quoth.errors import IndexUnavailable, LibraryUnavailable, Outage, SessionNotFound, Unreadable
from quoth.evals.cases import Case, Label
from quoth.evals.labels import joined, pages_of, place_in, place_labels, spans_of
from quoth.evals.run import Runner, RunOptions
from quoth.testing.library import MemoryLibrary
from samples import chunk

FOLLOW_UP = Case("then", "follow_up", ASKED, Label("topics.md", QUOTE), line=5, first="What is a topic?")


class WatchedLibrary(MemoryLibrary):
    def __init__(self) -> None:
        super().__init__()
        self.heard: list[Turn] = []
        self.down = False

    async def add_turn(self, turn: Turn) -> Turn:
        if self.down:
            raise LibraryUnavailable("The database is gone.")
        self.heard.append(turn)
        return await super().add_turn(turn)


def runner(quoth: Quoth, *, conversations: Conversations | None = None, **options: Any) -> Runner:
    return Runner(
        conversations or quoth.conversations, quoth.index, quoth.library, book_id="book", options=RunOptions(**options)
    )


async def test_every_kind_of_question_gets_its_result(tmp_path: Path) -> None:
    async with opened(tmp_path) as doors:
        run = await runner(doors.quoth).run([ANSWERABLE, UNANSWERABLE, SHUT_OUT, SELECTED, FOLLOW_UP])
    late, cup, out, selected, then = run.results
    assert run.stale == ()
    assert (late.right, late.right_ranks, late.quote_recall, late.held) == (True, (1,), 1.0, True)
    assert (late.citations, late.right_citations, late.right_passages) == (1, 1, 1)
    assert (cup.answered, cup.right, cup.citations, cup.right_ranks) == (False, True, 0, ())
    assert (out.answered, out.right, out.seen) == (False, True, 0)
    assert (selected.right, selected.searches, selected.right_ranks, selected.quote_recall) == (True, False, (), 1.0)
    assert (then.kind, then.question, then.right) == ("follow_up", ASKED, True)
    assert late.stage_ms.keys() >= {"retrieve", "judge", "answer", "check"}
    assert late.total_ms > 0


async def test_a_follow_up_shares_its_conversation_and_nothing_is_left_of_any(tmp_path: Path) -> None:
    library = WatchedLibrary()
    async with opened(tmp_path, library=library) as doors:
        await runner(doors.quoth).run([FOLLOW_UP, ANSWERABLE])
        sessions = [turn.session_id for turn in library.heard]
        assert [turn.query for turn in library.heard] == ["What is a topic?", ASKED, ASKED]
        assert sessions[0] == sessions[1] != sessions[2]
        for session in sessions:
            with pytest.raises(SessionNotFound):
                await library.conversation(session)


async def test_an_index_that_goes_down_ends_the_run_and_is_never_a_refusal(tmp_path: Path) -> None:
    async with opened(tmp_path) as doors:

        def cut_the_wire(done: int, total: int) -> None:
            doors.quoth.index.outage = IndexUnavailable("The index is gone.")  # type: ignore[attr-defined]

        with pytest.raises(IndexUnavailable, match="gone"):
            await runner(doors.quoth).run([ANSWERABLE, UNANSWERABLE], cut_the_wire)


async def test_a_database_that_goes_down_ends_the_run(tmp_path: Path) -> None:
    library = WatchedLibrary()
    async with opened(tmp_path, library=library) as doors:
        library.down = True
        with pytest.raises(LibraryUnavailable, match="gone"):
            await runner(doors.quoth).run([ANSWERABLE])


class Altered(Conversations):
    """The real conversations, watched, with the last event changed."""

    def __init__(self, real: Conversations, **changes: Any) -> None:
        self._real = real
        self._changes = changes
        self.under_way = self.most = 0

    async def ask(self, question: Question, *, whole: bool = False) -> AsyncGenerator[AnswerEvent]:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(0)
        async for event in self._real.ask(question):
            yield Done(replace(event.answer, **self._changes)) if isinstance(event, Done) else event
        self.under_way -= 1

    def unrecorded(self) -> Altered:
        return self

    async def search(self, search: Any) -> Any:
        return await self._real.search(search)


async def test_a_model_that_fails_ends_the_run_and_is_never_a_refusal(tmp_path: Path) -> None:
    async with opened(tmp_path) as doors:
        failing = Altered(doors.quoth.conversations, mode="retrieval_only", text=None, fallback_message="timed out")
        with pytest.raises(Outage, match="`late`: timed out"):
            await runner(doors.quoth, conversations=failing).run([ANSWERABLE])


@pytest.mark.parametrize("bound", [1, 3])
async def test_no_more_questions_run_at_once_than_allowed(tmp_path: Path, bound: int) -> None:
    cases = [replace(ANSWERABLE, id=str(number)) for number in range(8)]
    seen: list[tuple[int, int]] = []
    async with opened(tmp_path) as doors:
        watched = Altered(doors.quoth.conversations)
        run = await runner(doors.quoth, conversations=watched, concurrency=bound).run(
            cases, lambda done, total: seen.append((done, total))
        )
    assert watched.most == bound
    assert [result.id for result in run.results] == [case.id for case in cases]
    assert seen == [(number, 8) for number in range(1, 9)]


async def test_a_stale_label_is_named_and_not_asked(tmp_path: Path) -> None:
    gone = replace(ANSWERABLE, id="gone", label=Label("topics.md", "Words that are not there."))
    moved = replace(ANSWERABLE, id="moved", label=Label("topic.md", QUOTE))
    lost = replace(ANSWERABLE, id="lost", label=Label("topic.md", "Words that are not there."))
    async with opened(tmp_path) as doors:
        run = await runner(doors.quoth).run([gone, ANSWERABLE, moved, lost])
    assert [result.id for result in run.results] == ["late"]
    assert {label.id: label.reason for label in run.stale} == {
        "gone": "the quote is no longer in the page",
        "moved": "the quote is now in topics.md",
        "lost": "there is no such page; the nearest is topics.md",
    }


async def test_a_book_without_text_cannot_be_measured(tmp_path: Path) -> None:
    async with opened(tmp_path) as doors:
        async with doors.quoth.index.writer("book", recreate=True) as writer:
            await writer.publish()
        with pytest.raises(Unreadable) as caught:
            await runner(doors.quoth).run([ANSWERABLE])
    assert caught.value.exit_code == 3


# --- labels ----------------------------------------------------------------------------------------------------------


async def test_a_page_is_put_together_from_its_chunks(tmp_path: Path) -> None:
    async with opened(tmp_path) as doors:
        (page,) = [page async for page in pages_of(doors.quoth.index, "book")]
        places, _ = await place_labels([ANSWERABLE], doors.quoth.index, "book")
    assert page.text.split() == PAGE.split()
    (span,) = places["late"].spans
    assert PAGE[slice(*span)] == QUOTE
    assert len(places["late"].texts) == 1
    assert places["late"].urls == {"https://book.example.com/topics#durability"}


def test_chunks_may_overlap_and_leave_gaps() -> None:
    page = joined([chunk("world and more", start=8), chunk("the world", start=4), chunk("end", start=30)])
    assert page.text == "    the world and more        end"
    assert joined([chunk("a long text", start=0), chunk("long", start=2)]).text == "a long text"


def test_a_quote_is_found_wherever_its_lines_break_and_each_time_it_occurs() -> None:
    text = "It keeps the\n  last message. It keeps the last message (a.b)."
    assert [text[slice(*span)].split() for span in spans_of("keeps the last", text)] == [["keeps", "the", "last"]] * 2
    assert spans_of("(a.b)", text) == ((text.index("(a.b)"), text.index("(a.b)") + 5),)
    assert spans_of("(aXb)", text) == ()


def test_where_a_quote_is_cut_the_chunk_with_the_larger_part_holds_it() -> None:
    chunks = [chunk("one two thr", start=0, url="/a"), chunk("ee four", start=11, url="/b")]
    place = place_in(joined(chunks), ((4, 18),))
    assert place.urls == {"/a", "/b"}
    assert place_in(joined(chunks), ((8, 18),)).urls == {"/b"}
