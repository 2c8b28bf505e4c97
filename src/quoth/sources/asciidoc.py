"""A folder of AsciiDoc that Asciidoctor publishes: which documents are pages, and where.

A document that another one includes is a part of it and no page; so a book with a master document is one page, with
everything it includes in its place. Files whose name begins with an underscore are parts too. A document becomes
`name.html` beside its source. Other files of the folder are not published.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import quote

from quoth.domain import AnchorRule, Markup
from quoth.errors import Unreadable
from quoth.sources.asciidoc_includes import AsciidocIncludes
from quoth.sources.bounds import Bounds
from quoth.sources.files import FrontMatter, decode, walk
from quoth.sources.folder import Route
from quoth.sources.includes import Expanded, Expands
from quoth.sources.plain import is_source_host, label_of

ASCIIDOC = frozenset((".adoc", ".asciidoc", ".asc"))
_OTHERS = frozenset((".md", ".mdx", ".markdown", ".rst", ".html", ".htm", ".ipynb", ".qmd", ".tex", ".org"))


class AsciidocRules:
    toolchain = "asciidoc"
    anchors: AnchorRule = "html"

    def __init__(self, root: Path, bounds: Bounds, base_url: str) -> None:
        self._root = root
        self._bounds = bounds
        self._base = base_url.rstrip("/")

    def paths(self) -> Iterable[Path]:
        return documents(list(walk(self._root, ASCIIDOC)), self._bounds)

    def skips(self, name: str, front: FrontMatter) -> str:
        return ""

    def route(self, name: str, front: FrontMatter) -> Route:
        return asciidoc_route(name, self._base)

    def markup(self, name: str) -> Markup:
        return "asciidoc"


def asciidoc_route(name: str, base: str) -> Route:
    *folders, file = name.split("/")
    stem = file.rsplit(".", 1)[0]
    trail = tuple(label_of(folder) for folder in folders)
    if not base or is_source_host(base):
        return Route(f"{base}/{quote(name)}" if base else quote(name), trail, label_of(stem))
    return Route(f"{base}/{quote('/'.join([*folders, f'{stem}.html']))}", trail, label_of(stem))


def documents(paths: Sequence[Path], bounds: Bounds) -> list[Path]:
    """Those that are published by themselves. A file that cannot be read is one, so that the reason is told."""
    includes = AsciidocIncludes(bounds)
    for path in paths:
        try:
            includes.expand(decode(bounds.page_bytes(path, path.name), path.name), path, path.name)
        except Unreadable:
            continue  # reported when the page is read
    return [
        path for path in paths if Path(os.path.realpath(path)) not in includes.opened and not path.name.startswith("_")
    ]


def is_asciidoc_book(root: Path) -> bool:
    """Whether most of the text in the folder is AsciiDoc."""
    sizes = {True: 0, False: 0}
    for path in walk(root, ASCIIDOC | _OTHERS):
        sizes[path.suffix.lower() in ASCIIDOC] += path.stat().st_size
    return sizes[True] > sizes[False]


class BySuffix:
    """Expands AsciiDoc by its rules, and all other files by those of another dialect."""

    def __init__(self, asciidoc: AsciidocIncludes, others: Expands) -> None:
        self._asciidoc = asciidoc
        self._others = others

    @property
    def opened(self) -> set[Path]:
        return self._asciidoc.opened | self._others.opened

    def expand(self, text: str, path: Path, source_file: str, start: int = 0) -> Expanded:
        chosen = self._asciidoc if path.suffix.lower() in ASCIIDOC else self._others
        return chosen.expand(text, path, source_file, start)
