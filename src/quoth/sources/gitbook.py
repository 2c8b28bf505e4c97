"""A GitBook: a SUMMARY.md with or without `.gitbook.yaml`, or with the `book.json` of HonKit and the older tool.

gitbook.com publishes a page below its parents in the summary, under the name of its file: `types/generics.md` under
`types/type-system.md` is `type-system/generics`. The older tool and HonKit build `.html` files at the paths of the
pages. A `book.json` is taken as a sign of that only if the project still uses one of them, because many have moved away
and kept the file. Only pages that the summary names are published, and the README that the configuration names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

from quoth.domain import AnchorRule, Markup, Notice
from quoth.sources.bounds import Bounds
from quoth.sources.files import FrontMatter, walk
from quoth.sources.folder import Route
from quoth.sources.front_matter import Place
from quoth.sources.loading import Damaged, defaults_used, load_json, load_yaml
from quoth.sources.mdbook import SummaryItem, by_target, read_summary, unwritten
from quoth.sources.plain import label_of

_SUFFIXES = frozenset((".md", ".markdown"))
_CONFIGS = (".gitbook.yaml", ".gitbook.yml", "book.json")
_TOOL = re.compile(r"\b(?:honkit|gitbook(?:-cli)?)\b")
_NOT_IN_SLUG = re.compile(r"[^a-z0-9._]+")


@dataclass(frozen=True, slots=True)
class _GitBook:
    root: Path
    bounds: Bounds
    said: str = "."  # the folder of the pages, as written
    docs: Path = Path()  # its real path
    readme: str = "README.md"
    summary: str = "SUMMARY.md"
    title: str = ""
    language: str | None = None
    html: bool = False  # built by the command line tool
    stale: bool = False  # the configuration of that tool is there, but nothing uses it
    damage: str = ""
    config: str = ""


def find_gitbook(path: Path, bounds: Bounds) -> _GitBook | None:
    """The book in this folder, or in one above it whose pages include it."""
    for folder in bounds.upwards(path):
        own = bounds.around(folder)
        config = next((name for name in _CONFIGS if own.is_file(folder / name)), "")
        if config == "book.json" and not _has_summary(folder, own):
            config = ""
        if config or own.is_file(folder / "SUMMARY.md"):
            book = _read_gitbook(folder, config, own)
            docs = own.published(folder, book.said, path)
            return replace(book, docs=docs) if docs is not None else None
        if (folder / ".git").exists():
            break  # a summary above the repository belongs to another book
    return None


def _has_summary(folder: Path, bounds: Bounds) -> bool:
    book = _read_gitbook(folder, "book.json", bounds)
    return bounds.is_file(folder / book.said / book.summary)


def _read_gitbook(root: Path, config: str, bounds: Bounds) -> _GitBook:
    """A configuration that cannot be read counts as empty, with a notice."""
    loaded: object = {}
    damage = ""
    if config:
        try:
            text = bounds.config_text(root / config)
            loaded = load_json(text) if config.endswith("json") else load_yaml(text)
        except (OSError, Damaged) as error:
            damage = defaults_used(config, error)
    values: Mapping[str, object] = loaded if isinstance(loaded, dict) else {}
    structure = values.get("structure")
    named: Mapping[str, object] = structure if isinstance(structure, dict) else {}
    return _GitBook(
        root=root,
        bounds=bounds,
        said=_text(values, "root") or ".",
        readme=_text(named, "readme").removeprefix("./") or "README.md",
        summary=_text(named, "summary").removeprefix("./") or "SUMMARY.md",
        title=_text(values, "title"),
        language=_text(values, "language") or None,
        html=config == "book.json" and _uses_the_tool(root, bounds),
        stale=config == "book.json" and not _uses_the_tool(root, bounds),
        damage=damage,
        config=config,
    )


def _uses_the_tool(root: Path, bounds: Bounds) -> bool:
    """Whether the project is built by HonKit or the older tool."""
    if (root / "_book").is_dir() or (root / "node_modules" / "honkit").is_dir():
        return True
    try:
        return bool(_TOOL.search(bounds.config_text(root / "package.json", "replace")))
    except (OSError, Damaged):
        return False


class GitBookRules:
    toolchain = "gitbook"

    def __init__(self, book: _GitBook, read: Path, base_url: str, style: str = "") -> None:
        self._book = replace(book, html=True, stale=False) if style == "html" else book
        self._read = read
        self._base = base_url.rstrip("/")
        self._summary: list[SummaryItem] = []
        self._items: dict[str, SummaryItem] = {}
        self._paths: dict[str, str] = {}

    @property
    def anchors(self) -> AnchorRule:
        return "honkit" if self._book.html else "github"

    def paths(self) -> Iterable[Path]:
        self._summary = read_summary(self._book.docs / self._book.summary, self._book.bounds)
        self._items = by_target(self._summary)
        self._paths = {} if self._book.html else _hierarchy(self._summary, self._book.readme)
        summary = self._book.docs / self._book.summary
        return (path for path in walk(self._read, _SUFFIXES) if path != summary)

    def skips(self, name: str, front: FrontMatter) -> str:
        if front.is_true("hidden"):
            return "hidden: true"
        listed = not self._items or name in self._items or name == self._book.readme
        return "" if listed else f"not in {self._book.summary}"

    def route(self, name: str, front: FrontMatter) -> Route:
        *folders, file = name.split("/")
        stem = file.rsplit(".", 1)[0]
        if name in self._paths:
            path = self._paths[name]
        elif stem.lower() == "readme" or name == self._book.readme:
            path = "".join(f"{folder}/" for folder in folders) if self._book.html else "/".join(folders)
        else:
            path = "/".join([*folders, stem]) + (".html" if self._book.html else "")
        item = self._items.get(name)
        trail = item.trail if item else tuple(label_of(folder) for folder in folders)
        url = f"{self._base}/{quote(path)}" if path or not self._base else f"{self._base}/"
        return Route(
            url,
            trail,
            label_of(stem),
            title=item.title if item else "",
            place=Place() if self._items else None,
            language=self._book.language,
        )

    def markup(self, name: str) -> Markup:
        return "markdown"

    def contents(self) -> Iterator[Notice]:
        if self._book.damage:
            yield Notice("CONFIG_UNREADABLE", self._book.damage, str(self._book.root / self._book.config), 1)
        if self._book.stale:
            message = (
                "book.json belongs to the older tool, which nothing in the project uses; the addresses are those of"
                " gitbook.com. If the book is built into .html files, pass --url-style html"
            )
            yield Notice("BOOK_JSON_STALE", message, str(self._book.root / self._book.config), 1)
        yield from unwritten(self._summary, self._book.docs / self._book.summary, self._read)


def _hierarchy(summary: Sequence[SummaryItem], readme: str) -> dict[str, str]:
    """The path of each page: the path of its parent in the summary, or of its group, and the name of its file. If two
    pages would have the same path, the later one gets a number."""
    paths: dict[str, str] = {}
    by_title: dict[tuple[str, ...], str] = {}  # title with those above it → path; the last one of that name
    taken: set[str] = set()
    for item in summary:
        if item.outside or item.target == readme:
            paths.setdefault(item.target, "")
            continue
        path = paths.get(item.target)
        if path is None:
            path = _free(_path_of(item, by_title.get(item.trail)), taken)
        taken.add(path)
        by_title[(*item.trail, item.title)] = path
        if item.target:
            paths[item.target] = path
    return paths


def _path_of(item: SummaryItem, above: str | None) -> str:
    """`above` is the path of the page above it, if there is one."""
    group = _slug(item.trail[0]) if above is None and item.trail else ""
    *folders, file = item.target.split("/") if item.target else [item.title]
    stem = file.rsplit(".", 1)[0] if item.target else file
    is_readme = stem.lower() == "readme"
    own = _slug(folders[-1] if is_readme and folders else stem)
    if group and folders and _slug(folders[0]) == group:
        return "/".join([*map(_slug, folders), *([] if is_readme else [own])])
    return "/".join(filter(None, (above or group, own)))


def _free(path: str, taken: set[str]) -> str:
    number = 0
    while (one := f"{path}-{number}" if number else path) in taken:
        number += 1
    return one


def _slug(words: str) -> str:
    return _NOT_IN_SLUG.sub("-", words.lower()).strip("-")


def _text(values: Mapping[str, object], key: str) -> str:
    found = values.get(key)
    return found.strip() if isinstance(found, str) else ""
