"""Terms and what they mean, as a reader of an answer sees them, in any markup."""

from __future__ import annotations

import pytest

from quoted import shown
from quoth.ask.blocks import layout
from quoth.domain import Markup
from quoth.text.entries import field_name, joined
from samples import chunk


@pytest.mark.parametrize(
    ("markup", "text", "seen"),
    [
        (
            "rst",
            "arm(speed)\n  Moves. Slowly.\n\nhand\n  Holds it.\n",
            "- arm(speed): Moves. Slowly. [1]\n- hand: Holds it.",
        ),
        (
            "rst",
            "hand\n        Holds\n        it.\n    arm\n        Moves.\n",
            "- hand: Holds it. [1]\n    - arm: Moves.",
        ),
        ("asciidoc", "arm::\n  Moves.\nhand:: Holds it. Well.\n", "- arm: Moves. [1]\n- hand: Holds it. Well."),
        ("markdown", "Arm\n:   Moves.\n\nHand\n:   Holds it.\n", "- Arm: Moves. [1]\n- Hand: Holds it."),
    ],
)
def test_an_entry_is_shown_with_its_term(markup: Markup, text: str, seen: str) -> None:
    assert shown(text, markup) == f"{seen} [1]"


def test_what_a_directive_describes_is_shown_with_its_name() -> None:
    text = ".. option:: -s, --slow\n\n   Moves slowly.\n\n"
    text += ".. confval:: speed\n   :type: int\n   :default: 3\n\n   How fast.\n"
    assert shown(text, "rst") == "`-s, --slow`: Moves slowly. [1]\n\nspeed: How fast. [1]"
    assert shown(".. function:: move(*arms)\n   :noindex:\n\n   It moves.\n", "rst").startswith("`move(*arms)` [1]")


def test_a_note_a_tab_and_a_style_name_nothing() -> None:
    text = ".. note:: Arms move.\n   So do hands.\n\n.. tab-item:: Linux\n\n   Type it.\n\n"
    text += ".. class:: wide-table\n\n   It is wide.\n"
    assert shown(text, "rst") == "Arms move. So do hands. [1]\n\nType it. [2]\n\nIt is wide. [3]"


def test_what_changed_in_a_version_is_shown_as_such() -> None:
    text = ".. versionchanged:: 3.0\n   Arms move by themselves.\n\n.. deprecated:: 3.1 Use hands.\n"
    assert shown(text, "rst") == (
        "Changed in version 3.0: Arms move by themselves. [1]\n\nDeprecated since version 3.1: Use hands. [1]"
    )


def test_fields_are_shown_with_their_names() -> None:
    text = ":param int speed: How fast.\n:returns: The arm.\n:raises ValueError:\n    If it is stuck.\n"
    assert (
        shown(text, "rst")
        == "- speed: How fast. [1]\n- returns: The arm. [1]\n- raises ValueError: If it is stuck. [1]"
    )


def test_a_paragraph_whose_margin_was_lost_is_no_entry() -> None:
    text = "The method provides a means for the reader to check\n        the arm's state. It is fast.\n"
    assert layout(chunk(text, markup="rst")).opens == frozenset()


def test_the_lines_of_an_item_are_no_entry() -> None:
    assert shown("* The arm moves\n  and the hand holds.\n", "rst") == "- The arm moves and the hand holds. [1]"


@pytest.mark.parametrize(
    ("mark", "name"),
    [(":param int speed:", "speed"), (":rtype:", "rtype"), (":type speed:", "type speed"), ("-", ""), (":", "")],
)
def test_a_field_is_called_by_its_last_word_if_it_is_a_parameter(mark: str, name: str) -> None:
    assert field_name(mark) == name


def test_a_term_that_ends_with_a_mark_gets_no_colon() -> None:
    assert [joined("Why?", "So."), joined("arm", ""), joined("", "So.")] == ["Why? So.", "arm", "So."]


def test_a_directive_with_nothing_below_it_is_never_an_answer() -> None:
    text = ".. setting:: speed\n\nThe default is 3.\n\n.. rubric:: Notes\n\n.. epigraph:: Arms move.\n"
    units = layout(chunk(text, markup="rst")).units
    assert [unit.kind for unit in units] == ["heading", "prose", "heading", "prose"]
