"""The Python API: three lines are enough, nothing internal is needed, and docs/python.md does what it shows."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import quoth
from doors import ASKED, PAGE, SESSION, UNKNOWN
from quoth import public
from quoth.testing.embedder import FakeEmbedder

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one page; the embedder is the fake one."""
    monkeypatch.setattr("quoth.bootstrap.embedder_of", lambda settings, threads: FakeEmbedder())
    monkeypatch.setattr("quoth.bootstrap.reader_of", lambda settings, threads: None)
    folder = tmp_path / "My Topics"
    folder.mkdir()
    (folder / "topics.md").write_text(PAGE, encoding="utf-8")
    return folder


async def test_a_book_goes_in_and_answers_with_its_sources(book: Path, tmp_path: Path) -> None:
    async with quoth.open(tmp_path / "data") as q:
        job = await q.ingest(book)
        answer = await q.ask(ASKED)
        (known,) = await q.books()
    assert (job.status, job.book_id, known.book_id) == ("completed", "my-topics", "my-topics")
    assert answer.text is not None
    assert answer.text.startswith("Transient local durability keeps the last message")
    assert answer.sources[0].quote in PAGE
    assert (answer.sources[0].section, answer.sources[0].line) == ("Durability", 7)


async def test_a_stream_gives_the_same_answer(book: Path, tmp_path: Path) -> None:
    async with quoth.open(tmp_path / "data") as q:
        await q.ingest(book)
        whole = await q.ask(ASKED)
        events = [event async for event in q.stream(ASKED)]
    assert "".join(event.text for event in events if isinstance(event, quoth.Delta)) == whole.text
    done = events[-1]
    assert isinstance(done, quoth.Done)
    assert done.answer.sources == whole.sources
    assert [type(event) for event in events][:2] == [quoth.Status, quoth.Retrieved]


async def test_a_stream_that_is_left_stops_the_answer_and_keeps_what_was_read(book: Path, tmp_path: Path) -> None:
    async with quoth.open(tmp_path / "data") as q:
        await q.ingest(book)
        stream = q.stream(ASKED, session_id=SESSION)
        async for event in stream:
            if isinstance(event, quoth.Delta):
                break
        await stream.aclose()
        (turn,) = await q.history(SESSION)
    assert turn.query == ASKED
    assert turn.response


async def test_conversations_are_kept_and_can_be_erased(book: Path, tmp_path: Path) -> None:
    async with quoth.open(tmp_path / "data") as q:
        await q.ingest(book)
        first = await q.ask(UNKNOWN)
        session = first.question.session_id
        await q.ask(ASKED, session_id=session)
        assert [turn.refused for turn in await q.history(session)] == [True, False]
        await q.forget(session)
        with pytest.raises(quoth.NotFound):
            await q.history(session)


async def test_a_search_finds_passages_within_filters(book: Path, tmp_path: Path) -> None:
    async with quoth.open(tmp_path / "data") as q:
        await q.ingest(book)
        found = await q.search("late subscribers", limit=2, filters={"section": "Durability"})
        await q.delete_book("my-topics")
        assert await q.books() == []
    assert [passage.chunk.section_title for passage in found.passages] == ["Durability"]
    assert found.verdict.metrics.num_chunks == 1


async def test_wrong_values_are_the_typed_errors_of_the_doors(book: Path, tmp_path: Path) -> None:
    async with quoth.open(tmp_path / "data") as q:
        with pytest.raises(quoth.UnknownBook, match="no book yet"):
            await q.ask(ASKED)
        await q.ingest(book)
        for wrong in ({"top_k": 0}, {"filters": {"layer": "L9"}}, {"colour": "red"}, {"session_id": "me"}):
            with pytest.raises(quoth.WrongUsage):
                await q.ask(ASKED, **wrong)
        with pytest.raises(quoth.Unreadable):
            await q.ingest(tmp_path / "nowhere")
    with pytest.raises(quoth.BadConfiguration):
        async with quoth.open(tmp_path / "data", colour="red"):
            pass


async def test_the_search_is_a_tool_with_json_in_and_out(book: Path, tmp_path: Path) -> None:
    async with quoth.open(tmp_path / "data") as q:
        await q.ingest(book)
        found = json.loads(await quoth.execute_retrieval_tool(q, "late subscribers", top_k=2))
        again = (await q.search("late subscribers", limit=2)).passages
        wrong = json.loads(await quoth.execute_retrieval_tool(q, "late subscribers", top_k=21))
        narrow = json.loads(await quoth.execute_retrieval_tool(q, "late", filters={"section": "No such heading"}))
        strict = json.loads(await quoth.execute_retrieval_tool(q, "late subscribers", similarity_threshold=1))
    assert found == json.loads(quoth.format_tool_response(again, "late subscribers"))
    assert (found["total_results"], found["query"]) == (2, "late subscribers")
    assert [one["rank"] for one in found["results"]] == [1, 2]
    assert "1 to 20" in wrong["error"]
    assert wrong["query"] == "late subscribers"
    assert narrow["results"] == strict["results"] == []


def test_the_tool_is_described_as_chat_completions_want_it() -> None:
    function = quoth.retrieval_tool()["function"]
    assert function["name"] == "search_book_content"
    assert set(function["parameters"]["properties"]) == {"query", "top_k", "similarity_threshold", "filters"}


async def test_a_stored_conversation_can_be_handed_to_a_model(book: Path, tmp_path: Path) -> None:
    async with quoth.open(tmp_path / "data") as q:
        await q.ingest(book)
        for asked in (ASKED, UNKNOWN):
            answer = await q.ask(asked, session_id=SESSION)
        told = await q.conversation(SESSION)
    roles = [message.role for message in told.messages]
    assert roles == ["system", *["user", "assistant", "tool", "assistant"] * 2]
    assert told.messages[-1].content == answer.text
    times = [message.timestamp for message in told.messages[1:]]
    assert times == sorted(times)
    called, found = told.to_openai_messages()[2:4]
    assert called["tool_calls"][0]["id"] == found["tool_call_id"]
    assert json.loads(found["content"]) == {"total_results": 3, "query": ASKED}


@pytest.mark.parametrize(
    ("role", "content", "more"),
    [
        ("bogus", "x", {}),
        ("user", " ", {}),
        ("user", "x", {"tool_call_id": "1"}),
        ("user", "x", {"tool_calls": (quoth.ToolCall("1", "f", "{}"),)}),
    ],
)
def test_a_message_that_is_none_is_refused(role: Any, content: str, more: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="message"):
        quoth.Message(role, content, **more)


def test_a_conversation_takes_only_what_can_come_next() -> None:
    system, user = quoth.Message("system", "Rules."), quoth.Message("user", "Why?")
    calling = quoth.Message("assistant", "", tool_calls=(quoth.ToolCall("1", "search_book_content", "{}"),))
    found, said = quoth.Message("tool", "{}", tool_call_id="1"), quoth.Message("assistant", "So.")
    whole = quoth.Conversation(messages=[system, user, calling, found, said, user, said])
    assert [one["role"] for one in whole.to_openai_messages()][2:4] == ["assistant", "tool"]
    for wrong in ([user], [system, said], [system, user, user], [system, user, calling, said], [system, user, found]):
        with pytest.raises(ValueError, match=r"begins with|cannot come after"):
            quoth.Conversation(messages=wrong)
    with pytest.raises(ValueError, match="at most 100"):
        quoth.Conversation(messages=[system, *[user, said] * 50])


def test_every_class_and_method_is_documented() -> None:
    exported = {name: getattr(quoth, name) for name in quoth.__all__}
    classes = {name: value for name, value in exported.items() if isinstance(value, type)}
    undocumented = [
        name
        for name, value in classes.items()
        if f"`{name}" not in DOCUMENT and not issubclass(value, quoth.QuothError)
    ]
    assert undocumented == []
    methods = {name for name in vars(public.Quoth) if not name.startswith("_")}
    assert {name for name in methods if f"`{name}`" not in DOCUMENT and f"`Quoth.{name}`" not in DOCUMENT} == set()


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_the_programs_of_the_document_run(program: str, sample_data: Path, tmp_path: Path) -> None:
    """The book that they ingest has only the first chapters of the sample book; `sample_data` is all of it."""
    shutil.copytree(sample_data, tmp_path / ".quoth")
    book, later = Path("examples") / "robotics-book", shutil.ignore_patterns("02-*", "03-*", "04-*")
    shutil.copytree(ROOT / book, tmp_path / book, ignore=later)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("QUOTH", "OPENAI"))}
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip()


def test_the_programs_use_nothing_internal() -> None:
    assert len(PROGRAMS) >= 5
    for program in PROGRAMS:
        assert set(re.findall(r"^(?:from|import) (\S+)", program, re.MULTILINE)) - {"json"} == {"asyncio", "quoth"}
