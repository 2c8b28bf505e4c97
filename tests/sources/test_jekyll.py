"""Jekyll: Liquid, kramdown's attributes, collections, and what cannot be followed. Addresses and ids are compared with
a real build in test_built_books.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from book_files import heading_ids, pages_of, urls_of, write
from linear import SMALL, grows_too_fast, surveyed
from quoth.sources import open_source
from quoth.text.plain import plain

BOOK = Path(__file__).parent / "books" / "jekyll"
SAID = """Getting started
Table of contents
Warning
The warning has words.
My own title
The note has words.
Install
New (v2.1)
Use bundler and {{ kept }}.
Above
key: value
Shared part
Shared words.
A part that is included.
Version 2.1 it is.
{{ page.title }}
{: .in-code }
Install
A second time, with emphasis in the text.
Setext with id"""


def test_readers_see_the_words_and_neither_liquid_nor_attributes() -> None:
    source = open_source(BOOK, book_id="b")
    page = pages_of(source)["docs/start.md"]
    assert plain(page.text[page.body_start :]) == SAID
    assert page.notices == ()
    told = [notice.message for notice in source.notices if notice.code == "LIQUID_LEFT_OUT"]
    assert told == ["tags and variables that only a run of Jekyll can show are left out: {% for %} (1)"]


def test_files_that_are_not_pages_are_named() -> None:
    skipped = {notice.source_file: notice.message for notice in open_source(BOOK, book_id="b").skipped}
    assert skipped == {
        "_drafts/later.md": "in a folder that Jekyll does not publish",
        "_includes/shared.md": "in a folder that Jekyll does not publish",
        "_notes/n.md": "in a folder that Jekyll does not publish",
        "docs/a.tmp.md": "excluded by _config.yml",
        "docs/hidden.md": "published: false",
        "docs/more/part.md": "without front matter, so Jekyll does not make a page of it",
        "private/secret.md": "excluded by _config.yml",
    }


def test_the_front_matter_names_the_parents() -> None:
    pages = pages_of(open_source(BOOK, book_id="b"))
    assert pages["docs/more/index.md"].trail == ("Home", "Getting started")
    assert pages["docs/start.md"].trail == ("Home",)


STYLES = {
    "permalink: none": {"a.md": "/a.html", "b/index.md": "/b/", "_posts/2024-03-05-x.md": "/x.html"},
    "permalink: /:title/": {"a.md": "/a/", "b/index.md": "/b/", "_posts/2024-03-05-x.md": "/x/"},
    "permalink: /p/:year/:title": {"a.md": "/a", "b/index.md": "/b/", "_posts/2024-03-05-x.md": "/p/2024/x"},
    "theme: x": {"a.md": "/a.html", "b/index.md": "/b/", "_posts/2024-03-05-x.md": "/2024/03/05/x.html"},
}


@pytest.mark.parametrize("style", STYLES)
def test_addresses_follow_the_style_of_the_site(tmp_path: Path, style: str) -> None:
    """As Jekyll 4.3.1 built them."""
    page = "---\ntitle: T\n---\n# A\n"
    write(tmp_path, {"_config.yml": style, "a.md": page, "b/index.md": page, "_posts/2024-03-05-x.md": page})
    assert urls_of(open_source(tmp_path, book_id="b")) == STYLES[style]


def test_kramdown_without_github_has_ids_of_its_own(tmp_path: Path) -> None:
    """As kramdown 2.4.0 made them."""
    page = "---\ntitle: T\n---\n# 1. A [link](x.html), `code`\n\n## Über uns\n\n## 12\n\n## Über uns\n"
    write(tmp_path, {"_config.yml": "kramdown: {input: kramdown}", "a.md": page})
    ids = heading_ids(pages_of(open_source(tmp_path, book_id="b"))["a.md"])
    assert ids == ["h1 a-linkxhtml-code", "h2 ber-uns", "h2 section", "h2 ber-uns-1"]


def test_bad_input_costs_warnings_only(tmp_path: Path) -> None:
    includes = "{% include_relative ../out.md %}\n\n{% include loop.md %}\n\n"
    text = "---\ntitle: A\n---\n" + includes + "{% raw %} {{ open\n\n{% for x in y %}"
    write(tmp_path, {"out.md": "secret words\n"})
    book = write(
        tmp_path / "book",
        {"_config.yml": "a: [", "Gemfile": "", "a.md": text, "_includes/loop.md": "{% include loop.md %}"},
    )
    source = open_source(book, book_id="b")
    page = pages_of(source)["a.md"]
    assert "secret words" not in page.text
    assert [notice.code for notice in page.notices] == ["INCLUDE_OUTSIDE", "INCLUDE_CYCLE"]
    assert [notice.code for notice in source.notices].count("CONFIG_UNREADABLE") == 1


@pytest.mark.parametrize(
    "piece", ["{% a ", "{{ a ", "{% for %}", "{% raw %}", "{::comment}", "{: .a", "</div>", "*[a]:"]
)
def test_liquid_takes_linear_time(tmp_path: Path, piece: str) -> None:
    read = surveyed(tmp_path, "a.md", {"_config.yml": "theme: x"}, before="---\na: b\n---\n")
    assert grows_too_fast(read, f"{piece} x\n", 4 * SMALL) == ""
