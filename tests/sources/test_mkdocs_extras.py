"""MkDocs with its usual extensions: attribute lists, included samples, blogs, a project for each language. What is
expected here was built once with MkDocs 1.6.1, Material 9 and markdown-include-variants 0.0.8."""

from __future__ import annotations

from pathlib import Path

import pytest

from book_files import pages_of, urls_of, write
from quoth.chunks.split import embedding_text, split
from quoth.domain import Page
from quoth.sources import open_source
from quoth.testing.embedder import FakeEmbedder
from quoth.text.anchors import Anchors
from quoth.text.markdown import first_heading, parse, plain


@pytest.mark.parametrize(
    ("written", "words", "anchor"),
    [
        ('Foo { id="9.7.6" }', "Foo", "9.7.6"),
        ("Foo { .cls #id }", "Foo", "id"),
        ("Foo { .cls }", "Foo", "foo"),
        ("Foo {: .cls }", "Foo", "foo"),
        ('Foo bar { data-toc-label="F" }', "Foo bar", "foo-bar"),
        ('Foo { #a .b data-toc-label="x y" }', "Foo", "a"),
        ("Foo <!-- md:version 9.7 --> bar", "Foo  bar", "foo-bar"),
        ("<!-- md:setting x --> Foo { #foo-x }", "Foo", "foo-x"),
        ("The {name} of x", "The {name} of x", "the-name-of-x"),
        ("Use {curly}", "Use {curly}", "use-curly"),
        ("The `a{ .b }`", "The a{ .b }", "the-a-b"),
    ],
)
def test_attributes_of_a_heading_are_not_in_its_words_or_its_anchor(written: str, words: str, anchor: str) -> None:
    (heading,) = parse(f"## {written}\n")
    assert heading.text == words
    assert Anchors("mkdocs").of(heading.text, heading.anchor) == anchor
    assert first_heading(f"# {written}\n") == words


def test_attributes_after_links_and_blocks_are_not_words() -> None:
    text = "[Start](a.md){ .md-button } with ![a picture](b.png){ width=300 loading=lazy }.\n{ .annotate }\n\nf(){ x }"
    assert plain(text) == "Start with a picture.\nf(){ x }"


def test_blocks_of_pymdownx_are_containers() -> None:
    text = "//// tip | Mind the gap\n\nWords.\n\n/// tab | Linux\n\nMore.\n\n///\n\n////\n\n/// is a comment in Rust\n"
    blocks = parse(text)
    assert [block.kind for block in blocks] == ["admonition", "paragraph"]
    assert plain(text) == "Mind the gap\nWords.\nLinux\nMore.\n/// is a comment in Rust"


SAMPLES = {
    "docs/en/mkdocs.yml": """site_name: Site
site_url: https://x.org
plugins: [search, {mkdocstrings: {}}]
markdown_extensions: {mdx_include: {base_path: docs}, markdown_include_variants: null, pymdownx.snippets: null}
""",
    "docs/en/docs/index.md": """# Home

{* ../../docs_src/a_py310.py ln[2:3,5] hl[2] title["main.py"] *}

```python
{!../../docs_src/a.py[ln:1-2]!}
```

  {!> ../../docs_src/a.py!}

\\{!not an include!}

{!../../docs_src/gone.py!}

--8<-- "docs/part.md"
""",
    "docs/en/docs/reference.md": "# Reference\n\n::: pkg.module\n    options:\n        members: [a]\n\nAfter.\n",
    "docs/en/docs/part.md": "Shared words.\n",
    "docs/de/mkdocs.yml": "site_name: Seite\n",
    "docs/de/docs/index.md": "# Start\n",
    "docs_src/a.py": "one = 1\ntwo = 2\n",
    "docs_src/a_py310.py": "1\n2\n3\n4\n5\n6\n",
    "README.md": "# The repository\n",
}
HOME = """# Home

```python title="main.py"
2
3
5
```

```python
one = 1
two = 2
```

  one = 1
  two = 2

{!not an include!}



Shared words.
"""


def test_samples_are_included_from_the_whole_project(tmp_path: Path) -> None:
    source = open_source(write(tmp_path, SAMPLES), book_id="b")
    pages = pages_of(source)
    assert pages["docs/en/docs/index.md"].text == HOME
    assert [notice.message for notice in pages["docs/en/docs/index.md"].notices] == [
        "../../docs_src/gone.py does not exist; it is left out"
    ]
    assert pages["docs/en/docs/reference.md"].text == "# Reference\n\nAfter.\n"


def test_a_project_for_each_language_is_read_in_english_and_the_others_are_named(tmp_path: Path) -> None:
    source = open_source(write(tmp_path, SAMPLES), book_id="b")
    assert urls_of(source)["docs/en/docs/index.md"] == "https://x.org/"
    told = {notice.code: notice.message for notice in source.notices}
    assert told["FURTHER_DOCS"] == "the project has more books: docs/de; to ingest one of them, give its folder"
    assert told["AUTODOC_NOT_RUN"].startswith("1 page has text that mkdocstrings writes from code")
    assert list(urls_of(open_source(tmp_path / "docs/de", book_id="b"))) == ["docs/index.md"]


def test_without_the_extension_nothing_is_included(tmp_path: Path) -> None:
    page = "# A\n\n{!b.md!}\n\n{* b.md *}\n"
    (read,) = pages_of(
        open_source(write(tmp_path, {"mkdocs.yml": "site_name: X", "docs/a.md": page}), book_id="b")
    ).values()
    assert read.text == page


BLOG = {
    "mkdocs.yml": "site_name: X\nsite_url: https://x.org\nplugins:\n  - blog\n",
    "docs/index.md": "# Home\n",
    "docs/blog/index.md": "# Blog\n",
    "docs/blog/posts/first.md": "---\ndate: 2023-01-31\n---\n# Hello, *World*!\n",
    "docs/blog/posts/deep/second.md": "---\ndate: {created: 2024-11-05, updated: 2025-01-01}\nslug: own\n---\n# Two\n",
    "docs/blog/posts/third.md": "---\ndate: 2024-01-02 10:00:00\ntitle: Über uns\n---\nWords.\n",
    "docs/blog/posts/undated.md": "# Undated\n",
}


def test_posts_of_a_blog_have_the_addresses_that_the_blog_gives_them(tmp_path: Path) -> None:
    source = open_source(write(tmp_path, BLOG), book_id="b")
    assert urls_of(source) == {
        "docs/index.md": "https://x.org/",
        "docs/blog/index.md": "https://x.org/blog/",
        "docs/blog/posts/first.md": "https://x.org/blog/2023/01/31/hello-world/",
        "docs/blog/posts/deep/second.md": "https://x.org/blog/2024/11/05/own/",
        "docs/blog/posts/third.md": "https://x.org/blog/2024/01/02/%C3%BCber-uns/",
    }
    assert [(notice.source_file, notice.message) for notice in source.skipped] == [
        ("docs/blog/posts/undated.md", "a blog post without a date")
    ]


def test_the_addresses_of_posts_follow_the_options_of_the_blog(tmp_path: Path) -> None:
    options = "{blog_dir: ., post_dir: articles, post_url_format: '{categories}/{slug}', post_url_date_format: yyyy/M}"
    files = {
        "mkdocs.yml": f"site_url: https://x.org\nuse_directory_urls: false\nplugins: [{{material/blog: {options}}}]\n",
        "docs/articles/a.md": "---\ndate: 2023-01-31\ncategories: [Good News, Other]\n---\n# A post\n",
    }
    assert urls_of(open_source(write(tmp_path, files), book_id="b")) == {
        "docs/articles/a.md": "https://x.org/good-news/a-post.html"
    }


def test_no_markup_of_mkdocs_reaches_what_is_searched_and_shown() -> None:
    text = '# A <!-- c -->\n\n## B { .x data-toc-label="y" }\n\n/// note | Mind\n\n[Go](b.md){ .md-button }\n\n///\n'
    page = Page("b", "a.md", text, "h", "https://x.org/", first_heading(text), anchors="mkdocs")
    (chunk,) = split(page, FakeEmbedder().tokens)
    assert chunk.breadcrumb == ("A", "B")
    assert chunk.url == "https://x.org/#b"
    assert embedding_text(chunk) == "A\nB\nMind\nGo"
