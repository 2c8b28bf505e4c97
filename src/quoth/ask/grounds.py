"""A passage, analysed for the check of an answer: its words, where they are, and how it reads without markup.

In: a chunk. Out: a `Source`, made once for all sentences that rest on it. Words with which an answer only refers to
itself do not count, and a spelled-out number is the same as its digits. What a sentence claims is decided in `support`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from quoth.domain import Chunk
from quoth.text.terms import ContentTerm, content_ids, content_terms, term_ids

_STRETCH, _STEP = 24, 8  # content words: as many as two sentences hold, and how far apart such stretches begin
_MARKUP = re.compile(r"[*_`~]+")
_NOT_LETTERS = re.compile(r"\W+")

# Words with which an answer refers to itself, its sources or its own order. They claim nothing.
_GLUE = """
according additionally addition additional aforementioned another answer answers answered appear appears article
author based basis besides brief briefly case certain clear clearly conclude conclusion confidence confirm consider
considered contain contains context crucial describe described describes detail detailed details determine discuss
discussed discusses document effectively ensure especially even example examples excerpt explain explained explains
explanation explicitly extract fact factor factors final finally first firstly second secondly third thirdly follow
following follows furthermore general generally given hand hence however implied implies imply important
importantly include included includes including indicate indicated indicates infer information instance instead
involve involves involved key known lastly like likely list listed main mainly mean means meanwhile mention
mentioned mentions moreover namely necessary need needed needs nevertheless next note noted noteworthy number one
ones order overall page particular particularly passage passages point points possible possibly potentially present
presented previous primarily primary provide provided provides providing purpose question query quote read reason
reasons recommend recommended refer refers regarding related relevant remember response result results role said
say says section sections see seem seems sentence several short significant significantly similar similarly simply
source sources specific specifically specified state stated states step steps still suggest suggested suggests sum
summarize summary sure term terms text therefore tip tips topic typically unable unclear unfortunately use used
uses using usually various vary way ways well whereas worth make makes making made take takes taken help helps
allow allows
"""
# Spelled-out numbers are the same numbers.
_SMALL_NUMBERS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
nineteen twenty
"""
_LARGE_NUMBERS = {
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "seventy": 70,
    "eighty": 80,
    "ninety": 90,
    "hundred": 100,
    "thousand": 1000,
    "million": 1_000_000,
}
_SIGNS = {"%": "percent percentage", "$": "dollar", "°": "degree fahrenheit celsius", "€": "euro", "£": "pound"}


@dataclass(frozen=True, slots=True)
class Source:
    """A passage, analysed once for all sentences that rest on it."""

    chunk: Chunk
    windows: tuple[frozenset[int], ...]  # the words of each stretch as long as two sentences
    places: Mapping[int, Sequence[int]]  # word → where, counted in content words
    ids: frozenset[int]  # all words, those of the headings too
    raw: str
    letters: str


@lru_cache(maxsize=256)
def analyse(chunk: Chunk) -> Source:
    above = " / ".join((chunk.title, *chunk.heading_path))
    words, ignored = content_ids(chunk.shown), _glue()
    places: dict[int, list[int]] = {}
    position = 0
    for ids in words:
        position += ids[0] not in ignored
        for id_ in ids:
            places.setdefault(id_, []).append(position)
    content = [ids for ids in words if ids[0] not in ignored]
    starts = range(0, max(1, len(content) - _STRETCH + _STEP), _STEP)
    stretches = (content[start : start + _STRETCH] for start in starts)
    return Source(
        chunk=chunk,
        windows=tuple(_with_numbers({id_ for ids in stretch for id_ in ids}) for stretch in stretches),
        places=places,
        ids=_with_numbers({*places, *term_ids(above)}) | _signs(chunk.text),
        raw=f"{above}\n{chunk.shown}",
        letters=letters(chunk.shown),
    )


def letters(text: str) -> str:
    """Word characters only, bounded by spaces: how a text reads when markup and punctuation are forgotten."""
    return f" {_NOT_LETTERS.sub(' ', _MARKUP.sub('', text)).strip()} ".lower()


@cache
def spelled() -> Mapping[str, int]:
    return {word: number for number, word in enumerate(_SMALL_NUMBERS.split())} | _LARGE_NUMBERS


@cache
def _numbers() -> Mapping[int, int]:
    """The id of a spelled-out number ↔ that of its digits."""
    pairs = [(content_ids(word)[0][0], content_ids(str(number))[0][0]) for word, number in spelled().items()]
    return dict(pairs) | {digits: word for word, digits in pairs}


@cache
def _glue() -> frozenset[int]:
    return term_ids(_GLUE)


def _with_numbers(ids: set[int]) -> frozenset[int]:
    same = _numbers()
    return frozenset(ids) | {same[id_] for id_ in ids if id_ in same}


def _signs(text: str) -> frozenset[int]:
    return term_ids(" ".join(words for sign, words in _SIGNS.items() if sign in text))


def words_of(text: str) -> list[ContentTerm]:
    """The content words in order, without those in which an answer refers to itself."""
    return [term for term in content_terms(text) if term.id not in _glue()]


def once(terms: Sequence[ContentTerm]) -> list[ContentTerm]:
    return list({term.id: term for term in terms}.values())
