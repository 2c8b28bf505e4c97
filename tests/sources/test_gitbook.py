"""GitBook: the summary, where pages are published, and tags that are not words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from book_files import pages_of, urls_of, write
from quoth.chunks.split import embedding_text, split
from quoth.sources import open_source
from quoth.testing.embedder import FakeEmbedder

SUMMARY = """# Table of contents

* [Hello](README.md)

## Guide

* [Start](guide/README.md)
  * [Install](guide/install.md)
"""
PAGES = {
    "README.md": "# Welcome\n",
    "guide/README.md": "# Guide\n",
    "guide/install.md": "# Install\n",
    "unlisted.md": "# Unlisted\n",
}


@pytest.mark.parametrize("config", [{}, {".gitbook.yaml": "structure:\n  summary: SUMMARY.md\n"}])
def test_pages_are_published_at_their_path_and_a_readme_as_its_folder(tmp_path: Path, config: dict[str, str]) -> None:
    root = write(tmp_path, {"SUMMARY.md": SUMMARY, **PAGES, **config})
    source = open_source(root, book_id="b", base_url="https://x.gitbook.io/space/")
    assert source.toolchain == "gitbook"
    assert urls_of(source) == {
        "README.md": "https://x.gitbook.io/space/",
        "guide/README.md": "https://x.gitbook.io/space/guide",
        "guide/install.md": "https://x.gitbook.io/space/guide/install",
    }
    assert [str(notice) for notice in source.skipped] == ["unlisted.md: not in SUMMARY.md [PAGE_SKIPPED]"]


def test_titles_and_trails_come_from_the_summary(tmp_path: Path) -> None:
    pages = pages_of(open_source(write(tmp_path, {"SUMMARY.md": SUMMARY, **PAGES}), book_id="b"))
    assert {name: (page.title, page.trail) for name, page in pages.items()} == {
        "README.md": ("Hello", ()),
        "guide/README.md": ("Start", ("Guide",)),
        "guide/install.md": ("Install", ("Guide", "Start")),
    }


def test_the_configuration_names_root_summary_and_readme(tmp_path: Path) -> None:
    files = {
        ".gitbook.yaml": "root: ./docs/\nstructure:\n  readme: ./home.md\n  summary: ./contents.md\n",
        "docs/contents.md": "* [A](a.md)\n",
        "docs/home.md": "# Home\n",
        "docs/a.md": "# A\n",
        "docs/hidden.md": "---\nhidden: true\n---\n# H\n",
    }
    source = open_source(write(tmp_path, files), book_id="b", base_url="https://x.io")
    assert urls_of(source) == {"docs/a.md": "https://x.io/a", "docs/home.md": "https://x.io/"}
    assert [notice.message for notice in source.skipped] == ["hidden: true"]


TYPESCRIPT = """# Summary

* [Getting started](docs/start.md)
* [The type system](docs/types/type-system.md)
  * [Generics](docs/types/generics.md)
  * [Ambient](docs/types/ambient/intro.md)
    * [Files](docs/types/ambient/d.ts.md)
* [Options](docs/options/intro.md)
  * [No `any`](docs/options/noImplicitAny.md)
* [Testing](docs/testing/intro.md)
  * [Barrel](docs/testing/@barrel.md)

## Reference

* [Tools](tools.md)
  * [Later]()
    * [Deep](docs/deep.md)
* [API](reference/api/README.md)
  * [One](reference/api/one.md)
"""


def test_the_hierarchy_of_the_summary_gives_the_addresses_even_beside_an_old_book_json(tmp_path: Path) -> None:
    targets = re.findall(r"\(([^)]+)\)", TYPESCRIPT)
    files = {"SUMMARY.md": TYPESCRIPT, "book.json": '{"gitbook": "3.2.2"}', **dict.fromkeys(targets, "# A\n")}
    source = open_source(write(tmp_path, files), book_id="b", base_url="https://x.io")
    assert {name: url.removeprefix("https://x.io/") for name, url in urls_of(source).items()} == {
        "docs/start.md": "start",
        "docs/types/type-system.md": "type-system",
        "docs/types/generics.md": "type-system/generics",
        "docs/types/ambient/intro.md": "type-system/intro",
        "docs/types/ambient/d.ts.md": "type-system/intro/d.ts",
        "docs/options/intro.md": "intro",
        "docs/options/noImplicitAny.md": "intro/noimplicitany",
        "docs/testing/intro.md": "intro-1",
        "docs/testing/@barrel.md": "intro-1/barrel",
        "tools.md": "reference/tools",
        "docs/deep.md": "reference/tools/later/deep",
        "reference/api/README.md": "reference/api",
        "reference/api/one.md": "reference/api/one",
    }
    assert [notice.code for notice in source.notices if notice.source_file == "book.json"] == ["BOOK_JSON_STALE"]
    older = urls_of(open_source(tmp_path, book_id="b", base_url="https://x.io", url_style="html"))
    assert older["docs/types/generics.md"] == "https://x.io/docs/types/generics.html"


def test_the_older_tool_builds_html_files(tmp_path: Path) -> None:
    config = '{"title": "Old", "language": "en", "root": "./docs"}'
    write(tmp_path, {"package.json": '{"devDependencies": {"honkit": "^5.0.0"}}'})
    files = {"book.json": config, "docs/SUMMARY.md": SUMMARY, **{f"docs/{name}": text for name, text in PAGES.items()}}
    source = open_source(write(tmp_path, files), book_id="b", base_url="https://x.io")
    assert source.book.title == "Old"
    assert {page.anchors for page in pages_of(source).values()} == {"honkit"}
    assert urls_of(source) == {
        "docs/README.md": "https://x.io/",
        "docs/guide/README.md": "https://x.io/guide/",
        "docs/guide/install.md": "https://x.io/guide/install.html",
    }


def test_a_configuration_without_summary_publishes_every_page(tmp_path: Path) -> None:
    source = open_source(
        write(tmp_path, {".gitbook.yaml": "root: ./\n", **PAGES}), book_id="b", base_url="https://x.io"
    )
    assert urls_of(source)["unlisted.md"] == "https://x.io/unlisted"


def test_a_book_json_that_belongs_to_something_else_does_not_make_a_gitbook(tmp_path: Path) -> None:
    assert open_source(write(tmp_path, {"book.json": "[]", "a.md": "# A\n"}), book_id="b").toolchain == "plain"


def test_hints_tabs_and_code_tags_are_markup_and_their_titles_are_words(tmp_path: Path) -> None:
    page = (
        "# Page\n\nOpening words.\n\n"
        '{% hint style="info" %}\nMind the fuse.\n{% endhint %}\n\n'
        '{% tabs %}\n{% tab title="Python" %}\n{% code title="a.py" lineNumbers="true" %}\n```python\nx = 1\n```\n'
        "{% endcode %}\n{% endtab %}\n{% endtabs %}\n\n"
        '{% content-ref url="b.md" %}\n[b.md](b.md)\n{% endcontent-ref %}\n'
    )
    pages = pages_of(open_source(write(tmp_path, {"SUMMARY.md": "* [P](p.md)\n", "p.md": page}), book_id="b"))
    (chunk,) = split(pages["p.md"], FakeEmbedder().tokens)
    assert embedding_text(chunk).split("\n") == [
        "Page",
        "Opening words.",
        "Mind the fuse.",
        "Python",
        "a.py",
        "x = 1",
        "b.md",
    ]


def test_missing_pages_are_reported_with_the_summarys_own_name_and_line(tmp_path: Path) -> None:
    files = {
        ".gitbook.yaml": "root: ./docs/\nstructure:\n  summary: toc.md\n",
        "docs/toc.md": "* [A](a.md)\n* [Gone](gone.md)\n",
        "docs/a.md": "# A\n",
    }
    source = open_source(write(tmp_path, files), book_id="b")
    source.files()
    (notice,) = [notice for notice in source.notices if notice.code == "PAGE_MISSING"]
    assert (notice.source_file, notice.line) == ("docs/toc.md", 2)


def test_shared_content_is_read_with_the_page_and_a_heading_has_the_anchor_written_after_it(tmp_path: Path) -> None:
    page = '# P\n\n## Arm <a href="#the-arm" id="the-arm"></a>\n\n{% include ".gitbook/includes/fuse.md" %}\n'
    files = {"SUMMARY.md": "* [P](p.md)\n", "p.md": page, ".gitbook/includes/fuse.md": "Mind the fuse.\n"}
    (read,) = pages_of(open_source(write(tmp_path, files), book_id="b", base_url="https://x.io")).values()
    (chunk,) = split(read, FakeEmbedder().tokens)
    assert chunk.url == "https://x.io/p#the-arm"
    assert "Mind the fuse." in chunk.text
