"""Markers of a stream, renumbered in order of appearance."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from quoth.markers import Markers


def through(*pieces: str, known: int = 5) -> tuple[str, list[int]]:
    markers = Markers(lambda number: 1 <= number <= known)
    text = "".join(markers.feed(piece) for piece in pieces) + markers.end()
    return text, markers.order


@pytest.mark.parametrize(
    ("written", "shown", "order"),
    [
        ("It is two [3]. And red [1]. Two [3].", "It is two [1]. And red [2]. Two [1].", [3, 1]),
        ("Both [2][4].", "Both [1][2].", [2, 4]),
        ("Both [2, 4].", "Both [1][2].", [2, 4]),
        ("Three [1-3].", "Three [1][2][3].", [1, 2, 3]),
        ("Wide 【2†source】 and [^5].", "Wide [1] and [2].", [2, 5]),
        ("No such passage [9][0].", "No such passage .", []),
        ("Code `a[1]` stays, [2] goes first.", "Code `a[1]` stays, [1] goes first.", [2]),
        ("```c\na[1] = b[2];\n```\nDone [4].", "```c\na[1] = b[2];\n```\nDone [1].", [4]),
        ("A link [1](https://x) and [2]: there.", "A link [1](https://x) and [2]: there.", []),
        ("A box [ ] and [x] and [see this].", "A box [ ] and [x] and [see this].", []),
        ("An open ` tick\n\nends with its paragraph [3].", "An open ` tick\n\nends with its paragraph [1].", [3]),
        ("Ends in a bracket [", "Ends in a bracket [", []),
        ("Ends in half a marker [1", "Ends in half a marker [1", []),
        ("An odd one [1-2-3].", "An odd one [1][2][3].", [1, 2, 3]),
        ("Range too wide [1-900].", "Range too wide [1][2][3][4][5].", [1, 2, 3, 4, 5]),
    ],
)
def test_markers_are_renumbered_in_order_of_appearance(written: str, shown: str, order: list[int]) -> None:
    assert through(written) == (shown, order)
    assert through(*written) == (shown, order)  # letter by letter


ALPHABET = st.text(alphabet="ab [](`)\n123,-:【】^", max_size=60)


@given(ALPHABET, st.lists(st.integers(0, 60), max_size=8))
@example("`a\n", [3])
def test_where_the_words_are_cut_changes_nothing(text: str, cuts: list[int]) -> None:
    bounds = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    assert through(*(text[start:end] for start, end in pairwise(bounds))) == through(text)


@given(ALPHABET)
def test_what_holds_no_known_marker_only_loses_markers(text: str) -> None:
    shown, order = through(text, known=0)
    assert order == []
    assert len(shown) <= len(text)


@given(ALPHABET)
def test_renumbering_twice_is_renumbering_once(text: str) -> None:
    shown, order = through(text)
    again, _ = through(shown, known=len(order))
    assert again == shown


def test_plain_words_are_never_held_back() -> None:
    assert Markers(lambda number: True).feed("Plain words, at once") == "Plain words, at once"
