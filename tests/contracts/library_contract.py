"""What every `ports.Library` promises. A test file subclasses `LibraryContract` and gives a `library` fixture whose
clock shows `NOW`."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from types import MappingProxyType
from typing import Any
from uuid import uuid4

import pytest

from quoth.domain import (
    Book,
    CitedSource,
    Coverage,
    Doubt,
    Feedback,
    IngestJob,
    IngestMode,
    IngestTimes,
    Notice,
    PageRecord,
    RecordedQuestion,
    Share,
    Suggestion,
    Trace,
    Turn,
)
from quoth.errors import Conflict, NotFound, SessionNotFound, UnknownBook
from quoth.ports import Library

NOW = datetime(2030, 5, 17, 12, 30, 15, 123456, tzinfo=UTC)
SESSION = "4f9f1a52-3f0e-4c39-9a8d-0d9b1f6f2a11"
OTHER = "11111111-2222-4333-8444-555555555555"


def a_record(book_id: str = "robots", source_file: str = "docs/intro.md", **changes: object) -> PageRecord:
    record = PageRecord(
        book_id=book_id,
        source_file=source_file,
        digest="d1",
        file_hash="f1",
        chunk_ids=("c1", "c2"),
        ingested_at=NOW,
        title="Einführung 🤖",
        url="https://example.org/intro",
        module="ros2",
        chapter=1,
        lesson=2,
    )
    return replace(record, **changes)  # type: ignore[arg-type]  # the names are those of PageRecord


def a_turn(number: int = 0, session_id: str = SESSION, **changes: object) -> Turn:
    turn = Turn(session_id, NOW + timedelta(seconds=number), f"question {number}", f"answer {number}")
    return replace(turn, **changes)  # type: ignore[arg-type]  # the names are those of Turn


def a_question(number: int = 0, book_id: str = "robots", **changes: object) -> RecordedQuestion:
    asked_at = NOW + timedelta(seconds=number)
    question = RecordedQuestion(book_id, asked_at, f"question {number}", f"searched {number}", "low", 0.25)
    return replace(question, **changes)  # type: ignore[arg-type]  # the names are those of RecordedQuestion


def a_trace(number: int = 0, session_id: str = SESSION, **changes: object) -> Trace:
    trace = Trace(f"request-{number}", session_id, "robots", NOW + timedelta(seconds=number), {"number": number})
    return replace(trace, **changes)  # type: ignore[arg-type]  # the names are those of Trace


async def recorded_in(library: Library, *questions: RecordedQuestion, session_id: str = SESSION) -> None:
    """In a conversation, since a question is recorded only while its conversation is there."""
    await library.add_turn(a_turn(0, session_id))
    for question in questions:
        await library.record_question(question, session_id=session_id, keep_since=NOW)


class LibraryContract:
    # --- books ---

    async def test_a_book_comes_back_as_it_was_put(self, library: Library) -> None:
        book = Book("robots", "Robots “for all”", "https://example.org/", "docs", "docusaurus")
        await library.put_book(book)
        assert await library.book("robots") == book

    async def test_putting_a_book_again_replaces_it(self, library: Library) -> None:
        await library.put_book(Book("robots", "Old"))
        await library.put_book(Book("robots", "New"))
        assert await library.books() == [Book("robots", "New")]

    async def test_books_are_listed_by_id(self, library: Library) -> None:
        for book_id in ("b", "c", "a"):
            await library.put_book(Book(book_id, book_id))
        assert [book.book_id for book in await library.books()] == ["a", "b", "c"]

    async def test_an_unknown_book_is_an_error(self, library: Library) -> None:
        with pytest.raises(UnknownBook, match="nowhere"):
            await library.book("nowhere")
        with pytest.raises(UnknownBook, match="nowhere"):
            await library.delete_book("nowhere")

    async def test_deleting_a_book_takes_its_records_and_jobs_and_no_other_books(self, library: Library) -> None:
        for book_id in ("robots", "birds"):
            await library.put_book(Book(book_id, book_id))
            await library.put_page_records([a_record(book_id)])
            await library.start_job(IngestJob(book_id, "full"))
        await library.add_turn(a_turn())

        await library.delete_book("robots")

        assert [book.book_id for book in await library.books()] == ["birds"]
        assert await library.page_records("robots") == {}
        assert await library.jobs("robots") == []
        assert list(await library.page_records("birds")) == ["docs/intro.md"]
        assert len(await library.jobs("birds")) == 1
        assert (await library.turns(SESSION))[1] == 1

    async def test_what_a_first_ingest_left_behind_can_be_deleted_without_a_book(self, library: Library) -> None:
        await library.start_job(IngestJob("robots", "full"))
        await library.delete_book("robots")
        assert await library.jobs() == []

    # --- page records ---

    async def test_page_records_come_back_by_source_file(self, library: Library) -> None:
        first = a_record()
        second = a_record(source_file="docs/b.md", chunk_ids=(), module=None, chapter=None, lesson=None)
        await library.put_page_records([first, second])
        assert await library.page_records("robots") == {"docs/intro.md": first, "docs/b.md": second}

    async def test_putting_page_records_again_replaces_them_and_keeps_the_others(self, library: Library) -> None:
        await library.put_page_records([a_record(), a_record(source_file="other.md")])
        changed = a_record(digest="d2", chunk_ids=("c3",))
        await library.put_page_records([changed])
        assert await library.page_records("robots") == {
            "docs/intro.md": changed,
            "other.md": a_record(source_file="other.md"),
        }

    async def test_the_last_of_two_records_of_one_page_wins(self, library: Library) -> None:
        await library.put_page_records([a_record(digest="first"), a_record(digest="last")])
        assert (await library.page_records("robots"))["docs/intro.md"].digest == "last"

    async def test_storing_no_records_does_nothing(self, library: Library) -> None:
        await library.put_page_records([])
        await library.drop_page_records("robots", [])
        assert await library.page_records("robots") == {}

    async def test_dropping_names_the_pages_of_one_book_only(self, library: Library) -> None:
        await library.put_page_records([a_record(), a_record(source_file="b.md"), a_record("birds")])
        await library.drop_page_records("robots", ["docs/intro.md", "never-seen.md"])
        assert list(await library.page_records("robots")) == ["b.md"]
        assert list(await library.page_records("birds")) == ["docs/intro.md"]

    async def test_a_book_of_many_pages_fits(self, library: Library) -> None:
        many = [a_record(source_file=f"{number:05}.md") for number in range(12_000)]
        await library.put_page_records(many)
        assert len(await library.page_records("robots")) == 12_000
        await library.drop_page_records("robots", [record.source_file for record in many[:-1]])
        assert list(await library.page_records("robots")) == ["11999.md"]

    # --- jobs ---

    async def test_a_job_is_numbered_and_comes_back_whole(self, library: Library) -> None:
        job = IngestJob(
            "robots",
            "recreate",
            status="running",
            files_discovered=9,
            files_processed=5,
            files_skipped=4,
            files_failed=1,
            files_deleted=2,
            chunks_created=30,
            chunks_kept=3,
            chunks_deleted=6,
            chunks_embedded=28,
            dry_run=True,
            started_at=NOW,
            notices=(Notice("BAD_UTF8", "not UTF-8", "a.md", fatal=True), Notice("DEFAULT", "tier 1", "b.md", 3)),
            coverage=Coverage(
                "mkdocs", "mkdocs.yml", (Share("Markdown", 9, 1200),), (Share("LaTeX", 2, 300, "not read", lost=True),)
            ),
        )
        started = await library.start_job(job)
        assert started.job_id > 0
        assert started == replace(job, job_id=started.job_id)
        assert await library.job(started.job_id) == started

    async def test_a_saved_job_comes_back_as_saved(self, library: Library) -> None:
        job = await library.start_job(IngestJob("robots", "full", status="running", started_at=NOW))
        done = replace(job, status="completed", completed_at=NOW, duration_seconds=1.25, files_processed=3)
        await library.save_job(done)
        assert await library.job(job.job_id) == done

    async def test_an_unknown_job_is_an_error(self, library: Library) -> None:
        with pytest.raises(NotFound, match="77"):
            await library.job(77)
        with pytest.raises(NotFound, match="77"):
            await library.save_job(IngestJob("robots", "full", job_id=77))

    async def test_a_second_active_job_of_a_book_is_a_conflict_that_names_the_first(self, library: Library) -> None:
        first = await library.start_job(IngestJob("robots", "full"))
        with pytest.raises(Conflict, match=f"job {first.job_id} is queued"):
            await library.start_job(IngestJob("robots", "full", status="running"))
        await library.start_job(IngestJob("birds", "full"))

    async def test_a_job_may_start_when_the_last_has_ended(self, library: Library) -> None:
        first = await library.start_job(IngestJob("robots", "full", status="running"))
        await library.save_job(replace(first, status="failed"))
        second = await library.start_job(IngestJob("robots", "full", status="running"))
        with pytest.raises(Conflict):
            await library.save_job(replace(first, status="running"))
        assert second.job_id > first.job_id

    async def test_of_many_that_start_at_once_one_wins(self, library: Library) -> None:
        outcomes = await asyncio.gather(
            *(library.start_job(IngestJob("robots", "full")) for _ in range(20)), return_exceptions=True
        )
        assert sum(isinstance(outcome, IngestJob) for outcome in outcomes) == 1
        assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == 19

    async def test_jobs_are_listed_newest_first_up_to_the_limit(self, library: Library) -> None:
        for _ in range(5):
            job = await library.start_job(IngestJob("robots", "full"))
            await library.save_job(replace(job, status="completed"))
        other = await library.start_job(IngestJob("birds", "full"))
        numbers = [job.job_id for job in await library.jobs(limit=4)]
        assert numbers == sorted(numbers, reverse=True)
        assert numbers[0] == other.job_id
        assert len(numbers) == 4
        assert [job.book_id for job in await library.jobs("birds")] == ["birds"]

    async def test_the_active_jobs_are_those_that_are_queued_or_running(self, library: Library) -> None:
        done = await library.start_job(IngestJob("robots", "full"))
        await library.save_job(replace(done, status="completed"))
        waiting = await library.start_job(IngestJob("robots", "full"))
        running = await library.start_job(IngestJob("birds", "full", status="running"))

        assert await library.jobs(active=True) == [running, waiting]
        assert await library.jobs("robots", active=True) == [waiting]
        await library.fail_running_jobs("robots", "its process ended")
        assert await library.jobs("robots", active=True) == []

    async def test_jobs_of_a_process_that_died_are_failed_with_the_reason(self, library: Library) -> None:
        done = await library.start_job(IngestJob("robots", "full"))
        await library.save_job(replace(done, status="completed"))
        dead = await library.start_job(IngestJob("robots", "full", status="running", started_at=NOW))
        alive = await library.start_job(IngestJob("birds", "full", status="running"))

        assert await library.fail_running_jobs("robots", "its process ended") == 1
        assert await library.fail_running_jobs("robots", "its process ended") == 0

        assert await library.job(dead.job_id) == replace(
            dead, status="failed", error_message="its process ended", completed_at=NOW
        )
        assert (await library.job(done.job_id)).status == "completed"
        assert (await library.job(alive.job_id)).status == "running"

    async def test_the_last_ingests_are_known_and_the_first_one_read_everything(self, library: Library) -> None:
        async def done(number: int, mode: IngestMode, **changes: Any) -> None:
            job = await library.start_job(IngestJob("robots", mode))
            ended = replace(job, status="completed", completed_at=NOW + timedelta(seconds=number))
            await library.save_job(replace(ended, **changes))

        def at(full: int, incremental: int | None) -> IngestTimes:
            later = None if incremental is None else NOW + timedelta(seconds=incremental)
            return IngestTimes(NOW + timedelta(seconds=full), later)

        assert await library.ingest_times("robots") == IngestTimes()
        await done(1, "incremental", tokens_embedded=70)
        assert await library.ingest_times("robots") == at(1, None)
        await done(2, "incremental")
        assert await library.ingest_times("robots") == at(1, 2)
        await done(3, "recreate")
        await done(4, "full")
        await done(5, "incremental", status="failed")
        await done(6, "full", dry_run=True)
        assert await library.ingest_times("robots") == at(4, 2)
        assert await library.ingest_times("birds") == IngestTimes()
        assert [job.tokens_embedded for job in await library.jobs("robots")] == [0, 0, 0, 0, 0, 70]

    # --- conversations ---

    async def test_a_turn_is_numbered_and_comes_back_whole(self, library: Library) -> None:
        turn = a_turn(
            query="¿Qué es ROS 2?\n🤖",
            book_id="robots",
            request_id=str(uuid4()),
            searched_query="ROS 2",
            mode="extractive",
            sources=(
                CitedSource(
                    index=1,
                    chunk_id="c",
                    title="ROS",
                    section="What it is",
                    quote="“ROS”",
                    start=3,
                    end=8,
                    snippet="“ROS” …",
                    url="https://a.b/ros#what",
                    breadcrumb=("Robots", "ROS"),
                    position=2,
                    similarity=0.5,
                    source_file="ros.md",
                    line=4,
                    highlight=(1, 4),
                ),
                CitedSource(index=2, quote="half", start=1, end=5, snippet="half", selection_length=9),
            ),
            confidence=0.75,
            level="medium",
            disclaimer="Careful.",
            fallback_message="Later.",
            interrupted=True,
            doubts=(Doubt("It flies.", "no source says so"),),
            suggestions=(Suggestion("Nodes", "https://a.b/nodes", ("Robots", "Nodes")),),
            missing_terms=("flying",),
            retrieval_count=7,
            query_time_ms=12.5,
            stage_ms={"retrieve": 4.25},
            model="scripted",
            tokens_used=31,
        )
        stored = await library.add_turn(turn)
        assert stored.turn_id > 0
        turns, total = await library.turns(SESSION)
        assert total == 1
        assert turns == [replace(turn, turn_id=stored.turn_id)]

    async def test_the_first_turn_opens_the_conversation_and_later_ones_keep_it_active(self, library: Library) -> None:
        await library.add_turn(a_turn(0))
        await library.add_turn(a_turn(60))
        conversation = await library.conversation(SESSION)
        assert conversation.created_at == NOW
        assert conversation.last_active == NOW + timedelta(seconds=60)

    async def test_a_clock_that_lags_does_not_make_a_conversation_less_active(self, library: Library) -> None:
        await library.add_turn(a_turn(60))
        await library.add_turn(a_turn(0))
        assert (await library.conversation(SESSION)).last_active == NOW + timedelta(seconds=60)
        assert [turn.query for turn in (await library.turns(SESSION))[0]] == ["question 60", "question 0"]

    async def test_times_come_back_aware_and_equal_whatever_their_zone_was(self, library: Library) -> None:
        in_india = NOW.astimezone(timezone(timedelta(hours=5, minutes=30)))
        await library.add_turn(a_turn(timestamp=in_india))
        [turn], _ = await library.turns(SESSION)
        assert turn.timestamp == NOW
        assert turn.timestamp.utcoffset() is not None

    async def test_the_newest_turns_come_oldest_first_with_the_true_total(self, library: Library) -> None:
        for number in range(7):
            await library.add_turn(a_turn(number))
        turns, total = await library.turns(SESSION, limit=3)
        assert [turn.query for turn in turns] == ["question 4", "question 5", "question 6"]
        assert total == 7
        assert await library.turns(SESSION, limit=0) == ([], 7)

    async def test_conversations_are_kept_apart(self, library: Library) -> None:
        other = OTHER
        await library.add_turn(a_turn(1))
        await library.add_turn(a_turn(2, other))
        assert [turn.query for turn in (await library.turns(other))[0]] == ["question 2"]

    async def test_fifty_turns_at_once_keep_the_order_of_the_calls_and_none_is_lost(self, library: Library) -> None:
        stored = await asyncio.gather(*(library.add_turn(a_turn(number, timestamp=NOW)) for number in range(50)))
        turns, total = await library.turns(SESSION, limit=100)
        assert total == 50
        assert [turn.query for turn in turns] == [f"question {number}" for number in range(50)]
        assert [turn.turn_id for turn in turns] == [turn.turn_id for turn in stored]

    async def test_a_session_that_was_never_opened_is_an_error(self, library: Library) -> None:
        for ask in (library.conversation, library.turns, library.delete_conversation):
            with pytest.raises(SessionNotFound, match=SESSION):
                await ask(SESSION)

    async def test_a_deleted_conversation_is_gone_for_good(self, library: Library) -> None:
        other = OTHER
        await library.add_turn(a_turn(1))
        await library.add_turn(a_turn(1, other))
        await library.delete_conversation(SESSION)
        with pytest.raises(SessionNotFound):
            await library.turns(SESSION)
        assert (await library.turns(other))[1] == 1
        await library.add_turn(a_turn(2))
        assert [turn.query for turn in (await library.turns(SESSION))[0]] == ["question 2"]

    async def test_a_conversation_knows_whose_it_is_and_how_long(self, library: Library) -> None:
        for number in range(3):
            await library.add_turn(a_turn(number, owner="key-1"))
        conversation = await library.conversation(SESSION, owner="key-1")
        assert (conversation.owner, conversation.turns, conversation.topic_summary) == ("key-1", 3, "")
        assert [turn.owner for turn in (await library.turns(SESSION, owner="key-1"))[0]] == ["key-1"] * 3

    @pytest.mark.parametrize(("mine", "other"), [("key-1", "key-2"), ("key-1", ""), ("", "key-2")])
    async def test_another_key_finds_no_session_whatever_it_does(self, library: Library, mine: str, other: str) -> None:
        await library.add_turn(a_turn(0, owner=mine))
        for ask in (library.conversation, library.turns, library.recent_turns, library.delete_conversation):
            with pytest.raises(SessionNotFound, match=SESSION):
                await ask(SESSION, owner=other)
        with pytest.raises(SessionNotFound, match=SESSION):
            await library.add_turn(a_turn(60, owner=other))
        await library.put_topic_summary(SESSION, "stolen", owner=other)

        conversation = await library.conversation(SESSION, owner=mine)
        assert (conversation.turns, conversation.last_active, conversation.topic_summary) == (1, NOW, "")
        assert [turn.query for turn in (await library.turns(SESSION, owner=mine))[0]] == ["question 0"]

    async def test_a_session_that_was_erased_may_be_opened_by_another_key(self, library: Library) -> None:
        await library.add_turn(a_turn(0, owner="key-1"))
        await library.delete_conversation(SESSION, owner="key-1")
        await library.add_turn(a_turn(1, owner="key-2"))
        assert (await library.turns(SESSION, owner="key-2"))[1] == 1

    async def test_a_session_that_was_never_opened_has_no_recent_turns(self, library: Library) -> None:
        assert await library.recent_turns(SESSION, owner="key-1") == []

    async def test_the_recent_turns_are_the_newest_oldest_first(self, library: Library) -> None:
        for number in range(7):
            await library.add_turn(a_turn(number))
        assert [turn.query for turn in await library.recent_turns(SESSION, limit=2)] == ["question 5", "question 6"]
        assert await library.recent_turns(SESSION, limit=9) == (await library.turns(SESSION))[0]
        assert await library.recent_turns(SESSION, limit=0) == []
        assert len(await library.recent_turns(SESSION)) == 5

    async def test_every_turn_can_be_read_page_by_page(self, library: Library) -> None:
        for number in range(7):
            await library.add_turn(a_turn(number))
        pages = [await library.turns(SESSION, limit=3, offset=offset) for offset in (6, 3, 0)]
        assert [turn.query for turns, _ in pages for turn in turns] == [f"question {number}" for number in range(7)]
        assert {total for _, total in pages} == {7}
        assert await library.turns(SESSION, limit=3, offset=7) == ([], 7)

    async def test_a_topic_summary_stays_with_its_conversation(self, library: Library) -> None:
        await library.add_turn(a_turn(0))
        await library.put_topic_summary(SESSION, "Robots, and ¿qué?")
        await library.add_turn(a_turn(1))
        assert (await library.conversation(SESSION)).topic_summary == "Robots, and ¿qué?"
        await library.delete_conversation(SESSION)
        await library.put_topic_summary(SESSION, "too late")
        with pytest.raises(SessionNotFound):
            await library.conversation(SESSION)

    async def test_tags_stay_with_their_conversation_and_belong_to_its_key(self, library: Library) -> None:
        await library.add_turn(a_turn(0, owner="key-1"))
        assert (await library.conversation(SESSION, owner="key-1")).tags == ()
        await library.put_tags(SESSION, ("homework", "¿qué?"), owner="key-1")
        await library.add_turn(a_turn(1, owner="key-1"))
        assert (await library.conversation(SESSION, owner="key-1")).tags == ("homework", "¿qué?")
        with pytest.raises(SessionNotFound):
            await library.put_tags(SESSION, ("stolen",), owner="key-2")
        with pytest.raises(SessionNotFound):
            await library.put_tags(OTHER, ())
        await library.put_tags(SESSION, (), owner="key-1")
        assert (await library.conversation(SESSION, owner="key-1")).tags == ()

    async def test_feedback_belongs_to_an_answer_and_to_the_key_of_its_session(self, library: Library) -> None:
        await library.add_turn(replace(a_turn(0, owner="key-1"), request_id="one"))
        await library.add_turn(replace(a_turn(1, owner="key-1"), request_id="two"))
        await library.put_feedback(SESSION, "one", Feedback("down", "not what I asked"), owner="key-1")
        first, second = await library.recent_turns(SESSION, owner="key-1")
        assert (first.feedback, second.feedback) == (Feedback("down", "not what I asked"), None)
        await library.put_feedback(SESSION, "one", None, owner="key-1")
        assert (await library.recent_turns(SESSION, owner="key-1"))[0].feedback is None
        for request_id, owner in (("one", "key-2"), ("three", "key-1")):
            with pytest.raises(SessionNotFound):
                await library.put_feedback(SESSION, request_id, Feedback("up"), owner=owner)

    async def test_rated_turns_of_all_readers_are_found_by_book_and_time_until_their_session_is_erased(
        self, library: Library
    ) -> None:
        for at, book in enumerate(("one", "two", "one", "one")):
            await library.add_turn(replace(a_turn(at, owner="key-1"), request_id=f"{at}", book_id=book))
        for at, rating in ((0, "up"), (1, "down"), (2, "down")):
            feedback = Feedback(rating, "why")  # type: ignore[arg-type]
            await library.put_feedback(SESSION, f"{at}", feedback, owner="key-1")
        await library.put_feedback(SESSION, "0", None, owner="key-1")
        await library.put_feedback(SESSION, "0", Feedback("up"), owner="key-1")
        first, *_, last = await library.recent_turns(SESSION, owner="key-1")
        since = first.timestamp

        async def found(book: str | None = None, **options: Any) -> list[tuple[str, Feedback | None]]:
            turns = await library.rated_turns(book, **{"since": since, **options})
            return [(turn.request_id, turn.feedback) for turn in turns]

        down = Feedback("down", "why")
        assert await found() == [("2", down), ("1", down), ("0", Feedback("up"))]
        assert await found("one", limit=1) == [("2", down)]
        assert await found("two") == [("1", down)]
        assert await found(since=last.timestamp) == []
        await library.delete_conversation(SESSION, owner="key-1")
        assert await found() == []

    async def test_a_shared_turn_is_read_by_its_number_and_secret_until_its_session_is_erased(
        self, library: Library
    ) -> None:
        stored = await library.add_turn(replace(a_turn(0, owner="key-1"), request_id="one"))
        with pytest.raises(NotFound):
            await library.shared_turn(stored.turn_id, "")
        with pytest.raises(SessionNotFound):
            await library.share_turn(SESSION, "one", "secret", owner="key-2")
        shared = await library.share_turn(SESSION, "one", "secret", owner="key-1")
        assert shared == replace(stored, share="secret")
        assert (await library.share_turn(SESSION, "one", "another", owner="key-1")).share == "secret"
        assert await library.shared_turn(stored.turn_id, "secret") == shared
        for number, secret in ((stored.turn_id, "wrong"), (stored.turn_id, ""), (stored.turn_id + 1, "secret")):
            with pytest.raises(NotFound):
                await library.shared_turn(number, secret)
        await library.delete_conversation(SESSION, owner="key-1")
        with pytest.raises(NotFound):
            await library.shared_turn(stored.turn_id, "secret")

    # --- questions for the author ---

    async def test_a_recorded_question_comes_back_whole(self, library: Library) -> None:
        question = a_question(
            question="¿Dónde está 🤖?",
            level="insufficient",
            missing_terms=("dónde", "🤖"),
            nearest=("Robots", "Où"),
            nearest_url="https://example.org/robots#ou",
        )
        await recorded_in(library, question)
        assert await library.recorded_questions("robots", since=NOW) == [question]

    async def test_recorded_questions_come_newest_first_of_one_book_or_of_all(self, library: Library) -> None:
        asked = [a_question(2), a_question(1), a_question(3, "birds"), a_question(3)]
        await recorded_in(library, *asked)
        assert await library.recorded_questions("robots", since=NOW) == [asked[3], asked[0], asked[1]]
        assert await library.recorded_questions(since=NOW) == [asked[3], asked[2], asked[0], asked[1]]
        assert await library.recorded_questions(since=NOW, limit=1) == [asked[3]]
        assert await library.recorded_questions(since=asked[0].asked_at) == [asked[3], asked[2], asked[0]]

    async def test_recording_drops_what_is_too_old_in_every_book(self, library: Library) -> None:
        await recorded_in(library, a_question(0), a_question(1, "birds"), a_question(2, "birds"))
        await library.record_question(a_question(9), session_id=SESSION, keep_since=NOW + timedelta(seconds=2))
        assert await library.recorded_questions(since=NOW) == [a_question(9), a_question(2, "birds")]

    async def test_questions_are_forgotten_and_counted(self, library: Library) -> None:
        await recorded_in(library, *map(a_question, range(4)))
        assert await library.forget_questions(before=NOW + timedelta(seconds=3)) == 3
        assert await library.recorded_questions(since=NOW) == [a_question(3)]
        assert await library.forget_questions(before=NOW) == 0

    async def test_a_deleted_book_takes_its_recorded_questions_and_no_others(self, library: Library) -> None:
        await library.put_book(Book("robots", "Robots"))
        await recorded_in(library, a_question(1, "robots"), a_question(1, "birds"))
        await library.delete_book("robots")
        assert await library.recorded_questions(since=NOW) == [a_question(1, "birds")]

    async def test_a_deleted_conversation_takes_its_recorded_questions_and_no_others(self, library: Library) -> None:
        await recorded_in(library, a_question(1), a_question(2, "birds"))
        await recorded_in(library, a_question(3), session_id=OTHER)
        with pytest.raises(SessionNotFound):
            await library.delete_conversation(SESSION, owner="somebody else")
        assert len(await library.recorded_questions(since=NOW)) == 3
        await library.delete_conversation(SESSION)
        assert await library.recorded_questions(since=NOW) == [a_question(3)]

    async def test_a_question_that_comes_after_its_conversation_was_deleted_is_not_recorded(
        self, library: Library
    ) -> None:
        await recorded_in(library, a_question(0))
        await library.delete_conversation(SESSION)
        await library.record_question(a_question(1), session_id=SESSION, keep_since=NOW)
        assert await library.recorded_questions(since=NOW) == []

    # --- traces ---

    async def test_a_trace_comes_back_whole_by_its_id_or_as_the_newest(self, library: Library) -> None:
        await library.add_turn(a_turn())
        first = a_trace(1, record=MappingProxyType({"question": {"text": "¿Qué? 🤖"}, "ranks": [1, None, 0.5]}))
        await library.put_traces([first, a_trace(2)], keep_since=NOW, most=10)
        found = await library.trace("request-1")
        assert found == replace(first, record=dict(first.record))
        assert await library.trace() == a_trace(2)

    async def test_of_two_traces_with_one_id_the_later_counts(self, library: Library) -> None:
        await library.add_turn(a_turn())
        again = a_trace(1, record={"again": True})
        await library.put_traces([a_trace(1)], keep_since=NOW, most=10)
        await library.put_traces([again], keep_since=NOW, most=10)
        assert await library.trace("request-1") == again

    async def test_a_trace_that_was_never_left_is_an_error(self, library: Library) -> None:
        for request_id in (None, "request-1"):
            with pytest.raises(NotFound, match="no trace"):
                await library.trace(request_id)

    async def test_a_deleted_conversation_takes_its_traces_and_no_others(self, library: Library) -> None:
        other = OTHER
        await library.add_turn(a_turn())
        await library.add_turn(a_turn(0, other))
        await library.put_traces([a_trace(1, other), a_trace(2)], keep_since=NOW, most=10)
        await library.delete_conversation(SESSION)
        with pytest.raises(NotFound):
            await library.trace("request-2")
        assert await library.trace() == a_trace(1, other)

    async def test_a_trace_that_comes_after_its_conversation_was_deleted_is_not_kept(self, library: Library) -> None:
        other = OTHER
        await library.add_turn(a_turn(0, other))
        await library.put_traces([a_trace(1), a_trace(2, other)], keep_since=NOW, most=10)
        with pytest.raises(NotFound):
            await library.trace("request-1")
        assert await library.trace() == a_trace(2, other)

    async def test_storing_traces_drops_those_that_are_too_old_or_too_many(self, library: Library) -> None:
        await library.add_turn(a_turn())
        await library.put_traces([a_trace(number) for number in range(6)], keep_since=NOW, most=10)
        await library.put_traces([a_trace(9)], keep_since=NOW + timedelta(seconds=2), most=4)
        left = []
        for number in (*range(6), 9):
            with suppress(NotFound):
                left.append((await library.trace(f"request-{number}")).record["number"])
        assert left == [3, 4, 5, 9]

    async def test_it_answers_a_ping(self, library: Library) -> None:
        await library.ping()
