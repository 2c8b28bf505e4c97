"""Terms: what the sparse side of the index can find, and that ids come from the text alone."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.text.terms import (
    ContentTerm,
    is_exact,
    passage_weights,
    query_pairs,
    query_terms,
    query_weights,
    side_by_side,
    term_ids,
)


def overlap(query: str, passage: str) -> set[int]:
    return set(query_weights(query).ids) & set(passage_weights(passage).ids)


@pytest.mark.parametrize(
    "identifier",
    [
        "--no-deps",
        "tf2_ros",
        "0x68",
        "std::collections::HashMap",
        "E0382",
        "use_sim_time",
        "v1.2.3",
        "/cmd_vel",
        "rclpy.init",
        "useState",
        "~/.bashrc",
        "@app.route",
        "C++",
        "C#",
        ".env",
    ],
)
def test_an_identifier_is_one_term_that_no_other_spelling_shares(identifier: str) -> None:
    [whole] = query_terms(identifier)
    assert whole.text == identifier
    assert whole.id in term_ids(f"Use ({identifier}), then go on.")
    assert whole.id not in term_ids(" ".join(re.findall("[A-Z]?[a-z]+|[A-Z]+|[0-9]+", identifier)))


@pytest.mark.parametrize(
    ("query", "passage"),
    [
        ("no-deps", "pip install --no-deps"),
        ("no_deps", "pip install --no-deps"),
        ("HashMap", "use std::collections::HashMap;"),
        ("hash map", "a HashMap of names"),
        ("cmd_vel", "publish on /cmd_vel"),
        ("rclpy.init()", "call rclpy.init(args=args) first"),
        ("init", "call rclpy.init(args=args) first"),
        ("ros2", "ROS 2 is not an operating system"),
        ("python 3", "run python3"),
        ("1.2.3", "since v1.2.3"),
        ("version 1.2", "since v1.2.3"),
        ("1000", "a list of 1,000 names"),
        ("publishers", "A node publishing"),
        ("naive", "a naïve approach"),
        ("US", "in the U.S. today"),
        ("node's", "two nodes"),
    ],
)
def test_what_a_reader_types_meets_what_the_author_wrote(query: str, passage: str) -> None:
    assert overlap(query, passage)


def test_stop_words_are_no_terms_but_as_code_they_are() -> None:
    assert passage_weights("What is the and of it, e.g. this?").ids == ()
    assert overlap("`for`", "the `for` loop")
    assert not overlap("`for`", "for a loop")


def test_an_identifier_found_whole_outweighs_its_pieces() -> None:
    weights = query_weights("tf2_ros")
    query = dict(zip(weights.ids, weights.weights, strict=True))
    [whole] = query_terms("tf2_ros")
    assert query[whole.id] > max(query[part] for part in whole.parts)


def test_ids_are_the_same_on_every_machine() -> None:
    assert query_terms("publisher")[0].id == 672896955
    assert query_terms("tf2_ros")[0].id == 1076700128


def test_a_long_passage_gives_a_term_less_weight_than_a_short_one() -> None:
    [node] = query_terms("node")
    short = passage_weights("A node.")
    long = passage_weights("A node. " + " ".join(f"word{i}" for i in range(300)))
    assert short.weights[short.ids.index(node.id)] > long.weights[long.ids.index(node.id)]


def test_repeating_a_word_raises_its_weight_less_and_less() -> None:
    weights = [passage_weights("node " * count).weights[0] for count in (1, 2, 3)]
    assert 0 < weights[2] - weights[1] < weights[1] - weights[0]


def test_query_terms_keep_the_readers_spelling_and_name_each_word_once() -> None:
    assert [term.text for term in query_terms("How do Publishers and publishers use /cmd_vel?")] == [
        "Publishers",
        "use",
        "/cmd_vel",
    ]


def test_a_compound_is_found_whole_or_by_all_of_its_parts() -> None:
    [ros2] = query_terms("ros2")
    assert ros2.found_in(term_ids("ROS 2"))
    assert not ros2.found_in(term_ids("ROS 1"))
    assert not ContentTerm("x", 1).found_in({2})


@pytest.mark.parametrize("text", ["42", "--flag", "tf2", "useState", "a.b", "E0382"])
def test_exact_things_are_recognised(text: str) -> None:
    assert is_exact(text)


@pytest.mark.parametrize("text", ["node", "Node", "ROS"])
def test_plain_words_are_not_exact(text: str) -> None:
    assert not is_exact(text)


@given(st.text(max_size=200))
def test_ids_are_ascending_unique_32_bit_and_weights_positive(text: str) -> None:
    for weights in (passage_weights(text), query_weights(text)):
        assert list(weights.ids) == sorted(set(weights.ids))
        assert all(0 <= term < 2**32 for term in weights.ids)
        assert all(weight > 0 for weight in weights.weights)
        assert len(weights.ids) == len(weights.weights)


@given(st.text(max_size=200))
def test_a_text_used_as_query_finds_itself_by_every_term(text: str) -> None:
    assert set(query_weights(text).ids) == set(passage_weights(text).ids) == term_ids(text)


def test_many_threads_get_the_same_weights_as_one() -> None:
    texts = [f"running nodes{i} publishing messages{i} to topics{i}" for i in range(400)]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(passage_weights, texts * 3))
    assert together == [passage_weights(text) for text in texts] * 3


def test_a_word_in_two_spellings_is_one_term_with_the_parts_of_both() -> None:
    [term] = query_terms("hashmap HashMap")
    assert term.text == "hashmap"
    assert set(query_weights("hashmap HashMap").ids) == {term.id, *term.parts}


def test_words_side_by_side_are_small_letters_digits_and_underscores_between_single_spaces() -> None:
    assert side_by_side("Set `use_sim_time`:\n  TRUE, or 42!") == b" set use_sim_time true or 42 "
    assert side_by_side("Größe—ÉTÉ") == " größe—ÉtÉ ".encode()  # other letters stay as they are
    assert side_by_side("") == b"  "


def test_pairs_of_a_query_are_neighbours_with_a_content_word_each_once() -> None:
    [camera] = term_ids("camera")
    [lidar] = term_ids("lidar")
    found = [(pair.text, pair.ids) for pair in query_pairs("Is the lidar a camera? Is the lidar?")]
    assert found == [
        (b" the lidar ", (lidar,)),
        (b" lidar a ", (lidar,)),
        (b" a camera ", (camera,)),
        (b" camera is ", (camera,)),
    ]


def test_a_version_is_known_with_and_without_its_v_and_a_number_only_as_itself() -> None:
    [version], [number], [thousand] = query_terms("v1.2.3"), query_terms("1.2.3"), query_terms("1,000")
    assert version.id != number.id
    assert version.parts == (number.id, *number.parts)
    assert thousand == ContentTerm("1,000", query_terms("1000")[0].id, ())
