"""A GitBook: a SUMMARY.md with or without `.gitbook.yaml`, or with the `book.json` of HonKit and the older tool.

gitbook.com publishes a page at its path without `.md` and a README as its folder; the older tool and HonKit build
`.html` files. Only pages that the summary names are published, and the README that the configuration names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

from quoth.domain import AnchorRule, Markup, Notice
from quoth.sources.bounds import Bounds
from quoth.sources.files import FrontMatter, walk
from quoth.sources.folder import Route
from quoth.sources.front_matter import Place
from quoth.sources.loading import Damaged, load_json, load_yaml
from quoth.sources.mdbook import SummaryItem, by_target, read_summary, unwritten
from quoth.sources.plain import label_of

_SUFFIXES = frozenset((".md", ".markdown"))
_CONFIGS = (".gitbook.yaml", ".gitbook.yml", "book.json")


@dataclass(frozen=True, slots=True)
class _GitBook:
    root: Path
    bounds: Bounds
    said: str = "."  # the folder of the pages, as written
    docs: Path = Path()  # where that really is
    readme: str = "README.md"
    summary: str = "SUMMARY.md"
    title: str = ""
    language: str | None = None
    html: bool = False  # built by the command line tool
    damage: str = ""
    config: str = ""


def find_gitbook(path: Path, bounds: Bounds) -> _GitBook | None:
    """The book in this folder, or in one above whose pages it is part of."""
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
            damage = f"{config} cannot be read: {error}. Defaults are used until it is fixed"
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
        html=config == "book.json",
        damage=damage,
        config=config,
    )


class GitBookRules:
    toolchain = "gitbook"

    def __init__(self, book: _GitBook, read: Path, base_url: str) -> None:
        self._book = book
        self._read = read
        self._base = base_url.rstrip("/")
        self._summary: list[SummaryItem] = []
        self._items: dict[str, SummaryItem] = {}

    @property
    def anchors(self) -> AnchorRule:
        return "honkit" if self._book.html else "github"

    def paths(self) -> Iterable[Path]:
        self._summary = read_summary(self._book.docs / self._book.summary, self._book.bounds)
        self._items = by_target(self._summary)
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
        if stem.lower() == "readme" or name == self._book.readme:
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
        yield from unwritten(self._summary, self._book.docs / self._book.summary, self._read)


def _text(values: Mapping[str, object], key: str) -> str:
    found = values.get(key)
    return found.strip() if isinstance(found, str) else ""
