"""What kind of answer a question wants, and about what."""

from __future__ import annotations

import pytest

from quoth.ask.asked import INSTRUCTIONS, Asked, absent_identifiers, asked, identifiers
from quoth.domain import Evidence, Passage, QueryTerm
from quoth.text.terms import query_terms
from samples import chunk


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("What is a lidar?", "definition"),
        ("what's tf2", "definition"),
        ("Can you tell me what a quaternion is?", "definition"),
        ("What does QoS stand for?", "definition"),
        ("How do I record a bag?", "how_to"),
        ("Please show me how to build it", "how_to"),
        ("What do I type to start the server?", "how_to"),
        ("How does the executor work?", "fact"),
        ("What is the difference between a topic and a service?", "comparison"),
        ("odom vs map", "comparison"),
        ("Should I use a service or an action?", "comparison"),
        ("Which port does it listen on?", "value"),
        ("How many threads does it start?", "value"),
        ("When was it released?", "value"),
        ("What is the default port of the server?", "value"),
        ("What are the three founding projects?", "list"),
        ("List the layers of safety.", "list"),
        ("Which checks must a plan pass?", "list"),
        ("Which shortcuts are defined by default?", "list"),
        ("What status is set by default?", "value"),
        ("Why does the wheel slip?", "why"),
        ("How come the node freezes?", "why"),
        ("Summarise the chapter on services", "summary"),
        ("Give me a short overview of topics", "summary"),
        ("Explain tf2 to a beginner", "simpler"),
        ("Explain this in simple words", "simpler"),
        ("Give me a code example of a publisher", "example"),
        ("Quiz me on parameters", "quiz"),
        ("Translate this to Urdu", "translation"),
        ("Der Motor läuft nicht", "fact"),
        ("", "fact"),
    ],
)
def test_a_question_says_what_it_wants(question: str, wanted: str) -> None:
    assert asked(question).wanted == wanted


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("What is a lidar?", "lidar"),
        ("Define the term 'overlay'.", "overlay"),
        ("Summarise the lesson on services.", "services"),
        ("Translate the definition of a bag into German.", "bag"),
        ("What is odometry, in simple terms?", "odometry"),
        ("Could you explain the executor like I'm five?", "executor"),
        ("Give me some practice questions about evaluating policies.", "evaluating policies"),
        ("Show me an example of a launch file in XML.", "launch file in XML"),
        ("What is the main idea?", ""),
    ],
)
def test_a_definition_and_an_instruction_have_a_subject(question: str, subject: str) -> None:
    assert asked(question).subject == subject


def test_a_comparison_has_two_sides() -> None:
    assert asked("What is the difference between a topic and a service in ROS 2?").sides == ("topic", "service")
    assert asked("How does odom differ from map?").sides == ("odom", "map")


def test_every_instruction_has_a_sentence_that_says_what_is_shown_instead() -> None:
    assert all("model" in note for note in INSTRUCTIONS.values())
    assert asked("Quiz me on parameters").instruction == "quiz"
    assert asked("What is a parameter?").instruction is None


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("What does v-memoize do?", ("v-memoize",)),
        ("How large may max_upload_size_mb be?", ("max_upload_size_mb",)),
        ("What is `for` good for and --dry-run?", ("for", "--dry-run")),
        ("Where is rclpy.qos and std::vector?", ("rclpy.qos", "std::vector")),
        ("What does useMemo return, and E0382?", ("useMemo", "E0382")),
        ("Is a long-term release on GitHub, e.g. by e-mail?", ()),
        ("How fast is version 2.10.4 in the U.S.?", ()),
    ],
)
def test_names_that_are_right_only_letter_for_letter_are_identifiers(question: str, names: tuple[str, ...]) -> None:
    assert identifiers(question) == names


def found(question: str, text: str, *, in_book: bool = True) -> Evidence:
    terms = tuple(QueryTerm(term.text, term.id, 3.0, in_book=in_book) for term in query_terms(question))
    return Evidence(question, (Passage(chunk(text), score=0.8, similarity=0.8),), 1, terms)


def test_an_identifier_whose_pieces_alone_are_in_the_book_is_absent() -> None:
    question = "What is the default of max_upload_size_mb?"
    near = "The max size of an upload is 20 mb; see `max_upload_mb`."
    assert absent_identifiers(question, found(question, near)) == ("max_upload_size_mb",)
    assert absent_identifiers(question, found(question, "Set `max_upload_size_mb` to 20.")) == ()


def test_an_identifier_that_the_book_never_uses_is_absent() -> None:
    question = "What does v-memoize do?"
    assert absent_identifiers(question, found(question, "`v-memo` memoizes a part.", in_book=False)) == ("v-memoize",)
    assert absent_identifiers("What does memoizing do?", found("What does memoizing do?", "Nothing.")) == ()


def test_a_term_of_many_words_is_not_to_be_defined() -> None:
    six, seven = "robot arm joint state trajectory controller", "robot arm joint state trajectory controller plugin"
    assert asked(f"What is the {six}?") == Asked("definition", six)
    assert asked(f"What is the {seven}?").wanted == "fact"
