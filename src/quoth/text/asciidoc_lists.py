"""The lines of a page of AsciiDoc, and the lists in them: the base of the reader in `quoth.text.asciidoc`.

A list reaches as far as Asciidoctor reads it: text goes on until a blank line, a `+` attaches the block below it, a
marker that no open list has begins a list inside the item. Items are read once, from top to bottom, whatever their
depth.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property

from quoth.text.asciidoc_inline import inline
from quoth.text.asciidoc_lines import (
    ATTRIBUTES,
    BULLET,
    CALLOUT,
    COMMENT,
    NUMBER,
    TERM,
    TITLE,
    delimiter,
)
from quoth.text.blocks import Block, BlockKind, Lines, too_deep
from quoth.text.limits import MAX_DEPTH

_TASK = re.compile(r"\[[ x*]\][ \t]+(?=\S)")
_MARKS = " \t-*•.<0123456789"


class ListReader:
    """Lines with their markers. Subclasses read what is not a list."""

    def __init__(self, lines: Lines, *, whole: bool) -> None:
        self.lines = lines
        self.raw = [line.rstrip() for line in lines.source.split("\n")]
        self.count = len(self.raw)
        self.whole = whole
        self.depth = 0
        self._markers: dict[int, str] = {}

    def one(self, blocks: list[Block], line: int, last: int, *, top: bool = False, listed: bool = False) -> int:
        """Reads the block that begins here, of whatever kind, and returns the line after it."""
        raise NotImplementedError

    # --- lists -------------------------------------------------------------------------------------------------------

    def marker(self, line: int) -> str:
        """What the item that begins here has in common with its siblings; empty when none begins."""
        found = self._markers.get(line)
        if found is None:
            found = self._markers[line] = marker_of(self.raw[line])
        return found

    def list_at(self, line: int, last: int, above: tuple[str, ...]) -> tuple[Block, int]:
        """The list that begins here, and the line after it."""
        if self.is_too_deep(line):
            end = self.until(line + 1, last)
            return self.flat(line, end)[0], end
        mark = self.marker(line)
        self.depth += 1
        items: list[Block] = []
        while True:
            item, line = self._item(line, last, (*above, mark))
            items.append(item)
            following = self.after_blank(line, last)
            if following == last or self.marker(following) != mark:
                break
            line = following
        self.depth -= 1
        return holding("list", items), line

    def _item(self, line: int, last: int, chain: tuple[str, ...]) -> tuple[Block, int]:
        children: list[Block] = []
        end = self._item_text(children, line, last)
        while True:
            at = self.after_blank(end, last)
            if at == last:
                break
            said = self.raw[at]
            if said == "+":
                children.append(self.silent(at, at + 1))
                end = self._attached(children, at + 1, last, chain)
                continue
            mark = self.marker(at)
            if mark and mark not in chain:
                nested, end = self.list_at(at, last, chain)
                children.append(nested)
            elif mark:
                break
            elif at == end and COMMENT.match(said):
                children.append(self.silent(at, at + 1))
                end = at + 1
            elif at == end and (inner := self._styled_list(at, last, chain)) > at:
                children.append(self.silent(at, inner))
                end = inner
            elif at > end and said[0] in " \t":
                end = self.one(children, at, last, listed=True)
            else:
                break
        return holding("item", children), end

    def _item_text(self, children: list[Block], line: int, last: int) -> int:
        said = self.raw[line]
        term = TERM.match(said) if self.marker(line)[0] in ":;" else None
        mark = term or BULLET.match(said) or NUMBER.match(said) or CALLOUT.match(said)
        skip = mark.end() if mark else 0
        if term is not None and skip >= len(said):
            children.append(self.leaf("label", line, line + 1, inline(term[1])))
            at = self.after_blank(line + 1, last)
            if at == last or self.raw[at] == "+" or self._is_block(at) or self.marker(at):
                return line + 1
            end = self.until(at + 1, last, listed=True)
            children.append(self.leaf("paragraph", at, end, inline(self.prose(at, end))))
            return end
        end = self.until(line + 1, last, listed=True)
        if task := _TASK.match(said, skip):
            skip = task.end()
        words = inline(self.prose(line, end, skip=skip))
        words = f"{inline(term[1])}: {words}" if term else words
        children.append(self.leaf("paragraph", line, end, words))
        return end

    def _attached(self, children: list[Block], line: int, last: int, chain: tuple[str, ...]) -> int:
        """The block below a `+`."""
        at = self.after_blank(line, last)
        if at == last or self.marker(at) in chain or self.raw[at] == "+":
            return line
        return self.one(children, at, last)

    def _styled_list(self, line: int, last: int, chain: tuple[str, ...]) -> int:
        """The line where a list inside the item begins, if only lines that style it come before."""
        at = line
        while at < last and (ATTRIBUTES.match(self.raw[at]) or TITLE.match(self.raw[at])):
            at += 1
        mark = self.marker(at) if at < last and self.raw[at] else ""
        return at if mark and mark not in chain else line

    # --- regions -----------------------------------------------------------------------------------------------------

    def after_blank(self, line: int, last: int) -> int:
        while line < last and not self.raw[line]:
            line += 1
        return line

    def until(self, line: int, last: int, *, listed: bool = False) -> int:
        """The line after a paragraph whose first line is above `line`."""
        while line < last:
            said = self.raw[line]
            if not said or said == "+" or self._is_block(line) or (listed and self.marker(line)):
                break
            line += 1
        return line

    def _is_block(self, line: int) -> bool:
        said = self.raw[line]
        return (said[0] == "[" and ATTRIBUTES.match(said) is not None) or bool(delimiter(said))

    def closing(self, line: int, last: int, closing: str) -> int:
        """The line that closes a block; `last` if none does."""
        places = self._delimiters.get(closing, [])
        at = bisect_right(places, line)
        return places[at] if at < len(places) and places[at] < last else last

    @cached_property
    def _delimiters(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for number, line in enumerate(self.raw):
            if line and delimiter(line) == line:
                found.setdefault(line, []).append(number)
        return found

    def is_too_deep(self, line: int) -> bool:
        if self.depth <= MAX_DEPTH:
            return False
        if self.whole:
            raise too_deep(self.lines.text, self.lines.starts[line])
        return True

    def flat(self, first: int, last: int) -> list[Block]:
        """A region that is nested too deep, read as one paragraph."""
        shown = " ".join(line.strip() for line in self.raw[first:last] if line)
        return [self.leaf("paragraph", first, last, inline(shown))] if shown else []

    # --- leaves ------------------------------------------------------------------------------------------------------

    def prose(self, first: int, last: int, skip: int = 0) -> str:
        """The lines of a paragraph, without comments."""
        lines = [self.raw[first][skip:], *self.raw[first + 1 : last]] if last > first else []
        return "\n".join(line.lstrip() for line in lines if not COMMENT.match(line))

    def verbatim(self, first: int, last: int) -> str:
        lines = self.raw[first:last]
        cut = min((len(line) - len(line.lstrip()) for line in lines if line), default=0)
        return "\n".join(line[cut:] for line in lines).strip("\n")

    def leaf(self, kind: BlockKind, first: int, last: int, words: str, head_end: int = 0) -> Block:
        start, end = self.lines.span(first, last)
        return Block(kind if words else "markup", start, end, plain=words, head_end=head_end if words else 0)

    def silent(self, first: int, last: int) -> Block:
        start, end = self.lines.span(first, last)
        return Block("markup", start, end)


def marker_of(said: str) -> str:
    """The mark of the item that a line begins, the same for all items of a list; empty when it begins none."""
    if not said:
        return ""
    if said[0] in _MARKS or said[1:2] in ".)" or said[0] in "IVXivx":
        if bullet := BULLET.match(said):
            return bullet[1]
        if number := NUMBER.match(said):
            return _number(number[1])
        if CALLOUT.match(said):
            return "<1>"
    term = TERM.match(said) if "::" in said or ";;" in said else None
    return term[2] if term else ""


def _number(mark: str) -> str:
    if mark[0] == ".":
        return mark
    if mark[0].isdigit():
        return "1."
    return {True: "a", False: "A"}[mark[0].islower()] + mark[-1]


def holding(kind: BlockKind, children: Sequence[Block]) -> Block:
    return Block(kind, children[0].start, children[-1].end, children=tuple(children))
