"""The lines of a Markdown text, marked as prose or code, for dialects that leave code alone.

In: a text and where to begin. Out: one line after the other, as prose, the opening of a fence, or the code in it; and
the parts of a line that are not code spans. Looks only at marks, as `quoth.text.plain` does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

Kind = Literal["prose", "opening", "code"]

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}(?=[^`\n]*$)|~{3,})")
_SPAN = re.compile(r"(?<!`)(`+)(?!`)(?:[^`]|(?!(?<!`)\1(?!`))`)*?(?<!`)\1(?!`)")
_MOST_TICKS = 200  # in a line that is searched for code spans


class MarkedLine(NamedTuple):
    start: int
    text: str  # without its line break
    kind: Kind

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def marked_lines(text: str, start: int = 0) -> Iterator[MarkedLine]:
    fence = ""
    for match in _LINE.finditer(text, start):
        line = match[0].rstrip("\r\n")
        mark = _FENCE.match(line)
        if fence:
            closes = mark is not None and mark[1].startswith(fence) and not line[mark.end() :].strip()
            fence = "" if closes else fence
            yield MarkedLine(match.start(), line, "code")
        elif mark:
            fence = mark[1]
            yield MarkedLine(match.start(), line, "opening")
        else:
            yield MarkedLine(match.start(), line, "prose")


def outside_of_code(line: str) -> list[tuple[int, int]]:
    """The parts of a line that are not code spans."""
    if "`" not in line or line.count("`") > _MOST_TICKS:
        return [(0, len(line))]
    places: list[tuple[int, int]] = []
    at = 0
    for span in _SPAN.finditer(line):
        places.append((at, span.start()))
        at = span.end()
    return [*places, (at, len(line))]


def found_outside(pattern: re.Pattern[str], line: str) -> Iterator[re.Match[str]]:
    """The matches of a pattern that do not begin in a code span."""
    places = outside_of_code(line)
    for match in pattern.finditer(line):
        if len(places) == 1 or any(begin <= match.start() < end for begin, end in places):
            yield match


def fenced(code: str, language: str, title: str = "") -> str:
    """Code in a fence that is longer than any in it."""
    ticks = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`{3,}", code)), default=0))
    said = f' title="{title}"' if title and '"' not in title else ""
    return f"{ticks}{language}{said}\n{code.rstrip(chr(10))}\n{ticks}"
