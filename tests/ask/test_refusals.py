from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.ask.refusals import may_refuse, refusal_in, refuses
from refusal_corpus import ANSWERS, PART, WHOLE


@pytest.mark.parametrize("text", WHOLE)
def test_a_refusal_is_recognised_however_it_is_worded(text: str) -> None:
    assert refusal_in(text) == "whole"


@pytest.mark.parametrize("text", PART)
def test_a_refusal_of_a_part_is_told_from_one_of_the_whole(text: str) -> None:
    assert refusal_in(text) == "part"


@pytest.mark.parametrize("text", ANSWERS)
def test_an_answer_with_similar_words_is_not_a_refusal(text: str) -> None:
    assert refusal_in(text) == "none"


def test_the_corpus_is_large_enough_to_tell_something() -> None:
    assert min(len(set(WHOLE)), len(set(ANSWERS))) >= 60


@pytest.mark.parametrize("text", WHOLE)
def test_a_refusal_is_held_back_until_its_end(text: str) -> None:
    assert all(may_refuse(text[:length]) for length in range(1, len(text) + 1))


@pytest.mark.parametrize("text", ANSWERS)
def test_an_answer_is_let_go_as_soon_as_a_sentence_of_it_says_something(text: str) -> None:
    assert not may_refuse(f"{text}\nIt is so.\n")


@pytest.mark.parametrize("text", ["Use a launch file", "A node is started", "Transient local", "`ros2 run` starts it"])
def test_most_answers_are_let_go_after_a_word(text: str) -> None:
    words = text.split()
    assert not may_refuse(f"{words[0]} {words[1]} ")


def test_words_are_not_held_for_ever() -> None:
    assert may_refuse("Sorry. " * 200)
    assert not may_refuse("Sorry. " * 300)


def test_a_known_refusal_counts_whatever_its_words_are() -> None:
    assert refusal_in("Ask the librarian.", "Ask the librarian") == "whole"
    assert refusal_in("Ask the librarian.") == "none"


def test_a_program_answers_whatever_is_said_beside_it() -> None:
    assert refusal_in("The passages do not mention Windows.\n\n```\nros2 run a b\n```") == "part"


def test_a_sentence_that_also_answers_does_not_only_refuse() -> None:
    assert refuses("The passages do not mention the price.")
    assert not refuses("The passages do not mention the price, but the robot weighs 3 kg.")


@given(st.text(max_size=400))
def test_any_text_gets_an_answer(text: str) -> None:
    assert refusal_in(text) in ("none", "part", "whole")
    assert may_refuse(text) in (True, False)
