"""The lines of a page of reStructuredText, with their indentation: the base of the reader in `quoth.text.rst`.

Knows where lines begin, how far a region reaches, and how to make a leaf block of some lines. Does not know what the
lines mean.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property

from quoth.text.blocks import Block, BlockKind, Lines

_BORDER = re.compile(r"=[ =]*+$")


class IndentedLines:
    """`indent` is the column where the text of a line begins, -1 for a blank line; `at` is the same as an index. A line
    whose marker has been read begins after it, so that the text after a bullet is read as a line of its own."""

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

    def said(self, line: int) -> str:
        return self.raw[line][self.at[line] :]

    def behind(self, line: int, skip: int, rest: Sequence[int], *, fixed: bool) -> None:
        """Moves the beginning of a line past its marker. If the text below is indented less than the text after the
        marker, or `fixed` is off, the line counts as indented like the text below."""
        self.at[line] += skip
        if self.at[line] >= len(self.raw[line]):
            self.indent[line] = -1
            return
        column = len(self.raw[line][: self.at[line]].expandtabs(8))
        self.indent[line] = min([column, *rest]) if fixed or not rest else min(rest)

    def deeper(self, line: int, last: int, base: int) -> int:
        """The end of the lines that are indented more than `base`, without the blank lines after them."""
        end = line
        while line < last and (self.indent[line] < 0 or self.indent[line] > base):
            line += 1
            if self.indent[line - 1] >= 0:
                end = line
        return end

    def until_blank(self, line: int, last: int) -> int:
        while line < last and self.indent[line] >= 0:
            line += 1
        return line

    def grid_end(self, line: int, last: int, base: int) -> int:
        while line < last and self.indent[line] == base and self.said(line)[0] in "+|":
            line += 1
        return line

    def simple_end(self, line: int, last: int) -> int:
        """The line after a simple table: after its second border below, or after a border before a blank line."""
        borders = self._borders.get(len(self.said(line)), [])
        first = bisect_right(borders, line)
        for count, number in enumerate(borders[first : first + 2], 1):
            if number < last and (count == 2 or number + 1 == last or self.indent[number + 1] < 0):
                return number + 1
        return line

    @cached_property
    def _borders(self) -> dict[int, list[int]]:
        """The lines that may be borders of simple tables, by their length."""
        found: dict[int, list[int]] = {}
        for number, line in enumerate(self.raw):
            bare = line.lstrip()
            if bare.startswith("=") and _BORDER.match(bare):
                found.setdefault(len(bare), []).append(number)
        return found

    def leaf(self, kind: BlockKind, first: int, last: int, words: str, head_end: int = 0) -> Block:
        start, end = self.lines.span(first, last)
        return Block(kind if words else "markup", start, end, plain=words, head_end=head_end if words else 0)

    def silent(self, first: int, last: int) -> Block:
        start, end = self.lines.span(first, last)
        return Block("markup", start, end)

    def code(self, first: int, last: int) -> Block:
        shown = [column for column in self.indent[first:last] if column >= 0]
        cut = min(shown, default=0)
        code = "\n".join(self.raw[n].expandtabs(8)[cut:] for n in range(first, last))
        return self.leaf("code", first, last, code.strip("\n"))
