"""The embedded index as a book grows: `make bench-index` (with real texts: BENCH_ARGS="--data FOLDER").

Vectors are those of MiniLM: for the texts of the public sets if their folder is named, otherwise for the sample book.
The bulk is mixed from pairs of similar texts, with noise, so that vectors are as close together as in a
large book; terms are mixed in the same way. Questions are real and not among the texts. Each size is measured in a
separate process: building, opening, verifying, searching with and without filters, several searches at once, an edit
of one page, and the share of the best ten that an exact comparison with numpy finds as well. Processor time is given
beside wall-clock time, because it says more on a busy machine. Writes docs/benchmarks/index.json, .md and .svg.
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
from index_page import as_page, drawing
from quoth.ask.find import Retriever
from quoth.domain import Chunk, Filters, Fingerprint, IndexedChunk, IndexQuery, Labels, TermWeights, Vector
from quoth.index.embedded import EmbeddedIndex
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


class Stopwatch:
    """Wall-clock and processor time spent inside it; may be entered many times."""

    def __init__(self) -> None:
        self.seconds = self.processor = 0.0

    def __enter__(self) -> None:
        self._begun = time.perf_counter(), time.process_time()

    def __exit__(self, *_: object) -> None:
        self.seconds += time.perf_counter() - self._begun[0]
        self.processor += time.process_time() - self._begun[1]

    def named(self, what: str) -> dict[str, float]:
        return {f"{what}_s": self.seconds, f"{what}_processor_s": self.processor}


async def build(folder: Path, texts: Texts, size: int) -> dict[str, float]:
    vectors, pairs = texts.vectors(size)
    index = EmbeddedIndex(folder, FINGERPRINT)
    before, putting, publishing = anonymous(), Stopwatch(), Stopwatch()
    async with index.writer(BOOK) as writer:
        for start in range(0, size, 512):
            numbers = range(start, min(size, start + 512))
            points = [
                IndexedChunk(chunk(n), tuple(vectors[n].tolist()), texts.terms(pairs[n]), f"embed-{n}", NOW, NOW)
                for n in numbers
            ]
            with putting:
                await writer.put(points)
        with publishing:
            await writer.publish()
    status = await index.status(BOOK)
    await index.close()
    return {
        **putting.named("put"),
        **publishing.named("publish"),
        "disk_mb": status.bytes_on_disk / 1e6,
        "build_anonymous_mb": anonymous() - before,
    }


async def edit(index: EmbeddedIndex, texts: Texts, number: int) -> Stopwatch:
    """Put all chunks of one page again, one of them with another vector, as an ingest would."""
    vectors, pairs = texts.vectors(1_000)
    spent = Stopwatch()
    with spent:
        await _edited(index, texts, number, vectors, pairs)
    return spent


async def _edited(
    index: EmbeddedIndex, texts: Texts, number: int, vectors: Floats, pairs: Sequence[tuple[int, int]]
) -> None:
    async with index.writer(BOOK) as writer:
        await writer.files()
        ids = [chunk(number * PER_PAGE + n).id for n in range(PER_PAGE)]
        stored = await writer.stored(files=[chunk(number * PER_PAGE).source_file], ids=ids)
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


async def times(index: EmbeddedIndex, questions: Sequence[Question], filters: Filters) -> dict[str, float]:
    spent, worked = [], time.process_time()
    for question in questions:
        query = IndexQuery(question.dense, question.sparse, filters, DEPTH)
        begun = time.perf_counter()
        await index.view(BOOK).search(query)
        spent.append((time.perf_counter() - begun) * 1e3)
    worked = (time.process_time() - worked) * 1e3 / len(questions)
    return {
        "p50_ms": statistics.median(spent),
        "p99_ms": statistics.quantiles(spent, n=100)[98],
        "processor_ms": worked,
    }


async def at_once(index: EmbeddedIndex, asked: Sequence[Question], tasks: int, model: Embedder | None = None) -> float:
    """Searches per second, by this many callers, each waiting for its answer."""
    waiting = iter(asked)

    async def ask() -> None:
        for question in waiting:
            dense = await model.embed_query(question.text) if model else question.dense
            await index.view(BOOK).search(IndexQuery(dense, question.sparse, Filters(), DEPTH))

    begun = time.perf_counter()
    await asyncio.gather(*(ask() for _ in range(tasks)))
    return len(asked) / (time.perf_counter() - begun)


class Known(FakeEmbedder):
    """Already knows the vectors, so that a whole retrieval is measured without the embedding."""

    def __init__(self, questions: Sequence[Question]) -> None:
        super().__init__(dimensions=DIMENSIONS)
        self._known = {question.text: question.dense for question in questions}

    async def embed_query(self, text: str) -> Vector:
        return self._known[text]


async def retrieval(index: EmbeddedIndex, questions: Sequence[Question]) -> dict[str, float]:
    retriever = Retriever(index, Known(questions))
    spent = []
    for question in questions:
        begun = time.perf_counter()
        await retriever.find(question.text, book_id=BOOK)
        spent.append((time.perf_counter() - begun) * 1e3)
    return {"p50_ms": statistics.median(spent), "p99_ms": statistics.quantiles(spent, n=100)[98]}


async def recall(index: EmbeddedIndex, questions: Sequence[Question], vectors: Floats) -> dict[str, float]:
    numbers = {chunk(number).id: number for number in range(len(vectors))}
    found = {10: 0.0, 50: 0.0}
    for question in questions:
        exact = np.argsort(-(vectors @ np.array(question.dense, dtype=np.float32)))[:50].tolist()
        hits = await index.view(BOOK).search(IndexQuery(question.dense, TermWeights((), ()), limit=50))
        for depth in found:
            best = {numbers[hit.chunk_id] for hit in hits.dense[:depth]}
            found[depth] += len(best & set(exact[:depth])) / depth / len(questions)
    return {f"recall_{depth}": share for depth, share in found.items()}


async def measure(size: int, data: Path | None, cache: Path) -> dict[str, object]:
    texts, questions = await material(data, cache)
    with tempfile.TemporaryDirectory() as folder:
        built = await build(Path(folder), texts, size)
        index = EmbeddedIndex(Path(folder), FINGERPRINT)
        opening, verifying, before = Stopwatch(), Stopwatch(), anonymous()
        with opening:
            await times(index, questions[:2], Filters())
        opened = {**opening.named("open"), "open_anonymous_mb": anonymous() - before}
        with verifying:
            await index.verify(BOOK)
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
        **verifying.named("verify"),
        **found,
        "search": {**searched, "hybrid, after edits": after},
        "retrieval": whole,
        "searches_per_s": concurrent,
        "edit_s": statistics.median(one.seconds for one in edits),
        "edit_processor_s": statistics.median(one.processor for one in edits),
        "load": os.getloadavg()[0],
    }


def anonymous() -> float:
    """MB of this process's memory that are not pages of a file."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("RssAnon:")[1].split()[0]) / 1024


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
    report = {"machine": machine(), "texts": texts, "questions": QUESTIONS, "depth": DEPTH, "sizes": rows}
    REPORTS.mkdir(parents=True, exist_ok=True)
    (REPORTS / "index.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    (REPORTS / "index.md").write_text(as_page(report), encoding="utf-8")
    (REPORTS / "index.svg").write_text(drawing(rows), encoding="utf-8")
    print(as_page(report))


if __name__ == "__main__":
    main()
