"""Cuts a passage into overlapping windows and writes the token ids that the reader sees of one.

    [CLS] question [SEP] heading [SEP] passage [SEP]

Token type 0 up to and with the second [SEP], type 1 from there on, so that type 1 is the passage. A passage without
heading has none between the two [SEP]. Long questions and headings are cut here; a passage never is, it is read in
several windows. Pure Python: token ids and character offsets come in from any tokenizer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

CLS, SEP, PAD = 101, 102, 0
# In tokens. A window and its step are what the shipped reader uses; training also sees others.
QUESTION, HEADING, WINDOW, STEP = 64, 20, 160, 110
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Tokens:
    """Of one text: ids, and where each lies in it."""

    ids: Sequence[int]
    offsets: Sequence[Span]

    def __len__(self) -> int:
        return len(self.ids)

    def covering(self, span: Span) -> Span | None:
        """First and last token that touch these characters."""
        touched = [at for at, (start, end) in enumerate(self.offsets) if start < span[1] and span[0] < end]
        return (touched[0], touched[-1]) if touched else None


def windows(length: int, window: int = WINDOW, step: int = STEP) -> list[Span]:
    """Token ranges that cover a passage. The last ends where the passage does and is as long as the others."""
    if length <= window:
        return [(0, length)]
    starts = [*range(0, length - window, step), length - window]
    return [(start, start + window) for start in starts]


def head(question: Sequence[int], heading: Sequence[int]) -> list[int]:
    """All before the passage. Of a heading's path the end counts: it is nearest to the text."""
    return [CLS, *question[:QUESTION], SEP, *heading[-HEADING:], SEP]


def joined(question: Sequence[int], heading: Sequence[int], passage: Sequence[int]) -> tuple[list[int], int]:
    """The ids of one window, and where its passage begins."""
    before = head(question, heading)
    return [*before, *passage, SEP], len(before)
