"""Markdown → the stretches of a text that are prose, an item, a row, code or a heading.

In: the raw text of a chunk, and the line that a cut block repeats before it. Out: exact offsets, as `quoth.text.units`
gives them for other markup; `quoth.text.sentences` cuts prose and items into sentences. Lines that hold only markup
(admonition marks, JSX, imports, comments, rules) are left out, and so are the lines that open and close a directive of
MyST: its content is read like the rest of the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from quoth.domain import Markup
from quoth.text.blocks import Stretch, UnitKind
from quoth.text.line_marks import ATTRIBUTES
from quoth.text.offsets import Stretches
from quoth.text.rst_directives import CODE, INVISIBLE, SPOKEN


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    end: int  # without the line break
    text: str  # without the marks of block quotes and the space around it
    at: int  # where `text` begins
    indent: int


_QUOTE = re.compile(r"[ \t]*(?:>[ \t]?)*[ \t]*")
_FENCE = re.compile(r"(`{3,}|~{3,})(?P<info>[^`]*)\Z")
_DIRECTIVE_FENCE = re.compile(r"\s*\{(?P<name>[A-Za-z][\w:.+-]*)\}")
_OPTION = re.compile(r":[\w-]+:(?:\s|\Z)")
_AS_WRITTEN = CODE | {"eval-rst", "csv-table"}
_WITHOUT_WORDS = INVISIBLE | {"image"}
_HEADING = re.compile(r"#{1,6}(?:\s|\Z)")
_UNDERLINE = re.compile(r"(?:=+|-{2,})\s*\Z")
_BREAKS = re.compile(r"[\r\n]*")
_RULE = re.compile(r"(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})\Z")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?")
_DELIMITER_ROW = re.compile(r"\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\Z")
_ADMONITION = re.compile(r":::|(?::[ \t]+)?!!!\s|/{3,}\s*(?:[\w-]+\s*(?:\||\Z)|\Z)|\?\?\?\+?\s|===\s+\"|\[!\w+\]")
_GENERATED = re.compile(r":::[ \t]+[\w.-]+\Z")  # of mkdocstrings: its options are indented, a blank line ends them
_PROSE = re.compile(r"[A-Z][a-z']*(?: [a-z'’-]+,?){5}")
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


def markdown_stretches(text: str, lead: str, markup: Markup) -> Iterator[Stretch]:
    """`lead` is the opening line that a cut block repeats before the text: after a fence, the text begins inside it."""
    return _MarkdownUnits(text, markup).units(lead)


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

    def __init__(self, text: str, markup: Markup) -> None:
        self._text = text
        self._myst = markup == "myst"
        self._lines = _lines(text)
        self._hidden = Stretches(match.span() for match in _COMMENT.finditer(text))
        self._at = 0
        self._containers: list[str] = []  # the fences of the directives that are open
        self._loose = True  # no list, admonition or tag is open, so four spaces of indent mean code

    def units(self, lead: str) -> Iterator[Stretch]:
        inside = _FENCE.match(lead.strip().splitlines()[-1]) if lead.strip() else None
        if inside:
            self._at = self._fence_end(0, inside.group(1))
            yield (0, self._lines[self._at - 1].end if self._lines else 0, "code")
        readers = (self._skip, self._fence, self._tag, self._heading, self._table, self._indented_code, self._paragraph)
        while self._at < len(self._lines):
            line = self._lines[self._at]
            yield from next(units for read in readers if (units := read(line)) is not None)

    def _skip(self, line: _Line) -> list[Stretch] | None:
        if line.text and not self._is_skipped(line):
            return None
        self._loose = self._loose and not _ADMONITION.match(line.text)
        self._at += 1
        while _GENERATED.match(line.text) and self._at < len(self._lines) and self._lines[self._at].indent >= 4:
            self._at += 1
        return []

    def _fence(self, line: _Line) -> list[Stretch] | None:
        fence = _FENCE.match(line.text)
        if fence is None:
            return None
        if not fence["info"].strip() and self._closes_directive(fence[1]):
            self._at += 1
            return []
        directive = _DIRECTIVE_FENCE.match(fence["info"])
        name = directive["name"].lower() if directive else fence["info"].strip()
        if name == "mdx-code-block" or (directive and self._is_container(name)):
            return self._container(line, fence, name)
        self._at = self._fence_end(self._at + 1, fence.group(1))
        if directive and name == "eval-rst":
            last = self._lines[self._at - 1]
            return list(self._rst(line.end + 1, last.start if _FENCE.match(last.text) else last.end))
        return [(line.at, self._lines[self._at - 1].end, "code")]

    def _container(self, line: _Line, fence: re.Match[str], name: str) -> list[Stretch]:
        """Goes past the line that opens a directive and past its options. An admonition may begin on that line."""
        if name in _WITHOUT_WORDS:
            self._at = self._fence_end(self._at + 1, fence[1])
            return []
        self._containers.append(fence[1])
        self._at += 1
        while self._at < len(self._lines) and _OPTION.match(self._lines[self._at].text):
            self._at += 1
        argument = fence["info"].partition("}")[2].strip()
        end = line.at + len(line.text)
        return [(end - len(argument), end, "prose")] if name in SPOKEN and argument.count(" ") > 1 else []

    def _closes_directive(self, fence: str) -> bool:
        if self._containers and fence.startswith(self._containers[-1]):
            self._containers.pop()
            return True
        return self._myst and self._is_left_over(self._at + 1, fence)

    def _is_left_over(self, position: int, fence: str) -> bool:
        """The closing line of a directive that began in the chunk before: no line below closes what it would open."""
        for line in self._lines[position:]:
            below = _FENCE.match(line.text)
            if below and below[1][0] == fence[0]:
                return bool(below["info"].strip())
        return True

    def _is_container(self, name: str) -> bool:
        """Outside MyST, `{python}` is code that Quarto runs; only the directives that nothing else has are known."""
        return name not in _AS_WRITTEN if self._myst else name in SPOKEN or name in _WITHOUT_WORDS

    def _rst(self, start: int, end: int) -> Iterator[Stretch]:
        from quoth.text.units import stretches  # deferred: few pages have any

        for first, last, kind in stretches(self._text[start:end], "", "rst"):
            yield start + first, start + last, kind

    def _tag(self, line: _Line) -> list[Stretch] | None:
        if not _BLOCK_TAG.match(line.text):
            return None
        self._loose = False
        self._at = self._tag_end(self._at)
        captions = _CAPTION.finditer(self._text, line.at, self._lines[self._at - 1].end)
        return [(*caption.span(2), "prose") for caption in captions]

    def _heading(self, line: _Line) -> list[Stretch] | None:
        if not _HEADING.match(line.text):
            return None
        self._loose = True
        self._at += 1
        return [(line.at, line.at + len(line.text), "heading")]

    def _table(self, line: _Line) -> list[Stretch] | None:
        end = self._table_end(self._at) if "|" in line.text else self._at
        if end == self._at:
            return None
        rows, self._at = self._lines[self._at : end], end
        return list(_rows(rows))

    def _indented_code(self, line: _Line) -> list[Stretch] | None:
        quoted = ">" in self._text[line.start : line.at]
        if not self._loose or line.indent < 4 or quoted or _ITEM.match(line.text):
            return None
        if _PROSE.match(line.text):  # of an admonition or an item that was cut
            self._loose = False
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
        return [(line.start, self._lines[end - 1].end, "code")]

    def _paragraph(self, line: _Line) -> list[Stretch]:
        first, end = self._at, self._paragraph_end(self._at)
        item = _ITEM.match(line.text)
        self._loose = self._loose and not item
        self._at = end
        if end < len(self._lines) and _UNDERLINE.match(self._lines[end].text):
            self._loose, self._at = True, end + 1
        last = self._lines[end - 1]
        return list(self._prose(self._lines[first].at, last, "item" if item else "prose"))

    def _prose(self, start: int, last: _Line, kind: UnitKind) -> Iterator[Stretch]:
        """The sentences of a paragraph; one heading if a line below underlines it."""
        text, end = self._text, last.at + len(last.text)
        if kind == "prose" and not text[end : last.end].strip() and self._is_underlined(last.end):
            yield (start, end, "heading")
            return
        mark = (_ITEM if kind == "item" else _DEFINITION).match(text, start, last.end)
        yield mark.end() if mark else start, end, kind

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


def _rows(lines: list[_Line]) -> Iterator[Stretch]:
    body = lines
    if len(lines) > 1 and _DELIMITER_ROW.match(lines[1].text):
        yield (lines[0].at, lines[1].at + len(lines[1].text), "header")
        body = lines[2:]
    for line in body:
        if not _DELIMITER_ROW.match(line.text):
            yield line.at, line.at + len(line.text), "row"
