"""Texts that another program put into Qdrant: whatever it called its fields, they become pages and answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from commands import quoth as command
from quoth.domain import Page
from quoth.errors import NotFound, Unreadable
from quoth.index.qdrant_foreign import foreign_payloads
from quoth.index.qdrant_server import QdrantOptions
from quoth.sources.collection import CollectionSource

SITE = "https://docs.example.com"
PAYLOADS: list[dict[str, Any]] = [
    {
        "text": "Volatile durability keeps nothing.",
        "source_url": f"{SITE}/topics#b",
        "title": "Topics",
        "chunk_position": 1,
    },
    {
        "text": "Transient local durability keeps the last message for late subscribers.",
        "source_url": f"{SITE}/topics#a",
        "title": "Topics",
        "section": "Durability",
        "chunk_position": 0,
    },
    {"page_content": "A node is a process.", "metadata": {"source": "nodes.md", "heading": "Nodes", "index": 0}},
    {"image": "no text at all"},
]


def pages_of(payloads: list[dict[str, Any]]) -> dict[str, Page]:
    source = CollectionSource("docs", payloads, book_id="docs")
    return {file.source_file: source.read(file) for file in source.files()}


def test_pieces_become_pages_in_order_under_their_headings() -> None:
    pages = pages_of(PAYLOADS)
    assert sorted(pages) == [f"{SITE}/topics", "nodes.md"]
    topics = pages[f"{SITE}/topics"]
    assert topics.url == f"{SITE}/topics"
    assert topics.text == (
        "# Topics\n\n## Durability\n\nTransient local durability keeps the last message for late subscribers.\n\n"
        "Volatile durability keeps nothing.\n"
    )
    assert pages["nodes.md"].text == "# nodes.md\n\n## Nodes\n\nA node is a process.\n"
    assert pages["nodes.md"].url == ""


def test_labels_are_taken_over_if_they_mean_something() -> None:
    labels = {"module": "ros2", "chapter": 2, "lesson": 3, "hardware_tier": 2, "proficiency_level": "B1", "layer": "L2"}
    one = {"content": "One.", "source_file": "one.md", **labels}
    page = pages_of([one])["one.md"]
    assert (page.labels.module, page.labels.chapter, page.labels.lesson) == ("ros2", 2, 3)
    assert (page.labels.hardware_tier, page.labels.proficiency_level, page.labels.layer) == (2, "B1", "L2")
    odd = {"content": "Odd.", "source_file": "odd.md", "chapter": "Chapter 3", "hardware_tier": 9, "layer": "top"}
    assert pages_of([odd])["odd.md"].labels.chapter is None
    twice = pages_of([one, {**one, "source_file": "two.md"}])
    assert {page.labels.lesson for page in twice.values()} == {None}


def test_the_digest_changes_with_the_text_and_only_then() -> None:
    [before] = CollectionSource("docs", PAYLOADS[:1], book_id="docs").files()
    [same] = CollectionSource("docs", PAYLOADS[:1], book_id="docs").files()
    [after] = CollectionSource("docs", [{**PAYLOADS[0], "text": "Other."}], book_id="docs").files()
    assert before == same != after


def test_a_collection_without_texts_says_what_it_would_need() -> None:
    with pytest.raises(Unreadable, match="no texts") as caught:
        CollectionSource("pictures", [{"image": "x"}, {}], book_id="pictures")
    assert "page_content" in caught.value.hint


class Foreign(BaseHTTPRequestHandler):
    """A Qdrant server with one collection, `docs`, which it returns in pages of two."""

    def do_GET(self) -> None:
        self._say({"title": "qdrant - vector search engine", "version": "1.19.0"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path.partition("?")[0] != "/collections/docs/points/scroll":
            missing = {"status": {"error": "Not found: Collection `other` doesn't exist!"}, "time": 0.0}
            return self._say(missing, status=404)
        start = body.get("offset", 0)
        end = start + 2
        points = [{"id": at, "payload": PAYLOADS[at]} for at in range(start, min(end, len(PAYLOADS)))]
        found = {"points": points, "next_page_offset": end if end < len(PAYLOADS) else None}
        return self._say({"result": found, "status": "ok", "time": 0.0})

    def _say(self, body: object, *, status: int = 200) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    served = ThreadingHTTPServer(("127.0.0.1", 0), Foreign)
    thread = threading.Thread(target=served.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{served.server_port}"
    served.shutdown()
    served.server_close()
    thread.join()


async def test_every_payload_of_a_collection_is_read(server: str) -> None:
    options = QdrantOptions(urls=(server,))
    assert [payload async for payload in foreign_payloads(options, "docs")] == PAYLOADS
    with pytest.raises(NotFound, match="no collection 'other'"):
        [payload async for payload in foreign_payloads(options, "other")]


@pytest.mark.slow
def test_a_foreign_collection_is_taken_over_and_answers(server: str, tmp_path: Path) -> None:
    def run(*words: str, **more: str) -> str:
        done = command(*words, "--data-dir", tmp_path, **more)
        assert done.returncode == 0, done.stderr
        return done.stdout

    said = run("migrate-index", "--from-collection", "docs", "--to", "embedded", QDRANT_URL=server)
    assert "Ingested docs: 2 pages" in said
    answer = run("ask", "Which durability keeps the last message for late subscribers?")
    assert "Transient local durability keeps the last message" in answer
    assert f"{SITE}/topics#durability" in answer
    same = command("migrate-index", "--from-collection", "docs", QDRANT_URL=server, QDRANT_COLLECTION_NAME="docs")
    assert same.returncode == 2
    assert "QDRANT_COLLECTION_NAME" in same.stderr
