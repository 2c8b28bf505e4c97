"""Notebooks as Markdown."""

from __future__ import annotations

import json

import pytest

from quoth.errors import Unreadable
from quoth.sources.notebooks import notebook_text

Json = dict[str, object]


def cell(kind: str, source: str | list[str], outputs: list[Json] | None = None, **metadata: object) -> Json:
    made: Json = {"cell_type": kind, "source": source, "metadata": metadata}
    return made if outputs is None else {**made, "outputs": outputs}


def text_of(*cells: Json, language: str = "python") -> str:
    notebook = {"nbformat": 4, "metadata": {"language_info": {"name": language}}, "cells": list(cells)}
    return notebook_text(json.dumps(notebook).encode(), "a.ipynb")


def test_prose_stays_and_code_becomes_fences_of_the_kernels_language() -> None:
    text = text_of(cell("markdown", ["# Title\n", "\n", "Words."]), cell("code", "x <- 1\nx", []), language="R")
    assert text == "# Title\n\nWords.\n\n```r\nx <- 1\nx\n```\n"


def test_text_outputs_follow_their_code_and_are_kept_short() -> None:
    outputs: list[Json] = [
        {"output_type": "stream", "text": ["\x1b[31mhello\x1b[0m\n"]},
        {"output_type": "execute_result", "data": {"text/html": "<b>", "text/plain": "42"}},
        {"output_type": "display_data", "data": {"image/png": "AAAA"}},
        {"output_type": "error", "ename": "ValueError", "evalue": "no"},
        {"output_type": "stream", "text": "".join(f"line {n}\n" for n in range(100))},
    ]
    text = text_of(cell("code", "go()", outputs))
    assert "```text\nhello\n```\n\n```text\n42\n```\n\n```text\nValueError: no\n```" in text
    assert text.endswith("line 19\n…\n```\n")
    assert "AAAA" not in text


def test_cells_that_their_author_hides_are_left_out() -> None:
    hidden = cell("code", "secret", [], tags=["remove-cell"])
    silent = cell("code", "import x", [{"output_type": "stream", "text": "shown"}], tags=["remove-input"])
    quiet = cell("code", "run()", [{"output_type": "stream", "text": "noise"}], tags=["remove-output"])
    assert text_of(hidden, silent, quiet, cell("markdown", "x", nbsphinx="hidden")) == (
        "```text\nshown\n```\n\n```python\nrun()\n```\n"
    )


def test_the_old_format_is_read_too() -> None:
    cells = [{"cell_type": "heading", "level": 2, "source": "Old"}, {"cell_type": "code", "input": "x", "outputs": []}]
    data = json.dumps({"nbformat": 3, "worksheets": [{"cells": cells}]}).encode()
    assert notebook_text(data, "a.ipynb") == "## Old\n\n```python\nx\n```\n"


def test_a_fence_in_code_gets_a_longer_fence_around_it() -> None:
    assert text_of(cell("code", "'''\n```\n'''", [])) == "````python\n'''\n```\n'''\n````\n"


@pytest.mark.parametrize(
    ("data", "reason", "line"),
    [
        (b'{"cells": [\n  {,', "line 2", 2),
        (b"[]", "not a notebook", 1),
        (b"{}", "no cells", 1),
        (b"\xff\xfe", "UTF-8", None),
        (b'{"cells": [], "metadata": {"n": ' + b"9" * 100_000 + b"}}", "thousands of digits", None),
        (b"[" * 200_000, "nested too deep", None),
    ],
)
def test_a_file_that_is_not_a_notebook_is_refused_with_the_reason(data: bytes, reason: str, line: int | None) -> None:
    with pytest.raises(Unreadable, match=reason) as raised:
        notebook_text(data, "a.ipynb")
    assert raised.value.details.get("line") == line
    assert "a.ipynb" in str(raised.value)
