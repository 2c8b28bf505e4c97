"""What an example is before and after it is cut: `Draft` in characters, `Piece` in tokens.

A draft names its question, heading, passage and labels. `cut` chooses a window and turns it into token ids with the
labels that hold in that window. Drafts of one question form a group and stay together, so that right and wrong
passages are compared within a batch. Pure Python except for the tokenizer, which the caller passes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from .windows import Span, Tokens, joined, window_of, windows

# Labels of a head. Nothing is learned from UNKNOWN; UNSUPPORTED is either neutral or contradicted.
UNKNOWN, NO, YES = -1, 0, 1
SUPPORT = {"supported": 0, "neutral": 1, "contradicted": 2, "unsupported": 3}
# About the sizes that the shipped reader reads: the first passage nearly whole, the others in part.
SMALLEST, LARGEST = 72, 240
AS_SHIPPED = 0.7  # share of windows, among those with a choice, that the shipped reader would choose


@dataclass(frozen=True, slots=True)
class Draft:
    kind: str
    question: str
    passage: str
    heading: str = ""
    span: Span | None = None  # where the answer is, if that is known
    answerable: int = UNKNOWN
    relevance: int = UNKNOWN
    support: str = ""
    anchor: int | None = None  # a character that the window must contain
    bias: float = 0.0  # log odds of the label by the wording of the question or claim alone


Group = list[Draft]


@dataclass(frozen=True, slots=True)
class Piece:
    kind: str
    ids: list[int]
    passage_at: int
    start: int  # token of the answer; 0 is "not here", -1 unknown
    end: int
    answerable: int
    relevance: int
    support: int
    bias: float = 0.0


Tokenizer = Callable[[str], Tokens]


def choose(draft: Draft, question: Sequence[int], tokens: Tokens, chance: Random, size: int) -> Span:
    """The window that the shipped reader would choose, or another that contains the answer or the anchor."""
    every = windows(len(tokens), size, max(1, size * 2 // 3))
    if len(every) == 1:
        return every[0]
    wanted = draft.span or (None if draft.anchor is None else (draft.anchor, draft.anchor + 1))
    place = tokens.covering(wanted) if wanted else None
    shipped = window_of(question, tokens.ids, size)
    if place is None:
        return shipped if chance.random() < AS_SHIPPED else chance.choice(every)
    if (draft.span is None or _holds(shipped, place)) and chance.random() < AS_SHIPPED:
        return shipped
    holding = [window for window in every if _holds(window, place)]
    if holding:
        return chance.choice(holding)
    start = min(max(0, place[0] - size // 4), len(tokens) - size)
    return start, start + size


def _holds(window: Span, place: Span) -> bool:
    return window[0] <= place[0] and place[1] < window[1]


def cut(draft: Draft, tokenize: Tokenizer, chance: Random, size: int) -> Piece | None:
    tokens = tokenize(draft.passage).without_marks()
    if len(tokens) < 5:
        return None
    question = tokenize(draft.question).ids
    begin, finish = choose(draft, question, tokens, chance, size)
    ids, at = joined(question, tokenize(draft.heading).without_marks().ids, tokens.ids[begin:finish])
    start = end = UNKNOWN
    if draft.span is not None:
        place = tokens.covering(draft.span)
        if place is None or not begin <= place[0] < finish:
            return None
        start, end = at + place[0] - begin, at + min(place[1], finish - 1) - begin
    elif draft.answerable == NO:
        start = end = 0
    support = SUPPORT[draft.support] if draft.support else UNKNOWN
    return Piece(draft.kind, ids, at, start, end, draft.answerable, draft.relevance, support, draft.bias)
