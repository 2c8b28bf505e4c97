"""Writes the table "Measured" of README.md from docs/benchmarks/*.json, so that no figure is typed by hand.

Run it after a benchmark. tests/test_docs.py compares the README with what this would write.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BENCHMARKS = ROOT / "docs" / "benchmarks"
BLOCK = re.compile(r"(?<=<!-- figures -->\n).*?(?=<!-- end of figures -->)", re.DOTALL)


def table() -> str:
    embedding = json.loads((BENCHMARKS / "embedding.json").read_text())["ratios"]
    retrieval = json.loads((BENCHMARKS / "retrieval.json").read_text())
    mean = retrieval["mean_ndcg@10"]
    least = min(retrieval["above_the_better_side"].values())
    start = json.loads((BENCHMARKS / "start.json").read_text())
    rows = [
        (
            "embedding passages, against sentence-transformers on torch",
            f"{embedding['passages_per_second']['measured']:.2f} ×",
            "≥ 1.1 ×",
        ),
        ("embedding a query, against the same", f"{embedding['query_time']['measured']:.2f} × its time", "≤ 0.4 ×"),
        ("model ready, against the same", f"{embedding['ready_time']['measured']:.2f} × its time", "≤ 0.15 ×"),
        ("nDCG@10 on four public sets, mean, above reciprocal ranks", f"{mean['quoth'] - mean['rrf']:+.3f}", "≥ +0.02"),
        ("the same, above the better of BM25 and vectors, at least", f"{least:+.3f}", "≥ 0"),
        ("embedding a query, p50", f"{retrieval['stages']['embed']['p50_ms']:.1f} ms", "≤ 12 ms"),
        ("`quoth ask`, from a cold start to the answer", f"{start['ask_cold_start_seconds']:.2f} s", "< 1.5 s"),
        ("memory of an idle `quoth serve`", f"{start['idle_mb']:.0f} MB", "< 350 MB"),
        ("installed size", f"{start['installed_mb']:.0f} MB", "< 600 MB"),
    ]
    lines = [f"| {what} | {measured} | {wanted} |" for what, measured, wanted in rows]
    return "\n".join(["| | measured | wanted |", "|---|---|---|", *lines]) + "\n"


def filled(readme: str) -> str:
    return BLOCK.sub(lambda _: table(), readme)


if __name__ == "__main__":
    path = ROOT / "README.md"
    path.write_text(filled(path.read_text()))
