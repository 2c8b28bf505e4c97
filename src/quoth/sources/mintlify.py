"""A Mintlify book: `docs.json` (or the older `mint.json`), its navigation, and the addresses that Mintlify gives.

Every MDX or Markdown file is a page, in the navigation or not, unless it is a snippet or `.mintignore` names it. The
navigation gives the sections above a page, its language and its version. Pages that Mintlify makes from an OpenAPI file
have no text of their own here, and a notice says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from quoth.domain import AnchorRule, Markup, Notice
from quoth.sources.bounds import Bounds, is_file
from quoth.sources.files import FrontMatter, walk
from quoth.sources.folder import Route
from quoth.sources.loading import Damaged, defaults_used, load_json
from quoth.sources.mkdocs import IgnorePatterns
from quoth.sources.plain import label_of
from quoth.text.limits import MAX_DEPTH

_SUFFIXES = frozenset((".md", ".mdx"))
_CONFIGS = ("docs.json", "mint.json")
_IGNORED = "README.md\nLICENSE.md\nCHANGELOG.md\nCONTRIBUTING.md\n"
_TITLES = ("tab", "anchor", "dropdown", "product", "item", "group")


@dataclass(frozen=True, slots=True)
class _Place:
    trail: tuple[str, ...] = ()
    language: str | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True)
class _Mintlify:
    root: Path
    bounds: Bounds
    config: Path
    title: str = ""
    places: Mapping[str, _Place] = field(default_factory=dict)  # by the path of the page
    made: int = 0  # API files that pages are made from
    ignored: str = ""
    damage: str = ""


def find_mintlify(path: Path, bounds: Bounds) -> _Mintlify | None:
    """The book in this folder, or in one above it. Other tools have a `docs.json` too: only one with a navigation is
    Mintlify's."""
    for folder in bounds.upwards(path):
        own = bounds.around(folder)
        config = own.first_file(folder, _CONFIGS)
        if config is not None:
            return _read(folder, config, own)
    return None


def _read(root: Path, config: Path, bounds: Bounds) -> _Mintlify | None:
    try:
        text = bounds.config_text(config)
    except (OSError, Damaged) as error:
        return (
            _Mintlify(root, bounds, config, damage=defaults_used(config.name, error))
            if config.name == "mint.json"
            else None
        )
    try:
        loaded = load_json(text)
    except Damaged as error:
        named = "navigation" in text and ("mintlify" in text or config.name == "mint.json")
        return _Mintlify(root, bounds, config, damage=defaults_used(config.name, error)) if named else None
    if not isinstance(loaded, dict) or "navigation" not in loaded:
        return None
    reader = _Navigation()
    reader.read(loaded["navigation"], _Place(), 0)
    return _Mintlify(
        root=root,
        bounds=bounds,
        config=config,
        title=_text(loaded, "name"),
        places=reader.places,
        made=reader.made,
        ignored=_IGNORED + _ignored(root, bounds),
    )


def _ignored(root: Path, bounds: Bounds) -> str:
    try:
        return bounds.config_text(root / ".mintignore", "replace")
    except (OSError, Damaged):
        return ""


class _Navigation:
    """Tabs, anchors, dropdowns, versions, languages and groups, nested in any order."""

    def __init__(self) -> None:
        self.places: dict[str, _Place] = {}
        self.made = 0

    def read(self, items: object, above: _Place, depth: int) -> None:
        if depth > MAX_DEPTH:
            return
        if isinstance(items, str):
            if " " not in items and "://" not in items:  # `GET /users` is made from an OpenAPI file
                self.places.setdefault(items.strip("/").removesuffix(".mdx").removesuffix(".md"), above)
        elif isinstance(items, list):
            for item in items:
                self.read(item, above, depth + 1)
        elif isinstance(items, dict):
            self.made += "openapi" in items or "asyncapi" in items
            title = next((_text(items, name) for name in _TITLES if _text(items, name)), "")
            below = _Place(
                (*above.trail, title) if title else above.trail,
                _text(items, "language") or above.language,
                _text(items, "version") or above.version,
            )
            for name in (
                "root",
                "pages",
                "groups",
                "tabs",
                "anchors",
                "dropdowns",
                "products",
                "versions",
                "languages",
            ):
                self.read(items.get(name), below, depth + 1)
            self.read(items.get("menu"), below, depth + 1)


class MintlifyRules:
    toolchain = "mintlify"
    anchors: AnchorRule = "mintlify"

    def __init__(self, book: _Mintlify, read: Path, base_url: str) -> None:
        self._book = book
        self._read = read
        self._base = base_url.rstrip("/")
        self._ignored = IgnorePatterns(book.ignored)
        self._empty = 0

    def paths(self) -> Iterable[Path]:
        self._empty = 0
        return walk(self._read, _SUFFIXES)

    def skips(self, name: str, front: FrontMatter) -> str:
        if name.startswith(("snippets/", "_snippets/")) or "/snippets/" in name:
            return "a snippet, not a page"
        if self._ignored.match(name):
            return "excluded by .mintignore" if name.rsplit("/", 1)[-1] not in _IGNORED else "not published by Mintlify"
        self._empty += bool(front.text("openapi"))
        return ""

    def route(self, name: str, front: FrontMatter) -> Route:
        path = PurePosixPath(name).with_suffix("").as_posix()
        place = self._book.places.get(path)
        slug = "" if path == "index" else path.removesuffix("/index")
        stem = path.rsplit("/", 1)[-1]
        trail = place.trail if place else tuple(label_of(folder) for folder in path.split("/")[:-1])
        own = front.text("sidebarTitle") or label_of(stem)
        language, version = (place.language, place.version) if place else (None, None)
        return Route(f"{self._base}/{quote(slug)}", trail, own, language=language, version=version)

    def markup(self, name: str) -> Markup:
        return "mdx"

    def contents(self) -> Iterator[Notice]:
        book = self._book
        config = str(book.config)
        if book.damage:
            yield Notice("CONFIG_UNREADABLE", book.damage, config, 1)
        if self._empty or book.made:
            yield Notice(
                "API_NOT_MADE",
                "pages that Mintlify makes from an OpenAPI file are read with only the text in their own files",
                config,
                1,
            )
        if self._read != book.root:
            return
        for name in book.places:
            if name and not any(is_file(book.root / f"{name}{suffix}") for suffix in _SUFFIXES):
                message = f"the navigation names {name}, which does not exist"
                yield Notice("PAGE_MISSING", message, config, 1)


def _text(values: Mapping[str, object], key: str) -> str:
    found = values.get(key)
    return found.strip() if isinstance(found, str) else ""
