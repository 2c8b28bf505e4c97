"""Fits the order of the best passages, their similarity and the judge; writes nothing.

Found passages and cases come in, weights and thresholds go out. What is fitted on which sets, and why, is said here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from corpora import EvaluationSet, Floats
from quoth.ask.calibration import Logistic, Order
from quoth.ask.judge import FITTED, READ
from quoth.ask.read import asks, sign, with_signs
from quoth.domain import Passage
from quoth.evals.calibrate import fit_logistic
from refusal_cases import FITTED_ON, TEMPTING, Case, held_out, whole
from searching import Searcher

# In other sets an unlabelled passage may answer all the same, so removing the labelled ones does not
# always remove the answer. COVID-QA does not say which passages belong to one paper: most answers are in several.
TRUSTED = "squad2_dev_half"
TRUST = {TRUSTED: 3.0, "covidqa_passages": 0.3}
# The sets that settle the judge's numbers: labels that can be trusted, several kinds of books and questions.
CALIBRATED_ON = ("squad2_dev_half", "scifact", "qed_nq_dev", "rust_book_quiz", "chunking_evaluation")
ORDERS = (0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.1)  # how much the reading may count in the order
AS_MUCH = 0.001  # of nDCG@10: less is no difference
# Look-alikes are the hardest to tell apart, and the features that do it matter little in the other settings: without
# extra weight they are not told apart at all. More than this would cost the other settings more than it gains here.
LOOK_ALIKES = 3.0
# Regularisation per case. With it, left-out sets are judged a little better.
RIDGE = 0.025


def balanced(keys: Sequence[tuple[object, ...]]) -> Floats:
    """Every group of cases counts the same, however large it is."""
    counts: dict[tuple[object, ...], int] = {}
    for key in keys:
        counts[key] = counts.get(key, 0) + 1
    return np.array([1 / counts[key] for key in keys])


@dataclass(frozen=True, slots=True)
class Found:
    """The best passages of one question, as they were found, and which are right."""

    set_name: str
    held_out: bool
    passages: tuple[Passage, ...]
    right: tuple[bool, ...]
    relevant: int
    asks: bool  # a question, not a statement


async def found_by(searcher: Searcher, sets: list[EvaluationSet], most: int) -> list[Found]:
    found = []
    for of in sets:
        for at in np.random.default_rng(7).permutation(len(of.questions))[:most]:
            asked = of.questions[at]
            evidence = await searcher.find(of.corpus, asked.text, of.question_vectors[at], 10)
            right = tuple(passage.chunk.id in asked.relevant for passage in evidence.passages)
            group = held_out(whole(asked.group))
            found.append(Found(of.name, group, evidence.passages, right, len(asked.relevant), asks(asked.text)))
    return found


def unread_sign(found: list[Found]) -> float:
    """The usual reading of the last passages that were read: a passage after them gets no more."""
    last = [sign(one.passages[4].reading) for one in found if len(one.passages) > 4 and one.passages[4].reading]
    return round(float(np.mean(last)), 3)


def scores_of(one: Found, weight: float, unread: float) -> list[float]:
    if not one.asks:
        return [p.score for p in one.passages]
    signs = [sign(p.reading) if p.reading else None for p in one.passages]
    return with_signs([p.score for p in one.passages], signs, Order(weight, unread))


def gain_of(one: Found, weight: float, unread: float) -> float:
    """nDCG@10 of the passages in their new order."""
    scores = scores_of(one, weight, unread)
    order = sorted(range(len(scores)), key=lambda at: -scores[at])
    gain = sum(one.right[at] / np.log2(rank + 2) for rank, at in enumerate(order))
    return float(gain / sum(1 / np.log2(rank + 2) for rank in range(min(one.relevant, 10))))


def fit_order(found: list[Found]) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
    """The weight that gains most on average over the sets without making any of them worse than before; the smallest
    of those that gain as much (decision 0049)."""
    unread = unread_sign(found)
    names = sorted({one.set_name for one in found})
    gains = {
        name: {
            f"{weight:g}": float(np.mean([gain_of(one, weight, unread) for one in found if one.set_name == name]))
            for weight in ORDERS
        }
        for name in names
    }
    harmless = [w for w in ORDERS if all(gains[name][f"{w:g}"] >= gains[name]["0"] - 1e-9 for name in names)]
    mean = {w: float(np.mean([gains[name][f"{w:g}"] for name in names])) for w in harmless}
    weight = min(w for w in harmless if mean[w] >= max(mean.values()) - AS_MUCH)
    return {"weight": weight, "unread": unread}, gains


def fit_similarity(found: list[Found], order: Mapping[str, float]) -> Logistic:
    rows: list[list[float]] = []
    labels: list[bool] = []
    keys: list[tuple[object, ...]] = []
    for one in found:
        if not one.held_out:
            rows += [[score] for score in scores_of(one, order["weight"], order["unread"])]
            labels += one.right
            keys += [(one.set_name,)] * len(one.right)
    return fit_logistic(["score"], np.array(rows), np.array(labels), balanced(keys))


def weighed(train: list[Case]) -> list[str]:
    return list(READ if READ[0] in train[0].seen else FITTED)


def fit_judge(known: list[Case]) -> Logistic:
    train = [case for case in known if case.set_name in FITTED_ON]
    names = weighed(train)
    rows = np.array([[case.seen[name] for name in names] for case in train])
    labels = np.array([case.answerable for case in train])
    weights = balanced([(case.set_name, case.setting, case.answerable) for case in train])
    weights *= np.array([TRUST.get(case.set_name, 1.0) for case in train])
    weights *= np.array([LOOK_ALIKES if case.setting in TEMPTING else 1.0 for case in train])
    return recalibrated(fit_logistic(names, rows, labels, weights, RIDGE * len(rows)), train)


def threshold_of(judged: Logistic, known: list[Case], refused: float) -> float:
    """The threshold with this share of the answerable questions of the fit below it, put to whole corpora; every set
    counts the same."""
    asked = [
        case for case in known
        if case.answerable and not case.held_out and case.setting in ("article", *TEMPTING)
        and case.set_name in CALIBRATED_ON
    ]  # fmt: skip
    weights = balanced([(case.set_name,) for case in asked])
    scores = np.array([judged.probability(case.seen) for case in asked])
    order = np.argsort(scores)
    below = np.cumsum(weights[order]) / weights.sum()
    return round(float(scores[order][int(np.searchsorted(below, refused))]), 3)


def recalibrated(judged: Logistic, train: list[Case]) -> Logistic:
    """Look-alikes help to rank, but readers ask few of them: probabilities are calibrated without them, on the sets
    whose labels can be trusted, each counting the same."""
    plain = [case for case in train if case.setting not in TEMPTING and case.set_name in CALIBRATED_ON]
    logits = np.array([[judged.logit(case.seen)] for case in plain])
    labels = np.array([case.answerable for case in plain])
    scale = fit_logistic(["logit"], logits, labels, balanced([(case.set_name, case.setting) for case in plain]))
    by = scale.weights["logit"]
    return Logistic(
        round(scale.bias + by * judged.bias, 4),
        {name: round(by * weight, 4) for name, weight in judged.weights.items()},
    )
