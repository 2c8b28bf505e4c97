"""`quoth serve --workers N`: real processes on one port, killed and stopped."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest

from doors import ASKED, PAGE, frames
from quoth.bootstrap import bootstrap
from quoth.errors import BadConfiguration
from quoth.serve.server import listen
from quoth.settings import load_settings
from quoth.sources import open_source
from quoth.testing.model_server import ModelServer, chunk, never_ends
from serving import Served, command_of, serving
from sharing import Once

pytestmark = pytest.mark.slow

QUEUES = "# Queues\n\nA bounded queue drops the oldest message when it is full.\n"


async def ingest(folder: Path, *books: str) -> None:
    settings = load_settings(environ={}, directory=folder, data_dir=folder / "data")
    async with bootstrap(settings) as quoth:
        for book_id in books:
            docs = folder / book_id
            docs.mkdir(parents=True)
            (docs / "topics.md").write_text(PAGE, encoding="utf-8")
            await quoth.ingest.run(open_source(docs, book_id=book_id))


@pytest.fixture
async def served(tmp_path: Path, once: Once) -> AsyncIterator[Served]:
    ingested = await asyncio.to_thread(once, "book-of-workers", lambda place: asyncio.run(ingest(place, "book")))
    shutil.copytree(ingested / "data", tmp_path / "data")
    async with serving(tmp_path, "--workers", "2") as served:
        yield served


async def on_many_connections(served: Served, number: int, ask: Callable[[httpx2.AsyncClient], Any]) -> list[Any]:
    """Each on its own connection, so that every worker gets some. (To load certificates takes longer than to ask.)"""

    async def one() -> Any:
        async with httpx2.AsyncClient(base_url=served.address, timeout=60, verify=False) as client:
            return await ask(client)

    return await asyncio.gather(*(one() for _ in range(number)))


async def follow(events: str, client: httpx2.AsyncClient) -> httpx2.Response:
    return await client.get(events)


async def until(true: Callable[[], bool], seconds: float = 30) -> None:
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110  # it is another process that changes it
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_two_workers_answer_on_one_port_and_stop_together(served: Served, number: signal.Signals) -> None:
    pids = served.workers()
    assert len(pids) == 2
    answers = await on_many_connections(served, 16, lambda client: client.post("/chat", json={"query": ASKED}))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["answer"] for answer in answers}) == 1
    assert await served.stop(number) == 0
    assert [command_of(pid) for pid in pids] == ["", ""]
    assert served.said == [f"Quoth is at {served.address}/ (Ctrl-C stops it)\n"]


async def test_whichever_worker_is_asked_tells_the_figures_of_all(served: Served) -> None:
    first, _ = served.workers()
    await on_many_connections(served, 16, lambda client: client.post("/chat", json={"query": ASKED}))
    os.kill(first, signal.SIGKILL)  # its counts stay, its open requests are over
    await until(lambda: first not in served.workers() and len(served.workers()) == 2)
    told = await on_many_connections(served, 6, lambda client: client.get("/metrics"))
    for one in told:
        assert re.findall(r'^quoth_answers_total\{.*mode="extractive".*\} (.+)$', one.text, re.MULTILINE) == ["16.0"]
    alone = await on_many_connections(served, 1, lambda client: client.get("/metrics"))
    assert "\nquoth_http_in_flight 1.0\n" in alone[0].text


async def test_a_worker_that_is_killed_is_replaced_and_the_others_answer_meanwhile(served: Served) -> None:
    first, second = served.workers()
    os.kill(first, signal.SIGKILL)
    # A dying process loses its command line while its socket is still open; its parent reaps it when all is closed.
    await until(lambda: not Path(f"/proc/{first}").exists())
    answers = await on_many_connections(served, 8, lambda client: client.post("/chat", json={"query": ASKED}))
    assert {answer.status_code for answer in answers} == {200}
    await until(lambda: len(served.workers()) == 2)
    assert second in served.workers()
    assert await served.stop() == 0
    assert any("signal 9" in line and "will be replaced" in line for line in served.said)


async def test_workers_that_keep_dying_end_the_server_with_one_clear_line(served: Served) -> None:
    async with asyncio.timeout(60):
        while served.process.poll() is None:
            for pid in served.workers():
                os.kill(pid, signal.SIGKILL)
            await asyncio.sleep(0.1)
    assert served.process.poll() == 1
    await until(lambda: served.said[-1].startswith("quoth: Workers ended 6 times within a minute"))
    assert not any("Traceback" in line for line in served.said)


async def test_a_port_that_other_workers_have_is_taken(served: Served) -> None:
    port = int(served.address.rsplit(":", 1)[1])
    with pytest.raises(BadConfiguration, match="already in use"):
        listen("127.0.0.1", port)


async def test_workers_leave_when_their_parent_was_killed(served: Served) -> None:
    pids = served.workers()
    served.process.kill()
    await until(lambda: not any(command_of(pid) for pid in pids))
    assert [command_of(pid) for pid in pids] == ["", ""]


async def test_a_server_that_cannot_start_says_why_in_one_line(tmp_path: Path) -> None:
    address = "postgresql://quoth:hunter2@127.0.0.1:1/quoth"
    async with serving(tmp_path, "--workers", "3", DATABASE_URL=address) as served:
        assert await served.process.ended() == 1
    assert len(served.said) == 1
    assert served.said[0].startswith("quoth: The database quoth at 127.0.0.1 failed")
    assert "hunter2" not in served.said[0]


async def test_every_worker_notices_what_was_ingested_over_http_and_tells_of_the_job(tmp_path: Path) -> None:
    await ingest(tmp_path, "book", "other")
    async with serving(tmp_path, "--workers", "2") as served:
        (tmp_path / "book" / "queues.md").write_text(QUEUES, encoding="utf-8")
        asked = await on_many_connections(
            served, 6, lambda client: client.post("/ingestion/jobs", json={"book_id": "book"})
        )
        assert sorted(answer.status_code for answer in asked) == [202] + [409] * 5
        [job] = [answer.json()["job_id"] for answer in asked if answer.status_code == 202]
        beside = (
            await on_many_connections(
                served, 1, lambda client: client.post("/ingestion/jobs", json={"book_id": "other", "mode": "full"})
            )
        )[0]
        assert beside.status_code == 202, beside.text
        for number in (job, beside.json()["job_id"]):
            events = f"/ingestion/jobs/{number}/events"
            for stream in await on_many_connections(served, 4, partial(follow, events)):
                name, last = frames(stream.text)[-1]
                assert (name, last["error_message"]) == ("completed", None), json.dumps(last)
        question = {"query": "What does a bounded queue drop when it is full?", "book_id": "book"}
        answers = await on_many_connections(served, 12, lambda client: client.post("/chat", json=question))
        for answer in answers:
            assert "queues.md" in {source["source_file"] for source in answer.json()["sources"]}
        assert await served.stop() == 0


async def test_a_call_of_an_agent_is_cancelled_at_whichever_worker_the_message_arrives(tmp_path: Path) -> None:
    """Each request has its own connection: half of the messages arrive at the worker that does not know the call."""
    await ingest(tmp_path, "book")
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18"}

    async def post(method: str, params: object, **more: object) -> httpx2.Response:
        async with httpx2.AsyncClient(base_url=server.address, timeout=30) as client:
            message = {"jsonrpc": "2.0", "method": method, "params": params, **more}
            return await client.post("/mcp", json=message, headers=headers)

    async def cancelled(number: int) -> str:
        call = asyncio.create_task(post("tools/call", {"name": "ask", "arguments": {"query": ASKED}}, id=number))
        await until(lambda: len(model.bodies) == number)
        assert (await post("notifications/cancelled", {"requestId": number})).status_code == 202
        return (await call).text

    async with (
        ModelServer(never_ends(chunk({"content": "Transient local durability keeps it [1]. "}), pace=0.1)) as model,
        serving(tmp_path, "--workers", "2", OPENAI_BASE_URL=model.url, OPENAI_MODEL="scripted") as server,
    ):
        headers["mcp-session-id"] = (await post("initialize", hello, id=0)).headers["mcp-session-id"]
        for number in range(1, 9):
            assert "The call was cancelled." in await cancelled(number)
