"""The numbers that turn raw scores into probabilities, fitted once for each embedder, alone and with the reader, and
shipped as plain JSON.

Read by `find` (how likely is this passage relevant?) and by `judge` (how likely do these passages hold the answer?).
benchmarks/refusal.py fits them and writes calibration.json with its provenance. An embedder that is not in the file has
no numbers: both stages then follow a conservative rule of their own.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import pairwise

OUTSIDE = 0.02  # if nothing else was fitted


@dataclass(frozen=True, slots=True)
class Logistic:
    """probability = 1 / (1 + exp(-(bias + sum of weight * feature)))"""

    bias: float
    weights: Mapping[str, float] = field(default_factory=dict)

    def logit(self, features: Mapping[str, float]) -> float:
        return self.bias + sum(weight * features[name] for name, weight in self.weights.items())

    def probability(self, features: Mapping[str, float]) -> float:
        return sigmoid(self.logit(features))


@dataclass(frozen=True, slots=True)
class Order:
    """How much the reader's signs count in the order of the passages, on the scale of the passages' scores."""

    weight: float
    unread: float  # the value assumed for a passage that was not read


@dataclass(frozen=True, slots=True)
class Calibration:
    similarity: Logistic  # of one passage
    judge: Logistic  # of the evidence
    threshold: float  # refuse below this; chosen for the risk stated in the file
    medium: float
    high: float
    outside: float = OUTSIDE  # below this, not even a language model is asked
    order: Order | None = None  # None if passages are not read


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps average similarities to a table that was written for another model's: `low` is read as 0.60, `medium` as
    0.75, `high` as 0.85, and values between them in proportion."""

    low: float
    medium: float
    high: float

    def read(self, similarity: float) -> float:
        steps = ((0.0, 0.0), (self.low, 0.60), (self.medium, 0.75), (self.high, 0.85), (1.0, 1.0))
        for (start, low), (end, high) in pairwise(steps):
            if similarity < end:
                return low + (high - low) * (similarity - start) / (end - start)
        return 1.0


def sigmoid(logit: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(-40.0, min(40.0, logit))))


def calibration_for(embedder: str, reader: str = "") -> Calibration | None:
    """The numbers for an embedder alone, or for an embedder and a reader together."""
    return shipped().get(f"{embedder} + {reader}" if reader else embedder)


def scale_for(embedder: str, reader: str = "") -> Scale | None:
    """For the policy `spec`; None if nothing was measured."""
    return _scales().get(f"{embedder} + {reader}" if reader else embedder)


@cache
def _scales() -> Mapping[str, Scale]:
    """Written by benchmarks/spec_levels.py."""
    text = files("quoth.ask").joinpath("spec_scale.json").read_text(encoding="utf-8")
    return {name: Scale(one["low"], one["medium"], one["high"]) for name, one in json.loads(text).items()}


@cache
def shipped() -> Mapping[str, Calibration]:
    text = files("quoth.ask").joinpath("calibration.json").read_text(encoding="utf-8")
    return {name: _read(entry) for name, entry in json.loads(text)["embedders"].items()}


def _read(entry: Mapping[str, Mapping[str, float | Mapping[str, float]]]) -> Calibration:
    levels, order = entry["levels"], entry.get("order")
    return Calibration(
        similarity=_logistic(entry["similarity"]),
        judge=_logistic(entry["judge"]),
        threshold=_number(levels["low"]),
        outside=_number(levels.get("outside", OUTSIDE)),
        order=Order(_number(order["weight"]), _number(order["unread"])) if order else None,
        medium=_number(levels["medium"]),
        high=_number(levels["high"]),
    )


def _logistic(entry: Mapping[str, float | Mapping[str, float]]) -> Logistic:
    weights = entry["weights"]
    if not isinstance(weights, Mapping):
        raise TypeError("calibration.json: weights must be an object")
    return Logistic(bias=_number(entry["bias"]), weights=dict(weights))


def _number(value: float | Mapping[str, float]) -> float:
    if isinstance(value, Mapping):
        raise TypeError("calibration.json: expected a number")
    return float(value)
