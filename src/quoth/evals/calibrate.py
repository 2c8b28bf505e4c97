"""Fits the judge's logistic model, and decides whether a book's own fit is better than the shipped one.

Used by `quoth eval --calibrate` and benchmarks/refusal.py. Every figure comes from questions that the fit has not seen:
the questions are split into five parts, with all questions about one page in the same part, and each part is judged by
a model fitted on the other four. The model fitted on all questions is kept only if these held-out judgements beat the
shipped model's by more than the standard error. `quoth.ask.judge` names the features; this module knows none of them.
Pure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
import numpy.typing as npt

from quoth.ask.calibration import Calibration, Logistic, calibration_for
from quoth.ask.judge import FITTED, UNFITTED, features
from quoth.errors import WrongUsage
from quoth.evals.metrics import Point, area_under, auroc, calibration_error, mean, quantile, risk_coverage
from quoth.evals.run import Outcome

# --- fitting ---------------------------------------------------------------------------------------------------------


Floats = npt.NDArray[np.floating]
Mask = npt.NDArray[np.bool_]
ROUNDS = 50


def fit_logistic(
    names: Sequence[str], rows: Floats, labels: Mask, weights: Floats, ridge: float = 1.0, prior: Logistic | None = None
) -> Logistic:
    """Newton's method on standardised features. The weights it returns are for the raw features."""
    mean, deviation = rows.mean(axis=0), rows.std(axis=0) + 1e-9
    matrix = np.hstack([np.ones((len(rows), 1)), (rows - mean) / deviation]).astype(np.float64)
    scale = weights.astype(np.float64) * len(rows) / weights.sum()
    penalty = np.diag([0.0] + [ridge] * rows.shape[1])
    target = np.zeros(matrix.shape[1])
    if prior is not None:
        before = np.array([prior.weights.get(name, 0.0) for name in names])
        target = np.concatenate([[prior.bias + float((before * mean).sum())], before * deviation])

    def cost(beta: Floats) -> float:
        logits = matrix @ beta
        pull = beta - target
        return float((scale * (np.logaddexp(0, logits) - labels * logits)).sum() + pull @ penalty @ pull / 2)

    # Start at zero, not at the prior: a prior that is far off is certain of everything, and a step from there can go
    # anywhere. A step that makes things worse is halved.
    beta = np.zeros(matrix.shape[1])
    for _ in range(ROUNDS):
        chance = 1 / (1 + np.exp(-np.clip(matrix @ beta, -30, 30)))
        gradient = matrix.T @ (scale * (labels - chance)) - penalty @ (beta - target)
        curvature = (matrix * (scale * chance * (1 - chance))[:, None]).T @ matrix + penalty
        step = np.linalg.solve(curvature + 1e-9 * np.eye(len(beta)), gradient)
        while cost(beta + step) > cost(beta) + 1e-12 and np.abs(step).max() > 1e-8:
            step = step / 2
        beta = beta + step
        if np.abs(step).max() < 1e-8:
            break
    raw = beta[1:] / deviation
    return Logistic(
        round(float(beta[0] - (raw * mean).sum()), 4),
        {name: round(float(weight), 4) for name, weight in zip(names, raw, strict=True)},
    )


# --- fitting to one book ---------------------------------------------------------------------------------------------


FOLDS = 5
LEAST_HELD, LEAST_NOT_HELD = 30, 20  # questions of each sort; with fewer, a fit reflects chance, not the book
PULL = 10.0  # how strongly the fit is pulled towards the shipped numbers, in standardised units
ANSWERABLE_REFUSED = 0.05  # at most this share of the answerable questions may be refused


@dataclass(frozen=True, slots=True)
class Example:
    features: Mapping[str, float]
    held: bool
    group: str  # a split never separates examples of one group


@dataclass(frozen=True, slots=True)
class Judged:
    """One model's judgements of questions it has not seen, and how good they are."""

    confidences: tuple[float, ...]
    log_loss: float
    calibration_error: float
    auroc: float
    aurc: float
    answerable_refused: float
    unanswerable_refused: float
    decisions_right: float
    points: tuple[Point, ...]

    def figures(self) -> dict[str, float]:
        names = ("log_loss", "calibration_error", "auroc", "aurc", "answerable_refused", "unanswerable_refused")
        return {name: round(getattr(self, name), 4) for name in (*names, "decisions_right")}


@dataclass(frozen=True, slots=True)
class Refit:
    examples: tuple[Example, ...]
    before: Judged  # by the shipped model
    after: Judged  # by models that had not seen the question
    gain: float  # by how much the mean log loss falls
    uncertainty: float  # standard error of the gain
    calibration: Calibration  # fitted on all questions

    @property
    def better(self) -> bool:
        return self.gain > self.uncertainty


def examples_of(outcomes: Sequence[Outcome]) -> list[Example]:
    """Questions without any passage are left out: they are refused by rule and have no features."""
    return [
        Example(features(outcome.evidence), outcome.result.held, outcome.result.page or f"question {outcome.result.id}")
        for outcome in outcomes
        if outcome.result.searches and outcome.evidence.passages
    ]


def refit(examples: Sequence[Example], embedder: str, reader: str = "") -> Refit:
    shipped = calibration_for(embedder, reader) or UNFITTED
    held = sum(example.held for example in examples)
    if held < LEAST_HELD or len(examples) - held < LEAST_NOT_HELD:
        raise WrongUsage(
            f"{held} questions whose answer was found and {len(examples) - held} others are too few to fit to.",
            hint=f"--calibrate needs {LEAST_HELD} and {LEAST_NOT_HELD}; questions on selected text do not count.",
        )
    unseen, decisions = [0.0] * len(examples), [False] * len(examples)
    folds = fold_of(examples)
    for fold in range(FOLDS):
        seen = [example for example, part in zip(examples, folds, strict=True) if part != fold]
        model = _fitted(seen, shipped)
        for at, example in enumerate(examples):
            if folds[at] == fold:
                unseen[at] = model.judge.probability(example.features)
                decisions[at] = unseen[at] >= model.threshold
    before = [shipped.judge.probability(example.features) for example in examples]
    labels = [example.held for example in examples]
    falls = [loss(old, label) - loss(new, label) for old, new, label in zip(before, unseen, labels, strict=True)]
    gain = sum(falls) / len(falls)
    spread = math.sqrt(sum((fall - gain) ** 2 for fall in falls) / (len(falls) - 1))
    return Refit(
        examples=tuple(examples),
        before=judged(before, [confidence >= shipped.threshold for confidence in before], labels),
        after=judged(unseen, decisions, labels),
        gain=gain,
        uncertainty=spread / math.sqrt(len(falls)),
        calibration=_fitted(examples, shipped),
    )


def fold_of(examples: Sequence[Example]) -> list[int]:
    """The part of each example. A group stays together and goes to the part with the fewest of its sort; the result is
    always the same."""
    groups: dict[str, list[Example]] = {}
    for example in examples:
        groups.setdefault(example.group, []).append(example)
    sizes = {True: [0] * FOLDS, False: [0] * FOLDS}
    chosen: dict[str, int] = {}
    for group in sorted(groups, key=lambda name: (-len(groups[name]), crc32(name.encode()), name)):
        sort = groups[group][0].held
        fold = sizes[sort].index(min(sizes[sort]))
        chosen[group] = fold
        for example in groups[group]:
            sizes[example.held][fold] += 1
    return [chosen[example.group] for example in examples]


def _fitted(examples: Sequence[Example], shipped: Calibration) -> Calibration:
    names = list(dict.fromkeys((*FITTED, *shipped.judge.weights)))
    rows = np.array([[example.features[name] for name in names] for example in examples])
    labels = np.array([example.held for example in examples])
    model = fit_logistic(names, rows, labels, np.ones(len(examples)), ridge=PULL, prior=shipped.judge)
    sure = [model.probability(example.features) for example in examples if example.held]
    threshold = round(quantile(sure, ANSWERABLE_REFUSED) or shipped.threshold, 3)
    return Calibration(
        similarity=Logistic(0.0),  # not fitted here: the embedder's own stays
        judge=model,
        threshold=threshold,
        medium=max(threshold, shipped.medium),
        high=max(threshold, shipped.high),
        outside=min(threshold, shipped.outside),
    )


def loss(confidence: float, held: bool) -> float:
    """Log loss, capped: one mistake made with certainty must not decide everything."""
    return -math.log(max(1e-3, confidence if held else 1 - confidence))


def judged(confidences: Sequence[float], answered: Sequence[bool], held: Sequence[bool]) -> Judged:
    points = risk_coverage(confidences, held)
    decided = list(zip(answered, held, strict=True))
    return Judged(
        confidences=tuple(confidences),
        log_loss=mean([loss(confidence, label) for confidence, label in zip(confidences, held, strict=True)]) or 0.0,
        calibration_error=calibration_error(confidences, held) or 0.0,
        auroc=auroc(confidences, held) or 0.0,
        aurc=area_under(points) or 0.0,
        answerable_refused=mean([float(not answer) for answer, label in decided if label]) or 0.0,
        unanswerable_refused=mean([float(not answer) for answer, label in decided if not label]) or 0.0,
        decisions_right=mean([float(answer == label) for answer, label in decided]) or 0.0,
        points=tuple(points),
    )
