"""What an edit costs our process, and what it sends, in books of several sizes on a Qdrant server.

Called by `cluster.py`. The tests' stand-in is the server, in a separate process: its time is not counted.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from quoth.bootstrap import fingerprint_of
from quoth.domain import IdSet, IndexedChunk
from quoth.index.qdrant import QdrantIndex
from quoth.index.qdrant_records import TermCounts, decode_files, encode_files
from quoth.index.qdrant_server import QdrantOptions
from quoth.ports import Embedder

Json = dict[str, Any]
Recorded = Callable[[QdrantIndex], list[tuple[str, Json]]]
COLLECTION = "of-{size}"
PATIENT = 600.0  # seconds; the stand-in takes its time with 100,000 points


async def edit_costs(
    url: str, embedder: Embedder, book_id: str, sizes: tuple[int, ...], recorded: Recorded
) -> dict[str, Json]:
    """One page of four chunks in books of several sizes: our CPU, the requests, the chunks written."""
    found: dict[str, Json] = {}
    template = await _template(url, embedder, book_id)
    for size in sizes:
        name = COLLECTION.format(size=size)
        options = QdrantOptions(urls=(url,), collection=name, batch=500, timeout=PATIENT, lease=9 * PATIENT)
        index = QdrantIndex(options, fingerprint_of(embedder))
        async with index.writer("edited") as writer:
            for start in range(0, size, 1000):
                await writer.put([_numbered(template, number) for number in range(start, start + 1000)])
            await writer.publish()
        sent = recorded(index)
        begun = time.process_time()
        async with index.writer("edited") as writer:
            await writer.files()
            held = await writer.stored(files=["page-7.md"])
            await writer.vectors(["other"])
            await writer.put([_numbered(template, number, text="changed") for number in range(28, 32)])
            await writer.publish()
        assert len(held) == 4
        spent = time.process_time() - begun
        found[f"{size:,}"] = {"cpu_ms": round(spent * 1000, 1), "requests": len(sent), "written": _written(sent, size)}
        await index.close()
    return found


def _written(sent: list[tuple[str, Json]], size: int) -> int:
    """How many whole chunks were sent. Points of the ledger's collection are not chunks."""
    chunks = f"/collections/{COLLECTION.format(size=size)}/points"
    return sum(len(body.get("points", ())) for path, body in sent if path == chunks and "points" in body)


async def _template(url: str, embedder: Embedder, book_id: str) -> IndexedChunk:
    index = QdrantIndex(QdrantOptions(urls=(url,)), fingerprint_of(embedder))
    point = await anext(aiter(index.points(book_id)))
    await index.close()
    return point


def _numbered(one: IndexedChunk, number: int, text: str = "") -> IndexedChunk:
    id = f"00000000-0000-4000-8000-{number:012}"
    chunk = replace(one.chunk, id=id, book_id="edited", source_file=f"page-{number // 4}.md", title=text or "Page")
    return replace(one, chunk=chunk)


def records(chunks: int) -> Json:
    """What an edit and a new reader read about a whole book."""
    dice = random.Random(1)
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
