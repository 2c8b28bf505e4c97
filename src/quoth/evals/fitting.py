"""Fits the judge's logistic model. Pure numerics, shared by `quoth eval --calibrate` and benchmarks/refusal.py.

In: rows of features, whether the passages held the answer, and weights. Out: a `Logistic` over the raw features. With
a prior, the fit is pulled towards that model: a book has hundreds of questions where the shipped numbers had thousands.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from quoth.calibration import Logistic

Floats = npt.NDArray[np.floating]
Mask = npt.NDArray[np.bool_]
ROUNDS = 50


def fit_logistic(
    names: Sequence[str], rows: Floats, labels: Mask, weights: Floats, ridge: float = 1.0, prior: Logistic | None = None
) -> Logistic:
    """Newton's method on standardised features; the weights that leave are those of the raw ones."""
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

    # From nothing, not from the prior: where that is far off it is certain of everything, and a step from there leads
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
