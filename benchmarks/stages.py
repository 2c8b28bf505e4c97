"""What each stage of one search costs, on the embedded index and the shipped model, with the sample book.

The time in Python (parsing the query, fusing, second looks) is that of a search whose index and embedder answer
from memory; the rest is timed call by call, over the golden questions. The lowest time suffers least from a busy
machine.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar, cast

import yaml

from quoth.ask.find import Retriever, prepare
from quoth.bootstrap import bootstrap
from quoth.domain import Chunk, IndexHits, IndexQuery, TermWeights, Vector
from quoth.ports import ChunkIndex, Embedder
from quoth.settings import load_settings
from quoth.sources import open_source

EXAMPLES = Path(__file__).parent.parent / "examples"
BOOK = "robotics-book"
T = TypeVar("T")


class Answered:
    """The index and the embedder for one query, with every answer already in memory."""

    def __init__(self, index: ChunkIndex, embedder: Embedder) -> None:
        self._index, self._embedder = index, embedder
        self.name, self.tokens, self.dimensions = embedder.name, embedder.tokens, embedder.dimensions
        self._known: dict[str, object] = {}

    async def _once(self, what: str, ask: Callable[[], Awaitable[T]]) -> T:
        if what not in self._known:
            self._known[what] = await ask()
        return cast(T, self._known[what])

    async def embed_query(self, text: str) -> Vector:
        return await self._once("embed", lambda: self._embedder.embed_query(text))

    def view(self, book_id: str) -> Answered:
        return self

    async def search(self, query: IndexQuery) -> IndexHits:
        return await self._once("search", lambda: self._index.view(BOOK).search(query))

    async def idf(self, term_ids: Sequence[int]) -> dict[int, float]:
        return await self._once("idf", lambda: self._index.view(BOOK).idf(term_ids))

    async def chunks(self, ids: Sequence[str]) -> list[Chunk]:
        return await self._once(f"chunks {ids}", lambda: self._index.view(BOOK).chunks(ids))

    async def dense_vectors(self, ids: Sequence[str]) -> Mapping[str, Sequence[float]]:
        return await self._once("vectors", lambda: self._index.view(BOOK).dense_vectors(ids))


async def stage_times() -> dict[str, dict[str, float]]:
    golden = yaml.safe_load((EXAMPLES / "golden.yaml").read_text(encoding="utf-8"))
    queries = [one["question"] for one in golden["answerable"]]
    spent: dict[str, list[float]] = {}

    async def timed(stage: str, work: Callable[[], Awaitable[T]]) -> T:
        begun = time.perf_counter()
        result = await work()
        spent.setdefault(stage, []).append((time.perf_counter() - begun) * 1e3)
        return result

    with tempfile.TemporaryDirectory() as folder:
        async with bootstrap(load_settings(data_dir=Path(folder))) as quoth:
            await quoth.ingest.run(open_source(EXAMPLES / BOOK, book_id=BOOK))
            await Retriever(quoth.index, quoth.embedder).find(queries[0], book_id=BOOK)
            for query in queries:
                await one_search(query, quoth.index, quoth.embedder, timed)
    return {
        stage: {
            "least_ms": round(min(times), 2),
            "p50_ms": round(statistics.median(times), 2),
            "p99_ms": round(statistics.quantiles(times, n=100)[98], 2),
        }
        for stage, times in spent.items()
    }


async def one_search(
    query: str,
    index: ChunkIndex,
    embedder: Embedder,
    timed: Callable[[str, Callable[[], Awaitable[object]]], Awaitable[object]],
) -> None:
    asked = prepare(query, embedder.tokens)
    vector = cast(Vector, await timed("embed", lambda: embedder.embed_query(asked.readable)))
    await timed("dense", lambda: index.view(BOOK).search(IndexQuery(vector, TermWeights((), ()))))
    hits = cast(
        IndexHits, await timed("dense_and_sparse", lambda: index.view(BOOK).search(IndexQuery(vector, asked.sparse)))
    )
    await timed("rarity", lambda: index.view(BOOK).idf(asked.term_ids))
    evidence = await Retriever(index, embedder).find(query, book_id=BOOK, limit=20)
    found: list[Chunk] = [passage.chunk for passage in evidence.passages]
    await timed("read", lambda: index.view(BOOK).chunks([hit.chunk_id for hit in hits.dense[:40]]))
    await timed("fetch", lambda: index.view(BOOK).dense_vectors([chunk.id for chunk in found]))
    memory = Answered(index, embedder)
    from_memory = Retriever(cast(ChunkIndex, memory), cast(Embedder, memory))
    await from_memory.find(query, book_id=BOOK)
    await timed("fuse", lambda: from_memory.find(query, book_id=BOOK))
    await timed("whole", lambda: Retriever(index, embedder).find(query, book_id=BOOK))
