"""How much load `quoth serve` handles without a language model, and what HTTP adds to an answer.

The sample book on loopback: /search and extractive /chat with 32 readers (`load_client.py`, a separate process), with
one and two workers, on SQLite and on a PostgreSQL server from the system's packages; a minute without an error where
that is the target; what the HTTP layer adds to one answer; a hundred open streams. Writes docs/benchmarks/load.json
and load.md.
Server, database and readers share the machine's cores, so all figures are lower bounds.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import load_client
from quoth.ask.request import ChatRequest
from quoth.bootstrap import bootstrap
from quoth.settings import load_settings
from quoth.testing.model_server import ModelServer, says

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "examples" / "robotics-book"
READERS = 32
STREAMS = 100
TEMPLATES = (
    "What is {a}?",
    "How do I use {a} together with {b}?",
    "Why does {a} matter for {b}?",
    "What is the difference between {a} and {b}?",
    "Where is {a} configured, and does {b} depend on it?",
)


def headings() -> list[str]:
    found = [
        heading
        for page in sorted(BOOK.rglob("*.md*"))
        for heading in re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.M)
    ]
    return sorted(set(found))


def new_questions(seed: int = 7) -> Iterator[str]:
    """Questions in the book's words, never the same twice."""
    pairs = list(itertools.product(TEMPLATES[1:], itertools.permutations(headings(), 2)))
    random.Random(seed).shuffle(pairs)
    return (template.format(a=a, b=b) for template, (a, b) in pairs)


QUESTIONS = new_questions()
MOST_A_SECOND = 400  # questions kept ready: more than two cores can answer


def take(number: int) -> list[str]:
    taken = list(itertools.islice(QUESTIONS, number))
    if len(taken) < number:
        raise RuntimeError("there are not that many different questions")
    return taken


@contextmanager
def served(data: Path, workers: int, **variables: str) -> Iterator[int]:
    """The port of a server that is ready."""
    server = subprocess.Popen(
        [sys.executable, "-m", "quoth", "serve", "--port", "0", "--workers", str(workers), "--data-dir", str(data)],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "QUOTH_RATE_LIMIT": "0", **variables},
    )
    assert server.stderr is not None
    try:
        said = server.stderr.readline()
        found = re.search(r":(\d+)/ ", said)
        assert found is not None, said
        port = int(found[1])
        ask(port, "/chat", take(64), readers=16, seconds=20)  # until every worker has its model and index open
        yield port
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=40) == 0


def ask(port: int, door: str, questions: list[str], *, readers: int = READERS, seconds: float = 10) -> dict[str, Any]:
    order = {"port": port, "door": door, "readers": readers, "seconds": seconds, "questions": questions}
    client = subprocess.run(
        [sys.executable, load_client.__file__],
        input=json.dumps(order) + "\n",
        capture_output=True,
        text=True,
        check=True,
    )
    answered: dict[str, Any] = json.loads(client.stdout)
    return answered


def carried(port: int, door: str, seconds: float) -> dict[str, Any]:
    seen = ask(port, door, take(int(seconds * MOST_A_SECOND)), seconds=seconds)
    latencies = sorted(seen["latencies"])
    return {
        "seconds": round(seen["seconds"], 1),
        "requests": len(latencies),
        "per_second": round(len(latencies) / seen["seconds"], 1),
        "p50_ms": round(statistics.median(latencies), 1),
        "p95_ms": round(latencies[int(len(latencies) * 0.95)], 1),
        "p99_ms": round(latencies[int(len(latencies) * 0.99)], 1),
        "errors": seen["faults"],
    }


async def overhead(data: Path, rounds: int) -> dict[str, float]:
    """The same answer in this process and over HTTP, in turns, one reader; medians in milliseconds."""
    settings = load_settings(environ={}, data_dir=data)
    inside: list[float] = []
    outside: list[float] = []
    async with bootstrap(settings) as quoth:
        book = (await quoth.library.books())[0]
        with served(data, 1) as port:
            reading, writing = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
            for number, query in enumerate(take(rounds)):
                question = ChatRequest.model_validate({"query": query}).to_question(
                    book=book, request_id="", top_k=settings.top_k
                )
                began = time.perf_counter()
                await quoth.conversations.answer(question)
                middle = time.perf_counter()
                writing.write(load_client.request(port, "/chat", {"query": query}))
                await load_client.read_response(reading)
                if number >= rounds // 10:
                    inside.append((middle - began) * 1000)
                    outside.append((time.perf_counter() - middle) * 1000)
            writing.close()
    difference = statistics.median(there - here for here, there in zip(inside, outside, strict=True))
    return {
        "in_process_p50_ms": round(statistics.median(inside), 2),
        "http_p50_ms": round(statistics.median(outside), 2),
        "overhead_p50_ms": round(difference, 2),
    }


async def streams(data: Path, workers: int) -> dict[str, Any]:
    """All streams open at once: a scripted model takes two seconds for its words."""
    words = [f"word{number} " for number in range(40)]
    async with ModelServer(says(*words, "[1]", pace=0.05)) as model:
        variables = {"OPENAI_BASE_URL": model.url, "OPENAI_MODEL": "scripted"}

        def measure() -> dict[str, Any]:
            with served(data, workers, **variables) as port:
                question = "How do late subscribers get the last message that was published?"
                return ask(port, "/chat/stream", [question] * STREAMS, readers=STREAMS)

        seen = await asyncio.to_thread(measure)
    whole = STREAMS - sum(seen["faults"].values())
    return {"asked": STREAMS, "open_at_once": seen["together"], "whole": whole, "errors": seen["faults"]}


@contextmanager
def postgres() -> Iterator[str]:
    sys.path.insert(0, str(ROOT / "tests"))
    from postgres_server import PostgresServer, binaries

    found = binaries()
    if found is None:
        raise SystemExit("PostgreSQL's initdb is not installed; leave it out: --without-postgres")
    server = PostgresServer(found)
    try:
        server.start("-c fsync=on -c synchronous_commit=on")  # as an operator would run it
        yield server.new_database()
    finally:
        server.remove()


def copied(data: Path, url: str) -> None:
    """The book's entry in the other store, so that the same index is served."""
    subprocess.run(
        [sys.executable, "-m", "quoth", "ingest", str(BOOK), "--data-dir", str(data), "--mode", "full"],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "DATABASE_URL": url},
    )


def measured(data: Path, *, short: float, long: float, with_postgres: bool) -> dict[str, Any]:
    figures: dict[str, Any] = {"cores": os.cpu_count(), "readers": READERS, "load_before": os.getloadavg()[0]}
    carrying: dict[str, Any] = {}

    def carry(store: str, workers: int, seconds: float, **variables: str) -> None:
        with served(data, workers, **variables) as port:
            for door in ("/search", "/chat"):
                carrying[f"{door}, {store}, {workers} workers"] = carried(port, door, seconds)
                print(door, store, workers, carrying[f"{door}, {store}, {workers} workers"], flush=True)

    carry("SQLite", 1, short)
    carry("SQLite", 2, long)
    figures["http"] = asyncio.run(overhead(data, 300))
    figures["streams"] = {str(workers): asyncio.run(streams(data, workers)) for workers in (1, 2)}
    if with_postgres:
        with postgres() as url:
            copied(data, url)
            for workers in (1, 2):
                carry("PostgreSQL", workers, short, DATABASE_URL=url)
    figures["carried"] = carrying
    figures["load_after"] = os.getloadavg()[0]
    return figures


def page(figures: dict[str, Any]) -> str:
    rows = "\n".join(
        f"| {name} | {row['per_second']} | {row['p50_ms']} | {row['p95_ms']} | {row['p99_ms']} | "
        f"{sum(row['errors'].values())} | {row['requests']} in {row['seconds']} s |"
        for name, row in figures["carried"].items()
    )
    gained = "\n".join(
        f"- `{door}` on {store}: two workers have {pair[1] / pair[0]:.2f} times the throughput of one"
        for door, store, pair in scaling(figures)
    )
    streams = "\n".join(
        f"- {workers} worker(s): {row['whole']} of {row['asked']} arrived whole, {row['open_at_once']} open at once"
        for workers, row in figures["streams"].items()
    )
    http = figures["http"]
    return f"""# Load

Written by `make bench-load` on {figures["cores"]} cores that server, database and {figures["readers"]} readers
share. Load of the machine at the start: {figures["load_before"]:.1f} (should be near 0). The sample book, no language
model, every question asked once, so that nothing comes from a cache. Target: at least 60 requests a second with p99 at
most 1,000 ms and no error in a minute; at most 5 ms for HTTP; no stream lost.

| door, store | requests/s | p50 ms | p95 ms | p99 ms | errors | |
|---|---|---|---|---|---|---|
{rows}

{gained}

HTTP: an answer takes {http["in_process_p50_ms"]} ms in process and {http["http_p50_ms"]} ms over HTTP:
{http["overhead_p50_ms"]} ms more for the same question (medians of pairs, one reader).

Streams, with a scripted model that takes two seconds for its words:

{streams}
"""


def scaling(figures: dict[str, Any]) -> Iterator[tuple[str, str, tuple[float, float]]]:
    rows = figures["carried"]
    for door, store in itertools.product(("/search", "/chat"), ("SQLite", "PostgreSQL")):
        pair = [rows.get(f"{door}, {store}, {workers} workers") for workers in (1, 2)]
        if all(pair):
            yield door, store, (pair[0]["per_second"], pair[1]["per_second"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="length of the runs that must show no error (default 60)"
    )
    parser.add_argument("--short", type=float, default=15.0, help="length of the other runs (default 15)")
    parser.add_argument("--without-postgres", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        subprocess.run(
            [sys.executable, "-m", "quoth", "ingest", str(BOOK), "--data-dir", str(data)],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        figures = measured(data, short=given.short, long=given.seconds, with_postgres=not given.without_postgres)
    out = ROOT / "docs" / "benchmarks"
    (out / "load.json").write_text(json.dumps(figures, indent=2) + "\n")
    (out / "load.md").write_text(page(figures))
    print(page(figures))


if __name__ == "__main__":
    main()
