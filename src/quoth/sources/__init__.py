"""A folder of files → Pages: the first step of an ingest.

`open_source` recognises who publishes the folder; each toolchain has a module that knows its URL and anchor rules and
which files are pages. Reading streams: a source never holds more than one page. Chunks, tokens and indexes are not
its business.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from quoth.domain import Book, Notice, Page, SourceFile
from quoth.sources.docusaurus import DocusaurusRules, find_site, has_categories
from quoth.sources.folder import FolderSource
from quoth.sources.plain import PlainRules, label_of
from quoth.sources.walking import existing_folder

__all__ = ["BookSource", "open_source"]


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


def open_source(path: str | Path, *, book_id: str, base_url: str = "", title: str = "") -> BookSource:
    """Recognise the toolchain of a folder. `Unreadable` when it is no folder, or may not be read."""
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
