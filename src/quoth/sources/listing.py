"""Where to start → which pages a site has, by its own account: its sitemaps.

In: the address of a sitemap, or of a site that has one. Out: the addresses of its pages, in the order of the sitemap.
A sitemap that cannot be read ends the crawl: pages that nobody could list must not look like deleted ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass

from quoth.domain import Fetched, Notice
from quoth.errors import Unreadable
from quoth.sources.sitemap_files import looks_like_a_web_page, parse_sitemap
from quoth.sources.visiting import Elsewhere, Visitor, moved
from quoth.sources.weburls import Address, Site, origin_of

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
        self._had: dict[Address, Fetched] = {}  # sitemaps that were looked at already
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
                    notices.append(Notice("PAGE_LIMIT", f"there are more than {most} pages; the rest is left out", "."))
                    break
                pages[address] = None
        if outside:
            message = f"{outside} addresses of the sitemap lie outside {self._site.folder}; they are left out"
            notices.append(Notice("OUTSIDE_FOLDER", message, "."))
        if self._others:
            origins = ", ".join(origin for origin, _ in self._others.most_common(3))
            message = (
                f"{self._others.total()} addresses of the sitemap lie on other sites ({origins}); they are left out"
            )
            notices.append(Notice("OTHER_SITE", message, "."))
        if not pages:
            raise self._nothing(outside)
        return Listing(self._site, self._home, tuple(pages), (*notices, *self._gone))

    def _nothing(self, outside: int) -> Unreadable:
        if self._others and not outside:
            other = self._others.most_common(1)[0][0]
            return Unreadable(
                f"The sitemap of {self._site.origin} names only pages of other sites.",
                hint=f"Read {other}/ instead, or the folder that the site is built from.",
            )
        return Unreadable(
            f"The sitemap names no page below {self._site.origin}{self._site.folder}.", hint="Check the address."
        )

    async def _sitemaps(self) -> Sequence[Address]:
        """The given address itself where it is a sitemap; otherwise those of the site that it belongs to."""
        start = self._start
        answer = await self._look(start)
        if answer.status == 200 and not looks_like_a_web_page(answer.body):
            return (start,)
        if start.path.lower().endswith((".xml", ".xml.gz", ".txt")):
            reason = "is a web page, no sitemap" if answer.status == 200 else f"cannot be had (HTTP {answer.status})"
            raise Unreadable(f"{start} {reason}.", hint="Give the site's sitemap.xml, or its start page.")
        self._home = start.path if start.path.endswith("/") else f"{start.path}/"
        self._site = Site(start.origin, self._home)
        beside = Address(start.origin, f"{self._home}sitemap.xml")
        announced = [found for line in self._visitor.robots.sitemaps if (found := self._site.address(line))]
        at_root = Address(start.origin, "/sitemap.xml")
        for choice in ([beside], announced, [at_root]) if self._home != "/" else (announced, [at_root]):
            for address in choice:
                # Hosts that answer every address with their start page have no sitemap either.
                if await self._is_there(address):
                    return choice
        raise Unreadable(
            f"{start} has no sitemap: neither {beside} nor one that robots.txt names.",
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
        """All addresses of this site that the sitemaps name, in their order, following indexes."""
        waiting = [(address, 1) for address in reversed(tops)]
        seen = set(tops)
        while waiting:
            address, depth = waiting.pop()
            answer = self._had.pop(address, None) or await self._look(address)
            if answer.status in (404, 410) and len(seen) > 1:
                message = f"a sitemap that the site names is not there (HTTP {answer.status})"
                self._gone.append(Notice("SITEMAP_MISSING", message, address.target))
                continue
            if answer.status != 200:
                raise Unreadable(f"{address} cannot be had (HTTP {answer.status}).", hint="Try again later.")
            file = parse_sitemap(answer.body, str(address), limit=_SITEMAP_BYTES)
            ours = self._on_this_site(file.addresses)
            if file.kind == "pages":
                for found in ours:
                    yield found
                continue
            if depth == _NESTED:
                raise Unreadable(f"{address} is an index of sitemaps inside {_NESTED - 1} others: that is too deep.")
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
