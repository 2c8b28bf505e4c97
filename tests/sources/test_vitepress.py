"""VitePress: what a reader sees of a page, and what a configuration that cannot be followed costs. Addresses and ids
are compared with a real build in test_built_books.py."""

from __future__ import annotations

from pathlib import Path

from book_files import pages_of, urls_of, write
from quoth.sources import open_source
from quoth.text.plain import plain

BOOK = Path(__file__).parent / "books" / "vitepress"


def test_readers_see_the_words_and_none_of_the_marks() -> None:
    page = pages_of(open_source(BOOK, book_id="b"))["docs/guide/index.md"]
    said = plain(page.text).splitlines()
    assert said[:6] == [
        "Introduction",
        "Read this first",
        "The tip has words.",
        "warning",
        "The warning has words.",
        "Click to open",
    ]
    assert said[7:11] == ["npm", "npm install book", "pnpm", "pnpm add book"]
    assert said[11:18] == [
        "Note",
        "An alert of GitHub.",
        "Options",
        "config.ts",
        "export default {",
        "  port: 5173,",
        "}",
    ]
    assert said[18:23] == ["Whole file", 'console.log("tiny")', "Shared part", "Shared words.", "Third line is shown."]
    assert said[-1] == "Today is ."
    assert page.trail == ("Basics",)
    assert page.notices == ()


def test_the_folder_gives_the_language_and_the_page_its_title() -> None:
    page = pages_of(open_source(BOOK, book_id="b"))["docs/fr/index.md"]
    assert (page.labels.language, page.title, page.url) == ("fr-FR", "Le titre", "/book/fr/")


def test_a_part_of_the_pages_keeps_its_addresses() -> None:
    assert urls_of(open_source(BOOK / "docs" / "packages", book_id="b")) == {
        "core/src/api.md": "/book/core/api.html",
        "core/src/deep/page.md": "/book/core/deep/page.html",
    }


def test_clean_urls_have_no_ending_and_the_host_is_that_of_the_site_map(tmp_path: Path) -> None:
    config = "export default { cleanUrls: true, sitemap: { hostname: 'https://x.org' }, lang: 'de' }"
    write(tmp_path, {".vitepress/config.js": config, "index.md": "# A\n", "a/b c.md": "# B\n", "a/[id].md": "# C\n"})
    source = open_source(tmp_path, book_id="b")
    assert urls_of(source) == {"index.md": "https://x.org/", "a/b c.md": "https://x.org/a/b%20c"}
    assert [notice.source_file for notice in source.skipped] == ["a/[id].md"]
    assert source.book.base_url == "https://x.org/"


def test_a_rewrite_may_take_away_a_folder(tmp_path: Path) -> None:
    config = "export default { rewrites: { 'en/:rest*': ':rest*' }, markdown: { anchor: { slugify: mine } } }"
    write(tmp_path, {".vitepress/config.js": config, "en/index.md": "# A\n", "en/a/b.md": "# B\n", "de/a.md": "# C\n"})
    source = open_source(tmp_path, book_id="b")
    assert urls_of(source) == {"en/index.md": "/", "en/a/b.md": "/a/b.html", "de/a.md": "/de/a.html"}
    assert [notice.message for notice in source.notices if notice.code == "CONFIG_UNREADABLE"] == [
        "markdown.anchor makes ids of its own; links to headings may open the page at its top"
    ]


def test_vue_is_left_out_except_in_code(tmp_path: Path) -> None:
    front = "---\nowner: Ada\n---\n"
    text = "# A\n\n{{ 1 + 1 }}By {{ $frontmatter.owner }}, {{ 'x' }}, `{{ kept }}`.\n\n```vue\n{{ kept }}\n```\n"
    write(tmp_path, {".vitepress/config.js": "export default {}", "a.md": front + text})
    page = pages_of(open_source(tmp_path, book_id="b"))["a.md"]
    assert plain(page.text[len(front) :]) == "A\nBy Ada, x, {{ kept }}.\n{{ kept }}"


def test_a_configuration_that_cannot_be_followed_is_one_warning_for_each_setting(tmp_path: Path) -> None:
    config = "export default { base: compute(), rewrites: { 'a/:x(b|c).md': 'd/:x.md', 'e.md': 'f.md' } }"
    write(tmp_path, {".vitepress/config.ts": config, "a/b.md": "# A\n", "e.md": "# E\n"})
    source = open_source(tmp_path, book_id="b")
    assert urls_of(source) == {"a/b.md": "/a/b.html", "e.md": "/f.html"}
    told = [notice.message for notice in source.notices if notice.code == "CONFIG_UNREADABLE"]
    assert len(told) == 2
    assert "--base-url" in told[0]
    assert "a/:x(b|c).md" in told[1]


def test_a_damaged_configuration_is_one_warning(tmp_path: Path) -> None:
    write(tmp_path, {".vitepress/config.ts": "export default ???", "a.md": "# A\n"})
    source = open_source(tmp_path, book_id="b")
    assert urls_of(source) == {"a.md": "/a.html"}
    assert [notice.code for notice in source.notices].count("CONFIG_UNREADABLE") == 1


def test_includes_that_lead_nowhere_cost_a_warning_each(tmp_path: Path) -> None:
    book = tmp_path / "book"
    write(tmp_path, {"secret.md": "secret words\n"})
    text = "# A\n\n<<< ../secret.md\n\n<!--@include: ./a.md-->\n\n<<< @/b.ts#gone\n\n<<< @/none.ts\n"
    write(book, {".vitepress/config.ts": "export default {}", "a.md": text, "b.ts": "const b = 1\n"})
    page = pages_of(open_source(book, book_id="b"))["a.md"]
    assert "secret words" not in page.text
    codes = [(notice.code, notice.line) for notice in page.notices]
    assert ("INCLUDE_OUTSIDE", 3) in codes
    assert any(code == "INCLUDE_CYCLE" for code, _ in codes)
    assert ("INCLUDE_MISSING", 7) in codes
    assert ("INCLUDE_MISSING", 9) in codes
