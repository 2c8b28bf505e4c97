"""A table of contents in Markdown (mdBook's and GitBook's SUMMARY.md) → its entries, in order.

Knows titles, targets, nesting and numbering; not which files exist or where they are published.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from posixpath import normpath
from urllib.parse import unquote

from quoth.plaintext import COMMENT, inline_text

_LINK = re.compile(
    r"^(?P<space>[ \t]*)(?P<item>(?:[-*+]|\d{1,9}[.)])[ \t]+)?"
    r"\[(?P<title>(?:[^\[\]\\\n]|\\.|\[[^\[\]\n]*\])*)\]\((?P<target><[^<>\n]*>|[^()\n]*(?:\([^()\n]*\)[^()\n]*)*)\)"
)
_TITLED = re.compile(r"[ \t]+(?:\"[^\"]*\"|'[^']*')$")
_LABEL = re.compile(r"^(?P<space>[ \t]*)(?P<item>(?:[-*+]|\d{1,9}[.)])[ \t]+)(?P<title>[^\[\n].*)$")
_HEADING = re.compile(r"^(#{1,6})[ \t]+(.*?)[ \t]*#*$")


@dataclass(frozen=True, slots=True)
class Entry:
    title: str
    target: str  # as a path below the folder of the summary; empty for a chapter that is not written yet
    line: int
    numbers: tuple[int, ...] = ()  # of chapter, sub-chapter, …; none before and after the numbered chapters
    trail: tuple[str, ...] = ()  # part and chapters above

    @property
    def outside(self) -> bool:
        return self.target.startswith(("../", "/")) or "://" in self.target


def read_summary(path: Path) -> list[Entry]:
    """Empty when there is no such file or it cannot be read."""
    try:
        return list(parse_summary(path.read_bytes().decode("utf-8", "replace")))
    except OSError:
        return []


def parse_summary(text: str) -> Iterator[Entry]:
    text = COMMENT.sub(lambda match: re.sub(r"[^\n]", "", match[0]), text.replace("\r\n", "\n"))
    part = ""
    begun = False  # a heading before everything else is the title of the summary, not of a part
    open_items: list[tuple[int, str]] = []  # indent and title of the items above
    numbers: list[int] = []
    for number, line in enumerate(text.split("\n"), 1):
        heading = _HEADING.match(line)
        if heading:
            part = inline_text(heading[2]) if begun or len(heading[1]) > 1 else ""
            begun = True
            open_items.clear()
            continue
        found = _LINK.match(line) or _LABEL.match(line)
        begun = begun or bool(line.strip())
        if found is None:
            continue
        indent = len(found["space"].expandtabs(4))
        title = inline_text(found["title"])
        while open_items and (open_items[-1][0] >= indent or found["item"] is None):
            open_items.pop()
        own: tuple[int, ...] = ()
        trail: tuple[str, ...] = ()
        if found["item"] is not None:
            trail = (*([part] if part else []), *(above for _, above in open_items))
            depth = len(open_items)
            numbers = [*numbers[:depth], numbers[depth] + 1 if depth < len(numbers) else 1]
            own = tuple(numbers)
            open_items.append((indent, title))
        if found.re is _LINK:
            yield Entry(title, _target(found["target"]), number, own, trail)


def _target(written: str) -> str:
    target = _TITLED.sub("", written.strip())
    target = target[1:-1] if target.startswith("<") else target
    if not target or "://" in target:
        return target
    path = unquote(target.split("#", 1)[0])
    return normpath(path) if path else ""
