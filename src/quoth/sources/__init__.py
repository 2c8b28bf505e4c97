"""A folder of files, or a published site → Pages: the first step of an ingest.

`open_source` recognises which toolchain publishes the folder; each toolchain has a module that knows its URL and anchor
rules and which files are pages. Reading streams: a source never holds more than one page. It knows nothing of chunks,
tokens or indexes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from quoth.domain import Book, Coverage, Notice, Page, SourceFile
from quoth.errors import Unreadable
from quoth.sources.antora import AntoraRules, site_of
from quoth.sources.antora_project import find_antora
from quoth.sources.asciidoc_includes import AsciidocIncludes
from quoth.sources.book_file import read_book_file
from quoth.sources.bounds import Bounds, bounds_of, bounds_of_file, is_file
from quoth.sources.directives import gitbook_includes, mdbook_includes, mdx_partials
from quoth.sources.docusaurus import DocusaurusRules, find_site, has_categories
from quoth.sources.docusaurus_config import Site
from quoth.sources.files import existing_folder, folders
from quoth.sources.folder import FolderSource, Rules
from quoth.sources.formats import Documents
from quoth.sources.gitbook import GitBookRules, find_gitbook
from quoth.sources.hugo import HugoRules, find_hugo
from quoth.sources.includes import Expands, Includes
from quoth.sources.jekyll import JekyllRules, find_jekyll
from quoth.sources.loose import loose_file, loose_folder
from quoth.sources.mdbook import MdBookRules, find_mdbook
from quoth.sources.mdx_components import mintlify_includes, starlight_includes
from quoth.sources.mintlify import MintlifyRules, find_mintlify
from quoth.sources.mkdocs import MkDocsRules, find_mkdocs
from quoth.sources.plain import label_of
from quoth.sources.quarto import QuartoRules, find_quarto
from quoth.sources.quarto_cells import QuartoMarks
from quoth.sources.rst_includes import sphinx_includes
from quoth.sources.sphinx import SphinxRules
from quoth.sources.sphinx_conf import find_jupyter_book, find_sphinx
from quoth.sources.starlight import StarlightRules, find_starlight
from quoth.sources.urls import is_url
from quoth.sources.visitor import CrawlOptions, Web
from quoth.sources.vitepress import VitePressRules, find_vitepress
from quoth.sources.vitepress_includes import vitepress_includes

__all__ = ["BookSource", "CrawlOptions", "Documents", "Web", "is_url", "open_source"]


_LANGUAGES = ("docs",)  # folders with a project for each language


class BookSource(Protocol):
    """A book as a list of files. Each call of `files` looks at the disk again; `read` turns one file into a page."""

    @property
    def toolchain(self) -> str: ...

    @property
    def book(self) -> Book: ...

    @property
    def skipped(self) -> list[Notice]:
        """Files that look like pages but are not: drafts, unlisted pages, partials."""

    @property
    def notices(self) -> list[Notice]:
        """Notices about the book as a whole."""

    @property
    def coverage(self) -> Coverage:
        """Which toolchain was recognised, and how much of the book's text the pages hold. Known after `files`."""

    def files(self) -> list[SourceFile]:
        """Sorted by source file. Raises `Unreadable` when there is no page at all."""

    def read(self, file: SourceFile) -> Page:
        """Raises `Unreadable`, with the file and the reason, when this page cannot be read."""

    def close(self) -> None:
        """Stop any work in progress, in any thread. The source cannot be used afterwards."""


def open_source(
    path: str | Path,
    *,
    book_id: str,
    base_url: str = "",
    title: str = "",
    documents: Documents | None = None,
    web: Web | None = None,
    roots: Sequence[Path] = (),
    url_style: str = "",
    project: Path | None = None,
) -> BookSource:
    """Recognise the toolchain of a folder, take a single file, or crawl a published site if `web` allows it.
    Raises `Unreadable` when it is none of these, or may not be read. `documents` converts PDF, EPUB and DOCX in a
    folder that no toolchain publishes. If the folder is in one of the `roots`, nothing outside that root is read, and
    never more than `bounds` allows. Pages may include files of `project`, or else of the checkout around the book.
    `url_style` overrides the one in the book's own file."""
    if is_url(str(path)):
        if web is None:
            raise Unreadable(f"{path} is a site, and sites are not read here.", hint="Give the folder of the book.")
        from quoth.sources.site import SitemapSource

        return SitemapSource(str(path), web, book_id=book_id, base_url=base_url, title=title)
    given = Path(path).expanduser()
    if is_file(given):
        named = _Named(given.resolve(), bounds_of_file(given, roots), book_id, title, base_url, str(path))
        return loose_file(named.root, named.bounds, named.book, base_url, documents)
    root = existing_folder(Path(path))
    bounds = bounds_of(Path(path).expanduser(), roots, project)
    file = read_book_file(root, bounds)
    base_url, title, style = base_url or file.base_url, title or file.title, url_style or file.url_style
    named = _Named(root, bounds, book_id, title, base_url, str(path), url_style, style)
    source = _opened(root, named, documents)
    source.follow(file, style)
    return source


def _opened(root: Path, named: _Named, documents: Documents | None) -> FolderSource:
    found = _recognised(root, named)
    if found is None and not _has_pages(root):
        inside = [source for folder in folders(root) if (source := _recognised(folder, named))]
        found = inside[0] if len(inside) == 1 else None
        found = found or _of_languages(root, named)
    if found is not None:
        return found
    return loose_folder(root, named.bounds, named.book, named.base_url, documents)


def _recognised(folder: Path, named: _Named) -> FolderSource | None:
    bounds = named.bounds
    site = find_site(folder, bounds)
    if site is not None:
        return _docusaurus(folder, site, named)
    for toolchain in _TOOLCHAINS:
        if found := toolchain.open(folder, named):
            return found
    categories = has_categories(folder, bounds) or has_categories(folder / "docs", bounds)
    return _docusaurus(folder, None, named) if categories else None


def _of_languages(root: Path, named: _Named) -> FolderSource | None:
    """The English project, or the only one, where each language has its own, as in `docs/en`. A notice names the
    others."""
    inside = {folder.name: folder for parent in _LANGUAGES for folder in folders(root / parent)}
    found = {name: source for name, folder in inside.items() if (source := _recognised(folder, named))}
    chosen = found.get("en") or next(iter(found.values()), None)
    if chosen is None or (len(found) > 1 and "en" not in found):
        return None
    others = [inside[name].relative_to(root).as_posix() for name, source in found.items() if source is not chosen]
    if others:
        listed = ", ".join(others[:5]) + (f" and {len(others) - 5} more" if len(others) > 5 else "")
        message = f"the project has more books: {listed}; to ingest one of them, give its folder"
        chosen.tell(Notice("FURTHER_DOCS", message, "."))
    return chosen


def _has_pages(root: Path) -> bool:
    """Whether the folder has pages of its own, other than what every repository has (README, LICENSE, …)."""
    return any(
        path.suffix in (".md", ".mdx", ".rst", ".html", ".ipynb") and not path.stem.isupper() for path in root.iterdir()
    )


@dataclass(frozen=True, slots=True)
class _Named:
    """What the user said about the book. The paths of source files start at `root`, wherever the project is found."""

    root: Path
    bounds: Bounds
    book_id: str
    title: str
    base_url: str
    source: str
    url_style: str = ""  # the user's
    style: str = ""  # the user's, or else that of the book's own file

    def book(self, toolchain: str, title: str = "", published: str = "") -> Book:
        name = self.title or title or label_of(self.root.stem if self.root.is_file() else self.root.name)
        return Book(self.book_id, name, self.base_url or published, self.source, toolchain, self.url_style)


def _part(folder: Path, docs: Path) -> Path:
    """The folder to read: all the docs, or the part of them that the user gave."""
    return folder if folder.is_relative_to(docs) else docs


def _docusaurus(folder: Path, site: Site | None, named: _Named) -> FolderSource:
    project = site.root if site else folder
    bounds = site.bounds if site else named.bounds
    docs = site.pages if site else folder if has_categories(folder, bounds) else (folder / "docs").resolve()
    rules = DocusaurusRules(docs, _part(folder, docs), site, bounds, named.base_url)
    published = f"{site.url.rstrip('/')}{site.base_path}" if site and site.url else ""
    book = named.book("docusaurus", site.title if site else "", published)
    includes = Includes(bounds, mdx_partials(project))
    return FolderSource(named.root, bounds, book, rules, docs, includes, rules.contents)


class _Project(Protocol):
    """What the configuration of a project says, as its module has read it."""

    @property
    def bounds(self) -> Bounds: ...

    @property
    def title(self) -> str: ...


class _RulesWithNotices(Rules, Protocol):
    def contents(self) -> Iterable[Notice]:
        """Notices about the table of contents and the configuration."""


_Found = TypeVar("_Found", bound=_Project)
_Made = TypeVar("_Made", bound=_RulesWithNotices)


@dataclass(frozen=True, slots=True)
class _Toolchain(Generic[_Found, _Made]):
    """How the project of one toolchain is found and read."""

    name: str
    find: Callable[[Path, Bounds], _Found | None]
    docs: Callable[[_Found], Path]  # the folder that is published
    rules: Callable[[_Found, Path, _Named], _Made]  # for the folder that is read
    includes: Callable[[_Found, _Made], Expands]
    published: Callable[[_Found, _Made], str] = lambda found, rules: ""

    def open(self, folder: Path, named: _Named) -> FolderSource | None:
        found = self.find(folder, named.bounds)
        if found is None:
            return None
        docs = self.docs(found)
        rules = self.rules(found, _part(folder, docs), named)
        book = named.book(self.name, found.title, self.published(found, rules))
        includes = self.includes(found, rules)
        return FolderSource(named.root, found.bounds, book, rules, docs, includes, rules.contents)


# In the order in which they are tried.
_TOOLCHAINS: tuple[_Toolchain[Any, Any], ...] = (
    _Toolchain(
        "mdbook",
        find_mdbook,
        lambda found: found.src,
        lambda found, read, named: MdBookRules(found, read, named.base_url),
        lambda found, rules: Includes(found.bounds, mdbook_includes),
        lambda found, rules: found.site_url if "://" in found.site_url else "",
    ),
    _Toolchain(
        "mkdocs",
        find_mkdocs,
        lambda found: found.docs,
        lambda found, read, named: MkDocsRules(found, read, named.base_url),
        lambda found, rules: Includes(found.bounds, rules.includes()),
        lambda found, rules: found.site_url,
    ),
    _Toolchain(
        "sphinx",
        lambda folder, bounds: find_sphinx(folder, bounds) or find_jupyter_book(folder, bounds),
        lambda found: found.source,
        lambda found, read, named: SphinxRules(found, read, named.base_url),
        lambda found, rules: Includes(found.bounds, sphinx_includes(found.source)),
        lambda found, rules: found.base_url,
    ),
    _Toolchain(
        "vitepress",
        find_vitepress,
        lambda found: found.docs,
        lambda found, read, named: VitePressRules(found, read, named.base_url),
        lambda found, rules: Includes(found.bounds, vitepress_includes(found.docs)),
        lambda found, rules: rules.published,
    ),
    _Toolchain(
        "starlight",
        find_starlight,
        lambda found: found.docs,
        lambda found, read, named: StarlightRules(found, read, named.base_url),
        lambda found, rules: Includes(found.bounds, starlight_includes(found.root)),
        lambda found, rules: rules.published,
    ),
    _Toolchain(
        "hugo",
        find_hugo,
        lambda found: found.root,
        lambda found, read, named: HugoRules(found, read, named.base_url),
        lambda found, rules: Includes(found.bounds, rules.shortcodes),
        lambda found, rules: found.base_url,
    ),
    _Toolchain(
        "gitbook",
        find_gitbook,
        lambda found: found.docs,
        lambda found, read, named: GitBookRules(found, read, named.base_url, named.style),
        lambda found, rules: Includes(found.bounds, gitbook_includes),
    ),
    _Toolchain(
        "quarto",
        find_quarto,
        lambda found: found.root,
        lambda found, read, named: QuartoRules(found, read, named.base_url),
        lambda found, rules: Includes(found.bounds, QuartoMarks(found.echo, found.variables)),
        lambda found, rules: found.site_url,
    ),
    _Toolchain(
        "antora",
        find_antora,
        lambda found: found.root,
        lambda found, read, named: AntoraRules(found, read, named.base_url),
        lambda found, rules: AsciidocIncludes(found.bounds, site_of(found)),
        lambda found, rules: found.site_url,
    ),
    _Toolchain(
        "jekyll",
        find_jekyll,
        lambda found: found.root,
        lambda found, read, named: JekyllRules(found, read, named.base_url),
        lambda found, rules: Includes(found.bounds, rules.liquid),
        lambda found, rules: found.published,
    ),
    _Toolchain(
        "mintlify",
        find_mintlify,
        lambda found: found.root,
        lambda found, read, named: MintlifyRules(found, read, named.base_url),
        lambda found, rules: Includes(found.bounds, mintlify_includes(found.root)),
    ),
)
