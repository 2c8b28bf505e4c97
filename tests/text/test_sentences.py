"""Sentences: exact offsets, nothing torn apart, markup without words left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.text.sentences import fold, sentences


def units(text: str, lead: str = "") -> list[tuple[str, str]]:
    return [(unit.kind, text[unit.start : unit.end]) for unit in sentences(text, lead=lead)]


def prose(text: str) -> list[str]:
    return [words for kind, words in units(text) if kind == "prose"]


@pytest.mark.parametrize(
    "whole",
    [
        "Use a timer, e.g. create_timer, for that.",
        "Use a timer, e.g. `create_timer`, for that.",
        "Use `move` vs. `stop` (ex. `move_arm`) for that.",
        "See Fig. 3 for the layout.",
        "It needs version 1.2 of the package.",
        "Import `foo.bar. Baz` before use.",
        "Read [the guide. Really](guide.md) first.",
        "Visit https://docs.ros.org/en/humble.html for more.",
        "Dr. Smith wrote the driver.",
        "The call node.spin() blocks.",
        "It waits ... and then goes on.",
        "J. Smith and A. Jones built it.",
        "Mr. Jobs met Mrs. Gates and Prof. Knuth.",
        "The U.S. Navy bought it from M.C.I. Telecommunications.",
        "Acme Inc. Ltd. sells it since Jan. 2020 at 5 p.m. Pacific time.",
        "It is the ship no. 5 of St. Petersburg.",
    ],
)
def test_a_full_stop_that_ends_nothing_does_not_cut(whole: str) -> None:
    assert prose(f"{whole} Next one.") == [whole, "Next one."]


@pytest.mark.parametrize("first", ["It was built in the U.S.", "He works for Acme Inc.", "The answer is no."])
def test_an_abbreviation_ends_a_sentence_where_another_plainly_begins(first: str) -> None:
    assert prose(f"{first} The next one.") == [first, "The next one."]


@pytest.mark.parametrize(
    "text",
    [
        "[^1]:\n    It moves.\n",
        "(the-arm)=\n\nIt moves.\n",
        "It moves.\n\n![An arm](arm.png){ width=300 }\n",
        "It moves.\n\n[![An arm]][An arm]\n",
        ":   !!! note\n\n        It moves.\n",
        "<Code\n\tcode={`## Arm\n\nIt stops`}\n\tlang='md'\n/>\n\nIt moves.\n",
        "::: robots.arm\n    options:\n      show_root: true\n\nIt moves.\n",
        "````mdx-code-block\n<Tabs>\n````\n\nIt moves.\n",
    ],
)
def test_lines_that_only_a_toolchain_reads_are_left_out(text: str) -> None:
    assert units(text) == [("prose", "It moves.")]


def test_questions_exclamations_and_quotes_end_sentences() -> None:
    assert prose('Is it? Yes! He said "stop." Then **it stopped.** Good.') == [
        "Is it?",
        "Yes!",
        'He said "stop."',
        "Then **it stopped.**",
        "Good.",
    ]


def test_a_sentence_may_open_with_a_name_in_code() -> None:
    assert prose("First this. `rclpy.init()` comes next.") == ["First this.", "`rclpy.init()` comes next."]


def test_a_sentence_runs_over_line_breaks_but_not_over_blank_lines() -> None:
    assert prose("One sentence\nover two lines. Another\n\nA new paragraph") == [
        "One sentence\nover two lines.",
        "Another",
        "A new paragraph",
    ]


def test_a_code_fence_is_one_unit_and_a_hash_in_it_is_no_heading() -> None:
    text = "Run this:\n\n```bash\n# not a heading. Really.\nls | wc\n```\n\nDone."
    assert units(text) == [
        ("prose", "Run this:"),
        ("code", "```bash\n# not a heading. Really.\nls | wc\n```"),
        ("prose", "Done."),
    ]


def test_a_fence_closes_only_with_its_own_kind_and_length() -> None:
    text = "~~~~md\n```\n~~~\n~~~~\nAfter."
    assert units(text) == [("code", "~~~~md\n```\n~~~\n~~~~"), ("prose", "After.")]


def test_a_chunk_that_begins_inside_a_fence_begins_with_code() -> None:
    text = "x = 1. Y\n```\nAfter."
    assert units(text, lead="```python") == [("code", "x = 1. Y\n```"), ("prose", "After.")]


def test_list_items_come_without_their_markers() -> None:
    text = "- First thing. It is good.\n* second\n  goes on\n10. tenth\n- [ ] task"
    assert units(text) == [
        ("item", "First thing."),
        ("item", "It is good."),
        ("item", "second\n  goes on"),
        ("item", "tenth"),
        ("item", "task"),
    ]


def test_a_table_gives_its_header_and_each_row() -> None:
    text = "| Flag | Meaning |\n|------|:-------:|\n| `-k` | Number. Of hits. |\n| `-v` | more |\n\nAfter."
    assert units(text) == [
        ("header", "| Flag | Meaning |\n|------|:-------:|"),
        ("row", "| `-k` | Number. Of hits. |"),
        ("row", "| `-v` | more |"),
        ("prose", "After."),
    ]


def test_a_table_without_rows_has_a_header_and_a_bar_at_the_end_of_a_text_makes_no_table() -> None:
    assert units("| a | b |\n|---|---|") == [("header", "| a | b |\n|---|---|")]
    assert units("Run it:\nls | sort") == [("prose", "Run it:\nls | sort")]
    assert units("ls | sort") == [("prose", "ls | sort")]


def test_rows_of_a_cut_table_are_rows_without_a_header_in_sight() -> None:
    assert [kind for kind, _ in units("| a | b |\n| c | d |", lead="| A | B |\n|---|---|")] == ["row", "row"]


def test_both_kinds_of_headings_are_headings() -> None:
    assert units("## Title {#x}\nText.\n\nOther title\n-----\nMore.") == [
        ("heading", "## Title {#x}"),
        ("prose", "Text."),
        ("heading", "Other title"),
        ("prose", "More."),
    ]


@pytest.mark.parametrize(
    "markup",
    [
        ":::tip Careful",
        '!!! note "Title"',
        "> [!WARNING]",
        "import Tabs from '@theme/Tabs';",
        "export const x = 1;",
        '<Tabs groupId="os">',
        '<Tabs\n  groupId="os"\n  values={[{a: 1}]}>',
        "</TabItem>",
        "<!-- a comment. With stops. -->",
        "{/* truncate. */}",
        "![A picture.](img/a.png)",
        "[ref]: https://example.org",
        "---",
        "{{#include ../listing.rs}}",
    ],
)
def test_what_only_carries_markup_is_left_out(markup: str) -> None:
    assert units(f"{markup}\n\nThe text itself.") == [("prose", "The text itself.")]


def test_the_caption_in_a_tag_is_prose() -> None:
    listing = (
        '<Listing number="4-2" caption="Assigning `x` to `y`. Both are 5">\n\n```rust\nlet y = x;\n```\n\n</Listing>\n'
    )
    assert units(listing) == [
        ("prose", "Assigning `x` to `y`."),
        ("prose", "Both are 5"),
        ("code", "```rust\nlet y = x;\n```"),
    ]
    assert units("<Figure\n  src='a.png'\n  caption='A robot\n  arm'\n/>\n") == [("prose", "A robot\n  arm")]


def test_admonition_text_and_block_quotes_are_prose() -> None:
    text = ":::note\nMind the gap. Always.\n:::\n\n> Quoted words\n> go on. End."
    assert units(text) == [
        ("prose", "Mind the gap."),
        ("prose", "Always."),
        ("prose", "Quoted words\n> go on."),
        ("prose", "End."),
    ]


def test_indented_text_is_code_except_inside_a_list_or_an_admonition() -> None:
    assert units("Text.\n\n    x = 1\n    y = 2\n\nMore.") == [
        ("prose", "Text."),
        ("code", "    x = 1\n    y = 2"),
        ("prose", "More."),
    ]
    assert units("!!! note\n\n    Indented prose.") == [("prose", "Indented prose.")]


def test_markers_stay_with_the_sentence_before_them() -> None:
    assert prose("It is so. [1] This too. [2, 3] Last [4].") == ["It is so. [1]", "This too. [2, 3]", "Last [4]."]


def test_text_without_spaces_is_cut_at_its_own_full_stop() -> None:
    assert prose("机器人。传感器！") == ["机器人。", "传感器！"]


def test_folding_joins_lines_and_forgets_quote_marks() -> None:
    assert fold("Quoted words\n> go   on\n>\n> here. ") == "Quoted words go on here."


MARKDOWN = st.lists(
    st.sampled_from(
        [
            "Text here.",
            "# H",
            "```",
            "~~~",
            "- item",
            "| a | b |",
            "|---|---|",
            "<Tab>",
            ":::note",
            "",
            "    x",
            "> q. Q",
            "===",
        ]
    ),
    max_size=12,
).map("\n".join)


@given(st.one_of(MARKDOWN, st.text(max_size=200)), st.sampled_from(["", "```py", "| A |\n|---|"]))
def test_units_are_in_order_apart_from_each_other_and_never_empty(text: str, lead: str) -> None:
    end = 0
    for unit in sentences(text, lead=lead):
        assert end <= unit.start <= unit.end <= len(text)
        end = unit.end
        assert unit.kind == "code" or text[unit.start : unit.end].strip() == text[unit.start : unit.end] != ""


def test_restructured_text_has_sentences_at_their_offsets_too() -> None:
    text = (
        "Title\n=====\n\nThe first. The ``second.``\n\n.. note:: Mind\n   the gap.\n\n- An item.\n\n"
        ".. code-block:: sh\n\n   run it. Now.\n\n.. _x:\n"
    )
    found = [(unit.kind, text[unit.start : unit.end]) for unit in sentences(text, markup="rst")]
    assert found == [
        ("heading", "Title\n====="),
        ("prose", "The first."),
        ("prose", "The ``second.``"),
        ("prose", "Mind\n   the gap."),
        ("item", "An item."),
        ("code", "   run it. Now."),
    ]


def test_a_cut_code_block_of_restructured_text_is_still_code() -> None:
    text = "   run it. Now.\n   again"
    found = [
        (unit.kind, text[unit.start : unit.end]) for unit in sentences(text, lead=".. code-block:: sh", markup="rst")
    ]
    assert found == [("code", text)]
