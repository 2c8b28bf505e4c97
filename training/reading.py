"""Reads passages with trained weights, as the shipped reader will: windows in, one reading per passage out.

A question (or claim), a heading and a passage come in as texts. One window of a long passage is read, as in Quoth.
Nothing is learned here; weights are rounded to half precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from .model import Logits, Reader
from .prepare import Pieces
from .windows import WINDOW, Span, joined, window_of

Floats = NDArray[np.float32]
LONGEST_ANSWER = 60  # tokens
BUDGET = 8_000  # padded tokens per batch


@dataclass(frozen=True, slots=True)
class Asked:
    question: str
    passage: str
    heading: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """What the heads say about one passage. `starts` and `ends` are probabilities over the tokens read, including
    "not here"."""

    answerable: float
    relevance: float
    support: Floats
    margin: float  # how far the best span is above "not here", in logits
    best: Span  # in characters of the passage
    offsets: Sequence[Span]
    starts: Floats
    ends: Floats

    @property
    def supported(self) -> float:
        """Log odds of "supported"."""
        return float(self.support[0] - np.logaddexp(self.support[1], self.support[2]))

    def sentence_scores(self, sentences: Sequence[Span]) -> list[float]:
        """The share of the answer's start and end in each sentence."""
        both = (self.starts + self.ends) / 2
        return [
            float(sum(p for (a, b), p in zip(self.offsets, both, strict=True) if start <= a and b <= end))
            for start, end in sentences
        ]


@dataclass(frozen=True, slots=True)
class _Cut:
    ids: list[int]
    passage_at: int
    offsets: Sequence[Span]


class PassageReader:
    def __init__(self, reader: Reader, tokenize: Pieces, window: int = WINDOW) -> None:
        self._reader = reader
        self._tokenize = tokenize
        self._window = window

    def read(self, asked: Sequence[Asked]) -> list[Reading]:
        cut = [self._cut(one) for one in asked]
        found: dict[int, Reading] = {}
        for batch in _batches(cut):
            found.update(zip(batch, self._readings([cut[at] for at in batch]), strict=True))
        return [found[at] for at in range(len(asked))]

    def _cut(self, asked: Asked) -> _Cut:
        question, tokens = self._tokenize(asked.question).ids, self._tokenize(asked.passage).without_marks()
        begin, end = window_of(question, tokens.ids, self._window)
        ids, at = joined(question, self._tokenize(asked.heading).without_marks().ids, tokens.ids[begin:end])
        return _Cut(ids, at, tokens.offsets[begin:end])

    def _readings(self, cut: Sequence[_Cut]) -> list[Reading]:
        width = max(len(one.ids) for one in cut)
        ids = torch.zeros((len(cut), width), dtype=torch.long)
        types, mask = torch.zeros_like(ids), torch.zeros_like(ids)
        for row, one in enumerate(cut):
            ids[row, : len(one.ids)] = torch.tensor([int(token) for token in one.ids])
            types[row, one.passage_at : len(one.ids)] = 1
            mask[row, : len(one.ids)] = 1
        with torch.inference_mode():
            logits = self._reader(ids, types, mask)
        return [_reading(logits, row, one) for row, one in enumerate(cut)]


def _reading(logits: Logits, row: int, cut: _Cut) -> Reading:
    at, offsets, size = cut.passage_at, cut.offsets, len(cut.offsets)
    start, end = logits.start[row].numpy(), logits.end[row].numpy()
    own_start, own_end = start[at : at + size], end[at : at + size]
    pairs = own_start[:, None] + own_end[None, :]
    allowed = np.triu(np.ones((size, size), dtype=bool)) & ~np.triu(np.ones((size, size), dtype=bool), LONGEST_ANSWER)
    pairs = np.where(allowed, pairs, -np.inf)
    first, last = np.unravel_index(int(pairs.argmax()), pairs.shape)
    return Reading(
        answerable=float(logits.answerable[row]),
        relevance=float(logits.relevance[row]),
        support=logits.support[row].numpy(),
        margin=float(pairs[first, last] - start[0] - end[0]),
        best=(offsets[int(first)][0], offsets[int(last)][1]),
        offsets=offsets,
        starts=_shares(own_start, float(start[0])),
        ends=_shares(own_end, float(end[0])),
    )


def _shares(logits: Floats, nowhere: float) -> Floats:
    top = max(float(logits.max()), nowhere)
    raised = np.exp(logits - top)
    shares: Floats = raised / (raised.sum() + np.exp(nowhere - top))
    return shares


def _batches(cut: Sequence[_Cut]) -> list[list[int]]:
    batches: list[list[int]] = []
    for at in sorted(range(len(cut)), key=lambda at: len(cut[at].ids)):
        longest = len(cut[at].ids)
        if not batches or (len(batches[-1]) + 1) * longest > BUDGET:
            batches.append([])
        batches[-1].append(at)
    return batches
