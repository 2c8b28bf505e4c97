"""How fast books are read and split, and what the splitting does to them.

    python benchmarks/reading.py [FOLDER…]      default: the sample book

Each folder is opened as a book. Speed is CPU time, best of several rounds with files cached and counts not, beside a
baseline in the same run: markdown-it-py alone, rendering the same pages to HTML as its users do. Then the promises are
checked on every page: offsets, coverage, limit, fences and tables.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from markdown_it import MarkdownIt

from quoth import chunking
from quoth.adapters.minilm import MiniLMEmbedder
from quoth.chunking import embedding_text, split
from quoth.domain import Chunk, Page
from quoth.markdown import Block, leaves, parse
from quoth.ports import TokenCounter
from quoth.sources import open_source

SAMPLE = Path(__file__).parent.parent / "examples" / "robotics-book"


def best_of(rounds: int, work: Callable[[], object]) -> float:
    times = []
    for _ in range(rounds):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def cold_split(pages: Sequence[Page]) -> float:
    """A fresh tokenizer each time: nothing that an earlier round has counted helps this one."""
    tokens = MiniLMEmbedder().tokens
    chunking._SAID.clear()
    return best_of(1, lambda: [split(page, tokens) for page in pages])


def walk(blocks: Sequence[Block]) -> list[Block]:
    return [found for block in blocks for found in (block, *walk(block.children))]


def cuts(page: Page, chunks: Sequence[Chunk], tokens: TokenCounter) -> Counter[str]:
    """How many blocks of each kind there are, were cut, and were cut although they would have fitted."""
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


def report(folder: Path, tokens: TokenCounter, rounds: int) -> None:
    source = open_source(folder, book_id="bench")
    files = source.files()
    pages = [source.read(file) for file in files]
    size = sum(len(page.text.encode()) for page in pages) / 1e6
    baseline = MarkdownIt("commonmark").enable("table")
    rendering = best_of(rounds, lambda: [baseline.render(page.text[page.body_start :]) for page in pages])
    reading = best_of(rounds, lambda: [source.read(file) for file in files])
    parsing = best_of(rounds, lambda: [parse(p.text, markup=p.markup, start=p.body_start) for p in pages])
    splitting = min(cold_split(pages) for _ in range(rounds))
    print(f"\n{folder.name}: {source.toolchain}, {len(pages)} pages, {size:.2f} MB, {len(source.skipped)} skipped")
    for name, seconds in (("read", reading), ("parse", parsing), ("parse + split", splitting)):
        print(f"  {name:14} {size / seconds:6.2f} MB/CPU-s   {rendering / seconds:5.2f} x markdown-it-py alone")
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


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folders", nargs="*", type=Path, default=[SAMPLE])
    arguments.add_argument("--rounds", type=int, default=3)
    given = arguments.parse_args()
    tokens = MiniLMEmbedder().tokens
    for folder in given.folders:
        report(folder, tokens, given.rounds)


if __name__ == "__main__":
    main()
