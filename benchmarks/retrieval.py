"""How well the right passage is found, and what finding it costs: plain BM25, vectors, reciprocal ranks and Quoth.

    python benchmarks/retrieval.py ../shared/data

One configuration for all sets, the one that ships: `quoth.ask.find` itself searches (see searching.py). The Markdown
files of the chunking evaluation are split by Quoth's own chunker, and the words that the set names as the answer
are looked for among the characters of the best five. Writes docs/benchmarks/retrieval.json and .md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from corpora import Asked, EvaluationSet, load_sets
from known_readings import KnownReadings
from quoth.domain import Chunk
from quoth.text import terms
from retrieval_page import as_page
from searching import PlainBM25, Searcher, best, reciprocal_ranks
from stages import stage_times

REPORTS = Path(__file__).parent.parent / "docs" / "benchmarks"
SETS = ("squad2_dev_half", "scifact", "rust_book_quiz", "chunking_evaluation")
RANKINGS = ("bm25", "dense", "rrf", "quoth_words", "quoth", "quoth_read")
SHOWN = 20  # the most results of a search
Span = tuple[int, int]


def ndcg(found: Sequence[str], asked: Asked, k: int = 10) -> float:
    gain = sum(1 / math.log2(rank + 2) for rank, key in enumerate(found[:k]) if key in asked.relevant)
    return gain / sum(1 / math.log2(rank + 2) for rank in range(min(len(asked.relevant), k)))


def recall(found: Sequence[str], asked: Asked, k: int = 5) -> float:
    return len(set(found[:k]) & asked.relevant) / len(asked.relevant)


def covered(found: Sequence[Chunk], asked: Asked) -> tuple[float, float, float]:
    """Recall, precision and intersection over union of the characters, as the authors of the set count them: a chunk
    that appears twice or overlaps another counts twice."""
    own = [(chunk.start, chunk.end) for chunk in found if chunk.source_file == asked.group]
    hit = length([(max(a, s), min(b, e)) for a, b in own for s, e in asked.spans if max(a, s) < min(b, e)])
    wanted = sum(end - start for start, end in asked.spans)
    given = sum(chunk.end - chunk.start for chunk in found)
    return hit / wanted, hit / given, hit / (given + length(list(asked.spans)) - hit)


def length(spans: Sequence[Span]) -> int:
    """Characters in the union."""
    total, reached = 0, -1
    for start, end in sorted(spans):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total


async def measure(of: EvaluationSet, searcher: Searcher, reading: Searcher) -> dict[str, dict[str, float]]:
    chunks, plain = of.corpus.chunks, PlainBM25(of.corpus.texts)
    first = {chunk.content_hash: chunk for chunk in reversed(chunks)}
    texts = {chunk.id: first[chunk.content_hash].id for chunk in chunks}
    rows: dict[str, list[tuple[float, ...]]] = {name: [] for name in RANKINGS}
    for asked, vector in zip(of.questions, of.question_vectors, strict=True):
        bm25, dense = plain.scores(asked.text), of.corpus.vectors @ vector
        words = of.corpus.sparse(terms.query_weights(asked.text))
        evidence = await searcher.find(of.corpus, asked.text, vector, SHOWN)
        read = await reading.find(of.corpus, asked.text, vector, SHOWN)
        rankings = {
            "bm25": [chunks[at] for at in best(bm25, SHOWN)],
            "dense": [chunks[at] for at in best(dense, SHOWN)],
            "rrf": [chunks[at] for at in reciprocal_ranks(bm25, dense)],
            "quoth_words": [chunks[at] for at in best(words, SHOWN)],
            "quoth": [passage.chunk for passage in evidence.passages],
            "quoth_read": [passage.chunk for passage in read.passages],
        }
        # A text that is in the book twice is one text for every side: whichever copy is found, the first one counts.
        right = replace(asked, relevant=frozenset(texts[one] for one in asked.relevant))
        for name, ranked in rankings.items():
            found = list(dict.fromkeys(first[chunk.content_hash] for chunk in ranked))
            ids = [chunk.id for chunk in found]
            figures = (ndcg(ids, right), recall(ids, right), float(ids[0] in right.relevant))
            rows[name].append(figures + (covered(found[:5], right) if asked.spans else ()))
    names = ("ndcg@10", "recall@5", "hit@1", "characters_recall@5", "characters_precision@5", "characters_iou@5")
    return {
        name: dict(zip(names, np.mean(listed, axis=0).round(4).tolist(), strict=False)) for name, listed in rows.items()
    }


def summary(sets: dict[str, dict[str, dict[str, float]]]) -> dict[str, dict[str, float]]:
    """The targets: nowhere below the better of the two sides, and on average above reciprocal ranks."""
    at_ten = {name: {ranking: row["ndcg@10"] for ranking, row in rows.items()} for name, rows in sets.items()}
    above = {name: row["quoth_read"] - max(row["bm25"], row["dense"]) for name, row in at_ten.items()}
    return {
        "above_the_better_side": {name: round(value, 4) for name, value in above.items()},
        "mean_ndcg@10": {
            ranking: round(float(np.mean([row[ranking] for row in at_ten.values()])), 4) for ranking in RANKINGS
        },
    }


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "quoth-bench")
    arguments = parser.parse_args()
    reader = KnownReadings(arguments.cache)
    loaded = await load_sets(SETS, arguments.data, arguments.cache)
    sets = {of.name: await measure(of, Searcher(), Searcher(reader)) for of in loaded}
    await reader.close()
    sizes = {of.name: {"passages": len(of.corpus.chunks), "questions": len(of.questions)} for of in loaded}
    report = {"sets": sets, "sizes": sizes, **summary(sets), "stages": await stage_times()}
    (REPORTS / "retrieval.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    page = as_page(report)
    (REPORTS / "retrieval.md").write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    asyncio.run(main())
