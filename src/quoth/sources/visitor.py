"""One address of a site → what became of it: a document, a reason to leave it out, or a failure.

The manners of a crawl live here: robots.txt and its delay, redirects that may not leave the site, limits on bytes, and
giving up on a site that is down. What stands on a page, and which pages there are, is not its business.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass

from quoth.domain import Fetched, Notice
from quoth.errors import Unreadable
from quoth.ports import Fetcher, OpenFetcher, TellSteps
from quoth.sources.robots import AGENT, MAX_BYTES, Robots, parse_robots
from quoth.sources.urls import Address, Site

Sleep = Callable[[float], Awaitable[None]]

PAGE_TYPES = frozenset(("text/html",))
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_GONE = frozenset((404, 410))
_HOPS = 5
# So many pages failing one after the other is a site that is down; asking for the rest would take hours.
_GIVE_UP_AFTER = 24


@dataclass(frozen=True, slots=True)
class CrawlOptions:
    max_pages: int = 5_000
    max_page_bytes: int = 5_000_000
    max_total_bytes: int = 500_000_000
    requests: int = 8  # under way at once
    max_delay: float = 10.0  # the longest Crawl-delay of a robots.txt that is kept


@dataclass(frozen=True, slots=True)
class Web:
    """How published sites are reached, and how far a crawl goes."""

    open: OpenFetcher
    options: CrawlOptions = CrawlOptions()
    tell: TellSteps = lambda done, total: None
    sleep: Sleep = asyncio.sleep


@dataclass(frozen=True, slots=True)
class Visited:
    """Exactly one of `document`, `left_out` and `error` says what became of the address."""

    address: Address  # in the sitemap
    final: Address  # where redirects led
    document: Fetched | None = None
    left_out: str = ""
    error: Unreadable | None = None


class LeftOut(Exception):
    """Why an address is no page of this book."""


class Elsewhere(LeftOut):
    def __init__(self, location: str) -> None:
        super().__init__(f"it is redirected to another site ({location[:200]})")
        self.location = location


class Visitor:
    """Asks one site for documents. Made for one crawl, in one event loop."""

    def __init__(self, site: Site, fetcher: Fetcher, web: Web) -> None:
        self.site = site
        self.options = web.options
        self.robots = Robots()
        self._fetcher = fetcher
        self._sleep = web.sleep
        self._turn = asyncio.Lock()
        self._bytes = 0
        self._failures = 0  # in a row

    async def learn_manners(self) -> list[Notice]:
        """No robots.txt: everything may be read. One that cannot be had: nothing may, for now (RFC 9309)."""
        address = Address(self.site.origin, "/robots.txt")
        try:
            _, answer = await self.follow(address, limit=4 * MAX_BYTES)
        except Elsewhere as where:
            raise moved(address, where) from None
        if answer.status == 200:
            self.robots = parse_robots(answer.body)
        elif not 400 <= answer.status < 500:
            raise Unreadable(
                f"{address} cannot be had (HTTP {answer.status}), and without it a site may not be read.",
                hint="Try again later.",
            )
        asked, kept = self.robots.delay, self.options.max_delay
        if asked <= kept:
            return []
        return [
            Notice("CRAWL_DELAY", f"{asked:g} s between requests are asked for; {kept:g} s are kept", "/robots.txt")
        ]

    async def follow(
        self, address: Address, *, limit: int, types: Collection[str] = (), obey: bool = False
    ) -> tuple[Address, Fetched]:
        """The document at the end of all redirects, and where that is. `Elsewhere` when they leave the site; with
        `obey`, `LeftOut` where robots.txt forbids one of the steps."""
        for _ in range(_HOPS + 1):
            if obey and not self.robots.allows(address.target):
                raise LeftOut(f"robots.txt asks not to read {address.path}")
            self._check_bytes(address)
            await self._wait_for_turn()
            answer = await self._fetcher.get(str(address), limit=limit, types=types)
            self._bytes += len(answer.body)
            if answer.status not in _REDIRECTS:
                return address, answer
            onward = self.site.address(answer.location, base=address)
            if onward is None:
                raise Elsewhere(answer.location)
            address = onward
        raise Unreadable(f"{address} is redirected more than {_HOPS} times.", details={"url": str(address)})

    async def visit(self, address: Address) -> Visited:
        """Never raises for what is wrong with one page."""
        try:
            self._check_patience(address)
            final, document = await self._page(address)
        except LeftOut as reason:
            self._failures = 0
            return Visited(address, address, left_out=str(reason))
        except Unreadable as error:
            self._failures += 1
            return Visited(address, address, error=error)
        self._failures = 0
        return Visited(address, final, document)

    async def _page(self, address: Address) -> tuple[Address, Fetched]:
        final, answer = await self.follow(address, limit=self.options.max_page_bytes, types=PAGE_TYPES, obey=True)
        if answer.status in _GONE:
            raise LeftOut(f"it is not there (HTTP {answer.status})")
        if answer.status != 200:
            raise Unreadable(f"{final} cannot be had (HTTP {answer.status}).", details={"url": str(final)})
        if answer.content_type not in PAGE_TYPES:
            raise LeftOut(f"it is {answer.content_type or 'of no type'}, not text/html")
        if refuses_indexing(answer.robots):
            raise LeftOut("its X-Robots-Tag says noindex")
        return final, answer

    def _check_bytes(self, address: Address) -> None:
        if self._bytes >= self.options.max_total_bytes:
            megabytes = self.options.max_total_bytes / 1e6
            raise Unreadable(f"{address} was not asked for: {megabytes:g} MB, the most for one crawl, were reached.")

    def _check_patience(self, address: Address) -> None:
        if self._failures >= _GIVE_UP_AFTER:
            raise Unreadable(
                f"{address} was not asked for: the site failed {_GIVE_UP_AFTER} times in a row.",
                hint="Try again later.",
            )

    async def _wait_for_turn(self) -> None:
        """With a Crawl-delay, requests start that far apart, whoever makes them."""
        delay = min(self.robots.delay, self.options.max_delay)
        if delay:
            async with self._turn:
                await self._sleep(delay)


def moved(address: Address, where: Elsewhere) -> Unreadable:
    return Unreadable(
        f"{address} is redirected to another site ({where.location[:200]}).",
        hint="If that is the one you mean, give its address.",
    )


def refuses_indexing(header: str) -> bool:
    """X-Robots-Tag: a list of directives; those after another crawler's name are not meant for us."""
    agent = ""
    for part in header.lower().split(","):
        name, colon, rest = part.partition(":")
        if colon and not name.strip().startswith(("max-", "unavailable_after")):
            agent, part = name.strip(), rest
        if part.strip() in ("noindex", "none") and agent in ("", AGENT):
            return True
    return False
