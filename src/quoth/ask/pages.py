"""Which pages of the book a conversation is on. Pure.

In: the exchanges that tell what a question means, each with the sources of its answer. Out: how much of the
conversation is on each source file, the last answers counting most, and whether the last answer left the pages that it
was on. A conversation seldom changes its page from one turn to the next, and one wrong answer must not take it along.
"""

from __future__ import annotations

from collections.abc import Sequence

from quoth.domain import PastTurn

_DECAY = 0.6  # what counts of an answer that was given one exchange earlier


def pages_of(turns: Sequence[PastTurn]) -> dict[str, float]:
    """Source file → its share of the conversation, at most 1."""
    ages = [_DECAY**age for age in reversed(range(len(turns)))]
    cited = [(weight, _files(turn)) for weight, turn in zip(ages, turns, strict=True) if turn.sources]
    total = sum(weight for weight, _ in cited)
    shares: dict[str, float] = {}
    for weight, files in cited:
        for file in files:
            shares[file] = shares.get(file, 0.0) + weight / total
    return shares


def leaves_pages(turns: Sequence[PastTurn]) -> bool:
    """Whether the last answer is on none of the pages that the conversation was on before."""
    before = frozenset[str]().union(*map(_files, turns[:-1]))
    return bool(before) and bool(_files(turns[-1])) and not before & _files(turns[-1])


def _files(turn: PastTurn) -> frozenset[str]:
    return frozenset(source.source_file for source in turn.sources if source.source_file)
