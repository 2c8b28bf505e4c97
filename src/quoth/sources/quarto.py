"""A Quarto book or website: `_quarto.yml`, its chapters, and the addresses that Quarto gives.

In a book, the listed chapters and appendices are pages; in a website, every document that is not a part of another. The
names of parts are the sections above a page. Code is never run: the output of cells is not in the book.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from posixpath import normpath
from urllib.parse import quote

from quoth.domain import AnchorRule, Markup, Notice
from quoth.sources.bounds import Bounds, is_file
from quoth.sources.files import FrontMatter, walk
from quoth.sources.folder import Route
from quoth.sources.loading import Damaged, defaults_used, load_yaml
from quoth.sources.plain import label_of
from quoth.text.limits import MAX_DEPTH

_SUFFIXES = frozenset((".qmd", ".md", ".rmd"))
_CONFIGS = ("_quarto.yml", "_quarto.yaml")


@dataclass(frozen=True, slots=True)
class _Chapter:
    title: str = ""
    trail: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Quarto:
    root: Path
    bounds: Bounds
    config: Path
    title: str = ""
    site_url: str = ""
    output: str = ""
    is_book: bool = False
    language: str | None = None
    echo: bool = True  # whether code is shown
    chapters: Mapping[str, _Chapter] = field(default_factory=dict)
    variables: Mapping[str, object] = field(default_factory=dict)
    damage: str = ""


def find_quarto(path: Path, bounds: Bounds) -> _Quarto | None:
    """The project in this folder, or in one above it."""
    for folder in bounds.upwards(path):
        own = bounds.around(folder)
        config = own.first_file(folder, _CONFIGS)
        if config is not None:
            return _read(folder, config, own)
    return None


def _read(root: Path, config: Path, bounds: Bounds) -> _Quarto:
    """A configuration that cannot be read counts as empty, with a notice."""
    values, damage = _loaded(config, bounds)
    variables, _ = _loaded(root / "_variables.yml", bounds)
    project, book, website = (_table(values, name) for name in ("project", "book", "website"))
    chapters: dict[str, _Chapter] = {}
    for name in ("chapters", "appendices"):
        _read_chapters(book.get(name), (), chapters)
    execute = _table(values, "execute")
    return _Quarto(
        root=root,
        bounds=bounds,
        config=config,
        title=_text(book, "title") or _text(website, "title") or _text(values, "title"),
        site_url=_text(book, "site-url") or _text(website, "site-url"),
        output=_text(project, "output-dir").strip("./"),
        is_book=_text(project, "type") == "book" or bool(book),
        language=_text(values, "lang") or None,
        echo=execute.get("echo") is not False,
        chapters=chapters,
        variables=variables,
        damage=damage,
    )


def _loaded(path: Path, bounds: Bounds) -> tuple[dict[str, object], str]:
    try:
        loaded = load_yaml(bounds.config_text(path))
    except FileNotFoundError:
        return {}, ""
    except (OSError, Damaged) as error:
        return {}, defaults_used(path.name, error)
    return ({str(key): value for key, value in loaded.items()} if isinstance(loaded, dict) else {}), ""


def _read_chapters(items: object, trail: tuple[str, ...], chapters: dict[str, _Chapter]) -> None:
    for item in items if isinstance(items, list) and len(trail) < MAX_DEPTH else ():
        if isinstance(item, str):
            chapters.setdefault(normpath(item), _Chapter("", trail))
        elif isinstance(item, dict):
            file = _text(item, "file") or _text(item, "href")
            if file and "://" not in file:
                chapters.setdefault(normpath(file), _Chapter(_text(item, "text"), trail))
            part = _text(item, "part")
            if part and PurePosixPath(part).suffix.lower() in _SUFFIXES:
                chapters.setdefault(normpath(part), _Chapter("", trail))
                part = label_of(PurePosixPath(part).stem)
            _read_chapters(item.get("chapters"), (*trail, part) if part else trail, chapters)


class QuartoRules:
    toolchain = "quarto"
    anchors: AnchorRule = "pandoc"

    def __init__(self, book: _Quarto, read: Path, base_url: str) -> None:
        self._book = book
        self._read = read
        self._base = (base_url or book.site_url).rstrip("/")

    def paths(self) -> Iterable[Path]:
        output = self._book.root / (self._book.output or ("_book" if self._book.is_book else "_site"))
        return (path for path in walk(self._read, _SUFFIXES) if not path.is_relative_to(output))

    def skips(self, name: str, front: FrontMatter) -> str:
        path = PurePosixPath(name)
        if any(part.startswith("_") for part in path.parts):
            return "a part of other pages"
        if path.stem == "404":
            return "the page for addresses that do not exist"
        if self._book.is_book and self._book.chapters:
            return "" if name in self._book.chapters else "not in the chapters of _quarto.yml"
        if path.stem == "README":
            return "not published by Quarto"
        return "draft: true" if front.is_true("draft") else ""

    def route(self, name: str, front: FrontMatter) -> Route:
        path = PurePosixPath(name)
        folder = "".join(f"{part}/" for part in path.parts[:-1])
        home = path.stem == "index"
        chapter = self._book.chapters.get(name)
        trail = chapter.trail if chapter else tuple(label_of(part) for part in path.parts[:-1])
        url = f"{self._base}/{quote(folder)}" + ("" if home else f"{quote(path.stem)}.html")
        title = chapter.title if chapter else ""
        return Route(url, trail, label_of(path.stem), title=title, language=front.text("lang") or self._book.language)

    def markup(self, name: str) -> Markup:
        return "markdown"

    def contents(self) -> Iterator[Notice]:
        book = self._book
        if book.damage:
            yield Notice("CONFIG_UNREADABLE", book.damage, str(book.config), 1)
        for name in book.chapters if self._read == book.root else ():
            if not is_file(book.root / name):
                message = f"the chapters name {name}, which does not exist"
                yield Notice("PAGE_MISSING", message, str(book.config), 1)
            elif PurePosixPath(name).suffix.lower() not in _SUFFIXES:
                message = f"the chapter {name} is not read: only .qmd, .md and .Rmd files are"
                yield Notice("PAGE_SKIPPED", message, str(book.config), 1)


def _table(values: Mapping[str, object], key: str) -> Mapping[str, object]:
    found = values.get(key)
    return found if isinstance(found, dict) else {}


def _text(values: Mapping[str, object], key: str) -> str:
    found = values.get(key)
    return str(found).strip() if isinstance(found, (str, int, float)) and not isinstance(found, bool) else ""
