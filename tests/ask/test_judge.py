"""Confidence: the fixed table is exact, the calibrated policy is monotone where it must be, no passage: a refusal."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.ask.calibration import Calibration, Logistic, Scale, calibration_for, scale_for, sigmoid
from quoth.ask.judge import FITTED, UNFITTED, ConfidenceOptions, features, judge, metrics_of
from quoth.domain import ConfidenceLevel, Evidence, Passage, QueryTerm
from quoth.text.terms import query_terms
from samples import chunk

MINILM = ConfidenceOptions(embedder="all-MiniLM-L6-v2/53aa5117/1")
SPEC = ConfidenceOptions(policy="spec")


def with_similarities(*similarities: float, diversity: float = 0.0) -> Evidence:
    passages = tuple(
        Passage(chunk(f"Text {at}."), score=similarity, similarity=similarity, dense_score=similarity)
        for at, similarity in enumerate(similarities)
    )
    return Evidence(query="text", passages=passages, total_found=len(passages), diversity=diversity)


def evidence(
    query: str, text: str, *, score: float, dense: float | None = 0.5, absent: tuple[str, ...] = (), second: float = 0.3
) -> Evidence:
    terms = tuple(QueryTerm(term.text, term.id, 4.0, term.text not in absent) for term in query_terms(query))
    passages = (
        Passage(chunk(text), score, score, dense_score=dense, dense_rank=1, sparse_rank=1, agreement=score),
        Passage(chunk("Something else."), score=second, similarity=second, dense_score=dense and dense / 2),
    )
    return Evidence(query=query, passages=passages, total_found=2, terms=terms)


@pytest.mark.parametrize(
    ("similarities", "level"),
    [
        ((0.85,) * 5, "high"),
        ((0.85,) * 4, "medium"),
        ((0.84,) * 5, "medium"),
        ((0.75,) * 3, "medium"),
        ((0.75,) * 2, "low"),
        ((0.74,) * 3, "low"),
        ((0.60,) * 2, "low"),
        ((0.60,), "insufficient"),
        ((0.59,) * 9, "insufficient"),
        ((), "insufficient"),
    ],
)
def test_the_specs_table_holds_at_its_edges(similarities: tuple[float, ...], level: ConfidenceLevel) -> None:
    verdict = judge(with_similarities(*similarities), SPEC)
    assert verdict.level == level
    assert verdict.should_answer == (level != "insufficient")


@pytest.mark.parametrize(
    ("similarities", "enough"),
    [((0.75,) * 3, True), ((0.75,) * 2, False), ((0.74,) * 9, False), ((0.95, 0.9, 0.5), True), ((), False)],
)
def test_context_is_sufficient_from_three_passages_and_an_average_of_075_on(
    similarities: tuple[float, ...], enough: bool
) -> None:
    assert metrics_of(with_similarities(*similarities)).has_sufficient_context is enough


def test_under_the_spec_low_answers_and_confidence_is_the_average() -> None:
    verdict = judge(with_similarities(0.7, 0.6), SPEC)
    assert verdict.should_answer
    assert verdict.confidence == pytest.approx(0.65)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=2).map(sorted))
def test_a_scale_keeps_the_order_and_puts_its_marks_on_the_edges_of_the_table(pair: list[float]) -> None:
    scale = Scale(0.05, 0.2, 0.4)
    low, high = map(scale.read, pair)
    assert 0 <= low <= high <= 1
    assert [scale.read(mark) for mark in (0.0, 0.05, 0.2, 0.4, 1.0)] == [0.0, 0.60, 0.75, 0.85, 1.0]


def test_similarities_of_a_measured_embedder_are_read_on_the_scale_of_the_table() -> None:
    scale = scale_for(MINILM.embedder)
    assert scale is not None
    options = replace(MINILM, policy="spec")
    verdict = judge(with_similarities(*[scale.high] * 5), options)
    assert verdict.level == "high"
    assert verdict.confidence == pytest.approx(0.85)
    assert verdict.metrics.has_sufficient_context
    assert verdict.metrics.average_similarity == verdict.confidence
    assert judge(with_similarities(*[scale.low] * 5), options).level == "low"
    assert judge(with_similarities(*[scale.low * 0.99] * 5), options).level == "insufficient"
    assert judge(with_similarities(*[scale.low] * 5), SPEC).level == "insufficient"  # of another embedder, as they are


@pytest.mark.parametrize("options", [MINILM, ConfidenceOptions(embedder="unknown"), SPEC])
def test_the_operators_threshold_refuses_what_is_below_it_also_before_a_model(options: ConfidenceOptions) -> None:
    evidence = with_similarities(0.9, 0.9, 0.9, 0.9, 0.9)
    confidence = judge(evidence, options).confidence
    above, below = (judge(evidence, replace(options, threshold=at)) for at in (confidence, min(1.0, confidence + 1e-6)))
    assert (above.should_answer or options is SPEC, above.confidence) == (True, confidence)
    assert (below.should_answer, below.level, below.outside) == (False, "insufficient", True)


@pytest.mark.parametrize(("threshold", "outside"), [(0.3, 0.05), (0.1, 0.08), (0.3, 0.3)])
def test_an_absent_identifier_is_refused_but_not_before_a_model_unless_all_doubts_are(
    threshold: float, outside: float
) -> None:
    found = evidence("What is max_upload_size_mb?", "The upload is limited.", score=0.9, absent=("max_upload_size_mb",))
    own = Calibration(Logistic(0.0), Logistic(4.0), threshold, 0.5, 0.8, outside)
    verdict = judge(found, ConfidenceOptions(own=own))
    assert (verdict.should_answer, verdict.outside) == (False, outside == threshold)


def test_the_metrics_are_those_of_the_passages() -> None:
    metrics = metrics_of(with_similarities(0.9, 0.5, 0.7, diversity=0.4))
    assert (metrics.min_similarity, metrics.max_similarity, metrics.num_chunks) == (0.5, 0.9, 3)
    assert metrics.average_similarity == pytest.approx(0.7)
    assert metrics.chunk_diversity == 0.4


@given(st.lists(st.floats(0, 1), max_size=20))
def test_the_average_never_leaves_its_own_range(similarities: list[float]) -> None:
    metrics = metrics_of(with_similarities(*similarities))
    assert metrics.min_similarity <= metrics.average_similarity <= metrics.max_similarity


@pytest.mark.parametrize("options", [MINILM, ConfidenceOptions(), SPEC])
def test_nothing_found_is_a_refusal_under_every_policy(options: ConfidenceOptions) -> None:
    verdict = judge(with_similarities(), options)
    assert (verdict.confidence, verdict.level, verdict.should_answer) == (0.0, "insufficient", False)


@pytest.mark.parametrize("options", [MINILM, ConfidenceOptions(embedder="unknown")])
def test_a_passage_that_says_what_was_asked_is_answered_and_one_that_does_not_is_refused(
    options: ConfidenceOptions,
) -> None:
    question = "Which queue depth does the sensor data profile use?"
    good = evidence(question, "The sensor data profile uses a queue depth of 5.", score=0.85, dense=0.7)
    bad = evidence(question, "Bread needs flour.", score=0.1, dense=0.1, second=0.09, absent=("queue", "profile"))
    assert judge(good, options).should_answer
    assert not judge(bad, options).should_answer


def test_a_name_that_is_missing_where_others_are_lowers_the_confidence() -> None:
    question = "How fast is the lidar of Webots?"
    other, holding, unnamed = (
        evidence(question, text, score=0.5)
        for text in ("The lidar of Gazebo is fast.", "Webots' lidar is as fast as Gazebo's.", "the lidar is fast.")
    )
    assert [features(found)["another_name"] for found in (other, holding, unnamed)] == [1.0, 0.0, 0.0]
    assert judge(other, MINILM).confidence < judge(unnamed, MINILM).confidence < judge(holding, MINILM).confidence


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (
            "How fast is the lidar of Webots?",
            "Webots has one. The lidar of Gazebo is faster.",
        ),  # in the sentence before
        ("Show me a lidar.", "The lidar of Gazebo is fast."),  # a capital that only opens the question
    ],
)
def test_a_name_beside_the_sentence_and_the_first_word_of_a_question_are_not_missing(question: str, text: str) -> None:
    assert features(evidence(question, text, score=0.5))["another_name"] == 0.0


def test_a_name_in_the_heading_is_not_missing() -> None:
    found = evidence("How fast is the lidar of Webots?", "The lidar of Gazebo is fast.", score=0.5)
    headed = replace(found.passages[0], chunk=replace(found.passages[0].chunk, breadcrumb=("Webots",)))
    assert features(found)["another_name"] == 1.0
    assert features(replace(found, passages=(headed, *found.passages[1:])))["another_name"] == 0.0


def test_words_of_one_family_count_in_part_and_strangers_not_at_all() -> None:
    question = "How do nodes discover?"
    told, near, far = (
        features(evidence(question, text, score=0.5))["sentence_share"]
        for text in ("Nodes discover.", "Nodes have a discovery.", "Nodes discard.")
    )
    assert told == 1.0
    assert far < near < told
    assert far == features(evidence(question, "Nodes.", score=0.5))["sentence_share"]


def test_only_what_is_missing_speaks_against_answering() -> None:
    fitted = calibration_for(MINILM.embedder)
    assert fitted is not None
    assert {name for name, weight in fitted.judge.weights.items() if weight < 0} == {"another_name", "unmet"}


@pytest.mark.parametrize("options", [MINILM, ConfidenceOptions(embedder="unknown")])
def test_a_number_asked_for_where_there_is_none_lowers_the_confidence(options: ConfidenceOptions) -> None:
    question = "How many threads does the executor start?"
    told, untold = (
        evidence(question, f"The executor will start {many} threads.", score=0.5) for many in ("four", "its")
    )
    assert [features(found)["unmet"] for found in (told, untold)] == [0.0, 1.0]
    assert judge(untold, options).confidence < judge(told, options).confidence


def test_the_answer_may_be_in_a_sentence_that_is_nearly_as_near() -> None:
    question = "How many threads does the executor start?"
    near, far = "An executor of ours starts threads. ", "Threads are good. Four is a number."
    assert features(evidence(question, near + far, score=0.5))["unmet"] == 1.0
    assert features(evidence(question, near + "The executor starts four of the threads.", score=0.5))["unmet"] == 0.0


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_better_cosine_never_lowers_the_confidence(one: float, other: float) -> None:
    lower, higher = sorted((one, other))
    question, text = "What is a lidar?", "A lidar measures distance."
    low = judge(evidence(question, text, score=0.5, dense=lower), MINILM)
    high = judge(evidence(question, text, score=0.5, dense=higher), MINILM)
    assert low.confidence <= high.confidence


def test_levels_follow_the_confidence() -> None:
    fitted = calibration_for(MINILM.embedder)
    assert fitted is not None
    assert 0 < fitted.threshold < fitted.medium < fitted.high < 1
    order = ["insufficient", "low", "medium", "high"]
    seen = [
        judge(
            evidence("What is a lidar?", "A lidar measures distance.", score=at / 50, dense=at / 50, second=0.0), MINILM
        )
        for at in range(51)
    ]
    ranks = [order.index(verdict.level) for verdict in seen]
    assert ranks == sorted(ranks)
    assert set(ranks) == {0, 1, 2, 3}


def test_an_embedder_without_numbers_says_so_and_is_judged_by_words() -> None:
    assert MINILM.fitted
    assert not ConfidenceOptions(embedder="unknown").fitted
    found = evidence("What is a lidar?", "A lidar measures distance.", score=0.6)
    assert judge(found, ConfidenceOptions(embedder="unknown")).confidence == UNFITTED.judge.probability(features(found))


def test_evidence_that_was_never_embedded_is_judged_by_words() -> None:
    found = evidence("What is a lidar?", "A lidar measures distance.", score=0.6, dense=None)
    assert judge(found, MINILM) == judge(found, ConfidenceOptions())


def test_a_single_passage_can_be_judged() -> None:
    found = evidence("What is a lidar?", "A lidar measures distance.", score=0.8)
    alone = Evidence(found.query, found.passages[:1], 1, found.terms)
    assert judge(alone, MINILM).should_answer


def test_the_shipped_model_weighs_exactly_the_features_named() -> None:
    fitted = calibration_for(MINILM.embedder)
    assert fitted is not None
    assert set(fitted.judge.weights) == set(FITTED)
    assert set(fitted.similarity.weights) == {"score"}


def test_the_logistic_function_is_safe_at_both_ends() -> None:
    assert sigmoid(-1e9) < 1e-9
    assert sigmoid(1e9) > 1 - 1e-9
    assert Logistic(0.5, {"x": 2.0}).logit({"x": 1.0, "y": 9.0}) == 2.5


@pytest.mark.parametrize("name", ["`max_upload_size_mb`", "max_upload_size_mb", "v-memoize", "--no-such-flag"])
def test_an_identifier_that_the_book_does_not_have_is_refused(name: str) -> None:
    text = "Set the upload size in megabytes. The largest upload size is a setting of the server, in mb."
    found = evidence(f"What is the default of {name} for the upload size?", text, score=0.9)
    assert not judge(found, MINILM).should_answer
    held = evidence(f"What is the default of {name} for the upload size?", f"{text} {name} is 20.", score=0.9)
    assert judge(held, MINILM).should_answer


def test_without_a_passage_there_is_nothing_to_measure() -> None:
    empty = metrics_of(with_similarities())
    assert (empty.num_chunks, empty.average_similarity, empty.max_similarity, empty.chunk_diversity) == (0, 0, 0, 0)


def test_only_the_first_three_passages_are_read_closely() -> None:
    query = "zebra stripes"
    terms = tuple(QueryTerm(term.text, term.id, 4.0, in_book=True) for term in query_terms(query))

    def share(at: int) -> float:
        texts = ["Nothing of that here." if n != at else "Zebra stripes are black." for n in range(4)]
        passages = tuple(Passage(chunk(text, id=str(n)), 0.5, 0.5) for n, text in enumerate(texts))
        return features(Evidence(query=query, passages=passages, total_found=4, terms=terms))["top_share"]

    assert [share(at) for at in range(4)] == [1.0, 1.0, 1.0, 0.0]


@pytest.mark.parametrize(("words", "share"), [(1, 1 / 12), (6, 0.5), (12, 1.0), (13, 1.0), (20, 1.0)])
def test_the_length_of_a_question_counts_up_to_twelve_words(words: int, share: float) -> None:
    query = " ".join(f"word{n}x" for n in range(words))
    assert features(evidence(query, "text", score=0.5))["words"] == pytest.approx(share)


def test_a_threshold_that_is_just_met_is_met() -> None:
    met = judge(with_similarities(0.75, 0.75, 0.75), replace(SPEC, threshold=0.75))
    assert (met.level, met.should_answer) == ("medium", True)
    assert not judge(with_similarities(0.75, 0.75, 0.75), replace(SPEC, threshold=0.76)).should_answer
