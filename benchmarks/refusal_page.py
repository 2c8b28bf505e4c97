"""The page of refusal.py: figures in, Markdown out."""

from __future__ import annotations

from typing import Any

WANTED = {"article": 0.975, "half": 0.85, "tenth": 0.82, "look-alike": 0.66}


def as_page(report: dict[str, Any], name: str) -> str:
    pool = report["pooled"]
    lines = [
        "# Confidence and refusal" + ("" if name == "refusal" else " without the reader"),
        "",
        "Written by `make bench-refusal`. Every number in this table is measured on articles, chapters and claims that",
        "nothing was fitted on.",
        "The docstring of benchmarks/refusal.py says how each setting is made. Both halves: over all questions, each",
        "judged by a model fitted on the other half.",
        "",
        "| set · setting | AUROC | both halves | best cosine's | target | answerable refused | unanswerable refused "
        "| questions |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for place, row in report["settings"].items():
        of, setting = place.split(" · ")
        wanted = WANTED.get(setting, "") if of == "squad2_dev_half" else ""
        lines.append(
            f"| {place} | {row['auroc']:.3f} | {row['auroc of both halves']:.3f} "
            f"| {row['auroc of the best cosine']:.3f} | {wanted} | {row['answerable refused']:.1%} "
            f"| {row['unanswerable refused']:.1%} | {row['cases']} |"
        )
    lines += [
        "",
        "Whole sets left out: each is judged by a model that was fitted only on the others, without look-alikes.",
        "",
        "*By chance*: what is left of the error if every stated probability is exactly right, because cases are few.",
        "",
        "| set | calibration error | by chance | AUROC | best cosine's | questions |",
        "|---|---|---|---|---|---|",
        *(
            f"| {of} | {row['calibration error']:.3f} | {row['calibration error by chance']:.3f} "
            f"| {row['auroc']:.3f} | {row['auroc of the best cosine']:.3f} | {row['cases']} |"
            for of, row in report["left out"].items()
        ),
        "",
        f"Pooled over {pool['what']} ({pool['cases']}): AUROC {pool['auroc']:.3f}, expected calibration error",
        f"{pool['calibration error']:.3f} (target: at most 0.05). Refused below a confidence of {report['threshold']}.",
        "",
        f"![share of wrong answers against the share of questions answered]({name}.svg)",
    ]
    return "\n".join(lines) + "\n"
