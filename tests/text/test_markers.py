"""Markers: found wherever a model writes them, never in code, and numbered in order of appearance."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.text.markers import Renumbering, markers, renumbered

KNOWN = {1, 2, 3, 4}
# What markers are made of, and what could be mistaken for one.
PIECES = [
    "`",
    "``",
    "```",
    "\n",
    "\n\n",
    "[1]",
    "[2, 3]",
    "[",
    "1",
    "]",
    "(",
    ":",
    " a",
    "【4】",
    "~~~",
    "[1-3]",
    "[9]",
    "^",
    ">",
]
ANSWERS = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("So it is [1].", [(1,)]),
        ("So it is [1, 2].", [(1, 2)]),
        ("So it is [1][2].", [(1,), (2,)]),
        ("So it is [2-4].", [(2, 3, 4)]),
        ("So it is 【3】.", [(3,)]),
        ("So it is 【3†L7-L9】.", [(3,)]),
        ("So it is [^2].", [(2,)]),
        ("So it is [Source 2].", [(2,)]),
        ("These are the steps [1]:", [(1,)]),
        ("Not even [0] and [77].", [(0,), (77,)]),
        ("Use `argv[1]` here.", []),
        ("```c\nargv[1]\n```", []),
        ("~~~\na[1]\n~~~", []),
        ("See [1](page.md).", []),
        ("[1]: https://example.com", []),
        ("In [2014] and [see 1].", []),
    ],
)
def test_markers_are_told_from_what_looks_like_them(text: str, numbers: list[tuple[int, ...]]) -> None:
    assert [marker.numbers for marker in markers(text)] == numbers


def test_numbers_follow_the_order_of_appearance() -> None:
    assert renumbered("A [3]. B [1, 3]. C 【2】.", KNOWN) == ("A [1]. B [2][1]. C [3].", {3: 1, 1: 2, 2: 3})


def test_a_marker_of_no_source_keeps_its_number() -> None:
    assert renumbered("A [9]. B [2].", KNOWN) == ("A [9]. B [1].", {2: 1})


def test_code_is_never_renumbered() -> None:
    text = "Take `a[4]` [3].\n\n```c\nx[2] = 1;\n```\n\n[4]"
    assert renumbered(text, KNOWN)[0] == "Take `a[4]` [1].\n\n```c\nx[2] = 1;\n```\n\n[2]"


def test_only_what_may_become_a_marker_is_held_back() -> None:
    numbering = Renumbering(KNOWN)
    pieces = ["It is", " so [", "3", "]", ". And", " `a[", "1]`", " too."]
    assert [numbering.feed(piece) for piece in pieces] == ["It is", " so ", "", "", "[1]. And", " ", "", "`a[1]` too."]
    assert numbering.finish() == ""


@given(ANSWERS, st.lists(st.integers(0, 60), max_size=6))
def test_a_text_in_pieces_is_renumbered_like_the_whole(text: str, cuts: list[int]) -> None:
    numbering = Renumbering(KNOWN)
    at = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    out = [numbering.feed(text[start:end]) for start, end in pairwise(at)]
    assert "".join([*out, numbering.finish()]) == renumbered(text, KNOWN)[0]


@given(ANSWERS)
def test_renumbering_twice_changes_nothing_more(text: str) -> None:
    once, order = renumbered(text, KNOWN)
    assert renumbered(once, set(order.values()))[0] == once


@given(st.text(alphabet=st.characters(blacklist_characters="[]【】")))
def test_text_without_markers_passes_as_it_is(text: str) -> None:
    assert renumbered(text, KNOWN) == (text, {})
