"""An ordinal of another language points at one of several things, like "the second one"."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.ask.follow_up import rewrite
from quoth.ask.ordinals import ordinals_in_english
from quoth.domain import CitedSource, PastTurn

PULL = PastTurn("What is the difference between fetch and pull?", "One merges. [1]")


@pytest.mark.parametrize(
    ("question", "searched"),
    [
        ("Was macht die erste genau?", "Was macht fetch genau?"),
        ("Wie benutzt man die zweite?", "Wie benutzt man pull?"),
        ("Was ist mit dem letzten?", "Was ist mit pull?"),
        ("et la deuxième ?", "et pull?"),
        ("¿y la segunda?", "¿y pull?"),
        ("e o segundo?", "e pull?"),
        ("e il secondo?", "e pull?"),
        ("第二个怎么用？", "pull 怎么用？"),
        ("دوسرا کیا ہے؟", "pull کیا ہے؟"),
    ],
)
def test_it_is_replaced_by_the_thing_that_it_points_at(question: str, searched: str) -> None:
    query = rewrite(question, [PULL])
    assert query.shown == searched
    assert "named" in query.rules


@pytest.mark.parametrize(
    "question",
    ["Was bedeutet die zweite Option?", "la première fois", "What is the second one?", "A second opinion", "第二版"],
)
def test_an_ordinal_of_a_noun_or_in_english_is_left_as_it_is(question: str) -> None:
    assert ordinals_in_english(question) == question


def test_it_may_point_at_a_source() -> None:
    sources = tuple(CitedSource(n, f"chunk-{n}", "Timing", "Timing", "It waits.", source_file="a.md") for n in (1, 2))
    query = rewrite("Was macht die zweite?", [PastTurn("Who waits?", "It waits. [1][2]", sources=sources)])
    assert query.pinned == sources[1]


@given(st.text(max_size=80))
def test_any_text_is_read_without_a_fault(question: str) -> None:
    assert isinstance(ordinals_in_english(question), str)
