"""The embedded index as a book grows: `make bench-index` (with real texts: DATA=../shared/data).

Vectors are those of MiniLM: of the texts of the public sets when their folder is named, else of the sample book; the
bulk are mixtures of two texts near each other, with noise, so that they lie as close together as those of a large
book do. Terms are mixed with them. Questions are real and not among the texts. Each size is measured in a process of
its own: building, opening, searching with and without filters, several at once, an edit of one page, and the share of
the best ten that an exact comparison with numpy finds as well. Writes docs/benchmarks/index.json, .md and .svg.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from corpora import LOADERS, Floats, vectors_of
from embedding import BOOK as SAMPLE
from embedding import GOLDEN, REPORTS, machine
from plot import chart
from quoth.ask.find import Retriever
from quoth.domain import Chunk, Filters, Fingerprint, IndexedChunk, IndexQuery, Labels, TermWeights, Vector
from quoth.index.embedded import EdgeIndex
from quoth.models.minilm import MiniLMEmbedder
from quoth.ports import Embedder, TokenCounter
from quoth.testing.embedder import FakeEmbedder
from quoth.text.terms import passage_weights, query_weights

DIMENSIONS = 384
SIZES = (1_000, 10_000, 100_000)
QUESTIONS = 300
DEPTH = 50
FINGERPRINT = Fingerprint(embedder="bench", dimensions=DIMENSIONS, chunker="bench", terms="bench")
BOOK = "bench"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
PER_PAGE = 10
FILTERS = {
    "hybrid": Filters(),
    "3 chapters of 20": Filters(chapter_min=3, chapter_max=5),
    "1 section of 300": Filters(section="Section 7"),
    "a folder, 11 %": Filters(source_url_prefix="https://book.example/part-1/"),
    "a prefix in it": Filters(source_url_prefix="https://book.example/part-1/page-1"),
    "one page": Filters(parent_doc_id=str(uuid.uuid5(uuid.NAMESPACE_URL, "page 42"))),
    "3 tiers of 4": Filters(hardware_tier=3),
    "all tiers": Filters(hardware_tier=4),
    "the whole site": Filters(source_url_prefix="https://book.example/"),
}


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    dense: Vector
    sparse: TermWeights


class Texts:
    """A book of any size, mixed from real texts."""

    def __init__(self, texts: Sequence[str], vectors: Floats) -> None:
        self._vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        self._terms = [passage_weights(text) for text in texts]
        nearest = min(50, len(texts) - 1)
        self._near = np.argsort(-(self._vectors @ self._vectors.T), axis=1)[:, 1 : nearest + 1]

    def vectors(self, size: int) -> tuple[Floats, list[tuple[int, int]]]:
        dice = np.random.default_rng(5)
        first = dice.integers(0, len(self._vectors), size)
        second = self._near[first, dice.integers(0, self._near.shape[1], size)]
        share = dice.uniform(0.35, 0.65, (size, 1))
        noise = dice.standard_normal((size, DIMENSIONS))
        noise *= 0.35 / np.linalg.norm(noise, axis=1, keepdims=True)
        mixed = share * self._vectors[first] + (1 - share) * self._vectors[second] + noise
        mixed /= np.linalg.norm(mixed, axis=1, keepdims=True)
        return mixed.astype(np.float32), list(zip(first.tolist(), second.tolist(), strict=True))

    def terms(self, pair: tuple[int, int]) -> TermWeights:
        one, other = (self._terms[number] for number in pair)
        mixed = dict(list(zip(one.ids, one.weights, strict=True))[::2])
        mixed |= dict(list(zip(other.ids, other.weights, strict=True))[1::2])
        ids = tuple(sorted(mixed))
        return TermWeights(ids, tuple(mixed[term] for term in ids))


async def material(data: Path | None, cache: Path) -> tuple[Texts, list[Question]]:
    embedder = MiniLMEmbedder()
    sets = [sample()] if data is None else loaded(data, embedder.tokens)
    vectors = np.vstack([await vectors_of(texts, embedder, cache) for texts, _ in sets])
    asked = np.vstack([await vectors_of(questions, embedder, cache) for _, questions in sets])
    await embedder.close()
    words = [question for _, questions in sets for question in questions]
    chosen = [number * len(words) // QUESTIONS for number in range(QUESTIONS)]
    questions = [Question(words[n], tuple(asked[n].tolist()), query_weights(words[n])) for n in chosen]
    return Texts([text for texts, _ in sets for text in texts], vectors), questions


def loaded(data: Path, tokens: TokenCounter) -> list[tuple[list[str], list[str]]]:
    sets = [load(data, tokens) for load in LOADERS.values()]
    return [([chunk.text for chunk in chunks], [question.text for question in asked]) for chunks, asked in sets]


def sample() -> tuple[list[str], list[str]]:
    pages = [page.read_text(encoding="utf-8") for page in sorted(SAMPLE.rglob("*.md*"))]
    texts = [part for page in pages for part in page.split("\n\n") if len(part) > 80]
    return texts, re.findall(r" question: (.+)", GOLDEN.read_text(encoding="utf-8"))


def chunk(number: int) -> Chunk:
    page = number // PER_PAGE
    text = f"Chunk {number}. " + "A sentence about joints, topics and transforms. " * 20
    return Chunk(
        id=str(uuid.uuid5(uuid.NAMESPACE_URL, str(number))),
        book_id=BOOK,
        text=text,
        start=0,
        end=len(text),
        line=1,
        source_file=f"page-{page}.md",
        source_file_hash=hashlib.sha256(str(page).encode()).hexdigest(),
        title="Page",
        url=f"https://book.example/part-{page % 9}/page-{page}#part-{number % PER_PAGE}",
        heading_path=(f"Chapter {number % 20}", f"Section {number % 300}"),
        breadcrumb=("Book", "Page"),
        content_hash=hashlib.sha256(text.encode()).hexdigest(),
        parent_doc_id=str(uuid.uuid5(uuid.NAMESPACE_URL, f"page {page}")),
        chunk_index=number % PER_PAGE,
        total_chunks=PER_PAGE,
        prev_chunk_id=None,
        next_chunk_id=None,
        word_count=150,
        token_count=200,
        char_count=len(text),
        labels=Labels(
            module=f"module-{number % 4}", chapter=number % 20, lesson=number % 7, hardware_tier=1 + number % 4
        ),
    )


async def build(folder: Path, texts: Texts, size: int) -> dict[str, float]:
    vectors, pairs = texts.vectors(size)
    index = EdgeIndex(folder, FINGERPRINT)
    before, put = anonymous(), 0.0
    async with index.writer(BOOK) as writer:
        for start in range(0, size, 512):
            numbers = range(start, min(size, start + 512))
            points = [
                IndexedChunk(chunk(n), tuple(vectors[n].tolist()), texts.terms(pairs[n]), f"embed-{n}", NOW, NOW)
                for n in numbers
            ]
            begun = time.perf_counter()
            await writer.put(points)
            put += time.perf_counter() - begun
        begun = time.perf_counter()
        await writer.publish()
        publish = time.perf_counter() - begun
    status = await index.status(BOOK)
    await index.close()
    return {
        "put_s": put,
        "publish_s": publish,
        "disk_mb": status.bytes_on_disk / 1e6,
        "build_anonymous_mb": anonymous() - before,
    }


async def edit(index: EdgeIndex, texts: Texts, number: int) -> float:
    """All chunks of one page anew, one of them with another vector, as an ingest would do it."""
    vectors, pairs = texts.vectors(1_000)
    begun = time.perf_counter()
    async with index.writer(BOOK) as writer:
        stored = await writer.stored()
        ids = [chunk(number * PER_PAGE + n).id for n in range(PER_PAGE)]
        kept = await writer.vectors([stored[id].embed_hash for id in ids[1:]])
        first = IndexedChunk(
            replace(chunk(number * PER_PAGE), title="Edited"),
            tuple(vectors[number].tolist()),
            texts.terms(pairs[number]),
            f"edited-{number}",
            NOW,
            NOW,
        )
        rest = [
            replace(first, chunk=replace(chunk(number * PER_PAGE + n), title="Edited"), dense=vector, embed_hash=hash)
            for n, (hash, vector) in enumerate(kept.items(), start=1)
        ]
        await writer.put([first, *rest])
        await writer.publish()
    return time.perf_counter() - begun


async def times(index: EdgeIndex, questions: Sequence[Question], filters: Filters) -> dict[str, float]:
    spent, worked = [], time.process_time()
    for question in questions:
        query = IndexQuery(BOOK, question.dense, question.sparse, filters, DEPTH)
        begun = time.perf_counter()
        await index.search(query)
        spent.append((time.perf_counter() - begun) * 1e3)
    worked = (time.process_time() - worked) * 1e3 / len(questions)
    return {
        "p50_ms": statistics.median(spent),
        "p99_ms": statistics.quantiles(spent, n=100)[98],
        "processor_ms": worked,
    }


async def at_once(index: EdgeIndex, asked: Sequence[Question], tasks: int, model: Embedder | None = None) -> float:
    """Searches in a second, by so many askers, each waiting for its answer."""
    waiting = iter(asked)

    async def ask() -> None:
        for question in waiting:
            dense = await model.embed_query(question.text) if model else question.dense
            await index.search(IndexQuery(BOOK, dense, question.sparse, Filters(), DEPTH))

    begun = time.perf_counter()
    await asyncio.gather(*(ask() for _ in range(tasks)))
    return len(asked) / (time.perf_counter() - begun)


class Known(FakeEmbedder):
    """Its vectors are there: what is measured is all of a retrieval but the embedding."""

    def __init__(self, questions: Sequence[Question]) -> None:
        super().__init__(dimensions=DIMENSIONS)
        self._known = {question.text: question.dense for question in questions}

    async def embed_query(self, text: str) -> Vector:
        return self._known[text]


async def retrieval(index: EdgeIndex, questions: Sequence[Question]) -> dict[str, float]:
    retriever = Retriever(index, Known(questions))
    spent = []
    for question in questions:
        begun = time.perf_counter()
        await retriever.find(question.text, book_id=BOOK)
        spent.append((time.perf_counter() - begun) * 1e3)
    return {"p50_ms": statistics.median(spent), "p99_ms": statistics.quantiles(spent, n=100)[98]}


async def recall(index: EdgeIndex, questions: Sequence[Question], vectors: Floats) -> dict[str, float]:
    numbers = {chunk(number).id: number for number in range(len(vectors))}
    found = {10: 0.0, 50: 0.0}
    for question in questions:
        exact = np.argsort(-(vectors @ np.array(question.dense, dtype=np.float32)))[:50].tolist()
        hits = await index.search(IndexQuery(BOOK, question.dense, TermWeights((), ()), limit=50))
        for depth in found:
            best = {numbers[hit.chunk_id] for hit in hits.dense[:depth]}
            found[depth] += len(best & set(exact[:depth])) / depth / len(questions)
    return {f"recall_{depth}": share for depth, share in found.items()}


async def measure(size: int, data: Path | None, cache: Path) -> dict[str, object]:
    texts, questions = await material(data, cache)
    with tempfile.TemporaryDirectory() as folder:
        built = await build(Path(folder), texts, size)
        index = EdgeIndex(Path(folder), FINGERPRINT)
        begun, before = time.perf_counter(), anonymous()
        await times(index, questions[:2], Filters())
        opened = {"open_s": time.perf_counter() - begun, "open_anonymous_mb": anonymous() - before}
        await times(index, questions[:20], Filters())
        searched = {name: await times(index, questions, filters) for name, filters in FILTERS.items()}
        found = await recall(index, questions[:100], texts.vectors(size)[0])
        concurrent = {f"{tasks}": await at_once(index, questions, tasks) for tasks in (1, 2, 16)}
        embedder = MiniLMEmbedder()
        await embedder.load()
        for tasks in (1, 16):
            concurrent[f"{tasks}, embedded too"] = await at_once(index, questions, tasks, embedder)
        await embedder.close()
        whole = await retrieval(index, questions)
        edits = [await edit(index, texts, number) for number in range(5)]
        after = await times(index, questions, Filters())
        await index.close()
    return {
        "size": size,
        **built,
        **opened,
        **found,
        "search": {**searched, "hybrid, after edits": after},
        "retrieval": whole,
        "searches_per_s": concurrent,
        "edit_s": statistics.median(edits),
        "load": os.getloadavg()[0],
    }


def anonymous() -> float:
    """MB of this process that no file backs."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("RssAnon:")[1].split()[0]) / 1024


def as_page(report: dict[str, object]) -> str:
    data = json.loads(json.dumps(report))
    rows = data["sizes"]
    worked = [f"{one['search']['hybrid']['processor_ms']:.1f}" for one in rows]
    gained = [f"{one['searches_per_s']['16'] / one['searches_per_s']['1']:.2f}" for one in rows]

    def row(label: str, values: Sequence[str], wanted: str = "") -> str:
        return f"| {label} | {' | '.join(values)} | {wanted} |"

    def pair(found: dict[str, float]) -> str:
        return f"{found['p50_ms']:.1f} / {found['p99_ms']:.1f}"

    return "\n".join(
        [
            "# The embedded index as a book grows",
            "",
            "Written by `make bench-index`; every number is measured. Searches are without the embedding of the query:",
            f"{QUESTIONS} real questions, the best {DEPTH} by vector and by words each. Vectors are MiniLM's, mixed",
            f"from {data['texts']}.",
            f"{data['machine']['cores']} cores of {data['machine']['cpu']}; load at the end of each size: "
            + ", ".join(f"{one['load']:.1f}" for one in rows)
            + ". Read it with the load: alone on two cores is below 1.",
            "",
            "![time of a search against the number of chunks](index.svg)",
            "",
            row("chunks", [f"{one['size']:,}" for one in rows], "wanted at 100,000"),
            "|---|" + "---|" * (len(rows) + 1),
            *(
                row(f"{name}, p50 / p99 ms", [pair(one["search"][name]) for one in rows], "≤ 5 / ≤ 25")
                for name in rows[0]["search"]
            ),
            row("whole retrieval, p50 / p99 ms", [pair(one["retrieval"]) for one in rows]),
            row("processor time of a hybrid search, ms", worked),
            row("the best 10 of an exact scan found", [f"{one['recall_10']:.4f}" for one in rows], "≥ 0.99"),
            row("the best 50", [f"{one['recall_50']:.4f}" for one in rows], "≥ 0.99"),
            row("opening and two searches, s", [f"{one['open_s']:.2f}" for one in rows], "≤ 2"),
            *(
                row(f"searches a second at once: {tasks}", [f"{one['searches_per_s'][tasks]:.0f}" for one in rows])
                for tasks in rows[0]["searches_per_s"]
            ),
            row("16 at once against one", gained, "≥ 1.6 on two free cores"),
            row("an edit of one page, s", [f"{one['edit_s']:.3f}" for one in rows]),
            row("writing all chunks, s", [f"{one['put_s']:.1f}" for one in rows]),
            row("publishing them, s", [f"{one['publish_s']:.1f}" for one in rows]),
            row("on disk, MB", [f"{one['disk_mb']:.0f}" for one in rows]),
            row("memory of an open book, no file behind it, MB", [f"{one['open_anonymous_mb']:.0f}" for one in rows]),
            "",
            "Up to 5,000 chunks the engine scans; larger books are searched by columns (decision 0012).",
            "",
        ]
    )


def drawing(rows: Sequence[dict[str, object]]) -> str:
    data = json.loads(json.dumps(rows))
    lines = {
        "hybrid, p50": [(one["size"], one["search"]["hybrid"]["p50_ms"]) for one in data],
        "hybrid, p99": [(one["size"], one["search"]["hybrid"]["p99_ms"]) for one in data],
        "3 chapters of 20, p50": [(one["size"], one["search"]["3 chapters of 20"]["p50_ms"]) for one in data],
        "all tiers, p50": [(one["size"], one["search"]["all tiers"]["p50_ms"]) for one in data],
    }
    limits = {"wanted: p50 5 ms": 5.0, "wanted: p99 25 ms": 25.0}
    return chart("Search in the embedded index", "chunks in the book", "ms", lines, limits)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the embedded index at growing sizes.")
    parser.add_argument("--data", type=Path, help="the folder of the public sets; default: the sample book's texts")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "quoth-bench")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--one", type=int, help="measure this size in this process and print it as JSON")
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(asyncio.run(measure(asked.one, asked.data, asked.cache))))
        return
    named = ["--data", str(asked.data)] if asked.data else []
    rows = []
    for size in asked.sizes:
        command = [sys.executable, __file__, "--one", str(size), "--cache", str(asked.cache), *named]
        rows.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
        print(json.dumps(rows[-1]), file=sys.stderr)
    texts = ", ".join(LOADERS) if asked.data else "the sample book"
    report: dict[str, object] = {"machine": machine(), "texts": texts, "sizes": rows}
    REPORTS.mkdir(parents=True, exist_ok=True)
    (REPORTS / "index.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    (REPORTS / "index.md").write_text(as_page(report), encoding="utf-8")
    (REPORTS / "index.svg").write_text(drawing(rows), encoding="utf-8")
    print(as_page(report))


if __name__ == "__main__":
    main()
