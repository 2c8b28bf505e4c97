"""A published site goes in like a folder does: a real server, real requests, and everything that sites do wrong."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from commands import quoth
from quoth.bootstrap import book_id_for, fingerprint_of, web_of
from quoth.domain import Chunk, IngestJob, IngestMode, Page
from quoth.errors import Unreadable
from quoth.ingest import Ingest
from quoth.models.web import FetchOptions, open_fetcher
from quoth.ports import Fetcher
from quoth.settings import load_settings
from quoth.sources import CrawlOptions, Web, open_source
from quoth.sources.site import SitemapSource
from quoth.testing.embedder import FakeEmbedder
from quoth.testing.index import MemoryIndex
from quoth.testing.library import MemoryLibrary
from samples import TickingClock
from websites import Reply, Website, sitemap_of, website

pytestmark = pytest.mark.slow


async def no_waiting(seconds: float) -> None:
    """Nobody waits in a test."""


@dataclass
class Reader:
    """Reads one website again and again into one book."""

    site: Website
    options: CrawlOptions = CrawlOptions()
    fetching: FetchOptions = FetchOptions(allow_private=True)
    start: str = "/sitemap.xml"
    embedder: FakeEmbedder = field(default_factory=FakeEmbedder)
    library: MemoryLibrary = field(default_factory=MemoryLibrary)
    slept: list[float] = field(default_factory=list)
    told: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.index = MemoryIndex(fingerprint_of(self.embedder))

    def source(self, *, title: str = "", base_url: str = "") -> SitemapSource:
        async def sleep(seconds: float) -> None:
            self.slept.append(seconds)

        def opened() -> AbstractAsyncContextManager[Fetcher]:
            return open_fetcher(self.fetching, sleep=no_waiting)

        web = Web(opened, self.options, lambda done, total: self.told.append((done, total)), sleep)
        source = open_source(self.site.url + self.start, book_id="book", web=web, title=title, base_url=base_url)
        assert isinstance(source, SitemapSource)
        return source

    def pages(self, *, base_url: str = "") -> dict[str, Page]:
        source = self.source(base_url=base_url)
        return {file.source_file: source.read(file) for file in source.files()}

    async def ingest(self, mode: IngestMode = "incremental") -> IngestJob:
        self.embedder.calls.clear()
        return await Ingest(self.index, self.library, self.embedder, TickingClock()).run(self.source(), mode=mode)

    async def chunks(self) -> list[Chunk]:
        return [chunk async for chunk in self.index.scan("book")]

    async def files(self) -> set[str]:
        return {chunk.source_file for chunk in await self.chunks()}


@pytest.fixture
def site() -> Iterator[Website]:
    with website() as running:
        running.page("/docs/intro/", "Introduction")
        running.page("/docs/topics/", "Topics")
        running.sitemap("/docs/intro/", "/docs/topics/")
        yield running


@pytest.fixture
def reader(site: Website) -> Reader:
    return Reader(site)


def skipped(source: SitemapSource) -> dict[str, str]:
    source.files()
    return {notice.source_file: notice.message for notice in source.skipped}


def notices(source: SitemapSource) -> dict[str, str]:
    source.files()
    return {notice.code: notice.message for notice in source.notices}


# --- what comes out ---


def test_each_page_has_its_path_its_url_its_title_and_its_own_anchors(site: Website, reader: Reader) -> None:
    pages = reader.pages()
    assert list(pages) == ["/docs/intro/", "/docs/topics/"]
    page = pages["/docs/intro/"]
    assert (page.url, page.title, page.trail) == (f"{site.url}/docs/intro/", "Introduction", ("docs",))
    assert (page.labels.language, page.markup, page.anchors) == ("en", "markdown", "html")
    assert "## More {#more}" in page.text
    assert "Menu" not in page.text


async def test_citations_of_a_crawled_page_open_at_its_own_anchors(site: Website, reader: Reader) -> None:
    await reader.ingest()
    urls = {chunk.url for chunk in await reader.chunks() if chunk.source_file == "/docs/intro/"}
    assert urls == {f"{site.url}/docs/intro/", f"{site.url}/docs/intro/#more"}
    for chunk in await reader.chunks():
        assert chunk.breadcrumb[0] == "docs"


def test_the_book_is_called_what_its_pages_call_the_site(site: Website, reader: Reader) -> None:
    source = reader.source()
    assert source.book.title == site.url.removeprefix("http://")
    source.files()
    assert (source.book.title, source.book.base_url) == ("Sample", f"{site.url}/")
    assert (source.book.source, source.book.toolchain) == (f"{site.url}/sitemap.xml", "site")
    assert reader.source(title="Mine").book.title == "Mine"


def test_a_base_url_stands_for_the_folder_of_the_sitemap(site: Website, reader: Reader) -> None:
    site.sitemap("/docs/intro/", "/other/", at="/docs/sitemap.xml")
    site.page("/other/", "Other")
    reader.start = "/docs/sitemap.xml"
    urls = {name: page.url for name, page in reader.pages(base_url="https://book.example/guide/").items()}
    assert urls == {"/docs/intro/": "https://book.example/guide/intro/", "/other/": f"{site.url}/other/"}


def test_a_query_that_the_sitemap_names_belongs_to_the_page(site: Website, reader: Reader) -> None:
    site.page("/page?id=1", "One")
    site.page("/page?id=2", "Two")
    site.sitemap("/page?id=1", "/page?id=2")
    assert {name: page.title for name, page in reader.pages().items()} == {"/page?id=1": "One", "/page?id=2": "Two"}


def test_a_page_in_another_encoding_is_read(site: Website, reader: Reader) -> None:
    site.page("/docs/intro/", "Intro")
    html = "<html><body><h1>Größe</h1><p>Über alles.</p></body></html>".encode("latin-1")
    site.replies["/docs/intro/"] = Reply(html, type="text/html; charset=ISO-8859-1")
    assert "Über alles." in reader.pages()["/docs/intro/"].text


@pytest.mark.parametrize("charset", ["nonsense", "idna", "punycode", "utf-7", "hex", "undefined"])
def test_any_charset_that_a_server_names_is_accepted(site: Website, reader: Reader, charset: str) -> None:
    site.page("/docs/intro/", "Introduction", type=f"text/html; charset={charset}")
    source = reader.source()
    assert [file.source_file for file in source.files()] == ["/docs/intro/", "/docs/topics/"]


def test_a_page_without_text_is_reported(site: Website, reader: Reader) -> None:
    site.replies["/docs/intro/"] = Reply(
        b"<!doctype html><html><body><div id=root></div><script>x()</script></body></html>"
    )
    assert [notice.code for notice in reader.pages()["/docs/intro/"].notices] == ["PAGE_EMPTY"]


# --- where sitemaps are found ---


def test_an_index_of_sitemaps_is_followed_compressed_ones_too(site: Website, reader: Reader) -> None:
    site.sitemap("/docs/intro/", at="/one.xml")
    packed = gzip.compress(sitemap_of(iter([f"{site.url}/docs/topics/"])))
    site.replies["/two.xml.gz"] = Reply(packed, type="application/gzip")
    inner = sitemap_of(iter([f"{site.url}/two.xml.gz", f"{site.url}/sitemap.xml"]), kind="sitemapindex", item="sitemap")
    site.replies["/inner.xml"] = Reply(inner, type="application/xml")
    outer = sitemap_of(iter([f"{site.url}/one.xml", f"{site.url}/inner.xml"]), kind="sitemapindex", item="sitemap")
    site.replies["/sitemap.xml"] = Reply(outer, type="application/xml")
    assert list(reader.pages()) == ["/docs/intro/", "/docs/topics/"]
    assert len(site.asked) == len(set(site.asked))


def test_nesting_of_indexes_is_limited(site: Website, reader: Reader) -> None:
    for number in range(5):
        at = "/sitemap.xml" if number == 0 else f"/s{number}.xml"
        inner = sitemap_of(iter([f"{site.url}/s{number + 1}.xml"]), kind="sitemapindex", item="sitemap")
        site.replies[at] = Reply(inner, type="text/xml")
    with pytest.raises(Unreadable, match="too deep"):
        reader.source().files()


def test_a_plain_list_is_a_sitemap(site: Website, reader: Reader) -> None:
    site.replies["/pages.txt"] = Reply(f"{site.url}/docs/intro/\n".encode(), type="text/plain")
    reader.start = "/pages.txt"
    assert list(reader.pages()) == ["/docs/intro/"]


def test_the_start_page_of_a_site_is_enough(site: Website, reader: Reader) -> None:
    site.page("/", "Home")
    reader.start = ""
    assert list(reader.pages()) == ["/docs/intro/", "/docs/topics/"]


def test_robots_txt_says_where_sitemaps_are(site: Website, reader: Reader) -> None:
    site.page("/", "Home")
    site.sitemap("/docs/intro/", at="/hidden/one.xml")
    site.sitemap("/docs/topics/", at="/hidden/two.xml")
    del site.replies["/sitemap.xml"]
    lines = (
        f"Sitemap: {site.url}/hidden/one.xml\nSitemap: {site.url}/hidden/two.xml\nSitemap: https://else.example/s.xml"
    )
    site.replies["/robots.txt"] = Reply(lines.encode(), type="text/plain")
    reader.start = "/"
    assert list(reader.pages()) == ["/docs/intro/", "/docs/topics/"]


def test_only_the_given_folder_of_a_site_is_read(site: Website, reader: Reader) -> None:
    site.page("/docs/", "Home of the documentation")
    site.page("/blog/", "Blog")
    site.sitemap("/docs/intro/", "/blog/", "/docs/")
    reader.start = "/docs"
    site.page("/docs", "Home of the documentation")
    source = reader.source()
    assert [file.source_file for file in source.files()] == ["/docs/", "/docs/intro/"]
    assert [notice.code for notice in source.notices] == ["OUTSIDE_FOLDER"]
    assert "/blog/" not in site.asked


def test_a_site_without_a_sitemap_says_what_to_do(site: Website, reader: Reader) -> None:
    del site.replies["/sitemap.xml"]
    site.page("/", "Home")
    reader.start = "/"
    with pytest.raises(Unreadable, match="has no sitemap") as told:
        reader.source().files()
    assert "sitemap" in told.value.hint


def test_a_host_that_answers_everything_with_its_start_page_has_no_sitemap(site: Website, reader: Reader) -> None:
    for path in ("/", "/robots.txt", "/sitemap.xml"):
        site.page(path, "Home")
    reader.start = "/"
    with pytest.raises(Unreadable, match="has no sitemap"):
        reader.source().files()
    reader.start = "/sitemap.xml"
    with pytest.raises(Unreadable, match="is a web page"):
        reader.source().files()


# --- what is left alone ---


def test_pages_that_robots_txt_forbids_are_not_fetched(site: Website, reader: Reader) -> None:
    site.replies["/robots.txt"] = Reply(b"User-agent: *\nDisallow: /docs/topics", type="text/plain")
    assert "robots.txt" in skipped(reader.source())["/docs/topics/"]
    assert "/docs/topics/" not in site.asked


def test_a_redirect_to_a_forbidden_page_is_not_followed(site: Website, reader: Reader) -> None:
    site.replies["/robots.txt"] = Reply(b"User-agent: quoth\nDisallow: /private", type="text/plain")
    site.replies["/docs/topics/"] = Reply(status=302, headers={"Location": "/private"})
    site.page("/private", "Private")
    assert "robots.txt" in skipped(reader.source())["/docs/topics/"]
    assert "/private" not in site.asked


@pytest.mark.parametrize("status", [500, 503])
def test_without_an_answer_about_robots_nothing_is_read(site: Website, reader: Reader, status: int) -> None:
    site.replies["/robots.txt"] = Reply(status=status)
    with pytest.raises(Unreadable, match=r"robots\.txt"):
        reader.source().files()
    assert set(site.asked) == {"/robots.txt"}


def test_a_crawl_delay_is_kept_up_to_a_bound(site: Website, reader: Reader) -> None:
    site.replies["/robots.txt"] = Reply(b"User-agent: *\nCrawl-delay: 2", type="text/plain")
    reader.pages()
    assert reader.slept == [2.0, 2.0, 2.0]  # the sitemap and two pages
    reader.slept.clear()
    site.replies["/robots.txt"] = Reply(b"User-agent: *\nCrawl-delay: 3600", type="text/plain")
    assert "CRAWL_DELAY" in notices(reader.source())
    assert reader.slept == [30.0, 30.0, 30.0]


@pytest.mark.parametrize(
    "reply",
    [
        Reply(b'<html><head><meta name="ROBOTS" content="NoIndex, follow"></head><body><p>x</p></body></html>'),
        Reply(b"<html><body><p>x</p></body></html>", headers={"X-Robots-Tag": "noindex"}),
        Reply(b"<html><body><p>x</p></body></html>", headers={"X-Robots-Tag": "nofollow, none"}),
        Reply(b"<html><body><p>x</p></body></html>", headers={"X-Robots-Tag": "quoth: noindex"}),
    ],
)
def test_pages_that_ask_not_to_be_indexed_are_not(site: Website, reader: Reader, reply: Reply) -> None:
    site.replies["/docs/topics/"] = reply
    assert "noindex" in skipped(reader.source())["/docs/topics/"]


@pytest.mark.parametrize("tag", ["googlebot: noindex", "max-snippet: 20, index", "unavailable_after: 1 Jan 2020", ""])
def test_directives_for_another_crawler_do_not_concern_us(site: Website, reader: Reader, tag: str) -> None:
    site.page("/docs/topics/", "Topics", headers={"X-Robots-Tag": tag})
    assert "/docs/topics/" in reader.pages()


@pytest.mark.parametrize("status", [404, 410])
def test_a_page_that_is_gone_is_left_out_and_reported(site: Website, reader: Reader, status: int) -> None:
    site.replies["/docs/topics/"] = Reply(b"gone", status)
    assert str(status) in skipped(reader.source())["/docs/topics/"]


@pytest.mark.parametrize("type", ["application/pdf", "image/png", "text/plain", ""])
def test_a_file_that_is_not_a_web_page_is_left_out_and_reported(site: Website, reader: Reader, type: str) -> None:
    site.replies["/docs/topics/"] = Reply(b"x" * 100, type=type)
    assert "not text/html" in skipped(reader.source())["/docs/topics/"]


def test_addresses_on_other_sites_are_counted_and_never_fetched(site: Website, reader: Reader) -> None:
    with website() as other:
        other.page("/docs/", "Other")
        mixed = [
            f"{site.url}/docs/intro/",
            f"{other.url}/docs/",
            "https://else.example/",
            site.url.replace("http", "ftp"),
        ]
        site.replies["/sitemap.xml"] = Reply(sitemap_of(iter(mixed)), type="text/xml")
        source = reader.source()
        assert notices(source)["OTHER_SITE"].startswith("3 addresses")
        assert [file.source_file for file in source.files()] == ["/docs/intro/"]
        assert other.asked == []


def test_a_sitemap_of_another_site_names_the_site_to_read(site: Website, reader: Reader) -> None:
    site.replies["/sitemap.xml"] = Reply(sitemap_of(iter(["https://book.example/a"])), type="text/xml")
    with pytest.raises(Unreadable, match="only pages on other sites") as told:
        reader.source().files()
    assert "https://book.example/" in told.value.hint


def test_a_redirect_to_another_site_is_refused(site: Website, reader: Reader) -> None:
    with website() as other:
        other.page("/", "Other")
        site.replies["/docs/topics/"] = Reply(status=301, headers={"Location": f"{other.url}/"})
        assert other.url in skipped(reader.source())["/docs/topics/"]
        site.replies["/sitemap.xml"] = Reply(status=301, headers={"Location": f"{other.url}/sitemap.xml"})
        with pytest.raises(Unreadable, match="another site"):
            reader.source().files()
        assert other.asked == []


# --- redirects, canonical addresses, duplicates ---


def test_a_redirect_within_the_site_gives_the_final_url(site: Website, reader: Reader) -> None:
    site.replies["/docs/old"] = Reply(status=301, headers={"Location": "topics"})
    site.replies["/docs/topics"] = Reply(status=308, headers={"Location": "/docs/topics/"})
    site.sitemap("/docs/intro/", "/docs/old")
    page = reader.pages()["/docs/old"]
    assert (page.url, page.title) == (f"{site.url}/docs/topics/", "Topics")


def test_addresses_that_lead_to_one_page_are_one_page_under_its_own_name(site: Website, reader: Reader) -> None:
    for path in ("/docs/a-old", "/docs/z-old"):
        site.replies[path] = Reply(status=301, headers={"Location": "/docs/topics/"})
    site.sitemap("/docs/a-old", "/docs/intro/", "/docs/topics/", "/docs/z-old", "/docs/topics/")
    source = reader.source()
    assert [file.source_file for file in source.files()] == ["/docs/intro/", "/docs/topics/"]
    assert {notice.source_file for notice in source.skipped} == {"/docs/a-old", "/docs/z-old"}


def test_of_two_ways_to_a_page_outside_the_sitemap_the_first_stays(site: Website, reader: Reader) -> None:
    site.page("/docs/new", "New")
    for path in ("/docs/b", "/docs/a"):
        site.replies[path] = Reply(status=301, headers={"Location": "/docs/new"})
    site.sitemap("/docs/b", "/docs/a")
    assert {name: page.url for name, page in reader.pages().items()} == {"/docs/b": f"{site.url}/docs/new"}


def test_endless_redirects_end(site: Website, reader: Reader) -> None:
    site.replies["/docs/topics/"] = Reply(status=302, headers={"Location": "/docs/topics/"})
    source = reader.source()
    files = {file.source_file: file for file in source.files()}
    with pytest.raises(Unreadable, match="more than 5 times"):
        source.read(files["/docs/topics/"])


def test_a_canonical_address_is_the_url_of_the_page(site: Website, reader: Reader) -> None:
    site.page("/docs/topics/", "Topics", head="<link rel=canonical href=/docs/topics>")
    assert reader.pages()["/docs/topics/"].url == f"{site.url}/docs/topics"


def test_a_canonical_address_on_another_site_is_not_believed(site: Website, reader: Reader) -> None:
    site.page("/docs/topics/", "Topics", head='<link rel="canonical" href="https://else.example/docs/topics/">')
    assert reader.pages()["/docs/topics/"].url == f"{site.url}/docs/topics/"


def test_a_page_whose_canonical_page_is_in_the_book_is_left_out(site: Website, reader: Reader) -> None:
    site.page("/docs/v1/topics/", "Topics", head="<link rel=canonical href=/docs/topics/>")
    site.sitemap("/docs/v1/topics/", "/docs/topics/")
    assert skipped(reader.source()) == {"/docs/v1/topics/": "it is the same page as /docs/topics/"}


# --- limits ---


def test_no_more_pages_are_read_than_allowed(site: Website, reader: Reader) -> None:
    for number in range(9):
        site.page(f"/p{number}", f"Page {number}")
    site.sitemap(*(f"/p{number}" for number in range(9)))
    reader.options = CrawlOptions(max_pages=4)
    source = reader.source()
    assert "PAGE_LIMIT" in notices(source)
    assert [file.source_file for file in source.files()] == ["/p0", "/p1", "/p2", "/p3"]
    reader.options = CrawlOptions(max_pages=9)
    assert "PAGE_LIMIT" not in notices(reader.source())


def test_concurrent_requests_are_bounded_and_really_concurrent(site: Website, reader: Reader) -> None:
    everybody = threading.Barrier(3)
    for number in range(6):
        site.page(f"/p{number}", f"Page {number}")
    site.sitemap(*(f"/p{number}" for number in range(6)))

    def meet(path: str) -> None:
        if path.startswith("/p"):
            everybody.wait(10)

    site.on_request = meet
    reader.options = CrawlOptions(requests=3)
    assert len(reader.pages()) == 6
    assert site.most_at_once == 3


def test_what_comes_after_the_last_allowed_byte_is_reported_not_deleted(site: Website, reader: Reader) -> None:
    reader.options = CrawlOptions(max_total_bytes=1, requests=1)
    source = reader.source()
    files = source.files()
    assert len(files) == 2
    for file in files:
        with pytest.raises(Unreadable, match="the crawl reached its limit"):
            source.read(file)
    assert "/docs/intro/" not in site.asked


def test_a_site_that_goes_down_is_not_asked_for_every_page(site: Website, reader: Reader) -> None:
    site.sitemap(*(f"/down{number}" for number in range(200)))
    for number in range(200):
        site.replies[f"/down{number}"] = Reply(status=403)
    source = reader.source()
    assert len(source.files()) == 200
    assert 24 <= sum(path.startswith("/down") for path in site.asked) < 40


def test_progress_of_the_download_is_reported(site: Website, reader: Reader) -> None:
    reader.pages()
    assert reader.told == [(0, 2), (1, 2), (2, 2)]


# --- again and again ---


async def test_a_second_crawl_of_an_unchanged_site_embeds_nothing(site: Website, reader: Reader) -> None:
    first = await reader.ingest()
    assert (first.status, first.files_processed, first.files_failed) == ("completed", 2, 0)
    second = await reader.ingest()
    assert (second.files_skipped, second.files_processed, reader.embedder.calls) == (2, 0, [])


async def test_a_change_outside_the_text_of_a_page_does_not_count(site: Website, reader: Reader) -> None:
    site.page("/docs/intro/", "Introduction", head="<meta name=csrf content=1><script>var now = 1</script>")
    await reader.ingest()
    site.page("/docs/intro/", "Introduction", head="<meta name=csrf content=2><script>var now = 2</script>")
    assert (await reader.ingest()).files_skipped == 2


async def test_a_changed_page_is_read_again_and_only_its_new_text_embedded(site: Website, reader: Reader) -> None:
    await reader.ingest()
    site.page("/docs/topics/", "Topics", "Topics carry messages.")
    job = await reader.ingest()
    assert (job.files_processed, job.files_skipped) == (1, 1)
    assert any("Topics carry messages." in text for text in reader.embedder.calls)
    assert all("Introduction" not in text for text in reader.embedder.calls)


async def test_a_page_that_left_the_sitemap_leaves_the_book(site: Website, reader: Reader) -> None:
    await reader.ingest()
    site.sitemap("/docs/intro/")
    job = await reader.ingest()
    assert job.files_deleted == 1
    assert await reader.files() == {"/docs/intro/"}


@pytest.mark.parametrize(
    "fault",
    [
        Reply(status=500),
        Reply(status=403),
        Reply(b"x" * 200_000),
        Reply(b"x" * 1_000, drip=0.05),
        Reply(b"broken", headers={"Content-Encoding": "gzip"}),
    ],
    ids=["fails", "forbids", "huge", "slow", "damaged"],
)
async def test_a_page_that_cannot_be_fetched_this_time_keeps_its_text(
    site: Website, reader: Reader, fault: Reply
) -> None:
    reader.options = CrawlOptions(max_page_bytes=100_000)
    await reader.ingest()
    before = await reader.chunks()
    reader.fetching = FetchOptions(allow_private=True, timeout=2.0 if fault.drip else 60.0)
    site.replies["/docs/topics/"] = fault
    job = await reader.ingest()
    assert (job.status, job.files_failed, job.files_deleted) == ("completed", 1, 0)
    (fatal,) = [notice for notice in job.notices if notice.fatal]
    assert (fatal.code, fatal.source_file) == ("UNREADABLE_PAGE", "/docs/topics/")
    assert await reader.chunks() == before


async def test_a_failed_page_recovers_with_the_next_crawl(site: Website, reader: Reader) -> None:
    site.page("/docs/late/", "Late")
    good = site.replies["/docs/late/"]
    site.sitemap("/docs/intro/", "/docs/late/")
    site.replies["/docs/late/"] = Reply(status=500)
    assert (await reader.ingest()).files_failed == 1
    site.replies["/docs/late/"] = good
    assert (await reader.ingest()).files_failed == 0
    assert await reader.files() == {"/docs/intro/", "/docs/late/"}


async def test_a_server_that_stumbles_once_costs_nothing(site: Website, reader: Reader) -> None:
    good = site.replies["/docs/topics/"]
    assert isinstance(good, Reply)
    site.replies["/docs/topics/"] = [Reply(status=500), good]
    assert (await reader.ingest()).files_failed == 0


@pytest.mark.parametrize("fault", [Reply(status=500), Reply(status=403), Reply(b"<urlset>"), Reply(b"nonsense")])
async def test_a_sitemap_that_cannot_be_read_changes_nothing(site: Website, reader: Reader, fault: Reply) -> None:
    site.sitemap("/docs/intro/", at="/one.xml")
    site.sitemap("/docs/topics/", at="/two.xml")
    parts = sitemap_of(iter([f"{site.url}/one.xml", f"{site.url}/two.xml"]), kind="sitemapindex", item="sitemap")
    site.replies["/sitemap.xml"] = Reply(parts, type="text/xml")
    await reader.ingest()
    before = await reader.chunks()
    site.replies["/two.xml"] = fault
    with pytest.raises(Unreadable, match=r"two\.xml"):
        await reader.ingest()
    assert await reader.chunks() == before


async def test_a_missing_sitemap_takes_its_pages_along_and_is_reported(site: Website, reader: Reader) -> None:
    parts = sitemap_of(iter([f"{site.url}/one.xml", f"{site.url}/two.xml"]), kind="sitemapindex", item="sitemap")
    site.sitemap("/docs/intro/", at="/one.xml")
    site.replies["/sitemap.xml"] = Reply(parts, type="text/xml")
    job = await reader.ingest()
    assert await reader.files() == {"/docs/intro/"}
    assert [notice.source_file for notice in job.notices if notice.code == "SITEMAP_MISSING"] == ["/two.xml"]


# --- the ends ---


def test_a_crawl_that_is_closed_ends_soon_and_says_so(site: Website, reader: Reader) -> None:
    release = threading.Event()
    asked = threading.Event()

    def hold(path: str) -> None:
        if path.startswith("/docs/"):
            asked.set()
            release.wait(30)

    site.on_request = hold
    source = reader.source()
    ended: list[Unreadable] = []

    def crawl() -> None:
        try:
            source.files()
        except Unreadable as error:
            ended.append(error)

    thread = threading.Thread(target=crawl)
    thread.start()
    assert asked.wait(10)
    source.close()
    thread.join(10)
    release.set()
    assert [("was stopped" in error.message) for error in ended] == [True]
    source.close()
    with pytest.raises(Unreadable, match="was stopped"):
        source.files()


async def test_an_ingest_that_is_cancelled_stops_its_crawl(site: Website, reader: Reader) -> None:
    release, asked = threading.Event(), threading.Event()

    def hold(path: str) -> None:
        if path.startswith("/docs/"):
            asked.set()
            release.wait(30)

    site.on_request = hold
    source = reader.source()
    ingest = Ingest(reader.index, reader.library, reader.embedder, TickingClock())

    async def work() -> None:
        try:
            await ingest.run(source)
        finally:
            source.close()

    task = asyncio.create_task(work())
    await asyncio.to_thread(asked.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.to_thread(release.set)
    (job,) = await reader.library.jobs("book")
    assert job.status == "failed"


def test_nothing_is_left_on_disk(
    site: Website, reader: Reader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    source = reader.source()
    assert source.read(source.files()[0]).text
    source.close()
    assert list(tmp_path.iterdir()) == []


def test_a_page_that_was_not_listed_cannot_be_read(reader: Reader) -> None:
    from quoth.domain import SourceFile

    source = reader.source()
    source.files()
    with pytest.raises(Unreadable, match="not a page of this book"):
        source.read(SourceFile("/elsewhere", "x"))


def test_a_site_is_read_only_if_that_is_allowed() -> None:
    with pytest.raises(Unreadable, match="sites are not read here"):
        open_source("https://a.example/", book_id="book")


def test_a_private_site_is_read_only_if_that_is_allowed(site: Website, tmp_path: Path) -> None:
    source = open_source(site.url, book_id="book", web=web_of(load_settings(data_dir=tmp_path)))
    with pytest.raises(Unreadable, match="only ports 80 and 443"):
        source.files()
    allowed = web_of(load_settings(data_dir=tmp_path, allow_private=True))
    assert len(open_source(f"{site.url}/sitemap.xml", book_id="book", web=allowed).files()) == 2
    assert "/docs/intro/" in site.asked


@pytest.mark.parametrize(
    ("path", "book_id"),
    [
        ("https://docs.example.com", "docs.example.com"),
        ("https://docs.example.com/sitemap.xml", "docs.example.com"),
        ("https://example.com/Guide/sitemap.xml.gz?x=1", "example.com-guide"),
        ("http://127.0.0.1:8000/pages.txt", "127.0.0.1-8000"),
        ("My Docs/", "my-docs"),
    ],
)
def test_a_site_has_a_book_id_that_tells_which_it_is(path: str, book_id: str) -> None:
    assert book_id_for(path) == book_id


# --- the command line ---


@pytest.mark.slow
def test_a_site_can_be_asked_and_a_failing_page_is_exit_code_3(site: Website, tmp_path: Path) -> None:
    site.page("/docs/gripper/", "Gripper", "The gripper closes with a force of 40 newtons.")
    site.sitemap("/docs/intro/", "/docs/gripper/")
    url = f"{site.url}/sitemap.xml"
    run = quoth("ingest", url, "--allow-private", "--book", "site", "--json", "--data-dir", tmp_path)
    assert run.returncode == 0, run.stderr
    job: dict[str, Any] = json.loads(run.stdout)
    assert (job["files_processed"], job["status"]) == (2, "completed")
    asked = quoth("ask", "With which force does the gripper close?", "--data-dir", tmp_path)
    assert "40 newtons" in asked.stdout
    assert f"{site.url}/docs/gripper/" in asked.stdout
    site.replies["/docs/gripper/"] = Reply(status=403)
    again = quoth("ingest", url, "--allow-private", "--book", "site", "--data-dir", tmp_path)
    assert again.returncode == 3
    assert "/docs/gripper/" in again.stderr
    assert "40 newtons" in quoth("ask", "With which force does the gripper close?", "--data-dir", tmp_path).stdout


@pytest.mark.slow
def test_a_private_site_is_refused_in_one_line_that_says_what_to_do(site: Website, tmp_path: Path) -> None:
    for url in ("http://127.0.0.1/sitemap.xml", "http://localhost/", f"{site.url}/sitemap.xml"):
        run = quoth("ingest", url, "--data-dir", tmp_path)
        assert run.returncode == 3
        assert run.stderr.count("\n") == 1
        assert "--allow-private" in run.stderr
    assert site.asked == []
