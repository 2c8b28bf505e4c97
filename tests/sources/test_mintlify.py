"""Mintlify: its navigation, and what a reader sees of its components. Heading ids are compared with those that
Mintlify's own package makes in test_built_books.py; the service that builds whole sites is not available here."""

from __future__ import annotations

from pathlib import Path

from book_files import pages_of, urls_of, write
from quoth.sources import open_source
from quoth.text.markdown import leaves, parse

BOOK = Path(__file__).parent / "books" / "mintlify"
SAID = [
    "The note has words.",
    "Install it",
    "Run the installer.",
    "npm\nnpm install book",
    "pnpm\npnpm add book",
    "Linux",
    "Use apt.",
    "Why so?",
    "Because of that.",
    "Read on",
    "All about headings.",
    "Parameters",
    "user_id (string, required)",
    "The id of the user.",
    "email (string, default: none)",
    "Where to write.",
    "Shared part",
    "Shared words about books.",
    "The picture",
    "described",
    "A  API  for all.",
]


def test_readers_see_the_words_of_components_and_none_of_their_tags() -> None:
    page = pages_of(open_source(BOOK, book_id="b"))["guides/start.mdx"]
    blocks = leaves(parse(page.text, markup=page.markup, start=page.body_start))
    assert [block.plain for block in blocks if block.plain] == SAID
    assert page.notices == ()


def test_the_navigation_gives_sections_and_languages() -> None:
    source = open_source(BOOK, book_id="b")
    pages = pages_of(source)
    assert source.book.title == "Small Book"
    assert pages["guides/headings.mdx"].trail == ("Guides", "Start", "Deep")
    assert (pages["es/index.mdx"].labels.language, pages["es/index.mdx"].url) == ("es", "/es")
    told = [(notice.code, notice.message) for notice in source.notices if notice.code != "FRONT_MATTER_DEFAULT"]
    assert [code for code, _ in told] == ["API_NOT_MADE", "PAGE_MISSING"]
    assert "es/gone" in told[1][1]
    assert {notice.source_file for notice in source.skipped} == {"README.md", "drafts/later.mdx", "snippets/shared.mdx"}


def test_the_older_file_is_read_too(tmp_path: Path) -> None:
    config = '{"name": "Old", "navigation": [{"group": "G", "version": "v2", "pages": ["a"]}]}'
    write(tmp_path, {"mint.json": config, "a.mdx": "# A\n"})
    page = pages_of(open_source(tmp_path, book_id="b", base_url="https://x.org"))["a.mdx"]
    assert (page.url, page.trail, page.labels.version) == ("https://x.org/a", ("G",), "v2")


def test_a_docs_json_of_another_tool_is_not_mintlify(tmp_path: Path) -> None:
    write(tmp_path, {"docs.json": '{"pages": 3}', "a.md": "# A\n"})
    assert open_source(tmp_path, book_id="b").toolchain == "plain"


def test_a_damaged_file_is_one_warning(tmp_path: Path) -> None:
    write(tmp_path, {"mint.json": '{"navigation": [', "a.mdx": "# A\n"})
    source = open_source(tmp_path, book_id="b")
    assert urls_of(source) == {"a.mdx": "/a"}
    assert [notice.code for notice in source.notices].count("CONFIG_UNREADABLE") == 1
