"""The parts of a parsed page, whichever format it is written in.

`quoth.text.markdown` and `quoth.text.rst` both give a tree of `Block`s whose leaves hold every character that is not
white space, each exactly once, in order. So the code that splits a page need not know its format. `Lines` maps lines to
offsets of the original text, whatever its line endings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, count
from operator import add
from typing import Literal, NamedTuple

from quoth.errors import Unreadable
from quoth.text.limits import MAX_DEPTH

BlockKind = Literal[
    "heading",
    "paragraph",
    "list",
    "item",
    "fence",
    "code",  # indented
    "table",
    "admonition",
    "quote",
    "html",
    "label",  # the opening line of an admonition, or a tag with words for the reader: belongs to the next block
    "markup",  # nothing to read: imports, tags, comments, rules, link definitions, front matter
]
# What a stretch of a chunk can be quoted as, and such a stretch.
UnitKind = Literal["prose", "item", "row", "header", "code", "heading"]
Stretch = tuple[int, int, UnitKind]

NEWLINE = re.compile(r"\r\n?|\n")


class Block(NamedTuple):
    """A stretch of whole lines, `start` at the beginning of the first and `end` after the last visible character.
    A named tuple, because a page has hundreds and a frozen dataclass takes three times as long to make."""

    kind: BlockKind
    start: int
    end: int
    level: int = 0  # of a heading
    text: str = ""  # of a heading, without markup
    info: str = ""  # of a fence: everything after the backticks; of an admonition: its kind
    anchor: str = ""  # the explicit id of a heading
    head_end: int = 0  # of a fence or a table: where the opening line or the header rows end
    plain: str = ""  # of a leaf: its words without markup
    children: tuple[Block, ...] = ()


def leaves(blocks: Sequence[Block]) -> Iterator[Block]:
    for block in blocks:
        if block.children:
            yield from leaves(block.children)
        else:
            yield block


def check_depth(blocks: Sequence[Block], text: str) -> None:
    """Raise `Unreadable` if blocks are nested deeper than MAX_DEPTH."""
    level = list(blocks)
    for _ in range(MAX_DEPTH + 1):
        level = [child for block in level for child in block.children]
        if not level:
            return
    raise too_deep(text, level[0].start)


def too_deep(text: str, offset: int) -> Unreadable:
    line = text.count("\n", 0, offset) + 1
    return Unreadable(
        f"Line {line} is nested more than {MAX_DEPTH} levels deep.",
        hint="Nest it less, or leave the page out of the book.",
        details={"line": line},
    )


class Lines:
    """The lines of a text as parsers count them, and where each begins in the original."""

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        body = text[start:] if start else text
        if "\r" in body:
            self.starts = [start, *(match.end() + start for match in NEWLINE.finditer(body))]
            body = NEWLINE.sub("\n", body)
        else:
            lengths = map(len, body.split("\n"))
            self.starts = list(map(add, accumulate(lengths, initial=start), count()))[:-1]
        self.source = body.replace("\0", "\ufffd")
        self.count = len(self.starts)
        self.starts.append(len(text))

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Offsets of the lines from `first` up to but not including `last`, without blank lines at the end."""
        start = self.starts[first]
        return start, start + len(self.text[start : self.starts[last]].rstrip())

    def blank(self, line: int) -> bool:
        return not self.text[self.starts[line] : self.starts[line + 1]].strip()
