"""Writes the table "Measured" in README.md from docs/benchmarks/*.json, so that no figure is typed by hand.

Run it after a benchmark. tests/test_docs.py compares the README with what this script would write.
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
    index = json.loads((BENCHMARKS / "index.json").read_text())["sizes"]
    hybrid = next(one for one in index if one["size"] == 100_000)["search"]["hybrid"]
    turn = json.loads((BENCHMARKS / "answering.json").read_text())
    carried = json.loads((BENCHMARKS / "load.json").read_text())["carried"]["/chat, SQLite, 2 workers"]
    rows = [
        (
            "embedding passages, compared with sentence-transformers on torch",
            f"{embedding['passages_per_second']['measured']:.2f} × its speed",
            "≥ 1.1 ×",
        ),
        (
            "embedding a query, compared with the same",
            f"{embedding['query_time']['measured']:.2f} × its time",
            "≤ 0.4 ×",
        ),
        (
            "loading the model, compared with the same",
            f"{embedding['ready_time']['measured']:.2f} × its time",
            "≤ 0.15 ×",
        ),
        (
            "mean nDCG@10 on four public sets, above reciprocal rank fusion",
            f"{mean['quoth_read'] - mean['rrf']:+.3f}",
            "≥ +0.02",
        ),
        ("nDCG@10 above the better of BM25 and vectors, smallest gain", f"{least:+.3f}", "≥ 0"),
        ("search in 100,000 chunks, p50 / p99", f"{hybrid['p50_ms']:.1f} / {hybrid['p99_ms']:.1f} ms", "≤ 8 / 25 ms"),
        ("embedding a query, p50", f"{retrieval['stages']['embed']['p50_ms']:.1f} ms", "≤ 12 ms"),
        ("answers per second over HTTP, no model, two workers", f"{carried['per_second']:.0f}", "≥ 60"),
        ("delay we add before the first word of a model's answer", f"{turn['0 ms']['added_ms']:.0f} ms", "≤ 25 ms"),
        ("first word, 64 readers at once, p99", f"{turn['20 ms']['first_word_p99_ms'] / 1000:.2f} s", "< 1 s"),
        ("`quoth ask`, from a cold start to the answer", f"{start['ask_cold_start_seconds']:.2f} s", "< 1.5 s"),
        ("memory of an idle `quoth serve`", f"{start['idle_mb']:.0f} MB", "< 350 MB"),
        ("installed size", f"{start['installed_mb']:.0f} MB", "< 600 MB"),
    ]
    lines = [f"| {what} | {measured} | {wanted} |" for what, measured, wanted in rows]
    return "\n".join(["| | measured | target |", "|---|---|---|", *lines]) + "\n"


def filled(readme: str) -> str:
    return BLOCK.sub(lambda _: table(), readme)


if __name__ == "__main__":
    path = ROOT / "README.md"
    path.write_text(filled(path.read_text()))
