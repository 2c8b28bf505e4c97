"""Jobs as an operator meets them: a live server, real children, real kills, the real model."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from commands import Started
from doors import frames
from quoth.domain import IngestJob
from quoth.ports import ABANDONED
from quoth.store.library import open_library
from serving import serving

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

QUEUES = "# Queues\n\nA bounded queue drops the oldest message when it is full.\n"
ASKED = "What does a bounded queue drop when it is full?"
# Enough work for seconds on any machine, so that a signal arrives in the middle.
MANY = 600


@dataclass
class Server:
    client: httpx2.AsyncClient
    process: Started

    async def start(self, **fields: object) -> int:
        response = await self.client.post("/ingestion/jobs", json=fields)
        assert response.status_code == 202, response.text
        return int(response.json()["job_id"])

    async def job(self, job_id: int) -> dict[str, Any]:
        body: dict[str, Any] = (await self.client.get(f"/ingestion/jobs/{job_id}")).json()
        return body

    async def ended(self, job_id: int) -> dict[str, Any]:
        return frames((await self.client.get(f"/ingestion/jobs/{job_id}/events")).text)[-1][1]

    async def at_work(self, job_id: int) -> None:
        while (await self.job(job_id))["chunks_embedded"] == 0:  # noqa: ASYNC110 - another process says so
            await asyncio.sleep(0.05)

    async def sources_of(self, query: str) -> set[str]:
        answer = (await self.client.post("/chat", json={"query": query, "book_id": "book"})).json()
        return {source["source_file"] for source in answer["sources"]}


@asynccontextmanager
async def a_server(folder: Path) -> AsyncIterator[Server]:
    async with (
        serving(folder, QUOTH_INGEST_ROOTS=str(folder)) as served,
        httpx2.AsyncClient(base_url=served.address, timeout=200) as client,
    ):
        yield Server(client, served.process)
        await served.stop()


def write(folder: Path, name: str, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")


def write_many(folder: Path) -> None:
    for number in range(MANY):
        words = " ".join(f"word{number}x{place}" for place in range(25))
        write(folder, f"page{number:04}.md", f"# Page {number}\n\n{words}.\n")


def writer_pid(folder: Path) -> int:
    return int(json.loads((folder / "data" / "writer.lock").read_text())["pid"])


async def gone(pid: int) -> None:
    while True:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            return
        await asyncio.sleep(0.05)


async def stored_job(folder: Path, job_id: int) -> IngestJob:
    library = await open_library(f"sqlite:///{folder / 'data' / 'quoth.db'}")
    try:
        return await library.job(job_id)
    finally:
        await library.close()


async def test_a_page_is_asked_for_followed_and_answered_from_in_a_live_server(tmp_path: Path) -> None:
    write(tmp_path / "docs", "queues.md", QUEUES)
    async with a_server(tmp_path) as server:
        first = await server.start(path="docs", book_id="book")
        told = frames((await server.client.get(f"/ingestion/jobs/{first}/events")).text)
        assert (told[0][0], told[-1][0]) == ("progress", "completed")
        assert await server.sources_of(ASKED) == {"queues.md"}

        write(tmp_path / "docs", "rings.md", "# Rings\n\nA ring buffer overwrites the slot that was read first.\n")
        changes = (await server.client.get("/ingestion/changes")).json()
        assert (changes["new"], changes["unchanged"]) == (["rings.md"], 1)
        last = await server.ended(await server.start())
        assert (last["status"], last["files_skipped"], last["chunks_embedded"]) == ("completed", 1, 1)
        assert "rings.md" in await server.sources_of("Which slot does a ring buffer overwrite?")


async def test_a_child_that_is_killed_fails_its_job_and_the_server_goes_on(tmp_path: Path) -> None:
    write(tmp_path / "docs", "queues.md", QUEUES)
    async with a_server(tmp_path) as server:
        await server.ended(await server.start(path="docs", book_id="book"))
        write_many(tmp_path / "docs")
        doomed = await server.start()
        await server.at_work(doomed)
        assert await server.sources_of(ASKED) == {"queues.md"}  # readers do not wait for the writer
        conflict = await server.client.post("/ingestion/jobs", json={})
        assert (conflict.status_code, conflict.json()["error_code"]) == (409, "JOB_CONFLICT")
        os.kill(writer_pid(tmp_path), signal.SIGKILL)
        last = await server.ended(doomed)
        assert (last["status"], last["error_message"]) == ("failed", "its process was ended by SIGKILL")
        assert await server.sources_of(ASKED) == {"queues.md"}

        for page in (tmp_path / "docs").glob("page*.md"):
            page.unlink()
        assert (await server.ended(await server.start()))["status"] == "completed"


async def test_a_server_that_is_stopped_leaves_no_half_book_and_no_running_job(tmp_path: Path) -> None:
    write(tmp_path / "docs", "queues.md", QUEUES)
    async with a_server(tmp_path) as server:
        await server.ended(await server.start(path="docs", book_id="book"))
        pointer = (tmp_path / "data" / "index" / "book" / "CURRENT").read_bytes()
        write_many(tmp_path / "docs")
        job = await server.start()
        await server.at_work(job)
        child = writer_pid(tmp_path)
        following = asyncio.create_task(server.ended(job))
        os.kill(server.process.pid, signal.SIGTERM)
        assert (await asyncio.wait_for(following, timeout=60))["status"] == "failed"
        assert await asyncio.wait_for(server.process.ended(), timeout=60) == 0
    await asyncio.wait_for(gone(child), timeout=60)
    stored = await stored_job(tmp_path, job)
    assert (stored.status, stored.error_message) == ("failed", "interrupted")
    assert stored.chunks_embedded > 0
    assert (tmp_path / "data" / "index" / "book" / "CURRENT").read_bytes() == pointer
    assert len(list((tmp_path / "data" / "index" / "book").glob("gen-*"))) == 1


async def test_a_job_that_died_with_its_server_is_failed_by_the_next_one(tmp_path: Path) -> None:
    write_many(tmp_path / "docs")
    async with a_server(tmp_path) as server:
        job = await server.start(path="docs", book_id="book")
        await server.at_work(job)
        child = writer_pid(tmp_path)
        server.process.kill()
        os.kill(child, signal.SIGKILL)
        await server.process.ended()
    await gone(child)
    assert (await stored_job(tmp_path, job)).status == "running"
    async with a_server(tmp_path) as server:
        told = await server.job(job)
    assert (told["status"], told["error_message"]) == ("failed", ABANDONED)
