"""What a sentence says exactly, and its sources do not: numbers, code, quotations and names.

In: a sentence, its words that are nowhere in the sources, and the sources. Out: the first exact thing that is missing
there, in words for a reader; `support` weighs everything else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from quoth.ask.grounds import Source, letters, spelled
from quoth.text.terms import ContentTerm, content_terms

_LARGEST_COUNT = 10
_NAME = re.compile(r"(?<=[\w,;)] )[\"'(*_“]*([A-Z][\w'’-]+)")
CODE = re.compile(r"`+([^`]+)`+")
_QUOTED = re.compile(r"\"([^\"\n]*)\"|“([^“”\n]*)”")
_LEAST_QUOTED = 4  # words; fewer are a term or a label
_MONTHS = frozenset(
    ("January", "February", "March", "April", "June", "July", "August", "September", "October", "November", "December")
)
_HOST = re.compile(r"(?:[\w-]+\.)+(?:com|org|net|edu|gov|io|dev|info|[a-z]{2})")
_LONGEST_INITIALS = 5
_CAPITALS = re.compile(r"\b[A-Z]{2,8}\b")


def missing_in(
    claim: str,
    new: Sequence[ContentTerm],
    numbers: Sequence[str],
    names: Sequence[str],
    sources: Sequence[Source],
    asked: frozenset[int],
) -> str:
    if numbers:
        return f"{numbers[0]} is not in the source"
    raw = "\n".join(source.raw for source in sources)
    for term in _exact_terms(claim, new):
        if not term.found_in(asked) and not _occurs_exactly(term.text, raw):
            return f"{term.text} is not in the source"
    if any(_misquotes(straight or curved, sources, asked) for straight, curved in _QUOTED.findall(claim)):
        return "the words in quotation marks are not in the source"
    return f"{names[0]} is not in the source" if names else ""


def numbers_among(terms: Sequence[ContentTerm]) -> list[str]:
    return [term.text for term in terms if any(char.isdigit() for char in term.text) or _is_number(term.text)]


def _is_number(word: str) -> bool:
    """Eleven to ninety. An answer counts its own points with smaller ones; larger ones are parts of a number."""
    number = spelled().get(word.lower(), 0)
    return _LARGEST_COUNT < number < 100


def _misquotes(quoted: str, sources: Sequence[Source], asked: frozenset[int]) -> bool:
    said = letters(quoted)
    if len(said.split()) < _LEAST_QUOTED or any(said in source.letters for source in sources):
        return False
    terms = content_terms(quoted)
    return 2 * sum(term.id in asked for term in terms) <= len(terms)  # otherwise it quotes the question


def _exact_terms(claim: str, new: Sequence[ContentTerm]) -> list[ContentTerm]:
    """Words in code, and new words anywhere that look like code."""
    in_code = [term for span in CODE.findall(claim) for term in content_terms(span)]
    return in_code + [term for term in new if _looks_like_code(term.text)]


def _looks_like_code(text: str) -> bool:
    body = text.lstrip("-@$~./")
    inside = any(mark in body for mark in ("_", "::")) or bool(re.search(r"[a-z][A-Z]|\w\.\w{2,}", body))
    return inside or (text.startswith("-") and len(text) > 1)


def _occurs_exactly(text: str, raw: str) -> bool:
    flags = re.IGNORECASE if _HOST.fullmatch(text) else 0  # the case of an address says nothing
    return not text.isascii() or re.search(rf"(?<!\w){re.escape(text)}(?!\w)", raw, flags) is not None


def missing_names(claim: str, new: Sequence[ContentTerm], sources: Sequence[Source]) -> list[str]:
    unknown = {term.text for term in new}
    names = [name for name in _NAME.findall(claim) if name in unknown]
    if not names:
        return []
    raw = "\n".join(source.raw for source in sources)
    short_there, long_here = set(_CAPITALS.findall(raw)), _initials(claim)
    spelled_out = {letter for short in short_there if short in long_here for letter in short}
    long_there = _initials(raw)
    return [
        name
        for name in names
        if name[0] not in spelled_out
        and not (name.isupper() and (name in long_there or name in long_here))
        and not _shortened(name, raw)
    ]


def _shortened(name: str, raw: str) -> bool:
    """The same name there in another spelling: Aug for August, U.S. for US, EZ for E-Z."""
    if name in _MONTHS:
        return re.search(rf"\b{name[:3]}\b", raw) is not None
    letters = name.replace("-", "")
    if not letters.isupper() or len(letters) > _LONGEST_INITIALS:
        return False
    return re.search(rf"(?<!\w){'[.-]?'.join(map(re.escape, letters))}(?!\w)", raw) is not None


def _initials(text: str) -> str:
    """The initials of the words with a capital: FLSA is the Fair Labor Standards Act, here or there."""
    return "".join(word[0] for word in re.findall(r"\b[A-Z][\w'’-]*", text) if not word.isupper())
