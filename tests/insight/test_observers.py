"""Observers: every answer is seen once, and no observer can harm it."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from doors import ASKED, PAGE
from quoth.ask.spans import SILENT
from quoth.bootstrap import Quoth, bootstrap, fingerprint_of
from quoth.domain import AnswerEvent, Delta, Status, Trace
from quoth.errors import DiskFull, IndexUnavailable, LibraryUnavailable, NotFound, QuothError
from quoth.insight.observers import Observation, Observers, Traces, log_answer
from quoth.logs import set_up_logging
from quoth.settings import load_settings
from quoth.sources import open_source
from quoth.testing.embedder import FakeEmbedder
from quoth.testing.index import MemoryIndex
from quoth.testing.library import MemoryLibrary
from samples import TickingClock, question


@asynccontextmanager
async def joined(
    folder: Path, library: MemoryLibrary, index: MemoryIndex | None = None, **settings: Any
) -> AsyncIterator[Quoth]:
    (folder / "docs").mkdir()
    (folder / "docs" / "topics.md").write_text(PAGE, encoding="utf-8")
    embedder = FakeEmbedder()
    async with bootstrap(
        load_settings(data_dir=folder / "data", **settings),
        clock=TickingClock(),
        embedder=embedder,
        index=index or MemoryIndex(fingerprint_of(embedder)),
        library=library,
    ) as quoth:
        await quoth.ingest.run(open_source(folder / "docs", book_id="book"))
        yield quoth


async def events_of(*events: AnswerEvent, error: QuothError | None = None) -> AsyncGenerator[AnswerEvent]:
    for event in events:
        yield event
    if error:
        raise error


# --- what watchers see -----------------------------------------------------------------------------------------------


async def test_events_pass_unchanged_and_each_answer_is_seen_once(tmp_path: Path) -> None:
    async with joined(tmp_path, MemoryLibrary()) as quoth:
        seen: list[Observation] = []
        quoth.observers.watchers.append(seen.append)
        plain = [type(event) async for event in quoth.conversations.unrecorded().ask(question(ASKED))]
        assert seen == []  # no reader has asked anything
        watched = [event async for event in quoth.conversations.ask(question(ASKED))]
        assert [type(event) for event in watched] == plain
        await quoth.conversations.answer(question(ASKED))
    assert [one.answer.mode for one in seen if one.answer] == ["extractive", "extractive"]
    assert all(one.evidence and one.first_word_ms is not None and one.error is None for one in seen)


async def test_an_answer_that_fails_is_seen_with_its_error() -> None:
    seen: list[Observation] = []
    error = IndexUnavailable("The index is gone.")
    with pytest.raises(IndexUnavailable):
        async for _ in Observers(SILENT, seen.append)(question(), events_of(Status("retrieving"), error=error)):
            pass
    assert [(one.answer, one.error, one.first_word_ms) for one in seen] == [(None, error, None)]


async def test_an_answer_that_its_reader_leaves_is_seen_and_its_source_is_closed() -> None:
    seen: list[Observation] = []
    inner = events_of(Status("retrieving"), Delta("one"), Delta("two"))
    events = Observers(SILENT, seen.append)(question(), inner)
    assert [await anext(events), await anext(events)] == [Status("retrieving"), Delta("one")]
    await events.aclose()
    [one] = seen
    assert (one.answer, one.error) == (None, None)
    assert one.first_word_ms is not None
    with pytest.raises(StopAsyncIteration):
        await anext(inner)


# --- the log line -----------------------------------------------------------------------------------------------------


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    root, ours = logging.getLogger(), logging.getLogger("quoth")
    before = root.handlers[:], root.level, ours.level
    stream = io.StringIO()
    set_up_logging("info", format="json", stream=stream)
    yield stream
    root.handlers[:], root.level, ours.level = before[0], before[1], before[2]


def lines(log: io.StringIO) -> list[dict[str, object]]:
    found = [json.loads(line) for line in log.getvalue().splitlines()]
    return [line for line in found if line["logger"] == "quoth.insight.observers"]


async def test_each_answer_makes_one_line_with_its_stages(tmp_path: Path, log: io.StringIO) -> None:
    async with joined(tmp_path, MemoryLibrary()) as quoth:
        await quoth.conversations.answer(question(ASKED))
    [line] = lines(log)
    assert {"request_id", "mode", "level", "confidence", "stage_ms", "first_word_ms", "tokens", "model"} <= set(line)
    assert line["request_id"] == question().request_id
    assert line["mode"] == "extractive"
    assert line["stage_ms"] == {"retrieve": 1000.0, "judge": 1000.0, "answer": 1000.0, "check": 1000.0}
    assert "question" not in line


def test_what_failed_and_what_was_left_are_told_apart(log: io.StringIO) -> None:
    log_answer(Observation(question(), error=LibraryUnavailable("down")))
    log_answer(Observation(question()))
    assert [line["outcome"] for line in lines(log)] == ["SERVICE_UNAVAILABLE", "interrupted"]


# --- traces -----------------------------------------------------------------------------------------------------------


class SlowLibrary(MemoryLibrary):
    """Stores no trace before it is allowed to; counts the calls."""

    def __init__(self) -> None:
        super().__init__()
        self.allowed = asyncio.Event()
        self.batches: list[int] = []

    async def put_traces(self, traces: Sequence[Trace], *, keep_since: datetime, most: int) -> None:
        await self.allowed.wait()
        self.batches.append(len(traces))
        await super().put_traces(traces, keep_since=keep_since, most=most)


async def test_nobody_waits_for_a_trace_and_all_are_stored_before_the_end(tmp_path: Path) -> None:
    library = SlowLibrary()
    async with joined(tmp_path, library) as quoth:
        for number in range(5):
            await quoth.conversations.answer(question(ASKED, request_id=f"r{number}"))
        assert library.batches == []
        library.allowed.set()
    assert sum(library.batches) == 5
    assert (await library.trace("r0")).request_id == "r0"


class FullLibrary(MemoryLibrary):
    async def put_traces(self, traces: Sequence[Trace], *, keep_since: datetime, most: int) -> None:
        raise DiskFull("The disk is full.")


async def test_a_trace_that_cannot_be_stored_harms_no_answer(tmp_path: Path, log: io.StringIO) -> None:
    library = FullLibrary()
    async with joined(tmp_path, library) as quoth:
        answer = await quoth.conversations.answer(question(ASKED))
    assert answer.mode == "extractive"
    assert (await library.turns(question().session_id))[1] == 1
    assert "1 traces could not be stored: The disk is full." in log.getvalue()


async def test_traces_can_be_turned_off(tmp_path: Path) -> None:
    library = MemoryLibrary()
    async with joined(tmp_path, library, traces=False) as quoth:
        await quoth.conversations.answer(question(ASKED))
    with pytest.raises(NotFound):
        await library.trace()


async def test_traces_are_kept_for_the_days_that_are_set(tmp_path: Path) -> None:
    class Remembering(MemoryLibrary):
        since: datetime | None = None

        async def put_traces(self, traces: Sequence[Trace], *, keep_since: datetime, most: int) -> None:
            self.since = keep_since

    library = Remembering()
    async with joined(tmp_path, library, trace_days=3) as quoth:
        answer = await quoth.conversations.answer(question(ASKED))
    assert library.since is not None
    assert timedelta(days=2, hours=23) < answer.created_at - library.since < timedelta(days=3)


async def test_more_traces_than_can_wait_are_left_out_and_said_so(
    tmp_path: Path, log: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quoth.insight.observers.MOST_WAITING", 2)
    library = MemoryLibrary()
    async with joined(tmp_path, library, traces=False) as quoth:
        traces = Traces(library, quoth.clock, keep=timedelta(days=14))
        quoth.observers.watchers.append(traces)
        for number in range(3):
            await quoth.conversations.answer(question(ASKED, request_id=f"r{number}"))
        await traces.close()
    assert (await library.trace()).request_id == "r1"
    assert "a trace was dropped" in log.getvalue()


class DeafIndex(MemoryIndex):
    async def asked(self, call: str, book_id: str) -> None:
        raise IndexUnavailable("The index cannot be read.")


async def test_an_outage_leaves_no_trace(tmp_path: Path) -> None:
    library = MemoryLibrary()
    async with joined(tmp_path, library, DeafIndex(fingerprint_of(FakeEmbedder()))) as quoth:
        with pytest.raises(IndexUnavailable):
            await quoth.conversations.answer(question(ASKED))
    with pytest.raises(NotFound):
        await library.trace()
