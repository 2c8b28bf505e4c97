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
from typing import Literal

from quoth.domain import Markup
from quoth.text.line_marks import ATTRIBUTES
from quoth.text.markers import PATTERN
from quoth.text.offsets import Stretches
from quoth.text.ticks import Ticks

Kind = Literal["prose", "item", "row", "header", "code", "heading"]


@dataclass(frozen=True, slots=True)
class Sentence:
    start: int
    end: int
    kind: Kind


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    end: int  # without the line break
    text: str  # without the marks of block quotes and the space around it
    at: int  # where `text` begins
    indent: int


_QUOTE = re.compile(r"[ \t]*(?:>[ \t]?)*[ \t]*")
_FENCE = re.compile(r"(`{3,}|~{3,})(?P<info>[^`]*)\Z")
_HEADING = re.compile(r"#{1,6}(?:\s|\Z)")
_UNDERLINE = re.compile(r"(?:=+|-{2,})\s*\Z")
_BREAKS = re.compile(r"[\r\n]*")
_RULE = re.compile(r"(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})\Z")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?")
_DELIMITER_ROW = re.compile(r"\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\Z")
_ADMONITION = re.compile(r":::|(?::[ \t]+)?!!!\s|/{3,}\s*(?:[\w-]+\s*(?:\||\Z)|\Z)|\?\?\?\+?\s|===\s+\"|\[!\w+\]")
_DEFINITION = re.compile(r"\[\^[^\]]+\]:\s+|:[ \t]+")
_LINK_TARGET = re.compile(r"\[[^\]^][^\]]*\]:\s*\S+|\([^()\s]+\)=\Z")
_MODULE_LINE = re.compile(r"(?:import|export)\s+(?:[\w*{][^.!?]*\bfrom\s+['\"]|['\"]|(?:const|default|function|let)\b)")
_DIRECTIVE = re.compile(r"\{\{[#<%].*?\}\}\Z|\{\{%.*|\{%.*%\}\Z|" + ATTRIBUTES + r"\s*\Z")
_ATTRIBUTES = rf"(?:{ATTRIBUTES})?"
_IMAGE_ONLY = re.compile(
    rf"(?:\[?!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\]|(?=\])){_ATTRIBUTES}(?:\](?:\([^)]*\)|\[[^\]]*\]){_ATTRIBUTES})?\s*)+\Z"
)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)|\{/\*.*?(?:\*/\}|\Z)", re.DOTALL)
_BLOCK_TAG = re.compile(
    r"</?(?:[A-Z][\w.]*|a|aside|blockquote|br|center|code|dd|details|div|dl|dt|figure|figcaption|footer|header|hr|iframe"
    r"|img|li|main|nav|ol|p|picture|pre|script|section|source|span|style|sub|summary|sup|svg|table|tbody|td|th|thead|tr"
    r"|ul|video)\b|</?>"
)
# The captions of mdBook's listings and of MDX' figures.
_CAPTION = re.compile(r"(?<![\w-])caption=\{?([\"'`])(.*?)\1", re.DOTALL)
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
    e.g i.e eg ie cf vs fig figs eq eqs sec ch chap nos vol vols pp ref refs approx resp viz dr mr mrs ms mx messrs prof
    st mt ft gen gov sen rep rev hon capt col lt sgt maj cmdr adm pres supt dept est univ assn art ca
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
    marked = markup in ("rst", "asciidoc")
    return tuple(_marked_units(text, lead, markup) if marked else _MarkdownUnits(text).units(lead))


def fold(text: str) -> str:
    """The text on one line: line breaks, and the quote marks that follow them, become a space."""
    return re.sub(r"\s+", " ", re.sub(r"\n[ \t]*(?:>[ \t]?)+", "\n", text)).strip()


# --- Markdown --------------------------------------------------------------------------------------------------------


def _lines(text: str) -> list[_Line]:
    lines = []
    start = 0
    for raw in text.splitlines(keepends=True):
        body = raw.rstrip("\r\n\u2028\u2029\x0b\x0c\x1c\x1d\x1e\x85")
        mark = _QUOTE.match(body)
        skip = mark.end() if mark else 0
        lines.append(_Line(start, start + len(body), body[skip:].rstrip(), start + skip, skip))
        start += len(raw)
    return lines


class _MarkdownUnits:
    """Reads a text block by block. Each reader below gets the line at which a block may begin. If the block is of its
    kind, it returns the units of the block and moves `_at` past it; otherwise it returns None."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = _lines(text)
        self._hidden = Stretches(match.span() for match in _COMMENT.finditer(text))
        self._at = 0
        self._loose = True  # no list, admonition or tag is open, so four spaces of indent mean code

    def units(self, lead: str) -> Iterator[Sentence]:
        inside = _FENCE.match(lead.strip().splitlines()[-1]) if lead.strip() else None
        if inside:
            self._at = self._fence_end(0, inside.group(1))
            yield Sentence(0, self._lines[self._at - 1].end if self._lines else 0, "code")
        readers = (self._skip, self._fence, self._tag, self._heading, self._table, self._indented_code, self._paragraph)
        while self._at < len(self._lines):
            line = self._lines[self._at]
            yield from next(units for read in readers if (units := read(line)) is not None)

    def _skip(self, line: _Line) -> list[Sentence] | None:
        if line.text and not self._is_skipped(line):
            return None
        self._loose = self._loose and not _ADMONITION.match(line.text)
        self._at += 1
        return []

    def _fence(self, line: _Line) -> list[Sentence] | None:
        fence = _FENCE.match(line.text)
        if fence is None:
            return None
        self._at = self._fence_end(self._at + 1, fence.group(1))
        return [Sentence(line.at, self._lines[self._at - 1].end, "code")]

    def _tag(self, line: _Line) -> list[Sentence] | None:
        if not _BLOCK_TAG.match(line.text):
            return None
        self._loose = False
        self._at = self._tag_end(self._at)
        captions = _CAPTION.finditer(self._text, line.at, self._lines[self._at - 1].end)
        return [unit for caption in captions for unit in split(self._text, *caption.span(2))]

    def _heading(self, line: _Line) -> list[Sentence] | None:
        if not _HEADING.match(line.text):
            return None
        self._loose = True
        self._at += 1
        return [Sentence(line.at, line.at + len(line.text), "heading")]

    def _table(self, line: _Line) -> list[Sentence] | None:
        end = self._table_end(self._at) if "|" in line.text else self._at
        if end == self._at:
            return None
        rows, self._at = self._lines[self._at : end], end
        return list(_rows(rows))

    def _indented_code(self, line: _Line) -> list[Sentence] | None:
        quoted = ">" in self._text[line.start : line.at]
        if not self._loose or line.indent < 4 or quoted or _ITEM.match(line.text):
            return None
        end = self._at
        while end < len(self._lines) and (self._lines[end].indent >= 4 or not self._lines[end].text):
            if _FENCE.match(self._lines[end].text):  # what is indented has code in it: an admonition that was cut
                self._loose = False
                return None
            end += 1
        self._at = end
        while not self._lines[end - 1].text:
            end -= 1
        return [Sentence(line.start, self._lines[end - 1].end, "code")]

    def _paragraph(self, line: _Line) -> list[Sentence]:
        first, end = self._at, self._paragraph_end(self._at)
        item = _ITEM.match(line.text)
        self._loose = self._loose and not item
        self._at = end
        if end < len(self._lines) and _UNDERLINE.match(self._lines[end].text):
            self._loose, self._at = True, end + 1
        last = self._lines[end - 1]
        return list(self._prose(self._lines[first].at, last, "item" if item else "prose"))

    def _prose(self, start: int, last: _Line, kind: Kind) -> Iterator[Sentence]:
        """The sentences of a paragraph; one heading if a line below underlines it."""
        text, end = self._text, last.at + len(last.text)
        if kind == "prose" and not text[end : last.end].strip() and self._is_underlined(last.end):
            yield Sentence(start, end, "heading")
            return
        mark = (_ITEM if kind == "item" else _DEFINITION).match(text, start, last.end)
        yield from split(text, mark.end() if mark else start, end, kind)

    # --- where blocks end ---

    def _is_skipped(self, line: _Line) -> bool:
        hidden = self._hidden.holding(line.at)
        return bool(
            _ADMONITION.match(line.text)
            or _MODULE_LINE.match(line.text)
            or _DIRECTIVE.match(line.text)
            or _IMAGE_ONLY.match(line.text)
            or _LINK_TARGET.match(line.text)
            or _RULE.match(line.text)
            or (hidden and line.at + len(line.text) <= hidden[1])
        )

    def _is_underlined(self, end: int) -> bool:
        below = _BREAKS.match(self._text, end)
        start = below.end() if below else end
        stop = self._text.find("\n", start)
        return bool(_UNDERLINE.match(self._text, start, len(self._text) if stop < 0 else stop))

    def _fence_end(self, position: int, fence: str) -> int:
        """The line after the closing fence, or the end of the text."""
        while position < len(self._lines):
            body = self._lines[position].text
            position += 1
            if len(body) >= len(fence) and not body.strip(fence[0]):
                break
        return position

    def _tag_end(self, position: int) -> int:
        """The line after the one that closes the tag, which may run over several lines."""
        depth = quotes = 0
        for end in range(position, min(position + 40, len(self._lines))):
            body = self._lines[end].text
            depth += body.count("<") - body.count(">") + body.count("=>")
            quotes += body.count("`")
            if depth <= 0 or (not body and quotes % 2 == 0):
                return end + 1
        return position + 1

    def _table_end(self, position: int) -> int:
        """The line after the table that begins here; `position` itself if none does."""
        lines = self._lines
        first = lines[position].text
        below = lines[position + 1].text if position + 1 < len(lines) else ""
        headed = "-" in below and _DELIMITER_ROW.match(below)
        if not headed and not (first.startswith("|") and first.endswith("|") and len(first) > 1):
            return position
        end = position
        while end < len(lines) and "|" in lines[end].text:
            end += 1
        return end

    def _paragraph_end(self, position: int) -> int:
        end = position + 1
        while end < len(self._lines) and not self._interrupts(end):
            end += 1
        return end

    def _interrupts(self, position: int) -> bool:
        line = self._lines[position]
        return bool(
            not line.text
            or _UNDERLINE.match(line.text)
            or self._is_skipped(line)
            or _FENCE.match(line.text)
            or _HEADING.match(line.text)
            or _ITEM.match(line.text)
            or _BLOCK_TAG.match(line.text)
            or ("|" in line.text and self._table_end(position) > position)
        )


def _rows(lines: list[_Line]) -> Iterator[Sentence]:
    body = lines
    if len(lines) > 1 and _DELIMITER_ROW.match(lines[1].text):
        yield Sentence(lines[0].at, lines[1].at + len(lines[1].text), "header")
        body = lines[2:]
    for line in body:
        if not _DELIMITER_ROW.match(line.text):
            yield Sentence(line.at, line.at + len(line.text), "row")


# --- reStructuredText, AsciiDoc ---------------------------------------------------------------------------------------


def _marked_units(text: str, lead: str, markup: Markup) -> Iterator[Sentence]:
    from quoth.text.units import stretches  # deferred: most books are Markdown

    for start, end, kind in stretches(text, lead, markup):
        if kind in ("prose", "item"):
            yield from split(text, start, end, kind)
        elif kind in ("row", "header"):
            yield from _trimmed(text, start, end, kind)
        else:
            yield Sentence(start, end, kind)


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
    if opening and opening.group(1).islower():
        # A name in code may open a sentence with a lower-case letter; a plain word does not.
        return "`" in opening.group() and stop.group()[0] in ".!?"
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
