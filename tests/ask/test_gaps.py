"""What the author of a book may read about the questions that it does not answer."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from contracts.library_contract import a_question, a_turn
from doors import ASKED, SESSION, UNKNOWN, Doors, opened
from quoth.ask.gaps import LONGEST, together
from quoth.cli.app import app
from quoth.cli.questions import OFF
from quoth.conversation import Conversations
from quoth.domain import Book, ConfidenceLevel, RecordedQuestion
from quoth.errors import LibraryUnavailable
from quoth.evals.cases import Case
from quoth.evals.run import Runner
from quoth.store.library import open_library
from quoth.testing.library import MemoryLibrary
from quoth.testing.model import ScriptedModel

LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
ON = {"record_questions": True}
Opened = Callable[..., AbstractAsyncContextManager[Doors]]


async def recorded(doors: Doors) -> list[RecordedQuestion]:
    return await doors.quoth.library.recorded_questions(since=LONG_AGO)


@pytest.fixture
def recording(tmp_path: Path) -> Opened:
    @asynccontextmanager
    async def doors(**parts: Any) -> AsyncIterator[Doors]:
        async with opened(tmp_path, settings=parts.pop("settings", ON), **parts) as joined:
            yield joined

    return doors


def with_level(monkeypatch: pytest.MonkeyPatch, level: ConfidenceLevel) -> None:
    judge = Conversations._judge

    def judged(self: Conversations, *given: Any) -> Any:
        return replace(judge(self, *given), level=level)

    monkeypatch.setattr(Conversations, "_judge", judged)


async def test_nothing_is_recorded_unless_the_author_wants_it(recording: Opened) -> None:
    async with recording(settings={}) as doors:
        await doors.ask(UNKNOWN)
        assert await recorded(doors) == []


async def test_a_refused_question_is_recorded_with_what_the_book_lacks_and_its_nearest_section(
    recording: Opened,
) -> None:
    async with recording() as doors:
        body = await doors.ask(UNKNOWN, session_id=SESSION)
        [question] = await recorded(doors)
    assert (question.book_id, question.question, question.searched) == ("book", UNKNOWN, UNKNOWN)
    assert question.level == "insufficient"
    assert question.confidence == pytest.approx(body["confidence"], abs=1e-3)
    assert question.missing_terms == tuple(body["metadata"]["missing_terms"])
    assert "football" in question.missing_terms
    nearest = body["metadata"]["suggestions"][0]
    assert (list(question.nearest), question.nearest_url) == (nearest["breadcrumb"], nearest["source_url"])
    assert SESSION not in repr(question)


async def test_what_was_streamed_is_recorded_too(recording: Opened) -> None:
    async with recording() as doors:
        await doors.stream(UNKNOWN)
        assert [question.question for question in await recorded(doors)] == [UNKNOWN]


@pytest.mark.parametrize(("level", "times"), [("low", 1), ("medium", 0), ("high", 0)])
async def test_of_the_answered_only_those_of_low_confidence_are_recorded(
    recording: Opened, monkeypatch: pytest.MonkeyPatch, level: ConfidenceLevel, times: int
) -> None:
    async with recording() as doors:
        with_level(monkeypatch, level)
        assert (await doors.ask())["should_answer"]
        assert [question.level for question in await recorded(doors)] == [level] * times


async def test_what_the_model_did_not_find_in_the_passages_is_recorded(recording: Opened) -> None:
    refuses = ScriptedModel([["I don't have information about that in the book content"]])
    async with recording(model=refuses) as doors:
        assert not (await doors.ask())["should_answer"]
        assert [question.question for question in await recorded(doors)] == [ASKED]


async def test_a_question_to_a_selection_is_not_about_the_book(recording: Opened) -> None:
    async with recording() as doors:
        assert not (await doors.ask(UNKNOWN, selected_text="Bananas are yellow."))["should_answer"]
        assert await recorded(doors) == []


async def test_keys_and_addresses_are_in_no_field_of_what_is_recorded(recording: Opened) -> None:
    secrets = ["ann.lee@mail.example.org", "sk-abc123DEF456ghi789jkl", "203.0.113.77", "4915112345678"]
    async with recording() as doors:
        body = await doors.ask(f"Who is {' or '.join(secrets)} of the zeppelin?")
        [question] = await recorded(doors)
    assert not body["should_answer"]
    assert question.question == "Who is [email] or [key] or [ip] or [number] of the zeppelin?"
    assert question.missing_terms == ("zeppelin",)
    for secret in (*secrets, "ann.lee", "abc123", "ghi789"):
        assert secret not in repr(replace(question, asked_at=LONG_AGO))


async def test_a_long_paste_is_cut_and_no_secret_shows_at_the_cut(recording: Opened) -> None:
    key = "sk-" + "a1B2" * 8
    paste = f"zeppelin https://x.example/?{'q' * 3_970} {key} {key}"
    async with recording() as doors:
        await doors.ask(paste)
        await doors.ask(f"zeppelin {'airship ' * 400}")
        long, cut = await recorded(doors)
    assert len(long.question) == LONGEST
    assert cut.question == "zeppelin https://x.example/?[query]"


async def test_recording_drops_what_is_older_than_the_retention(recording: Opened) -> None:
    library = MemoryLibrary()
    async with recording(library=library, settings={**ON, "record_days": 7}) as doors:
        now = doors.quoth.clock.now()
        older = [a_question(asked_at=now - timedelta(days=days)) for days in (6, 8)]
        await library.add_turn(a_turn(0, SESSION))
        for question in older:
            await library.record_question(question, session_id=SESSION, keep_since=LONG_AGO)
        await doors.ask(UNKNOWN)
        assert [question.question for question in await recorded(doors)] == [UNKNOWN, "question 0"]


class Forgetful(MemoryLibrary):
    async def record_question(self, question: RecordedQuestion, *, session_id: str, keep_since: datetime) -> None:
        raise LibraryUnavailable("The disk is full.")


async def test_a_note_that_cannot_be_taken_does_not_take_the_answer_from_the_reader(
    recording: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    async with recording(library=Forgetful()) as doors:
        with caplog.at_level(logging.WARNING, logger="quoth"):
            body = await doors.ask(UNKNOWN, session_id=SESSION)
        assert (await doors.quoth.library.turns(SESSION))[1] == 1
    assert body["metadata"]["mode"] == "no_results"
    [line] = [record.getMessage() for record in caplog.records if "recorded" in record.getMessage()]
    assert "The disk is full." in line
    assert "football" not in line


async def test_an_evaluation_records_nothing(recording: Opened) -> None:
    async with recording() as doors:
        quoth = doors.quoth
        runner = Runner(quoth.conversations, quoth.index, quoth.library, book_id="book")
        run = await runner.run([Case("off", "unanswerable", UNKNOWN, label=None, line=1)])
        assert len(run.outcomes) == 1
        assert await recorded(doors) == []


# --- reading them ----------------------------------------------------------------------------------------------------


def asked(question: str, number: int = 0, book_id: str = "robots") -> RecordedQuestion:
    return a_question(number, book_id, question=question, searched=question)


def test_similar_questions_are_put_together_under_the_newest() -> None:
    found = together(
        [
            asked("How do I install docker on windows?", 4),
            asked("Which gripper is fastest?", 3),
            asked("installing Docker", 2),
            asked("Which gripper is fastest?", 1, "birds"),
        ]
    )
    assert [(similar.newest.question, similar.times) for similar in found] == [
        ("How do I install docker on windows?", 2),
        ("Which gripper is fastest?", 1),
        ("Which gripper is fastest?", 1),
    ]


def test_questions_without_a_content_word_are_the_same_only_by_their_letters() -> None:
    assert [similar.times for similar in together([asked("why?"), asked("how?"), asked("why?")])] == [2, 1]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # a command sets up its own

    def said(*arguments: str, **environment: str) -> str:
        run = CliRunner().invoke(app, ["questions", "--data-dir", str(tmp_path), *arguments], env=environment)
        assert run.exit_code == 0, run.output
        return run.output

    return said


def put(folder: Path, *questions: RecordedQuestion) -> None:
    async def work() -> None:
        library = await open_library(f"sqlite:///{folder / 'quoth.db'}")
        await library.put_book(Book("robots", "Robots"))
        await library.add_turn(a_turn(0, SESSION))
        for question in questions:
            await library.record_question(question, session_id=SESSION, keep_since=LONG_AGO)
        await library.close()

    asyncio.run(work())


def days_ago(days: int, question: str, book_id: str = "robots") -> RecordedQuestion:
    return replace(asked(question, book_id=book_id), asked_at=datetime.now(UTC) - timedelta(days=days))


def test_the_list_shows_newest_first_what_was_asked_how_often_and_what_is_near(
    tmp_path: Path, command: Callable[..., str]
) -> None:
    near = {"missing_terms": ("zeppelin",), "nearest": ("Robots", "Arms"), "nearest_url": "https://x.example/arms"}
    gripper = replace(days_ago(1, "Which gripper is fastest?"), searched="gripper fastest arm")
    put(tmp_path, days_ago(3, "zeppelins?"), gripper, replace(days_ago(2, "A zeppelin?"), **near))  # type: ignore[arg-type]
    lines = [line.strip() for line in command(QUOTH_RECORD_QUESTIONS="true").splitlines()]
    assert lines[0].endswith("robots  low (0.25)")
    assert lines[1:3] == ["Which gripper is fastest?", "searched: gripper fastest arm"]
    assert lines[3].endswith("robots  low (0.25) ×2")
    assert lines[4:] == [
        "A zeppelin?",
        "nowhere in the book: zeppelin",
        "nearest: Robots › Arms  https://x.example/arms",
    ]


def test_json_of_the_list_is_one_document_of_one_book_or_of_all(tmp_path: Path, command: Callable[..., str]) -> None:
    put(tmp_path, days_ago(1, "zeppelin"), days_ago(2, "feathers", "birds"))
    every = json.loads(command("--json", QUOTH_RECORD_QUESTIONS="true"))
    assert (every["recording"], every["retention_days"]) == (True, 90)
    assert [row["book_id"] for row in every["questions"]] == ["robots", "birds"]
    [row] = json.loads(command("--json", "--book", "robots"))["questions"]
    assert (row["question"], row["times"], row["confidence_level"], row["nearest"]) == ("zeppelin", 1, "low", None)


def test_what_is_older_than_the_retention_is_neither_shown_nor_kept(
    tmp_path: Path, command: Callable[..., str]
) -> None:
    put(tmp_path, days_ago(5, "zeppelin"), days_ago(9, "feathers"))
    shown = command("--json", QUOTH_RECORD_DAYS="7")
    assert [row["question"] for row in json.loads(shown)["questions"]] == ["zeppelin"]
    assert len(json.loads(command("--json", QUOTH_RECORD_DAYS="90"))["questions"]) == 1


def test_all_of_them_can_be_forgotten(tmp_path: Path, command: Callable[..., str]) -> None:
    put(tmp_path, days_ago(1, "zeppelin"), days_ago(2, "feathers", "birds"))
    assert "Deleted 2 questions." in command("--forget")
    assert json.loads(command("--json"))["questions"] == []


def test_when_nothing_is_recorded_it_says_how_to_begin(command: Callable[..., str]) -> None:
    assert command() == f"{OFF}\n"
    assert "QUOTH_RECORD_QUESTIONS=true" in OFF
    assert command(QUOTH_RECORD_QUESTIONS="true").startswith("No question was refused")
