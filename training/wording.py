"""How much the wording of a question or claim gives its label away.

Texts with labels come in, log odds go out: those of a bag of words, fitted on other folds. Who writes questions that a
passage does not answer asks more often for a default or a maximum; a reader that learns this knows the writer, not
the passage. `losses` adds these odds to the logits, so that only the rest is learned. Pure numpy.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
FOLDS, LEAST, RIDGE, STEPS, RATE = 5, 8, 0.003, 300, 2.0
FARTHEST = 2.5  # log odds
_WORD = re.compile(r"[a-z']+|\d+")


def biases(texts: Sequence[str], labels: Sequence[bool], groups: Sequence[int]) -> list[float]:
    """For each text; `groups` are never in both a fit and its use."""
    words = [_words(text) for text in texts]
    truth, folds = np.array(labels, dtype=np.float64), np.array(groups) % FOLDS
    found = np.zeros(len(texts))
    for fold in range(FOLDS):
        inside = np.flatnonzero(folds != fold)
        known = Counter(word for at in inside for word in words[at])
        rows = {word: at for at, word in enumerate(word for word, count in known.items() if count >= LEAST)}
        weights = _fitted([[rows[w] for w in words[at] if w in rows] for at in inside], truth[inside], len(rows))
        usual = np.log(truth[inside].mean() / (1 - truth[inside].mean()))
        for at in np.flatnonzero(folds == fold):
            found[at] = weights[-1] + sum(weights[rows[w]] for w in words[at] if w in rows) - usual
    return [float(value) for value in np.clip(found, -FARTHEST, FARTHEST)]


def _words(text: str) -> set[str]:
    found = _WORD.findall(text.lower())
    return {*found, f" {len(found) // 4}"}


def _fitted(places: list[list[int]], truth: Floats, size: int) -> Floats:
    """Logistic regression by gradient descent; the last weight is the bias."""
    lengths = [len(one) for one in places]
    flat = np.array([at for one in places for at in one], dtype=np.int64)
    rows = np.repeat(np.arange(len(places)), lengths)
    weights = np.zeros(size + 1)
    for _ in range(STEPS):
        logits = weights[-1] + np.bincount(rows, weights[flat], minlength=len(places))
        error = 1 / (1 + np.exp(-logits)) - truth
        slope = np.append(np.bincount(flat, error[rows], minlength=size), error.sum()) / len(places)
        slope[:-1] += RIDGE * weights[:-1]
        weights -= RATE * slope
    return weights
