from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.ask.references import LONGEST_FOLLOW_UP, pointed_at, rules_of, without_pointing
from quoth.domain import CitedSource, PastTurn

BEFORE = [
    PastTurn(
        "What is the sensor data QoS profile?",
        "The sensor data profile is best effort and volatile, with a delay of its own for each signal. [1]",
    )
]


@pytest.mark.parametrize(
    ("question", "rule"),
    [
        ("What is it called in Python?", "pronoun"),
        ("Why did they change it?", "pronoun"),
        ("What are its limits?", "pronoun"),
        ("Does the compiler inline it?", "pronoun"),
        ("What happens if I forget it?", "pronoun"),
        ("How would I allow that anyway?", "demonstrative"),
        ("Can I change those delays?", "demonstrative"),
        ("What happens after that?", "demonstrative"),
        ("What happens if I leave that out?", "demonstrative"),
        ("Can I turn that off?", "demonstrative"),
        ("What happens to node_modules as a result?", "consequence"),
        ("What does DDS send in turn?", "consequence"),
        ("Is this thread safe?", "demonstrative"),
        ("And the other one?", "pro-form"),
        ("How do I record one?", "pro-form"),
        ("How do I stop one halfway?", "pro-form"),
        ("Is there a global one for all my projects?", "pro-form"),
        ("Which format is used?", "relational"),
        ("What options are there?", "relational"),
        ("Which one is faster?", "pro-form"),
        ("What about the latter?", "pro-form"),
        ("And on Windows?", "opening"),
        ("What about Gazebo?", "opening"),
        ("And category 1?", "opening"),
        ("on Windows?", "fragment"),
        ("with Python?", "fragment"),
        ("Which version?", "fragment"),
        ("why?", "empty"),
        ("How so?", "empty"),
        ("Tell me more", "empty"),
        ("an example?", "empty"),
        ("What is a good way?", "empty"),
        ("What is an alternative?", "relational"),
        ("go on", "empty"),
        ("What happened in 2015?", "empty"),
        ("What else is there?", "continuing"),
        ("Which is faster?", "selecting"),
        ("are you sure?", "meta"),
        ("continue", "meta"),
        ("same for Gazebo?", "meta"),
        ("multiple ones?", "pro-form"),
        ("and which should I use for a parking lot?", "selecting"),
        ("Are there other settings?", "continuing"),
        ("Are there any exceptions?", "existing"),
        ("Was anyone hurt?", "existing"),
        ("What does the command return?", "definite"),
        ("What is the default?", "definite"),
        ("What are the advantages?", "definite"),
        ("What are alternatives?", "relational"),
        ("How long is the delay?", "definite"),
    ],
)
def test_a_question_that_points_back_is_recognised_by_its_rule(question: str, rule: str) -> None:
    assert rule in rules_of(question, BEFORE)


@pytest.mark.parametrize(
    "question",
    [
        "What is OpenVLA?",
        "What is an event?",
        "what's a parameter",
        "What are groups?",
        "Who invented pizza?",
        "What does continue do?",
        "How do I open part one?",
        "Which format does colcon use?",
        "What is the odom frame?",
        "tf2 static transform",
        "--symlink-install",
        "How do I install Isaac Sim with pip?",
        "How long does it take to build a workspace?",
        "Is it possible to run two nodes in one process?",
        "What does it mean if a variable `x` is immutable?",
        "Does ROS_DOMAIN_ID keep its value after a restart?",
        "What happens to a node if one of its callbacks sleeps?",
        "Why does my robot jump into the air when it is spawned?",
        "How can I leave a package in the source folder but exclude it from the build?",
        "How long does launch wait before it kills a process?",
        "Which policy says that messages may be lost?",
        "What is the purpose of colcon?",
        "How do I override the method of a class?",
        "What is another name for a package?",
        "Why are the values in my parameter file ignored without an error?",
        "Who wrote this book?",
        "Which is the slowest planner of Nav2?",
        "Which are the nodes that a launch file can start?",
        "What does this book say about Gazebo?",
        "Does Chuck leave when he gets cold feet?",
        "If DDS drops a packet, which signals are sent as a result?",
        "What is the default value of ROS_DOMAIN_ID?",
        "What do publishers do other than publishing messages in ROS?",
        "Will this program compile?\n```rust\nlet x = 5;\n```",
    ],
)
def test_a_question_that_names_what_it_is_about_makes_sense_alone(question: str) -> None:
    assert rules_of(question, BEFORE) == ()


def test_the_first_question_of_a_conversation_always_makes_sense_alone() -> None:
    assert rules_of("Why does it do that?", []) == ()


def test_a_very_long_question_says_what_it_is_about() -> None:
    assert rules_of("Why does it fail? " + "Details follow. " * 30, BEFORE) == ()


def test_the_definite_article_points_back_only_to_what_was_said() -> None:
    assert rules_of("How long is the delay?", BEFORE) == ("definite",)
    assert rules_of("How does the scheduler work?", BEFORE) == ()


SOURCES = tuple(
    CitedSource(number, f"chunk-{number}", "Page", f"Section {number}", f"quote {number}") for number in (1, 2, 3)
)
TWO = SOURCES[:2]


@pytest.mark.parametrize(
    ("question", "sources", "number"),
    [
        ("tell me more about the second source", SOURCES, 2),
        ("What does source 2 say?", SOURCES, 2),
        ("what is source number three about?", SOURCES, 3),
        ("Explain [2].", SOURCES, 2),
        ("explain the 3rd quote", SOURCES, 3),
        ("What about the first one?", SOURCES, 1),
        ("And the last one?", SOURCES, 3),
        ("Open the final source", SOURCES, 3),
        ("I mean the former", TWO, 1),
        ("More about the latter, please", TWO, 2),
        ("What else is on that page?", SOURCES, 1),
        ("Does this section mention a default?", SOURCES, 1),
    ],
)
def test_a_question_can_point_at_a_source_of_the_last_answer(
    question: str, sources: tuple[CitedSource, ...], number: int
) -> None:
    found = pointed_at(question, [PastTurn("What is a node?", "A process. [1]", sources=sources)])
    assert found == sources[number - 1]


@pytest.mark.parametrize(
    "question",
    [
        "tell me more about the fifth source",
        "What is [0]?",
        "the former of three is not clear, nor the latter",
        "What is the first step?",
        "What is v[2] here?",
        "What does this section of the configuration do?",
        "Where is the data source?",
        "How do I read from two sources?",
    ],
)
def test_only_a_source_of_the_last_answer_is_pointed_at(question: str) -> None:
    assert pointed_at(question, [PastTurn("What is a node?", "A process. [1]", sources=SOURCES)]) is None


def test_only_the_last_answer_has_sources_to_point_at() -> None:
    history = [PastTurn("What is a node?", "A process. [1]", sources=SOURCES), PastTurn("And a topic?", "A channel.")]
    assert pointed_at("tell me more about the second source", history) is None


def test_a_selected_text_is_not_a_source_of_the_book() -> None:
    history = [PastTurn("What is this?", "Text. [1]", sources=(CitedSource(1, quote="Text."),))]
    assert pointed_at("tell me more about source 1", history) is None


def test_words_that_only_point_are_not_searched_for() -> None:
    assert without_pointing("tell me more about the second source") == ""
    assert without_pointing("Go on, please") == ""
    assert without_pointing("What does the second source say about timeouts?").endswith("timeouts?")


@given(st.text(max_size=LONGEST_FOLLOW_UP + 10))
def test_any_text_is_read_without_a_fault_and_the_same_way_twice(question: str) -> None:
    history = [PastTurn("What is a node?", "A process. [1]", sources=SOURCES)]
    assert rules_of(question, history) == rules_of(question, history)
    assert pointed_at(question, history) in (None, *SOURCES)
