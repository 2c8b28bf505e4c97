"""The document of a run → tables for the terminal. Knows rich and the document; measures nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from quoth.evals.metrics import lower_is_better
from quoth.evals.report import SHOWN_PER_KIND, Document, at_coverages, failures, shown, verdict_on

FAILURES_SHOWN = 15
BAR = 30  # characters for a risk of 1


def tables(document: Document) -> Iterator[RenderableType]:
    kinds = document["by_kind"]
    yield _metrics(document)
    if len(kinds) > 1:
        yield _kinds(kinds)
    yield _latency(document["latency_ms"])
    if document["curve"]:
        yield _curves("Risk-coverage: if only questions above a confidence were answered, how many are wrong", document)
    yield from _failures(document)
    yield from _stale(document["stale"])


def _titled(title: str, table: Table) -> RenderableType:
    """Rich would wrap a title that is wider than its table."""
    return Group(Text(title, style="bold"), table)


def _table(*columns: str) -> Table:
    table = Table(show_edge=False, pad_edge=False, box=None)
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left", no_wrap=True)
    return table


def _metrics(document: Document) -> RenderableType:
    table = _table("metric", "value")
    for name, value in document["metrics"].items():
        table.add_row(name, shown(value))
    return _titled(f"{document['file']}: {document['questions']} questions to {document['book_id']}", table)


def _kinds(kinds: Mapping[str, Mapping[str, Any]]) -> RenderableType:
    table = _table("", *kinds)
    table.add_row("questions", *(str(values["questions"]) for values in kinds.values()))
    for name in SHOWN_PER_KIND:
        table.add_row(name, *(shown(values[name]) for values in kinds.values()))
    return _titled("By kind of question", table)


def _latency(stages: Mapping[str, Mapping[str, float]]) -> RenderableType:
    table = _table("stage", "p50", "p95")
    for stage, times in stages.items():
        table.add_row(stage, shown(times["p50"], digits=1), shown(times["p95"], digits=1))
    return _titled("Milliseconds", table)


def _curves(title: str, document: Document) -> RenderableType:
    return _titled(title, curve_table({"": document["curve"]}))


def curve_table(curves: Mapping[str, Sequence[Mapping[str, float]]]) -> Table:
    """One curve, or several side by side, each with its thresholds, its risks and a bar for the risk."""
    table = _table("answered")
    for name in curves:
        table.add_column(f"{name} from".strip(), justify="right")
        table.add_column("wrong", justify="right")
        table.add_column("", justify="left", no_wrap=True)
    for points in zip(*(at_coverages(curve) for curve in curves.values()), strict=True):
        cells: list[str | Text] = []
        for point in points:
            bar = Text("█" * round(point["risk"] * BAR), style="red")
            cells += [shown(point["threshold"], digits=2), f"{point['risk']:.1%}", bar]
        table.add_row(f"{points[0]['coverage']:.0%}", *cells)
    return table


def _failures(document: Document) -> Iterator[RenderableType]:
    wrong = failures(document)
    if not wrong:
        return
    table = _table("question", "what happened")
    table.columns[0].no_wrap = table.columns[1].no_wrap = False
    table.columns[1].justify = "left"
    for record in wrong[:FAILURES_SHOWN]:
        table.add_row(Text(f"{record['id']}: {record['question']}"), verdict_on(record))
    yield _titled(f"{len(wrong)} wrong", table)
    if len(wrong) > FAILURES_SHOWN:
        yield Text(f"… and {len(wrong) - FAILURES_SHOWN} more: --html FILE and --json show all.", style="dim")


def _stale(labels: Sequence[Mapping[str, Any]]) -> Iterator[RenderableType]:
    if labels:
        yield Text(f"{len(labels)} stale labels, not asked:", style="bold")
        yield Text("\n".join(f"line {label['line']}, {label['id']}: {label['reason']}" for label in labels))


def comparison_table(comparison: Document) -> Iterator[RenderableType]:
    table = _table("metric", "old", "new", "change")
    for name, pair in comparison["metrics"].items():
        table.add_row(name, shown(pair["old"]), shown(pair["new"]), _change(name, pair["old"], pair["new"]))
    for stage, pair in comparison["latency_ms"].items():
        name = f"latency_ms.{stage}.p50"
        table.add_row(name, *(shown(pair[key], digits=1) for key in ("old", "new")), _change(name, **pair))
    yield _titled(f"Compared over {comparison['questions']} questions", table)
    for name in ("newly_right", "newly_wrong", "only_old", "only_new"):
        if comparison[name]:
            yield Text(f"{name.replace('_', ' ')}: {', '.join(comparison[name])}")


def _change(name: str, old: float | None, new: float | None) -> Text:
    if old is None or new is None:
        return Text("–")
    change = new - old
    if not round(change, 3):
        return Text("=", style="dim")
    return Text(f"{change:+.3f}", style="green" if (change < 0) == lower_is_better(name) else "red")


def fit_table(fit: Document) -> Iterator[RenderableType]:
    before, after = fit["shipped"], fit["refitted"]
    table = _table("", "shipped", "refitted")
    for name in before:
        table.add_row(name, shown(before[name]), shown(after[name]))
    yield _titled(f"Confidence on {fit['questions']} questions, each judged by a model that has not seen it", table)
    yield curve_table({"shipped": fit["shipped_curve"], "refitted": fit["refitted_curve"]})
    yield Text(fit["verdict"], style="bold")
