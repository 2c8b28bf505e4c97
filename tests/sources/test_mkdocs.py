"""MkDocs: the navigation, what is published, addresses and anchors. What is expected here was built once with MkDocs
1.6.1, Python-Markdown 3.11 and pymdown-extensions and compared heading by heading."""

from __future__ import annotations

from pathlib import Path

import pytest

from book_files import digests_of, pages_of, urls_of, write
from quoth.domain import AnchorRule
from quoth.sources import open_source
from quoth.sources.mkdocs import IgnorePatterns
from quoth.text.anchors import Anchors
from quoth.text.markdown import leaves, parse

CONFIG = """
site_name: Site
site_url: !ENV [SITE_URL, "https://x.org/"]
theme: {name: material, language: fr}
exclude_docs: |
  *.tmp.md
  /private/
  !keep.tmp.md
draft_docs: drafts/
not_in_nav: /guide/hidden.md
markdown_extensions:
  - attr_list
  - toc: {permalink: true}
  - pymdownx.snippets: {base_path: [!relative $config_dir, snips]}
  - pymdownx.emoji:
      emoji_index: !!python/name:material.extensions.emoji.twemoji
      options: !!python/object/apply:collections.OrderedDict {kwds: {a: 1}}
nav:
  - index.md
  - Guide:
      - Start here: guide/start.md
      - guide/README.md
      - Deep:
          - ./guide/sub/deep page.md
  - External: https://example.com
  - Gone: gone.md
"""
FILES = {
    "mkdocs.yml": CONFIG,
    "docs/index.md": "# Home page\n",
    "docs/guide/start.md": '---\nhide:\n  - navigation\n---\n# Start\n\n--8<-- "part.md"\n',
    "docs/guide/README.md": "Words.\n",
    "docs/guide/hidden.md": "# Hidden\n",
    "docs/guide/sub/deep page.md": "Words.\n",
    "docs/private/p.md": "# P\n",
    "docs/drafts/d.md": "# D\n",
    "docs/a.tmp.md": "# T\n",
    "docs/keep.tmp.md": "# K\n",
    "docs/templates/t.md": "# T\n",
    "docs/both/index.md": "# Index\n",
    "docs/both/README.md": "# Readme\n",
    "docs/more/some_page.md": "Words.\n",
    "snips/part.md": "## Part\n\nShared words.\n",
}


def test_pages_have_the_addresses_that_mkdocs_gives_them(tmp_path: Path) -> None:
    source = open_source(write(tmp_path, FILES), book_id="b")
    assert (source.toolchain, source.book.title, source.book.base_url) == ("mkdocs", "Site", "https://x.org/")
    assert urls_of(source) == {
        "docs/both/index.md": "https://x.org/both/",
        "docs/guide/README.md": "https://x.org/guide/",
        "docs/guide/hidden.md": "https://x.org/guide/hidden/",
        "docs/guide/start.md": "https://x.org/guide/start/",
        "docs/guide/sub/deep page.md": "https://x.org/guide/sub/deep%20page/",
        "docs/index.md": "https://x.org/",
        "docs/keep.tmp.md": "https://x.org/keep.tmp/",
        "docs/more/some_page.md": "https://x.org/more/some_page/",
    }


def test_without_directory_urls_pages_are_html_files(tmp_path: Path) -> None:
    files = {"mkdocs.yml": "use_directory_urls: false\n", "docs/index.md": "# A\n", "docs/b/c.md": "# C\n"}
    source = open_source(write(tmp_path, files), book_id="b", base_url="https://y.org/site")
    assert list(urls_of(source).values()) == ["https://y.org/site/b/c.html", "https://y.org/site/index.html"]


def test_titles_and_trails_come_from_the_navigation_then_the_page_then_the_file(tmp_path: Path) -> None:
    pages = pages_of(open_source(write(tmp_path, FILES), book_id="b"))
    assert {name: (page.title, page.trail) for name, page in pages.items()} == {
        "docs/both/index.md": ("Index", ("Both",)),
        "docs/guide/README.md": ("Guide", ("Guide",)),
        "docs/guide/hidden.md": ("Hidden", ("Guide",)),
        "docs/guide/start.md": ("Start here", ("Guide",)),
        "docs/guide/sub/deep page.md": ("Deep page", ("Guide", "Deep")),
        "docs/index.md": ("Home page", ()),
        "docs/keep.tmp.md": ("K", ()),
        "docs/more/some_page.md": ("Some page", ("More",)),
    }
    assert {page.labels.language for page in pages.values()} == {"fr"}


def test_excluded_pages_are_skipped_and_counted_and_missing_ones_are_reported(tmp_path: Path) -> None:
    source = open_source(write(tmp_path, FILES), book_id="b")
    source.files()
    assert {(notice.source_file, notice.message) for notice in source.skipped} == {
        ("docs/a.tmp.md", "excluded by exclude_docs"),
        ("docs/private/p.md", "excluded by exclude_docs"),
        ("docs/templates/t.md", "excluded by exclude_docs"),
        ("docs/drafts/d.md", "marked as a draft by draft_docs"),
        ("docs/both/README.md", "index.md is the page of its folder"),
    }
    assert "gone.md" in next(notice.message for notice in source.notices if notice.code == "PAGE_MISSING")


def test_snippets_are_part_of_their_page_and_of_its_digest(tmp_path: Path) -> None:
    source = open_source(write(tmp_path, FILES), book_id="b")
    before = digests_of(source)
    assert "## Part\n\nShared words." in pages_of(source)["docs/guide/start.md"].text
    write(tmp_path, {"snips/part.md": "Other words.\n"})
    after = digests_of(source)
    assert {name for name in before if before[name] != after[name]} == {"docs/guide/start.md"}


def test_a_site_is_recognised_from_its_docs_folder(tmp_path: Path) -> None:
    source = open_source(write(tmp_path, FILES) / "docs", book_id="b")
    assert urls_of(source)["guide/start.md"] == "https://x.org/guide/start/"


def test_a_configuration_may_inherit_from_another(tmp_path: Path) -> None:
    files = {
        "base.yml": "site_name: Base\nsite_url: https://base.org\n",
        "mkdocs.yml": "INHERIT: ./base.yml\nsite_name: Own\n",
        "docs/a.md": "# A\n",
    }
    source = open_source(write(tmp_path, files), book_id="b")
    assert (source.book.title, urls_of(source)) == ("Own", {"docs/a.md": "https://base.org/a/"})


def test_a_damaged_configuration_costs_no_page_and_is_reported_with_its_line(tmp_path: Path) -> None:
    source = open_source(write(tmp_path, {"mkdocs.yml": "site_name: X\nnav: [a\n", "docs/a.md": "# A\n"}), book_id="b")
    assert [file.source_file for file in source.files()] == ["docs/a.md"]
    (notice,) = [notice for notice in source.notices if notice.code == "CONFIG_UNREADABLE"]
    assert (notice.source_file, notice.line) == ("mkdocs.yml", 3)


HEADINGS = """# Home
## Setup
## Setup
## Setup_1
## Ünïcode Žlutý & more!
## 日本語
## Über {#own}
## Own
## own
### `code` and **bold** [link](http://x)
## C++ & C#
## A -- B  –  C
## 1. First {: #first .cls }

!!! note "In"

    ## Inside heading

=== "Tab"

    ### In tab

Setext
------
## <span>Html</span> tag
## Trailing ##
## a_b*c*d
## What?!
## What
"""
BUILT: dict[AnchorRule, str] = {
    "mkdocs": (
        "home setup setup_1 setup_2 unicode-zluty-more _1 own own_1 own_2 code-and-bold-link c-c a-b-c first"
        " inside-heading in-tab setext html-tag trailing a_bcd what what_1"
    ),
    "mkdocs-unicode": (
        "home setup setup_1 setup_2 ünïcode-žlutý-more 日本語 own own_1 own_2 code-and-bold-link c-c a-b-c first"
        " inside-heading in-tab setext html-tag trailing a_bcd what what_1"
    ),
    "pymdownx": (
        "home setup setup_1 setup_2 ünïcode-žlutý--more 日本語 own own_1 own_2 code-and-bold-link c--c a----b--c"
        " first inside-heading in-tab setext html-tag trailing a_bcd what what_1"
    ),
    "pymdownx-cased": (
        "Home Setup Setup_1 Setup_2 Ünïcode-Žlutý--more 日本語 own Own own_1 code-and-bold-link C--C A----B--C"
        " first Inside-heading In-tab Setext Html-tag Trailing a_bcd What What_1"
    ),
}


@pytest.mark.parametrize("rule", BUILT)
def test_anchors_are_those_of_python_markdown(rule: AnchorRule) -> None:
    headings = [leaf for leaf in leaves(parse(HEADINGS)) if leaf.level]
    anchors = Anchors(rule, (heading.anchor for heading in headings))
    assert " ".join(anchors.of(heading.text, heading.anchor) for heading in headings) == BUILT[rule]


@pytest.mark.parametrize(
    ("slugify", "rule"),
    [
        ("{}", "mkdocs"),
        ("{slugify: !!python/name:markdown.extensions.toc.slugify_unicode }", "mkdocs-unicode"),
        ("{slugify: !!python/object/apply:pymdownx.slugs.slugify {kwds: {case: lower}}}", "pymdownx"),
        ("{slugify: !!python/object/apply:pymdownx.slugs.slugify {}}", "pymdownx-cased"),
    ],
)
def test_the_configured_slug_function_decides_the_rule(tmp_path: Path, slugify: str, rule: str) -> None:
    files = {"mkdocs.yml": f"markdown_extensions:\n  - toc: {slugify}\n", "docs/a.md": "# A\n"}
    (page,) = pages_of(open_source(write(tmp_path, files), book_id="b")).values()
    assert page.anchors == rule


@pytest.mark.parametrize(
    ("patterns", "name", "matches"),
    [
        ("*.md", "a/b.md", True),
        ("/b.md", "a/b.md", False),
        ("/b.md", "b.md", True),
        ("a/", "a/b.md", True),
        ("a/", "c/a/b.md", True),
        ("/a/", "c/a/b.md", False),
        ("a/*.md", "a/b/c.md", False),
        ("a/**/c.md", "a/b/c.md", True),
        ("**/c.md", "c.md", True),
        ("a/**", "a/b/c.md", True),
        ("b?.md\n!b1.md", "b1.md", False),
        ("# *.md", "b.md", False),
        ("[ab].md", "b.md", True),
        ("b", "bb/b.md.md", False),
    ],
)
def test_patterns_match_as_in_a_gitignore(patterns: str, name: str, matches: bool) -> None:
    assert IgnorePatterns(patterns).match(name) is matches
