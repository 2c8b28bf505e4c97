"""Markdown or reStructuredText → its sentences, at their exact offsets.

Comes in: the raw text of a chunk (or of an answer). Goes out: units that can be quoted as they stand — prose sentences,
list items, table rows, whole code blocks — and headings, which are never an answer. What only carries markup
(admonition markers, JSX, imports, comments, rules) is left out. `text[unit.start:unit.end]` is the author's own
spelling; `fold` is how it reads on one line. This module knows nothing of questions or scores.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from quoth.domain import Markup
from quoth.text.blocks import Block
from quoth.text.markers import PATTERN

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
_RULE = re.compile(r"(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})\Z")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?")
_DELIMITER_ROW = re.compile(r"\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\Z")
_ADMONITION = re.compile(r":::|!!!\s|\?\?\?\+?\s|===\s+\"|\[!\w+\]")
_DEFINITION = re.compile(r"(?:\[\^[^\]]+\]:|:)[ \t]+")
_LINK_TARGET = re.compile(r"\[[^\]^][^\]]*\]:\s*\S+")
_MODULE_LINE = re.compile(r"(?:import|export)\s+(?:[\w*{][^.!?]*\bfrom\s+['\"]|['\"]|(?:const|default|function|let)\b)")
_DIRECTIVE = re.compile(r"\{\{[#<%].*?\}\}\Z|\{\{%.*|\{%.*%\}\Z")
_IMAGE_ONLY = re.compile(r"(?:\[?!\[[^\]]*\]\([^)]*\)(?:\]\([^)]*\))?\s*)+\Z")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)|\{/\*.*?(?:\*/\}|\Z)", re.DOTALL)
_BLOCK_TAG = re.compile(
    r"</?(?:[A-Z][\w.]*|a|aside|blockquote|br|center|code|dd|details|div|dl|dt|figure|figcaption|footer|header|hr|iframe"
    r"|img|li|main|nav|ol|p|picture|pre|script|section|source|span|style|sub|summary|sup|svg|table|tbody|td|th|thead|tr"
    r"|ul|video)\b|</?>"
)
# What mdBook's listings and figures of MDX say below what they show.
_CAPTION = re.compile(r"(?<![\w-])caption=\{?([\"'`])(.*?)\1", re.DOTALL)
# The inside of code, of a link's target and of a bare URL can hold a full stop that ends nothing.
_WHOLE = re.compile(
    r"(`+)(?!`).+?(?<!`)\1(?!`)|\[[^\]\n]*\]\([^)\n]*\)|<[^>\s][^>\n]*>|\bhttps?://\S*[^\s.,;:!?)]", re.DOTALL
)
_STOP = re.compile(r"(?:[.!?…]+|(?<=\w):(?=\s*\n\s*\n))[\"'”’)\]*_]*(?=\s|\Z)|[。！？]+[」』”’)]*")
_OPENS = re.compile(rf"(?:\s*{PATTERN})*\s*[\"'“‘(\[*_`<$]*(.)", re.DOTALL)
_LAST_WORD = re.compile(r"([^\s(\[*_\"“'‘]+)\Z")
_MARKERS = re.compile(rf"(?:\s*{PATTERN}(?![(:]))+")
# What stands before the words of a list item, a field or a directive on their first line.
_RST_OPENING = r"(?:\||\.\.[ \t]+(?:\[[^\]\n]+\]|(?:\|[^|\n]+\|[ \t]+)?[\w:.+-]+::))[ \t]+"
_RST_MARKS = {
    "prose": re.compile(f"(?:{_RST_OPENING})*"),
    "item": re.compile(rf"(?:(?:[-+*•‣⁃]|\(?(?:\d+|#|[A-Za-z])[.)]|:[^:\n]+:)[ \t]+|{_RST_OPENING})*"),
}
# A directive that shows code: its line and its options are not code.
_RST_HEAD = re.compile(r"\.\.[ \t][^\r\n]*(?:\r\n?|\n)(?:[ \t]+:[\w-]+:[^\r\n]*(?:\r\n?|\n))*(?:[ \t]*(?:\r\n?|\n))*")
_NEVER_LAST = frozenset(
    """
    e.g i.e eg ie cf vs fig figs eq eqs sec ch chap nos vol vols pp ref refs approx resp viz dr mr mrs ms mx messrs prof
    st mt ft gen gov sen rep rev hon capt col lt sgt maj cmdr adm pres supt dept est univ assn art ca
    """.split()  # noqa: SIM905 - as in quoth.terms
)
# These may end a sentence, and so may initials (U.S., M.C.I.): only a word that often opens one tells that they do.
_SELDOM_LAST = frozenset(
    """
    al jr sr inc ltd co corp llc plc bros etc a.m p.m jan feb mar apr jun jul aug sept oct nov dec ph.d m.d b.a m.a
    """.split()  # noqa: SIM905 - as in quoth.terms
)
_INITIALS = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]\Z")
_OPENERS = re.compile(
    r"\s*[\"'“‘(\[*_]*(?:The|A|An|It|Its|This|That|These|Those|He|She|They|We|You|I|In|On|At|By|For|From|With|When|While"
    r"|If|But|And|However|After|Before|As|There|Here|His|Her|Their|Our|One|Some|Many|Most|All|Both|Each|To|So|Then"
    r"|Although|Because|Since|During|What|Who|How|Why|Where|Which|Not|No|Only|Also|Even|Such|Other|Another)\b"
)


@lru_cache(maxsize=1024)  # judged, quoted and checked are the same few passages
def sentences(text: str, *, lead: str = "", markup: Markup = "markdown") -> tuple[Sentence, ...]:
    """`lead` is what a cut block repeats before the text: an opening fence means that the text begins inside it."""
    return tuple(_rst_units(text, lead) if markup == "rst" else _units(text, lead))


def fold(text: str) -> str:
    """The text on one line: line breaks, and the quote marks that follow them, become a space."""
    return re.sub(r"\s+", " ", re.sub(r"\n[ \t]*(?:>[ \t]?)+", "\n", text)).strip()


# --- blocks ----------------------------------------------------------------------------------------------------------


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


def _units(text: str, lead: str) -> Iterator[Sentence]:
    lines = _lines(text)
    hidden = [match.span() for match in _COMMENT.finditer(text)]
    position = 0
    inside = _FENCE.match(lead.strip().splitlines()[-1]) if lead.strip() else None
    if inside:
        position = _fence_end(lines, 0, inside.group(1))
        yield Sentence(0, lines[position - 1].end if lines else 0, "code")
    loose = True  # no list, admonition or tag is open: four spaces of indent mean code
    while position < len(lines):
        line = lines[position]
        if not line.text or _skipped(line, hidden):
            loose = loose and not _ADMONITION.match(line.text)
            position += 1
        elif fence := _FENCE.match(line.text):
            end = _fence_end(lines, position + 1, fence.group(1))
            yield Sentence(line.at, lines[end - 1].end, "code")
            position = end
        elif _BLOCK_TAG.match(line.text):
            loose = False
            position = _tag_end(lines, position)
            for caption in _CAPTION.finditer(text, line.at, lines[position - 1].end):
                yield from split(text, *caption.span(2))
        elif _HEADING.match(line.text):
            loose = True
            yield Sentence(line.at, line.at + len(line.text), "heading")
            position += 1
        elif "|" in line.text and (row_end := _table_end(lines, position)) > position:
            yield from _rows(lines[position:row_end])
            position = row_end
        elif loose and line.indent >= 4 and not _ITEM.match(line.text) and ">" not in text[line.start : line.at]:
            end = position
            while end < len(lines) and (lines[end].indent >= 4 or not lines[end].text):
                end += 1
            while not lines[end - 1].text:
                end -= 1
            yield Sentence(line.start, lines[end - 1].end, "code")
            position = end
        else:
            end = _paragraph_end(lines, position, hidden)
            item = _ITEM.match(line.text)
            loose = loose and not item
            yield from _paragraph(text, lines[position:end], "item" if item else "prose")
            position = end
            if end < len(lines) and _UNDERLINE.match(lines[end].text):
                loose, position = True, end + 1


def _skipped(line: _Line, hidden: list[tuple[int, int]]) -> bool:
    return bool(
        _ADMONITION.match(line.text)
        or _MODULE_LINE.match(line.text)
        or _DIRECTIVE.match(line.text)
        or _IMAGE_ONLY.match(line.text)
        or _LINK_TARGET.match(line.text)
        or _RULE.match(line.text)
        or any(start <= line.at and line.at + len(line.text) <= end for start, end in hidden)
    )


def _fence_end(lines: list[_Line], position: int, fence: str) -> int:
    """The line after the closing fence, or the end of the text."""
    while position < len(lines):
        body = lines[position].text
        position += 1
        if len(body) >= len(fence) and not body.strip(fence[0]):
            break
    return position


def _tag_end(lines: list[_Line], position: int) -> int:
    """A tag may run over several lines: up to the one that closes it."""
    depth = 0
    for end in range(position, min(position + 40, len(lines))):
        body = lines[end].text
        depth += body.count("<") - body.count(">") + body.count("=>")
        if not body or depth <= 0:
            return end + 1
    return position + 1


def _table_end(lines: list[_Line], position: int) -> int:
    """The line after the table that begins here; `position` itself where none does."""
    first = lines[position].text
    headed = (
        position + 1 < len(lines) and "-" in lines[position + 1].text and _DELIMITER_ROW.match(lines[position + 1].text)
    )
    if not headed and not (first.startswith("|") and first.endswith("|") and len(first) > 1):
        return position
    end = position
    while end < len(lines) and "|" in lines[end].text:
        end += 1
    return end


def _rows(lines: list[_Line]) -> Iterator[Sentence]:
    body = lines
    if len(lines) > 1 and _DELIMITER_ROW.match(lines[1].text):
        yield Sentence(lines[0].at, lines[1].at + len(lines[1].text), "header")
        body = lines[2:]
    for line in body:
        if not _DELIMITER_ROW.match(line.text):
            yield Sentence(line.at, line.at + len(line.text), "row")


def _paragraph_end(lines: list[_Line], position: int, hidden: list[tuple[int, int]]) -> int:
    end = position + 1
    while end < len(lines):
        line = lines[end]
        if (
            not line.text
            or _UNDERLINE.match(line.text)
            or _skipped(line, hidden)
            or _FENCE.match(line.text)
            or _HEADING.match(line.text)
            or _ITEM.match(line.text)
            or _BLOCK_TAG.match(line.text)
            or ("|" in line.text and _table_end(lines, end) > end)
        ):
            break
        end += 1
    return end


def _paragraph(text: str, lines: list[_Line], kind: Kind) -> Iterator[Sentence]:
    start, end = lines[0].at, lines[-1].at + len(lines[-1].text)
    following = text[lines[-1].end :].lstrip("\r\n")
    if kind == "prose" and not text[end : lines[-1].end].strip() and _UNDERLINE.match(following.split("\n", 1)[0]):
        yield Sentence(start, end, "heading")
        return
    mark = (_ITEM if kind == "item" else _DEFINITION).match(text, start)
    yield from split(text, mark.end() if mark else start, end, kind)


# --- reStructuredText ------------------------------------------------------------------------------------------------


def _rst_units(text: str, lead: str) -> Iterator[Sentence]:
    from quoth.text.rst import parse_rst  # a reader of Markdown need not wait for it

    before = f"{lead}\n" if lead else ""
    for block in parse_rst(before + text, whole=False):
        for unit in _rst_block(before + text, block):
            start = max(unit.start - len(before), 0)
            if unit.end > len(before) + start:
                yield Sentence(start, unit.end - len(before), unit.kind)


def _rst_block(text: str, block: Block, kind: Literal["prose", "item"] = "prose") -> Iterator[Sentence]:
    for child in block.children:
        yield from _rst_block(text, child, "item" if block.kind == "item" else kind)
    if block.children or block.kind in ("markup", "label"):
        return
    source = text[block.start : block.end]
    start = block.start + len(source) - len(source.lstrip())
    if block.kind in ("code", "fence", "heading"):
        head = _RST_HEAD.match(text, start, block.end)
        yield Sentence(head.end() if head else start, block.end, "heading" if block.kind == "heading" else "code")
    elif block.kind == "table":
        for line in _lines(source):
            yield from _trimmed(text, block.start + line.start, block.start + line.end, "row")
    else:
        mark = _RST_MARKS[kind].match(text, start, block.end)
        yield from split(text, mark.end() if mark else start, block.end, kind)


# --- sentences -------------------------------------------------------------------------------------------------------


def split(text: str, start: int, end: int, kind: Kind = "prose") -> Iterator[Sentence]:
    """Cut a run of prose where its sentences end; citation markers stay with the sentence before them."""
    whole = [match.span() for match in _WHOLE.finditer(text, start, end)]
    begin, at = start, 0
    for stop in _STOP.finditer(text, start, end):
        while at < len(whole) and whole[at][1] <= stop.start():
            at += 1
        inside = at < len(whole) and whole[at][0] < stop.start()
        if inside or not _ends(text, begin, stop, end):
            continue
        after = _MARKERS.match(text, stop.end(), end)
        cut = after.end() if after else stop.end()
        yield from _trimmed(text, begin, cut, kind)
        begin = cut
    yield from _trimmed(text, begin, end, kind)


def _ends(text: str, begin: int, stop: re.Match[str], end: int) -> bool:
    if stop.end() >= end or stop.group()[0] in "。！？":
        return True
    opening = _OPENS.match(text, stop.end(), end)
    if opening and opening.group(1).islower():
        # A name in code may open a sentence with a small letter; a plain word does not.
        return "`" in opening.group() and stop.group()[0] in ".!?"
    if stop.group()[0] != ".":
        return True
    last = _LAST_WORD.search(text, begin, stop.start())
    word = last.group(1) if last else ""
    if word.lower() in _NEVER_LAST or (len(word) == 1 and word.isupper()):
        return False
    if word.lower() == "no":  # no. 5 is a number; a sentence may end with no
        return not re.match(r"\s*\d", text[stop.end() : stop.end() + 4])
    if word.lower() in _SELDOM_LAST or _INITIALS.match(word):
        return bool(_OPENERS.match(text, stop.end(), end))
    return not (word.isdigit() and last is not None and not text[begin : last.start()].strip())


def _trimmed(text: str, start: int, end: int, kind: Kind) -> Iterator[Sentence]:
    body = text[start:end]
    left = start + len(body) - len(body.lstrip())
    right = start + len(body.rstrip())
    if right > left and any(char.isalnum() for char in text[left:right]):
        yield Sentence(left, right, kind)
