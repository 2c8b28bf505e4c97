"""Shows docs/benchmarks/reading_comprehension.json as a page, for `reading_comprehension.py`. Every measured number
comes from the reports of the benchmarks; the targets are those of the issue."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SETTINGS = ("tenth", "half", "look-alike")
Row = tuple[str, str, str, str]


def as_page(report: dict[str, Any], reports: Path) -> str:
    return "\n".join([*HEAD, *_issue(report, reports), *_answers(report), *_given(report)]) + "\n"


HEAD = (
    "# Reading comprehension",
    "",
    "Written by `make bench-comprehension`; other rows are copied from the reports that they name. Intervals: 95 %,",
    "bootstrapped. *Without* and *with* are the same questions, without the reader and with it.",
    "",
)


def _issue(report: dict[str, Any], reports: Path) -> list[str]:
    rows = [*_given_rows(report), *_refusal_rows(reports), *_golden_rows(report), *_sentence_rows(report)]
    rows += [*_order_rows(report), *_grounding_rows(reports), _cost_row(report)]
    lines = ["| | without | with | target |", "|---|---|---|---|"]
    return lines + [f"| {' | '.join(row)} |" for row in rows]


def _read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return content


def _shown(figure: dict[str, float]) -> str:
    return f"{figure['mean']:.3f} [{figure['low']:.3f}, {figure['high']:.3f}]"


def _given_rows(report: dict[str, Any]) -> Iterator[Row]:
    given = report["given the right passage"]
    yield (
        "given the right passage of SQuAD2: answerable or look-alike, AUROC",
        _shown(given["look-alikes, by words"]),
        _shown(given["look-alikes"]),
        "≥ 0.76",
    )


def _refusal_rows(reports: Path) -> Iterator[Row]:
    before, after = _read(reports / "refusal_without_reader.json"), _read(reports / "refusal.json")
    for setting, wanted in zip(SETTINGS, ("0.90", "0.90", "0.70"), strict=True):
        name = f"squad2_dev_half · {setting}"
        yield (
            f"refusal, SQuAD2, {setting}: AUROC (refusal.md)",
            _auroc(before, name),
            _auroc(after, name),
            f"≥ {wanted}",
        )
    for name, row in after["left out"].items():
        old = before.get("left out", {}).get(name)
        was = f"{old['calibration error']:.3f}" if old else "–"
        now = f"{row['calibration error']:.3f}"
        yield f"calibration error of {name}, left out of the fit (refusal.md)", was, now, "≤ 0.06"


def _auroc(of: dict[str, Any], name: str) -> str:
    return f"{of['settings'][name]['auroc']:.3f}" if of else "–"


def _golden_rows(report: dict[str, Any]) -> Iterator[Row]:
    golden = report.get("sample book", {})
    for what, wanted in (("near questions refused", "≥ 0.80"), ("answerable questions refused", "≤ 0.05")):
        was, now = (f"{golden[side][what]:.3f}" if side in golden else "–" for side in ("without", "with"))
        yield f"sample book: {what} (`quoth eval examples/golden.yaml`)", was, now, wanted


def _sentence_rows(report: dict[str, Any]) -> Iterator[Row]:
    for name, row in report["sets"].items():
        if "first" in row["with"]:
            before, after = (_shown(row[side]["first"]) for side in ("without", "with"))
            yield f"right sentence first: {name}", before, after, "+15 points"


def _order_rows(report: dict[str, Any]) -> Iterator[Row]:
    named = [(name, row) for name, row in report["sets"].items() if "nDCG@10" in row["with"]]
    for name, row in named:
        before, after = (_shown(row[side]["nDCG@10"]) for side in ("without", "with"))
        yield f"nDCG@10: {name}", before, after, "not lower"
    public = [row for name, row in named if not name.startswith(("asked_", "passages_"))]
    means = [sum(row[side]["nDCG@10"]["mean"] for row in public) / len(public) for side in ("without", "with")]
    yield (
        "nDCG@10: mean of the four public sets",
        f"{means[0]:.3f}",
        f"{means[1]:.3f} ({means[1] - means[0]:+.3f})",
        "+0.02",
    )


def _grounding_rows(reports: Path) -> Iterator[Row]:
    of = _read(reports / "grounding.json")
    for name, key, wanted in (
        ("RAGTruth even", "ragtruth_qa_even, out of fold", "≥ 0.87"),
        ("WiCE dev", "wice_dev, as shipped", "≥ 0.85"),
    ):
        was, now = (f"{of[f'{key}, {how}']['auroc']:.3f}" for how in ("words alone", "with the reader"))
        yield f"grounding, {name}: AUROC (grounding.md)", was, now, wanted
    for what, wanted in (("clean answers with a mark", "≤ 0.10"), ("hallucinated answers with a mark", "≥ 0.75")):
        was, now = (
            f"{of[f'ragtruth_qa_even, the other half, {how}'][what]:.3f}" for how in ("words alone", "with the reader")
        )
        yield f"grounding, RAGTruth even: {what} (grounding.md)", was, now, wanted


def _cost_row(report: dict[str, Any]) -> Row:
    spent = report["cost"]["milliseconds of CPU for five passages"]
    return "reading five passages of SQuAD: ms of CPU", "0", f"{spent:.0f}", "≤ 80"


def _answers(report: dict[str, Any]) -> list[str]:
    lines = [
        "",
        "## Answers",
        "",
        "Questions of the half of each set that nothing was fitted on, put to the whole corpus; answers without a",
        "language model. *First*: the decisive sentence of the first source has right words (in the Rust quiz: is",
        "in a right section); *answer*: any source shown does; *words*: number of words in the answer.",
        "",
        "| set | | without the reader | with it | questions |",
        "|---|---|---|---|---|",
    ]
    for name, row in report["sets"].items():
        for what, figure in row["with"].items():
            before, after = _shown(row["without"][what]), _shown(figure)
            lines.append(f"| {name} | {what} | {before} | {after} | {figure['questions']:.0f} |")
    return lines


def _given(report: dict[str, Any]) -> list[str]:
    lines = ["", "## Given the right passage of SQuAD2", "", "| | | questions |", "|---|---|---|"]
    rows = report["given the right passage"].items()
    return lines + [f"| {name} | {_shown(figure)} | {figure['questions']:.0f} |" for name, figure in rows]
