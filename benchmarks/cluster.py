"""What one retrieval from a Qdrant server costs our process, and what an edit of a large book has to read.

The server is the stand-in of the tests, in a process of its own: its times say nothing, so only the CPU of this process
is measured, beside that of qdrant-client with the same two searches in one request. `python benchmarks/cluster.py`
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

from qdrant_client import AsyncQdrantClient, models

from quoth.domain import Chunk, Fingerprint, IdSet, IndexedChunk, IndexQuery, Labels, TermWeights
from quoth.index.qdrant import QdrantIndex
from quoth.index.qdrant_records import TermCounts, decode_files, encode_files
from quoth.index.qdrant_server import QdrantOptions

TESTS = Path(__file__).parent.parent / "tests"
SERVER = """
import sys
from qdrant_wire import qdrant_wire
with qdrant_wire() as wire:
    print(wire.url, flush=True)
    sys.stdin.read()
"""
BOOK, CHUNKS, DIMENSIONS, ROUNDS = "bench", 264, 384, 30
FOUND, READ = 50, 25  # of each list; of the best
dice = random.Random(1)


def a_chunk(number: int) -> IndexedChunk:
    vector = [dice.gauss(0, 1) for _ in range(DIMENSIONS)]
    length = sum(value * value for value in vector) ** 0.5
    terms = sorted(dice.sample(range(5_000), 60))
    text = " ".join(f"word{dice.randrange(5_000)}" for _ in range(140))
    now, id = datetime.now(UTC), f"00000000-0000-4000-8000-{number:012}"
    chunk = Chunk(
        id=id, book_id=BOOK, source_file=f"{number // 4}.md", source_file_hash="0" * 64, text=text, start=0,
        end=len(text), title="Page", url="https://book.example/page", heading_path=("Page",), breadcrumb=("Page",),
        content_hash=f"{number:064}", parent_doc_id=id, chunk_index=number % 4, total_chunks=4, prev_chunk_id=None,
        next_chunk_id=None, word_count=140, token_count=200, char_count=len(text), labels=Labels(),
    )  # fmt: skip
    weights = TermWeights(tuple(terms), tuple(1.0 for _ in terms))
    return IndexedChunk(chunk, tuple(value / length for value in vector), weights, f"{number:064}", now, now)


async def cpu_ms(call: Callable[[], Awaitable[object]]) -> float:
    """The median CPU of this process for one call."""
    spent = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        await call()
        spent.append((time.process_time() - begun) * 1000)
    return round(statistics.median(spent), 2)


async def retrievals(url: str) -> dict[str, float]:
    fingerprint = Fingerprint("bench", DIMENSIONS, "bench", "bench")
    index = QdrantIndex(QdrantOptions(urls=(url,)), fingerprint)
    book = [a_chunk(number) for number in range(CHUNKS)]
    async with index.writer(BOOK) as writer:
        await writer.put(book)
        await writer.publish()
    query = IndexQuery(book[7].dense, TermWeights(book[9].sparse.ids[:8], (1.0,) * 8), limit=FOUND, count=False)

    async def ours(*, keep: bool) -> None:
        if not keep:
            index.stored_points._kept.clear()
        view = index.view(BOOK)
        hits = await view.search(query)
        await view.idf(query.sparse.ids)
        ids = [hit.chunk_id for hit in hits.dense][:READ]
        await view.chunks(ids)
        await view.dense_vectors(ids)

    client = AsyncQdrantClient(url, check_compatibility=False)
    sparse = models.SparseVector(indices=list(query.sparse.ids), values=list(query.sparse.weights))

    async def theirs() -> None:
        wanted: list[tuple[list[float] | models.SparseVector, str]] = [
            (list(query.dense), "dense-384"),
            (sparse, "terms"),
        ]
        searches = [
            models.QueryRequest(query=models.NearestQuery(nearest=one), using=name, limit=READ, with_payload=True)
            for one, name in wanted
        ]
        await client.query_batch_points("quoth", searches)

    figures = {
        "ours, nothing known": await cpu_ms(lambda: ours(keep=False)),
        "ours, passages known": await cpu_ms(lambda: ours(keep=True)),
        "qdrant-client, two searches with payloads in one request": await cpu_ms(theirs),
    }
    await client.close()
    await index.close()
    return figures


def records(chunks: int) -> dict[str, float]:
    """What an edit reads of a book as a whole, and what a reader reads once."""
    files = {f"part-{n // 50}/page-{n}.md": IdSet.of([f"{n}-{m}" for m in range(20)]) for n in range(chunks // 20)}
    terms = TermCounts.of({dice.randrange(2**32): dice.randrange(1, chunks) for _ in range(60_000)})
    as_files, as_terms = encode_files(files), terms.encode()
    begun = time.process_time()
    decode_files(as_files)
    read_files = time.process_time()
    TermCounts.decode(as_terms)
    return {
        "files_kB": round(len(as_files) / 1000, 1),
        "files_ms": round((read_files - begun) * 1000, 1),
        "terms_kB": round(len(as_terms) / 1000, 1),
        "terms_ms": round((time.process_time() - read_files) * 1000, 1),
    }


def main() -> None:
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER], cwd=TESTS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        found = asyncio.run(retrievals(server.stdout.readline().strip()))
    finally:
        server.kill()
        server.wait()
    print(json.dumps({"cpu_ms": found, "records of 100,000 chunks": records(100_000)}, indent=2))


if __name__ == "__main__":
    main()
