"""What is asked for decides which piece of the book is quoted, whole and in order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from quoth.ask.asked import INSTRUCTIONS
from quoth.ask.check import check
from quoth.ask.extract import draft
from quoth.domain import Chunk, Draft, Evidence, Passage, QueryTerm, Reading
from quoth.text.terms import query_terms
from samples import chunk


def evidence(query: str, *chunks: Chunk) -> Evidence:
    passages = tuple(Passage(one, score=0.8 - at / 20, similarity=0.8 - at / 20) for at, one in enumerate(chunks))
    terms = tuple(QueryTerm(term.text, term.id, 3.0, in_book=True) for term in query_terms(query))
    return Evidence(query=query, passages=passages, total_found=len(chunks), terms=terms)


def answer(query: str, *texts: str | Chunk) -> Draft:
    chunks = [text if isinstance(text, Chunk) else chunk(text, start=100) for text in texts]
    made = draft(query, evidence(query, *chunks))
    grounding = check(made.text, made.citations, query)
    assert grounding.supported == grounding.total
    return made


# --- definitions -----------------------------------------------------------------------------------------------------


def test_a_glossary_entry_comes_before_a_sentence_that_repeats_the_term() -> None:
    entry = chunk(
        "## Lidar\n\nA sensor that measures distances with laser light.",
        id="entry",
        heading_path=("Lidar",),
        breadcrumb=("Glossary", "Lidar"),
        title="Glossary",
    )
    lesson = chunk("A lidar that starts inside its housing measures the housing. Mount the lidar high.", id="lesson")
    made = answer("What is a lidar?", lesson, entry)
    assert made.text.startswith("A sensor that measures distances with laser light. [1]")


def test_who_asks_how_is_not_answered_by_the_glossary() -> None:
    entry = chunk(
        "## Bag\n\nA file of recorded messages that can be played back later with their original timing.",
        id="entry",
        heading_path=("Bag",),
        breadcrumb=("Glossary", "Bag"),
        title="Glossary",
    )
    lesson = chunk("Record a bag of all topics:\n\n```sh\nros2 bag record --all\n```\n", id="lesson")
    made = answer("How do I record a bag and play it back?", entry, lesson)
    assert made.text.startswith("Record a bag of all topics: [1]")
    assert "ros2 bag record --all" in made.text


@pytest.mark.parametrize(
    "text",
    [
        "Many words.\n\n**Overlay**: a workspace that takes precedence.\n\nAn overlay costs nothing.",
        "Many words.\n\nOverlay\n: a workspace that takes precedence.\n\nAn overlay costs nothing.",
        "An overlay costs nothing.\n\n| Term | Meaning |\n|---|---|\n| Overlay | a workspace that takes precedence. |",
    ],
)
def test_a_definition_is_found_however_it_is_written(text: str) -> None:
    made = answer("What is an overlay?", text)
    quote, span = made.citations[0].quote, made.citations[0].highlight
    assert span is not None
    assert "a workspace that takes precedence." in quote[span[0] : span[1]]


# --- lists -----------------------------------------------------------------------------------------------------------

FOUNDERS = "The foundation began with three founding projects:\n\n- Apple.\n- Banana: a yellow one.\n- Cherry.\n\nBye."


def test_a_list_does_not_stop_at_the_colon() -> None:
    made = answer("What are the three founding projects?", FOUNDERS)
    items = "- Apple. [1]\n- Banana: a yellow one. [1]\n- Cherry. [1]"
    assert made.text == f"The foundation began with three founding projects: [1]\n\n{items}"
    assert len(made.citations) == 1


def test_no_answer_stops_at_a_colon() -> None:
    assert "Cherry" in answer("With what did the foundation begin?", FOUNDERS).text


def test_a_list_goes_on_in_the_next_chunk_where_that_was_found_too() -> None:
    first = chunk(
        "The three founding projects are:\n\n- Apple\n- Banana", id="a", next_chunk_id="b", source_file="x.md"
    )
    second = chunk("- Cherry\n\nThe end.", id="b", start=500, source_file="x.md")
    made = answer("What are the three founding projects?", first, second)
    assert [one.chunk.id for one in made.citations] == ["a", "b"]
    assert "Cherry" in made.text
    assert "The end" not in made.text


def test_a_chunk_that_ends_with_a_colon_is_answered_by_the_next() -> None:
    first = chunk("Hello. The three founding projects are:", id="a", next_chunk_id="b", source_file="x.md")
    second = chunk("- Apple\n- Banana\n- Cherry", id="b", start=500, source_file="x.md")
    assert "Cherry" in answer("What are the three founding projects?", first, second).text


def test_items_of_a_numbered_list_keep_their_numbers() -> None:
    text = "There are two remedies.\n\n1. **Curriculum**: begin small. Widen later.\n2. **Adaptation**: look back."
    made = answer("What are the two remedies?", text)
    assert "1. **Curriculum**: begin small. Widen later. [1]\n2. **Adaptation**: look back. [1]" in made.text


@pytest.mark.parametrize(("done", "said"), [("x", "- [x] "), ("X", "- [x] "), (" ", "- [ ] ")])
def test_items_of_a_task_list_keep_their_boxes(done: str, said: str) -> None:
    text = f"Two remedies are planned.\n\n- [{done}] The curriculum begins small.\n- [ ] Adaptation looks back."
    made = answer("Which two remedies are planned?", text)
    assert f"{said}The curriculum begins small. [1]\n- [ ] Adaptation looks back. [1]" in made.text


# --- steps and code --------------------------------------------------------------------------------------------------

TABS = (
    "## Publishing\n\nCreate a publisher like this:\n\n<Tabs>\n"
    '<TabItem value="py" label="Python">\n\n```python\npub = create_publisher()\n```\n\n</TabItem>\n'
    '<TabItem value="cpp" label="C++">\n\n```cpp\nauto pub = create_publisher();\n```\n\n</TabItem>\n</Tabs>\n'
)


@pytest.mark.parametrize(
    ("question", "shown", "other"), [("in C++", "```cpp", "```python"), ("in Python", "```python", "```cpp")]
)
def test_of_several_tabs_the_one_that_the_question_names_is_shown(question: str, shown: str, other: str) -> None:
    made = answer(f"How do I create a publisher {question}?", chunk(TABS, markup="mdx", heading_path=("Publishing",)))
    assert shown in made.text
    assert other not in made.text


def test_steps_are_given_as_a_list_with_their_code() -> None:
    text = (
        "To set up the board:\n\n1. Flash the image:\n\n   ```sh\n   flash it\n   ```\n\n2. Start the board.\n\nEnjoy."
    )
    made = answer("How do I set up the board?", text)
    assert "1. Flash the image: [1]\n\n```sh\nflash it\n```\n\n[1]\n\n2. Start the board. [1]" in made.text
    assert "Enjoy" not in made.text


# --- comparisons -----------------------------------------------------------------------------------------------------


def test_a_comparison_has_one_excerpt_for_each_side_in_the_order_asked() -> None:
    one = chunk("A service answers once and is quick.", id="service", chapter=2)
    other = chunk("An action reports progress and can be cancelled.", id="action", chapter=1)
    made = answer("What is the difference between a service and an action?", one, other)
    assert [citation.chunk.id for citation in made.citations] == ["service", "action"]


def test_a_table_that_has_both_sides_is_the_comparison() -> None:
    table = "| Question | Service | Action |\n|---|---|---|\n| Cancel? | no | yes |\n| Progress? | no | yes |"
    text = f"A service is a call. An action is a goal.\n\n{table}"
    assert table in answer("Compare a service with an action", text).text


# --- values, reasons, names ------------------------------------------------------------------------------------------


def test_a_row_is_weighed_with_its_header() -> None:
    table = "| Model | Year |\n|---|---|\n| RT-1 | 2022 |\n| OpenVLA | 2024 |"
    text = f"OpenVLA needs a large GPU.\n\n{table}"
    made = answer("In which year did OpenVLA appear?", text)
    assert made.citations[0].quote == table
    span = made.citations[0].highlight
    assert span is not None
    assert table[span[0] : span[1]] == "| OpenVLA | 2024 |"


def test_the_passage_that_names_exactly_the_identifier_is_quoted() -> None:
    near = chunk("Set the upload size in megabytes in the server file.", id="near")
    exact = chunk("`max_upload_size` limits it.", id="exact")
    assert answer("What does max_upload_size do?", near, exact).citations[0].chunk.id == "exact"


# --- instructions ----------------------------------------------------------------------------------------------------


def test_an_instruction_is_answered_with_what_the_book_has_and_says_so() -> None:
    text = "Topics are streams. A topic has a type.\n\nFor example:\n\n```py\ntopic()\n```"
    made = answer("Give me an example of a topic", text)
    assert "```py\ntopic()\n```" in made.text
    assert made.note == INSTRUCTIONS["example"]
    assert answer("What is a topic?", text).note == ""


def test_a_quiz_asks_what_the_book_asks() -> None:
    lesson = chunk("Parameters are settings of a node. Parameters have types.", id="lesson")
    exercise = chunk("Which parameters never change, and why?", id="exercise", heading_path=("Check yourself",))
    assert answer("Quiz me on parameters", lesson, exercise).citations[0].chunk.id == "exercise"
    assert answer("What are parameters?", lesson, exercise).citations[0].chunk.id == "lesson"


# --- markup ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("markup", "text", "shown"),
    [
        (
            "rst",
            "The motor needs :ref:`a fuse <fuse>` and ``fuse_size``.",
            "The motor needs a fuse and `fuse_size`. [1]",
        ),
        ("rst", "The motor needs a `fuse`_ of :py:class:`~motor.Fuse`.", "The motor needs a fuse of Fuse. [1]"),
        ("myst", "The motor needs {ref}`a fuse <fuse>` now.", "The motor needs a fuse now. [1]"),
        ("markdown", "The motor needs {{< badge >}} a fuse.[^1]", "The motor needs a fuse. [1]"),
        ("mdx", "The motor needs <b>a</b> `<fuse>` today.", "The motor needs a `<fuse>` today. [1]"),
    ],
)
def test_markup_of_a_renderer_is_not_shown_and_the_quote_stays_exact(markup: str, text: str, shown: str) -> None:
    made = answer("What does the motor need?", replace(chunk(text), markup=markup))  # type: ignore[arg-type]
    assert made.text == shown
    assert made.citations[0].quote == text


# --- the reader ------------------------------------------------------------------------------------------------------


def test_where_a_reader_sees_the_answer_decides() -> None:
    text = "The pump runs on power. Twelve volts are enough for it."
    question = "How much power does the pump need?"
    found = evidence(question, chunk(text))
    at = text.index("Twelve")
    sees = Reading(2.0, 2.0, 0.0, 3.0, at, at + 12, places=((at, at + 6), (at + 7, at + 12)), weights=(0.5, 0.5))
    read = replace(found, passages=(replace(found.passages[0], reading=sees),))
    marked = [draft(question, one).citations[0].highlight for one in (found, read)]
    assert [text[span[0] : span[1]] for span in marked if span] == [
        "The pump runs on power.",
        "Twelve volts are enough for it.",
    ]


def read(question: str, text: str, *sees: str) -> Draft:
    """An answer from one passage in which the reader sees these words."""
    spans = [(text.index(one), text.index(one) + len(one)) for one in sees]
    found = evidence(question, chunk(text))
    weights = tuple(1 / len(spans) for _ in spans)
    reading = Reading(2.0, 2.0, 0.0, 3.0, *spans[0], places=tuple(spans), weights=weights)
    return draft(question, replace(found, passages=(replace(found.passages[0], reading=reading),)))


def test_a_reader_finds_the_steps_that_share_no_word_with_the_question() -> None:
    text = "Output of a command is shown to users.\n\nSet `allow_redirection` to `False` when the class is made."
    question = "How do I stop users from redirecting output?"
    assert read(question, text, "allow_redirection").text.startswith("Set `allow_redirection` to `False`")


def test_steps_that_are_only_announced_are_not_what_a_reader_should_see() -> None:
    text = (
        "In this lesson you write the smallest node.\n\nSave the node as `node.py` and start it with `python node.py`."
    )
    question = "How do I write a small node?"
    assert read(question, text, "the smallest node").text.startswith("Save the node as `node.py`")


def test_a_reader_finds_the_comparison() -> None:
    text = "A service is not an action in disguise.\n\nA service answers once, but an action reports progress."
    made = read("What is the difference between a service and an action?", text, "reports progress")
    assert made.text == "A service answers once, but an action reports progress. [1]"


def test_a_doubting_reader_still_says_where_in_the_first_passage_the_answer_would_be() -> None:
    text = "The pump runs on power. Twelve volts are enough for it."
    question = "How much power does the pump need?"
    found = evidence(question, chunk(text, id="one"), chunk("Pumps are loud.", id="two"))
    at = text.index("Twelve")
    doubts = Reading(-2.0, 2.0, 0.0, -3.0, at, at + 6, places=((0, 3), (at, at + 6)), weights=(0.001, 0.05))
    first, second = found.passages
    read = replace(found, passages=(replace(first, reading=doubts), second))
    later = replace(found, passages=(second, replace(first, reading=doubts)))
    marked = [next(one for one in draft(question, held).citations if one.chunk.id == "one") for held in (read, later)]
    shown = [one.quote[slice(*one.highlight)] for one in marked if one.highlight]
    assert shown == ["Twelve volts are enough for it.", "The pump runs on power."]
