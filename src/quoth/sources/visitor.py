"""One address of a site → what became of it: a document, a reason to leave it out, or a failure.

The manners of a crawl are here: robots.txt and its delay (read by `protego`, as RFC 9309 says), redirects that stay on
the site, limits on bytes, giving up on a site that is down. Does not know what is on a page, or which pages there are.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass

from protego import Protego

from quoth.domain import Fetched, Notice
from quoth.errors import Unreadable
from quoth.ports import Fetcher, OpenFetcher, TellSteps
from quoth.sources.urls import Address, Site

Sleep = Callable[[float], Awaitable[None]]

AGENT = "quoth"  # our name in a robots.txt
# RFC 9309, 2.5: a crawler reads at least the first 500 KiB of a robots.txt and may ignore the rest.
ROBOTS_BYTES = 512_000
# One page every half minute is slow enough for any server. With a longer delay a crawl would never end.
MAX_CRAWL_DELAY = 30.0
PAGE_TYPES = frozenset(("text/html",))
_VERSIONED_AGENT = re.compile(r"^([ \t]*user-agent[ \t]*:[ \t]*[\w-]+)/[^\n]*", re.M | re.I)
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_GONE = frozenset((404, 410))
_HOPS = 5
# When this many pages fail in a row, the site is down; asking for the rest would take hours.
_GIVE_UP_AFTER = 24


@dataclass(frozen=True, slots=True)
class CrawlOptions:
    max_pages: int = 5_000
    max_page_bytes: int = 5_000_000
    max_total_bytes: int = 500_000_000
    requests: int = 8  # at the same time


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
    """Why an address is not a page of this book."""


class Elsewhere(LeftOut):
    def __init__(self, location: str) -> None:
        super().__init__(f"it redirects to another site ({location[:200]})")
        self.location = location


class Visitor:
    """Asks one site for documents. Made for one crawl, in one event loop."""

    def __init__(self, site: Site, fetcher: Fetcher, web: Web) -> None:
        self.site = site
        self.options = web.options
        self._robots = Protego.parse("")
        self._fetcher = fetcher
        self._sleep = web.sleep
        self._turn = asyncio.Lock()
        self._bytes = 0
        self._failures = 0  # in a row

    async def learn_manners(self) -> list[Notice]:
        """Read robots.txt. If a site has none, everything may be read. If the server fails to deliver it, nothing may
        be read for now (RFC 9309)."""
        address = Address(self.site.origin, "/robots.txt")
        try:
            _, answer = await self.follow(address, limit=4 * ROBOTS_BYTES)
        except Elsewhere as where:
            raise moved(address, where) from None
        if answer.status == 200:
            self._robots = _read_robots(answer.body)
        elif not 400 <= answer.status < 500:
            raise Unreadable(
                f"{address} could not be read (HTTP {answer.status}); without it no page of the site may be read.",
                hint="Try again later.",
            )
        asked = self._robots.crawl_delay(AGENT) or 0.0
        if asked <= MAX_CRAWL_DELAY:
            return []
        message = (
            f"Crawl-delay is {asked:g} s; Quoth waits {MAX_CRAWL_DELAY:g} s between requests, which is its maximum"
        )
        return [Notice("CRAWL_DELAY", message, "/robots.txt")]

    @property
    def sitemaps(self) -> list[str]:
        """The sitemaps that robots.txt names, as written there."""
        return list(dict.fromkeys(self._robots.sitemaps))

    async def follow(
        self, address: Address, *, limit: int, types: Collection[str] = (), obey: bool = False
    ) -> tuple[Address, Fetched]:
        """The document at the end of all redirects, and its address. Raises `Elsewhere` when they leave the site; with
        `obey`, `LeftOut` when robots.txt forbids one of the steps."""
        for _ in range(_HOPS + 1):
            if obey and not self._robots.can_fetch(str(address), AGENT):
                raise LeftOut(f"robots.txt forbids {address.path}")
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
        raise Unreadable(f"{address} redirects more than {_HOPS} times.", details={"url": str(address)})

    async def visit(self, address: Address) -> Visited:
        """Never raises because something is wrong with one page."""
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
            raise LeftOut(f"it does not exist (HTTP {answer.status})")
        if answer.status != 200:
            raise Unreadable(f"{final} cannot be fetched (HTTP {answer.status}).", details={"url": str(final)})
        if answer.content_type not in PAGE_TYPES:
            raise LeftOut(f"it is {answer.content_type or 'sent without a type'}, not text/html")
        if refuses_indexing(answer.robots):
            raise LeftOut("its X-Robots-Tag says noindex")
        return final, answer

    def _check_bytes(self, address: Address) -> None:
        if self._bytes >= self.options.max_total_bytes:
            megabytes = self.options.max_total_bytes / 1e6
            raise Unreadable(f"{address} was not fetched: the crawl reached its limit of {megabytes:g} MB.")

    def _check_patience(self, address: Address) -> None:
        if self._failures >= _GIVE_UP_AFTER:
            raise Unreadable(
                f"{address} was not fetched: the site failed {_GIVE_UP_AFTER} times in a row.",
                hint="Try again later.",
            )

    async def _wait_for_turn(self) -> None:
        """With a Crawl-delay, all requests of the crawl start that far apart."""
        delay = min(self._robots.crawl_delay(AGENT) or 0.0, MAX_CRAWL_DELAY)
        if delay:
            async with self._turn:
                await self._sleep(delay)


def _read_robots(data: bytes) -> Protego:
    """A version after the name of a crawler (`User-agent: Quoth/1.0`) is ignored: RFC 9309 compares names."""
    text = data[:ROBOTS_BYTES].decode("utf-8-sig", "replace")
    return Protego.parse(_VERSIONED_AGENT.sub(r"\1", text))


def moved(address: Address, where: Elsewhere) -> Unreadable:
    return Unreadable(
        f"{address} redirects to another site ({where.location[:200]}).",
        hint="If that is the one you mean, give its address.",
    )


def refuses_indexing(header: str) -> bool:
    """Reads X-Robots-Tag, a list of directives; those after another crawler's name are not meant for us."""
    agent = ""
    for part in header.lower().split(","):
        name, colon, rest = part.partition(":")
        if colon and not name.strip().startswith(("max-", "unavailable_after")):
            agent, part = name.strip(), rest
        if part.strip() in ("noindex", "none") and agent in ("", AGENT):
            return True
    return False
