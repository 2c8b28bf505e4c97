"""robots.txt as RFC 9309 reads it, seen through a crawl: which pages are asked for, and how far apart."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from contextlib import AbstractAsyncContextManager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.domain import Fetched, Notice
from quoth.ports import Fetcher
from quoth.sources.urls import Address, Site
from quoth.sources.visitor import MAX_CRAWL_DELAY, ROBOTS_BYTES, Visitor, Web

ORIGIN = "https://a.example"


class OnePageEverywhere:
    """A site with the given robots.txt, where every other address is a page."""

    def __init__(self, robots: bytes) -> None:
        self._robots = robots
        self.slept: list[float] = []

    async def get(self, url: str, *, limit: int, types: Collection[str] = ()) -> Fetched:
        if url == f"{ORIGIN}/robots.txt":
            return Fetched(url, 200, "text/plain", body=self._robots)
        return Fetched(url, 200, "text/html", body=b"<p>words</p>")

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def open(self) -> AbstractAsyncContextManager[Fetcher]:
        raise NotImplementedError("the visitor is handed the fetcher")


class Crawl:
    """What a visitor does on that site."""

    def __init__(self, robots: bytes) -> None:
        self.site = OnePageEverywhere(robots)

    async def _learnt(self) -> tuple[Visitor, list[Notice]]:
        visitor = Visitor(Site(ORIGIN), self.site, Web(self.site.open, sleep=self.site.sleep))
        return visitor, await visitor.learn_manners()

    def reads(self, target: str) -> bool:
        path, _, query = target.partition("?")

        async def visit() -> bool:
            visitor, _ = await self._learnt()
            visited = await visitor.visit(Address(ORIGIN, path, query))
            assert (visited.document is None) == visited.left_out.startswith("robots.txt")
            return visited.document is not None

        return asyncio.run(visit())

    def waits(self) -> float:
        """How long it waits between one request and the next."""
        self.site.slept.clear()
        self.reads("/page")
        return sum(self.site.slept)

    def notices(self) -> list[Notice]:
        return asyncio.run(self._learnt())[1]

    def sitemaps(self) -> list[str]:
        return asyncio.run(self._learnt())[0].sitemaps


def rules(*lines: str) -> Crawl:
    return Crawl("\n".join(("User-agent: *", *lines)).encode())


def test_without_rules_everything_may_be_read() -> None:
    assert Crawl(b"").reads("/anything")
    assert rules("Disallow:").reads("/anything")


def test_the_most_specific_rule_wins_wherever_it_is() -> None:
    for lines in (("Disallow: /", "Allow: /docs/"), ("Allow: /docs/", "Disallow: /")):
        crawl = rules(*lines)
        assert crawl.reads("/docs/intro")
        assert not crawl.reads("/blog/")
    assert not rules("Allow: /", "Disallow: /private/").reads("/private/page")


def test_of_two_rules_of_equal_length_the_more_permissive_wins() -> None:
    assert rules("Disallow: /page", "Allow: /page").reads("/page")


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("/fish", "/fish.html", True),
        ("/fish", "/Fish", False),
        ("/fish/", "/fish", False),
        ("/*.php", "/index.php?x=1", True),
        ("/*.php$", "/index.php", True),
        ("/*.php$", "/index.php?x=1", False),
        ("/*?", "/page?print=1", True),
        ("/*?", "/page", False),
        ("/a*b*c", "/a-b-c-d", True),
        ("/a*b*c", "/a-c-b", False),
        ("/a*a$", "/a", False),
        ("/end$", "/end", True),
        ("/end$", "/ending", False),
        ("/%7Ejoe", "/~joe/index.html", True),
        ("/ü", "/%C3%BC/page", True),
        ("//private", "//private/page", True),
        ("*", "/all", True),
    ],
)
def test_patterns(pattern: str, path: str, fits: bool) -> None:
    assert rules(f"Disallow: {pattern}").reads(path) is not fits


def test_our_own_group_replaces_the_one_for_everybody() -> None:
    crawl = Crawl(b"User-agent: *\nDisallow: /\n\nUser-Agent: Quoth/1.0\nDisallow: /private\nCrawl-delay: 2.5\n")
    assert crawl.reads("/docs")
    assert not crawl.reads("/private")
    assert crawl.waits() == 2.5


def test_groups_may_have_several_names_and_several_places() -> None:
    crawl = Crawl(
        b"User-agent: other\nUser-agent: quoth\nDisallow: /a\n"
        b"User-agent: third\nDisallow: /b\nUser-agent: quoth\nDisallow: /c"
    )
    assert [crawl.reads(path) for path in ("/a", "/b", "/c")] == [False, True, False]


def test_the_group_of_another_crawler_is_not_ours() -> None:
    assert Crawl(b"User-agent: quothbot\nDisallow: /").reads("/x")


def test_comments_line_endings_and_a_byte_order_mark_do_no_harm() -> None:
    crawl = Crawl("\ufeffUser-agent: * # all\r\nDisallow: /x # because\r\rnonsense\r\nDisallow:/y".encode())
    assert [crawl.reads(path) for path in ("/x", "/y", "/z")] == [False, False, True]


def test_sitemaps_are_named_outside_of_groups_and_once() -> None:
    crawl = Crawl(b"Sitemap: https://a.example/s.xml\nUser-agent: x\nSITEMAP: /t.xml\nSitemap: /t.xml")
    assert crawl.sitemaps() == ["https://a.example/s.xml", "/t.xml"]


@pytest.mark.parametrize("delay", ["soon", "-1", "nan", "inf", ""])
def test_a_delay_that_makes_no_sense_is_ignored(delay: str) -> None:
    assert rules(f"Crawl-delay: {delay}").waits() == 0.0


@pytest.mark.parametrize("delay", ["31", "3600", "1e9", "999999999"])
def test_a_delay_is_kept_up_to_a_bound_and_a_longer_one_is_reported(delay: str) -> None:
    crawl = rules(f"Crawl-delay: {delay}")
    assert crawl.waits() == MAX_CRAWL_DELAY
    (notice,) = crawl.notices()
    assert (notice.code, notice.source_file) == ("CRAWL_DELAY", "/robots.txt")
    assert f"{float(delay):g} s" in notice.message


def test_a_delay_within_the_bound_is_kept_without_a_notice() -> None:
    crawl = rules(f"Crawl-delay: {MAX_CRAWL_DELAY:g}")
    assert crawl.waits() == MAX_CRAWL_DELAY
    assert crawl.notices() == []


def test_the_part_of_a_file_beyond_the_limit_is_not_read() -> None:
    assert Crawl(b"User-agent: *\n" + b"#" * ROBOTS_BYTES + b"\nDisallow: /").reads("/x")


def test_a_pattern_of_many_wildcards_takes_no_time() -> None:
    assert rules("Disallow: /" + "a*" * 2_000 + "b").reads("/" + "a" * 5_000)


@given(st.binary(max_size=300), st.text(max_size=40))
def test_any_file_and_any_path_is_read_without_a_fault(data: bytes, path: str) -> None:
    Crawl(b"User-agent: *\n" + data).reads("/" + path.replace("?", ""))
