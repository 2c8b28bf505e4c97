"""Which part of a long passage the reader reads: the one with the most, and the rarest, of the question's words.

In: token ids. Out: a range of tokens. Pure and without imports from Quoth: the training loads this file too, so that it
learns from the very windows that are read later.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

WINDOW = 104  # tokens of a passage to read
STRIDE = 8  # tokens between the starts of two candidate windows
AGAIN = 0.1  # weight of a repeated word of the question
FIRST_LETTER, FIRST_WORD = 1037, 1996  # of the vocabulary
COMMON = 60  # words that say nothing about where the answer is


def window_of(question: Sequence[int], passage: Sequence[int], size: int = WINDOW) -> tuple[int, int]:
    """The part of a passage that is most likely to answer: the one with the most, and the rarest, of the question's
    words. Among equals, the one that has them in its middle."""
    if len(passage) <= size:
        return 0, len(passage)
    worth = {token: rarity(token) for token in question}
    met = [(at, token) for at, token in enumerate(passage) if worth.get(token)]
    starts = (*range(0, len(passage) - size, STRIDE), len(passage) - size)

    def found(start: int) -> tuple[float, float]:
        inside = [(at, token) for at, token in met if start <= at < start + size]
        again = sum(worth[token] for _, token in inside)
        once = sum(worth[token] for token in {token for _, token in inside})
        middle = sum(at for at, _ in inside) / len(inside) if inside else 0.0
        return once + AGAIN * again, -abs(start + size / 2 - middle)

    start = max(starts, key=found)
    return start, start + size


def rarity(token: int) -> float:
    """The vocabulary lists single characters first, punctuation before letters, then words by falling frequency, so a
    token's number says how rare it is."""
    if token < FIRST_WORD:
        return 1.0 if token >= FIRST_LETTER else 0.0
    return max(0.0, math.log((token - FIRST_WORD + 1) / COMMON))
