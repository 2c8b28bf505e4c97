"""reStructuredText → blocks with exact offsets, as `quoth.text.markdown` gives them for Markdown.

A parser of lines and indentation in the order in which docutils tries its patterns. docutils itself tells line numbers
of some nodes only, runs what directives ask for, and stops at faults; we need every character and no surprise.
Directives keep their words: code is a fence, admonitions and all unknown ones are containers around their content.
Headings get the ids that docutils gives them, which depend on everything named above them on the page.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from quoth.text.blocks import Block, BlockKind, Lines, leaves
from quoth.text.rst_directives import CODE, INVISIBLE, SPOKEN, TRANSPARENT, Directive, read_directive, table_words
from quoth.text.rst_ids import labelled
from quoth.text.rst_inline import PUNCTUATION, inline, is_adornment, is_rule, width

_BULLET = re.compile(r"[-+*•‣⁃](?:[ \t]+|$)")
_ENUMERATOR = re.compile(
    r"(?:\(?(?:\d+|[A-Za-z]|[ivxlcdm]+|[IVXLCDM]+|#)\)|(?:\d+|[A-Za-z]|[ivxlcdm]+|[IVXLCDM]+|#)\.)(?:[ \t]+|$)"
)
_FIELD = re.compile(r":(?![: ])((?:[^:\\]|\\.|:(?!(?:[ `]|$)))*)(?<! ):(?:[ \t]+|$)")
_GRID = re.compile(r"\+-[-+]+-\+[ \t]*$|\+-\+[ \t]*$")
_SIMPLE = re.compile(r"=+(?:[ \t]+=+)+[ \t]*$")
_BORDER = re.compile(r"=+[ =]*$|-+[ -]*$")
_TARGET = re.compile(r"\.\.[ \t]+_(?![ _]|$)")
_ANONYMOUS = re.compile(r"\.\.[ \t]+__:|__(?:[ \t]+|$)")
_FOOTNOTE = re.compile(r"\.\.[ \t]+\[(\d+|#[\w.-]*|\*|[A-Za-z][\w.-]*)\](?:[ \t]+|$)")


def parse_rst(text: str, start: int = 0, *, whole: bool = True) -> tuple[Block, ...]:
    """The blocks of a page. With `whole` off, those of a piece of one: no field list at its head is metadata, and
    headings get no ids."""
    reader = _Reader(Lines(text, start))
    blocks = reader.page(whole)
    return tuple(labelled(blocks, text)) if whole else blocks


def plain_rst(text: str) -> str:
    """The words of any piece of a page, one line for each thing said."""
    return "\n".join(leaf.plain for leaf in leaves(parse_rst(_margin(text) + text, whole=False)) if leaf.plain)


def _margin(text: str) -> str:
    """The white space that a piece of a page has lost before its first line, where that matters: a rule over a title
    and the border of a table stand above what they belong to."""
    first, _, rest = text.partition("\n")
    said = first.rstrip()
    if not said or not (is_adornment(said) or _SIMPLE.match(said) or _GRID.match(said)):
        return ""
    below = takewhile(str.strip, rest.split("\n"))
    return min((line[: len(line) - len(line.lstrip())] for line in below), key=len, default="")


def first_title(text: str) -> str:
    """The words of the first heading. Nearly always it stands at the top, so the rest is parsed only if it does not."""
    for part in (text[:2000], text):
        title = next((block.text for block in parse_rst(part, whole=False) if block.level), "")
        if title:
            return title
    return ""


class _Reader:
    """Reads regions of lines. `indent` is the column where the text of a line begins, -1 for a blank line; `at` is
    the same as an index. A line whose marker has been read begins behind it, so that what follows a bullet on the
    same line is read as a line of its own."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.raw = lines.source.split("\n")
        self.at: list[int] = []
        self.indent: list[int] = []
        for number, line in enumerate(self.raw):
            bare = line.lstrip()
            line = self.raw[number] = line.rstrip()
            at = len(line) - len(bare.rstrip())
            self.at.append(at)
            column = len(line[:at].expandtabs(8)) if "\t" in line[:at] else at
            self.indent.append(column if bare else -1)
        self.styles: list[tuple[str, bool]] = []
        self.level = 0  # of the section that is open

    def page(self, whole: bool) -> tuple[Block, ...]:
        first = 0
        blocks: list[Block] = []
        if whole:
            first = self._metadata_end()
            if first:
                blocks.append(self._silent(0, first))
        blocks += self.body(first, len(self.raw), top=True)
        return tuple(blocks)

    def body(self, first: int, last: int, *, top: bool = False) -> list[Block]:
        """The blocks of a region. Only at the top of a page may a line be a heading."""
        shown = [column for column in self.indent[first:last] if column >= 0]
        base = 0 if top and first == 0 else min(shown, default=0)
        blocks: list[Block] = []
        line = first
        while line < last:
            column = self.indent[line]
            if column < 0:
                line += 1
            elif column > base:
                end = self._deeper(line, last, base)
                blocks.append(_holding("quote", self.body(line, end)))
                line = end
            else:
                line = self._one(blocks, line, last, base, top)
        return blocks

    # --- one block ---------------------------------------------------------------------------------------------------

    def _one(self, blocks: list[Block], line: int, last: int, base: int, top: bool) -> int:
        """Reads the block that begins at `line` and returns the line behind it."""
        said = self._said(line)
        mark = said[0]
        if mark.isalpha() and said[1:2].isalpha() and mark not in "ivxlcdmIVXLCDM":
            return self._text(blocks, line, last, base, top)  # most lines: nothing else starts like a word
        if mark == "." and (said == ".." or said.startswith(".. ") or said.startswith("..\t")):
            return self._explicit(blocks, line, last, base, top)
        if mark == "_" and _ANONYMOUS.match(said):
            blocks.append(self._silent(line, line + 1)._replace(info="target"))
            return line + 1
        if bullet := _BULLET.match(said):
            return self._items(blocks, line, last, base, _BULLET, bullet)
        if (enumerator := _ENUMERATOR.match(said)) and self._is_enumerated(line, last, base):
            return self._items(blocks, line, last, base, _ENUMERATOR, enumerator)
        if mark == ":" and (field := _FIELD.match(said)):
            return self._items(blocks, line, last, base, _FIELD, field)
        if said.startswith(">>>") and (len(said) == 3 or said[3] == " "):
            end = self._until_blank(line, last)
            blocks.append(self._code(line, end))
            return end
        if mark == "|" and said[1:2] in ("", " "):
            end = self._until_blank(line, last)
            words = "\n".join(inline(self._said(n).lstrip("|").strip()) for n in range(line, end))
            blocks.append(self._leaf("paragraph", line, end, words.strip()))
            return end
        if (mark == "+" and _GRID.match(said)) or (mark == "=" and _SIMPLE.match(said)):
            end = self._grid_end(line, last, base) if mark == "+" else self._simple_end(line, last)
            if end > line + 1:
                blocks.append(self._table(line, end))
                return end
        if is_adornment(said) and (end := self._ruled(blocks, line, last, base, top)) > line:
            return end
        return self._text(blocks, line, last, base, top)

    def _text(self, blocks: list[Block], line: int, last: int, base: int, top: bool) -> int:
        following = line + 1
        if following < last and self.indent[following] >= 0:
            if top and self.indent[following] == base and self._underlines(line, following):
                blocks.append(self._heading(line, line, following + 1, self._said(following)[0], over=False))
                return following + 1
            if self.indent[following] > base and not self.raw[line].endswith("::"):
                end = self._deeper(following, last, base)
                term = self._leaf("label", line, following, inline(self._said(line)))
                blocks.append(_holding("list", [_holding("item", [term, *self.body(following, end)])]))
                return end
        end = following
        while end < last and self.indent[end] == base:
            end += 1
        # Rules that make no heading here have nothing to say either.
        said = "\n".join(part for n in range(line, end) if not is_rule(part := self._said(n)))
        if not said.endswith("::"):
            blocks.append(self._leaf("paragraph", line, end, inline(said)))
            return end
        # `text::` reads "text:", `text ::` reads "text", and a lone `::` is not read at all.
        said = said[:-2].rstrip() if said == "::" or said[-3:-2].isspace() else said[:-1]
        blocks.append(self._leaf("paragraph", line, end, inline(said)))
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
            end = self._deeper(first, last, base)
        elif first > line and (mark := self._said(first)[0]) in PUNCTUATION:
            quoted = first
            while quoted < last and self.indent[quoted] == base and self._said(quoted)[0] == mark:
                quoted += 1
            blank_behind = quoted == last or self.indent[quoted] < 0
            end = quoted if blank_behind and not self._said(first).startswith(".. ") else line
        if end > line:
            blocks.append(self._code(first, end))
        return end

    def _items(
        self, blocks: list[Block], line: int, last: int, base: int, pattern: re.Pattern[str], match: re.Match[str]
    ) -> int:
        """A list: bullets of one kind, numbers, or fields."""
        items: list[Block] = []
        mark = match[0][0]
        while True:
            end = self._deeper(line + 1, last, base)
            items.append(self._item(line, end, match.end(), inline(match[1]) if pattern is _FIELD else "", pattern))
            line = end
            while line < last and self.indent[line] < 0:
                line += 1
            following = pattern.match(self._said(line)) if line < last and self.indent[line] == base else None
            if following is None or (pattern is _BULLET and following[0][0] != mark):
                break
            if pattern is _ENUMERATOR and not self._is_enumerated(line, last, base):
                break
            match = following
        blocks.append(_holding("list", items))
        return line

    def _item(self, line: int, end: int, skip: int, name: str, pattern: re.Pattern[str]) -> Block:
        rest = [column for column in self.indent[line + 1 : end] if column >= 0]
        self._behind(line, skip, rest, fixed=pattern is not _FIELD)
        children = self.body(line, end)
        if not children or children[0].start != self.lines.starts[line]:
            children.insert(0, self._leaf("label", line, line + 1, name))
        elif name:
            children = _prefixed(children, name)
        return _holding("item", children)

    # --- explicit markup ---------------------------------------------------------------------------------------------

    def _explicit(self, blocks: list[Block], line: int, last: int, base: int, top: bool) -> int:
        said = self._said(line)
        if _TARGET.match(said) or _ANONYMOUS.match(said):
            end = line + 1
            while end < last and self.indent[end] > base:
                end += 1
            blocks.append(self._silent(line, end)._replace(info="target"))
            return end
        if said == ".." and (line + 1 == last or self.indent[line + 1] < 0):
            blocks.append(self._silent(line, line + 1))
            return line + 1
        end = self._deeper(line + 1, last, base)
        if footnote := _FOOTNOTE.match(said):
            item = self._item(line, end, footnote.end(), footnote[1].lstrip("#*"), _FIELD)
            blocks.append(item._replace(info="footnote"))
            return end
        directive = read_directive(said, self.raw[line + 1 : end])
        if directive is None:
            blocks.append(self._silent(line, end))
        elif directive.name in TRANSPARENT and not directive.substitution:
            # What is shown under a condition is part of the page, headings included.
            blocks.append(self._silent(line, line + 1 + directive.head))
            blocks += self.body(line + 1 + directive.head, end, top=top)
        else:
            blocks.append(self._directive(directive, line, end))
        return end

    def _directive(self, directive: Directive, line: int, end: int) -> Block:
        name = directive.name
        head = line + 1 + directive.head
        if name in INVISIBLE and not directive.substitution:
            return self._silent(line, end)._replace(info=name)
        if name in CODE:
            block = self._leaf("fence", line, end, "\n".join(filter(None, (directive.caption, directive.code()))))
            return block._replace(info=directive.argument, head_end=self.lines.span(line, line + 1)[1])
        if name in ("list-table", "csv-table", "flat-table"):
            words = "\n".join(filter(None, (inline(directive.argument), directive.rows(inline))))
            return self._leaf("table", line, end, words, head_end=self.lines.span(line, head)[1])
        if name == "raw":
            words = re.sub(r"<[^>]+>", " ", directive.code()) if directive.argument.lower() == "html" else ""
            return self._leaf("html", line, end, " ".join(words.split()))
        if name in SPOKEN and directive.argument:
            skip = re.match(r"\.\.[ \t]+[^ ]+?[ ]?::[ \t]*", self._said(line))
            rest = [column for column in self.indent[line + 1 : end] if column >= 0]
            self._behind(line, skip.end() if skip else 0, rest, fixed=False)
            return _holding("admonition", _prefixed(self.body(line, end), SPOKEN[name]))._replace(info=name)
        label = self._leaf("label", line, head, inline(directive.title()))
        children = [label, *self.body(head, end)]
        if len(children) == 1:
            return label._replace(kind="paragraph" if label.plain else "markup", info=name)
        return _holding("admonition", children)._replace(info=name)

    # --- lines that rule: titles and transitions ---------------------------------------------------------------------

    def _ruled(self, blocks: list[Block], line: int, last: int, base: int, top: bool) -> int:
        """An overlined title, or a transition; `line` itself when it is neither."""
        said = self._said(line)
        if line + 1 >= last or self.indent[line + 1] < 0:
            if len(said) >= 4:
                blocks.append(self._silent(line, line + 1))
                return line + 1
            return line
        closed = line + 2 < last and self.indent[line + 2] == base and self._said(line + 2)
        if top and closed and is_adornment(closed) and closed[0] == said[0] and self.indent[line + 1] >= base:
            fits = max(len(said), len(closed)) >= min(4, width(self._said(line + 1)))
            if fits and not is_adornment(self._said(line + 1)):
                blocks.append(self._heading(line + 1, line, line + 3, said[0], over=True))
                return line + 3
        return line

    def _underlines(self, line: int, below: int) -> bool:
        rule = self._said(below)
        return is_adornment(rule) and (len(rule) >= 4 or len(rule) >= width(self._said(line)))

    def _heading(self, title: int, first: int, last: int, mark: str, *, over: bool) -> Block:
        style = (mark, over)
        level = self.styles.index(style) + 1 if style in self.styles else len(self.styles) + 1
        words = " ".join(inline(self._said(title)).split())
        if level > self.level + 1:  # where a level is skipped, docutils makes no section
            return self._leaf("paragraph", first, last, words)
        if level > len(self.styles):
            self.styles.append(style)
        self.level = level
        return Block("heading", *self.lines.span(first, last), level=level, text=words, plain=words)

    # --- regions -----------------------------------------------------------------------------------------------------

    def _said(self, line: int) -> str:
        return self.raw[line][self.at[line] :]

    def _behind(self, line: int, skip: int, rest: Sequence[int], *, fixed: bool) -> None:
        """Moves the beginning of a line behind its marker. Where the text below is indented less than the text
        behind the marker, or `fixed` is off, the line is taken to be indented as that is."""
        self.at[line] += skip
        if self.at[line] >= len(self.raw[line]):
            self.indent[line] = -1
            return
        column = len(self.raw[line][: self.at[line]].expandtabs(8))
        self.indent[line] = min([column, *rest]) if fixed or not rest else min(rest)

    def _deeper(self, line: int, last: int, base: int) -> int:
        """The end of the lines that are indented more than `base`, blank lines behind them not counted."""
        end = line
        while line < last and (self.indent[line] < 0 or self.indent[line] > base):
            line += 1
            if self.indent[line - 1] >= 0:
                end = line
        return end

    def _until_blank(self, line: int, last: int) -> int:
        while line < last and self.indent[line] >= 0:
            line += 1
        return line

    def _metadata_end(self) -> int:
        """Sphinx takes a field list before anything else for metadata of the page."""
        line = 0
        while line < len(self.raw) and self.indent[line] < 0:
            line += 1
        if line == len(self.raw) or self.indent[line] != 0 or not _FIELD.match(self.raw[line]):
            return 0
        while line < len(self.raw) and (self.indent[line] != 0 or _FIELD.match(self.raw[line])):
            line += 1
        return line

    def _is_enumerated(self, line: int, last: int, base: int) -> bool:
        """`A. Einstein` at the head of a paragraph is no list: its next line would be indented."""
        if line + 1 >= last or self.indent[line + 1] < 0 or self.indent[line + 1] > base:
            return True
        return bool(_ENUMERATOR.match(self._said(line + 1)))

    def _grid_end(self, line: int, last: int, base: int) -> int:
        while line < last and self.indent[line] == base and self._said(line)[0] in "+|":
            line += 1
        return line

    def _simple_end(self, line: int, last: int) -> int:
        width = len(self._said(line))
        borders = 0
        for number in range(line + 1, last):
            said = self._said(number) if self.indent[number] >= 0 else ""
            if said and said[0] == "=" and _BORDER.match(said) and len(said) == width:
                borders += 1
                if borders == 2 or number + 1 == last or self.indent[number + 1] < 0:
                    return number + 1
        return line

    # --- leaves ------------------------------------------------------------------------------------------------------

    def _leaf(self, kind: BlockKind, first: int, last: int, words: str, head_end: int = 0) -> Block:
        start, end = self.lines.span(first, last)
        return Block(kind if words else "markup", start, end, plain=words, head_end=head_end if words else 0)

    def _silent(self, first: int, last: int) -> Block:
        start, end = self.lines.span(first, last)
        return Block("markup", start, end)

    def _code(self, first: int, last: int) -> Block:
        shown = [column for column in self.indent[first:last] if column >= 0]
        cut = min(shown, default=0)
        code = "\n".join(self.raw[n].expandtabs(8)[cut:] for n in range(first, last))
        return self._leaf("code", first, last, code.strip("\n"))

    def _table(self, first: int, last: int) -> Block:
        rows = [self.raw[n][self.at[first] :] if self.indent[n] >= 0 else "" for n in range(first, last)]
        head = next((n for n, row in enumerate(rows) if n and set(row) <= set("+= ") and "=" in row), 0)
        if rows[0].startswith("="):
            head = head if head < len(rows) - 1 else 0
        head_end = self.lines.span(first, first + head + 1)[1] if head else 0
        return self._leaf("table", first, last, table_words(rows, inline), head_end=head_end)


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
