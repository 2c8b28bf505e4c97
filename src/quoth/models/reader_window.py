"""Which part of a passage the reader reads: its words without marks, and of a long one the part with the most, and the
rarest, of the question's words.

In: token ids, and the embedder's word vectors: a word counts for as much as the passage has something like it (remove,
delete). Out: which tokens to keep, and a range of them. Pure and without imports from Quoth: the training loads this
file too, so that it learns from the very windows that are read later.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

WINDOW = 230  # tokens of a passage to read at most, unless a task gives it less room
STRIDE = 8  # tokens between the starts of two candidate windows
ALIKE = 0.3  # cosine of two words' vectors; below it they have nothing in common
AGAIN = 0.03  # weight of a repeated word of the question
NEARLY = 0.98  # of the best window's score: among such windows, the one that has the words in its middle
FIRST_LETTER, FIRST_WORD = 1037, 1996  # of the vocabulary
COMMON = 60  # words that say nothing about where the answer is
DIGITS = range(1014, 1024)
# " # * - / < = > [ \ ] ^ _ ` { | } ~ are a quarter of the tokens of a technical page. They are written for a renderer
# or a compiler, and leave less room for what the page says.
MARKS = frozenset((1000, 1001, 1008, 1011, 1013, *range(1026, 1029), *range(1031, 1037), *range(1063, 1067)))


def kept(tokens: Sequence[int]) -> list[int]:
    """The places of the tokens that are read: no marks, and of a row of dots or colons only the first."""
    found: list[int] = []
    last = -1
    for at, token in enumerate(tokens):
        repeated = token == last and token < FIRST_LETTER and token not in DIGITS
        if token not in MARKS and not repeated:
            found.append(at)
            last = token
    return found


def window_of(question: Sequence[int], passage: Sequence[int], vectors: Floats, size: int = WINDOW) -> tuple[int, int]:
    """The part of a passage that is most likely to answer. `vectors` has one row for each token of the vocabulary."""
    import numpy as np

    if len(passage) <= size:
        return 0, len(passage)
    sought = [token for token in dict.fromkeys(question) if rarity(token)]
    if not sought:
        return 0, size
    likeness = _directions(vectors, sought) @ _directions(vectors, passage).T
    rare = np.array([rarity(token) for token in sought])
    worth = np.where(likeness > ALIKE, likeness, 0.0) ** 2 * rare[:, np.newaxis]
    starts = np.array([*range(0, len(passage) - size, STRIDE), len(passage) - size])
    inside = np.lib.stride_tricks.sliding_window_view(worth, size, axis=1)[:, starts]
    scores = inside.max(axis=2).sum(axis=0) + AGAIN * inside.sum(axis=(0, 2))
    each = inside.sum(axis=0)
    middle = each @ np.arange(size) / np.maximum(each.sum(axis=1), 1e-9)
    off = np.where(scores >= NEARLY * scores.max(), np.abs(middle - size / 2), np.inf)
    start = int(starts[int(off.argmin())])
    return start, start + size


def _directions(vectors: Floats, tokens: Sequence[int]) -> Floats:
    import numpy as np

    rows = vectors[list(tokens)]
    found: Floats = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return found


def rarity(token: int) -> float:
    """The vocabulary lists single characters first, punctuation before letters, then words by falling frequency, so a
    token's number says how rare it is."""
    if token < FIRST_WORD:
        return 1.0 if token >= FIRST_LETTER else 0.0
    return max(0.0, math.log((token - FIRST_WORD + 1) / COMMON))
