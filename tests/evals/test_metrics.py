"""The metrics against their definitions: brute force, known identities, and bounds that no input may break."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_results import result
from quoth.domain import Citation
from quoth.evals.cases import Label
from quoth.evals.labels import Place, block_of, spans_of
from quoth.evals.metrics import (
    METRICS,
    all_values,
    area_under,
    auroc,
    by_kind,
    calibration_error,
    curve,
    hit_at,
    latency,
    lower_is_better,
    measure,
    ndcg,
    quantile,
    reciprocal_rank,
    risk_coverage,
)
from samples import chunk

ranks = st.sets(st.integers(1, 10)).map(sorted)
# Few distinct values, so that ties occur.
judged = st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0]), st.booleans()), max_size=40)
Judged = list[tuple[float, bool]]


def parts(pairs: Judged) -> tuple[list[float], list[bool]]:
    return [confidence for confidence, _ in pairs], [held for _, held in pairs]


# --- rankings --------------------------------------------------------------------------------------------------------


@given(ranks, st.integers(0, 12))
def test_ndcg_is_between_0_and_1_and_1_only_for_the_best_ranking(found: list[int], missed: int) -> None:
    value = ndcg(found, len(found) + missed)
    assert 0 <= value <= 1 + 1e-12
    best = bool(found) and found == list(range(1, len(found) + 1)) and (missed == 0 or len(found) == 10)
    assert math.isclose(value, 1.0) == best


@given(ranks, st.integers(1, 12))
def test_ndcg_is_the_quotient_of_two_sums_over_all_ranks(found: list[int], relevant: int) -> None:
    gains = [1.0 if rank in found else 0.0 for rank in range(1, 11)]
    ideal = sorted([1.0] * relevant + [0.0] * 10, reverse=True)[:10]
    sums = [sum(gain / math.log2(rank + 1) for rank, gain in enumerate(of, 1)) for of in (gains, ideal)]
    assert ndcg(found, relevant) == pytest.approx(sums[0] / sums[1])


@given(ranks)
def test_hits_grow_with_k_and_the_reciprocal_rank_agrees_with_them(found: list[int]) -> None:
    hits = [hit_at(found, k) for k in range(1, 11)]
    assert hits == sorted(hits)
    first = hits.index(1.0) + 1 if 1.0 in hits else math.inf
    assert reciprocal_rank(found) == 1 / first


def test_nothing_found_scores_nothing() -> None:
    assert (hit_at((), 10), reciprocal_rank(()), ndcg((), 3), ndcg((), 0)) == (0, 0, 0, 0)


# --- confidence ------------------------------------------------------------------------------------------------------


@given(judged)
def test_every_point_of_the_curve_is_what_answering_from_there_gives(pairs: Judged) -> None:
    points = risk_coverage(*parts(pairs))
    assert [point.threshold for point in points] == sorted({confidence for confidence, _ in pairs}, reverse=True)
    for point in points:
        answered = [held for confidence, held in pairs if confidence >= point.threshold]
        assert point.coverage == pytest.approx(len(answered) / len(pairs))
        assert point.risk == pytest.approx(answered.count(False) / len(answered))


@given(judged)
def test_answering_more_never_makes_fewer_mistakes_and_answering_all_makes_all(pairs: Judged) -> None:
    points = risk_coverage(*parts(pairs))
    mistakes = [round(point.risk * point.coverage * len(pairs), 6) for point in points]
    assert mistakes == sorted(mistakes)
    assert [point.coverage for point in points[-1:]] == [1.0] * bool(pairs)
    assert mistakes[-1:] == [[held for _, held in pairs].count(False)] * bool(pairs)


@given(judged.filter(bool))
def test_the_area_is_the_mean_of_the_risks_and_stays_between_0_and_1(pairs: Judged) -> None:
    confidences, held = parts(pairs)
    risks = {point.threshold: point.risk for point in risk_coverage(confidences, held)}
    area = area_under(risk_coverage(confidences, held))
    assert area == pytest.approx(sum(risks[confidence] for confidence in confidences) / len(pairs))
    assert area is not None
    assert 0 <= area <= 1


@given(st.integers(1, 20), st.integers(0, 20))
def test_a_judge_who_knows_makes_no_mistake_before_it_must(right: int, wrong: int) -> None:
    points = risk_coverage([0.9] * right + [0.1] * wrong, [True] * right + [False] * wrong)
    assert points[0].risk == 0
    assert points[0].coverage == right / (right + wrong)


@given(judged)
def test_the_calibration_error_is_between_0_and_1_whatever_the_order(pairs: Judged) -> None:
    error = calibration_error(*parts(pairs))
    assert error == calibration_error(*parts(pairs[::-1]))
    assert (error is None) == (not pairs)
    assert 0 <= (error or 0) <= 1


@given(judged.filter(bool))
def test_the_calibration_error_is_at_least_the_distance_of_the_means(pairs: Judged) -> None:
    confidences, held = parts(pairs)
    error = calibration_error(confidences, held)
    assert error is not None
    assert error >= abs(sum(confidences) - sum(held)) / len(pairs) - 1e-9
    assert calibration_error(confidences, held, bins=1) == pytest.approx(abs(sum(confidences) - sum(held)) / len(pairs))


@given(st.lists(st.booleans(), min_size=1))
def test_certain_and_right_is_perfectly_calibrated_and_certain_and_wrong_not_at_all(held: list[bool]) -> None:
    assert calibration_error([float(right) for right in held], held) == 0
    assert calibration_error([1.0] * len(held), [False] * len(held)) == 1


@given(judged)
def test_auroc_counts_pairs(pairs: Judged) -> None:
    confidences, held = parts(pairs)
    good = [confidence for confidence, right in pairs if right]
    bad = [confidence for confidence, right in pairs if not right]
    won = [1.0 if one > other else 0.5 if one == other else 0.0 for one, other in product(good, bad)]
    expected = pytest.approx(sum(won) / len(won)) if won else None
    assert auroc(confidences, held) == expected


@given(st.lists(st.floats(0, 100), min_size=1), st.floats(0.01, 1))
def test_a_quantile_is_one_of_the_values_and_bounds_its_share(values: list[float], share: float) -> None:
    found = quantile(values, share)
    assert found in values
    assert sum(value <= (found or 0) for value in values) >= share * len(values) - 1e-9


# --- a run -----------------------------------------------------------------------------------------------------------

RESULTS = [
    result("a", right_ranks=(1,), quote_recall=1.0, citations=2, right_citations=1, confidence=0.9),
    result("b", right_ranks=(4,), quote_recall=0.4, citations=1, right_citations=1, confidence=0.6),
    result("c", right_ranks=(), answered=False, confidence=0.2),
    result("n", kind="unanswerable", answerable=False, answered=False, confidence=0.1),
    result("m", kind="unanswerable", answerable=False, answered=True, confidence=0.7, citations=3),
    result("s", kind="selected_text", searches=False, quote_recall=1.0, citations=1, confidence=1.0),
]


def test_the_metrics_of_a_small_run_are_those_worked_out_by_hand() -> None:
    values = measure(RESULTS)
    assert values["hit@1"] == pytest.approx(1 / 3)
    assert values["hit@5"] == pytest.approx(2 / 3)
    assert values["mrr"] == pytest.approx((1 + 1 / 4) / 3)
    assert values["quote_recall"] == pytest.approx((1 + 0.4 + 0 + 1) / 4)
    assert values["answers_right"] == pytest.approx(2 / 4)
    assert values["citation_precision"] == pytest.approx(2 / 3)
    assert values["refusal_precision"] == pytest.approx(1 / 2)
    assert values["refusal_recall"] == pytest.approx(1 / 2)
    assert values["decision_accuracy"] == pytest.approx(4 / 6)
    assert values["auroc"] == pytest.approx(5 / 6)
    assert [(point.threshold, point.risk) for point in curve(RESULTS)][:2] == [(0.9, 0), (0.7, 0.5)]


def test_the_right_block_is_shown_if_nine_tenths_of_it_are() -> None:
    asked = [
        result("whole", asks="list", quote_recall=1.0, block_recall=0.95, gold_words=1.0, answer="one two three [1]"),
        result("half", asks="list", quote_recall=1.0, block_recall=0.5, gold_words=0.5, answer="one [1]"),
        result("line", asks="value", quote_recall=0.9),
        result("refused", asks="value", answered=False, answer="No."),
        result("unlabelled", quote_recall=0.0),
        result("done", kind="instruction", quote_recall=1.0),
    ]
    values = all_values(asked)
    assert values["right_block"] == pytest.approx(3 / 5)
    assert values["list.right_block"] == pytest.approx(1 / 2)
    assert values["instruction.right_block"] == 1.0
    assert values["gold_words"] == pytest.approx(1.5 / 6)
    assert values["list.words_per_answer"] == pytest.approx((4 + 2) / 2)


def test_a_block_reaches_from_the_first_to_the_last_words_of_its_label() -> None:
    text = "Before. We have\nthree: apple,\nbanana and cherry. After. We have"
    place = Place("p.md", spans_of("We have three", text), block=block_of(Label("p.md", "We have", "cherry."), text))
    assert "".join(text[at] for at in sorted(place.block)) == "Wehavethree:apple,bananaandcherry."
    start = text.index("We")
    cited = Citation(1, chunk(text, source_file="p.md"), text[start : start + 13], start, start + 13, 0.5)
    assert place.share_of_block([cited]) == pytest.approx(len("Wehavethree") / len(place.block))
    assert replace(place, block=frozenset()).share_of_block([cited]) is None


def test_a_passage_beyond_those_that_the_judge_saw_is_not_held() -> None:
    assert result("x", right_ranks=(5,), seen=5).held
    assert not result("x", right_ranks=(6,), seen=5).held


def test_what_cannot_be_measured_is_none() -> None:
    assert set(measure([]).values()) == {None}
    only_refused = by_kind(RESULTS)["unanswerable"]
    assert only_refused["hit@5"] is None
    assert only_refused["auroc"] is None
    assert by_kind(RESULTS)["selected_text"]["citation_precision"] is None


def test_refusals_of_absent_subjects_and_of_near_ones_are_measured_apart_and_together() -> None:
    asked = [
        result("far", kind="unanswerable", subject="absent", answerable=False, answered=False),
        result("near", kind="unanswerable", subject="near", answerable=False, answered=True),
        result("any", kind="unanswerable", answerable=False, answered=True),
    ]
    values = all_values(asked)
    assert values["absent.refusal_recall"] == 1.0
    assert values["near.refusal_recall"] == 0.0
    assert values["unanswerable.refusal_recall"] == pytest.approx(1 / 3)
    assert list(by_kind(asked)) == ["unanswerable", "absent", "near"]


def test_latencies_are_kept_by_stage() -> None:
    slow = result("x", total_ms=90.0, stage_ms={"retrieve": 80.0, "generate": 10.0})
    assert latency([*RESULTS, slow]) == {
        "retrieve": {"p50": 8.0, "p95": 80.0},
        "total": {"p50": 10.0, "p95": 90.0},
        "generate": {"p50": 10.0, "p95": 10.0},
    }


def test_a_floor_can_be_put_under_every_metric_of_every_kind_and_stage() -> None:
    values = all_values(RESULTS)
    assert {"hit@5", "unanswerable.refusal_recall", "latency_ms.total.p95"} <= values.keys()
    assert [name for name in values if lower_is_better(name) and not name.startswith("latency_ms.")] == [
        f"{kind}{name}"
        for kind in ("", "answerable.", "unanswerable.", "selected_text.")
        for name in ("words_per_answer", "calibration_error", "aurc")
    ]
    assert lower_is_better("latency_ms.total.p95")


def test_the_documentation_defines_every_metric_in_the_same_words() -> None:
    text = " ".join((Path(__file__).parents[2] / "docs" / "evaluation.md").read_text(encoding="utf-8").split())
    for metric in METRICS:
        assert f"| `{metric.name}` | {metric.meaning} |" in text, metric.name
