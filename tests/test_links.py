"""Every link opens: the URLs that Quoth would cite, compared with a built folder and with a published site."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given

from book_files import write
from commands import quoth
from quoth.bootstrap import web_of
from quoth.chunks.sections import addresses
from quoth.chunks.split import split
from quoth.errors import WrongUsage
from quoth.links import BuiltSite, Cited, LinkReport, Place, check_published, cited_by_source, compare, ids_of
from quoth.settings import load_settings
from quoth.sources import open_source
from quoth.testing.embedder import FakeEmbedder
from splitting import page as page_of
from websites import Reply, Website, website
from writings import pages, thorough

BOOK = {
    "mkdocs.yml": "site_name: X\nsite_url: https://x.org/docs/\n",
    "docs/index.md": "# Home\n\nWords.\n\n## First steps\n\nWords.\n",
    "docs/guide/start.md": "# Start\n\nWords.\n\n## Ünder way {#way}\n\nWords.\n\n## Gone\n\nWords.\n",
    "docs/lost.md": "# Lost\n\nWords.\n\n## Anchor\n\nWords.\n",
}
SITE = {
    "index.html": "<main><h1 id=home>Home</h1><h2 class='a' id='first-steps'>First steps</h2></main>",
    "guide/start/index.html": '<h2 id="way">Under way</h2><h2 id="gone-by">x</h2><script>"<p id=\'gone\'>"</script>',
    "404.html": "not here",
}


@pytest.fixture
def cited(tmp_path: Path) -> Cited:
    return cited_by_source(open_source(write(tmp_path / "book", BOOK), book_id="b"))


def described(report: LinkReport) -> list[str]:
    return [f"{bad.url} {bad.place.source_file}:{bad.place.line} {bad.problem} {bad.nearest}" for bad in report.wrong]


WRONG = [
    "https://x.org/docs/guide/start/#gone docs/guide/start.md:9 the page has no such anchor gone-by",
    "https://x.org/docs/lost/ docs/lost.md:1 the site has no such page ",
]


async def test_a_built_folder_is_compared_page_by_page(cited: Cited, tmp_path: Path) -> None:
    report = await compare(cited, BuiltSite(write(tmp_path / "site", SITE), cited.pages).look)
    assert described(report) == WRONG
    assert (report.pages, report.pages_found, report.anchors, report.anchors_found) == (3, 2, 4, 2)


async def test_a_folder_may_hold_the_site_with_the_path_of_its_address(cited: Cited, tmp_path: Path) -> None:
    site = write(tmp_path / "site", {f"docs/{name}": text for name, text in SITE.items()})
    assert described(await compare(cited, BuiltSite(site, cited.pages).look)) == WRONG


async def test_a_page_is_found_as_static_hosts_serve_it(tmp_path: Path) -> None:
    files = {"a.html": "<p id=x>", "b/index.html": "", "c": "", "secret.html": ""}
    site = write(tmp_path / "site", files)
    (site / "out.html").symlink_to("/etc/hostname")
    cited = Cited()
    for url in ("a#x", "a.html#x", "b", "b/", "c", "a/", "out", "../site/secret"):
        cited.add(f"https://x.org/{url}", Place("p.md", 1))
    report = await compare(cited, BuiltSite(site, cited.pages).look)
    assert [bad.url for bad in report.wrong] == ["https://x.org/a/", "https://x.org/out"]


def test_a_folder_that_is_none_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(WrongUsage, match="is not a folder"):
        BuiltSite(tmp_path / "nothing", [])


@pytest.fixture
def site(cited: Cited) -> Iterator[Website]:
    with website() as made:
        for name, text in SITE.items():
            made.replies[f"/docs/{name.removesuffix('index.html')}"] = Reply(text.encode())
        yield made


def live(cited: Cited, site: Website) -> LinkReport:
    moved = cited.rebased("https://x.org", site.url)
    return asyncio.run(check_published(moved, web_of(load_settings(allow_private=True))))


def test_a_published_site_is_asked_for_every_page_once(cited: Cited, site: Website) -> None:
    report = live(cited, site)
    assert [line.removeprefix(site.url) for line in described(report)] == [
        "/docs/guide/start/#gone docs/guide/start.md:9 the page has no such anchor gone-by",
        "/docs/lost/ docs/lost.md:1 HTTP 404 ",
    ]
    assert sorted(site.asked) == ["/docs/", "/docs/guide/start/", "/docs/lost/", "/robots.txt"]


def test_what_robots_txt_forbids_is_not_asked_for_and_not_called_wrong(cited: Cited, site: Website) -> None:
    site.replies["/robots.txt"] = Reply(b"User-agent: *\nDisallow: /docs/guide/", type="text/plain")
    site.replies["/docs/lost/"] = Reply(b"", 301, {"Location": "/docs/"})
    report = live(cited, site)
    assert [bad.problem for bad in report.unchecked] == ["robots.txt forbids /docs/guide/start/"]
    assert (report.pages, report.pages_found, report.redirected) == (2, 2, 1)
    assert [bad.url.rpartition("/")[2] for bad in report.wrong] == ["#anchor"]
    assert "/docs/guide/start/" not in site.asked


def test_a_book_without_an_address_is_told_what_to_pass() -> None:
    cited = Cited()
    cited.add("guide/a.md#b", Place("a.md", 1))
    with pytest.raises(WrongUsage, match="does not say where it is published"):
        asyncio.run(check_published(cited, web_of(load_settings())))
    assert list(cited.rebased("", "https://x.org/").pages) == ["https://x.org/guide/a.md"]


def test_ids_are_those_of_elements() -> None:
    html = b"<a name=one></a><!-- <p id=no> --><p class=x id='t&amp;w'><style>#z {}</style><p\n ID=\"three\">"
    assert ids_of(html) == {"one", "t&w", "three"}


@thorough
@given(pages())
def test_the_addresses_that_are_checked_are_those_that_chunks_have(text: str) -> None:
    written = page_of(text)
    assert set(addresses(written)) >= {chunk.url for chunk in split(written, FakeEmbedder().tokens)}


@pytest.mark.slow
def test_the_command_prints_a_table_or_json_and_fails_if_something_is_wrong(tmp_path: Path) -> None:
    book, built = write(tmp_path / "book", BOOK), write(tmp_path / "site", SITE)
    run = quoth("check-links", book, "--site", built, "--data-dir", tmp_path / "data")
    assert run.returncode == 1
    assert run.stdout.splitlines()[-1] == "2 of 3 pages and 2 of 4 anchors found."
    assert "wrong  https://x.org/docs/lost/  docs/lost.md:1  the site has no such page" in run.stdout
    quoth("ingest", book, "--book", "b", "--data-dir", tmp_path / "data")
    run = quoth("check-links", "--book", "b", "--site", built, "--json", "--data-dir", tmp_path / "data")
    found = json.loads(run.stdout)
    assert (run.returncode, found["ok"], found["pages"], len(found["wrong"])) == (1, False, 3, 2)
    write(tmp_path / "site", {"lost/index.html": "<h2 id=anchor>", "guide/start/index.html": "<h2 id=way><h2 id=gone>"})
    run = quoth("check-links", book, "--site", built, "--data-dir", tmp_path / "data")
    assert (run.returncode, run.stdout) == (0, "3 of 3 pages and 4 of 4 anchors found.\n")
