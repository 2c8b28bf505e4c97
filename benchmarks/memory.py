"""How much memory an ingest takes as the book grows: a part of `make bench-ingestion`.

    python benchmarks/memory.py BOOK DATA-DIR       one ingest in this process; prints one line of JSON

The book is made on disk from a fixed seed: pages of 50 short sections, no two alike. Source, chunker, index and
database are the real ones; only the embedder is a fake with the same 384 dimensions, because the model takes the same
memory for every book. Each size is ingested whole in a separate process, so that a peak belongs to one size.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

from quoth.bootstrap import bootstrap
from quoth.domain import Vector
from quoth.settings import load_settings
from quoth.sources import open_source
from quoth.testing.embedder import FakeEmbedder

SECTIONS = 50  # per page; each becomes one chunk
WORDS = 110  # per section
VOCABULARY = 20_000
DIMENSIONS = 384
BOOK_ID = "synthetic"


class Peak(TypedDict):
    pages: int
    chunks: int
    seconds: float
    peak_mb: float  # the most memory that was resident at any moment, mapped files included
    anonymous_mb: float  # at the end, memory that is not backed by a file
    loaded_mb: float  # before the ingest, after the imports


class ForgetfulEmbedder(FakeEmbedder):
    """The fake keeps every text for tests to look at; here that would grow with the book."""

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        made = await super().embed_passages(texts)
        self.calls.clear()
        return made


def write_pages(folder: Path, numbers: range) -> None:
    syllables = ["ro", "bot", "joint", "ne", "ta", "lim", "or", "ser", "vo", "ka", "pub", "lish", "gra", "ph", "in"]
    letters = random.Random(1)
    vocabulary = ["".join(letters.choices(syllables, k=letters.randint(1, 4))) for _ in range(VOCABULARY)]
    weights = [1 / rank for rank in range(1, VOCABULARY + 1)]
    for number in numbers:
        dice = random.Random(number)
        words = iter(dice.choices(vocabulary, weights, k=SECTIONS * WORDS))
        sections = []
        for section in range(SECTIONS):
            sentences = [" ".join(next(words) for _ in range(11)).capitalize() + "." for _ in range(WORDS // 11)]
            sections.append(f"## Part {section} of page {number}\n\n" + " ".join(sentences) + "\n")
        page = folder / f"chapter-{number // 50:03}" / f"page-{number:05}.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(f"# Page {number}\n\n" + "\n".join(sections), encoding="utf-8")


def resident(field: str) -> float:
    found = re.search(rf"^{field}:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert found is not None
    return int(found.group(1)) / 1024


async def ingest_once(book: Path, data_dir: Path) -> Peak:
    settings = load_settings(data_dir=data_dir)
    loaded = resident("VmRSS")
    begun = time.perf_counter()
    async with bootstrap(settings, embedder=ForgetfulEmbedder(dimensions=DIMENSIONS)) as quoth:
        job = await quoth.ingest.run(open_source(str(book), book_id=BOOK_ID))
    return Peak(
        pages=job.files_discovered,
        chunks=job.chunks_created + job.chunks_kept,
        seconds=time.perf_counter() - begun,
        peak_mb=resident("VmHWM"),
        anonymous_mb=resident("RssAnon"),
        loaded_mb=loaded,
    )


def in_a_process(book: Path, data_dir: Path) -> Peak:
    done = subprocess.run(
        [sys.executable, __file__, str(book), str(data_dir)], check=True, capture_output=True, text=True, env=os.environ
    )
    peak: Peak = json.loads(done.stdout)
    return peak


def measure(sizes: Sequence[int]) -> dict[str, object]:
    """The peak at each number of chunks, and of a second ingest of the largest book after one page was edited."""
    peaks = []
    with tempfile.TemporaryDirectory() as folder:
        book, written = Path(folder) / "book", 0
        data_dir = Path(folder)
        for chunks in sorted(sizes):
            pages = -(-chunks // SECTIONS)
            write_pages(book, range(written, pages))
            written = pages
            data_dir = Path(folder) / f"data-{chunks}"
            peaks.append(in_a_process(book, data_dir))
            print(json.dumps(peaks[-1]), file=sys.stderr)
        edited = next(book.rglob("*.md"))
        edited.write_text(edited.read_text(encoding="utf-8") + "\nOne more sentence.\n", encoding="utf-8")
        again = in_a_process(book, data_dir)
        print(json.dumps(again), file=sys.stderr)
    return {"fresh": peaks, "edit_of_one_page": again}


def main() -> None:
    book, data_dir = sys.argv[1:]
    print(json.dumps(asyncio.run(ingest_once(Path(book), Path(data_dir)))))


if __name__ == "__main__":
    main()
