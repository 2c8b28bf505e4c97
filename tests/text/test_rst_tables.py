"""The rows and cells of tables in reStructuredText, as docutils shows them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.ask import check, extract
from quoth.chunks.split import split
from quoth.domain import Chunk, Draft, Evidence, Passage
from quoth.testing.embedder import FakeEmbedder
from quoth.text.rst_tables import row_as_markdown, table_rows
from splitting import page

SIMPLE = """\
========  ==========================
Name      Use
========  ==========================
``match`` :meth:`~Model.match` finds
          the first one
second    row two
========  ==========================
"""
GRID = """\
+------------+------------+
| Name       | Use        |
+============+============+
| ``match``  | finds the  |
|            | first one  |
+------------+------------+
| second     | row two    |
+------------+------------+
"""
LISTED = """\
.. list-table:: Functions
   :header-rows: 1
   :widths: 20 80

   * - Name
     - Use
   * - ``match``
     - finds the

       first one
   * - second
     - row two
"""
CSV = """\
.. csv-table:: Functions
   :header: "Name", "Use"

   "``match``", "finds the first one"
   second, row two
"""


@pytest.mark.parametrize("text", [SIMPLE, GRID, LISTED, CSV], ids=["simple", "grid", "list", "csv"])
@pytest.mark.parametrize("margin", ["", "   "])
def test_every_kind_of_table_has_a_header_and_whole_rows(text: str, margin: str) -> None:
    moved = "".join(f"{margin}{line}" for line in text.splitlines(keepends=True))
    rows = table_rows(moved, len(margin), len(moved))
    assert [row.header for row in rows] == [True, False, False]
    shown = [row_as_markdown(row.cells, 2) for row in rows]
    assert shown[0] == "| Name | Use |"
    assert re.fullmatch(r"\| `match` \| (?:match )?finds the first one \|", shown[1])
    assert shown[2] == "| second | row two |"
    assert all(word in moved[row.start : row.end] for row in rows for cell in row.cells for word in cell.split())


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("====  ====\na     b\n====  ====\n", [("a", "b")]),  # without a header
        ("+---+---+\n| a | b |\n+---+---+\n", [("a", "b")]),
        (".. list-table::\n\n   * - a\n     -\n   * -\n     - b\n", [("a", ""), ("", "b")]),
        (".. csv-table::\n   :header-rows: 1\n\n   a, b\n", [("a", "b")]),
        (".. list-table:: Nothing in it\n", []),
        ("not a table\n", [("not a table",)]),
        ("", []),
    ],
)
def test_tables_with_little_in_them(text: str, cells: list[tuple[str, ...]]) -> None:
    assert [row.cells for row in table_rows(text, 0, len(text))] == cells


@given(st.text("=+-|* \n\t:a.\"'", max_size=200))
def test_rows_of_any_text_are_in_order_and_inside_it(text: str) -> None:
    rows = table_rows(text, 0, len(text))
    places = [place for row in rows for place in (row.start, row.end)]
    assert places == sorted(places)
    assert all(0 <= place <= len(text) for place in places)


def _answer(text: str, question: str) -> tuple[Chunk, Draft]:
    (chunk,) = split(page(f"Functions\n=========\n\n{text}", markup="rst"), FakeEmbedder().tokens)
    return chunk, extract.draft(question, Evidence(question, (Passage(chunk=chunk, score=1.0, similarity=1.0),), None))


@pytest.mark.parametrize("text", [SIMPLE, GRID, LISTED, CSV], ids=["simple", "grid", "list", "csv"])
def test_a_reader_sees_a_table_of_markdown_whose_quote_stands_in_the_book(text: str) -> None:
    chunk, draft = _answer(text, "What does match find first?")
    assert "| Name | Use |\n| --- | --- |\n| `match` | " in draft.text
    assert "first one |\n| second | row two |" in draft.text
    assert not re.search(r"``|::|:meth:|====|--\+|\* -|:header", draft.text)
    assert all(chunk.text[one.start - chunk.start : one.end - chunk.start] == one.quote for one in draft.citations)
    grounding = check.check(draft.text, draft.citations, "What does match find first?")
    assert grounding.sentences
    assert all(sentence.supported for sentence in grounding.sentences)


def test_a_row_of_a_long_table_comes_with_its_header() -> None:
    rows = "".join(f"name{number:<4}  turns wheel {number}\n" for number in range(10, 30))
    border = "========  ====================\n"
    _, draft = _answer(f"{border}Name      Use\n{border}{rows}{border}", "What does name17 turn?")
    assert draft.text.startswith("| Name | Use |\n| --- | --- |\n| name17 | turns wheel 17 |")
