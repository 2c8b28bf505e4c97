"""The page and the chart of benchmarks/index.py: its report in, Markdown and SVG out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from plot import chart

Row = Mapping[str, Any]  # the measurements of one size


def as_page(report: Mapping[str, Any]) -> str:
    rows: Sequence[Row] = report["sizes"]
    machine = report["machine"]

    def line(label: str, values: Sequence[str], wanted: str = "") -> str:
        return f"| {label} | {' | '.join(values)} | {wanted} |"

    def each(label: str, name: str, digits: int, wanted: str = "") -> str:
        return line(label, [f"{row[name]:.{digits}f}" for row in rows], wanted)

    def spent(label: str, name: str, wanted: str = "") -> str:
        values = [f"{row[f'{name}_s']:.2f} ({row[f'{name}_processor_s']:.2f})" for row in rows]
        return line(f"{label}, s (of the processor)", values, wanted)

    def searched(label: str, found: Sequence[Row], wanted: str = "") -> str:
        return line(f"{label}, p50 / p99 ms", [f"{one['p50_ms']:.1f} / {one['p99_ms']:.1f}" for one in found], wanted)

    worked = [f"{row['search']['hybrid']['processor_ms']:.1f}" for row in rows]
    gained = [f"{row['searches_per_s']['16'] / row['searches_per_s']['1']:.2f}" for row in rows]
    return "\n".join(
        [
            "# The embedded index as a book grows",
            "",
            "Written by `make bench-index`; every number is measured. Searches exclude the embedding of the query:",
            f"{report['questions']} real questions, the best {report['depth']} by vector and by words each.",
            f"Vectors are MiniLM's, mixed from {report['texts']}.",
            f"{machine['cores']} cores of {machine['cpu']}; load at the end of each size: "
            + ", ".join(f"{row['load']:.1f}" for row in rows)
            + ".",
            "On an idle machine the load is below 1; on a busy one, trust the processor times.",
            "",
            "![time of a search against the number of chunks](index.svg)",
            "",
            line("chunks", [f"{row['size']:,}" for row in rows], "target at 100,000"),
            "|---|" + "---|" * (len(rows) + 1),
            *(searched(name, [row["search"][name] for row in rows], "≤ 8 / ≤ 25") for name in rows[0]["search"]),
            line("processor time of a hybrid search, ms", worked),
            searched("whole retrieval", [row["retrieval"] for row in rows]),
            each("the best 10 of an exact scan found", "recall_10", 4, "≥ 0.99"),
            each("the best 50", "recall_50", 4, "≥ 0.99"),
            spent("opening and two searches", "open", "≤ 2"),
            spent("reading and comparing every file (`quoth verify`)", "verify"),
            *(
                line(f"searches a second at once: {tasks}", [f"{row['searches_per_s'][tasks]:.0f}" for row in rows])
                for tasks in rows[0]["searches_per_s"]
            ),
            line("16 at once against one", gained, "≥ 1.6 on two free cores"),
            spent("an edit of one page", "edit"),
            spent("writing all chunks", "put"),
            spent("publishing them", "publish"),
            each("on disk, MB", "disk_mb", 0),
            each("memory of an open book, not counting pages of files, MB", "open_anonymous_mb", 0),
            "",
            "Decision 0012 explains how a search works.",
            "",
        ]
    )


def drawing(rows: Sequence[Row]) -> str:
    lines = {
        "hybrid, p50": [(row["size"], row["search"]["hybrid"]["p50_ms"]) for row in rows],
        "hybrid, p99": [(row["size"], row["search"]["hybrid"]["p99_ms"]) for row in rows],
        "3 chapters of 20, p50": [(row["size"], row["search"]["3 chapters of 20"]["p50_ms"]) for row in rows],
        "all tiers, p50": [(row["size"], row["search"]["all tiers"]["p50_ms"]) for row in rows],
    }
    limits = {"target: p50 8 ms": 8.0, "target: p99 25 ms": 25.0}
    return chart("Search in the embedded index", "chunks in the book", "ms", lines, limits)
