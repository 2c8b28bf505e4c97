"""A follow-up that turns to something else of the same kind is the question before it, about that."""

from __future__ import annotations

import pytest

from quoth.ask.follow_up import rewrite
from quoth.ask.shift import turned
from quoth.domain import PastTurn
from quoth.text.terms import term_ids


@pytest.mark.parametrize(
    ("before", "question", "meant"),
    [
        ("What is ownership?", "And what about borrowing?", "What is borrowing?"),
        ("What are the rules of ownership?", "How about slices?", "What are the rules of slices?"),
        ("How do I declare a struct?", "What about enums?", "How do I declare enums?"),
        ("What is a node?", "And a topic?", "What is a topic?"),
        ("What is a bare repository?", "And a detached HEAD?", "What is a detached HEAD?"),
        ("What is a task in Kivy?", "and a widget?", "What is a widget in Kivy?"),
        ("Who is a friend of Madonna?", "and a rival?", "Who is a rival of Madonna?"),
        ("What is the purpose of a lockfile?", "and the manifest?", "What is the purpose of a manifest?"),
        (
            "What does the energy function return?",
            "what about the mass function?",
            "What does the mass function return?",
        ),
        ("How long is Humble supported?", "And Jazzy?", "How long is Jazzy supported?"),
        ("How do I install it on Linux?", "ok, what about on Windows?", "How do I install it on Windows?"),
        ("How do I handle errors with Result?", "and with panic?", "How do I handle errors with panic?"),
        ("What is the odom frame?", "And the map one?", "What is the map frame?"),
        ("How do I create a dataset?", "And a group?", "How do I create a group?"),
        ("How do I define a model?", "And a foreign key?", "How do I define a foreign key?"),
        ("How do I write a plugin?", "what about an app?", "How do I write an app?"),
        ("How do I start tasks?", "and a nursery?", "How do I start a nursery?"),
        ("what does converge do?", "and destroy?", "what does destroy do?"),
        ("Show me an example of Tank", "and Store?", "Show me an example of Store"),
    ],
)
def test_the_new_thing_takes_the_place_of_the_old_one(before: str, question: str, meant: str) -> None:
    assert turned(question, [PastTurn(before)], {}) == meant


@pytest.mark.parametrize(
    ("before", "question"),
    [
        ("What is ownership?", "And why?"),
        ("What is ownership?", "What about it?"),
        ("What is a child task?", "And the others?"),
        ("And the others?", "What about nurseries?"),  # no question that could be asked again
        ("What happens when a child raises?", "And what about nurseries?"),  # "happens" is nothing to replace
        ("What is ownership?", "And the difference?"),  # a noun that wants an "of …" goes on about the same
        ("How do I write a launch file?", "and for parameters?"),  # no "for …" that it could replace
        ("How do I scale a deployment?", "And how do I stop it?"),
        ("How do I run it with Docker?", "and behind nginx"),  # in another place
        ("When did Pink Floyd form?", "What about touring?"),  # one side of what has the name
        (
            "Which durability keeps the last message for late subscribers?",
            "and what about volatile?",
        ),  # instead of which?
        ("Which events does a node send?", "Which events does a node receive?"),
    ],
)
def test_other_follow_ups_are_no_turn(before: str, question: str) -> None:
    assert turned(question, [PastTurn(before)], {}) == ""


def test_the_name_of_the_book_itself_does_not_hold_a_turn_back() -> None:
    (rust,), (ownership,) = term_ids("Rust"), term_ids("ownership")
    history = [PastTurn("What is ownership in Rust?")]
    assert turned("And what about borrowing?", history, {rust: 5.0, ownership: 5.0}) == ""
    assert turned("And what about borrowing?", history, {rust: 0.2, ownership: 5.0}) == "What is borrowing in Rust?"


def test_the_old_subject_is_neither_searched_for_nor_shown() -> None:
    history = [PastTurn("What are the rules of ownership?", "Each value has an owner.")]
    query = rewrite("And what about borrowing?", history)
    assert (query.text, query.shown, query.carried) == (*["What are the rules of borrowing?"] * 2, ())
    assert "turn" in query.rules


def test_after_a_turn_the_conversation_is_about_the_new_thing() -> None:
    history = [
        PastTurn("What are the rules of ownership?", "Each value has an owner."),
        PastTurn("And what about borrowing?", "A reference borrows.", searched="What are the rules of borrowing?"),
    ]
    assert rewrite("How about slices?", history).text == "What are the rules of slices?"
    assert "ownership" not in rewrite("Why does it matter?", history).text
