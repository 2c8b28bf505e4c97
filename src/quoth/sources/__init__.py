"""A folder of files, or a published site → Pages: the first step of an ingest.

`open_source` recognises who publishes the folder; each toolchain has a module that knows its URL and anchor rules and
which files are pages. Reading streams: a source never holds more than one page. Chunks, tokens and indexes are not
its business.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from quoth.domain import Book, Notice, Page, SourceFile
from quoth.errors import Unreadable
from quoth.sources.docusaurus import DocusaurusRules, find_site, has_categories
from quoth.sources.folder import FolderSource
from quoth.sources.plain import PlainRules, label_of
from quoth.sources.visiting import CrawlOptions, Web
from quoth.sources.walking import existing_folder
from quoth.sources.weburls import is_url

__all__ = ["BookSource", "CrawlOptions", "Web", "is_url", "open_source"]


class BookSource(Protocol):
    """A book as its files. `files` looks at the disk anew with every call; `read` gives one page of them."""

    @property
    def toolchain(self) -> str: ...

    @property
    def book(self) -> Book: ...

    @property
    def skipped(self) -> list[Notice]:
        """Files that look like pages and are none: drafts, unlisted pages, partials."""

    @property
    def notices(self) -> list[Notice]:
        """What concerns the book as a whole."""

    def files(self) -> list[SourceFile]:
        """By source file. `Unreadable` when there is no page at all."""

    def read(self, file: SourceFile) -> Page:
        """`Unreadable`, with file and reason, when this one page cannot be read."""

    def close(self) -> None:
        """Ends whatever is under way, in whatever thread; the source is of no more use then."""


def open_source(
    path: str | Path, *, book_id: str, base_url: str = "", title: str = "", web: Web | None = None
) -> BookSource:
    """Recognise the toolchain of a folder, or crawl a published site where `web` allows it. `Unreadable` when it is
    neither, or may not be read."""
    if is_url(str(path)):
        if web is None:
            raise Unreadable(f"{path} is a site, and sites are not read here.", hint="Give the folder of the book.")
        from quoth.sources.sitemap import SitemapSource

        return SitemapSource(str(path), web, book_id=book_id, base_url=base_url, title=title)
    root = existing_folder(Path(path))
    site = find_site(root)
    if site is not None or has_categories(root) or has_categories(root / "docs"):
        docs = root
        if site is not None:
            docs = (site.root / site.docs).resolve()
        elif not has_categories(root):
            docs = root / "docs"
        rules = DocusaurusRules(docs, root if root.is_relative_to(docs) else docs, site, base_url)
        name = title or (site.title if site else "") or label_of(root.name)
        published = base_url or (f"{site.url.rstrip('/')}{site.base_path}" if site and site.url else "")
        book = Book(book_id, name, published, str(path), "docusaurus")
        return FolderSource(root, book, rules, docs)
    book = Book(book_id, title or label_of(root.name), base_url, str(path), "plain")
    return FolderSource(root, book, PlainRules(root, base_url))
