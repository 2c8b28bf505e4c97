"""What the reader would be given for our questions about books: drafts for training, one group a line.

    python benchmarks/asked_drafts.py ../shared/data          # writes .training/asked.jsonl

Every question is put to its whole book, as `quoth search` would. The chunk with the answer is right; of the others
found for an answerable question nobody knows whether they answer it too, so they only rank lower. What was found for a
question that the book does not answer, the tempting chunk first, does not answer it. Books held out from training are
left out.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

import asked_books
from corpora import load_sets
from quoth.ask.read import task
from quoth.domain import Chunk
from searching import Searcher

OUT = Path(__file__).parent.parent / ".training" / "asked.jsonl"
FOUND = 6  # passages of a question that drafts are made of


def draft(kind: str, question: str, chunk: Chunk, **labels: Any) -> dict[str, Any]:
    read = task(question, chunk)
    return {"kind": kind, "question": question, "passage": read.passage, "heading": read.heading, **labels}


async def groups_of(book: str, data: Path, cache: Path) -> list[list[dict[str, Any]]]:
    right_set, near_set = await load_sets((f"asked_{book}", f"near_{book}"), data, cache)
    searcher, groups = Searcher(), []
    for at, asked in enumerate(right_set.questions):
        found = await searcher.find(right_set.corpus, asked.text, right_set.question_vectors[at], FOUND)
        key = next(chunk.id for chunk in right_set.corpus.chunks if chunk.id in asked.relevant)
        chunk = right_set.corpus.chunks[right_set.corpus.at[key]]
        start, end = next(span for span in asked.spans if chunk.start <= span[0] < chunk.end)
        span = [start - chunk.start, end - chunk.start]
        group = [draft("asked", asked.text, chunk, span=span, answerable=1, relevance=1)]
        others = [one.chunk for one in found.passages if one.chunk.id not in asked.relevant]
        group += [draft("asked, other chunk", asked.text, other, relevance=0) for other in others]
        groups.append(group)
    for at, asked in enumerate(near_set.questions):
        found = await searcher.find(near_set.corpus, asked.text, near_set.question_vectors[at], FOUND)
        tempting = next(
            chunk
            for chunk in near_set.corpus.chunks
            if chunk.source_file == asked.group and any(chunk.start <= a < chunk.end for a, _ in asked.spans)
        )
        others = [one.chunk for one in found.passages if one.chunk.id != tempting.id]
        group = [draft("near, tempting", asked.text, tempting, answerable=0)]
        groups.append(group + [draft("near, found", asked.text, other, answerable=0) for other in others])
    return groups


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "quoth-bench")
    arguments = parser.parse_args()
    OUT.parent.mkdir(exist_ok=True)
    with OUT.open("w", encoding="utf-8") as lines:
        for book in asked_books.register():
            if book not in asked_books.HELD_OUT:
                groups = await groups_of(book, arguments.data, arguments.cache)
                lines.writelines(json.dumps(group, ensure_ascii=False) + "\n" for group in groups)
                print(f"{book}: {len(groups)} questions, {sum(map(len, groups))} drafts", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
