"""Small books of our own, compared with what the real tools built from them.

tests/sources/books has a book for each toolchain, and a recording beside it: every page that the tool made and the ids
of its headings, with its version and the command (scripts/record_built_book.py). Ours must be the same.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from book_files import heading_ids, pages_of
from quoth.chunks.split import split
from quoth.domain import Page
from quoth.sources import open_source
from quoth.text.markdown import leaves, parse
from quoth.text.sentences import split as sentences
from splitting import WordTokens, check_no_chunk_has_nothing_but_headings

BOOKS = Path(__file__).parent / "books"
RECORDINGS = sorted(path.stem for path in BOOKS.glob("*.json"))


def built_name(url: str) -> str:
    """The file that a host serves for this address."""
    path = unquote(url.removeprefix("https://x.org")).lstrip("/")
    if path.endswith(".html"):
        return path
    return f"{path}index.html" if path.endswith("/") or not path else f"{path}.html"


def ids_of(page: Page) -> list[str]:
    """The ids of headings. Docusaurus gives the title of a page no id, and no citation needs one."""
    ids = heading_ids(page)
    return [id for at, id in enumerate(ids) if at or page.anchors != "docusaurus" or not id.startswith("h1 ")]


@pytest.mark.parametrize("book", RECORDINGS)
def test_every_page_and_every_id_is_what_the_tool_built(book: str) -> None:
    built = json.loads((BOOKS / f"{book}.json").read_text("utf-8"))["pages"]
    source = open_source(BOOKS / book, book_id="b", base_url="https://x.org")
    found = {built_name(page.url): ids_of(page) for page in pages_of(source).values()}
    assert source.toolchain == book
    assert sorted(found) == sorted(built)
    assert found == built


MARKS = re.compile(r"\{\{|\}\}|\{%|%\}|\{:|:::|<<<|@include|\[\[toc|\[![A-Z]+\]|</?[A-Z]\w*|\{#|\{\.|`")
# These books are about their tools, and show their marks as code.
SHOWN = ("{{< note >}}", "{{ kept }}", "Array<string>", "C# <T>")


@pytest.mark.parametrize("book", RECORDINGS)
def test_readers_see_no_marks_of_the_tool(book: str) -> None:
    """In prose, titles and sections; code is shown as it is written."""
    for page in pages_of(open_source(BOOKS / book, book_id="b")).values():
        blocks = leaves(parse(page.text, markup=page.markup, start=page.body_start))
        seen = [block.plain for block in blocks if block.kind not in ("fence", "code")]
        for words in (*seen, page.title, *page.trail):
            for shown in SHOWN:
                words = words.replace(shown, "")
            assert MARKS.search(words) is None, (page.source_file, words)


TOKENS = WordTokens(40)  # small, so that many blocks have to be cut
ALL_BOOKS = [
    *(BOOKS / book for book in RECORDINGS),
    *(BOOKS.parents[1] / "asciidoc_books" / one for one in ("antora", "book")),
]


def cut_inside(page: Page, at: int) -> str:
    """The sentence that a cut at this place would break; empty if it breaks none."""
    for leaf in leaves(parse(page.text, markup=page.markup, start=page.body_start)):
        if leaf.kind == "paragraph" and leaf.start < at < leaf.end:
            for one in sentences(page.text, leaf.start, leaf.end):
                if one.start < at < one.end:
                    return page.text[one.start : one.end]
    return ""


@pytest.mark.parametrize("book", ALL_BOOKS, ids=lambda book: book.name)
def test_chunks_of_every_kind_of_book_are_whole_sentences_with_clean_breadcrumbs(book: Path) -> None:
    """Only a sentence that is longer than a chunk may be cut."""
    chunks = 0
    for page in pages_of(open_source(book, book_id="b")).values():
        made = split(page, TOKENS)
        chunks += len(made)
        # These books have many headings in a row, which may fill a small chunk by themselves.
        check_no_chunk_has_nothing_but_headings(page, split(page, WordTokens(254)))
        for chunk in made:
            broken = cut_inside(page, chunk.end)
            assert TOKENS.counts([broken])[0] > TOKENS.limit // 2 or not broken, (page.source_file, broken)
            for words in chunk.breadcrumb:
                shown = re.sub("|".join(map(re.escape, SHOWN)), "", words)
                assert MARKS.search(shown) is None, (page.source_file, words)
    assert chunks > 3
