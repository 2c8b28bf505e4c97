"""Stored turn = streamed text, however a reader leaves: every way out of the generator, and the real server."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import logging
import os
import re
import signal
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from doors import ASKED, SESSION, UNKNOWN, Doors, frames, opened, served
from quoth.ask import memory
from quoth.ask.reply import MODEL_STOPPED
from quoth.bootstrap import fingerprint_of
from quoth.domain import (
    AnswerEvent,
    Delta,
    Done,
    Message,
    ModelEvent,
    ModelText,
    ModelTurn,
    Tool,
    Turn,
)
from quoth.errors import LibraryUnavailable, SessionNotFound
from quoth.serve.server import listen
from quoth.store.library import open_library
from quoth.testing.embedder import FakeEmbedder
from quoth.testing.index import MemoryIndex
from quoth.testing.library import MemoryLibrary
from quoth.testing.model_server import ModelServer, Reply, chunk, stalls
from samples import question

pytestmark = pytest.mark.slow

FIRST = "Transient local durability keeps the last message for late subscribers [1]. "
THEN = "Volatile durability "


@dataclass
class Thinking:
    """A model that says its words and then thinks until it is told to go on, or left alone."""

    words: Sequence[str] = (FIRST, THEN)
    name: str = "thinking"
    thinks: asyncio.Event = field(default_factory=asyncio.Event)
    goes_on: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)

    async def reply(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> AsyncGenerator[ModelEvent]:
        try:
            for word in self.words:
                yield ModelText(word)
            self.thinks.set()
            await self.goes_on.wait()
            yield ModelText("keeps nothing [1].")
            yield ModelTurn(tokens=3, model=self.name)
        except (GeneratorExit, asyncio.CancelledError):
            self.left.set()
            raise

    async def check(self) -> str:
        return "here"

    async def close(self) -> None:
        return


@pytest.fixture
def model() -> Thinking:
    return Thinking()


@pytest.fixture
async def doors(tmp_path: Path, model: Thinking) -> AsyncIterator[Doors]:
    async with opened(tmp_path, model=model) as joined:
        yield joined


async def until_it_thinks(events: AsyncGenerator[AnswerEvent]) -> str:
    """Read on until the words so far are out; returns what was read."""
    read = ""
    async for event in events:
        if isinstance(event, Delta):
            read += event.text
        if read == FIRST + THEN:
            return read
    raise AssertionError("it ended")


async def the_turn(doors: Doors) -> Turn:
    [turn], total = await doors.quoth.library.turns(SESSION)
    assert total == 1
    return turn


def told(turn: Turn) -> tuple[str, object]:
    return turn.response, turn.interrupted


# --- the ways out of the generator ------------------------------------------------------------------------------------


async def test_closing_the_generator_stops_the_model_and_stores_what_was_given(doors: Doors, model: Thinking) -> None:
    events = doors.quoth.conversations.ask(question(ASKED))
    read = await until_it_thinks(events)
    await events.aclose()
    assert model.left.is_set()
    turn = await the_turn(doors)
    assert told(turn) == (read, True)
    assert turn.query == ASKED
    assert [source.index for source in turn.sources] == [1]
    assert turn.mode == "full"


async def test_a_reader_who_is_cancelled_while_the_model_thinks_leaves_what_was_given(
    doors: Doors, model: Thinking
) -> None:
    read: list[str] = []

    async def reader() -> None:
        async for event in doors.quoth.conversations.ask(question(ASKED)):
            read.extend([event.text] if isinstance(event, Delta) else [])

    reading = asyncio.create_task(reader())
    await model.thinks.wait()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert model.left.is_set()
    assert told(await the_turn(doors)) == ("".join(read), True)
    assert read


class Slow(MemoryLibrary):
    """Storing does not end until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = asyncio.Event()
        self.let_go = asyncio.Event()

    async def add_turn(self, turn: Turn) -> Turn:
        self.begun.set()
        await self.let_go.wait()
        return await super().add_turn(turn)


async def test_a_second_cancellation_does_not_stop_the_storing(tmp_path: Path, model: Thinking) -> None:
    library = Slow()
    async with opened(tmp_path, model=model, library=library) as doors:
        reading = asyncio.create_task(doors.quoth.conversations.answer(question(ASKED)))
        await model.thinks.wait()
        reading.cancel()
        await library.begun.wait()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        library.let_go.set()
        await doors.quoth.conversations.close()
        assert told(await the_turn(doors)) == ("", True)


async def test_a_reader_who_leaves_while_a_whole_turn_is_stored_leaves_it_whole_and_once(tmp_path: Path) -> None:
    library = Slow()
    async with opened(tmp_path, library=library) as doors:
        reading = asyncio.create_task(doors.quoth.conversations.answer(question(ASKED)))
        await library.begun.wait()
        reading.cancel()
        await asyncio.sleep(0)
        library.let_go.set()
        with pytest.raises(asyncio.CancelledError):
            await reading
        turn = await the_turn(doors)
        assert turn.interrupted is False
        assert "Transient local durability" in turn.response


async def test_a_generator_that_was_merely_dropped_stores_what_was_given(doors: Doors, model: Thinking) -> None:
    async def careless() -> str:
        return await until_it_thinks(doors.quoth.conversations.ask(question(ASKED)))

    read = await careless()
    gc.collect()
    await asyncio.wait_for(model.left.wait(), timeout=60)
    await doors.quoth.conversations.close()
    assert told(await the_turn(doors)) == (read, True)


async def test_what_is_under_way_when_everything_is_closed_is_stored_as_it_is(doors: Doors, model: Thinking) -> None:
    events = doors.quoth.conversations.ask(question(ASKED))
    read = await until_it_thinks(events)
    await doors.quoth.conversations.close()
    turn = await the_turn(doors)
    assert told(turn) == (read, True)
    assert [source.index for source in turn.sources] == [1]
    await events.aclose()
    assert (await doors.quoth.library.turns(SESSION))[1] == 1


@pytest.mark.parametrize("query", [ASKED, UNKNOWN])
async def test_wherever_a_reader_stops_reading_what_they_got_is_what_is_stored(tmp_path: Path, query: str) -> None:
    """Every event in turn is the last one read."""
    async with opened(tmp_path) as doors:
        conversations = doors.quoth.conversations
        whole = [event async for event in conversations.ask(question(query))]
        done = whole[-1]
        assert isinstance(done, Done)
        await conversations.forget(SESSION)
        for stop in range(2, len(whole) + 1):
            events, read = conversations.ask(question(query)), []
            for _ in range(stop):
                read.append(await anext(events))
            await events.aclose()
            turn = await the_turn(doors)
            assert turn.response == "".join(event.text for event in read if isinstance(event, Delta))
            assert turn.interrupted is (turn.response != done.answer.text)
            await conversations.forget(SESSION)


async def test_a_reader_who_leaves_before_anything_was_found_leaves_nothing(doors: Doors) -> None:
    events = doors.quoth.conversations.ask(question(ASKED))
    await anext(events)
    await events.aclose()
    with pytest.raises(SessionNotFound):
        await doors.quoth.library.turns(SESSION)


async def test_an_interrupted_turn_that_cannot_be_stored_is_told_to_the_operator(
    tmp_path: Path, model: Thinking, caplog: pytest.LogCaptureFixture
) -> None:
    class Gone(MemoryLibrary):
        async def add_turn(self, turn: Turn) -> Turn:
            raise LibraryUnavailable("the database is gone")

    async with opened(tmp_path, model=model, library=Gone()) as doors:
        events = doors.quoth.conversations.ask(question(ASKED))
        await until_it_thinks(events)
        with caplog.at_level(logging.WARNING):
            await events.aclose()
    assert "an interrupted turn could not be stored: the database is gone" in caplog.text


async def test_a_follow_up_to_an_interrupted_answer_knows_it(doors: Doors, model: Thinking) -> None:
    events = doors.quoth.conversations.ask(question(ASKED))
    await until_it_thinks(events)
    await events.aclose()
    model.goes_on.set()
    answer = await doors.quoth.conversations.answer(question("and what about volatile?"))
    assert answer.searched_query != "and what about volatile?"
    assert "durability" in answer.searched_query


async def test_a_session_that_is_erased_while_it_is_answered_stays_erased(doors: Doors, model: Thinking) -> None:
    events = doors.quoth.conversations.ask(question(ASKED))
    await until_it_thinks(events)
    assert (await doors.client.delete(f"/session/{SESSION}")).status_code == 204
    model.goes_on.set()
    assert [type(event).__name__ async for event in events][-1] == "Done"
    with pytest.raises(SessionNotFound):
        await doors.quoth.library.turns(SESSION)


class Searching(MemoryIndex):
    """Searches until it is told to find."""

    def __init__(self) -> None:
        super().__init__(fingerprint_of(FakeEmbedder()))
        self.begun, self.finds = asyncio.Event(), asyncio.Event()

    async def asked(self, call: str, book_id: str) -> None:
        if call == "search":
            self.begun.set()
            await self.finds.wait()
        await super().asked(call, book_id)


async def test_a_session_that_is_erased_while_the_book_is_searched_stays_erased(tmp_path: Path) -> None:
    index = Searching()
    async with opened(tmp_path, index=index) as doors:
        asking = asyncio.create_task(doors.quoth.conversations.answer(question(ASKED)))
        await index.begun.wait()
        assert (await doors.client.delete(f"/session/{SESSION}")).status_code == 204
        index.finds.set()
        assert (await asking).text
        with pytest.raises(SessionNotFound):
            await doors.quoth.library.turns(SESSION)


async def test_a_model_that_breaks_off_leaves_an_interrupted_turn(tmp_path: Path) -> None:
    cut = Reply((chunk({"content": FIRST}), chunk({"content": THEN})), cut=True)
    async with ModelServer(cut) as server, opened(tmp_path, settings=talking_to(server)) as doors:
        done = dict(await doors.stream(session_id=SESSION))["done"]
        assert (done["answer"], done["metadata"]["interrupted"]) == (FIRST + THEN, True)
        assert done["fallback_message"] == MODEL_STOPPED
        assert told(await the_turn(doors)) == (FIRST + THEN, True)
        [entry] = (await doors.client.get(f"/history/{SESSION}")).json()["entries"]
        assert (entry["response"], entry["interrupted"]) == (FIRST + THEN, True)


# --- over a real port -------------------------------------------------------------------------------------------------


def talking_to(server: ModelServer) -> dict[str, Any]:
    return {"openai_base_url": server.url, "openai_model": "scripted"}


HALF = stalls(chunk({"role": "assistant", "content": ""}), chunk({"content": FIRST}), chunk({"content": THEN}))


DELTA = re.compile(r'"delta":("(?:[^"\\]|\\.)*")')


class Wire:
    """A client without manners: it asks, reads what comes, and hangs up."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self.got = ""

    @classmethod
    async def asking(cls, address: str, path: str, **fields: object) -> Wire:
        host, port = address.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        body = json.dumps({"query": ASKED, "session_id": SESSION, **fields}).encode()
        head = f"POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n"
        writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        await writer.drain()
        return cls(reader, writer)

    async def read_until(self, words: str) -> None:
        while words not in self.got:
            await self._read_on(words)

    async def read_words(self, words: str) -> None:
        """Until they have come as words of the answer, however many at a time: the passages, which come before, may
        hold them too."""
        while words not in "".join(json.loads(delta) for delta in DELTA.findall(self.got)):
            await self._read_on(words)

    async def _read_on(self, words: str) -> None:
        piece = await asyncio.wait_for(self._reader.read(4096), timeout=60)
        assert piece, f"it ended without {words!r}"
        self.got += piece.decode()

    async def hang_up(self) -> None:
        self._writer.transport.abort()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()


@asynccontextmanager
async def with_a_stalling_model(folder: Path) -> AsyncIterator[tuple[ModelServer, Doors, str]]:
    async with (
        ModelServer(HALF) as server,
        opened(folder, settings=talking_to(server)) as doors,
        served(doors.quoth) as address,
    ):
        yield server, doors, address


async def until(seen: Callable[[], bool]) -> None:
    """No event tells what another task does, so look until it is there."""
    async with asyncio.timeout(60):
        while not seen():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def within_a_second(event: asyncio.Event) -> bool:
    """A second of this process: it lasts longer if others keep the machine busy."""
    for _ in range(200):
        if event.is_set():
            break
        await asyncio.sleep(0.005)
    return event.is_set()


async def eventually_stored(doors: Doors) -> Turn:
    library = doors.quoth.library
    assert isinstance(library, MemoryLibrary)
    await until(lambda: SESSION in library._turns)
    return await the_turn(doors)


@pytest.mark.parametrize(("path", "fields"), [("/chat/stream", {}), ("/chat/run", {"stream": True})])
async def test_a_reader_who_hangs_up_stops_the_model_within_a_second_and_leaves_their_words(
    tmp_path: Path, path: str, fields: dict[str, object]
) -> None:
    async with with_a_stalling_model(tmp_path) as (server, doors, address):
        wire = await Wire.asking(address, path, **fields)
        await wire.read_words(THEN)
        assert server.left == 0
        await wire.hang_up()
        assert await within_a_second(server.someone_left)
        assert told(await eventually_stored(doors)) == (FIRST + THEN, True)


async def test_a_client_that_waits_for_the_whole_answer_and_hangs_up_stops_the_model_too(tmp_path: Path) -> None:
    async with with_a_stalling_model(tmp_path) as (server, doors, address):
        wire = await Wire.asking(address, "/chat")
        await until(lambda: len(server.bodies) == 1)
        await wire.hang_up()
        assert await within_a_second(server.someone_left)
        assert told(await eventually_stored(doors)) == ("", True)


async def test_a_reader_who_hangs_up_gives_the_session_back(tmp_path: Path) -> None:
    async with with_a_stalling_model(tmp_path) as (server, doors, address):
        first = await Wire.asking(address, "/chat/stream")
        await first.read_words(THEN)
        waiting = await Wire.asking(address, "/chat/stream", query="Which durability keeps nothing?")
        server.then([Reply((chunk({"content": "Volatile [1]."}), chunk({}, finish="stop")))])
        await first.hang_up()
        await waiting.read_until("event: done")
        turns, _ = await doors.quoth.library.turns(SESSION)
        assert [turn.interrupted for turn in turns] == [True, False]
        await waiting.hang_up()


async def test_a_reader_who_hangs_up_while_waiting_is_not_answered(tmp_path: Path) -> None:
    async with with_a_stalling_model(tmp_path) as (server, doors, address):
        first = await Wire.asking(address, "/chat/stream")
        await first.read_words(THEN)
        waiting = await Wire.asking(address, "/chat/stream", query="Which durability keeps nothing?")
        order = doors.quoth.conversations.memory.order
        await until(lambda: order.waiting(owner="", session_id=SESSION) == 1)
        await waiting.hang_up()
        await until(lambda: order.waiting(owner="", session_id=SESSION) == 0)
        await first.hang_up()
        assert told(await eventually_stored(doors)) == (FIRST + THEN, True)
        assert len(server.bodies) == 1


async def test_a_server_that_stops_lets_an_answer_finish(doors: Doors, model: Thinking) -> None:
    async with httpx2.AsyncClient(timeout=30) as client:
        async with served(doors.quoth) as address:
            body = {"query": ASKED, "session_id": SESSION}
            asking = asyncio.create_task(client.post(f"{address}/chat/stream", json=body))
            await model.thinks.wait()
            asyncio.get_running_loop().call_later(0.2, model.goes_on.set)
        assert frames((await asking).text)[-1][0] == "done"
    assert told(await the_turn(doors)) == (f"{FIRST}{THEN}keeps nothing [1].", False)


async def test_a_server_that_cannot_wait_any_longer_stores_what_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quoth.serve.server.GRACE", 0.1)
    async with ModelServer(HALF) as server, opened(tmp_path, settings=talking_to(server)) as doors:
        async with served(doors.quoth) as address:
            wire = await Wire.asking(address, "/chat/stream")
            await wire.read_words(THEN)
        assert told(await eventually_stored(doors)) == (FIRST + THEN, True)
        await wire.hang_up()


@pytest.mark.slow
async def test_a_signal_in_the_middle_of_streams_loses_no_word(tmp_path: Path) -> None:
    """The real program: one answer ends within its grace, one never would; both are in the database."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "topics.md").write_text(f"# Durability\n\n{FIRST.removesuffix(' [1]. ')}.\n", encoding="utf-8")
    ends = Reply((chunk({"content": FIRST}), 1.0, chunk({"content": THEN}), chunk({}, finish="stop")))
    other = SESSION.replace("6a1f", "7b2e")
    async with ModelServer(ends, HALF) as server:
        settings = {"OPENAI_BASE_URL": server.url, "OPENAI_MODEL": "scripted", "QUOTH_DATA_DIR": str(tmp_path / "data")}
        environment = {**os.environ, **settings}
        await run_to_its_end("ingest", "docs", "--book", "book", cwd=tmp_path, env=environment)
        with listen("127.0.0.1", 0) as free:
            port = free.getsockname()[1]
        process = await started("serve", "--port", str(port), cwd=tmp_path, env=environment)
        try:
            first = await Wire.asking(f"http://127.0.0.1:{port}", "/chat/stream")
            await first.read_until('"delta":')
            second = await Wire.asking(f"http://127.0.0.1:{port}", "/chat/stream", session_id=other)
            await second.read_words(THEN)
            process.send_signal(signal.SIGTERM)
            await first.read_until("event: done")
            await asyncio.wait_for(process.wait(), timeout=40)
            assert process.returncode == 0
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        await first.hang_up()
        await second.hang_up()
    library = await open_library(f"sqlite:///{tmp_path / 'data' / 'quoth.db'}")
    [finished], _ = await library.turns(SESSION)
    [cut], _ = await library.turns(other)
    await library.close()
    assert told(finished) == (FIRST + THEN, False)
    assert told(cut) == (FIRST + THEN, True)


async def started(*arguments: str, cwd: Path, env: dict[str, str]) -> asyncio.subprocess.Process:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "quoth", *arguments, cwd=cwd, env=env, stderr=asyncio.subprocess.PIPE
    )
    assert process.stderr
    line = await asyncio.wait_for(process.stderr.readline(), timeout=60)
    assert b"Quoth is at" in line, line
    return process


async def run_to_its_end(*arguments: str, cwd: Path, env: dict[str, str]) -> None:
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "quoth", *arguments, cwd=cwd, env=env)
    assert await process.wait() == 0


async def test_a_store_that_never_answers_cannot_keep_a_server_from_ending(
    tmp_path: Path, model: Thinking, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(memory, "CLOSING_SECONDS", 0.05)
    async with opened(tmp_path, model=model, library=Slow()) as doors:
        events = doors.quoth.conversations.ask(question(ASKED))
        await until_it_thinks(events)
        await doors.quoth.conversations.close()
        assert "turns could not be stored before the end" in caplog.text
        with contextlib.suppress(asyncio.CancelledError):
            await events.aclose()
