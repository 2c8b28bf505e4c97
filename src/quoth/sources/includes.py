"""The text of a page with its includes expanded.

In: the text of a file and a dialect, which finds the directives of one toolchain. Out: the text as the reader of the
published page sees it, the place of each insert, and notices. A directive that cannot be followed is left out of the
text and reported with its line. Only files inside the project are read, with all links followed, so no page can show a
file from elsewhere. Depth and size are limited, so no page can grow without end.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from quoth.domain import Insert, Notice
from quoth.errors import Unreadable
from quoth.sources.bounds import Bounds, is_file
from quoth.sources.files import decode
from quoth.text.limits import MAX_INCLUDE_DEPTH, MAX_INCLUDED_CHARACTERS

_EFFORT = 100  # extra characters that each include counts, so that a million empty ones are too many


@dataclass(frozen=True, slots=True)
class Directive:
    """A part of a file that is replaced by `text`, or by the part of `target` that `take` returns."""

    start: int
    end: int
    text: str = ""
    target: Path | None = None
    take: Callable[[str], str | None] = lambda text: text  # None: the file has no such part
    finish: Callable[[str], str] = lambda text: text  # applied once the included text is expanded itself
    said: str = ""  # file and part as the author wrote them
    indent: str = ""  # put before every line but the first


Dialect = Callable[[str, Path, int], Iterable[Directive]]
"""Text, the file it is from, and where to begin → the directives in it, in order and without overlaps."""


@dataclass(frozen=True, slots=True)
class Expanded:
    text: str
    inserts: tuple[Insert, ...] = ()
    notices: tuple[Notice, ...] = ()


@dataclass(slots=True)
class _Page:
    """One page that is being expanded."""

    source_file: str
    line: int = 1  # of the directive in the page itself
    room: int = MAX_INCLUDED_CHARACTERS
    notices: list[Notice] = field(default_factory=list)

    def tell(self, code: str, message: str) -> None:
        self.notices.append(Notice(code, message, self.source_file, self.line))

    def has_room(self, characters: int, said: str) -> bool:
        before, self.room = self.room, self.room - characters
        if self.room <= 0 < before:
            most = f"{MAX_INCLUDED_CHARACTERS:,}"
            message = f"{said} and all includes after it are left out: a page may include at most {most} characters"
            self.tell("INCLUDE_TOO_LARGE", message)
        return self.room > 0


class Expands(Protocol):
    """Expands the includes of one page after another."""

    @property
    def opened(self) -> set[Path]:
        """The files that some page includes."""

    def expand(self, text: str, path: Path, source_file: str, start: int = 0) -> Expanded: ...


class Includes:
    """Expands the pages of one project."""

    def __init__(self, bounds: Bounds, dialect: Dialect) -> None:
        self._bounds = bounds
        self._dialect = dialect
        self.opened: set[Path] = set()  # the files that some page includes

    def expand(self, text: str, path: Path, source_file: str, start: int = 0) -> Expanded:
        """`start` is where the body begins: front matter stays as it is."""
        page = _Page(source_file)
        parts: list[str] = []
        inserts: list[Insert] = []
        at = length = counted = shift = lines = 0
        for directive in self._dialect(text, path, start):
            page.line += _breaks(text[counted : directive.start])
            counted = directive.start
            shown = self._shown(directive, (), page)
            before = text[at : directive.start]
            parts += (before, shown)
            length += len(before)
            at = directive.end
            shift += len(shown) - (directive.end - directive.start)
            lines += _breaks(shown) - _breaks(text[directive.start : directive.end])
            inserts.append(Insert(length, length + len(shown), directive.start, directive.end, page.line, shift, lines))
            length += len(shown)
        if not inserts:
            return Expanded(text)
        return Expanded("".join([*parts, text[at:]]), tuple(inserts), tuple(page.notices))

    def _nested(self, text: str, path: Path, stack: Sequence[tuple[Path, str]], page: _Page) -> str:
        parts: list[str] = []
        at = 0
        for directive in self._dialect(text, path, 0):
            parts += (text[at : directive.start], self._shown(directive, stack, page))
            at = directive.end
        return "".join([*parts, text[at:]])

    def _shown(self, directive: Directive, stack: Sequence[tuple[Path, str]], page: _Page) -> str:
        if directive.target is None:
            return directive.text
        real = Path(os.path.realpath(directive.target))
        here = (real, directive.said)
        if page.room <= 0:
            return ""  # reported already
        if here in stack or len(stack) >= MAX_INCLUDE_DEPTH:
            page.tell("INCLUDE_CYCLE", f"{directive.said} includes itself, or is nested too deeply; it is left out")
            return ""
        whole = self._read(real, directive.said, page)
        if whole is None:
            return ""
        taken = directive.take(whole)
        if taken is None:
            page.tell("INCLUDE_MISSING", f"{directive.said}: the file has no such part; it is left out")
            return ""
        if not page.has_room(len(taken) + _EFFORT, directive.said):
            return ""
        shown = directive.finish(self._nested(taken, real, (*stack, here), page))
        if directive.indent and not page.has_room(len(directive.indent) * shown.count("\n"), directive.said):
            return ""
        return shown.replace("\n", f"\n{directive.indent}") if directive.indent else shown

    def _read(self, real: Path, said: str, page: _Page) -> str | None:
        if not self._bounds.may_include(real):
            left = "is outside the book's project; it is left out (--project names a larger one)"
            page.tell("INCLUDE_OUTSIDE", f"{said} {left}")
            return None
        try:
            if not is_file(real):
                page.tell("INCLUDE_MISSING", f"{said} does not exist; it is left out")
                return None
            if real.stat().st_size > MAX_INCLUDED_CHARACTERS:
                page.tell("INCLUDE_TOO_LARGE", f"{said} is larger than a page may include; it is left out")
                return None
            self.opened.add(real)
            return decode(real.read_bytes(), said).removeprefix("\ufeff").replace("\r\n", "\n")
        except OSError as error:
            page.tell("INCLUDE_MISSING", f"{said} cannot be read ({error.strerror}); it is left out")
        except Unreadable as error:
            page.tell("INCLUDE_MISSING", f"{error} It is left out")
        return None


class BySuffix:
    """Expands files with some extensions by rules of their own, and all others by `others`."""

    def __init__(self, special: Mapping[frozenset[str], Expands], others: Expands) -> None:
        self._special = special
        self._others = others

    @property
    def opened(self) -> set[Path]:
        return set().union(self._others.opened, *(one.opened for one in self._special.values()))

    def expand(self, text: str, path: Path, source_file: str, start: int = 0) -> Expanded:
        ending = path.suffix.lower()
        chosen = next((one for endings, one in self._special.items() if ending in endings), self._others)
        return chosen.expand(text, path, source_file, start)


def first_existing(candidates: Iterable[Path]) -> Path:
    """The first candidate that is a file; if none is, the very first, so that a notice can name it."""
    listed = list(candidates)
    return next((path for path in listed if is_file(path)), listed[0])


def bounded(lines: Iterable[str]) -> list[str]:
    """The lines, cut off soon after a page's limit: a directive may name the same lines again and again."""
    kept: list[str] = []
    characters = 0
    for line in lines:
        kept.append(line)
        characters += len(line) + 1
        if characters > MAX_INCLUDED_CHARACTERS:
            break
    return kept


def _breaks(text: str) -> int:
    return text.count("\n") + (text.count("\r") - text.count("\r\n") if "\r" in text else 0)
