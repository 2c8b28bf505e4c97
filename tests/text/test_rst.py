"""reStructuredText as blocks: the promises of `quoth.text.blocks` on generated pages, and docutils' rules."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from quoth.chunks.split import split
from quoth.text.blocks import Block, leaves
from quoth.text.markdown import first_heading, parse, plain
from quoth.text.rst_ids import docutils_id
from splitting import (
    TOKENS,
    LetterTokens,
    WordTokens,
    check_everything_readable_is_in_a_chunk,
    check_no_fence_or_table_is_cut_that_would_have_fitted,
    check_no_heading_ends_a_chunk,
    check_nothing_is_above_the_limit,
    check_text_is_the_slice,
    check_the_chain_holds,
    page,
)
from writings import thorough

_WORD = st.sampled_from(
    (
        *(
            "robot",
            "node",
            "--no-deps",
            "tf2_ros",
            "``code``",
            "**bold**",
            "*a*",
            "`link <https://a.b/c>`_",
            "naïve",
            "日本語",
        ),
        *(
            ":ref:`text <label>`",
            ":py:func:`~a.b.c`",
            "|sub|",
            "[1]_",
            "word_",
            "a*b",
            "\\*",
            "::",
            "end.",
            "`",
            "``",
            "..",
            ":x:",
        ),
    )
) | st.text(alphabet="abcdefgé.!?_-", min_size=1, max_size=12)
_LINE = st.lists(_WORD, min_size=1, max_size=10).map(" ".join)
_PARAGRAPH = st.lists(_LINE, min_size=1, max_size=5).map("\n".join)
_RULE = st.tuples(st.sampled_from('=-~^"#*'), st.integers(1, 30)).map(lambda pair: pair[0] * pair[1])
_HEADING = st.tuples(_LINE, st.sampled_from("=-~^")).map(lambda pair: f"{pair[0]}\n{pair[1] * (len(pair[0]) * 2)}")
_OVERLINED = st.tuples(_LINE, st.sampled_from("=#")).map(
    lambda pair: f"{pair[1] * (len(pair[0]) * 2)}\n{pair[0]}\n{pair[1] * (len(pair[0]) * 2)}"
)
_CODE = st.lists(_LINE | _RULE | st.just(""), min_size=1, max_size=10).map("\n".join)


def _indented(text: str, by: int = 3) -> str:
    return "\n".join(" " * by + line if line.strip() else line for line in text.split("\n"))


_LITERAL = st.tuples(_LINE, _CODE).map(lambda pair: f"{pair[0]}::\n\n{_indented(pair[1])}")
_CODE_BLOCK = _CODE.map(lambda code: f".. code-block:: python\n   :caption: Cap\n\n{_indented(code)}")
_LIST = st.tuples(st.sampled_from(["- ", "* ", "#. ", "1. "]), st.lists(_LINE, min_size=1, max_size=8)).map(
    lambda pair: "\n".join(pair[0] + line for line in pair[1])
)
_FIELDS = st.lists(_LINE, min_size=1, max_size=4).map(lambda lines: "\n".join(f":param x: {line}" for line in lines))
_GRID = st.lists(st.text("abc ", min_size=1, max_size=9), min_size=1, max_size=8).map(
    lambda cells: "\n".join(["+-----------+", *(f"| {cell:<9} |\n+-----------+" for cell in cells)])
)
_SIMPLE = st.lists(st.text("abc", min_size=1, max_size=9), min_size=1, max_size=9).map(
    lambda cells: "\n".join(
        ["=====  =====", "head   er", "=====  =====", *(f"k      {c}" for c in cells), "=====  ====="]
    )
)
_MARKUP = st.sampled_from(
    (
        *(
            ".. _label:",
            ".. comment\n   more of it",
            "..",
            ".. |sub| replace:: words",
            ".. image:: a.png\n   :alt: words",
        ),
        *(".. [1] A footnote.", "__ https://a.b", ".. index:: a; b", ".. toctree::\n   :hidden:\n\n   a\n   b", "----"),
        *("| a line\n| block", ">>> 1 + 1\n2", "term\n   its definition", "   a quote", ".. note::", ".. x"),
    )
)


def _inside(blocks: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        blocks.map(_indented),
        blocks.map(lambda text: f".. note:: Mind\n\n{_indented(text)}"),
        blocks.map(lambda text: f".. unknown-directive:: An argument\n   :option: x\n\n{_indented(text)}"),
        blocks.map(lambda text: f"- item\n\n{_indented(text, 2)}"),
        blocks.map(lambda text: f".. only:: html\n\n{_indented(text)}"),
    )


_BLOCK = st.recursive(
    st.one_of(_PARAGRAPH, _HEADING, _OVERLINED, _LITERAL, _CODE_BLOCK, _LIST, _FIELDS, _GRID, _SIMPLE, _MARKUP, _RULE),
    _inside,
    max_leaves=3,
)


@st.composite
def rst_pages(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(["\n\n", "\n\n", "\n"])).join(draw(st.lists(_BLOCK, max_size=8)))
    text = text.replace("\n", draw(st.sampled_from(["\n", "\n", "\r\n", "\r"])))
    return draw(st.sampled_from(["", "", "\ufeff", "\n\n", "  ", "\t"])) + text


def blocks_of(text: str) -> tuple[Block, ...]:
    return parse(text, markup="rst")


def headings(text: str) -> list[tuple[int, str, str]]:
    return [(leaf.level, leaf.text, leaf.anchor) for leaf in leaves(blocks_of(text)) if leaf.level]


def words(text: str) -> list[str]:
    return [leaf.plain for leaf in leaves(blocks_of(text)) if leaf.kind != "markup"]


@thorough
@given(rst_pages())
def test_every_visible_character_is_in_exactly_one_leaf(text: str) -> None:
    at = 0
    for leaf in leaves(blocks_of(text)):
        assert leaf.start >= at
        assert not text[at : leaf.start].strip()
        assert leaf.end == len(text[: leaf.end].rstrip())
        at = leaf.end
    assert not text[at:].strip("\ufeff \t\r\n")


@thorough
@given(rst_pages(), st.sampled_from([WordTokens(80), WordTokens(254), LetterTokens()]))
def test_the_promises_of_chunks_hold_for_any_page(text: str, tokens: WordTokens | LetterTokens) -> None:
    written = page(text, markup="rst", source_file="a.rst", anchors="sphinx")
    chunks = split(written, tokens)
    check_text_is_the_slice(written, chunks)
    check_everything_readable_is_in_a_chunk(written, chunks)
    check_nothing_is_above_the_limit(chunks, tokens)
    check_the_chain_holds(chunks)


@thorough
@given(rst_pages())
def test_code_and_tables_are_cut_only_when_they_must(text: str) -> None:
    written = page(text, markup="rst", source_file="a.rst", anchors="sphinx")
    check_no_fence_or_table_is_cut_that_would_have_fitted(written, split(written, TOKENS), TOKENS)


@pytest.mark.parametrize(
    ("piece", "said"),
    [
        ("=====\n      Title\n      =====", "Title"),
        ("=====\n Title\n=====", "Title"),
        ("====  ====\n   one    two\n   ====  ====\n   head   tail\n   ====  ====", "one two\nhead tail"),
        ("+------+\n   | cell |\n   +------+\n\nText.", "cell\nText."),
    ],
)
def test_a_rule_or_a_border_that_lost_its_indentation_is_still_one(piece: str, said: str) -> None:
    assert plain(piece, "rst") == said


@thorough
@given(rst_pages())
def test_a_heading_goes_with_what_follows(text: str) -> None:
    assume(all(len(block.text) < 60 for block in blocks_of(text) if block.level))
    written = page(text, markup="rst", source_file="a.rst", title="T")
    check_no_heading_ends_a_chunk(written, split(written, WordTokens(254)))


@thorough
@given(st.lists(_LINE | _RULE | _HEADING, min_size=1, max_size=6))
def test_a_rule_in_a_literal_block_never_makes_a_heading(lines: list[str]) -> None:
    code = _indented("\n".join(lines))
    for opening in ("Look::", ".. code-block:: text", ".. parsed-literal::"):
        assert headings(f"Title\n=====\n\n{opening}\n\n{code}\n\nAfter.\n") == [(1, "Title", "title")]


def test_levels_follow_the_order_in_which_adornments_appear() -> None:
    text = "=====\nBook\n=====\n\nPart\n====\n\nOne\n---\n\nTwo\n---\n\nDeep\n~~~~\n\nPart 2\n======\n"
    assert [(level, title) for level, title, _ in headings(text)] == [
        *((1, "Book"), (2, "Part"), (3, "One"), (3, "Two"), (4, "Deep"), (2, "Part 2")),
    ]


def test_a_title_that_skips_a_level_is_a_paragraph_and_takes_no_id() -> None:
    text = "A\n=\n\nB\n-\n\nC\n~\n\nD\n=\n\nC\n~\n\nWords.\n\nE\n^\n\nF\n-\n\nC\n~\n"
    assert [(words, anchor) for _, words, anchor in headings(text)] == [
        *(("A", "a"), ("B", "b"), ("C", "c"), ("D", "d"), ("F", "f"), ("C", "id1")),
    ]
    assert "C" in plain(text, "rst").split("\n")


def test_a_short_underline_makes_no_heading_and_a_transition_is_markup() -> None:
    assert headings("A long title\n--\n") == []
    assert [leaf.kind for leaf in leaves(blocks_of("Before.\n\n------\n\nAfter.\n"))] == [
        "paragraph",
        "markup",
        "paragraph",
    ]


def test_wide_characters_need_two_columns_of_underline() -> None:
    assert headings("日本\n==\n") == []
    assert [title for _, title, _ in headings("日本\n====\n")] == ["日本"]


@pytest.mark.parametrize(
    ("title", "id"),
    [
        ("Getting started", "getting-started"),
        ("1. Install it!", "install-it"),
        ("The ``Foo.bar()`` call", "the-foo-bar-call"),
        (":mod:`~a.json` -- JSON", "json-json"),
        ("Ærø & Straße", "aero-strasze"),
        ("What's new?", "what-s-new"),
    ],
)
def test_ids_are_made_as_docutils_makes_them(title: str, id: str) -> None:
    assert headings(f"{title}\n{'=' * 40}\n")[0][2] == id
    assert docutils_id(id) == id


def test_ids_that_are_taken_become_numbers_shared_by_the_whole_page() -> None:
    text = (
        "Intro\n=====\n\nSee `Usage <https://a.b>`_ and [1]_.\n\n.. _plain label:\n\nNotes\n-----\n\n"
        "Usage\n-----\n\nNotes\n-----\n\n.. _taken:\n\nTaken\n-----\n\n日本\n----\n\n.. [1] Foot.\n"
    )
    # id1 is the reference to the footnote; the label that has taken a heading's id replaces it.
    assert [anchor for _, _, anchor in headings(text)] == ["intro", "notes", "id2", "id3", "taken", "id5"]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("``a * b``", "a * b"),
        ("**bold** and *soft*", "bold and soft"),
        ("`text <https://a.b>`_", "text"),
        ("`text <https://a.b>`__ end", "text end"),
        ("see name_ or `two words`_", "see name or two words"),
        (":ref:`The title <label>`", "The title"),
        (":py:func:`foo.bar`", "foo.bar"),
        (":class:`~foo.Bar`", "Bar"),
        (":pep:`8`", "PEP 8"),
        ("|release| here", "release here"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("a\\ b\\*", "ab*"),
        ("note [1]_ and [CIT2002]_", "note  and [CIT2002]"),
        ("snake_case stays, _private too", "snake_case stays, _private too"),
        ("`interpreted`", "interpreted"),
        ("_`here` it is", "here it is"),
        ("the __init__ of __main__, _own_", "the __init__ of __main__, _own_"),
        ("(see link_) or two__.", "(see link) or two."),
    ],
)
def test_inline_marks_go_and_their_words_stay(written: str, read: str) -> None:
    assert plain(written, "rst") == read


def test_a_double_colon_announces_code() -> None:
    text = "Run this::\n\n    **not bold**\n\n    more\n\nDone.\n"
    assert [(leaf.kind, leaf.plain) for leaf in leaves(blocks_of(text))] == [
        ("paragraph", "Run this:"),
        ("code", "**not bold**\n\nmore"),
        ("paragraph", "Done."),
    ]
    assert words("::\n\n   x = 1\n") == ["x = 1"]
    assert words("So ::\n\n> quoted\n> code\n\nDone.\n") == ["So", "> quoted\n> code", "Done."]


def test_a_code_block_is_a_fence_with_caption_and_repeats_its_directive_when_cut() -> None:
    code = "\n".join(f"    call number {n}" for n in range(60))
    text = f"Intro\n=====\n\n.. code-block:: py\n   :caption: All calls\n\n{code}\n"
    (fence,) = [leaf for leaf in leaves(blocks_of(text)) if leaf.kind == "fence"]
    assert fence.plain.startswith("All calls\ncall number 0\n")
    assert fence.info == "py"
    written = page(text, markup="rst", source_file="a.rst", anchors="sphinx")
    chunks = split(written, TOKENS)
    assert len(chunks) > 2
    assert {chunk.lead for chunk in chunks[1:]} == {".. code-block:: py"}


def test_admonitions_keep_title_and_text() -> None:
    assert words(".. note:: Mind the gap.\n   And the step.\n\n   More.\n") == [
        "Note: Mind the gap.\nAnd the step.",
        "More.",
    ]
    assert words(".. warning::\n\n   Hot.\n") == ["Warning", "Hot."]
    assert words(".. admonition:: By the way\n   :class: x\n\n   Text.\n") == ["By the way", "Text."]
    assert words(".. versionadded:: 2.0\n   The flag.\n") == ["Added in version: 2.0\nThe flag."]
    assert words(".. deprecated:: 3.1\n") == ["Deprecated since version: 3.1"]


def test_no_directive_loses_its_content() -> None:
    text = ".. made-up:: Arg\n   :opt: x\n\n   Body *text*.\n\n   .. tip:: Inner.\n"
    assert words(text) == ["Arg", "Body text.", "Tip: Inner."]
    assert words(".. figure:: a.png\n   :alt: A robot\n\n   The caption.\n") == ["A robot", "The caption."]
    assert words(".. image:: a.png\n") == []
    assert words(".. function:: run(a, b)\n              stop(c)\n\n   Runs.\n") == ["run(a, b)\nstop(c)", "Runs."]


def test_comments_targets_and_toctrees_are_markup() -> None:
    text = ".. a comment\n   of two lines\n\n.. _label:\n\n.. toctree::\n   :caption: Hidden\n\n   a\n\n..\n\nText.\n"
    assert words(text) == ["Text."]


def test_a_field_list_at_the_top_is_metadata_and_elsewhere_text() -> None:
    assert words(":orphan:\n:author: Me\n\nText.\n") == ["Text."]
    assert words("Text.\n\n:param x: the *x*\n:returns: nothing\n") == ["Text.", "param x: the x", "returns: nothing"]
    assert plain(":param x: the x", "rst") == "param x: the x"


def test_what_stands_under_a_condition_may_have_headings() -> None:
    text = "A\n=\n\n.. only:: html\n\n   B\n   -\n\n   Text.\n"
    assert headings(text) == [(1, "A", "a"), (2, "B", "b")]


def test_lists_nest_and_hold_code() -> None:
    text = "#. One\n\n   .. code-block:: sh\n\n      run\n\n#. Two\n\n   - deep\n   - er\n"
    (block,) = blocks_of(text)
    assert block.kind == "list"
    assert [item.kind for item in block.children] == ["item", "item"]
    assert words(text) == ["One", "run", "Two", "deep", "er"]
    assert words("A. Einstein was\na great mind.\n") == ["A. Einstein was\na great mind."]


def test_tables_are_read_by_rows_and_keep_their_header_when_cut() -> None:
    grid = (
        "+-------+------+\n| Key   | Is   |\n+=======+======+\n| one   | the  |\n| two   | rest |\n+-------+------+\n"
    )
    assert words(grid) == ["Key Is\none two the rest"]
    rows = "\n".join(f"row{n:<4}  the value number {n}" for n in range(40))
    simple = (
        f"=======  =================\nkey      is\n=======  =================\n{rows}\n=======  =================\n"
    )
    chunks = split(page(simple, markup="rst", source_file="a.rst"), TOKENS)
    assert len(chunks) > 2
    assert {chunk.lead.split("\n")[1] for chunk in chunks[1:]} == {"key      is"}


def test_list_tables_and_csv_tables_are_read_by_rows() -> None:
    text = ".. list-table:: Options\n   :header-rows: 1\n\n   * - Name\n     - Does\n"
    text += "   * - ``-v``\n     - talk\n       more\n"
    assert words(text) == ["Options\nName Does\n-v talk more"]
    assert words('.. csv-table:: T\n   :header: "a", "b"\n\n   1, "two, too"\n') == ["T\na b\n1 two, too"]


def test_the_title_is_found_with_and_without_an_overline() -> None:
    assert first_heading(":orphan:\n\n.. _x:\n\n######\nMy ``X``\n######\n\nText\n====\n", markup="rst") == "My X"
    assert first_heading("Text only.\n", markup="rst") == ""
