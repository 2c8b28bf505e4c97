"""A folder of Markdown, reStructuredText, AsciiDoc, HTML, notebooks, text or documents that no known toolchain
publishes, or one such file.

Without a base URL, the URL of a page is the path of its file, so that a citation opens it in an editor or a repository.
With one, it is what plain Markdown sites serve: the path without its extension, index and README pages as their folder.
Below a source host (`/blob/`, `/tree/`, `/raw/`, `/src/` in the base URL) files keep their extension, as they do there;
HTML pages, notebooks and documents keep it everywhere. AsciiDoc and Quarto become `.html`, as their tools build them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

from quoth.domain import AnchorRule, Markup
from quoth.sources.files import FrontMatter, walk
from quoth.sources.folder import Route
from quoth.sources.formats import ASCIIDOC, CONVERTED, HTML, QUARTO

SUFFIXES = frozenset((".md", ".mdx", ".markdown", ".rst", ".rest", ".txt")) | ASCIIDOC | QUARTO | CONVERTED
# Folders whose HTML is built, or is a part of other pages.
_NO_HTML = frozenset(
    """
    _build _site _static _templates _includes _layouts _partials _book public dist layouts archetypes overrides
    """.split()  # noqa: SIM905 - as in quoth.text.terms
)
_NO_PAGES = frozenset(("_sources",))  # what Sphinx puts beside its HTML, for readers who want the source
_FOR_MACHINES = frozenset(
    """
    robots.txt humans.txt ads.txt security.txt llms.txt llms-full.txt cmakelists.txt 404.html search.html genindex.html
    _sidebar.md _navbar.md _footer.md _coverpage.md
    """.split()  # noqa: SIM905 - as in quoth.text.terms
)
_PACKAGES = re.compile(r"(?:requirements|constraints)[\w.-]*\.txt$", re.I)
_SOURCE_HOST = re.compile(r"/(?:blob|tree|raw|src)(?:/|$)")


class PlainRules:
    anchors: AnchorRule = "github"

    def __init__(
        self,
        root: Path,
        base_url: str,
        *,
        toolchain: str = "plain",
        suffixes: frozenset[str] = SUFFIXES,
        only: Path | None = None,
        published: Callable[[Sequence[Path]], Sequence[Path]] = lambda paths: paths,
    ) -> None:
        """`only` is the one file that was given instead of a folder; `published` leaves out parts of other pages."""
        self.toolchain = toolchain
        self._root = root
        self._base = base_url.rstrip("/")
        self._suffixes = suffixes
        self._only = only
        self._published = published

    def paths(self) -> Iterable[Path]:
        return [self._only] if self._only else self._published(list(self._found()))

    def _found(self) -> Iterator[Path]:
        for path in walk(self._root, self._suffixes):
            if _may_be_page(path, path.relative_to(self._root).parts):
                yield path

    def skips(self, name: str, front: FrontMatter) -> str:
        return "draft: true" if front.is_true("draft") else ""

    def route(self, name: str, front: FrontMatter) -> Route:
        *folders, file = name.split("/")
        stem = file.rsplit(".", 1)[0]
        trail = tuple(label_of(folder) for folder in folders)
        if not self._base:
            return Route(quote(name), trail, label_of(stem))
        if is_source_host(self._base):
            return Route(f"{self._base}/{quote(name)}", trail, label_of(stem))
        ending = f".{file.rsplit('.', 1)[-1].lower()}"
        if ending in ASCIIDOC | QUARTO:
            return Route(f"{self._base}/{quote('/'.join([*folders, f'{stem}.html']))}", trail, label_of(stem))
        home = stem.lower() in ("index", "readme")
        kept = file if ending in CONVERTED else stem
        path = "/".join([*folders, "" if home else kept])
        return Route(f"{self._base}/{quote(path)}", trail, label_of(stem))

    def markup(self, name: str) -> Markup:
        suffix = name.rsplit(".", 1)[-1].lower()
        if f".{suffix}" in ASCIIDOC:
            return "asciidoc"
        if suffix in ("rst", "rest"):
            return "rst"
        return "mdx" if suffix == "mdx" else "text" if suffix == "txt" else "markdown"


def is_source_host(url: str) -> bool:
    """Whether files keep their extensions there, as in a repository."""
    return _SOURCE_HOST.search(url) is not None


def _may_be_page(path: Path, parts: tuple[str, ...]) -> bool:
    name = parts[-1].lower()
    if name in _FOR_MACHINES or _PACKAGES.match(name) or not _NO_PAGES.isdisjoint(parts):
        return False
    return path.suffix.lower() not in HTML or _NO_HTML.isdisjoint(parts[:-1])


def label_of(name: str) -> str:
    """A file or folder name as a reader would say it: `02-quick_start` is "quick start"."""
    bare = re.sub(r"^\d+\s*[-_.]+\s*(?=[^-_.\s\d])", "", name)
    return re.sub(r"[-_\s]+", " ", bare).strip() or name
