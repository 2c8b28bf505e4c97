"""Small books of ours, compared with what the real tools built from them.

tests/sources/books has a book for each toolchain and beside it a recording: every page that the tool made and the ids
of its headings, with its version and the command (scripts/record_built_book.py). All must be the same.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from book_files import heading_ids, pages_of
from quoth.sources import open_source
from quoth.text.markdown import leaves, parse

BOOKS = Path(__file__).parent / "books"
RECORDINGS = sorted(path.stem for path in BOOKS.glob("*.json"))


def built_name(url: str) -> str:
    """The file that a host shows for this address."""
    path = unquote(url.removeprefix("https://x.org")).lstrip("/")
    if path.endswith(".html"):
        return path
    return f"{path}index.html" if path.endswith("/") or not path else f"{path}.html"


@pytest.mark.parametrize("book", RECORDINGS)
def test_every_page_and_every_id_is_what_the_tool_built(book: str) -> None:
    built = json.loads((BOOKS / f"{book}.json").read_text("utf-8"))["pages"]
    source = open_source(BOOKS / book, book_id="b", base_url="https://x.org")
    found = {built_name(page.url): heading_ids(page) for page in pages_of(source).values()}
    assert source.toolchain == book
    assert sorted(found) == sorted(built)
    assert found == built


MARKS = re.compile(r"\{\{|\}\}|\{%|%\}|\{:|:::|<<<|@include|\[\[toc|\[![A-Z]+\]|</?[A-Z]\w*|\{#|\{\.|`")
# Books about their tools show its marks as code.
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
