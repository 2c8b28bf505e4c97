"""A question that points at one of several things is searched with the name of that thing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.ask.follow_up import rewrite
from quoth.ask.items import items, named
from quoth.domain import CitedSource, PastTurn

TABLE = "| Filter | Use |\n| --- | --- |\n| GZIP | small files |\n| SHUFFLE | numbers |\n| LZF | fast |\n\n[1]"
LIST = (
    "There are two sorts: [1]\n\n- [Request hooks](#a) [1]\n  - [onRequest](#b)\n- **Application hooks** – run once [1]"
)
NUMBERED = "1. **Resource** – for a few users.\n2. `Store` (objects)\n3. Tank: for water\n"
LONG = "1. It is the point where the library looks whether it was cancelled by anybody.\n2. It lets others go on."
COMPARED = PastTurn("What is the difference between a Resource and a Tank?", "One holds users. [1]")


def meant(question: str, *history: PastTurn) -> str:
    found = named(question, history)
    return found.question if found else ""


@pytest.mark.parametrize(
    ("before", "question", "expected"),
    [
        ("What is the difference between a Resource and a Tank?", "When is the latter used?", "When is Tank used?"),
        ("What is the difference between a Resource and a Tank?", "and the first one?", "and Resource?"),
        ("whats the diffrence between get and get_or_none?", "when do i use the latter", "when do i use get_or_none"),
        ("Should I use a queue or a stack?", "What is the second option good for?", "What is a stack good for?"),
        ("What are datasets and groups?", "How do I make the former?", "How do I make datasets?"),
        ("Is a class faster than a struct?", "Who invented the latter?", "Who invented a struct?"),
        ("Does it run on Linux or Windows?", "How do I install it on the last one?", "How do I install it on Windows?"),
    ],
)
def test_one_of_two_that_were_put_side_by_side(before: str, question: str, expected: str) -> None:
    assert meant(question, PastTurn(before, "It depends. [1]")) == expected


@pytest.mark.parametrize(
    ("answer", "question", "expected"),
    [
        (TABLE, "tell me more about the second one", "tell me more about SHUFFLE"),
        (TABLE, "what about the last one?", "what about LZF?"),
        (TABLE, "when is the third filter used?", "when is LZF used?"),
        (LIST, "what does the first one do?", "what does Request hooks do?"),
        (LIST, "when does the latter run?", "when does Application hooks run?"),
        (NUMBERED, "explain option 2", "explain Store"),
        (NUMBERED, "what does the first do?", "what does Resource do?"),
        (NUMBERED, "show me an example of the third", "show me an example of Tank"),
        (NUMBERED, "what about the fifth one?", ""),
        (NUMBERED, "what is the former for?", ""),  # of three
        (LONG, "why is the first one needed?", ""),  # a sentence is no name
        ("It is small. [1]", "why is the first one needed?", ""),
        (TABLE, "What is the first argument?", ""),  # no filter is an argument
        (TABLE, "What is the first filter of SHUFFLE?", ""),
    ],
)
def test_one_of_the_things_that_the_last_answer_listed(answer: str, question: str, expected: str) -> None:
    assert meant(question, PastTurn("Which filters are there?", answer)) == expected


def test_the_former_and_the_latter_are_what_the_last_two_questions_were_about() -> None:
    history = [PastTurn("How do I do a join?", "So. [1]"), PastTurn("What is prefetch?", "A way. [1]")]
    assert meant("Is the latter slower?", *history) == "Is prefetch slower?"
    assert meant("and the former?", *history) == "and a join?"
    assert meant("Is the latter slower?", history[-1]) == ""


def test_after_the_one_comes_the_other_of_the_same_two() -> None:
    history = [COMPARED, PastTurn("Show me an example of the latter", "So. [1]", "Show me an example of Tank")]
    assert rewrite("and the former?", history).shown == "Show me an example of Resource"
    assert rewrite("What holds the former?", history).shown == "What holds Resource?"


def test_a_question_that_names_nothing_leaves_the_two_in_mind() -> None:
    history = [COMPARED, PastTurn("Which is faster?", "A Tank is. [1]", "Resource and Tank: Which is faster?")]
    assert meant("How do I fill the latter?", *history) == "How do I fill Tank?"
    which = PastTurn("which one should I use for function calls", "A Tank. [1]")
    assert meant("can the latter be empty", COMPARED, which) == "can Tank be empty"
    history.append(PastTurn("How do I fill the latter?", "So. [1]", "How do I fill Tank?"))
    assert meant("and in the first one?", *history) == "and in Resource?"


def test_the_thing_is_searched_for_and_shown_instead_of_the_words_that_point_at_it() -> None:
    query = rewrite("When would I use the latter?", [COMPARED])
    assert (query.text, query.shown) == ("When would I use Tank?", "When would I use Tank?")
    assert rewrite("Show me an example of the second one", [COMPARED]).text.startswith("Tank example")


def test_an_item_of_a_list_is_searched_for_with_what_the_list_is_of() -> None:
    query = rewrite("tell me more about the second one", [PastTurn("Which filters are there?", TABLE)])
    assert query.shown == "tell me more about SHUFFLE"
    assert "filters" in query.carried


def test_a_question_about_a_source_still_means_the_source() -> None:
    sources = tuple(CitedSource(number, f"chunk-{number}", "Page", f"Part {number}") for number in (1, 2))
    history = [PastTurn("Which filters are there?", TABLE, sources=sources)]
    query = rewrite("tell me more about the second source", history)
    assert query.pinned == sources[1]


def test_what_was_refused_is_not_pointed_at() -> None:
    refused = PastTurn("What is a carburettor or a gearbox?", "I don't know.", refused=True)
    assert rewrite("When would I use the latter?", [COMPARED, refused]).shown == "When would I use Tank?"


def test_an_answer_without_a_list_has_no_items() -> None:
    assert items("```\n- one\n- two\n```\nThat is all.") == []
    assert items("") == []


@given(st.text(alphabet="the latfirs on|-*1. \n[]()`", max_size=200), st.text(max_size=60))
def test_any_answer_is_read_without_a_fault(answer: str, question: str) -> None:
    history = [PastTurn(question, answer), PastTurn(answer[:40], answer)]
    assert named("and the second one?", history) == named("and the second one?", history)
    assert all(items(answer))
