"""Small functions on a text: its sentences, names and words, and replacing one word with another. Pure Python."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from .lexicon import DAYS, MONTHS, QUESTION_WORDS, SMALL_WORDS

Span = tuple[int, int]
_NO_NAMES = SMALL_WORDS | QUESTION_WORDS | {word.lower() for word in (*MONTHS, *DAYS)}

_NAME = re.compile(r"\b[A-Z][\w'’.-]*\w(?:(?: (?:of|the|de|van|von|and|for))? [A-Z][\w'’.-]*\w)*")
# A single line break is a wrapped line, unless a list, table or heading begins after it.
_SENTENCE_END = re.compile(
    r"(?<=[.!?])[\"')\]]*\s+(?=[A-Z0-9\"'(`*\[-])|\s*\n\s*\n\s*|\s*\n(?=[ \t]*(?:[-*+|#>]|\d+[.)]|```|~~~))"
)


def sentences(text: str) -> list[Span]:
    """Rough, by punctuation and line breaks."""
    bounds = [0, *(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]
    found = [(a, b) for a, b in pairwise(bounds) if text[a:b].strip()]
    return found or [(0, len(text))]


def sentence_of(text: str, span: Span) -> Span:
    """From the first sentence that the span touches to the last."""
    touched = [(a, b) for a, b in sentences(text) if a < span[1] and span[0] < b]
    return (touched[0][0], touched[-1][1]) if touched else (0, len(text))


def names(text: str) -> list[str]:
    """Capitalised runs that do not merely begin a sentence, longest first."""
    found: dict[str, None] = {}
    for match in _NAME.finditer(text):
        name = match.group().removesuffix("'s").removesuffix("’s")
        first = match.start() == 0 or text[: match.start()].rstrip()[-1:] in {".", "!", "?", "\n", ""}
        lowered = name.split()[0].lower()
        if (first and " " not in name) or lowered in _NO_NAMES:
            continue
        found[name] = None
    return sorted(found, key=lambda name: -len(name))


def places(text: str, word: str) -> Iterator[int]:
    """Where the word occurs as a whole word. Without a pattern, which would be compiled for each word each time."""
    lowered, wanted = text.lower(), word.lower()
    if len(lowered) != len(text) or not wanted:
        return
    at = lowered.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if not (at and _in_word(lowered[at - 1])) and not (end < len(lowered) and _in_word(lowered[end])):
            yield at
        at = lowered.find(wanted, end)


def _in_word(sign: str) -> bool:
    return sign.isalnum() or sign == "_"


def has_word(text: str, word: str) -> bool:
    return next(places(text, word), None) is not None


def swap(text: str, old: str, new: str) -> str:
    """Replaces every occurrence; a capital stays a capital."""
    parts, reached = [], 0
    for at in places(text, old):
        capital = text[at].isupper() and new[:1].islower()
        parts += [text[reached:at], new[:1].upper() + new[1:] if capital else new]
        reached = at + len(old)
    return "".join(parts) + text[reached:]
