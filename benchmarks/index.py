"""How fast the embedded index is: open time, and p50/p99 of hybrid search with and without filters.

    python benchmarks/index.py [CHUNKS …]

Random unit vectors of 384 dimensions and Zipf-distributed terms: the worst case for a graph, an honest one for a scan.
Prints one line for each size and filter; recall is measured against a brute-force scan with numpy.
"""

from __future__ import annotations

import asyncio
import hashlib
import statistics
import sys
import tempfile
import time
import uuid
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from quoth.adapters.edge import EdgeIndex
from quoth.domain import Chunk, Filters, Fingerprint, IndexedChunk, IndexQuery, TermWeights, Vector

DIMENSIONS = 384
VOCABULARY = 20_000
FINGERPRINT = Fingerprint(embedder="bench", dimensions=DIMENSIONS, chunker="bench", terms="bench")
BOOK = "bench"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
FILTERS = {
    "no filter": Filters(),
    "3 chapters of 20": Filters(chapter_min=3, chapter_max=5),
    "1 section of 300": Filters(section="Section 7"),
    "url prefix, 11 %": Filters(source_url_prefix="https://book.example/page-1"),
}


class Dice:
    def __init__(self) -> None:
        self._random = np.random.default_rng(1)
        ranks = 1 / np.arange(1, VOCABULARY + 1)
        self._zipf = ranks / ranks.sum()

    def vector(self) -> Vector:
        raw = self._random.standard_normal(DIMENSIONS)
        return tuple((raw / np.linalg.norm(raw)).tolist())

    def terms(self, count: int) -> TermWeights:
        ids = np.unique(self._random.choice(VOCABULARY, size=count, p=self._zipf)).tolist()
        return TermWeights(ids=tuple(ids), weights=tuple(1.0 + w for w in self._random.random(len(ids)).tolist()))


def chunk(number: int) -> Chunk:
    text = f"Chunk {number}. " + "A sentence about joints, topics and transforms. " * 20
    return Chunk(
        id=str(uuid.uuid5(uuid.NAMESPACE_URL, str(number))),
        book_id=BOOK,
        text=text,
        start=0,
        end=len(text),
        line=1,
        source_file=f"page-{number // 10}.md",
        source_file_hash=hashlib.sha256(str(number // 10).encode()).hexdigest(),
        title="Page",
        url=f"https://book.example/page-{number // 10}#part-{number % 10}",
        heading_path=(f"Chapter {number % 20}", f"Section {number % 300}"),
        breadcrumb=("Book", "Page"),
        content_hash=hashlib.sha256(text.encode()).hexdigest(),
        parent_doc_id=str(uuid.uuid5(uuid.NAMESPACE_URL, f"page {number // 10}")),
        chunk_index=number % 10,
        total_chunks=10,
        prev_chunk_id=None,
        next_chunk_id=None,
        word_count=150,
        token_count=200,
        char_count=len(text),
        module=f"module-{number % 4}",
        chapter=number % 20,
        lesson=number % 7,
        hardware_tier=1 + number % 4,
    )


async def fill(index: EdgeIndex, dice: Dice, size: int) -> tuple[list[Vector], float, float]:
    vectors = [dice.vector() for _ in range(size)]
    spent = 0.0
    async with index.writer(BOOK) as writer:
        for start in range(0, size, 512):
            points = [
                IndexedChunk(chunk(n), vectors[n], dice.terms(120), f"embed-{n}", NOW, NOW)
                for n in range(start, min(size, start + 512))
            ]
            begun = time.perf_counter()
            await writer.put(points)
            spent += time.perf_counter() - begun
        begun = time.perf_counter()
        await writer.publish()
    return vectors, spent, time.perf_counter() - begun


async def bench(size: int) -> None:
    dice = Dice()
    with tempfile.TemporaryDirectory() as folder:
        index = EdgeIndex(Path(folder), FINGERPRINT)
        vectors, put, publish = await fill(index, dice, size)
        status = await index.status(BOOK)
        reader = EdgeIndex(Path(folder), FINGERPRINT)
        begun = time.perf_counter()
        await reader.count(BOOK)
        opened = time.perf_counter() - begun
        print(
            f"{size:>7} chunks: put {put:.2f} s, publish {publish:.2f} s, open {opened * 1e3:.0f} ms, "
            f"{status.bytes_on_disk / 1e6:.0f} MB on disk"
        )
        for name, filters in FILTERS.items():
            times = await search_times(reader, dice, filters)
            print(f"        {name:<18} p50 {statistics.median(times):6.2f} ms   p99 {percentile(times):6.2f} ms")
        print(f"        recall@50 {await recall(reader, dice, np.array(vectors)):.4f}")
        begun = time.perf_counter()
        queries = [IndexQuery(BOOK, dice.vector(), dice.terms(12)) for _ in range(64)]
        await asyncio.gather(*(reader.search(query) for query in queries))
        print(f"        64 at once: {64 / (time.perf_counter() - begun):.0f} searches/s")
        await reader.close()
        await index.close()


async def search_times(index: EdgeIndex, dice: Dice, filters: Filters, rounds: int = 150) -> list[float]:
    times = []
    for _ in range(rounds):
        query = IndexQuery(BOOK, dice.vector(), dice.terms(12), filters)
        begun = time.perf_counter()
        await index.search(query)
        times.append((time.perf_counter() - begun) * 1e3)
    return times


async def recall(index: EdgeIndex, dice: Dice, vectors: np.ndarray, rounds: int = 20) -> float:
    found = 0
    for _ in range(rounds):
        query = dice.vector()
        best = {chunk(int(n)).id for n in np.argsort(-(vectors @ np.array(query)))[:50]}
        hits = await index.search(IndexQuery(BOOK, query, TermWeights((), ())))
        found += len(best & {hit.chunk_id for hit in hits.dense})
    return found / (rounds * 50)


def percentile(times: list[float]) -> float:
    return statistics.quantiles(times, n=100)[98]


if __name__ == "__main__":
    for wanted in [int(argument) for argument in sys.argv[1:]] or [1_000, 10_000]:
        asyncio.run(bench(wanted))
