"""Where to start → which pages a site has, according to its sitemaps.

In: the address of a sitemap, or of a site that has one. Out: the addresses of its pages, in the order of the sitemap.
A sitemap that cannot be read ends the crawl: pages that could not be listed must not look deleted. Sitemaps are written
by strangers: a document type (and with it every entity, external or exploding) is refused, a compressed file may not
grow beyond the limit, and the caller's limit bounds how many addresses are kept.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal
from xml.parsers import expat

from quoth.domain import Fetched, Notice
from quoth.errors import Unreadable
from quoth.sources.urls import Address, Site, origin_of
from quoth.sources.visitor import Elsewhere, Visitor, moved

# --- one sitemap file ------------------------------------------------------------------------------------------------


_GZIP = b"\x1f\x8b"
_DEEPEST = 64  # a sitemap is three levels deep


@dataclass(frozen=True, slots=True)
class SitemapFile:
    kind: Literal["pages", "sitemaps"]
    addresses: tuple[str, ...]  # as written, in order


class _Stop(Exception):
    """Why a document is not read to its end."""


def looks_like_a_web_page(data: bytes) -> bool:
    head = data[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return head.startswith(b"<") and (b"<!doctype html" in head or b"<html" in head)


def parse_sitemap(data: bytes, url: str, *, limit: int) -> SitemapFile:
    """Raises `Unreadable` when it is not a sitemap. `limit` is how many bytes a compressed one may expand to."""
    if data.startswith(_GZIP):
        data = _unfolded(data, url, limit)
    if data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<") or data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return _of_xml(data, url)
    return _of_text(data, url)


def _unfolded(data: bytes, url: str, limit: int) -> bytes:
    unfolding = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        whole = unfolding.decompress(data, limit + 1)
    except zlib.error as error:
        raise Unreadable(f"The sitemap {url} cannot be decompressed: {error}.") from error
    if len(whole) > limit:
        raise Unreadable(f"The sitemap {url} decompresses to more than {limit / 1e6:g} MB.")
    if not unfolding.eof:
        raise Unreadable(f"The sitemap {url} ends too early.", hint="Try again later.")
    return whole


def _of_text(data: bytes, url: str) -> SitemapFile:
    lines = [line.strip() for line in data.decode("utf-8-sig", "replace").splitlines()]
    addresses = tuple(line for line in lines if line)
    if not addresses or not all(re.match(r"https?://\S+$", line, re.I) for line in addresses):
        raise _no_sitemap(url, "it is neither XML nor a list of addresses")
    return SitemapFile("pages", addresses)


def _of_xml(data: bytes, url: str) -> SitemapFile:
    reader = _Reader()
    try:
        reader.parser.Parse(data, True)
    except _Stop as reason:
        raise _no_sitemap(url, str(reason)) from None
    except expat.ExpatError as error:
        raise _no_sitemap(url, f"its XML is broken: {error}") from error
    except LookupError as error:
        raise _no_sitemap(url, f"its encoding is unknown: {error}") from error
    return SitemapFile("sitemaps" if reader.root == "sitemapindex" else "pages", tuple(reader.addresses))


def _no_sitemap(url: str, reason: str) -> Unreadable:
    return Unreadable(f"{url} is not a sitemap: {reason}.", hint="Give the site's sitemap.xml, or its start page.")


class _Reader:
    """Collects `urlset/url/loc` or `sitemapindex/sitemap/loc`, and nothing that extensions add to them."""

    def __init__(self) -> None:
        self.root = ""
        self.addresses: list[str] = []
        self._path: list[str] = []
        self._words: list[str] = []
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        # No document type, no entities: no files of this machine, and no billion laughs.
        self.parser.StartDoctypeDeclHandler = self._refuse
        self.parser.EntityDeclHandler = self._refuse

    def _refuse(self, *_: object) -> None:
        raise _Stop("it has a document type (DTD), which no sitemap needs")

    def _start(self, name: str, _: dict[str, str]) -> None:
        local = name.rpartition(" ")[2]
        if not self._path:
            if local not in ("urlset", "sitemapindex"):
                raise _Stop(f"its first element is <{local[:40]}>, not <urlset> or <sitemapindex>")
            self.root = local
        if len(self._path) >= _DEEPEST:
            raise _Stop("its elements are nested too deeply")
        self._path.append(local)
        self._words.clear()

    def _text(self, words: str) -> None:
        if self._here:
            self._words.append(words)

    def _end(self, _: str) -> None:
        if self._here:
            address = "".join(self._words).strip()
            if address:
                self.addresses.append(address)
        self._path.pop()

    @property
    def _here(self) -> bool:
        return len(self._path) == 3 and self._path[1] in ("url", "sitemap") and self._path[2] == "loc"


# --- all sitemaps of a site ------------------------------------------------------------------------------------------


_NESTED = 3  # a sitemap in an index in an index
_SITEMAPS = 1_000
_SITEMAP_BYTES = 52_428_800  # what the protocol allows


@dataclass(frozen=True, slots=True)
class Listing:
    site: Site  # with the folder that was asked for
    home: str  # the folder that a base URL stands for
    pages: tuple[Address, ...]
    notices: tuple[Notice, ...] = ()


class Lister:
    def __init__(self, start: Address, visitor: Visitor) -> None:
        self._start = start
        self._visitor = visitor
        self._site = visitor.site
        self._home = start.path.rpartition("/")[0] + "/"
        self._had: dict[Address, Fetched] = {}  # the sitemap that was fetched already
        self._others: Counter[str] = Counter()  # addresses on other sites
        self._gone: list[Notice] = []

    async def list(self) -> Listing:
        tops = await self._sitemaps()
        most = self._visitor.options.max_pages
        pages: dict[Address, None] = {}
        notices: list[Notice] = []
        outside = 0
        async for address in self._addresses(tops):
            if not self._site.holds(address):
                outside += 1
            elif address not in pages:
                if len(pages) == most:
                    notices.append(
                        Notice("PAGE_LIMIT", f"there are more than {most} pages; the rest are left out", ".")
                    )
                    break
                pages[address] = None
        if outside:
            message = f"{outside} addresses in the sitemap are outside {self._site.folder}; they are left out"
            notices.append(Notice("OUTSIDE_FOLDER", message, "."))
        if self._others:
            origins = ", ".join(origin for origin, _ in self._others.most_common(3))
            message = (
                f"{self._others.total()} addresses in the sitemap are on other sites ({origins}); they are left out"
            )
            notices.append(Notice("OTHER_SITE", message, "."))
        if not pages:
            raise self._nothing(outside)
        return Listing(self._site, self._home, tuple(pages), (*notices, *self._gone))

    def _nothing(self, outside: int) -> Unreadable:
        if self._others and not outside:
            other = self._others.most_common(1)[0][0]
            return Unreadable(
                f"The sitemap of {self._site.origin} names only pages on other sites.",
                hint=f"Read {other}/ instead, or the folder that the site is built from.",
            )
        return Unreadable(
            f"The sitemap names no page below {self._site.origin}{self._site.folder}.", hint="Check the address."
        )

    async def _sitemaps(self) -> Sequence[Address]:
        """The given address itself, if it is a sitemap; otherwise the sitemaps of its site."""
        start = self._start
        answer = await self._look(start)
        if answer.status == 200 and not looks_like_a_web_page(answer.body):
            return (start,)
        if start.path.lower().endswith((".xml", ".xml.gz", ".txt")):
            reason = (
                "is a web page, not a sitemap" if answer.status == 200 else f"cannot be fetched (HTTP {answer.status})"
            )
            raise Unreadable(f"{start} {reason}.", hint="Give the site's sitemap.xml, or its start page.")
        self._home = start.path if start.path.endswith("/") else f"{start.path}/"
        self._site = Site(start.origin, self._home)
        beside = Address(start.origin, f"{self._home}sitemap.xml")
        announced = [found for line in self._visitor.sitemaps if (found := self._site.address(line))]
        at_root = Address(start.origin, "/sitemap.xml")
        for choice in ([beside], announced, [at_root]) if self._home != "/" else (announced, [at_root]):
            for address in choice:
                # Hosts that answer every address with their start page have no sitemap either.
                if await self._is_there(address):
                    return choice
        raise Unreadable(
            f"{start} has no sitemap: there is none at {beside}, and robots.txt names none that exists.",
            hint="Give the address of its sitemap, or the folder that the site is built from.",
        )

    async def _is_there(self, address: Address) -> bool:
        try:
            _, answer = await self._visitor.follow(address, limit=_SITEMAP_BYTES)
        except Elsewhere:
            return False
        self._had = {address: answer}  # only the last: sitemaps may be large
        return answer.status == 200 and not looks_like_a_web_page(answer.body)

    async def _look(self, address: Address) -> Fetched:
        try:
            _, answer = await self._visitor.follow(address, limit=_SITEMAP_BYTES)
        except Elsewhere as where:
            raise moved(address, where) from None
        self._had = {address: answer}
        return answer

    async def _addresses(self, tops: Sequence[Address]) -> AsyncIterator[Address]:
        """All addresses on this site that the sitemaps name, in order; indexes are followed."""
        waiting = [(address, 1) for address in reversed(tops)]
        seen = set(tops)
        while waiting:
            address, depth = waiting.pop()
            answer = self._had.pop(address, None) or await self._look(address)
            if answer.status in (404, 410) and len(seen) > 1:
                message = f"a sitemap that the site names does not exist (HTTP {answer.status})"
                self._gone.append(Notice("SITEMAP_MISSING", message, address.target))
                continue
            if answer.status != 200:
                raise Unreadable(f"{address} cannot be fetched (HTTP {answer.status}).", hint="Try again later.")
            file = parse_sitemap(answer.body, str(address), limit=_SITEMAP_BYTES)
            ours = self._on_this_site(file.addresses)
            if file.kind == "pages":
                for found in ours:
                    yield found
                continue
            if depth == _NESTED:
                raise Unreadable(f"{address} is a sitemap index inside {_NESTED - 1} others, which is too deep.")
            new = [found for found in dict.fromkeys(ours) if found not in seen]
            seen.update(new)
            if len(seen) > _SITEMAPS:
                raise Unreadable(f"{self._site.origin} has more than {_SITEMAPS} sitemaps.", hint="Give one of them.")
            waiting.extend((found, depth + 1) for found in reversed(new))

    def _on_this_site(self, written: Sequence[str]) -> Iterator[Address]:
        for text in written:
            address = self._site.address(text)
            if address is None:
                self._others[origin_of(text)] += 1
            else:
                yield address
