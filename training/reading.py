"""Reads passages with trained weights, as the shipped reader will: windows in, one reading for each passage out.

A question (or claim), a heading and a passage come in as texts. A long passage is read in overlapping windows and the
best window counts. Nothing is learned here; weights are those rounded to half precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from .model import Logits, Reader
from .prepare import Pieces
from .windows import STEP, WINDOW, Span, joined, windows

Floats = NDArray[np.float32]
LONGEST_ANSWER = 60  # tokens
BUDGET = 8_000  # padded tokens of a batch


@dataclass(frozen=True, slots=True)
class Asked:
    question: str
    passage: str
    heading: str = ""


@dataclass(frozen=True, slots=True)
class Window:
    """What the heads say of one window. `starts` and `ends` are probabilities over its tokens, "not here" included."""

    answerable: float
    relevance: float
    support: Floats
    margin: float  # of the best span over "not here", in logits
    best: Span  # in characters of the passage
    offsets: Sequence[Span]
    starts: Floats
    ends: Floats


@dataclass(frozen=True, slots=True)
class Reading:
    windows: list[Window]

    @property
    def answerable(self) -> float:
        return max(window.answerable for window in self.windows)

    @property
    def relevance(self) -> float:
        return max(window.relevance for window in self.windows)

    @property
    def margin(self) -> float:
        return max(window.margin for window in self.windows)

    @property
    def supported(self) -> float:
        """Log odds of "supported"."""
        return max(float(w.support[0] - np.logaddexp(w.support[1], w.support[2])) for w in self.windows)

    @property
    def best(self) -> Span:
        return max(self.windows, key=lambda window: window.margin).best

    def sentence_scores(self, sentences: Sequence[Span]) -> list[float]:
        """The share of the answer's start and end that lies in each sentence, of the window where it is largest."""
        scores = [0.0] * len(sentences)
        for window in self.windows:
            both = (window.starts + window.ends) / 2
            for at, (start, end) in enumerate(sentences):
                inside = [p for (a, b), p in zip(window.offsets, both, strict=True) if start <= a and b <= end]
                scores[at] = max(scores[at], float(sum(inside)))
        return scores


class PassageReader:
    def __init__(self, reader: Reader, tokenize: Pieces, window: int = WINDOW, step: int = STEP) -> None:
        self._reader = reader
        self._tokenize = tokenize
        self._window = window
        self._step = step

    def read(self, asked: Sequence[Asked]) -> list[Reading]:
        cut: list[tuple[int, list[int], int, Sequence[Span]]] = []
        for number, one in enumerate(asked):
            question, heading = self._tokenize(one.question).ids, self._tokenize(one.heading).ids
            tokens = self._tokenize(one.passage)
            for begin, end in windows(len(tokens), self._window, self._step):
                ids, at = joined(question, heading, tokens.ids[begin:end])
                cut.append((number, ids, at, tokens.offsets[begin:end]))
        found: list[list[tuple[int, Window]]] = [[] for _ in asked]
        for batch in _batches(cut):
            for at, window in zip(batch, self._windows([cut[at] for at in batch]), strict=True):
                found[cut[at][0]].append((at, window))
        # In the order of the passage, whatever the order in which they were read.
        return [Reading([window for _, window in sorted(each, key=lambda pair: pair[0])]) for each in found]

    def _windows(self, cut: Sequence[tuple[int, list[int], int, Sequence[Span]]]) -> list[Window]:
        width = max(len(ids) for _, ids, _, _ in cut)
        ids = torch.zeros((len(cut), width), dtype=torch.long)
        types, mask = torch.zeros_like(ids), torch.zeros_like(ids)
        for row, (_, own, at, _) in enumerate(cut):
            ids[row, : len(own)] = torch.tensor([int(one) for one in own])
            types[row, at : len(own)] = 1
            mask[row, : len(own)] = 1
        with torch.inference_mode():
            logits = self._reader(ids, types, mask)
        return [_window(logits, row, at, offsets) for row, (_, _, at, offsets) in enumerate(cut)]


def _window(logits: Logits, row: int, at: int, offsets: Sequence[Span]) -> Window:
    size = len(offsets)
    start, end = logits.start[row].numpy(), logits.end[row].numpy()
    own_start, own_end = start[at : at + size], end[at : at + size]
    pairs = own_start[:, None] + own_end[None, :]
    allowed = np.triu(np.ones((size, size), dtype=bool)) & ~np.triu(np.ones((size, size), dtype=bool), LONGEST_ANSWER)
    pairs = np.where(allowed, pairs, -np.inf)
    first, last = np.unravel_index(int(pairs.argmax()), pairs.shape)
    return Window(
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


def _batches(cut: Sequence[tuple[int, list[int], int, Sequence[Span]]]) -> list[list[int]]:
    batches: list[list[int]] = []
    for at in sorted(range(len(cut)), key=lambda at: len(cut[at][1])):
        longest = len(cut[at][1])
        if not batches or (len(batches[-1]) + 1) * longest > BUDGET:
            batches.append([])
        batches[-1].append(at)
    return batches
