"""Extractive answers: the piece of the book that answers, verbatim, in its place, with the decisive sentence marked."""

from __future__ import annotations

import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from quoth.ask.check import check, quote_is_in_place
from quoth.ask.extract import ExtractiveOptions, draft
from quoth.domain import Chunk, Draft, Evidence, Passage, QueryTerm
from quoth.text.sentences import fold
from quoth.text.terms import query_terms
from samples import chunk


def evidence(query: str, *chunks: Chunk) -> Evidence:
    passages = tuple(Passage(one, score=0.8 - at / 20, similarity=0.8 - at / 20) for at, one in enumerate(chunks))
    terms = tuple(QueryTerm(term.text, term.id, 3.0, in_book=True) for term in query_terms(query))
    return Evidence(query=query, passages=passages, total_found=len(chunks), terms=terms)


def answer(query: str, *texts: str | Chunk, options: ExtractiveOptions = ExtractiveOptions()) -> Draft:
    chunks = [text if isinstance(text, Chunk) else chunk(text, start=100) for text in texts]
    made = draft(query, evidence(query, *chunks), options)
    assert all(quote_is_in_place(citation) for citation in made.citations)
    grounding = check(made.text, made.citations)
    assert grounding.supported == grounding.total
    return made


def test_the_sentence_that_answers_is_quoted_with_its_place_in_the_file() -> None:
    text = "Robots are fun. The sensor profile has a depth of 5. Bread needs flour."
    made = answer("What depth does the sensor profile have?", text)
    assert made.text == f"{text} [1]"
    [citation] = made.citations
    assert decisive(made) == ["The sensor profile has a depth of 5."]
    assert (citation.start, citation.end) == (100, 100 + len(text))
    assert citation.index == 1


def decisive(made: Draft) -> list[str]:
    """The marked sentence of each citation."""
    marked = [(one.quote, one.highlight) for one in made.citations]
    return [quote[span[0] : span[1]] for quote, span in marked if span is not None]


def test_a_line_break_inside_a_sentence_becomes_a_space_but_the_quote_stays_exact() -> None:
    made = answer("What does the watchdog stop?", "> The watchdog stops\n> the motors.")
    assert made.text == "The watchdog stops the motors. [1]"
    assert made.citations[0].quote == "The watchdog stops\n> the motors."


def test_steps_come_in_book_order_whatever_was_found_first() -> None:
    late = chunk("Start the lidar driver with a map.", start=900, id="late", chapter=2)
    early = chunk("Start the lidar driver with a port.", start=10, id="early", chapter=1)
    made = answer("How do I start the lidar driver?", late, early)
    assert made.text == "Start the lidar driver with a port. [1]\n\nStart the lidar driver with a map. [2]"
    assert [citation.chunk.id for citation in made.citations] == ["early", "late"]


def test_a_fact_comes_first_where_it_was_found_best() -> None:
    late = chunk("The lidar driver needs a map.", start=900, id="late", chapter=2)
    early = chunk("The lidar driver needs a port.", start=10, id="early", chapter=1)
    made = answer("What does the lidar driver need?", late, early)
    assert made.text == "The lidar driver needs a map. [1]\n\nThe lidar driver needs a port. [2]"


def test_a_paragraph_is_one_citation_with_one_marker() -> None:
    made = answer(
        "What is tf2 and what does tf2 keep?", "The tf2 library is a tree of frames. It keeps tf2 frames fresh."
    )
    assert made.text == "The tf2 library is a tree of frames. It keeps tf2 frames fresh. [1]"
    assert len(made.citations) == 1


def test_a_sentence_that_leans_on_the_one_before_brings_it_along() -> None:
    text = "Nodes announce themselves. That is why no master process must be started."
    made = answer("Must a master process be started?", text)
    assert made.text.startswith("Nodes announce themselves. That is why")


HOW_TO = """Robots are nice.

Build the workspace with colcon:

```bash
colcon build --symlink-install
```

Then source it."""


def test_a_question_for_a_command_gets_the_code_block_whole() -> None:
    made = answer("How do I build the workspace?", HOW_TO)
    assert "```bash\ncolcon build --symlink-install\n```" in made.text
    assert made.text.endswith("[1]")
    assert made.citations[0].quote == HOW_TO[HOW_TO.index("Build") : HOW_TO.index("\n\nThen")]


def test_a_question_that_asks_for_no_code_gets_none() -> None:
    text = "The workspace is a folder of packages.\n\n```bash\nls\n```"
    assert "```" not in answer("What is the workspace?", text).text


def test_code_from_inside_a_list_closes_its_fence() -> None:
    text = "1. Build the workspace:\n\n   ```bash\n   colcon build\n   ```\n"
    made = answer("How do I build the workspace?", text)
    assert "```bash\ncolcon build\n```" in made.text


def test_a_piece_of_a_cut_fence_gets_its_fence_back() -> None:
    piece = chunk("colcon build\n```", lead="```bash")
    made = answer("How do I build with colcon?", piece)
    assert made.text == "```bash\ncolcon build\n```\n\n[1]"


def test_a_definition_is_preferred_when_the_question_asks_what_something_is() -> None:
    text = "Every lidar needs power. Mount the lidar high. A lidar is a sensor that measures distance."
    assert decisive(answer("What is a lidar?", text)) == ["A lidar is a sensor that measures distance."]


def test_a_reason_is_preferred_when_the_question_asks_why() -> None:
    text = "The robot wheel slips often. The robot wheel slips because the floor is wet. The robot wheel slips again."
    made = answer("Why does the robot wheel slip?", text)
    assert decisive(made) == ["The robot wheel slips because the floor is wet."]


TABLE = "| Flag | Meaning |\n|---|---|\n| `-k` | number of hits |\n| `-v` | verbose output |"


def test_a_row_of_a_short_table_comes_with_the_whole_table() -> None:
    made = answer("Which flag means verbose output?", TABLE)
    assert made.text == f"{TABLE}\n\n[1]"
    assert made.citations[0].quote == TABLE


def test_a_table_of_which_two_rows_answer_is_quoted_once() -> None:
    made = answer("Which flag means number of hits, which verbose output?", TABLE)
    assert made.text == f"{TABLE}\n\n[1]"


def test_a_row_of_a_long_table_comes_with_its_header_and_the_quote_is_the_row() -> None:
    made = answer("Which flag means verbose output?", TABLE, options=ExtractiveOptions(longest_table=1))
    assert made.text == "| Flag | Meaning |\n|---|---|\n| `-v` | verbose output |\n\n[1]"
    assert made.citations[0].quote == "| `-v` | verbose output |"


def test_a_row_of_a_cut_table_takes_its_header_from_the_lead() -> None:
    rows = chunk("| `-v` | verbose output |", lead="| Flag | Meaning |\n|---|---|")
    made = answer("Which flag means verbose output?", rows)
    assert made.text == "| Flag | Meaning |\n|---|---|\n| `-v` | verbose output |\n\n[1]"


def test_tags_and_bracketed_numbers_are_not_shown() -> None:
    text = "The motor <Badge/> needs 12 volts. The motor needs care [3]. The motor needs a fuse."
    made = answer("What does the motor need?", text)
    assert made.text == "The motor needs 12 volts. [1]\n\nThe motor needs a fuse. [2]"


def test_a_heading_is_not_an_answer() -> None:
    made = answer("What does the motor need?", "## What the motor needs\n\nA fuse of two amperes.")
    assert made.text == "A fuse of two amperes. [1]"


def test_the_same_sentence_on_two_pages_is_said_once() -> None:
    one = chunk("The motor needs a fuse.", id="one", source_file="a.md")
    two = chunk("Listen. The motor needs a fuse.", id="two", source_file="b.md")
    assert answer("What does the motor need?", one, two).text.count("fuse") == 1


def test_of_a_long_paragraph_the_decisive_sentence_and_its_neighbours_are_quoted() -> None:
    before = " ".join(f"Part {n} of the frame is made of oak and painted in a shade of blue." for n in range(20))
    after = " ".join(f"Step {n} of the paint job takes an hour and dries for a day." for n in range(20))
    made = answer("What does the motor need?", f"{before} The motor needs a fuse. {after}")
    assert decisive(made) == ["The motor needs a fuse."]
    assert 50 < len(made.text.split()) <= 92


def test_several_passages_that_answer_are_not_all_quoted() -> None:
    chunks = [chunk(f"The motor needs part{n} and tool{n}.", id=str(n), chapter=n) for n in range(5)]
    made = answer("What does the motor need?", *chunks, options=ExtractiveOptions(most_pieces=2))
    assert len(made.citations) == 2


def test_a_passage_of_nothing_but_code_answers_with_it() -> None:
    assert answer("What is the launch file?", "```xml\n<launch/>\n```").text == "```xml\n<launch/>\n```\n\n[1]"


def test_no_passages_give_an_empty_draft() -> None:
    assert draft("anything", Evidence("anything", (), 0)) == Draft("", ())


SENTENCES = st.lists(
    st.sampled_from(
        [
            "The motor needs a fuse.",
            "It hums\nsoftly.",
            "- a motor item",
            "> quoted motor\n> words.",
            "```sh\nmotor --start\n```",
            "| Motor | Fuse |\n|---|---|\n| A | 2 |",
            "## Motor",
            "   ```py\n   motor = 1\n   ```",
            "<Tabs>",
            "Why a motor?",
        ]
    ),
    min_size=1,
    max_size=8,
).map("\n\n".join)


@given(SENTENCES, SENTENCES, st.sampled_from(["How do I start the motor?", "What is a motor?", "fuse", "the"]))
def test_every_answer_is_verbatim_and_its_markers_are_its_citations(one: str, two: str, query: str) -> None:
    made = answer(query, chunk(one, id="one", start=7), chunk(two, id="two", start=5000, chapter=1))
    numbers = [int(number) for number in re.findall(r"\[(\d+)\]", made.text)]
    assert sorted(set(numbers)) == [citation.index for citation in made.citations]
    assert list(dict.fromkeys(numbers)) == sorted(set(numbers))
    assert all(citation.quote in citation.chunk.text for citation in made.citations)
    assert all(fold(citation.quote) for citation in made.citations)


def test_a_reader_who_asks_for_more_does_not_get_the_same_again() -> None:
    told = "The sensor profile has a depth of 5."
    found = evidence("sensor profile depth", chunk(f"{told} The sensor profile is best effort."))
    assert draft("Tell me more", found).text.startswith(told)
    assert (
        draft("Tell me more", replace(found, exclude_quotes=(told,))).text == "The sensor profile is best effort. [1]"
    )


FOLLOWED = "The pump port number may be 0 to 101. The pump default is 7. Every pump has one number."


def test_the_words_of_a_follow_up_weigh_more_than_those_of_the_conversation() -> None:
    found = evidence("And the default? pump port number", chunk(FOLLOWED))
    assert decisive(draft("And the default?", found)) == ["The pump default is 7."]
    plain = evidence("pump port number default", chunk(FOLLOWED))
    assert decisive(draft("pump port number default", plain)) == ["The pump port number may be 0 to 101."]


def test_what_was_just_quoted_is_seldom_what_is_asked_next() -> None:
    question = "What else is a number of the pump?"
    found = evidence(question, chunk(FOLLOWED))
    assert decisive(draft(question, found)) == ["The pump port number may be 0 to 101."]
    found = replace(found, previous_quotes=("The pump port number may be 0 to 101.",))
    assert decisive(draft(question, found)) == ["Every pump has one number."]


def test_a_sentence_that_alone_answers_is_quoted_again() -> None:
    heard = replace(evidence("And the default? pump", chunk(FOLLOWED)), previous_quotes=("The pump default is 7.",))
    assert decisive(draft("And the default?", heard)) == ["The pump default is 7."]


def test_what_was_quoted_is_not_quoted_again_in_another_order() -> None:
    first = chunk("The watchdog stops the motors after five seconds.", id="first", chapter=1)
    again = chunk("After five seconds the watchdog stops the motors.", id="again", chapter=2, start=900)
    made = answer("When does the watchdog stop the motors?", first, again)
    assert [citation.chunk.id for citation in made.citations] == ["first"]
