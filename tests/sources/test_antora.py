"""Antora: components, modules, resources and addresses, compared with what Antora has published."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from book_files import pages_of, urls_of, write
from quoth.domain import Page
from quoth.sources import open_source
from quoth.text.markdown import leaves, parse

BOOKS = Path(__file__).parents[1] / "asciidoc_books"
BUILDS: dict[str, Any] = json.loads((BOOKS / "builds.json").read_text())
PAGE = "modules/ROOT/pages/index.adoc"


def headings_of(page: Page) -> list[list[object]]:
    blocks = parse(page.text, markup=page.markup, start=page.body_start)
    return [[leaf.anchor, leaf.level] for leaf in leaves(blocks) if leaf.level]


def published(file: str, style: str) -> str:
    """The address of a built file."""
    if style == "default":
        return file
    name = file.removesuffix("index.html")
    return name if style == "indexify" else name.removesuffix(".html")


@pytest.mark.parametrize("style", ["default", "drop", "indexify"])
def test_pages_addresses_and_ids_are_those_that_antora_publishes(tmp_path: Path, style: str) -> None:
    site = Path(shutil.copytree(BOOKS / "antora", tmp_path / "site"))
    playbook = site / "antora-playbook.yml"
    playbook.write_text(f"{playbook.read_text()}urls:\n  html_extension_style: {style}\n")
    source = open_source(site, book_id="b")
    assert (source.toolchain, source.book.title, source.book.base_url) == (
        "antora",
        "The Site",
        "https://docs.example.org",
    )
    built = BUILDS[f"antora-{style}"]["pages"]
    found = {page.url: headings_of(page) for page in pages_of(source).values()}
    assert found == {
        f"https://docs.example.org/{published(file, style)}": page["headings"] for file, page in built.items()
    }


def test_the_words_of_a_page_are_those_that_antora_publishes() -> None:
    source = open_source(BOOKS / "antora", book_id="b")
    page = pages_of(source)["docs/modules/ROOT/pages/index.adoc"]
    blocks = parse(page.text, markup=page.markup, start=page.body_start)
    words = " ".join(" ".join(leaf.plain for leaf in leaves(blocks)).split())
    built = BUILDS["antora-default"]["pages"]["gripper/2.0/index.html"]["words"]
    missing = " Unresolved include directive in modules/ROOT/pages/index.adoc - include::other:partial$nothing.adoc[]"
    assert missing in built
    assert words == built.replace(missing, "")
    assert [notice.code for notice in page.notices] == ["INCLUDE_MISSING"]


def test_a_link_without_words_says_the_title_of_the_page(tmp_path: Path) -> None:
    files = {
        "antora.yml": "name: c\nversion: ~\n",
        PAGE: "= A\n\nSee xref:b.adoc[], xref:m:c.adoc[] and xref:b.adoc#x[].\n",
        "modules/ROOT/pages/b.adoc": "// c\n= The *B* Page\n",
        "modules/m/pages/c.adoc": "= See C\n",
    }
    page = pages_of(open_source(write(tmp_path, files), book_id="b"))[PAGE]
    assert "See xref:b.adoc[The B Page], xref:m:c.adoc[See C] and xref:b.adoc#x[]." in page.text


def test_a_part_of_a_component_is_read_by_its_rules() -> None:
    docs = BOOKS / "antora" / "docs"
    for folder, name in ((docs, "modules/ROOT/pages/deep/page.adoc"), (docs / "modules/ROOT/pages/deep", "page.adoc")):
        source = open_source(folder, book_id="b")
        assert source.toolchain == "antora"
        assert urls_of(source)[name] == "https://docs.example.org/gripper/2.0/deep/page.html"


def test_the_navigation_gives_the_place_of_a_page() -> None:
    pages = pages_of(open_source(BOOKS / "antora", book_id="b"))
    assert pages["docs/modules/ROOT/pages/deep/page.adoc"].trail == ("Start", "Home")
    assert pages["docs/modules/other/pages/index.adoc"].trail == ("Start", "Other things")
    assert pages["docs/modules/ROOT/pages/deep/neighbour.adoc"].trail == ("deep",)
    assert pages["docs/modules/ROOT/pages/index.adoc"].labels.version == "2.0"


@pytest.mark.parametrize(
    ("descriptor", "path"),
    [
        ("name: c\nversion: '1.0'\n", "c/1.0/index.html"),
        ("name: c\nversion: ~\n", "c/index.html"),
        ("name: c\nversion: master\n", "c/index.html"),
        ("name: ROOT\nversion: 3.0\n", "3.0/index.html"),
        ("name: ROOT\nversion: ~\n", "index.html"),
    ],
)
def test_component_and_version_are_left_out_where_antora_leaves_them_out(
    tmp_path: Path, descriptor: str, path: str
) -> None:
    book = write(tmp_path, {"antora.yml": descriptor, PAGE: "= A\n"})
    assert urls_of(open_source(book, book_id="b", base_url="https://x.org"))[PAGE] == f"https://x.org/{path}"


def test_the_playbook_names_the_latest_version(tmp_path: Path) -> None:
    playbook = (
        "site: {url: 'https://x.org'}\n"
        "urls: {latest_version_segment: latest, latest_prerelease_version_segment: next}\n"
        "content:\n  sources:\n  - url: .\n    start_paths: v*\n  - url: https://elsewhere.example/x.git\n"
    )
    files = {"antora-playbook.yml": playbook}
    for folder, more in (
        ("v1", "version: '1.9'"),
        ("v2", "version: '1.10'"),
        ("v3", "version: '2.0'\nprerelease: true"),
    ):
        files |= {f"{folder}/antora.yml": f"name: c\n{more}\n", f"{folder}/{PAGE}": "= A\n"}
    assert set(urls_of(open_source(write(tmp_path, files), book_id="b")).values()) == {
        "https://x.org/c/1.9/index.html",
        "https://x.org/c/latest/index.html",
        "https://x.org/c/next/index.html",
    }


def test_a_missing_playbook_and_a_broken_navigation_are_reported(tmp_path: Path) -> None:
    files = {
        "antora.yml": "name: c\nversion: {v(?<version>*): $<version>}\nnav: [modules/ROOT/nav.adoc, gone.adoc]\n",
        "modules/ROOT/nav.adoc": "* xref:gone.adoc[Gone]\n",
        PAGE: "= A\n\n== B\n",
    }
    source = open_source(write(tmp_path, files), book_id="b")
    page = pages_of(source)[PAGE]
    assert headings_of(page) == [["", 1], ["_b", 2]]
    said = {(notice.code, notice.source_file) for notice in source.notices}
    assert {("PLAYBOOK_MISSING", "antora.yml"), ("PAGE_MISSING", "modules/ROOT/nav.adoc")} <= said
    assert {("PAGE_MISSING", "antora.yml"), ("CONFIG_UNREADABLE", "antora.yml")} <= said


def test_a_damaged_descriptor_costs_a_notice_but_not_the_book(tmp_path: Path) -> None:
    source = open_source(write(tmp_path, {"antora.yml": "name: [\n", PAGE: "= A\n"}), book_id="b")
    assert list(pages_of(source)) == [PAGE]
    assert "CONFIG_UNREADABLE" in {notice.code for notice in source.notices}
