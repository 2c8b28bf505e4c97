"""An mdBook: which files are its chapters, where they are published, and under which titles.

`SUMMARY.md` decides everything: a file that it does not name is not a page, and its titles and numbers are the book's.
The URL of a page is its path with `.html`; `README.md` is `index.html`. `book.toml` names the folder of the sources and
the URL of the book. GitBook uses the reader of SUMMARY.md too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from posixpath import normpath
from urllib.parse import quote, unquote

from quoth.domain import AnchorRule, Markup, Notice
from quoth.sources.bounds import Bounds, is_file
from quoth.sources.files import FrontMatter, walk
from quoth.sources.folder import Route
from quoth.sources.front_matter import Place
from quoth.sources.loading import Damaged, defaults_used, load_toml
from quoth.text.limits import MAX_DEPTH
from quoth.text.line_marks import comments
from quoth.text.plain import inline_text

# --- SUMMARY.md ------------------------------------------------------------------------------------------------------


_LINK = re.compile(
    r"^(?P<space>[ \t]*)(?P<item>(?:[-*+]|\d{1,9}[.)])[ \t]+)?"
    r"\[(?P<title>(?:[^\[\]\\\n]|\\.|\[[^\[\]\n]*\])*)\]\((?P<target><[^<>\n]*>|[^()\n]*(?:\([^()\n]*\)[^()\n]*)*)\)"
)
_TITLED = re.compile(r"(?<![ \t])[ \t]+(?:\"[^\"]*\"|'[^']*')$")
_LABEL = re.compile(r"^(?P<space>[ \t]*)(?P<item>(?:[-*+]|\d{1,9}[.)])[ \t]+)(?P<title>[^\[\n].*)$")
_HEADING = re.compile(r"^(#{1,6})[ \t]+(.*)$")


@dataclass(frozen=True, slots=True)
class SummaryItem:
    title: str
    target: str  # its path from the folder of the summary; empty for a chapter that is not written yet
    line: int
    numbers: tuple[int, ...] = ()  # of chapter, sub-chapter, …; none before and after the numbered chapters
    trail: tuple[str, ...] = ()  # the part and the chapters above

    @property
    def outside(self) -> bool:
        return self.target.startswith(("../", "/")) or "://" in self.target


def read_summary(path: Path, bounds: Bounds) -> list[SummaryItem]:
    """Empty if the file does not exist or cannot be read."""
    try:
        return list(parse_summary(bounds.config_text(path, "replace")))
    except (OSError, Damaged):
        return []


def parse_summary(text: str) -> Iterator[SummaryItem]:
    return _SummaryReader().items(text)


class _SummaryReader:
    """Walks a summary from top to bottom."""

    def __init__(self) -> None:
        self._part = ""
        self._begun = False  # a heading before everything else is the title of the summary, not of a part
        self._above: list[tuple[int, str]] = []  # indent and title of the items that may be the next one's parents
        self._numbers: list[int] = []

    def items(self, text: str) -> Iterator[SummaryItem]:
        text = _without_comments(text.replace("\r\n", "\n"))
        for number, line in enumerate(text.split("\n"), 1):
            if heading := _HEADING.match(line):
                self._enter_part(heading)
                continue
            self._begun = self._begun or bool(line.strip())
            found = _LINK.match(line) or _LABEL.match(line)
            if found is None:
                continue
            title = inline_text(found["title"])
            numbers, trail = self._placed(found, title)
            if found.re is _LINK:
                yield SummaryItem(title, _target(found["target"]), number, numbers, trail)

    def _enter_part(self, heading: re.Match[str]) -> None:
        words = heading[2].rstrip("#").rstrip(" \t") if heading[2].endswith("#") else heading[2].rstrip(" \t")
        self._part = inline_text(words) if self._begun or len(heading[1]) > 1 else ""
        self._begun = True
        self._above.clear()

    def _placed(self, found: re.Match[str], title: str) -> tuple[tuple[int, ...], tuple[str, ...]]:
        """The numbers of a chapter and the titles above it; both empty if the line is not a list item."""
        if found["item"] is None:
            self._above.clear()
            return (), ()
        indent = len(found["space"].expandtabs(4))
        while self._above and self._above[-1][0] >= indent:
            self._above.pop()
        depth = len(self._above)
        trail = (*([self._part] if self._part else []), *(above for _, above in self._above))
        self._numbers = [*self._numbers[:depth], self._numbers[depth] + 1 if depth < len(self._numbers) else 1]
        self._above = [*self._above[:MAX_DEPTH], (indent, title)]
        return tuple(self._numbers), trail


def _without_comments(text: str) -> str:
    """Line breaks in comments stay, so that lines keep their numbers."""
    kept: list[str] = []
    at = 0
    for start, end in comments(text):
        kept += (text[at:start], "\n" * text.count("\n", start, end))
        at = end
    return "".join([*kept, text[at:]])


def _target(written: str) -> str:
    target = _TITLED.sub("", written.strip())
    target = target[1:-1] if target.startswith("<") else target
    if not target or "://" in target:
        return target
    path = unquote(target.split("#", 1)[0])
    return normpath(path) if path else ""


# --- the book --------------------------------------------------------------------------------------------------------


_SUFFIXES = frozenset((".md",))
_CONFIG = "book.toml"
_SUMMARY = "SUMMARY.md"


@dataclass(frozen=True, slots=True)
class _MdBook:
    """The values of `book.toml`."""

    root: Path
    bounds: Bounds
    said: str = ""  # the folder of the sources, as written
    src: Path = Path()  # its real path
    title: str = ""
    language: str | None = None
    site_url: str = ""
    damage: str = ""


def find_mdbook(path: Path, bounds: Bounds) -> _MdBook | None:
    """The book in this folder, or in one above it whose sources include it."""
    for folder in bounds.upwards(path):
        own = bounds.around(folder)
        if not own.is_file(folder / _CONFIG) and not (folder == path and own.is_file(folder / "src" / _SUMMARY)):
            continue
        book = _read_book(folder, own)
        src = own.published(folder, book.said, path)
        return replace(book, src=src) if src is not None else None
    return None


def _read_book(root: Path, bounds: Bounds) -> _MdBook:
    """A file that cannot be read counts as empty, with a notice."""
    damage = ""
    loaded: Mapping[str, object] = {}
    try:
        loaded = load_toml(bounds.config_text(root / _CONFIG))
    except FileNotFoundError:
        pass
    except (OSError, Damaged) as error:
        damage = defaults_used(_CONFIG, error)
    book, html = _table(loaded, "book"), _table(_table(loaded, "output"), "html")
    return _MdBook(
        root=root,
        bounds=bounds,
        said=_text(book, "src") or "src",
        title=_text(book, "title"),
        language=_text(book, "language") or None,
        site_url=_text(html, "site-url"),
        damage=damage,
    )


class MdBookRules:
    toolchain = "mdbook"
    anchors: AnchorRule = "mdbook"

    def __init__(self, book: _MdBook, read: Path, base_url: str) -> None:
        self._book = book
        self._read = read  # the sources, or the part of them that the user gave
        self._base = base_url.rstrip("/") or book.site_url.rstrip("/")
        self._items: dict[str, SummaryItem] = {}
        self._summary: list[SummaryItem] = []

    def paths(self) -> Iterable[Path]:
        self._summary = read_summary(self._book.src / _SUMMARY, self._book.bounds)
        self._items = by_target(self._summary)
        summary = self._book.src / _SUMMARY
        return (path for path in walk(self._read, _SUFFIXES) if path != summary)

    def skips(self, name: str, front: FrontMatter) -> str:
        return "" if name in self._items else f"not in {_SUMMARY}"

    def route(self, name: str, front: FrontMatter) -> Route:
        item = self._items[name]
        *folders, file = name.split("/")
        stem = file.rsplit(".", 1)[0]
        stem = "index" if stem.lower() == "readme" else stem
        url = f"{self._base}/{quote('/'.join([*folders, stem]))}.html"
        return Route(url, item.trail, title=item.title, place=_place(item), language=self._book.language)

    def markup(self, name: str) -> Markup:
        return "markdown"

    def contents(self) -> Iterator[Notice]:
        """Chapters without a page, and a configuration that cannot be read."""
        if self._book.damage:
            yield Notice("CONFIG_UNREADABLE", self._book.damage, str(self._book.root / _CONFIG), 1)
        yield from unwritten(self._summary, self._book.src / _SUMMARY, self._read)


def by_target(items: Iterable[SummaryItem]) -> dict[str, SummaryItem]:
    """The first item for each page."""
    found: dict[str, SummaryItem] = {}
    for item in items:
        found.setdefault(item.target, item)
    return found


def unwritten(items: Iterable[SummaryItem], summary: Path, read: Path) -> Iterator[Notice]:
    """Items of a summary without a page: chapters without a file, and files that do not exist."""
    folder, file = summary.parent, str(summary)
    if read != folder:  # only a part of the book is read
        return
    for item in items:
        if not item.target:
            yield Notice("PAGE_SKIPPED", f"{item.title!r} is a draft without a page", file, item.line)
        elif not item.outside and not is_file(folder / item.target):
            message = f"{item.title!r} names {item.target}, which does not exist"
            yield Notice("PAGE_MISSING", message, file, item.line)


def _place(item: SummaryItem) -> Place:
    """Chapter 4.2 is lesson 2 of chapter 4; the chapter's own page is its lesson 0."""
    if not item.numbers:
        return Place()
    return Place(None, item.numbers[0], item.numbers[1] if len(item.numbers) > 1 else 0)


def _table(values: Mapping[str, object], key: str) -> Mapping[str, object]:
    found = values.get(key)
    return found if isinstance(found, dict) else {}


def _text(values: Mapping[str, object], key: str) -> str:
    found = values.get(key)
    return found.strip() if isinstance(found, str) else ""
