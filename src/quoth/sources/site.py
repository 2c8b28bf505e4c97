"""A published site → Pages: `quoth ingest https://…/sitemap.xml`.

`files` crawls: every page is downloaded, turned into text and kept on disk, because an ingest must know what changed
before it reads. `read` then returns the pages from there. A page that could not be fetched this time counts as
unreadable, so that the book keeps what it has of it; a page that the sitemap no longer names is gone. Sources are
synchronous and run in a thread; there the crawl has an event loop of its own.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import weakref
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from hashlib import sha256
from threading import Lock
from urllib.parse import unquote

from quoth.domain import Book, Coverage, Fetched, Labels, Notice, Page, Share, SourceFile
from quoth.errors import DiskFull, QuothError, Unreadable
from quoth.sources.html import WebPage, decode_html, page_from_html
from quoth.sources.plain import label_of
from quoth.sources.sitemaps import Lister, Listing
from quoth.sources.urls import Address, Site, parse_address, source_name
from quoth.sources.visitor import Visited, Visitor, Web

# Raise it when pages are read in a new way, so that unchanged pages are read again.
READER_VERSION = "1"


@dataclass(frozen=True, slots=True)
class _Entry:
    """A page of the sitemap: where its text is kept, or why there is none."""

    address: Address
    url: str = ""
    title: str = ""
    language: str | None = None
    start: int = 0
    length: int = 0
    words: int = 0
    file_hash: str = ""
    error: Unreadable | None = None


@dataclass(slots=True)
class _Crawled:
    entries: dict[str, _Entry] = field(default_factory=dict)
    skipped: list[Notice] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    names: Counter[str] = field(default_factory=Counter)  # what pages call their site


class _Spool:
    """Texts on disk, in a file without a name: it is gone however the process ends."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`, or with the last reference
        self.close = weakref.finalize(self, self._file.close)

    def add(self, data: bytes) -> int:
        try:
            start = self._file.seek(0, 2)
            self._file.write(data)
        except OSError as error:
            raise DiskFull(f"The crawled pages cannot be kept on disk: {error.strerror}.") from error
        return start

    def read(self, start: int, length: int) -> bytes:
        self._file.seek(start)
        return self._file.read(length)


class SitemapSource:
    """A `BookSource` over a published site. Close it to stop a running crawl and to free its disk space."""

    toolchain = "site"

    def __init__(self, url: str, web: Web, *, book_id: str, base_url: str = "", title: str = "") -> None:
        self._start = parse_address(url)
        self._web = web
        self._base = base_url.rstrip("/")
        self._title = title
        self._book = Book(book_id, title or self._start.origin.partition("://")[2], base_url, url, self.toolchain)
        self._spool = _Spool()
        self._known = _Crawled()
        self._site = Site(self._start.origin)
        self._home = "/"
        self._ending = Lock()
        self._cancel: Callable[[], object] | None = None
        self._closed = False

    @property
    def book(self) -> Book:
        """Once the pages are known, its title is the name that most of them give the site."""
        name = next((name for name, count in self._known.names.most_common(1) if count > 1), "")
        published = self._base or f"{self._start.origin}{self._home}"
        return replace(self._book, title=self._title or name or self._book.title, base_url=published)

    @property
    def skipped(self) -> list[Notice]:
        return list(self._known.skipped)

    @property
    def notices(self) -> list[Notice]:
        return list(self._known.notices)

    @property
    def coverage(self) -> Coverage:
        read = [entry for entry in self._known.entries.values() if entry.error is None]
        words = sum(entry.words for entry in read)
        skipped = len(self._known.skipped)
        left = (Share("HTML", skipped, 0, "not published, or may not be read"),) if skipped else ()
        return Coverage(self.toolchain, "", (Share("HTML", len(read), words),), left)

    def files(self) -> list[SourceFile]:
        """Crawl the site again."""
        self._known = _Crawled()
        try:
            asyncio.run(self._crawl())
        except asyncio.CancelledError:
            raise Unreadable(f"The crawl of {self._start} was stopped.", hint="Run it again.") from None
        finally:
            with self._ending:
                self._cancel = None
                if self._closed:
                    self._spool.close()
        if not self._known.entries:
            reason = f" {self._known.skipped[0]}" if self._known.skipped else ""
            raise Unreadable(f"{self._start} has no page that may be read.{reason}", hint="Check the address.")
        return [SourceFile(name, self._digest(entry)) for name, entry in sorted(self._known.entries.items())]

    def read(self, file: SourceFile) -> Page:
        entry = self._known.entries.get(file.source_file)
        if entry is None:
            raise Unreadable(f"{file.source_file} is not a page of this book.", hint="Run the ingest again.")
        if entry.error is not None:
            details = {**entry.error.details, "source_file": file.source_file}
            raise Unreadable(entry.error.message, hint=entry.error.hint, details=details) from entry.error
        text = self._spool.read(entry.start, entry.length).decode("utf-8")
        empty = Notice("PAGE_EMPTY", "no text was found; pages that a script builds cannot be read", file.source_file)
        return Page(
            book_id=self._book.book_id,
            source_file=file.source_file,
            text=text,
            file_hash=entry.file_hash,
            url=entry.url,
            title=entry.title,
            markup="markdown",
            anchors="html",
            trail=self._trail(entry.address),
            labels=Labels(language=entry.language),
            notices=() if text.strip() else (empty,),
        )

    def close(self) -> None:
        """Can be called from any thread, and twice."""
        with self._ending:
            self._closed = True
            if self._cancel is None:
                self._spool.close()
            else:
                self._cancel()

    # --- the crawl ---

    async def _crawl(self) -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        with self._ending:
            if self._closed or task is None:
                raise asyncio.CancelledError
            self._cancel = lambda: loop.call_soon_threadsafe(task.cancel)
        async with self._web.open() as fetcher:
            visitor = Visitor(Site(self._start.origin), fetcher, self._web)
            manners = await visitor.learn_manners()
            listing = await Lister(self._start, visitor).list()
            self._site, self._home = listing.site, listing.home
            self._known.notices = [*manners, *listing.notices]
            await self._visit_all(visitor, listing)
        self._settle(listing)

    async def _visit_all(self, visitor: Visitor, listing: Listing) -> None:
        waiting = iter(listing.pages)
        total = len(listing.pages)
        done = 0
        self._web.tell(done, total)

        async def work() -> None:
            nonlocal done
            for address in waiting:
                await self._keep(await visitor.visit(address))
                done += 1
                self._web.tell(done, total)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(visitor.options.requests, total)):
                    group.create_task(work())
        except ExceptionGroup as faults:
            first = faults.exceptions[0]
            if isinstance(first, QuothError):
                raise first from faults
            raise

    async def _keep(self, visited: Visited) -> None:
        name = source_name(visited.address)
        if visited.document is None:
            if visited.error is None:
                self._skip(name, visited.left_out)
            else:
                self._known.entries[name] = _Entry(visited.address, error=visited.error)
            return
        try:
            page = await asyncio.to_thread(_page_of, visited.document, visited.final)
        except UnicodeError as error:
            self._known.entries[name] = _Entry(visited.address, error=Unreadable(f"{name} cannot be decoded: {error}."))
            return
        if page.noindex:
            self._skip(name, "it asks not to be indexed (noindex)")
            return
        text = page.text.encode("utf-8", "replace")
        named = self._site.address(page.canonical, base=visited.final) if page.canonical else None
        self._known.names[page.site] += bool(page.site)
        self._known.entries[name] = _Entry(
            address=visited.address,
            url=str(named or visited.final),
            title=page.title
            or label_of(unquote(visited.final.path.rstrip("/").rpartition("/")[2]))
            or self._book.title,
            language=page.language,
            start=self._spool.add(text),
            length=len(text),
            words=len(text.split()),
            file_hash=sha256(text).hexdigest(),
        )

    def _skip(self, name: str, reason: str) -> None:
        self._known.skipped.append(Notice("PAGE_SKIPPED", reason, name))

    def _settle(self, listing: Listing) -> None:
        """Addresses that turn out to be one page are kept once: under the page's own name, or else the first."""
        entries = self._known.entries
        owners = {str(entry.address): name for name, entry in entries.items() if entry.url in ("", str(entry.address))}
        for address in listing.pages:
            name = source_name(address)
            entry = entries.get(name)
            if entry is None or entry.error is not None:
                continue
            owner = owners.setdefault(entry.url, name)
            if owner == name:
                entries[name] = replace(entry, url=self._published(entry.url))
            else:
                del entries[name]
                self._skip(name, f"it is the same page as {owner}")
        self._known.skipped.sort(key=lambda notice: notice.source_file)

    def _published(self, url: str) -> str:
        """The address below the base URL, if there is one: the base replaces the folder of the sitemap."""
        home = f"{self._start.origin}{self._home}"
        return f"{self._base}/{url.removeprefix(home)}" if self._base and url.startswith(home) else url

    def _trail(self, address: Address) -> tuple[str, ...]:
        folders = address.path.removeprefix(self._home).strip("/").split("/")[:-1]
        return tuple(label_of(unquote(folder)) for folder in folders if folder)

    def _digest(self, entry: _Entry) -> str:
        """The digest of what a reader sees, not of the bytes: many sites put the time or a token into every page."""
        if entry.error is not None:
            return "unreadable"
        parts = [READER_VERSION, entry.file_hash, entry.url, entry.title, entry.language]
        return sha256(json.dumps([*parts, self._trail(entry.address), self._book.book_id]).encode()).hexdigest()


def _page_of(document: Fetched, final: Address) -> WebPage:
    return page_from_html(decode_html(document.body, document.charset), str(final))
