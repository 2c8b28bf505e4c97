from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.ask.conclude import conclude
from quoth.domain import (
    CheckedSentence,
    ConfidenceLevel,
    ConfidenceMetrics,
    Draft,
    Grounding,
    ModelWork,
    Refusal,
    Reply,
    Verdict,
)

LEVELS: tuple[ConfidenceLevel, ...] = ("insufficient", "low", "medium", "high")


def verdict(level: ConfidenceLevel) -> Verdict:
    return Verdict(0.9, level, level != "insufficient", ConfidenceMetrics(0.9, 0.9, 0.9, 3, 0.1))


def written(*supported: bool, refusal: Refusal = "none", removed: int = 0) -> Reply:
    sentences = tuple(CheckedSentence("It is so.", one, (1,)) for one in supported)
    return Reply(Draft("It is so.", ()), Grounding(sentences, removed), "full", refusal=refusal, work=ModelWork("m"))


def test_an_answer_that_its_passages_support_keeps_what_the_evidence_is_worth() -> None:
    concluded = conclude(verdict("high"), written(True, True))
    assert (concluded.level, concluded.should_answer, concluded.partial) == ("high", True, False)


@pytest.mark.parametrize("level", LEVELS)
def test_a_model_that_refuses_has_the_last_word(level: ConfidenceLevel) -> None:
    concluded = conclude(verdict(level), written(refusal="whole"))
    assert (concluded.level, concluded.should_answer, concluded.confidence) == ("insufficient", False, 0.0)


def test_a_refusal_of_a_part_is_an_answer_that_is_not_high() -> None:
    concluded = conclude(verdict("high"), written(True, refusal="part"))
    assert (concluded.level, concluded.should_answer, concluded.partial) == ("medium", True, True)


@pytest.mark.parametrize(
    ("reply", "level"),
    [
        (written(True, False), "low"),
        (written(False, False, True), "low"),
        (written(True, True, False), "medium"),
        (written(True, True, True, True, False), "high"),
        (written(True, removed=2), "low"),
    ],
)
def test_sentences_that_nothing_supports_lower_the_level(reply: Reply, level: ConfidenceLevel) -> None:
    assert conclude(verdict("high"), reply).level == level


def test_an_answer_that_the_search_would_not_have_dared_is_low() -> None:
    concluded = conclude(verdict("insufficient"), written(True))
    assert (concluded.level, concluded.should_answer) == ("low", True)


@pytest.mark.parametrize("level", LEVELS)
def test_the_books_own_words_are_worth_what_the_evidence_is(level: ConfidenceLevel) -> None:
    quoted = Reply(Draft("It is so.", ()), Grounding(), "extractive")
    assert conclude(verdict(level), quoted) == verdict(level)


@given(st.sampled_from(LEVELS), st.lists(st.booleans(), max_size=6), st.sampled_from(["none", "part", "whole"]))
def test_no_sign_against_an_answer_ever_raises_its_level(
    level: ConfidenceLevel, supported: list[bool], refusal: Refusal
) -> None:
    concluded = conclude(verdict(level), written(*supported, refusal=refusal))
    assert LEVELS.index(concluded.level) <= max(LEVELS.index(level), LEVELS.index("low"))
    assert concluded.should_answer == (concluded.level != "insufficient")


def test_three_of_four_sentences_are_not_enough_for_the_highest_level() -> None:
    assert conclude(verdict("high"), written(True, True, True, False)).level == "medium"
    assert conclude(verdict("high"), written(True, True, True, False)).confidence == pytest.approx(0.9 * 3 / 4)


def test_an_answer_in_which_nothing_could_be_checked_keeps_its_confidence() -> None:
    assert conclude(verdict("high"), written()).confidence == pytest.approx(0.9)
