"""A run → one JSON document for people and machines; floors, and comparisons with an earlier run.

In: a run, or the document of an earlier one. Out: a document with every figure and every result, so that a later run
can be compared question by question. Tables and pages are made from the document, so they cannot disagree with it.
Pure, except for `read_report`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from quoth.errors import WrongUsage
from quoth.evals.calibrate import Refit
from quoth.evals.cases import GoldenSet
from quoth.evals.metrics import (
    METRICS,
    Point,
    Values,
    all_values,
    curve,
    latency,
    lower_is_better,
    measure,
    parts,
)
from quoth.evals.results import Result, from_record, to_record
from quoth.evals.run import Run

Document = dict[str, Any]
COVERAGES = tuple(step / 10 for step in range(1, 11))
SHOWN_PER_KIND = (
    "hit@5",
    "mrr",
    "quote_recall",
    "right_block",
    "citation_precision",
    "refusal_recall",
    "decision_accuracy",
)


@dataclass(frozen=True, slots=True)
class Floor:
    """A bound for a metric: at least this, or with `at_most`, at most this."""

    metric: str
    bound: float
    at_most: bool = False

    def holds(self, value: float | None) -> bool:
        """A metric that could not be measured does not hold."""
        return value is not None and (value <= self.bound if self.at_most else value >= self.bound)


def floor(text: str, *, at_most: bool) -> Floor:
    """`metric=value`, as typed after --fail-under or --fail-over."""
    option, other = ("--fail-over", "--fail-under") if at_most else ("--fail-under", "--fail-over")
    name, _, number = text.partition("=")
    try:
        bound = float(number)
    except ValueError:
        raise WrongUsage(
            f"{option} {text} is not of the form metric=value.", hint=f"For example: {option} hit@5=0.9"
        ) from None
    if lower_is_better(name) != at_most:
        raise WrongUsage(
            f"{option} {text}: for {name}, {'more' if at_most else 'less'} is better.", hint=f"Use {other} {text}."
        )
    return Floor(name, bound, at_most)


def check_floors(floors: Sequence[Floor], results: Sequence[Result]) -> list[Document]:
    values = all_values(results)
    for one in floors:
        if one.metric not in values:
            known = ", ".join(metric.name for metric in METRICS)
            raise WrongUsage(
                f"There is no metric {one.metric!r} in this run.",
                hint=f"The metrics are {known}; each also for one kind of question, such as filtered.hit@5; "
                "and latency_ms.STAGE.p50 or p95.",
            )
    return [
        {**asdict(one), "value": rounded(values[one.metric]), "holds": one.holds(values[one.metric])} for one in floors
    ]


def rounded(value: float | None, digits: int = 4) -> float | None:
    return None if value is None else round(value, digits)


def shown(value: float | None, *, digits: int = 3) -> str:
    """For people; a dash is a figure that could not be measured."""
    return "–" if value is None else f"{value:.{digits}f}"


def _rounded(values: Values) -> Values:
    return {name: rounded(value) for name, value in values.items()}


def report(golden: GoldenSet, run: Run, about: Mapping[str, Any]) -> Document:
    """`about` says what was measured, when and how."""
    results = run.results
    return {
        "file": golden.name,
        "file_sha256": golden.digest,
        **about,
        "questions": len(results),
        "metrics": _rounded(measure(results)),
        "by_kind": {kind: {"questions": len(part), **_rounded(measure(part))} for kind, part in parts(results).items()},
        "latency_ms": {
            stage: {name: round(spent, 2) for name, spent in times.items()} for stage, times in latency(results).items()
        },
        "curve": [point_view(point) for point in curve(results)],
        "operating_point": operating_point(results),
        "stale": [asdict(label) for label in run.stale],
        "results": [to_record(result) for result in results],
    }


def operating_point(results: Sequence[Result]) -> dict[str, float] | None:
    """The point of the curve that belongs to the judge's threshold."""
    answered = [result.confidence for result in results if result.searches and result.answered]
    if not answered:
        return None
    return next(point_view(point) for point in reversed(curve(results)) if point.threshold >= min(answered))


def point_view(point: Point) -> dict[str, float]:
    return {name: round(value, 4) for name, value in asdict(point).items()}


def at_coverages(points: Sequence[Mapping[str, float]]) -> list[Mapping[str, float]]:
    """The curve at 10 %, 20 % … of the questions: for each, the first point that answers that many."""
    return [next(point for point in points if point["coverage"] >= coverage - 1e-9) for coverage in COVERAGES if points]


# --- comparing -------------------------------------------------------------------------------------------------------


def read_report(path: Path) -> Document:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise WrongUsage(
            f"{path} cannot be read: {error}.", hint="--compare needs a file written by `quoth eval FILE --json`."
        ) from error
    if not isinstance(document, dict) or not isinstance(document.get("results"), list):
        raise WrongUsage(
            f"{path} is not a report of `quoth eval --json`: it has no results.",
            hint="Write one with `quoth eval FILE --json`.",
        )
    return document


def compare(old: Document, results: Sequence[Result]) -> Document:
    """Both runs, over the questions they share: figures over different questions cannot be compared."""
    before = {result.id: result for result in map(from_record, old["results"])}
    now = {result.id: result for result in results}
    common = [name for name in now if name in before]
    if not common:
        raise WrongUsage("The two runs have no question in common.", hint="Compare runs of the same file.")
    was, is_now = ([of[name] for name in common] for of in (before, now))
    return {
        "questions": len(common),
        "only_old": sorted(before.keys() - now.keys()),
        "only_new": sorted(now.keys() - before.keys()),
        "metrics": _side_by_side(measure(was), measure(is_now), digits=4),
        "latency_ms": _side_by_side(_medians(was), _medians(is_now), digits=2),
        "newly_right": [name for name in common if now[name].right and not before[name].right],
        "newly_wrong": [name for name in common if before[name].right and not now[name].right],
    }


def _medians(results: Sequence[Result]) -> Values:
    return {stage: times["p50"] for stage, times in latency(results).items()}


def _side_by_side(old: Values, new: Values, *, digits: int) -> Document:
    """What both runs measured."""
    return {
        name: {"old": rounded(value, digits), "new": rounded(new[name], digits)}
        for name, value in old.items()
        if name in new
    }


# --- fitting to the book ---------------------------------------------------------------------------------------------


def fit_view(fit: Refit) -> Document:
    better = "are better" if fit.better else "are not clearly better"
    return {
        "questions": len(fit.examples),
        "better": fit.better,
        "gain": round(fit.gain, 4),
        "uncertainty": round(fit.uncertainty, 4),
        "shipped": fit.before.figures(),
        "refitted": fit.after.figures(),
        "shipped_curve": [point_view(point) for point in fit.before.points],
        "refitted_curve": [point_view(point) for point in fit.after.points],
        "verdict": f"On held-out questions, the refitted numbers {better} than the shipped ones: "
        f"log loss lower by {fit.gain:.3f} ± {fit.uncertainty:.3f}.",
    }


# --- what went wrong -------------------------------------------------------------------------------------------------


def verdict_on(record: Mapping[str, Any]) -> str:
    """One line about a wrong result."""
    if not record["answerable"]:
        return f"answered with confidence {record['confidence']:.2f}, but had to be refused"
    found = record["right_ranks"]
    place = f"its passage was found at rank {found[0]}" if found else "its passage was not among the first ten"
    if not record["searches"]:
        place = "the selected text has it"
    if not record["answered"]:
        return f"refused with confidence {record['confidence']:.2f}; {place}"
    return f"quoted something else; {place}"


def failures(document: Document) -> list[Document]:
    return [record for record in document["results"] if not record["right"]]
