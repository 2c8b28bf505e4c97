"""`/search` on the same book, from files and from a Qdrant server: what a request costs our process.

Called by `cluster.py`. Both apps are complete and in this process, with the same embedder. They are called as uvicorn
calls them, without a socket and without an HTTP client whose cost would hide the difference. A separate process
replays Qdrant's answers: its time is not counted.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp

from quoth.bootstrap import embedded_index, fingerprint_of
from quoth.index.qdrant import QdrantIndex
from quoth.index.qdrant_server import QdrantOptions
from quoth.ports import ChunkIndex, Embedder
from quoth.serve.app import create_app
from quoth.settings import load_settings
from quoth.sources import open_source
from quoth.testing.library import MemoryLibrary

Call = Callable[[], Awaitable[object]]
FILES = "/search, index in files"
ANEW, KNOWN = "/search, Qdrant server, no passage known", "/search, Qdrant server, passages known"


@dataclass(frozen=True, slots=True)
class Asked:
    book: Path
    book_id: str
    query: str


@asynccontextmanager
async def search_calls(url: str, embedder: Embedder, folder: Path, asked: Asked) -> AsyncIterator[dict[str, Call]]:
    """A call for each index. The files get the book now; the server already has it."""
    fingerprint = fingerprint_of(embedder)
    files = embedded_index(load_settings(data_dir=folder / "files"), fingerprint)
    server = QdrantIndex(QdrantOptions(urls=(url,)), fingerprint)
    async with (
        _opened(folder / "files", embedder, files, asked, ingest=True) as of_files,
        _opened(folder / "server", embedder, server, asked) as of_server,
    ):

        async def anew() -> object:
            server.stored_points._kept.clear()
            return await of_server()

        assert _places(await of_files()) == _places(await of_server()), "the two indexes find different passages"
        yield {FILES: of_files, ANEW: anew, KNOWN: of_server}


@asynccontextmanager
async def _opened(
    folder: Path, embedder: Embedder, index: ChunkIndex, asked: Asked, *, ingest: bool = False
) -> AsyncIterator[Callable[[], Awaitable[Any]]]:
    app = create_app(load_settings(data_dir=folder), embedder=embedder, index=index, library=MemoryLibrary())
    async with app.router.lifespan_context(app):
        if ingest:
            await app.state.quoth.ingest.run(open_source(asked.book, book_id=asked.book_id))
        body = json.dumps({"query": asked.query, "book_id": asked.book_id}).encode()
        yield lambda: _post(app, "/search", body)


async def _post(app: ASGIApp, path: str, body: bytes) -> Any:
    """The app's answer, as JSON."""
    headers = {"host": "localhost", "content-type": "application/json", "content-length": str(len(body))}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 1),
        "server": ("localhost", 80),
        "state": {},
    }
    told: list[MutableMapping[str, Any]] = []

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        told.append(message)

    await app(scope, receive, send)
    answer = b"".join(message.get("body", b"") for message in told)
    assert told[0]["status"] == 200, answer
    return json.loads(answer)


def _places(found: Any) -> list[tuple[str, int]]:
    """Which passages, in which order. No passage at all is a bug in this benchmark."""
    places = [(one["chunk_id"], one["rank"]) for one in found["results"]]
    assert places
    return places
