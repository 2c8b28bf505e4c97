"""Figures with intervals: area under the curve, means, ranking gain, calibration. Numbers come in, `Figure`s go out.

Intervals are bootstrapped over groups (articles, questions), because questions of one article are alike. Pure numpy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
DRAWS = 400


@dataclass(frozen=True, slots=True)
class Figure:
    value: float
    low: float
    high: float
    cases: int

    def as_json(self) -> dict[str, float]:
        return {"value": round(self.value, 4), "low": round(self.low, 4), "high": round(self.high, 4),
                "cases": self.cases}  # fmt: skip


def auroc(scores: Floats, labels: NDArray[np.bool_]) -> float:
    """The probability that a positive scores above a negative; ties count half."""
    right, wrong = int(labels.sum()), int((~labels).sum())
    if not right or not wrong:
        return math.nan
    _, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks = (ends - (counts - 1) / 2)[inverse]
    return float((ranks[labels].sum() - right * (right + 1) / 2) / (right * wrong))


def bootstrapped(measure: Callable[[NDArray[np.int64]], float], groups: Sequence[object]) -> Figure:
    """`measure` gets the rows that count, some of them several times."""
    names = sorted({str(group) for group in groups})
    members: dict[str, list[int]] = {name: [] for name in names}
    for row, group in enumerate(groups):
        members[str(group)].append(row)
    chance = np.random.default_rng(11)
    drawn = []
    for _ in range(DRAWS):
        picked = chance.integers(0, len(names), len(names))
        value = measure(np.concatenate([members[names[at]] for at in picked]).astype(np.int64))
        if not math.isnan(value):
            drawn.append(value)
    whole = measure(np.arange(len(groups)))
    low, high = (float(np.quantile(drawn, share)) for share in (0.025, 0.975)) if drawn else (math.nan, math.nan)
    return Figure(whole, low, high, len(groups))


def auroc_figure(scores: Sequence[float], labels: Sequence[bool], groups: Sequence[object] | None = None) -> Figure:
    values, truth = np.array(scores, dtype=np.float64), np.array(labels, dtype=np.bool_)
    return bootstrapped(lambda rows: auroc(values[rows], truth[rows]), groups or range(len(values)))


def mean_figure(values: Sequence[float], groups: Sequence[object] | None = None) -> Figure:
    numbers = np.array(values, dtype=np.float64)
    return bootstrapped(lambda rows: float(numbers[rows].mean()), groups or range(len(numbers)))


def ndcg(ranked: Sequence[str], relevant: set[str], k: int = 10) -> float:
    gain = sum(1 / math.log2(rank + 2) for rank, key in enumerate(ranked[:k]) if key in relevant)
    return gain / sum(1 / math.log2(rank + 2) for rank in range(min(len(relevant), k)))


def calibration_error(chances: Floats, labels: NDArray[np.bool_], bins: int = 10) -> float:
    """Mean gap between stated and true probability, over bins of equal size."""
    order = np.argsort(chances)
    gaps = [
        abs(float(chances[part].mean()) - float(labels[part].mean())) * len(part)
        for part in np.array_split(order, bins)
        if len(part)
    ]
    return sum(gaps) / len(chances)


def fitted_scale(logits: Floats, labels: NDArray[np.bool_]) -> tuple[float, float]:
    """Slope and shift that fit the logits' probabilities to the labels, by Newton's method."""
    rows = np.stack([logits, np.ones_like(logits)], axis=1)
    weights = np.array([1.0, 0.0])
    for _ in range(50):
        chances = 1 / (1 + np.exp(-np.clip(rows @ weights, -30, 30)))
        slope = rows.T @ (chances - labels) / len(rows) + 1e-6 * weights
        bend = (rows * (chances * (1 - chances))[:, None]).T @ rows / len(rows) + 1e-6 * np.eye(2)
        step = np.linalg.solve(bend, slope)
        weights = weights - step
        if float(np.abs(step).max()) < 1e-8:
            break
    return float(weights[0]), float(weights[1])
