"""Calls every endpoint once and stores the responses as the examples of the OpenAPI document.

    python scripts/openapi_examples.py

It uses a tiny book behind the real endpoints, with the fakes that the package ships; only the questions are written by
hand. Run it when an endpoint changes: tests/serve/test_openapi.py compares the examples with the schemas.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import re
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2

from quoth.bootstrap import Quoth, fingerprint_of
from quoth.serve.app import create_app
from quoth.serve.jobs import IngestOrder
from quoth.settings import load_settings
from quoth.sources import open_source
from quoth.testing.embedder import FakeEmbedder
from quoth.testing.index import MemoryIndex
from quoth.testing.library import MemoryLibrary

TARGET = Path(__file__).resolve().parents[1] / "src" / "quoth" / "serve" / "examples.json"
PAGE = """# Topics

A topic carries messages from publishers to subscribers.

## Durability

Transient local durability keeps the last message for late subscribers. Volatile durability keeps nothing.
"""
ARROW = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 3"><path d="M0 1h8L7 0l2 1.5L7 3l1-1H0z"/></svg>'
ASKED = "Which durability keeps the last message for late subscribers?"
SESSION = "6a1f7a9e-2f7e-4c3e-9d57-0d5a3d7b6f10"
REQUEST = "0b8a1f0e-5a53-4f86-9a40-2f4be1b5a111"
SECRET = "It's a Secret to Everybody"


class Clock:
    """A clock that moves by a millisecond each time it is read."""

    def __init__(self) -> None:
        self._now = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        self._now += timedelta(milliseconds=1)
        return self._now

    def monotonic(self) -> float:
        return self.now().timestamp()


@dataclass(frozen=True)
class Worker:
    """Does the work here, instead of in a job's process."""

    quoth: Quoth
    order: IngestOrder
    job_id: int

    async def wait(self) -> str:
        source = open_source(self.order.source, book_id=self.order.book_id, base_url=self.order.base_url)
        await self.quoth.ingest.run(source, job_id=self.job_id)
        return ""

    def stop(self) -> None: ...

    def kill(self) -> None: ...


@dataclass(frozen=True)
class Call:
    """One request to one endpoint. `values` fill the path and become the examples of its parameters."""

    door: str
    body: Mapping[str, Any] | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


def signed(body: Mapping[str, Any]) -> dict[str, str]:
    signature = hmac.new(SECRET.encode(), json.dumps(body).encode(), hashlib.sha256).hexdigest()
    return {"x-hub-signature-256": f"sha256={signature}"}


def calls(chunk_id: str, page_id: str, picture_id: str) -> list[Call]:
    message = {"role": "user", "content": ASKED}
    accept = {"accept": "application/json, text/event-stream", "host": "localhost"}
    repository = {"full_name": "me/ros2-topics", "clone_url": "https://github.com/me/ros2-topics.git"}
    book = {"book_id": "ros2-topics"}
    push = {"ref": "refs/heads/main", "after": "6dcb09b5b57875f334f61aebed695e2e4193db5e", "repository": repository}
    return [
        Call("POST /chat", {"query": ASKED, "session_id": SESSION}),
        Call("POST /chat/stream", {"query": ASKED, "session_id": SESSION}),
        Call("POST /chat/run", {"query": ASKED, "session_id": SESSION, "top_k": 3}),
        Call("PATCH /session/{session_id}", {"tags": ["homework"]}, values={"session_id": SESSION}),
        Call("GET /session/{session_id}", values={"session_id": SESSION}),
        Call("GET /session/{session_id}/history", values={"session_id": SESSION}, query={"limit": 1}),
        Call("POST /feedback", {"session_id": SESSION, "request_id": REQUEST, "rating": "up"}),
        Call("POST /share", {"session_id": SESSION, "request_id": REQUEST}),
        Call("GET /shared/{share_id}"),  # the share created above
        Call("GET /history/{session_id}", values={"session_id": SESSION}, query={"limit": 1}),
        Call("POST /search", {"text": ASKED, "limit": 1}),
        Call("GET /context/{chunk_id}", values={"chunk_id": chunk_id}, query={"prev": 0, "next": 0}),
        Call("GET /lesson/{parent_doc_id}", values={"parent_doc_id": page_id}),
        Call("GET /books"),
        Call("GET /books/{book_id}/contents", values=book),
        Call("GET /books/{book_id}/questions", values=book),
        Call("GET /books/{book_id}/page", values=book, query={"chunk_id": chunk_id}),
        Call("GET /books/{book_id}/figure", values=book, query={"chunk_id": picture_id, "src": "arrow.svg"}),
        Call("GET /llms.txt"),
        Call("GET /books/{book_id}/llms.txt", values=book),
        Call("GET /llms-full.txt"),
        Call("GET /books/{book_id}/llms-full.txt", values=book),
        Call(
            "POST /v1/chat/completions",
            {"model": "quoth/ros2-topics", "messages": [message], "quoth": {"session_id": SESSION}},
        ),
        Call("POST /v1/responses", {"model": "quoth/ros2-topics", "input": ASKED, "quoth": {"session_id": SESSION}}),
        Call("POST /v1/embeddings", {"model": "quoth", "input": "Late subscribers.", "encoding_format": "base64"}),
        Call("GET /v1/models"),
        Call("GET /v1/models/{model}", values={"model": "quoth/ros2-topics"}),
        Call("POST /mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"}, headers=accept),
        Call("POST /ingestion/jobs", {"book_id": "ros2-topics", "mode": "incremental"}),
        Call("GET /ingestion/jobs/{job_id}/events", values={"job_id": 2}),
        Call("GET /ingestion/jobs", query={"limit": 1}),
        Call("GET /ingestion/jobs/{job_id}", values={"job_id": 2}),
        Call("GET /ingestion/changes"),
        Call("POST /ingestion/webhook/github", push, query={"book_id": "ros2-topics"}, headers=signed(push)),
        Call("GET /health"),
        Call("GET /healthz"),
        Call("GET /readyz"),
        Call("GET /metrics"),
        Call("DELETE /session/{session_id}", values={"session_id": SESSION}),
    ]


async def answered(client: httpx2.AsyncClient, call: Call) -> dict[str, Any]:
    method, path = call.door.split(" ")
    content = None if call.body is None else json.dumps(call.body)
    headers = {"content-type": "application/json", "x-request-id": REQUEST, **call.headers}
    response = await client.request(
        method, path.format(**call.values), params=call.query or None, content=content, headers=headers
    )
    if response.status_code >= 400:
        raise SystemExit(f"{call.door}: {response.status_code} {response.text}")
    media_type = response.headers.get("content-type", "").partition(";")[0]
    example: dict[str, Any] = {"status": response.status_code}
    if call.body is not None:
        example["request"] = call.body
    if call.values or call.query:
        example["parameters"] = {**call.values, **call.query}
    if response.content:
        body = response.json() if media_type == "application/json" else response.text
        if call.door == "GET /metrics":  # the first lines are enough
            body = "".join(line for line in body.splitlines(keepends=True)[:3])
        example["response"] = {"type": media_type, "body": body}
    return example


async def examples(folder: Path) -> dict[str, Any]:
    docs = folder / "ros2-topics"
    docs.mkdir()
    (docs / "topics.md").write_text(PAGE, encoding="utf-8")
    (docs / "graph.md").write_text("# The graph\n\n![From publisher to subscriber](arrow.svg)\n", encoding="utf-8")
    (docs / "arrow.svg").write_text(ARROW, encoding="utf-8")
    embedder = FakeEmbedder()
    app = create_app(
        load_settings(
            environ={}, directory=folder, data_dir=folder / "data", github_webhook_secret=SECRET, sharing=True
        ),
        clock=Clock(),
        embedder=embedder,
        index=MemoryIndex(fingerprint_of(embedder)),
        library=MemoryLibrary(now=Clock().now),
        launch=Worker,
    )
    http = httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://localhost")
    async with app.router.lifespan_context(app), http as client:
        quoth: Quoth = app.state.quoth
        source = open_source(docs, book_id="ros2-topics", base_url="https://book.example.com")
        await quoth.ingest.run(source)
        chunks = [chunk async for chunk in quoth.index.scan("ros2-topics")]
        wanted = calls(chunks[-1].id, chunks[-1].parent_doc_id, chunks[0].id)
        found: dict[str, Any] = {}
        for call in wanted:
            if call.door == "GET /shared/{share_id}":
                call = replace(call, values={"share_id": found["POST /share"]["response"]["body"]["share_id"]})
            found[call.door] = await answered(client, call)
        return found


def settled(text: str, folder: Path) -> str:
    """Without what differs from run to run: place, duration and time."""
    text = text.replace(str(folder), "/srv/books")
    text = re.sub(r'(?<=["/])\d+-[\w-]{22}(?=")', "1-mZ0vXJ3m1bq4nQyC8oGd2A", text)
    text = re.sub(r'(\\?"(?:latency_ms|duration_seconds)\\?": ?)[\d.]+', r"\g<1>1.0", text)
    text = re.sub(r'(\\?"created(?:_at)?\\?": ?)\d+', r"\g<1>1767225600", text)
    return re.sub(
        r'(\\?"(?:timestamp|started_at|completed_at)\\?": ?\\?")[^"\\]+', r"\g<1>2026-01-01T00:00:00.000Z", text
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        found = asyncio.run(examples(Path(place)))
        text = settled(json.dumps(found, ensure_ascii=False, indent=1), Path(place))
    TARGET.write_text(text + "\n", encoding="utf-8")
    sys.stdout.write(f"{TARGET}: {len(found)} doors\n")


if __name__ == "__main__":
    main()
