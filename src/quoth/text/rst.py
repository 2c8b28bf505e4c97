"""reStructuredText → blocks with exact offsets, as `quoth.text.markdown` gives them for Markdown.

A parser of lines and indentation that tries its patterns in the order of docutils. docutils itself knows the lines of
only some nodes, runs what directives ask for, and stops at errors; we need every character and no surprises. Directives
keep their words: code is a fence, admonitions and all unknown ones are containers around their content. Headings get
the ids that docutils gives them, which depend on everything named above them on the page.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from quoth.text.blocks import Block, BlockKind, Lines, leaves, too_deep
from quoth.text.limits import MAX_DEPTH
from quoth.text.rst_directives import CODE, INVISIBLE, SPOKEN, TRANSPARENT, Directive, read_directive, table_words
from quoth.text.rst_ids import labelled
from quoth.text.rst_inline import PUNCTUATION, inline, is_adornment, is_rule, width
from quoth.text.rst_lines import IndentedLines

_BULLET = re.compile(r"[-+*•‣⁃](?:[ \t]+|$)")
_ENUMERATOR = re.compile(
    r"(?:\(?(?:\d+|[A-Za-z]|[ivxlcdm]+|[IVXLCDM]+|#)\)|(?:\d+|[A-Za-z]|[ivxlcdm]+|[IVXLCDM]+|#)\.)(?:[ \t]+|$)"
)
_FIELD = re.compile(r":(?![: ])((?:[^:\\]|\\.|:(?!(?:[ `]|$)))*)(?<! ):(?:[ \t]+|$)")
_GRID = re.compile(r"\+-[-+]+-\+[ \t]*$|\+-\+[ \t]*$")
_SIMPLE = re.compile(r"=+(?:[ \t]+=+)+[ \t]*$")
_BORDERS = re.compile(r"^[ \t]*+(?:=++(?:[ \t]++=++)++|\+(?:[-=]++\+)++)[ \t]*+(?:\n|\Z)", re.M)
_TARGET = re.compile(r"\.\.[ \t]+_(?![ _]|$)")
_ANONYMOUS = re.compile(r"\.\.[ \t]+__:|__(?:[ \t]+|$)")
_FOOTNOTE = re.compile(r"\.\.[ \t]+\[(\d+|#[\w.-]*|\*|[A-Za-z][\w.-]*)\](?:[ \t]+|$)")


def parse_rst(text: str, start: int = 0, *, whole: bool = True) -> tuple[Block, ...]:
    """The blocks of a page; `Unreadable` if they are nested too deep. With `whole` off, those of a piece of a page: a
    field list at its head is not metadata, headings get no ids, and blocks too deep inside are read as paragraphs."""
    reader = _Reader(Lines(text, start), whole=whole)
    blocks = reader.page()
    return tuple(labelled(blocks, text)) if whole else blocks


def plain_rst(text: str) -> str:
    """The words of any piece of a page, one line for each thing said. The borders of a table that was cut are not
    words, although its pieces are not tables."""
    said = "\n".join(leaf.plain for leaf in leaves(parse_rst(_margin(text) + text, whole=False)) if leaf.plain)
    return _BORDERS.sub("", said).strip("\n") if "==" in said or "-+" in said else said


def _margin(text: str) -> str:
    """The white space that a piece of a page has lost before its first line, where it matters: before a rule over a
    title, and before the border of a table."""
    first, _, rest = text.partition("\n")
    said = first.rstrip()
    if not said or not (is_adornment(said) or _SIMPLE.match(said) or _GRID.match(said)):
        return ""
    below = takewhile(str.strip, rest.split("\n"))
    return min((line[: len(line) - len(line.lstrip())] for line in below), key=len, default="")


def first_title(text: str) -> str:
    """The words of the first heading. It is nearly always at the top, so the rest is parsed only if it is not."""
    for part in (text[:2000], text):
        title = next((block.text for block in parse_rst(part, whole=False) if block.level), "")
        if title:
            return title
    return ""


class _Place(NamedTuple):
    """Where a block may begin."""

    line: int
    last: int  # the line after the region
    base: int  # the column where the text of the region begins
    top: bool  # headings are possible


class _Reader(IndentedLines):
    """Reads regions of lines, block by block."""

    def __init__(self, lines: Lines, *, whole: bool) -> None:
        super().__init__(lines)
        self.whole = whole
        self.styles: list[tuple[str, bool]] = []
        self.level = 0  # of the section that is open
        self.depth = 0  # of the region that is being read

    def page(self) -> tuple[Block, ...]:
        first = self._metadata_end() if self.whole else 0
        metadata = [self.silent(0, first)] if first else []
        return (*metadata, *self.body(first, len(self.raw), top=True))

    def body(self, first: int, last: int, *, top: bool = False) -> list[Block]:
        """The blocks of a region. Only at the top of a page may a line be a heading."""
        if self.depth > MAX_DEPTH:
            return self._flat(first, last)
        self.depth += 1
        shown = [column for column in self.indent[first:last] if column >= 0]
        base = 0 if top and first == 0 else min(shown, default=0)
        blocks: list[Block] = []
        line = first
        while line < last:
            column = self.indent[line]
            if column < 0:
                line += 1
            elif column > base:
                end = self.deeper(line, last, base)
                blocks.append(_holding("quote", self.body(line, end)))
                line = end
            else:
                line = self._one(blocks, _Place(line, last, base, top))
        self.depth -= 1
        return blocks

    def _flat(self, first: int, last: int) -> list[Block]:
        """A region that is nested too deep, read as paragraphs."""
        if self.whole:
            raise too_deep(self.lines.text, self.lines.starts[first])
        words = " ".join(self.said(line) for line in range(first, last) if self.indent[line] >= 0)
        return [self.leaf("paragraph", first, last, inline(words))] if words else []

    # --- one block ---------------------------------------------------------------------------------------------------

    def _one(self, blocks: list[Block], place: _Place) -> int:
        """Reads the block that begins here and returns the line after it. Each reader that is tried returns the line of
        the place itself if it finds no block of its kind."""
        said = self.said(place.line)
        if said[0].isalpha() and said[1:2].isalpha() and said[0] not in "ivxlcdmIVXLCDM":
            return self._text(blocks, place)  # most lines: nothing else starts like a word
        for read in (
            self._explicit,
            self._anonymous_target,
            self._list,
            self._doctest,
            self._line_block,
            self._drawn_table,
            self._ruled,
        ):
            end = read(blocks, place, said)
            if end > place.line:
                return end
        return self._text(blocks, place)

    def _anonymous_target(self, blocks: list[Block], place: _Place, said: str) -> int:
        if not said.startswith("__") or not _ANONYMOUS.match(said):
            return place.line
        blocks.append(self.silent(place.line, place.line + 1)._replace(info="target"))
        return place.line + 1

    def _list(self, blocks: list[Block], place: _Place, said: str) -> int:
        if bullet := _BULLET.match(said):
            return self._items(blocks, place, _BULLET, bullet)
        if (enumerator := _ENUMERATOR.match(said)) and self._is_enumerated(place.line, place.last, place.base):
            return self._items(blocks, place, _ENUMERATOR, enumerator)
        if said[0] == ":" and (field := _FIELD.match(said)):
            return self._items(blocks, place, _FIELD, field)
        return place.line

    def _doctest(self, blocks: list[Block], place: _Place, said: str) -> int:
        if said != ">>>" and not said.startswith(">>> "):
            return place.line
        end = self.until_blank(place.line, place.last)
        blocks.append(self.code(place.line, end))
        return end

    def _line_block(self, blocks: list[Block], place: _Place, said: str) -> int:
        if said != "|" and not said.startswith("| "):
            return place.line
        end = self.until_blank(place.line, place.last)
        words = "\n".join(inline(self.said(n).lstrip("|").strip()) for n in range(place.line, end))
        blocks.append(self.leaf("paragraph", place.line, end, words.strip()))
        return end

    def _drawn_table(self, blocks: list[Block], place: _Place, said: str) -> int:
        line, last, base, _ = place
        end = line
        if said[0] == "+" and _GRID.match(said):
            end = self.grid_end(line, last, base)
        elif said[0] == "=" and _SIMPLE.match(said):
            end = self.simple_end(line, last)
        if end <= line + 1:
            return line
        blocks.append(self._table(line, end))
        return end

    def _text(self, blocks: list[Block], place: _Place) -> int:
        line, last, base, top = place
        following = line + 1
        if following < last and self.indent[following] >= 0:
            if top and self.indent[following] == base and self._underlines(line, following):
                blocks.append(self._heading(line, line, following + 1, self.said(following)[0], over=False))
                return following + 1
            if self.indent[following] > base and not self.raw[line].endswith("::"):
                end = self.deeper(following, last, base)
                term = self.leaf("label", line, following, inline(self.said(line)))
                blocks.append(_holding("list", [_holding("item", [term, *self.body(following, end)])]))
                return end
        end = following
        while end < last and self.indent[end] == base:
            end += 1
        # A rule that does not make a heading here has no words either.
        said = "\n".join(part for n in range(line, end) if not is_rule(part := self.said(n)))
        if not said.endswith("::"):
            blocks.append(self.leaf("paragraph", line, end, inline(said)))
            return end
        # `text::` reads "text:", `text ::` reads "text", and a lone `::` is not read at all.
        said = said[:-2].rstrip() if said == "::" or said[-3:-2].isspace() else said[:-1]
        blocks.append(self.leaf("paragraph", line, end, inline(said)))
        return self._literal(blocks, end, last, base)

    def _literal(self, blocks: list[Block], line: int, last: int, base: int) -> int:
        """The literal block that a `::` has announced: indented, or each line quoted with the same mark."""
        first = line
        while first < last and self.indent[first] < 0:
            first += 1
        if first == last:
            return line
        end = line
        if self.indent[first] > base:
            end = self.deeper(first, last, base)
        elif first > line and (mark := self.said(first)[0]) in PUNCTUATION:
            quoted = first
            while quoted < last and self.indent[quoted] == base and self.said(quoted)[0] == mark:
                quoted += 1
            blank_behind = quoted == last or self.indent[quoted] < 0
            end = quoted if blank_behind and not self.said(first).startswith(".. ") else line
        if end > line:
            blocks.append(self.code(first, end))
        return end

    def _items(self, blocks: list[Block], place: _Place, pattern: re.Pattern[str], match: re.Match[str]) -> int:
        """A list: bullets of one kind, numbers, or fields."""
        line, last, base, _ = place
        items: list[Block] = []
        mark = match[0][0]
        while True:
            end = self.deeper(line + 1, last, base)
            items.append(self._item(line, end, match.end(), inline(match[1]) if pattern is _FIELD else "", pattern))
            line = end
            while line < last and self.indent[line] < 0:
                line += 1
            following = pattern.match(self.said(line)) if line < last and self.indent[line] == base else None
            if following is None or (pattern is _BULLET and following[0][0] != mark):
                break
            if pattern is _ENUMERATOR and not self._is_enumerated(line, last, base):
                break
            match = following
        blocks.append(_holding("list", items))
        return line

    def _item(self, line: int, end: int, skip: int, name: str, pattern: re.Pattern[str]) -> Block:
        rest = [column for column in self.indent[line + 1 : end] if column >= 0]
        self.behind(line, skip, rest, fixed=pattern is not _FIELD)
        children = self.body(line, end)
        if not children or children[0].start != self.lines.starts[line]:
            children.insert(0, self.leaf("label", line, line + 1, name))
        elif name:
            children = _prefixed(children, name)
        return _holding("item", children)

    # --- explicit markup ---------------------------------------------------------------------------------------------

    def _explicit(self, blocks: list[Block], place: _Place, said: str) -> int:
        line, last, base, top = place
        if said != ".." and not said.startswith((".. ", "..\t")):
            return line
        if _TARGET.match(said) or _ANONYMOUS.match(said):
            end = line + 1
            while end < last and self.indent[end] > base:
                end += 1
            blocks.append(self.silent(line, end)._replace(info="target"))
            return end
        if said == ".." and (line + 1 == last or self.indent[line + 1] < 0):
            blocks.append(self.silent(line, line + 1))
            return line + 1
        end = self.deeper(line + 1, last, base)
        if footnote := _FOOTNOTE.match(said):
            item = self._item(line, end, footnote.end(), footnote[1].lstrip("#*"), _FIELD)
            blocks.append(item._replace(info="footnote"))
            return end
        directive = read_directive(said, self.raw[line + 1 : end])
        if directive is None:
            blocks.append(self.silent(line, end))
        elif directive.name in TRANSPARENT and not directive.substitution:
            # Content under a condition is part of the page, headings included.
            blocks.append(self.silent(line, line + 1 + directive.head))
            blocks += self.body(line + 1 + directive.head, end, top=top)
        else:
            blocks.append(self._directive(directive, line, end))
        return end

    def _directive(self, directive: Directive, line: int, end: int) -> Block:
        name = directive.name
        head = line + 1 + directive.head
        if name in INVISIBLE and not directive.substitution:
            return self.silent(line, end)._replace(info=name)
        if name in CODE:
            block = self.leaf("fence", line, end, "\n".join(filter(None, (directive.caption, directive.code()))))
            return block._replace(info=directive.argument, head_end=self.lines.span(line, line + 1)[1])
        if name in ("list-table", "csv-table", "flat-table"):
            words = "\n".join(filter(None, (inline(directive.argument), directive.rows(inline))))
            return self.leaf("table", line, end, words, head_end=self.lines.span(line, head)[1])
        if name == "raw":
            words = _without_tags(directive.code()) if directive.argument.lower() == "html" else ""
            return self.leaf("html", line, end, " ".join(words.split()))
        if name in SPOKEN and directive.argument:
            rest = [column for column in self.indent[line + 1 : end] if column >= 0]
            self.behind(line, directive.skip, rest, fixed=False)
            return _holding("admonition", _prefixed(self.body(line, end), SPOKEN[name]))._replace(info=name)
        label = self.leaf("label", line, head, inline(directive.title()))
        children = [label, *self.body(head, end)]
        if len(children) == 1:
            return label._replace(kind="paragraph" if label.plain else "markup", info=name)
        return _holding("admonition", children)._replace(info=name)

    # --- lines that rule: titles and transitions ---------------------------------------------------------------------

    def _ruled(self, blocks: list[Block], place: _Place, said: str) -> int:
        """An overlined title, or a transition."""
        line, last, base, top = place
        if not is_adornment(said):
            return line
        if line + 1 >= last or self.indent[line + 1] < 0:
            if len(said) >= 4:
                blocks.append(self.silent(line, line + 1))
                return line + 1
            return line
        closed = line + 2 < last and self.indent[line + 2] == base and self.said(line + 2)
        if top and closed and is_adornment(closed) and closed[0] == said[0] and self.indent[line + 1] >= base:
            fits = max(len(said), len(closed)) >= min(4, width(self.said(line + 1)))
            if fits and not is_adornment(self.said(line + 1)):
                blocks.append(self._heading(line + 1, line, line + 3, said[0], over=True))
                return line + 3
        return line

    def _underlines(self, line: int, below: int) -> bool:
        rule = self.said(below)
        return is_adornment(rule) and (len(rule) >= 4 or len(rule) >= width(self.said(line)))

    def _heading(self, title: int, first: int, last: int, mark: str, *, over: bool) -> Block:
        style = (mark, over)
        level = self.styles.index(style) + 1 if style in self.styles else len(self.styles) + 1
        words = " ".join(inline(self.said(title)).split())
        if level > self.level + 1:  # docutils makes no section if a level is skipped
            return self.leaf("paragraph", first, last, words)
        if level > len(self.styles):
            self.styles.append(style)
        self.level = level
        return Block("heading", *self.lines.span(first, last), level=level, text=words, plain=words)

    # --- regions -----------------------------------------------------------------------------------------------------

    def _metadata_end(self) -> int:
        """Where the metadata of the page ends. Sphinx treats a field list before anything else as metadata."""
        line = 0
        while line < len(self.raw) and self.indent[line] < 0:
            line += 1
        if line == len(self.raw) or self.indent[line] != 0 or not _FIELD.match(self.raw[line]):
            return 0
        while line < len(self.raw) and (self.indent[line] != 0 or _FIELD.match(self.raw[line])):
            line += 1
        return line

    def _is_enumerated(self, line: int, last: int, base: int) -> bool:
        """`A. Einstein` at the head of a paragraph is not a list: its next line would be indented."""
        if line + 1 >= last or self.indent[line + 1] < 0 or self.indent[line + 1] > base:
            return True
        return bool(_ENUMERATOR.match(self.said(line + 1)))

    # --- leaves ------------------------------------------------------------------------------------------------------

    def _table(self, first: int, last: int) -> Block:
        rows = [self.raw[n][self.at[first] :] if self.indent[n] >= 0 else "" for n in range(first, last)]
        head = next((n for n, row in enumerate(rows) if n and set(row) <= set("+= ") and "=" in row), 0)
        if rows[0].startswith("="):
            head = head if head < len(rows) - 1 else 0
        head_end = self.lines.span(first, first + head + 1)[1] if head else 0
        return self.leaf("table", first, last, table_words(rows, inline), head_end=head_end)


def _without_tags(code: str) -> str:
    """HTML without its tags. A `<` after the last `>` does not open a tag."""
    tags, closing, rest = code.rpartition(">")
    return re.sub(r"<[^>]+>", " ", tags + closing) + rest


def _holding(kind: BlockKind, children: Sequence[Block]) -> Block:
    return Block(kind, children[0].start, children[-1].end, children=tuple(children))


def _prefixed(blocks: Sequence[Block], words: str) -> list[Block]:
    """The blocks with `words` said before the first of them."""
    first, *rest = blocks
    if first.children:
        return [first._replace(children=tuple(_prefixed(first.children, words))), *rest]
    said = f"{words}: {first.plain}" if first.plain else words
    kind: BlockKind = "label" if first.kind == "markup" else first.kind
    return [first._replace(kind=kind, plain=said), *rest]
