"""What Prometheus gets: true counts of all workers, with few labels."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from doors import ASKED, SESSION, UNKNOWN, Doors, a_key, closed, opened
from quoth.bootstrap import fingerprint_of
from quoth.domain import ToolCall
from quoth.errors import IndexUnavailable, ModelUnavailable
from quoth.serve.metrics import CACHES
from quoth.testing.embedder import FakeEmbedder
from quoth.testing.index import MemoryIndex
from quoth.testing.model import ScriptedModel
from samples import question

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def parsed(text: str) -> Samples:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def scraped(doors: Doors) -> Samples:
    response = await doors.client.get("/metrics")
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    return parsed(response.text)


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples.get((f"quoth_{name}", frozenset(labels.items())), 0.0)


async def test_requests_are_counted_by_door_method_and_status(tmp_path: Path) -> None:
    async with opened(tmp_path) as doors:
        await doors.ask()
        await doors.ask()
        await doors.stream()
        await doors.client.post("/chat", json={"query": ""})
        await doors.client.get(f"/history/{SESSION}")
        found = await scraped(doors)
    assert value(found, "http_requests_total", door="/chat", method="POST", status="2xx") == 2
    assert value(found, "http_requests_total", door="/chat", method="POST", status="4xx") == 1
    assert value(found, "http_requests_total", door="/chat/stream", method="POST", status="2xx") == 1
    assert value(found, "http_requests_total", door="/history/{session_id}", method="GET", status="4xx") == 1
    assert value(found, "http_request_seconds_count", door="/chat") == 3
    assert value(found, "http_in_flight") == 1  # the scrape itself
    assert value(found, "problems_total", code="EMPTY_QUERY") == 1
    assert value(found, "problems_total", code="SESSION_NOT_FOUND") == 1


async def test_pages_and_files_are_counted_at_their_own_door(tmp_path: Path) -> None:
    paths = {"/": "/", "/widget.js": "/widget.js", "/assets/page.css": "/assets", "/openapi.json": "/openapi.json"}
    async with opened(tmp_path) as doors:
        for path in paths:
            assert (await doors.client.get(path)).status_code == 200
        await doors.client.get("/assets/nothing.css")
        found = await scraped(doors)
    for door in paths.values():
        assert value(found, "http_requests_total", door=door, method="GET", status="2xx") == 1
    assert value(found, "http_requests_total", door="/assets", method="GET", status="4xx") == 1
    assert value(found, "http_requests_total", door="refused", method="GET", status="2xx") == 0


async def test_nothing_that_a_stranger_sends_makes_a_new_label(tmp_path: Path) -> None:
    async with opened(tmp_path) as doors:
        before = await scraped(doors)
        for number in range(30):
            await doors.client.get(f"/secret-path-{number}/x?y={number}")
            await doors.client.get(f"/history/{SESSION[:-2]}{number:02}")
            await doors.client.get(f"/errors/NO_SUCH_CODE_{number}")
            await doors.client.request(f"FOO{number}", "/chat")
            await doors.client.get("/context/some-chunk", headers={"x-request-id": f"id-{number}"})
        once = await scraped(doors)
        for number in range(30, 60):
            await doors.client.get(f"/secret-path-{number}/x?y={number}")
            await doors.client.request(f"FOO{number}", "/chat")
        twice = await scraped(doors)
    assert len(once) - len(before) < 200
    assert once.keys() == twice.keys()
    labels = {label for _, labels in twice for label in labels}
    assert not [text for _, text in labels if "secret" in text or "FOO" in text or SESSION[:8] in text]
    assert value(twice, "http_requests_total", door="unknown", method="GET", status="4xx") == 60


async def test_who_is_not_let_in_comes_to_no_door_and_is_counted(tmp_path: Path) -> None:
    async with opened(tmp_path, settings={"auth": "keys"}) as doors:
        assert (await doors.client.post("/chat", json={"query": ASKED})).status_code == 401
        found = parsed(doors.app.state.metrics.exposition().decode())
    assert value(found, "http_requests_total", door="refused", method="POST", status="4xx") == 1
    assert value(found, "problems_total", code="UNAUTHORIZED") == 1


async def test_answers_are_counted_by_mode_with_their_stages_and_first_words(tmp_path: Path) -> None:
    async with opened(tmp_path) as doors:
        await doors.ask()
        await doors.stream()
        await doors.ask(UNKNOWN)
        found = await scraped(doors)
    assert value(found, "answers_total", mode="extractive", level="high") == 2
    assert value(found, "answers_total", mode="no_results", level="insufficient") == 1
    assert value(found, "refusals_total", by="judge") == 1
    for stage in ("retrieve", "judge", "answer", "check"):
        assert value(found, "stage_seconds_count", stage=stage) == 3
    assert value(found, "first_token_seconds_count", mode="extractive") == 2
    assert value(found, "answer_seconds_count", mode="no_results") == 1
    assert value(found, "model_tokens_total", direction="written") == 0


async def test_what_was_understood_before_is_counted_as_found(tmp_path: Path) -> None:
    for kept in CACHES.values():
        kept.cache_clear()
    async with opened(tmp_path) as doors:
        await doors.ask()
        once = await scraped(doors)
        await doors.ask()
        twice = await scraped(doors)

    def lookups(found: str, samples: Samples) -> list[float]:
        return [value(samples, "cache_lookups_total", cache=name, found=found) for name in CACHES]

    assert min(lookups("no", once)) > 0
    assert lookups("no", twice) == lookups("no", once)
    assert all(later > before for later, before in zip(lookups("yes", twice), lookups("yes", once), strict=True))


async def test_a_model_is_counted_with_its_tokens_refusals_and_failures(tmp_path: Path) -> None:
    refusal = "I don't have information about that in the book content"
    call = ToolCall("c1", "search_book_content", '{"query": "deadline"}')
    words = (
        "Transient local durability keeps the last message for late subscribers. [1] It was built in Atlantis 9. [1]"
    )
    model = ScriptedModel([[call], [words], [refusal], [ModelUnavailable("down")]])
    async with opened(tmp_path, model=model) as doors:
        for _ in range(3):
            await doors.ask()
        found = await scraped(doors)
    assert value(found, "model_tokens_total", direction="written") == 21  # three calls that came to an end
    assert value(found, "refusals_total", by="model") == 1
    assert value(found, "outages_total", part="model") == 1
    assert value(found, "unsupported_sentences_total") == 1
    assert sum(number for (name, _), number in found.items() if name == "quoth_answers_total") == 3


class DeafIndex(MemoryIndex):
    deaf = False

    async def asked(self, call: str, book_id: str) -> None:
        if self.deaf and call == "search":
            raise IndexUnavailable("The index cannot be read.")
        await super().asked(call, book_id)


async def test_outages_are_counted_by_the_part_that_failed(tmp_path: Path) -> None:
    index = DeafIndex(fingerprint_of(FakeEmbedder()))
    async with opened(tmp_path, index=index) as doors:
        index.deaf = True
        assert (await doors.client.post("/chat", json={"query": ASKED})).status_code == 503
        assert (await doors.client.post("/search", json={"text": ASKED})).status_code == 503
        found = await scraped(doors)
    assert value(found, "outages_total", part="index") == 2
    assert value(found, "problems_total", code="QDRANT_UNAVAILABLE") == 2
    assert value(found, "unfinished_answers_total", why="failed") == 1


async def test_the_size_of_each_book_and_what_its_ingest_saved_are_looked_up(tmp_path: Path) -> None:
    async with opened(tmp_path, books=2) as doors:
        found = await scraped(doors)
        assert value(found, "index_chunks", book="book") == value(found, "index_chunks", book="book-2") == 3
        assert value(found, "ingest_chunks", book="book", embedding="made") == 3
        assert value(found, "part_health", part="index") == 2
        await doors.quoth.index.delete_book("book-2")
        assert ("quoth_index_chunks", frozenset({("book", "book-2")})) not in await scraped(doors)


async def test_a_key_of_one_book_sees_the_figures_of_no_other(tmp_path: Path) -> None:
    async with closed(tmp_path, books=2) as doors:
        everything = (await doors.client.get("/metrics", headers=await a_key(doors, "admin"))).text
        bound = (await doors.client.get("/metrics", headers=await a_key(doors, "admin", book_id="book-2"))).text
    books = [
        {dict(labels)["book"] for _, labels in parsed(text) if "book" in dict(labels)} for text in (everything, bound)
    ]
    assert books == [{"book", "book-2"}, {"book-2"}]
    assert value(parsed(bound), "ingest_chunks", book="book-2", embedding="made") == 3


class SickIndex(MemoryIndex):
    async def books(self) -> list[str]:
        raise IndexUnavailable("The index cannot be read.")


async def test_a_scrape_answers_while_a_part_is_down_and_says_which(tmp_path: Path) -> None:
    async with opened(tmp_path, index=SickIndex(fingerprint_of(FakeEmbedder()))) as doors:
        found = await scraped(doors)
    assert value(found, "part_health", part="index") == 0
    assert value(found, "part_health", part="database") == 2


async def test_two_applications_in_one_process_count_for_themselves(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    async with opened(tmp_path / "a") as one, opened(tmp_path / "b") as other:
        await one.ask()
        assert value(await scraped(one), "answers_total", mode="extractive", level="high") == 1
        assert value(await scraped(other), "answers_total", mode="extractive", level="high") == 0


WORKER = """
import asyncio, sys
from pathlib import Path
from doors import opened

async def main() -> None:
    async with opened(Path(sys.argv[1])) as doors:
        for _ in range(int(sys.argv[2])):
            await doors.ask()
        sys.stdout.write((await doors.client.get("/metrics")).text)

asyncio.run(main())
"""
PARENT = """
import os, subprocess, sys
from pathlib import Path
from quoth.serve.metrics import SHARED, shared_metrics

with shared_metrics() as forget:
    folder = Path(os.environ[SHARED])
    for number in ("1", "2"):
        place = sys.argv[1] + "/" + number
        os.mkdir(place)
        run = subprocess.Popen([sys.executable, "-c", sys.argv[2], place, number], stdout=subprocess.PIPE, text=True)
        text = run.communicate()[0]
        forget(run.pid)
    assert list(folder.glob("counter_*.db")), "no worker has written its figures"
    assert not list(folder.glob("gauge_livesum_*.db")), "a worker that has ended still has requests under way"
assert not folder.exists() and SHARED not in os.environ
sys.stdout.write(text)
"""


@pytest.mark.slow
def test_whichever_worker_is_asked_tells_the_figures_of_all(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    run = subprocess.run(
        [sys.executable, "-c", PARENT, str(tmp_path), WORKER], capture_output=True, text=True, env=environment
    )
    assert run.returncode == 0, run.stderr
    found = parsed(run.stdout)
    assert value(found, "answers_total", mode="extractive", level="high") == 3  # one of the first, two of the second
    assert value(found, "http_requests_total", door="/chat", method="POST", status="2xx") == 3
    assert value(found, "stage_seconds_count", stage="retrieve") == 3
    assert value(found, "http_in_flight") == 1
    assert value(found, "index_chunks", book="book") == 3


async def test_a_stream_that_its_reader_leaves_is_an_answer_that_was_left(tmp_path: Path) -> None:
    async with opened(tmp_path) as doors:
        seen = doors.app.state.metrics
        events = doors.quoth.conversations.ask(question(ASKED))
        await anext(events)
        await events.aclose()
        found = parsed(seen.exposition().decode())
    assert value(found, "unfinished_answers_total", why="left") == 1
