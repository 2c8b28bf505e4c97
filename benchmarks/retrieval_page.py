"""Shows docs/benchmarks/retrieval.json as a page, for `retrieval.py`; every measured number comes from there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

TITLES = {
    "bm25": "BM25",
    "dense": "MiniLM",
    "rrf": "reciprocal ranks of the two",
    "quoth_words": "Quoth, its words alone",
    "quoth": "Quoth without its reader",
    "quoth_read": "**Quoth**",
}
STAGES = {
    "embed": "embed the query",
    "dense": "ask the index for the nearest vectors",
    "dense_and_sparse": "ask it for both lists at once",
    "rarity": "look up how rare the words are (at the same time)",
    "read": "fetch the texts of forty",
    "fetch": "fetch the vectors of the best twenty",
    "fuse": "parse the query, fuse, look twice (Python)",
    "whole": "a whole search",
}
# Figures published for this set with MiniLM and five chunks; see the README of the data.
PUBLISHED = {
    "Recursive 200/0": (75.7, 6.5, 6.5),
    "Cluster 200": (75.2, 7.2, 7.2),
    "TokenText 250/125": (82.4, 3.6, 3.5),
}


def as_page(report: Mapping[str, object]) -> str:
    data = json.loads(json.dumps(report))
    lines = [
        "# Retrieval",
        "",
        "Written by `make bench-retrieval`; every number is measured. One configuration for all sets, the one that",
        "ships; the README of the data says what the sets are and where they come from. BM25 is Lucene's (k1 1.5,",
        "b 0.75, English stop words and stems), MiniLM is the cosine of all-MiniLM-L6-v2, reciprocal ranks combine",
        "the two with the constant 60; all over the same passages.",
    ]
    for name, rows in data["sets"].items():
        size = data["sizes"][name]
        lines += ["", f"## {name}: {size['questions']:,} questions, {size['passages']:,} passages", ""]
        lines += ["| | nDCG@10 | recall@5 | first is right |", "|---|---|---|---|"]
        lines += [
            f"| {TITLES[key]} | {row['ndcg@10']:.3f} | {row['recall@5']:.3f} | {row['hit@1']:.3f} |"
            for key, row in rows.items()
        ]
    return "\n".join([*lines, *compared(data), *characters(data), *stages(data)]) + "\n"


def compared(data: Mapping[str, Any]) -> list[str]:
    above = ", ".join(f"{name} {value:+.3f}" for name, value in data["above_the_better_side"].items())
    mean = data["mean_ndcg@10"]
    return [
        "",
        "## Targets",
        "",
        f"On every set at least the better of BM25 and MiniLM: {above}.",
        "",
        f"On average at least 0.02 above reciprocal ranks: {mean['quoth_read'] - mean['rrf']:+.3f} "
        f"({mean['quoth_read']:.3f} against {mean['rrf']:.3f}; without the reader {mean['quoth']:.3f}).",
    ]


def characters(data: Mapping[str, Any]) -> list[str]:
    lines = [
        "",
        "## The words of the answer among the characters of the best five (chunking_evaluation)",
        "",
        "Quoth's chunker, one book of all five files. The last three rows are published figures, with MiniLM alone.",
        "",
        "| | recall | precision | IoU |",
        "|---|---|---|---|",
    ]
    for name, row in data["sets"]["chunking_evaluation"].items():
        figures = [row[f"characters_{kind}@5"] * 100 for kind in ("recall", "precision", "iou")]
        lines.append(f"| Quoth's chunks, {TITLES[name]} | {' | '.join(f'{one:.1f}' for one in figures)} |")
    lines += [f"| {name} | {' | '.join(str(one) for one in row)} |" for name, row in PUBLISHED.items()]
    return lines


def stages(data: Mapping[str, Any]) -> list[str]:
    rows = [
        f"| {STAGES[name]} | {row['least_ms']:.2f} | {row['p50_ms']:.2f} | {row['p99_ms']:.2f} |"
        for name, row in data["stages"].items()
    ]
    return [
        "",
        "## What one search costs (sample book, embedded index)",
        "",
        "Measured on a machine with other work on it: the lowest time is closest to what the code costs.",
        "",
        "| ms | least | p50 | p99 |",
        "|---|---|---|---|",
        *rows,
    ]
