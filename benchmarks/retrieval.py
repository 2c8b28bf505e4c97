"""How well the right passage is found: BM25, vectors, reciprocal ranks and Quoth's fusion on every evaluation set.

    python benchmarks/retrieval.py ../shared/data

One configuration for all sets, the one that ships: the candidates, the scale and the fusion are quoth.retrieval's.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from corpora import LOADERS, Asked, EvaluationSet, Floats, load_sets
from quoth import terms
from quoth.retrieval import RetrievalOptions, Scored, ceiling, completed, fuse

OPTIONS = RetrievalOptions()
Ranking = Callable[[Floats, Floats, str, EvaluationSet], list[int]]


def best(scores: Floats, depth: int, *, positive: bool = False) -> list[int]:
    order = np.argsort(-scores, kind="stable")[:depth]
    return [int(at) for at in order if not positive or scores[at] > 0]


def fused(dense: Floats, sparse: Floats, query: str, of: EvaluationSet) -> list[Scored]:
    weights, corpus = terms.query_weights(query), of.corpus
    full = completed(terms.query_terms(query), corpus.idf(weights.ids), len(corpus.keys))
    return fuse(
        [(str(at), float(dense[at])) for at in best(dense, OPTIONS.depth)],
        [(str(at), float(sparse[at])) for at in best(sparse, OPTIONS.depth, positive=True)],
        ceiling=ceiling(weights, full),
        depth=OPTIONS.depth,
        dense_share=OPTIONS.dense_share,
    )


def reciprocal_ranks(dense: Floats, sparse: Floats, query: str, of: EvaluationSet) -> list[int]:
    scores: dict[int, float] = {}
    for ranked in (best(dense, 100), best(sparse, 100, positive=True)):
        for rank, at in enumerate(ranked, start=1):
            scores[at] = scores.get(at, 0.0) + 1 / (60 + rank)
    return sorted(scores, key=lambda at: (-scores[at], at))


RANKINGS: dict[str, Ranking] = {
    "bm25": lambda dense, sparse, query, of: best(sparse, 10),
    "dense": lambda dense, sparse, query, of: best(dense, 10),
    "rrf": reciprocal_ranks,
    "quoth": lambda dense, sparse, query, of: [int(found.key) for found in fused(dense, sparse, query, of)],
}


def ndcg(found: Sequence[str], asked: Asked, k: int = 10) -> float:
    gain = sum(1 / math.log2(rank + 2) for rank, key in enumerate(found[:k]) if key in asked.relevant)
    return gain / sum(1 / math.log2(rank + 2) for rank in range(min(len(asked.relevant), k)))


def recall(found: Sequence[str], asked: Asked, k: int = 5) -> float:
    return len(set(found[:k]) & asked.relevant) / len(asked.relevant)


def measure(of: EvaluationSet) -> dict[str, dict[str, float]]:
    figures: dict[str, list[tuple[float, float, float]]] = {name: [] for name in RANKINGS}
    for asked, vector in zip(of.questions, of.question_vectors, strict=True):
        dense, sparse = of.corpus.vectors @ vector, of.corpus.sparse(asked.text)
        for name, ranking in RANKINGS.items():
            found = [of.corpus.keys[at] for at in ranking(dense, sparse, asked.text, of)]
            figures[name].append((ndcg(found, asked), recall(found, asked), float(found[0] in asked.relevant)))
    return {
        name: dict(zip(("ndcg@10", "recall@5", "hit@1"), np.mean(rows, axis=0).round(4).tolist(), strict=True))
        for name, rows in figures.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "quoth-bench")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    report = {of.name: measure(of) for of in load_sets(list(LOADERS), arguments.data, arguments.cache)}
    if arguments.json:
        print(json.dumps(report, indent=2))
        return
    for name, rows in report.items():
        print(f"\n{name:20} ndcg@10  recall@5   hit@1")
        for ranking, row in rows.items():
            print(f"  {ranking:18} {row['ndcg@10']:.4f}    {row['recall@5']:.4f}  {row['hit@1']:.4f}")


if __name__ == "__main__":
    main()
