"""Markdown or reStructuredText → its sentences, at their exact offsets.

In: the raw text of a chunk (or of an answer). Out: units that can be quoted as they are (prose sentences, list items,
table rows, whole code blocks) and headings, which are never an answer. Lines that hold only markup (admonition marks,
JSX, imports, comments, rules) are left out. `text[unit.start:unit.end]` is the author's own spelling; `fold` writes it
on one line. This module knows nothing of questions or scores.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from quoth.domain import Markup
from quoth.text.blocks import Stretch, UnitKind
from quoth.text.markdown_units import markdown_stretches
from quoth.text.markers import PATTERN
from quoth.text.offsets import Stretches
from quoth.text.ticks import Ticks

Kind = UnitKind


@dataclass(frozen=True, slots=True)
class Sentence:
    start: int
    end: int
    kind: Kind


# A full stop inside code, a link's target or a bare URL ends nothing. The lengths are bounded; otherwise a text of
# nothing but opening brackets would be searched to its end from each of them.
_WHOLE = re.compile(
    r"(?P<ticks>`+)|\[[^\]\n]{0,500}\]\([^)\n]{0,2000}\)|<[^>\s][^>\n]{0,1000}>|\bhttps?://\S*[^\s.,;:!?)]"
)
_STOP = re.compile(
    r"(?:(?<![.!?…])[.!?…]++|(?<=\w):(?=\s*\n\s*\n))[\"'”’)\]*_]*+(?=\s|\Z)|[。！？]+[」』”’)]*", re.DOTALL
)
_OPENS = re.compile(rf"(?:\s*{PATTERN})*\s*[\"'“‘(\[*_`<$]*(.)", re.DOTALL)
_BEFORE_A_WORD = frozenset("([*_\"“'‘")
_MARKERS = re.compile(rf"(?:\s*{PATTERN}(?![(:]))+")
_ABBREVIATIONS = frozenset(
    """
    e.g i.e eg ie ex incl esp cf vs fig figs eq eqs sec ch chap nos vol vols pp ref refs approx resp viz dr mr mrs ms mx
    messrs prof st mt ft gen gov sen rep rev hon capt col lt sgt maj cmdr adm pres supt dept est univ assn art ca
    """.split()  # noqa: SIM905 - as in quoth.text.terms
)
# These may end a sentence, and so may initials (U.S., M.C.I.): only a next word that often opens a sentence shows it.
_SELDOM_LAST = frozenset(
    """
    al jr sr inc ltd co corp llc plc bros etc a.m p.m jan feb mar apr jun jul aug sept oct nov dec ph.d m.d b.a m.a
    """.split()  # noqa: SIM905 - as in quoth.text.terms
)
_INITIALS = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]\Z")
_OPENERS = re.compile(
    r"\s*[\"'“‘(\[*_]*(?:The|A|An|It|Its|This|That|These|Those|He|She|They|We|You|I|In|On|At|By|For|From|With|When|While"
    r"|If|But|And|However|After|Before|As|There|Here|His|Her|Their|Our|One|Some|Many|Most|All|Both|Each|To|So|Then"
    r"|Although|Because|Since|During|What|Who|How|Why|Where|Which|Not|No|Only|Also|Even|Such|Other|Another)\b"
)


@lru_cache(maxsize=1024)  # the same few passages are judged, quoted and checked
def sentences(text: str, *, lead: str = "", markup: Markup = "markdown") -> tuple[Sentence, ...]:
    """`lead` is the opening line that a cut block repeats before the text: after a fence, the text begins inside it."""
    return tuple(_units(text, lead, markup))


def fold(text: str) -> str:
    """The text on one line: line breaks, and the quote marks that follow them, become a space."""
    return re.sub(r"\s+", " ", re.sub(r"\n[ \t]*(?:>[ \t]?)+", "\n", text)).strip()


def _units(text: str, lead: str, markup: Markup) -> Iterator[Sentence]:
    for start, end, kind in _stretches(text, lead, markup):
        if kind in ("prose", "item"):
            yield from split(text, start, end, kind)
        elif kind in ("row", "header") and markup in ("rst", "asciidoc"):
            yield from _trimmed(text, start, end, kind)
        else:
            yield Sentence(start, end, kind)


def _stretches(text: str, lead: str, markup: Markup) -> Iterator[Stretch]:
    if markup not in ("rst", "asciidoc"):
        return markdown_stretches(text, lead, markup)
    from quoth.text.units import stretches  # deferred: most books are Markdown

    return stretches(text, lead, markup)


# --- sentences -------------------------------------------------------------------------------------------------------


def split(text: str, start: int, end: int, kind: Kind = "prose") -> Iterator[Sentence]:
    """Cuts a run of prose where its sentences end; citation markers stay with the sentence before them."""
    whole = Stretches(_wholes(text, start, end))
    begin = start
    for stop in _STOP.finditer(text, start, end):
        inside = whole.holding(stop.start())
        if (inside and inside[0] < stop.start()) or not _ends(text, begin, stop, end):
            continue
        after = _MARKERS.match(text, stop.end(), end)
        cut = after.end() if after else stop.end()
        yield from _trimmed(text, begin, cut, kind)
        begin = cut
    yield from _trimmed(text, begin, end, kind)


def _wholes(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Code, links, tags and URLs: a full stop inside one does not end a sentence."""
    ticks: Ticks | None = None
    at = start
    while found := _WHOLE.search(text, at, end):
        at = found.end()
        span: tuple[int, int] | None = found.span()
        if found["ticks"]:
            ticks = ticks or Ticks(text, start, end)
            span = ticks.code(*found.span())
        if span is not None:
            yield span
            at = span[1]


def _ends(text: str, begin: int, stop: re.Match[str], end: int) -> bool:
    if stop.end() >= end or stop.group()[0] in "。！？":
        return True
    opening = _OPENS.match(text, stop.end(), end)
    if opening and opening.group(1).islower() and not ("`" in opening.group() and stop.group()[0] in ".!?"):
        return False  # a name in code may open a sentence with a lower-case letter; a plain word does not
    if stop.group()[0] != ".":
        return True
    first = _last_word(text, begin, stop.start())
    word = text[first : stop.start()]
    if word.lower() in _ABBREVIATIONS or (len(word) == 1 and word.isupper()):
        return False
    if word.lower() == "no":  # no. 5 is a number; a sentence may end with no
        return not re.match(r"\s*\d", text[stop.end() : stop.end() + 4])
    if word.lower() in _SELDOM_LAST or _INITIALS.match(word):
        return bool(_OPENERS.match(text, stop.end(), end))
    return not (word.isdigit() and not text[begin:first].strip())


def _last_word(text: str, begin: int, end: int) -> int:
    """Where the word that ends at `end` begins."""
    at = end
    while at > begin and not text[at - 1].isspace() and text[at - 1] not in _BEFORE_A_WORD:
        at -= 1
    return at


def _trimmed(text: str, start: int, end: int, kind: Kind) -> Iterator[Sentence]:
    body = text[start:end]
    left = start + len(body) - len(body.lstrip())
    right = start + len(body.rstrip())
    if right > left and any(char.isalnum() for char in text[left:right]):
        yield Sentence(left, right, kind)
