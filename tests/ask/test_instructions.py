from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.ask.instructions import instruction_in


@pytest.mark.parametrize(
    ("request_", "kind", "searched"),
    [
        ("Give me a code example of a publisher", "example", "publisher code example"),
        ("Show me an example of a launch file, please", "example", "launch file example"),
        ("Show the code for a subscriber", "example", "subscriber code example"),
        ("Can you give me an example?", "example", "example"),
        ("explain tf2 to a beginner", "simplify", "tf2"),
        ("Explain quaternions in plain English", "simplify", "quaternions"),
        ("Explain like I'm five how tf2 works", "simplify", "tf2"),
        ("Explain the deadline policy simply", "simplify", "deadline policy"),
        ("Explain in simple terms what an action is", "simplify", "action"),
        ("Explain this in simple words", "simplify", ""),
        ("Make it shorter", "simplify", ""),
        ("Please rephrase the selection", "simplify", ""),
        ("Explain this", "explain", ""),
        ("What does this mean?", "explain", ""),
        ("Translate this to Urdu", "translate", ""),
        ("Could you translate the section on topics into German?", "translate", "topics"),
        ("What is the main idea?", "summarise", ""),
        ("What is this text about?", "summarise", ""),
        ("tl;dr", "summarise", ""),
        ("Summarize the chapter on QoS", "summarise", "QoS"),
        ("Give me a summary of the navigation chapter", "summarise", "navigation"),
        ("What are the key points?", "summarise", ""),
        ("Quiz me", "quiz", ""),
        ("What is an overlay, in Urdu?", "translate", "overlay"),
        ("What is a node in simple words?", "simplify", "node"),
        ("quiz me on services", "quiz", "services: check yourself, exercise"),
        ("Write three practice questions about QoS", "quiz", "QoS: check yourself, exercise"),
        ("Compare topics and services", "compare", "topics and services"),
        ("What is the difference between topics and services?", "compare", "topics and services"),
    ],
)
def test_an_instruction_is_searched_for_by_its_object(request_: str, kind: str, searched: str) -> None:
    found = instruction_in(request_)
    assert found is not None
    assert (found.kind, found.searched) == (kind, searched)


@pytest.mark.parametrize(
    "question",
    [
        "How do I write a launch file?",
        "What does the deadline policy name?",
        "What is tf2?",
        "Which example shows a publisher?",
        "Which difference is larger?",
        "Who wrote this?",
        "Explain why the node needs a name",
        "Tell me about the executor",
        "Make a publisher that sends at 10 Hz",
        "Can you show me how to write a publisher?",
        "Wie viel Volt führt das rote Kabel?",
        "",
    ],
)
def test_a_question_is_not_an_instruction(question: str) -> None:
    assert instruction_in(question) is None


@given(st.text(max_size=200))
def test_the_object_is_never_longer_than_the_request(request_: str) -> None:
    found = instruction_in(request_)
    assert found is None or len(found.object) <= len(request_)
