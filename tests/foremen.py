"""Ingestion jobs behind the real doors, with the work done in this process instead of a child process."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from doors import Doors, frames
from quoth.bootstrap import Quoth
from quoth.serve.jobs import IngestOrder
from quoth.sources import open_source

QUEUES = "# Queues\n\nA bounded queue drops the oldest message when it is full.\n"


class Worker:
    """Replaces the child process: does the work here, when it is allowed to."""

    def __init__(self, foreman: Foreman, quoth: Quoth, order: IngestOrder, job_id: int) -> None:
        self._foreman = foreman
        self._quoth = quoth
        self._order = order
        self._job_id = job_id
        self._stopped = asyncio.Event()
        self.killed = False

    async def wait(self) -> str:
        self._foreman.begun.append(self._order)
        self._foreman.at_work.set()
        go, stop = asyncio.create_task(self._foreman.go.wait()), asyncio.create_task(self._stopped.wait())
        await asyncio.wait([go, stop], return_when=asyncio.FIRST_COMPLETED)
        for task in (go, stop):
            task.cancel()
        if self._stopped.is_set() or self._foreman.words:
            return self._foreman.words or "stopped"
        order = self._order
        source = open_source(order.source, book_id=order.book_id, base_url=order.base_url)
        await self._quoth.ingest.run(source, mode=order.mode, dry_run=order.dry_run, job_id=self._job_id)
        return ""

    def stop(self) -> None:
        self._stopped.set()

    def kill(self) -> None:
        self.killed = True


class Foreman:
    """Hands out workers; they wait until `go` is set, and die with `words` if there are any."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.go.set()
        self.words = ""
        self.begun: list[IngestOrder] = []
        self.at_work = asyncio.Event()

    def launch(self, quoth: Quoth, order: IngestOrder, job_id: int) -> Worker:
        return Worker(self, quoth, order, job_id)


def write(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return folder


async def start(doors: Doors, **fields: object) -> dict[str, Any]:
    response = await doors.client.post("/ingestion/jobs", json=fields)
    assert response.status_code == 202, response.text
    body: dict[str, Any] = response.json()
    assert response.headers["location"] == f"/ingestion/jobs/{body['job_id']}"
    return body


async def events(doors: Doors, job_id: int) -> list[tuple[str, dict[str, Any]]]:
    response = await doors.client.get(f"/ingestion/jobs/{job_id}/events")
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    return frames(response.text)


async def ended(doors: Doors, job_id: int) -> dict[str, Any]:
    return (await events(doors, job_id))[-1][1]
