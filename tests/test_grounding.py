"""Grounding: what stands in the cited passage is supported, what does not is marked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from quoth.domain import Citation
from quoth.grounding import check, quote_stands
from samples import chunk

PAGE = (
    "The sensor data profile is best effort with a depth of 5. Call `rclpy.init()` before you create a node.\n\n"
    "```bash\npip install --no-deps quoth\n```\n\nDDS was chosen by the ROS 2 team in 2014."
)


def citation(index: int = 1, text: str = PAGE, quote: str = "") -> Citation:
    words = quote or text
    start = text.index(words)
    return Citation(index, chunk(text, start=50), words, 50 + start, 50 + start + len(words), 0.9)


def supported(text: str, *citations: Citation) -> list[bool]:
    return [sentence.supported for sentence in check(text, citations or (citation(),)).sentences]


@pytest.mark.parametrize(
    "sentence",
    [
        "The sensor data profile is best effort with a depth of 5. [1]",
        "The **sensor data** profile is best effort\nwith a depth of 5 [1].",
        "The depth of the sensor data profile is 5 [1].",
        "You call `rclpy.init()` before a node is created. [1]",
        "Yes, it does. [1]",
    ],
)
def test_verbatim_words_and_faithful_paraphrases_are_supported(sentence: str) -> None:
    assert supported(sentence) == [True]


@pytest.mark.parametrize(
    "sentence",
    [
        "The sensor data profile is best effort with a depth of 10. [1]",
        "Call `rclpy.start()` before you create a node. [1]",
        "Install with pip install --no-cache quoth. [1]",
        "DDS was chosen by the Autoware team in 2014. [1]",
        "Bananas are rich in potassium and grow in warm countries. [1]",
    ],
)
def test_a_wrong_number_identifier_flag_or_name_is_not_supported(sentence: str) -> None:
    assert supported(sentence) == [False]


def test_a_marker_without_a_citation_supports_nothing() -> None:
    assert supported("The sensor data profile is best effort with a depth of 5. [2]") == [False]
    assert supported("The sensor data profile is best effort with a depth of 5. [1][2]") == [False]


def test_a_sentence_without_any_marker_is_not_supported() -> None:
    [sentence] = check("The sensor data profile is best effort.", [citation()]).sentences
    assert (sentence.supported, sentence.sources) == (False, ())


def test_a_quote_that_is_not_at_its_place_supports_nothing() -> None:
    good = citation(quote="best effort")
    moved = replace(good, start=good.start + 1, end=good.end + 1)
    changed = replace(good, quote="best effors")
    assert quote_stands(good)
    assert not quote_stands(moved)
    assert not quote_stands(changed)
    assert supported("The sensor data profile is best effort. [1]", moved) == [False]


def test_each_sentence_is_checked_against_what_it_cites_itself() -> None:
    other = citation(2, "A lidar measures distance.")
    answer = "A lidar measures distance. [2] A lidar measures distance. [1]"
    grounding = check(answer, [citation(), other])
    assert [(s.supported, s.sources) for s in grounding.sentences] == [(True, (2,)), (False, (1,))]
    assert (grounding.supported, grounding.total) == (1, 2)


def test_a_sentence_may_be_supported_by_two_passages_together() -> None:
    other = citation(2, "A lidar measures distance.")
    joined = "The sensor data profile has a depth of 5 and a lidar measures distance [1, 2]."
    assert supported(joined, citation(), other) == [True]


def test_an_unmarked_sentence_leans_on_the_next_marker_of_its_paragraph() -> None:
    answer = "The profile is best effort. Its depth is 5. [1]\n\nThe depth is 5."
    grounding = check(answer, [citation()])
    assert [(s.supported, s.sources) for s in grounding.sentences] == [(True, (1,)), (True, (1,)), (False, ())]


def test_a_code_block_must_be_verbatim() -> None:
    assert supported("```bash\npip install --no-deps quoth\n```\n\n[1]") == [True]
    assert supported("```bash\npip install quoth\n```\n\n[1]") == [False]


def test_brackets_in_code_and_links_are_no_markers() -> None:
    [sentence] = check("Use `argv[2]` and [3](page.md) here. [1]", [citation()]).sentences
    assert sentence.sources == (1,)


def test_headings_of_an_answer_claim_nothing() -> None:
    assert supported("## Depth\n\nThe depth is 5. [1]") == [True]


def test_markers_alone_belong_to_the_table_above_them() -> None:
    table = "| Flag | Meaning |\n|---|---|\n| `-k` | hits |\n| `-v` | more |"
    shown = "| Flag | Meaning |\n|---|---|\n| `-v` | more |\n\n[1]"
    grounding = check(shown, [citation(1, table, "| `-v` | more |")])
    assert [(s.supported, s.sources) for s in grounding.sentences] == [(True, (1,)), (True, (1,))]


def test_an_empty_answer_has_nothing_to_check() -> None:
    assert check("", []).total == 0
    assert check("[1]", [citation()]).total == 0
