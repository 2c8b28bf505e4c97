"""Do the links open? Compares every page and anchor that Quoth would cite with the site.

In: the URLs of a book (from a `BookSource`, or from its chunks in the index), and the site: a built folder or the
published one. Out: a `LinkReport`. A published site is read through `Visitor`, with its manners: robots.txt, delays,
limits. It does not judge whether a page is the right one, only whether it exists and has the anchor.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from html import unescape
from itertools import takewhile
from pathlib import Path
from urllib.parse import unquote, urlsplit

from quoth.chunks.sections import addresses
from quoth.domain import Chunk
from quoth.errors import Unreadable, WrongUsage
from quoth.sources import BookSource, Web
from quoth.sources.urls import Site, parse_address
from quoth.sources.visitor import PAGE_TYPES, Elsewhere, LeftOut, Visitor

_SCRIPT = re.compile(r"<!--.*?-->|<(script|style|template)\b.*?</\1\s*>", re.S | re.I)
_TAG = re.compile(r"<[A-Za-z][^<>]{0,20000}>")
_ID = re.compile(r"\s(?:id|name)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'<>]+))", re.I)
_MOST_BYTES = 50_000_000  # of one built page


@dataclass(frozen=True, slots=True)
class Place:
    source_file: str
    line: int


@dataclass(slots=True)
class Cited:
    """The URLs of a book: for each page its anchors, and where in the book they are."""

    pages: dict[str, Place] = field(default_factory=dict)
    anchors: dict[str, dict[str, Place]] = field(default_factory=dict)

    def add(self, url: str, place: Place) -> None:
        page, _, anchor = url.partition("#")
        self.pages.setdefault(page, place)
        if anchor:
            self.anchors.setdefault(page, {}).setdefault(anchor, place)

    def rebased(self, old: str, new: str) -> Cited:
        """The same below another URL of the site."""

        def moved(url: str) -> str:
            below = url.removeprefix(old.rstrip("/")) if old else f"/{url.removeprefix('./').lstrip('/')}"
            return new.rstrip("/") + below

        pages = {moved(url): place for url, place in self.pages.items()}
        return Cited(pages, {moved(url): anchors for url, anchors in self.anchors.items()})


@dataclass(frozen=True, slots=True)
class BadLink:
    url: str
    place: Place
    problem: str
    nearest: str = ""  # the page's anchor that is most like the missing one


@dataclass(frozen=True, slots=True)
class LinkReport:
    pages: int = 0
    pages_found: int = 0
    anchors: int = 0
    anchors_found: int = 0
    wrong: tuple[BadLink, ...] = ()
    unchecked: tuple[BadLink, ...] = ()  # the site forbids it, or did not answer
    redirected: int = 0

    @property
    def ok(self) -> bool:
        return not self.wrong


@dataclass(frozen=True, slots=True)
class Looked:
    """What a site has at a URL: its ids, or why there is no page, or why we do not know."""

    ids: frozenset[str] | None = None
    missing: str = ""
    unchecked: str = ""
    redirected: bool = False


Look = Callable[[str], Awaitable[Looked]]


# --- the links of a book ---------------------------------------------------------------------------------------------


def cited_by_source(source: BookSource) -> Cited:
    """The links of the pages of a folder, as an ingest would read them. A page that cannot be read is skipped: the
    ingest reports it."""
    cited = Cited()
    for file in source.files():
        try:
            page = source.read(file)
        except Unreadable:
            continue
        cited.add(page.url, Place(page.source_file, 1))
        for url, line in addresses(page).items():
            cited.add(url, Place(page.source_file, line))
    return cited


async def cited_by_chunks(chunks: AsyncIterator[Chunk]) -> Cited:
    cited = Cited()
    async for chunk in chunks:
        cited.add(chunk.url, Place(chunk.source_file, chunk.line))
    return cited


# --- a built folder --------------------------------------------------------------------------------------------------


class BuiltSite:
    """A folder with the pages of a site. It finds out which part of a URL is the folder itself: the part below which
    most pages exist."""

    def __init__(self, folder: Path, urls: Iterable[str]) -> None:
        self._folder = Path(folder).resolve()
        if not self._folder.is_dir():
            raise WrongUsage(f"{folder} is not a folder.", hint="Give the folder of the built site.")
        paths = [_path_of(url) for url in urls]
        folders = [path.split("/")[:-1] for path in paths]
        shared = [parts[0] for parts in takewhile(lambda parts: len(set(parts)) == 1, zip(*folders, strict=False))]
        roots = ["".join(f"{part}/" for part in shared[:depth]) for depth in range(len(shared) + 1)]
        self._root = max(roots, key=lambda root: sum(self._file(path, root) is not None for path in paths))

    async def look(self, url: str) -> Looked:
        file = self._file(_path_of(url), self._root)
        if file is None:
            return Looked(missing="the site has no such page")
        if file.stat().st_size > _MOST_BYTES:
            return Looked(unchecked=f"it is larger than {_MOST_BYTES / 1e6:g} MB")
        return Looked(ids=ids_of(await asyncio.to_thread(file.read_bytes)))

    def _file(self, path: str, root: str) -> Path | None:
        """Found as static hosts do: a folder by its index, a page with or without its extension."""
        if not f"{path}/".startswith(root):
            return None
        bare = path[len(root) :]
        folder = bare.endswith("/") or not bare
        for name in [f"{bare}index.html"] if folder else [bare, f"{bare}.html", f"{bare}/index.html"]:
            file = self._folder / name
            if file.is_file() and file.resolve().is_relative_to(self._folder):
                return file
        return None


def _path_of(url: str) -> str:
    return unquote(urlsplit(url).path).lstrip("/").removeprefix("./")


def ids_of(data: bytes) -> frozenset[str]:
    """Every id on a page that a fragment can lead to."""
    text = _SCRIPT.sub(" ", data.decode("utf-8", "replace"))
    found = (match for tag in _TAG.findall(text) for match in _ID.findall(tag))
    return frozenset(unescape(next(filter(None, match), "")) for match in found)


# --- the published site ----------------------------------------------------------------------------------------------


class LiveSite:
    """Asks the site itself, as politely as a crawl. Belongs to one event loop."""

    def __init__(self, visitor: Visitor) -> None:
        self._visitor = visitor

    async def look(self, url: str) -> Looked:
        address = self._visitor.site.address(url)
        if address is None:
            return Looked(missing=f"it is not below {self._visitor.site.origin}")
        limit = self._visitor.options.max_page_bytes
        try:
            final, answer = await self._visitor.follow(address, limit=limit, types=PAGE_TYPES, obey=True)
        except Elsewhere as where:
            return Looked(missing=f"it leads to another site ({where.location[:100]})")
        except LeftOut as reason:
            return Looked(unchecked=str(reason))
        except Unreadable as error:
            return Looked(unchecked=error.message)
        if answer.status != 200:
            return Looked(missing=f"HTTP {answer.status}")
        return Looked(ids=ids_of(answer.body), redirected=final != address)


async def check_published(cited: Cited, web: Web) -> LinkReport:
    """`Unreadable` if the site cannot be read at all; `WrongUsage` if the book has no URLs of a site."""
    first = next(iter(cited.pages), "")
    if "://" not in first:
        raise WrongUsage(
            "The book does not say where it is published.", hint="Add --base-url, or the built folder with --site."
        )
    async with web.open() as fetcher:
        visitor = Visitor(Site(parse_address(first).origin), fetcher, web)
        await visitor.learn_manners()
        return await compare(cited, LiveSite(visitor).look, at_once=web.options.requests, tell=web.tell)


# --- comparing -------------------------------------------------------------------------------------------------------


async def compare(
    cited: Cited, look: Look, *, at_once: int = 1, tell: Callable[[int, int], None] = lambda done, total: None
) -> LinkReport:
    """Each page once, `at_once` of them at a time."""
    reports: dict[str, LinkReport] = {}
    waiting = iter(cited.pages)

    async def work() -> None:
        for page in waiting:
            reports[page] = _judged(page, cited, await look(page))
            tell(len(reports), len(cited.pages))

    await asyncio.gather(*(work() for _ in range(max(1, at_once))))
    return _summed(reports[page] for page in cited.pages)


def _judged(page: str, cited: Cited, looked: Looked) -> LinkReport:
    place, anchors = cited.pages[page], cited.anchors.get(page, {})
    report = LinkReport(pages=1, anchors=len(anchors))
    if looked.unchecked:
        return replace(report, pages=0, anchors=0, unchecked=(BadLink(page, place, looked.unchecked),))
    if looked.ids is None:
        return replace(report, wrong=(BadLink(page, place, looked.missing),))
    lost = {anchor: where for anchor, where in anchors.items() if unquote(anchor) not in looked.ids}
    wrong = tuple(
        BadLink(f"{page}#{anchor}", where, "the page has no such anchor", _nearest(anchor, looked.ids))
        for anchor, where in lost.items()
    )
    found = len(anchors) - len(lost)
    return replace(report, pages_found=1, anchors_found=found, wrong=wrong, redirected=int(looked.redirected))


def _nearest(anchor: str, ids: Iterable[str]) -> str:
    return next(iter(get_close_matches(unquote(anchor), sorted(ids), n=1)), "")


def _summed(reports: Iterable[LinkReport]) -> LinkReport:
    listed = list(reports)
    return LinkReport(
        pages=sum(one.pages for one in listed),
        pages_found=sum(one.pages_found for one in listed),
        anchors=sum(one.anchors for one in listed),
        anchors_found=sum(one.anchors_found for one in listed),
        wrong=tuple(bad for one in listed for bad in one.wrong),
        unchecked=tuple(bad for one in listed for bad in one.unchecked),
        redirected=sum(one.redirected for one in listed),
    )


def report_view(report: LinkReport) -> Mapping[str, object]:
    """For `--json`."""

    def view(bad: BadLink) -> Mapping[str, object]:
        place = bad.place
        return {
            "url": bad.url,
            "source_file": place.source_file,
            "line": place.line,
            "problem": bad.problem,
            "nearest": bad.nearest or None,
        }

    return {
        "ok": report.ok,
        "pages": report.pages,
        "pages_found": report.pages_found,
        "anchors": report.anchors,
        "anchors_found": report.anchors_found,
        "redirected": report.redirected,
        "wrong": [view(bad) for bad in report.wrong],
        "unchecked": [view(bad) for bad in report.unchecked],
    }
