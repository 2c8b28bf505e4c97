"""An mdBook: which files are its chapters, where they are published, and under which titles.

`SUMMARY.md` decides everything: a file that it does not name is not a page, and its titles and numbers are the book's.
A page is its path with `.html`; `README.md` is `index.html`. `book.toml` says where the sources are and where the book
goes. The reader of SUMMARY.md serves GitBook too.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from posixpath import normpath
from urllib.parse import quote, unquote

from quoth.domain import AnchorRule, Markup, Notice
from quoth.sources.files import FrontMatter, walk
from quoth.sources.folder import Route
from quoth.sources.front_matter import Place
from quoth.text.plain import comments, inline_text

# --- SUMMARY.md ------------------------------------------------------------------------------------------------------


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
    text = _without_comments(text.replace("\r\n", "\n"))
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


SUFFIXES = frozenset((".md",))
CONFIG = "book.toml"
SUMMARY = "SUMMARY.md"


@dataclass(frozen=True, slots=True)
class MdBook:
    """What `book.toml` says."""

    root: Path
    src: Path
    title: str = ""
    language: str | None = None
    site_url: str = ""
    damage: str = ""


def find_mdbook(path: Path) -> MdBook | None:
    """The book in this folder, or the one above of whose sources it is part."""
    for folder in (path, *path.parents):
        if not (folder / CONFIG).is_file() and not (folder == path and (folder / "src" / SUMMARY).is_file()):
            continue
        book = read_book(folder)
        return book if folder == path or path.is_relative_to(book.src) else None
    return None


def read_book(root: Path) -> MdBook:
    """Tolerant: what cannot be read is taken as not given, and told."""
    damage = ""
    loaded: Mapping[str, object] = {}
    try:
        loaded = tomllib.loads((root / CONFIG).read_bytes().decode("utf-8"))
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        damage = f"{CONFIG} cannot be read ({str(error).splitlines()[0]}); defaults are taken"
    book, html = _table(loaded, "book"), _table(_table(loaded, "output"), "html")
    return MdBook(
        root=root,
        src=(root / (_text(book, "src") or "src")).resolve(),
        title=_text(book, "title"),
        language=_text(book, "language") or None,
        site_url=_text(html, "site-url"),
        damage=damage,
    )


class MdBookRules:
    toolchain = "mdbook"
    anchors: AnchorRule = "mdbook"

    def __init__(self, book: MdBook, read: Path, base_url: str) -> None:
        self._book = book
        self._read = read  # the sources, or the part of them that was asked for
        self._base = base_url.rstrip("/") or book.site_url.rstrip("/")
        self._entries: dict[str, Entry] = {}
        self._summary: list[Entry] = []

    def paths(self) -> Iterable[Path]:
        self._summary = read_summary(self._book.src / SUMMARY)
        self._entries = {}
        for entry in self._summary:
            self._entries.setdefault(entry.target, entry)
        summary = self._book.src / SUMMARY
        return (path for path in walk(self._read, SUFFIXES) if path != summary)

    def skips(self, name: str, front: FrontMatter) -> str:
        return "" if name in self._entries else f"not in {SUMMARY}"

    def route(self, name: str, front: FrontMatter) -> Route:
        entry = self._entries[name]
        *folders, file = name.split("/")
        stem = file.rsplit(".", 1)[0]
        stem = "index" if stem.lower() == "readme" else stem
        url = f"{self._base}/{quote('/'.join([*folders, stem]))}.html"
        return Route(url, entry.trail, title=entry.title, place=_place(entry), language=self._book.language)

    def markup(self, name: str) -> Markup:
        return "markdown"

    def depends_on(self, path: Path, text: str) -> Sequence[Path]:
        return ()

    def contents(self) -> Iterator[Notice]:
        """Chapters without a page, and what is wrong with the configuration."""
        if self._book.damage:
            yield Notice("CONFIG_UNREADABLE", self._book.damage, str(self._book.root / CONFIG), 1)
        yield from unwritten(self._summary, self._book.src / SUMMARY, self._read)


def unwritten(entries: Iterable[Entry], summary: Path, read: Path) -> Iterator[Notice]:
    """What a summary names and nobody can read: chapters without a file, and files that are not there."""
    folder, file = summary.parent, str(summary)
    if read != folder:  # a part of the book was asked for: what is missing elsewhere is not its business
        return
    for entry in entries:
        if not entry.target:
            yield Notice("PAGE_SKIPPED", f"{entry.title!r} is a draft without a page", file, entry.line)
        elif not entry.outside and not (folder / entry.target).is_file():
            yield Notice("PAGE_MISSING", f"{entry.title!r} names {entry.target}, which is not there", file, entry.line)


def _place(entry: Entry) -> Place:
    """Chapter 4.2 is lesson 2 of chapter 4, and the chapter's own page is its lesson 0."""
    if not entry.numbers:
        return Place()
    return Place(None, entry.numbers[0], entry.numbers[1] if len(entry.numbers) > 1 else 0)


def _table(values: Mapping[str, object], key: str) -> Mapping[str, object]:
    found = values.get(key)
    return found if isinstance(found, dict) else {}


def _text(values: Mapping[str, object], key: str) -> str:
    found = values.get(key)
    return found.strip() if isinstance(found, str) else ""
