"""The sentences of some passages that a claim would have to rest on, as one short text for the reader.

A sentence of an answer often joins what a passage says in several places, or what two passages say; one window of one
passage then holds only a part of it. In: a claim and passages. Out: the sentences that together hold most of its words,
the rarest first, in their own order. Pure and without imports from Quoth: the training loads this file too, so that the
reader learns from the very texts that it is given later.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

MOST = 75  # words of the text
_TRIED = 24  # sentences: some are too long for the room that is left
_REPEATED, _BESIDE, _STEM = 0.15, 1.1, 6
_ENDS = re.compile(r"(?<=[.!?:;])\s+(?=[A-Z0-9\"“(*`-])|\n+")
_WORD = re.compile(r"[a-z]{2,}|\d[\d.,]*")
_COMMON = frozenset(
    """the of to in on for and or is are was were be been it its this that these those with as by at from which can may
    will not has have had do does if then than also such their there they he she his her you your we our into when while
    who what how more most some any each other one two about after before between during only over under up out so but
    an""".split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class Unit:
    passage: int
    at: int
    text: str
    stems: frozenset[str]


def evidence(claim: str, passages: Sequence[str], most: int = MOST) -> str:
    units = units_of(passages)
    chosen = chosen_units(claim, units, most)
    return " ".join(unit.text for unit in units if unit in chosen) or (passages[0] if passages else "")


def units_of(passages: Sequence[str]) -> list[Unit]:
    return [
        Unit(number, at, sentence.strip(), stems(sentence))
        for number, passage in enumerate(passages)
        for at, sentence in enumerate(part for part in _ENDS.split(passage) if part.strip())
    ]


def chosen_units(claim: str, units: Sequence[Unit], most: int = MOST) -> list[Unit]:
    """Greedily, best first: each adds what the ones before it do not hold."""
    holding = Counter(stem for unit in units for stem in unit.stems)
    worth = {stem: math.log(1 + len(units) / (holding[stem] + 0.5)) for stem in stems(claim) if holding[stem]}
    chosen: list[Unit] = []
    held: set[str] = set()
    left, room = [unit for unit in units if unit.stems & worth.keys()], most

    def gain(unit: Unit) -> float:
        found = sum(worth[stem] * (_REPEATED if stem in held else 1.0) for stem in unit.stems & worth.keys())
        beside = any(one.passage == unit.passage and abs(one.at - unit.at) == 1 for one in chosen)
        length: float = (len(unit.text.split()) + 12) ** 0.35
        return found * (_BESIDE if beside else 1.0) / length

    for _ in range(min(_TRIED, len(left))):
        best = max(left, key=gain)
        left.remove(best)
        length = len(best.text.split())
        if not chosen or length <= room:
            chosen.append(best)
            held |= best.stems
            room -= length
    return chosen


def stems(text: str) -> frozenset[str]:
    found = (word.rstrip(".,") for word in _WORD.findall(text.lower()))
    return frozenset(word if word[0].isdigit() else word[:_STEM] for word in found if word not in _COMMON)
