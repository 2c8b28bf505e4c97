"""Fusion: both lists on one scale, second looks at the best, every score between 0 and 1."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.ask.fuse import (
    LINKED,
    ORDINARY,
    FusionOptions,
    Scored,
    ceiling,
    fuse,
    idf_of_all,
    pair_weights,
    scale_of,
    with_agreement,
    with_pairs,
)
from quoth.text.terms import query_pairs, query_terms, query_weights

SIDES = FusionOptions(cosine=0.5, words=0.5, pairs=0.0, agreement=0.0)
AS_IT_IS = scale_of([], absolute=True)


def fused(dense: list[tuple[str, float]], sparse: list[tuple[str, float]], depth: int = 50) -> dict[str, float]:
    scored = fuse(dense, sparse, ceiling=10.0, depth=depth, scale=AS_IT_IS, options=SIDES)
    return {candidate.key: candidate.score for candidate in scored}


def test_the_parts_of_a_score_weigh_one_together() -> None:
    options = FusionOptions()
    assert options.cosine + options.words + options.pairs + options.agreement == pytest.approx(1.0)


def test_a_passage_that_both_lists_hold_beats_one_that_only_one_holds() -> None:
    scores = fused([("a", 0.6), ("b", 0.6)], [("a", 5.0), ("c", 5.0)])
    assert scores["a"] > scores["b"]
    assert scores["a"] == pytest.approx(0.5 * 0.6 + 0.5 * 0.5)


def test_a_passage_left_out_of_a_full_list_is_taken_to_score_like_its_last() -> None:
    assert fused([("a", 0.9)], [("b", 4.0)], depth=1)["a"] == pytest.approx(0.5 * 0.9 + 0.5 * 0.4)
    assert fused([("a", 0.9)], [("b", 4.0)], depth=2)["a"] == pytest.approx(0.5 * 0.9)


def test_without_a_known_scale_the_cosine_is_stretched_over_the_list() -> None:
    scale = scale_of([("a", 0.93), ("b", 0.90)], absolute=False)
    assert [scale(cosine) for cosine in (0.93, 0.915, 0.90, 0.2)] == [1.0, pytest.approx(0.5), 0.0, 0.0]
    assert scale_of([("a", 0.9)], absolute=False)(0.9) == 0.0


def test_fusing_nothing_gives_nothing_and_a_query_of_stop_words_divides_by_no_zero() -> None:
    assert fuse([], [], ceiling=0.0, depth=5, scale=AS_IT_IS) == []
    assert fuse([("a", 0.5)], [], ceiling=0.0, depth=5, scale=AS_IT_IS, options=SIDES)[0].score == 0.25


lists = st.lists(st.tuples(st.sampled_from("abcdef"), st.floats(0, 1)), max_size=6, unique_by=lambda pair: pair[0]).map(
    lambda pairs: sorted(pairs, key=lambda pair: -pair[1])
)
angles = st.floats(0, 3.2)


@given(lists, lists, st.text(alphabet="ab ", max_size=12), st.dictionaries(st.sampled_from("abcdef"), angles))
def test_every_candidate_comes_out_once_best_first_between_0_and_1(
    dense: list[tuple[str, float]], sparse: list[tuple[str, float]], query: str, turned: dict[str, float]
) -> None:
    scored = fuse(dense, sparse, ceiling=1.0, depth=6, scale=AS_IT_IS)
    scored = with_pairs(scored, pair_weights(query_pairs(query), {}, 10), lambda key: f"{key} b a")
    vectors = {key: (1.0 - angle / 1.6, angle / 3.2) for key, angle in turned.items()}
    scored = with_agreement(scored, (1.0, 0.0), vectors, AS_IT_IS)
    assert {c.key for c in scored} == {key for key, _ in [*dense, *sparse]}
    assert [c.score for c in scored] == sorted((c.score for c in scored), reverse=True)
    assert all(0 <= c.score <= 1 for c in scored)


# --- second looks -----------------------------------------------------------------------------------------------------


def two_alike() -> list[Scored]:
    return fuse([("a", 0.5), ("b", 0.5)], [("a", 1.0), ("b", 1.0)], ceiling=2.0, depth=5, scale=AS_IT_IS)


@pytest.mark.parametrize(
    ("query", "passage"),
    [
        ("static transform", "Publish a static transform once."),
        ("static transform", "Publish a **static** `transform` once."),
        ("--no-deps", "pip install --no-deps"),
        ("std::collections::HashMap", "use std::collections::HashMap;"),
        ("Static\nTransform", "a (static) transform"),
    ],
)
def test_words_that_are_side_by_side_in_query_and_passage_decide(query: str, passage: str) -> None:
    texts = {"a": "Transform what is static: deps, no HashMap of std collections.", "b": passage}
    scored = with_pairs(two_alike(), pair_weights(query_pairs(query), {}, 10), texts.__getitem__)
    assert [one.key for one in scored] == ["b", "a"]
    assert scored[0].pairs == pytest.approx(len(query_pairs(query)) / (len(query_pairs(query)) + 1))


def test_a_pair_of_rare_words_weighs_more_and_one_with_a_stop_word_less() -> None:
    [pair] = query_pairs("lidar camera")
    [linked] = query_pairs("the lidar")
    rarity = dict.fromkeys([*pair.ids, *linked.ids], 2.0)
    assert pair_weights([pair, linked], rarity, 10) == {pair.text: 4.0, linked.text: 2.0 * LINKED}
    assert query_pairs("what is the") == query_pairs("lidar") == []


def test_a_query_of_one_word_is_judged_by_its_word_alone() -> None:
    assert [one.pairs for one in with_pairs(two_alike(), {}, lambda key: "")] == [0.5, 0.5]


def test_a_passage_like_the_best_ones_moves_up() -> None:
    scored = fuse([("best", 0.9), ("far", 0.4), ("like", 0.39)], [], ceiling=1.0, depth=5, scale=AS_IT_IS)
    vectors = {"best": (1.0, 0.0), "far": (0.0, 1.0), "like": (0.8, 0.6)}
    found = with_agreement(scored, (0.9, 0.43), vectors, AS_IT_IS, FusionOptions(trusted=1))
    assert [one.key for one in found] == ["best", "like", "far"]
    assert [one.agreement for one in found] == [1.0, pytest.approx(0.8), 0.0]


def test_a_passage_that_only_words_found_gets_its_own_cosine_and_no_rank() -> None:
    scored = fuse([("a", 0.2)], [("b", 1.0)], ceiling=2.0, depth=1, scale=AS_IT_IS)
    found = with_agreement(scored, (1.0, 0.0), {"a": (0.2, 0.98), "b": (0.7, 0.71)}, AS_IT_IS)
    b = next(one for one in found if one.key == "b")
    assert b.dense == pytest.approx(0.7)
    assert b.dense_rank is None


def test_a_passage_that_has_gone_from_the_index_meanwhile_is_not_an_error() -> None:
    assert {one.key for one in with_agreement(two_alike(), (1.0, 0.0), {"a": (1.0, 0.0)}, AS_IT_IS)} == {"a", "b"}
    assert [one.agreement for one in with_agreement(two_alike(), (1.0, 0.0), {}, AS_IT_IS)] == [0.0, 0.0]


# --- how much there is to find ----------------------------------------------------------------------------------------


def test_a_missing_name_weighs_more_than_a_missing_ordinary_word() -> None:
    words = query_terms("rent Kubernetes")
    full = idf_of_all(words, {}, 100)
    nowhere = math.log(1 + 100.5 / 0.5)
    assert [full[word.id] for word in words] == [ORDINARY * nowhere, nowhere]


def test_the_ceiling_grows_with_what_was_asked() -> None:
    rarity = dict.fromkeys(query_weights("lidar camera").ids, 2.0)
    assert ceiling(query_weights("lidar camera"), rarity) == 2 * ceiling(query_weights("lidar"), rarity)


def test_words_count_however_small_their_ceiling_is() -> None:
    (only,) = fuse([], [("a", 0.25)], ceiling=0.5, depth=50, scale=AS_IT_IS, options=SIDES)
    assert only.score == pytest.approx(0.25)
    (none,) = fuse([("a", 0.5)], [], ceiling=0.0, depth=50, scale=AS_IT_IS, options=SIDES)
    assert none.score == pytest.approx(0.25)


def test_without_any_vector_only_words_count() -> None:
    (only,) = fuse([], [("a", 10.0)], ceiling=10.0, depth=50, scale=AS_IT_IS, options=SIDES)
    assert only.score == pytest.approx(0.5)
    assert (only.dense, only.dense_rank) == (None, None)
