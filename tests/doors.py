"""A tiny book behind the real HTTP doors, in process: the starting point of every API test."""

from __future__ import annotations

import asyncio
import functools
import json
import re
import socket
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from pydantic import TypeAdapter
from starlette.routing import Mount

from quoth import keys
from quoth.bootstrap import Quoth, fingerprint_of
from quoth.domain import Citation, Draft, Evidence, Scope
from quoth.serve.app import create_app
from quoth.serve.jobs import IngestOrder
from quoth.serve.problems import OpenAIProblem, Problem
from quoth.serve.server import address_of, listen, server_for
from quoth.settings import load_settings
from quoth.sources import open_source
from quoth.testing.embedder import FakeEmbedder
from quoth.testing.index import MemoryIndex
from quoth.testing.library import MemoryLibrary
from samples import TickingClock

PAGE = """# Topics

A topic carries messages from publishers to subscribers.

## Durability

Transient local durability keeps the last message for late subscribers. Volatile durability keeps nothing.

## Timing

The deadline policy names the longest time between two messages.
"""
ASKED = "Which durability keeps the last message for late subscribers?"
UNKNOWN = "Who won the football championship in 1966?"
REFUSAL = "I don't have information about that in the book content"
SITE = "https://docs.example.org"
SESSION = "6a1f7a9e-2f7e-4c3e-9d57-0d5a3d7b6f10"


def invents(question: str, evidence: Evidence) -> Draft:
    """Replaces `extract.draft`: what a model might write, with one true sentence and the rest made up."""
    passage = evidence.passages[0]
    text = passage.chunk.text
    quote = "Transient local durability keeps the last message for late subscribers."
    start = passage.chunk.start + text.index(quote)
    code = "```js\natlantis.sink()\n```\n\n[1]"
    table = "| Isle | Fate |\n|---|---|\n| Atlantis | sunk |\n\n[1]"
    citation = Citation(1, passage.chunk, quote, start, start + len(quote), passage.similarity)
    return Draft(f"{quote} [1] It was invented in Atlantis. [1]\n\n{code}\n\n{table}", (citation,))


@dataclass(frozen=True)
class Doors:
    client: httpx2.AsyncClient
    quoth: Quoth
    app: FastAPI

    async def ask(self, query: str = ASKED, **fields: object) -> dict[str, Any]:
        response = await self.client.post("/chat", json={"query": query, **fields})
        assert response.status_code == 200, response.text
        body: dict[str, Any] = response.json()
        return body

    async def stream(self, query: str = ASKED, **fields: object) -> list[tuple[str, dict[str, Any]]]:
        response = await self.client.post("/chat/stream", json={"query": query, **fields})
        assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
        return frames(response.text)


def every_door(app: FastAPI) -> list[tuple[str, str]]:
    """Each method and path of the application, with values for the parameters."""
    found = []
    for route in iter_route_contexts(app.routes):
        if isinstance(route.original_route, Mount):
            found.append(("GET", f"{route.path}/anything"))
        else:
            path = str(route.path).replace("{session_id}", SESSION).replace("{job_id}", "1")
            filled = re.sub(r"\{(\w+)[^}]*\}", r"\1", path)
            found += [(method, filled) for method in sorted(route.methods or {"GET", "POST"})]
    return found


def frames(text: str) -> list[tuple[str, dict[str, Any]]]:
    """The events of a stream, read strictly: each frame is one name and one line of JSON, with or without an id. On a
    busy machine comments may be sent in the silence between them; they are no events."""
    assert text.endswith("\n\n")
    events = []
    for frame in text.removesuffix("\n\n").split("\n\n"):
        if frame.startswith(":"):
            continue
        *identity, name, data = frame.split("\n")
        assert all(line.startswith("id: ") for line in identity)
        assert len(identity) <= 1
        events.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return events


class Idler:
    """Replaces the process of a job and does nothing."""

    def __init__(self, quoth: Quoth, order: IngestOrder, job_id: int) -> None: ...

    async def wait(self) -> str:
        return ""

    def stop(self) -> None: ...

    def kill(self) -> None: ...


@asynccontextmanager
async def served(quoth: Quoth, *, send_buffer: int | None = None, workers: Path | None = None) -> AsyncIterator[str]:
    """The doors on a real port of this machine; yields its URL. With a small `send_buffer`, a client that does not read
    is noticed after some kilobytes, not megabytes."""
    with listen("127.0.0.1", 0) as listener:
        if send_buffer is not None:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
        server = server_for(quoth, workers=workers)
        running = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield address_of(listener).rstrip("/")
        finally:
            server.should_exit = True
            await running


@asynccontextmanager
async def opened(
    folder: Path, *, books: int = 1, settings: Mapping[str, Any] | None = None, **parts: Any
) -> AsyncIterator[Doors]:
    docs = folder / "docs"
    docs.mkdir()
    (docs / "topics.md").write_text(PAGE, encoding="utf-8")
    embedder = parts.pop("embedder", None) or FakeEmbedder()
    parts = {
        "clock": TickingClock(),
        "index": MemoryIndex(fingerprint_of(embedder)),
        "library": MemoryLibrary(),
        **parts,
    }
    app = create_app(load_settings(data_dir=folder / "data", **(settings or {})), embedder=embedder, **parts)
    transport = httpx2.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client,
    ):
        quoth: Quoth = app.state.quoth
        for number in range(books):
            book_id = "book" if number == 0 else f"book-{number + 1}"
            await quoth.ingest.run(open_source(docs, book_id=book_id, base_url="https://book.example.com"))
        yield Doors(client, quoth, app)


async def a_key(doors: Doors, scope: Scope = "ask", **fields: Any) -> dict[str, str]:
    """The header with a new key."""
    key, words = keys.make("test", scope, now=doors.quoth.clock.now(), **fields)
    await doors.quoth.library.keys.add(key)
    return {"authorization": f"Bearer {words}"}


@asynccontextmanager
async def closed(folder: Path, **fields: Any) -> AsyncIterator[Doors]:
    settings = {"auth": "keys", "rate_limit": 0, **fields.pop("settings", {})}
    async with opened(folder, settings=settings, **fields) as doors:
        yield doors


@functools.cache  # making one takes longer than answering a request
def _checker(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)


def check_shape(shape: Any, body: object) -> None:
    """For what mypy cannot check: bodies that are built key by key, or by the framework."""
    _checker(shape).validate_python(body)


def check_problem(response: httpx2.Response, status: int, code: str) -> dict[str, Any]:
    assert (response.status_code, response.headers["content-type"]) == (status, "application/problem+json")
    body: dict[str, Any] = response.json()
    shape = OpenAIProblem if response.request.url.path.startswith("/v1/") else Problem
    check_shape(shape, body)
    assert (body["error_code"], body["status"], body["type"]) == (code, status, f"/errors/{code}")
    assert body["detail"] == body["message"]
    assert body["instance"] == response.request.url.path
    assert body["request_id"] == response.headers["x-request-id"]
    assert uuid.UUID(body["request_id"]).version == 4
    return body
