"""Astro Starlight: what a reader sees of a page, its language and sections. Addresses and ids are compared with a real
build in test_built_books.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from book_files import pages_of, urls_of, write
from quoth.sources import open_source
from quoth.text.markdown import leaves, parse

BOOK = Path(__file__).parent / "books" / "starlight"
PAGES = "src/content/docs"
SAID = [
    "Mind this",
    "The note has words.",
    "caution",
    "The caution has words.",
    "A better way",
    "The aside has words.",
    "Install",
    "npm",
    "Use npm here.\npnpm",
    "terminal\n\tpnpm add book",
    "1. Take the first step.",
    "Heading in a step",
    "2. Take the second step.",
    "Files and badges",
    "src/",
    "content.ts the heart",
    "Read on All about reading.",
    "Shared part",
    "Shared words.",
    "With expression inside",
]


def test_readers_see_the_words_of_components_and_none_of_their_tags() -> None:
    page = pages_of(open_source(BOOK, book_id="b"))[f"{PAGES}/guides/start.mdx"]
    blocks = leaves(parse(page.text, markup=page.markup, start=page.body_start))
    assert [block.plain for block in blocks if block.plain] == SAID
    assert page.notices == ()


def test_pages_have_the_sections_of_the_sidebar_and_the_language_of_their_folder() -> None:
    source = open_source(BOOK, book_id="b")
    pages = pages_of(source)
    assert source.book.title == "Small Book"
    assert source.book.base_url == "https://x.org/book"
    assert pages[f"{PAGES}/guides/start.mdx"].trail == ("Start Here",)
    assert pages[f"{PAGES}/reference/v1.2.Notes.md"].trail == ("Reference",)
    french = pages[f"{PAGES}/fr/guides/start.md"]
    assert (french.labels.language, french.trail, french.title) == ("fr", ("Start Here",), "Commencer")
    assert {notice.source_file.rsplit("/", 1)[-1] for notice in source.skipped} == {"_partial.md", "draft.md"}


ENDINGS = {
    "trailingSlash: 'never'": ["https://x.org/", "https://x.org/a/b"],
    "trailingSlash: 'always'": ["https://x.org/", "https://x.org/a/b/"],
    "build: { format: 'file' }": ["https://x.org/index.html", "https://x.org/a/b.html"],
}


@pytest.mark.parametrize("setting", ENDINGS)
def test_the_ending_of_addresses_is_configured(tmp_path: Path, setting: str) -> None:
    config = f"export default defineConfig({{ site: 'https://x.org', {setting}, integrations: [starlight({{}})] }})"
    write(tmp_path, {"astro.config.ts": config, f"{PAGES}/index.mdx": "# A\n", f"{PAGES}/A/B.md": "# B\n"})
    assert sorted(urls_of(open_source(tmp_path, book_id="b")).values(), key=len) == sorted(ENDINGS[setting], key=len)


def test_bad_input_costs_warnings_only(tmp_path: Path) -> None:
    imports = "import Gone from './gone.mdx';\nimport Out from '../../../../out.mdx';\n"
    text = f"---\ntitle: A\n---\n\n{imports}\n<Gone />\n\n<Out />\n"
    write(tmp_path, {"out.mdx": "secret words\n"})
    book = write(tmp_path / "book", {"astro.config.mjs": "export default compute()", f"{PAGES}/a.mdx": text})
    source = open_source(book, book_id="b")
    page = pages_of(source)[f"{PAGES}/a.mdx"]
    assert page.url == "/a/"
    assert "secret words" not in page.text
    assert [notice.code for notice in page.notices] == ["INCLUDE_MISSING", "INCLUDE_OUTSIDE"]
    assert [notice.code for notice in source.notices].count("CONFIG_UNREADABLE") == 1
