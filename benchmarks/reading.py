"""How fast books are read and split, and what splitting does to them.

    python benchmarks/reading.py [FOLDER…]      default: the sample book

Each folder is opened as a book. Speed is CPU time and wall time, best of several rounds with files cached, beside a
baseline in the same run: markdown-it-py alone, rendering the same pages to HTML as its users do. "Cold" starts with an
empty word cache, "warm" has seen this book. Then the promises are checked on every page: offsets, coverage, limit,
fences and tables. Writes docs/benchmarks/reading.json and .md.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, cast

from markdown_it import MarkdownIt

from quoth.chunks import cut as cutting
from quoth.chunks.split import embedding_text, split
from quoth.domain import Chunk, Page
from quoth.models.minilm import MiniLMEmbedder
from quoth.ports import TokenCounter
from quoth.sources import open_source
from quoth.text.markdown import Block, leaves, parse

ROOT = Path(__file__).parent.parent
SAMPLE = ROOT / "examples" / "robotics-book"
OUT = ROOT / "docs" / "benchmarks"


class Spent(NamedTuple):
    cpu: float
    wall: float


def best_of(rounds: int, work: Callable[[], object], before: Callable[[], object] = lambda: None) -> Spent:
    """The lowest CPU time and the lowest wall time; `before` is not timed."""
    spent = []
    for _ in range(rounds):
        before()
        cpu, wall = time.process_time(), time.perf_counter()
        work()
        spent.append(Spent(time.process_time() - cpu, time.perf_counter() - wall))
    return Spent(min(one.cpu for one in spent), min(one.wall for one in spent))


def split_all(pages: Sequence[Page], tokens: TokenCounter) -> None:
    for page in pages:
        split(page, tokens)


def cold_split(rounds: int, pages: Sequence[Page]) -> Spent:
    """A fresh tokenizer each time, so that no earlier round helps this one."""
    fresh: list[TokenCounter] = []

    def renew() -> None:
        cutting._WORDS.clear()  # freeing a tokenizer takes time too
        fresh[:] = [MiniLMEmbedder().tokens]
        fresh[0].counts(["loaded"])

    return best_of(rounds, lambda: split_all(pages, fresh[0]), renew)


def walk(blocks: Sequence[Block]) -> list[Block]:
    return [found for block in blocks for found in (block, *walk(block.children))]


def cuts(page: Page, chunks: Sequence[Chunk], tokens: TokenCounter) -> Counter[str]:
    """How many blocks of each kind exist, were cut, and were cut although they would have fitted."""
    counted: Counter[str] = Counter()
    covered = bytearray(len(page.text))
    for chunk in chunks:
        counted["wrong offsets"] += chunk.text != page.text[chunk.start : chunk.end]
        covered[chunk.start : chunk.end] = b"x" * (chunk.end - chunk.start)
    blocks = parse(page.text, markup=page.markup, start=page.body_start)
    for leaf in leaves(blocks):
        if leaf.kind != "markup":
            seen = (covered[at] or page.text[at].isspace() for at in range(leaf.start, leaf.end))
            counted["uncovered"] += not all(seen)
    for block in walk(blocks):
        if block.kind not in ("fence", "table", "admonition", "list", "paragraph"):
            continue
        counted[f"{block.kind}: all"] += 1
        start = block.end - len(page.text[block.start : block.end].lstrip())
        if any(chunk.start <= start and chunk.end >= block.end for chunk in chunks):
            continue
        counted[f"{block.kind}: cut"] += 1
        first = next(chunk for chunk in chunks if chunk.start < block.end and chunk.end > block.start)
        alone = replace(first, text=page.text[start : block.end], lead="")
        counted[f"{block.kind}: cut but fits"] += tokens.counts([embedding_text(alone)])[0] <= tokens.limit
    return counted


def measure(folder: Path, tokens: TokenCounter, rounds: int) -> tuple[dict[str, object], list[Page]]:
    source = open_source(folder, book_id="bench")
    files = source.files()
    pages = [source.read(file) for file in files]
    size = sum(len(page.text.encode()) for page in pages) / 1e6
    baseline = MarkdownIt("commonmark").enable("table")
    split_all(pages, tokens)
    spent = {
        "markdown-it-py": best_of(rounds, lambda: [baseline.render(page.text[page.body_start :]) for page in pages]),
        "read": best_of(rounds, lambda: [source.read(file) for file in files]),
        "parse": best_of(rounds, lambda: [parse(p.text, markup=p.markup, start=p.body_start) for p in pages]),
        "parse + split, cold": cold_split(rounds, pages),
        "parse + split, warm": best_of(rounds, lambda: split_all(pages, tokens)),
    }
    speed = {
        name: {"mb_per_cpu_second": round(size / one.cpu, 2), "mb_per_second": round(size / one.wall, 2)}
        for name, one in spent.items()
    }
    print(f"\n{folder.name}: {source.toolchain}, {len(pages)} pages, {size:.2f} MB, {len(source.skipped)} skipped")
    for name, one in spent.items():
        print(f"  {name:20} {size / one.cpu:6.2f} MB/CPU-s  {size / one.wall:6.2f} MB/s")
    figures: dict[str, object] = {"book": folder.name, "pages": len(pages), "mb": round(size, 3), "speed": speed}
    return figures, pages


def check(pages: Sequence[Page], tokens: TokenCounter) -> None:
    made = [split(page, tokens) for page in pages]
    sizes = tokens.counts([embedding_text(chunk) for chunks in made for chunk in chunks])
    counted: Counter[str] = Counter()
    for page, chunks in zip(pages, made, strict=True):
        counted += cuts(page, chunks, tokens)
    histogram = Counter(min(size // 50 * 50, 250) for size in sizes)
    print(f"  {len(sizes)} chunks, tokens max {max(sizes)}, mean {sum(sizes) / len(sizes):.0f}")
    print("  " + "  ".join(f"{low}+: {histogram[low]}" for low in sorted(histogram)))
    for name in sorted({"wrong offsets", "uncovered", *counted}):
        print(f"  {name:26} {counted[name]}")


def write(books: Sequence[dict[str, object]], rounds: int, loads: tuple[float, float]) -> None:
    figures = {
        "cores": os.cpu_count(),
        "rounds": rounds,
        "load_before": loads[0],
        "load_after": loads[1],
        "books": books,
    }
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "reading.json").write_text(json.dumps(figures, indent=2) + "\n")
    rows = [
        f"| {book['book']} ({book['mb']} MB) | {name} | {one['mb_per_cpu_second']} | {one['mb_per_second']} |"
        for book in books
        for name, one in cast("dict[str, dict[str, float]]", book["speed"]).items()
    ]
    (OUT / "reading.md").write_text(
        "# Reading and splitting\n\nWritten by `make bench-reading`; every number is measured. "
        f"Best of {rounds} rounds on {os.cpu_count()} cores,\nload {loads[0]:.1f} before and {loads[1]:.1f} after (the "
        "benchmark itself makes 1).\n\n"
        "| book | step | MB per CPU second | MB per second of wall time |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folders", nargs="*", type=Path, default=[SAMPLE])
    arguments.add_argument("--rounds", type=int, default=3)
    given = arguments.parse_args()
    tokens = MiniLMEmbedder().tokens
    load = os.getloadavg()[0]
    books = []
    for folder in given.folders:
        figures, pages = measure(folder, tokens, given.rounds)
        books.append(figures)
        check(pages, tokens)
    write(books, given.rounds, (load, os.getloadavg()[0]))


if __name__ == "__main__":
    main()
