"""Results → figures. Each metric is one function over results, and one exact sentence.

In: the results of a run. Out: a number for each metric; None, never 0 or 1, if it cannot be measured (no question of
that kind, nothing refused). docs/evaluation.md has the same sentences; a test compares them. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Literal

from quoth.evals.results import Result

DEPTH = 10  # ranks that count
BINS = 10

Values = dict[str, float | None]


# --- of one ranking --------------------------------------------------------------------------------------------------


def hit_at(ranks: Sequence[int], k: int) -> float:
    return float(any(rank <= k for rank in ranks))


def reciprocal_rank(ranks: Sequence[int]) -> float:
    return 1 / min(ranks) if ranks else 0.0


def ndcg(ranks: Sequence[int], relevant: int, k: int = DEPTH) -> float:
    """Discounted gain of the right passages, divided by that of the best possible ranking."""
    best = sum(1 / math.log2(rank + 1) for rank in range(1, min(relevant, k) + 1))
    return sum(1 / math.log2(rank + 1) for rank in ranks if rank <= k) / best if best else 0.0


# --- of confidence ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Point:
    """Answering at this confidence or above: the share of questions answered, and the share of those that are wrong."""

    threshold: float
    coverage: float
    risk: float


def risk_coverage(confidences: Sequence[float], held: Sequence[bool]) -> list[Point]:
    """One point for each confidence that occurs, highest first: equal confidences are answered together."""
    points: list[Point] = []
    answered = wrong = 0
    ranked = sorted(zip(confidences, held, strict=True), key=lambda pair: -pair[0])
    for confidence, group in groupby(ranked, key=lambda pair: pair[0]):
        equal = [right for _, right in group]
        answered += len(equal)
        wrong += equal.count(False)
        points.append(Point(confidence, answered / len(ranked), wrong / answered))
    return points


def area_under(points: Sequence[Point]) -> float | None:
    """The mean risk over all coverages, as a sum of steps."""
    if not points:
        return None
    before = [0.0, *(point.coverage for point in points)]
    return sum((point.coverage - last) * point.risk for point, last in zip(points, before[:-1], strict=True))


def calibration_error(confidences: Sequence[float], held: Sequence[bool], bins: int = BINS) -> float | None:
    """Expected calibration error over bins of (nearly) equal size. The order of the input does not matter: ties are
    sorted too."""
    ranked = sorted(zip(confidences, held, strict=True))
    size = len(ranked)
    if not size:
        return None
    parts = [ranked[start:end] for start, end in pairwise(size * at // bins for at in range(bins + 1))]
    apart = [abs(sum(confidence for confidence, _ in part) - sum(right for _, right in part)) for part in parts]
    return sum(apart) / size


def auroc(confidences: Sequence[float], held: Sequence[bool]) -> float | None:
    """The probability that a question whose answer was found has a higher confidence than one whose answer was not."""
    positive = sum(held)
    if not positive or positive == len(held):
        return None
    ranks, below = 0.0, 0
    for _, group in groupby(sorted(zip(confidences, held, strict=True)), key=lambda pair: pair[0]):
        tied = [right for _, right in group]
        ranks += (below + (len(tied) + 1) / 2) * sum(tied)
        below += len(tied)
    return (ranks - positive * (positive + 1) / 2) / (positive * (len(held) - positive))


def quantile(values: Sequence[float], share: float) -> float | None:
    """The smallest value such that at least this share of the values does not exceed it."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None


# --- of a run --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Metric:
    name: str
    better: Literal["higher", "lower"]
    meaning: str
    of: Callable[[Sequence[Result]], float | None]


def mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def ranked(results: Sequence[Result]) -> list[Result]:
    """The results whose label has a rank: answerable questions for which the book was searched."""
    return [result for result in results if result.answerable and result.searches]


def searched(results: Sequence[Result]) -> tuple[list[float], list[bool]]:
    """For the questions that searched the book: the confidences, and whether the passages held the answer."""
    known = [result for result in results if result.searches]
    return [result.confidence for result in known], [result.held for result in known]


def curve(results: Sequence[Result]) -> list[Point]:
    return risk_coverage(*searched(results))


def _hit(k: int) -> Metric:
    where = "as the first one" if k == 1 else f"among the first {k}"
    return Metric(
        f"hit@{k}",
        "higher",
        f"Share of the answerable questions put to the book with a right passage {where}.",
        lambda results: mean([hit_at(result.right_ranks, k) for result in ranked(results)]),
    )


def _citation_precision(results: Sequence[Result]) -> float | None:
    cited = [result for result in ranked(results) if result.answered]
    return share(sum(result.right_citations for result in cited), sum(result.citations for result in cited))


def _refusal_precision(results: Sequence[Result]) -> float | None:
    refused = [result for result in results if not result.answered]
    return share(sum(not result.answerable for result in refused), len(refused))


def _refusal_recall(results: Sequence[Result]) -> float | None:
    wanted = [result for result in results if not result.answerable]
    return share(sum(not result.answered for result in wanted), len(wanted))


def _has_kind(result: Result) -> bool:
    return bool(result.asks) or result.kind == "instruction"


METRICS: tuple[Metric, ...] = (
    _hit(1),
    _hit(3),
    _hit(5),
    _hit(10),
    Metric(
        "mrr",
        "higher",
        "Mean over the same questions of 1 / rank of the first right passage, 0 when none is among the first ten.",
        lambda results: mean([reciprocal_rank(result.right_ranks) for result in ranked(results)]),
    ),
    Metric(
        "ndcg@10",
        "higher",
        "Mean over the same questions of the discounted gain of the right passages among the first ten, "
        "divided by that of the best possible ranking.",
        lambda results: mean([ndcg(result.right_ranks, result.right_passages) for result in ranked(results)]),
    ),
    Metric(
        "quote_recall",
        "higher",
        "Mean over all answerable questions of the share of the label's characters that the answer's citations quote; "
        "a refusal counts 0.",
        lambda results: mean([result.quote_recall for result in results if result.answerable]),
    ),
    Metric(
        "answers_right",
        "higher",
        "Share of all answerable questions that were answered with at least half of the label quoted.",
        lambda results: mean([float(result.right) for result in results if result.answerable]),
    ),
    Metric(
        "right_block",
        "higher",
        "Share of the questions that say what they ask for, and of the instructions, whose answer shows at least nine "
        "tenths of the block that answers (the list, the table, the code), or of the quote where no block is labelled; "
        "a refusal counts 0.",
        lambda results: mean(
            [float(result.block_shown) for result in results if result.answerable and _has_kind(result)]
        ),
    ),
    Metric(
        "gold_words",
        "higher",
        "Mean over all answerable questions of the share of the words of the label's quote that are in the answer; a "
        "refusal counts 0.",
        lambda results: mean([result.gold_words for result in results if result.answerable]),
    ),
    Metric(
        "words_per_answer",
        "lower",
        "Mean number of words of the answers to answerable questions, markers and code included.",
        lambda results: mean([float(result.words) for result in results if result.answerable and result.answered]),
    ),
    Metric(
        "citation_precision",
        "higher",
        "Share of the citations in answers to answerable questions put to the book whose link opens the section "
        "that holds the label.",
        _citation_precision,
    ),
    Metric(
        "refusal_precision",
        "higher",
        "Share of the refused questions that had to be refused.",
        _refusal_precision,
    ),
    Metric(
        "refusal_recall",
        "higher",
        "Share of the questions that had to be refused that were refused.",
        _refusal_recall,
    ),
    Metric(
        "decision_accuracy",
        "higher",
        "Share of all questions that were answered if answerable and refused if not.",
        lambda results: mean([float(result.decided_right) for result in results]),
    ),
    Metric(
        "grounding",
        "higher",
        "Share of the sentences in all answers that the grounding check found supported by the passages they cite.",
        lambda results: share(sum(result.supported for result in results), sum(result.sentences for result in results)),
    ),
    Metric(
        "calibration_error",
        "lower",
        "Mean distance, over ten equal groups of the questions put to the book ordered by confidence, between the mean "
        "confidence and the share whose passages held the answer.",
        lambda results: calibration_error(*searched(results)),
    ),
    Metric(
        "auroc",
        "higher",
        "Probability that a question put to the book whose passages held the answer has a higher confidence than one "
        "whose passages did not.",
        lambda results: auroc(*searched(results)),
    ),
    Metric(
        "aurc",
        "lower",
        "Area under the risk-coverage curve of the questions put to the book.",
        lambda results: area_under(curve(results)),
    ),
)


def measure(results: Sequence[Result]) -> Values:
    return {metric.name: metric.of(results) for metric in METRICS}


def by_kind(results: Sequence[Result]) -> dict[str, Values]:
    """The same for each kind of question, as `kind.metric`."""
    return {kind: measure(part) for kind, part in parts(results).items()}


def parts(results: Sequence[Result]) -> dict[str, list[Result]]:
    """The results of each kind; the unanswerable ones also by subject (absent or near), and others by what they ask
    for, if they say so."""
    found: dict[str, list[Result]] = {}
    for result in results:
        for name in (result.kind, result.subject, result.asks):
            if name:
                found.setdefault(name, []).append(result)
    return found


def latency(results: Sequence[Result]) -> dict[str, dict[str, float]]:
    """Milliseconds of each stage and in total: the median and the slow end."""
    stages: dict[str, list[float]] = {}
    for result in results:
        for stage, spent in (*result.stage_ms.items(), ("total", result.total_ms)):
            stages.setdefault(stage, []).append(spent)
    return {
        stage: {"p50": quantile(spent, 0.5) or 0.0, "p95": quantile(spent, 0.95) or 0.0}
        for stage, spent in stages.items()
    }


def all_values(results: Sequence[Result]) -> Values:
    """Everything that can have a floor, by name."""
    flat: Values = dict(measure(results))
    for kind, values in by_kind(results).items():
        flat |= {f"{kind}.{name}": value for name, value in values.items()}
    for stage, times in latency(results).items():
        flat |= {f"latency_ms.{stage}.{name}": value for name, value in times.items()}
    return flat


LOWER: frozenset[str] = frozenset(metric.name for metric in METRICS if metric.better == "lower")


def lower_is_better(name: str) -> bool:
    return name.startswith("latency_ms.") or name.rpartition(".")[2] in LOWER
