"""Quarto: chapters, cells, callouts and references. Heading ids are compared with those of pandoc, which Quarto runs,
in test_built_books.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from book_files import pages_of, urls_of, write
from linear import SMALL, grows_too_fast, surveyed
from quoth.sources import open_source
from quoth.text.markdown import leaves, parse

BOOK = Path(__file__).parent / "books" / "quarto"
SAID = [
    "A plot of things\nimport matplotlib\nplot([1, 2])",
    "Mind this",
    "The note has words.",
    "Danger ahead",
    "The warning has words.",
    "tip",
    "The tip has words.",
    "Left words.",
    "Methods",
    "See Section “Methods”, Figure and .",
    "Included part",
    "Included words.",
    "Inline important words and  values.",
    "The footnote.",
    "Python\nUse pip.",
    "R\nUse install.packages.",
    "A caption",
]


def test_readers_see_the_words_and_none_of_the_marks() -> None:
    page = pages_of(open_source(BOOK, book_id="b"))["chapters/intro.qmd"]
    blocks = leaves(parse(page.text, markup=page.markup, start=page.body_start))
    assert [block.plain for block in blocks if block.plain] == SAID
    assert page.notices == ()


def test_the_listed_chapters_are_the_book() -> None:
    source = open_source(BOOK, book_id="b")
    pages = pages_of(source)
    assert source.book.title == "Small Book"
    assert pages["chapters/headings.qmd"].title == "Hard ones"
    assert pages["chapters/intro.qmd"].trail == ("First part",)
    assert pages["index.qmd"].url == "https://x.org/book/"
    assert {notice.source_file for notice in source.skipped} == {
        "chapters/_part.qmd",
        "chapters/draft.qmd",
        "chapters/unlisted.qmd",
    }
    assert [notice.message for notice in source.notices if notice.code == "PAGE_MISSING"] == [
        "the chapters name chapters/gone.qmd, which does not exist"
    ]


def test_a_website_publishes_every_document_that_is_not_part_of_another(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "_quarto.yml": "project: {type: website}\nwebsite: {site-url: https://x.org}\nexecute: {echo: false}\n",
            "_variables.yml": "version: {full: 1.2.3}\n",
            "index.qmd": "# Home\n",
            "docs/a b.md": "# A {{< var version.full >}}\n\n```{r}\nhidden()\n```\n\n{{< var version.full >}}\n",
            "README.md": "# R\n",
            "_site/index.md": "# Built\n",
            "docs/_x.qmd": "# Part\n",
        },
    )
    source = open_source(tmp_path, book_id="b")
    assert urls_of(source) == {"index.qmd": "https://x.org/", "docs/a b.md": "https://x.org/docs/a%20b.html"}
    assert "hidden()" not in pages_of(source)["docs/a b.md"].text
    assert "1.2.3" in pages_of(source)["docs/a b.md"].text


def test_bad_input_costs_warnings_only(tmp_path: Path) -> None:
    text = (
        "# A\n\n{{< include ../out.qmd >}}\n\n{{< include a.qmd >}}\n\n::: {.callout-note}\n\n```{python}\n#| echo: x\n"
    )
    write(tmp_path, {"out.qmd": "secret words\n"})
    book = write(tmp_path / "book", {"_quarto.yml": "book: [", "a.qmd": text})
    source = open_source(book, book_id="b")
    page = pages_of(source)["a.qmd"]
    assert "secret words" not in page.text
    assert {notice.code for notice in page.notices} == {"INCLUDE_OUTSIDE", "INCLUDE_CYCLE"}
    assert [notice.code for notice in source.notices].count("CONFIG_UNREADABLE") == 1


PIECES = (
    "# a {",
    "::: {.callout-note}",
    "[a]{",
    "@a ",
    "```{r}",
    "^[",
    "{{< a ",
    "<<< ",
    "<!--@include: ",
    "{{ ",
    "<A ",
)
CONFIGS = {
    "a.qmd": {"_quarto.yml": "project: {type: website}"},
    "a.md": {".vitepress/config.js": "export default {}"},
    "a.mdx": {"docs.json": '{"navigation": {"pages": ["a"]}}'},
}


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("page", CONFIGS)
def test_marks_take_linear_time(tmp_path: Path, page: str, piece: str) -> None:
    """The marks of Quarto, VitePress and Mintlify, on many lines and on one."""
    read = surveyed(tmp_path, page, CONFIGS[page])
    slow = [grows_too_fast(read, unit, 2 * SMALL) for unit in (f"{piece}\n", f"{piece} ", piece + " " * 200 + "x\n")]
    assert slow == ["", "", ""]
