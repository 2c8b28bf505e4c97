"""What a reader sees of a quoted passage: its words, as a page of the book shows them, and whole."""

from __future__ import annotations

import pytest

from quoted import drafted, shown
from quoth.ask.blocks import layout
from quoth.ask.quotes import Piece, composed, spoken
from quoth.domain import Markup, Passage
from samples import chunk


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("See [the guide to arms][arms guide] first.", "See the guide to arms first."),
        ("Call [`move`][arm.move] first.", "Call `move` first."),
        ("See [](move-the-arm) and [](../start/first-steps.md).", "See move the arm and first steps."),
        ("See [](robots.Arm).", "See robots.Arm."),
        ("The mode is `slow`[^1]:", "The mode is `slow`:"),
        ("A&nbsp;robot &mdash; or two.", "A robot — or two."),
        ("Write `&nbsp;` between them.", "Write `&nbsp;` between them."),
        ("Type <code>move &lt;arm&gt;</code> here.", "Type `move <arm>` here."),
        ("One<br>two", "One two"),
        (":material-robot: The robot moves.", "The robot moves."),
        ("[:material-github:](https://x.org) has it.", "[github](https://x.org) has it."),
        ("[Ask us][board]{ .md-button .wide }", "Ask us"),
        ("The ^^arm^^ is ==fast== if a == b == c.", "The arm is fast if a == b == c."),
        ("Examples::", "Examples:"),
        ("{py:func}`~robots.Arm.move` and {ref}`the guide <guide>`", "move and the guide"),
        ("{meth}`__init__` and {math}`x^2`", "`__init__` and $x^2$"),
    ],
)
def test_extensions_of_markdown_are_shown_as_their_words(written: str, seen: str) -> None:
    assert spoken(written, chunk(written)) == seen


def test_a_link_by_its_name_alone_is_known_by_its_target_in_the_passage() -> None:
    text = "Read [the guide] and the [sic] note.\n\n  [the guide]: https://x.org\n"
    assert shown(text) == "Read the guide and the [sic] note. [1]"


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        (":meth:`.Arm.move_` and :class:`!Arm`", "`Arm.move_` and Arm"),
        ("The __init__.py file and ``__all__``.", "The `__init__.py` file and `__all__`."),
        (":meth:`__init__` takes :obj:`*args`.", "`__init__` takes `*args`."),
        (r"It is in a `\<topic>`_ element.", "It is in a `<topic>` element."),
        (r"Here `\hat{x}` grows.", r"Here $\hat{x}$ grows."),
        (":menuselection:`File --> Open`", "File → Open"),
        ("Use ``a ` b``.", "Use `` a ` b ``."),
        ("Like this:::", "Like this:"),
        ("By **:user:`Ann`** and *us*.", "By **Ann** and *us*."),
    ],
)
def test_names_and_formulas_of_restructured_text_are_not_taken_for_marks(written: str, seen: str) -> None:
    assert spoken(written, chunk(written, markup="rst")) == seen


def test_cells_of_a_table_are_cleaned_like_sentences() -> None:
    text = "| Mode | Keys |\n|------|------|\n"
    text += '| <a id="x">slow</a>[^2] | <ul><li><kbd>a</kbd></li><li>b</li></ul> &nbsp;c |\n'
    text += "| [fast][modes] | <code>'a' \\| 'b'</code>&#124; :material-check: |\n"
    assert shown(text).splitlines()[2:4] == ["| slow | a b c |", "| fast | `'a' \\| 'b'`\\| ✓ |"]


def test_a_directive_in_a_fence_is_read_like_the_page() -> None:
    text = "```{note}\n:class: wide\n\nArms are *heavy*.\n```\n\n```{code-block} python\n:caption: Run\n\nmove()\n```\n"
    text += "\n```{image} arm.png\n```\n\n```{toctree}\nguide\n```\n\n```{tip} Move them slowly.\n```\n\nThe end.\n"
    assert shown(text, "myst") == (
        "Arms are *heavy*. [1]\n\n```python\nmove()\n```\n\n[1]\n\nMove them slowly. [1]\n\nThe end. [1]"
    )


def test_restructured_text_in_a_fence_is_read_as_such() -> None:
    text = "```{eval-rst}\n.. code-block:: python\n\n    move()\n```\n\nThe end.\n"
    assert shown(text, "myst") == "```\nmove()\n```\n\n[1]\n\nThe end. [1]"


def test_the_closing_line_of_a_directive_that_was_cut_opens_no_code() -> None:
    text = "Arms are heavy.\n```\n\nMove them.\n\n```python\nmove()\n```\n"
    assert shown(text, "myst") == "Arms are heavy. [1]\n\nMove them. [1]\n\n```python\nmove()\n```\n\n[1]"


def test_code_with_fences_in_it_has_a_longer_fence_around_it() -> None:
    assert shown("::\n\n    a\n    ```\n    b\n    ```\n", "rst") == "````\na\n```\nb\n```\n````\n\n[1]"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            "====  =====\nName  Use\n====  =====\narm   moves\n",
            "hand  holds\n====  =====\n\nThe end of it.",
        ),
        (
            "    +------+-------+\n    | Name | Use   |\n    +------+-------+\n    | arm  | moves |\n",
            "| hand | holds |\n    +------+-------+\n\nThe end of it.",
        ),
    ],
    ids=["simple", "grid"],
)
def test_both_parts_of_a_drawn_table_that_was_cut_are_tables(first: str, second: str) -> None:
    assert "| arm | moves |" in shown(first, "rst")
    assert "| hand | holds |" in shown(second, "rst")
    assert not any(mark in shown(text, "rst") for text in (first, second) for mark in ("==", "-+"))


def test_rows_below_a_header_that_was_shortened_keep_their_cells() -> None:
    lead = "===  ===\nName  Use\n===  ==="
    assert "| a long name | moves |" in shown("a long name      moves\nthe hand         holds\n", "rst", lead)


def test_directives_in_a_cell_are_not_shown() -> None:
    text = ".. list-table::\n\n   * - .. image:: arm.png\n     - .. note:: It moves.\n   * - .. code-block:: python\n\n"
    text += "          move()\n     - .. class:: wide\n\n       Wide\n"
    assert shown(text, "rst").splitlines()[2:4] == ["|  | It moves. |", "| `move()` | Wide |"]


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("It moves.\n\n   Arm\n   ^^^^^\n   .. autoclass:: Arm\n    :members:\n", "It moves. [1]"),
        ("Example:\n.. code-block:: yaml\n\nThe end.", "Example: [1]\n\nThe end. [1]"),
        ("{% if fast %}\n\nIt moves.\n\n{% endif %}", "It moves. [1]"),
        (".. raw:: html\n\n   <b>Arm</b>\n\nIt moves.", "It moves. [1]"),
    ],
)
def test_lines_of_markup_in_a_paragraph_are_left_out(text: str, seen: str) -> None:
    assert shown(text, "rst") == seen


def test_the_first_line_of_a_passage_is_not_lost_with_its_margin() -> None:
    text = "The method provides a means for the reader to check\n        Quoth's state. It is fast.\n"
    assert shown(text, "rst") == ("The method provides a means for the reader to check Quoth's state. It is fast. [1]")


def test_code_that_was_cut_is_one_block_of_code() -> None:
    first = chunk("Do this::\n\n    def move(arm):\n        if arm:", markup="rst", id="a", next_chunk_id="b")
    second = chunk("arm.move()\n        return arm\n\nThe end.", markup="rst", id="b")
    assert drafted([first, second]).startswith("Do this: [1]\n\n```\ndef move(arm):\n    if arm:\narm.move()\n")
    assert drafted([first, second]).endswith("```\n\n[1][2]\n\nThe end. [2]")


def test_prose_of_an_admonition_that_was_cut_is_not_code() -> None:
    text = "The arm moves.\n\n    It moves as far as it can reach.\n\n    ```sh\n    move\n    ```\n"
    assert shown(text) == "The arm moves. [1]\n\nIt moves as far as it can reach. [1]\n\n```sh\nmove\n```\n\n[1]"


@pytest.mark.parametrize("ending", ["like this:", "e.g."])
def test_a_piece_that_announces_code_brings_it(ending: str) -> None:
    text = f"Move the arm, {ending}\n\n```sh\nmove\n```\n"
    assert drafted([chunk(text)], last=1) == f"Move the arm, {ending} [1]\n\n```sh\nmove\n```\n\n[1]"


def test_a_colon_with_nothing_below_it_becomes_a_full_stop() -> None:
    assert drafted([chunk("It has three parts:")]) == "It has three parts. [1]"
    assert drafted([chunk("**It has three parts:**")]) == "**It has three parts.** [1]"
    assert drafted([chunk("It has three parts:\n\n- arms\n- hands\n")]).startswith("It has three parts: [1]\n\n- arms")


def test_code_is_shown_without_the_margin_that_all_its_lines_share() -> None:
    text = ".. code-block:: python\n\n    def move():\n        arm()\n"
    assert shown(text, "rst") == "```\ndef move():\n    arm()\n```\n\n[1]"
    assert shown("Type:\n\n $ move\n", "asciidoc").endswith("```\n$ move\n```\n\n[1]")


def test_only_the_language_of_a_fence_is_shown() -> None:
    text = '```python title="arm.py" hl_lines="1"\nmove()\n```\n\n``` { .sh .copy }\nls\n```\n'
    assert shown(text).startswith("```python\nmove()\n```")


def test_a_short_table_without_a_header_is_shown_whole() -> None:
    text = "Modes:\n\n=====  ======\nslow   Wide\nfast   Narrow\n=====  ======\n"
    here = layout(chunk(text, markup="rst"))
    passages = [Passage(chunk=here.chunk, score=1.0, similarity=1.0)]
    made = composed([Piece(frozenset({(0, 1)}), (0, 1))], passages, [here], 8)
    assert made.text == "|  |  |\n| --- | --- |\n| slow | Wide |\n| fast | Narrow |\n\n[1]"


def test_the_bars_of_a_line_block_are_not_shown() -> None:
    assert shown("| Arms move.\n| Hands hold.\n", "rst") == "Arms move. Hands hold. [1]"
    rule = "=====  ==============\n"
    text = f"{rule}Name   Use\n{rule}arm    | It moves\n       | slowly.\nhand   It holds.\n{rule}"
    assert "| arm | It moves slowly. |" in shown(text, "rst")


def test_what_a_name_will_be_replaced_with_is_not_shown() -> None:
    assert shown(".. |arm| replace:: https://x.org/arm\n\nIt moves.\n", "rst") == "It moves. [1]"


def test_comments_and_marks_of_a_line_break_in_asciidoc_are_not_shown() -> None:
    text = "Arms move. +\nHands hold +\nthings.\n// gone. Never to return.\nThe end.\n"
    assert shown(text, "asciidoc") == "Arms move. Hands hold things. The end. [1]"


ROWS = """
[cols="1,2"]
|===
|Name |Use

|arm
a|It moves:

* slowly

|hand
|It holds.
|===
"""
HEADER = "[%header,cols=2*]\n|===\n|Name\n|Use\n|arm\n|Moves.\n|===\n"
SPANS = "|===\n|Name |Use\n\n|arm |Moves\nslowly\n2+|Both\n|===\n"


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (ROWS, ["| arm | It moves: slowly |", "| hand | It holds. |"]),
        (HEADER, ["| arm | Moves. |"]),
        (SPANS, ["| arm | Moves slowly |", "| Both |"]),
    ],
    ids=["a cell on each line", "a header on two lines", "a cell over two columns"],
)
def test_the_cells_of_a_row_may_be_on_several_lines(text: str, rows: list[str]) -> None:
    assert shown(text, "asciidoc").splitlines()[:-2] == ["| Name | Use |", "| --- | --- |", *rows]


def test_a_row_of_which_a_cut_table_has_only_the_end_is_apart_from_the_next_one() -> None:
    lead = '[cols="1,2"]\n|===\n|Name |Use'
    assert "| hand | It holds. |" in shown("|It moves.\n\n|hand\n|It holds.\n", "asciidoc", lead)


LIST = "Uses:\n\n- a\n- b\n\nTo use them, go.\n\n"
CODE = "```python title='a'\nx\n  y\n```\n\n> a\n> b\n\nArm\n: It moves.\n"
TABLES = "| a | b |\n|---|---|\n| c | d |\n\n| e | f |\n\nOne\\\ntwo.\n\n"
TABS = '=== "A"\n\n    One.\n\n=== "B"\n\n    Two.\n'
TERMS = "arm\n  It moves.\n\n.. option:: -s\n   :type: a\n\n   It is slow.\n\n| a\n| b\n\n"
DRAWN = "=====  =====\nName   Use\n=====  =====\narm    moves\n=====  =====\n\n.. code:: c\n\n   d\n    e\n"
ASCIIDOC = "* a\n* b\n\nTo use. +\nGo.\n// no\nYes.\n\narm::\nIt moves.\n\n----\na\n  b\n----\n"
MYST = "A.\n\n```{note}\n:class: a\n\nArms *move*.\n```\n\n```{code-block} python\n:caption: Run\n\nmove()\n```\n"


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("markdown", LIST + CODE),
        ("markdown", TABLES + TABS),
        ("rst", LIST + TERMS + DRAWN),
        ("rst", "Do::\n\n    a\n      b\n\nThe end.\n"),
        ("asciidoc", ASCIIDOC),
        ("asciidoc", ROWS),
        ("myst", MYST),
    ],
)
def test_a_page_whose_lines_end_as_on_windows_reads_the_same(markup: Markup, text: str) -> None:
    assert shown(text.replace("\n", "\r\n"), markup) == shown(text, markup)


def test_both_parts_of_code_that_was_cut_lose_the_same_margin() -> None:
    first = chunk("```python\n    if arm:\n        move()", id="a", next_chunk_id="b", markup="myst")
    second = chunk("            wait()\n        stop()\n```\n", id="b", lead="```python", markup="myst")
    assert drafted([first, second]) == (
        "```python\nif arm:\n    move()\n        wait()\n    stop()\n```\n\n[1][2]"
    )  # fmt: skip
