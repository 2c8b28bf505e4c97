"""The server is stopped under load, twenty times in all: every answer that a reader got in full is in the store.

Eight readers ask without a pause, half of them as streams, when the signal comes. A reader either has the answer, and
then the store has it too, or an error; never a 500, and the server stops cleanly.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import httpx2
import pytest

from doors import ASKED, PAGE
from quoth.bootstrap import bootstrap, fingerprint_of
from quoth.domain import Turn
from quoth.errors import SessionNotFound
from quoth.serve import server as server_module
from quoth.serve.server import address_of, listen, server_for
from quoth.settings import load_settings
from quoth.sources import open_source
from quoth.store.library import open_library
from quoth.testing.embedder import FakeEmbedder
from quoth.testing.index import MemoryIndex
from quoth.testing.model_server import ModelServer, says
from serving import serving
from sharing import Once

pytestmark = pytest.mark.slow

READERS = 8
WORDS = ["Transient ", "local ", "durability ", "keeps ", "the ", "last ", "message. ", "[1]"]


@dataclass
class Asked:
    session_id: str
    answer: str | None = None  # only if all of it arrived
    status: int | None = None
    shown: str = ""  # what was read before it broke off
    error: str = ""


async def reader(address: str, number: int, asked: list[Asked], stopped: asyncio.Event) -> None:
    """Asks until the server is gone, each time in a new session. (To load certificates takes longer than to ask.)"""
    async with httpx2.AsyncClient(base_url=address, timeout=30, verify=False) as client:
        for count in range(10_000):
            one = Asked(str(uuid.uuid4()))
            asked.append(one)
            body = {"query": ASKED, "session_id": one.session_id}
            try:
                await (ask_stream if (number + count) % 2 else ask_whole)(client, body, one)
            except httpx2.TransportError:
                if stopped.is_set():
                    return
            if stopped.is_set():
                await asyncio.sleep(0.01)  # it still answers on this connection until it has stopped


async def ask_whole(client: httpx2.AsyncClient, body: dict[str, str], one: Asked) -> None:
    response = await client.post("/chat", json=body)
    one.status = response.status_code
    if response.status_code == 200:
        one.answer = response.json()["answer"]
    else:
        one.error = response.json()["error_code"]


async def ask_stream(client: httpx2.AsyncClient, body: dict[str, str], one: Asked) -> None:
    async with client.stream("POST", "/chat/stream", json=body) as response:
        one.status = response.status_code
        name = ""
        async for line in response.aiter_lines():
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                data = json.loads(line.removeprefix("data: "))
                match name:
                    case "delta":
                        one.shown += data["delta"]
                    case "done":
                        one.answer = data["answer"]
                    case "error":
                        one.error = data["error_code"]


@asynccontextmanager
async def readers(address: str) -> AsyncIterator[tuple[list[Asked], asyncio.Event]]:
    """Set the event once the server was told to stop."""
    asked: list[Asked] = []
    stopped = asyncio.Event()
    tasks = [asyncio.create_task(reader(address, number, asked, stopped)) for number in range(READERS)]
    try:
        yield asked, stopped
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def until(asked: Sequence[Asked], number: int, seen: Callable[[Asked], object]) -> None:
    async with asyncio.timeout(110):
        while sum(bool(seen(one)) for one in asked) < number:  # noqa: ASYNC110  # the readers have no time to tell
            await asyncio.sleep(0.005)


async def stored(url: str, asked: Sequence[Asked]) -> dict[str, Turn]:
    """The only turn of each session that has one."""
    library = await open_library(url)
    found = {}
    for one in asked:
        with suppress(SessionNotFound):
            [found[one.session_id]], _ = await library.turns(one.session_id)
    await library.close()
    return found


async def check_nothing_is_lost(url: str, asked: Sequence[Asked]) -> None:
    turns = await stored(url, asked)
    whole = [one for one in asked if one.answer is not None]
    assert len(whole) >= READERS
    for one in whole:
        assert turns[one.session_id].response == one.answer
    assert {one.status for one in asked} <= {200, 503, None}


def database(folder: Path) -> str:
    return f"sqlite:///{(folder / 'data' / 'quoth.db').as_posix()}"


async def put_a_book(folder: Path, environ: Mapping[str, str] = MappingProxyType({})) -> None:
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "topics.md").write_text(PAGE, encoding="utf-8")
    settings = load_settings(environ=environ, directory=folder, data_dir=folder / "data")
    async with bootstrap(settings) as quoth:
        await quoth.ingest.run(open_source(folder / "docs", book_id="book"))


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("model", [False, True], ids=["extractive", "model"])
async def test_a_server_that_is_stopped_under_load_twice_loses_no_turn(
    tmp_path: Path, once: Once, workers: int, model: bool
) -> None:
    read = await asyncio.to_thread(once, "book-of-stopping", lambda place: asyncio.run(put_a_book(place)))
    shutil.copytree(read / "data", tmp_path / "data")
    async with ModelServer(says(*WORDS, pace=0.01)) as scripted:
        named = {"OPENAI_BASE_URL": scripted.url, "OPENAI_MODEL": "scripted"} if model else {}
        for stop in range(2):
            async with serving(tmp_path, "--workers", str(workers), **named) as served:
                async with readers(served.address) as (asked, stopped):
                    await until(asked, READERS * (2 + stop), lambda one: one.answer)
                    stopped.set()
                    assert await served.stop() == 0
                assert not any("Traceback" in line for line in served.said), served.said
            await check_nothing_is_lost(database(tmp_path), asked)


@pytest.mark.parametrize("model", [False, True], ids=["extractive", "model"])
async def test_in_one_process_six_times_at_another_moment_each(tmp_path: Path, model: bool) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "topics.md").write_text(PAGE, encoding="utf-8")
    async with ModelServer(says(*WORDS, pace=0.01)) as scripted:
        named = {"openai_base_url": scripted.url, "openai_model": "scripted"} if model else {}
        settings = load_settings(environ={}, directory=tmp_path, data_dir=tmp_path / "data", **named)
        for stop in range(6):
            embedder = FakeEmbedder()
            index = MemoryIndex(fingerprint_of(embedder))
            async with bootstrap(settings, embedder=embedder, index=index) as quoth:
                await quoth.ingest.run(open_source(tmp_path / "docs", book_id="book"))
                with listen("127.0.0.1", 0) as listener:
                    server = server_for(quoth)
                    running = asyncio.create_task(server.serve(sockets=[listener]))
                    async with readers(address_of(listener).rstrip("/")) as (asked, stopped):
                        await until(asked, READERS + stop, lambda one: one.answer)
                        stopped.set()
                        server.should_exit = True
                        await running
            await check_nothing_is_lost(database(tmp_path), asked)


async def test_answers_that_outlast_the_grace_are_cut_off_and_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "GRACE", 0)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "topics.md").write_text(PAGE, encoding="utf-8")
    embedder = FakeEmbedder()
    async with ModelServer(says(*WORDS, *["more "] * 1000, pace=0.02)) as scripted:
        named = {"openai_base_url": scripted.url, "openai_model": "scripted"}
        settings = load_settings(environ={}, directory=tmp_path, data_dir=tmp_path / "data", **named)
        async with bootstrap(settings, embedder=embedder, index=MemoryIndex(fingerprint_of(embedder))) as quoth:
            await quoth.ingest.run(open_source(tmp_path / "docs", book_id="book"))
            with listen("127.0.0.1", 0) as listener:
                server = server_for(quoth)
                running = asyncio.create_task(server.serve(sockets=[listener]))
                async with readers(address_of(listener).rstrip("/")) as (asked, stopped):
                    await until(asked, READERS // 2, lambda one: one.shown)
                    stopped.set()
                    server.should_exit = True
                    await running
    assert not any(one.answer for one in asked)
    cut = [one for one in asked if one.status is not None]
    assert {one.status for one in cut} == {200, 503}  # streams had begun, the others get a problem
    assert {one.error for one in cut} == {"SERVICE_UNAVAILABLE"}
    turns = await stored(database(tmp_path), asked)
    for one in (one for one in cut if one.shown):
        turn = turns[one.session_id]
        assert turn.interrupted is True
        assert turn.response.startswith(one.shown)
