"""mdBook: SUMMARY.md decides which pages there are, what they are called and where they belong."""

from __future__ import annotations

from pathlib import Path

import pytest

from book_files import pages_of, urls_of, write
from quoth.chunks.split import split
from quoth.sources import open_source
from quoth.sources.mdbook import parse_summary
from quoth.testing.embedder import FakeEmbedder

SUMMARY = """# Summary

[Foreword](README.md)

<!-- [Commented](commented.md) -->

# The Basics

- [Getting *Started*](start/README.md)
  - [Install `it`](start/install.md)
    - [On a Mac](start/mac.md)
- [Not yet]()
    - [Written though](written.md)

---

# Beyond

* [Deep (down)](<with space.md>)
1. [Encoded](with%20more.md "a title")

[Afterword](after.md#part)
"""
FILES = {
    "book.toml": '[book]\ntitle = "The Book"\nlanguage = "de"\n[output.html]\nsite-url = "/guide/"\n',
    "src/SUMMARY.md": SUMMARY,
    "src/README.md": "# Welcome\n",
    "src/commented.md": "# Commented\n",
    "src/start/README.md": "Words.\n",
    "src/start/install.md": "# Install\n",
    "src/start/mac.md": "# Mac\n",
    "src/written.md": "# Written\n",
    "src/with space.md": "# Space\n",
    "src/with more.md": "# More\n",
    "src/after.md": "# After\n",
    "src/unlisted.md": "# Unlisted\n",
    "README.md": "# The repository\n",
}


def test_every_chapter_has_the_address_of_its_html_file(tmp_path: Path) -> None:
    source = open_source(write(tmp_path, FILES), book_id="b")
    assert (source.toolchain, source.book.title) == ("mdbook", "The Book")
    assert urls_of(source) == {
        "src/README.md": "/guide/index.html",
        "src/after.md": "/guide/after.html",
        "src/start/README.md": "/guide/start/index.html",
        "src/start/install.md": "/guide/start/install.html",
        "src/start/mac.md": "/guide/start/mac.html",
        "src/with more.md": "/guide/with%20more.html",
        "src/with space.md": "/guide/with%20space.html",
        "src/written.md": "/guide/written.html",
    }


def test_titles_numbers_and_trails_come_from_the_summary(tmp_path: Path) -> None:
    pages = pages_of(open_source(write(tmp_path, FILES), book_id="b"))
    told = {name: (page.title, page.trail, page.labels.chapter, page.labels.lesson) for name, page in pages.items()}
    assert told == {
        "src/README.md": ("Foreword", (), None, None),
        "src/after.md": ("Afterword", (), None, None),
        "src/start/README.md": ("Getting Started", ("The Basics",), 1, 0),
        "src/start/install.md": ("Install it", ("The Basics", "Getting Started"), 1, 1),
        "src/start/mac.md": ("On a Mac", ("The Basics", "Getting Started", "Install it"), 1, 1),
        "src/with more.md": ("Encoded", ("Beyond",), 4, 0),
        "src/with space.md": ("Deep (down)", ("Beyond",), 3, 0),
        "src/written.md": ("Written though", ("The Basics", "Not yet"), 2, 1),
    }
    assert {page.labels.language for page in pages.values()} == {"de"}


def test_drafts_and_files_that_no_chapter_names_are_skipped_and_missing_ones_are_reported(tmp_path: Path) -> None:
    root = write(tmp_path, FILES)
    (root / "src/after.md").unlink()
    source = open_source(root, book_id="b")
    source.files()
    assert [str(notice) for notice in source.skipped] == [
        "src/commented.md: not in SUMMARY.md [PAGE_SKIPPED]",
        "src/unlisted.md: not in SUMMARY.md [PAGE_SKIPPED]",
        "src/SUMMARY.md:12: 'Not yet' is a draft without a page [PAGE_SKIPPED]",
    ]
    missing = [str(notice) for notice in source.notices if notice.code == "PAGE_MISSING"]
    assert missing == ["src/SUMMARY.md:22: 'Afterword' names after.md, which does not exist [PAGE_MISSING]"]


@pytest.mark.parametrize(("given", "expected"), [("src", "start/install.md"), ("src/start", "install.md")])
def test_a_book_is_recognised_from_its_sources_and_names_them_from_there(
    tmp_path: Path, given: str, expected: str
) -> None:
    source = open_source(write(tmp_path, FILES) / given, book_id="b")
    assert source.toolchain == "mdbook"
    assert urls_of(source)[expected] == "/guide/start/install.html"


def test_sources_may_be_elsewhere_and_a_base_url_replaces_the_site_url(tmp_path: Path) -> None:
    files = {"book.toml": '[book]\nsrc = "text"\n', "text/SUMMARY.md": "- [A](a.md)\n", "text/a.md": "# A\n"}
    source = open_source(write(tmp_path, files), book_id="b", base_url="https://x.org/book/")
    assert urls_of(source) == {"text/a.md": "https://x.org/book/a.html"}


def test_a_book_one_folder_down_is_found_if_the_folder_itself_has_no_pages(tmp_path: Path) -> None:
    files = {f"book/{name}": text for name, text in FILES.items()}
    source = open_source(write(tmp_path, {**files, "README.md": "# Repository\n", "code/x.py": ""}), book_id="b")
    assert source.toolchain == "mdbook"
    assert "book/src/written.md" in urls_of(source)
    write(tmp_path, {"guide.md": "# A page of its own\n"})
    assert open_source(tmp_path, book_id="b").toolchain == "plain"


def test_a_damaged_book_toml_costs_no_page_and_is_reported(tmp_path: Path) -> None:
    source = open_source(write(tmp_path, {**FILES, "book.toml": "[book\ntitle="}), book_id="b")
    assert len(source.files()) == 8
    assert "CONFIG_UNREADABLE" in {notice.code for notice in source.notices}


def test_anchors_are_those_of_mdbook(tmp_path: Path) -> None:
    headings = ("# Top", "## Same", "## Same", "## `--passes`: add more", "## Own {#mine}", "## mine", "## Über uns?")
    files = {**FILES, "src/README.md": "\n\n".join(f"{heading}\n\nWords." for heading in headings)}
    page = pages_of(open_source(write(tmp_path, files), book_id="b"))["src/README.md"]
    anchors = [chunk.url.partition("#")[2] for chunk in split(page, FakeEmbedder().tokens)]
    assert anchors == ["", "same", "same-1", "--passes-add-more", "mine", "mine", "über-uns"]


def test_a_chapter_named_twice_is_read_once_under_its_first_name(tmp_path: Path) -> None:
    files = {"book.toml": "", "src/SUMMARY.md": "- [One](a.md)\n- [Two](./a.md)\n", "src/a.md": "# A\n"}
    (page,) = pages_of(open_source(write(tmp_path, files), book_id="b")).values()
    assert (page.title, page.labels.chapter) == ("One", 1)


def test_a_summary_with_windows_line_endings_and_tabs_nests_like_any_other() -> None:
    entries = list(
        parse_summary("# S\r\n\r\n- [A](a.md)\r\n\t- [B](b/b.md)\r\n- [C](../c.md)\r\n- [D](https://x.org)\r\n")
    )
    assert [(entry.title, entry.target, entry.numbers, entry.outside) for entry in entries] == [
        ("A", "a.md", (1,), False),
        ("B", "b/b.md", (1, 1), False),
        ("C", "../c.md", (2,), True),
        ("D", "https://x.org", (3,), True),
    ]
