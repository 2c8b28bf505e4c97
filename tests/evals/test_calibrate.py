"""A refit is judged on questions it has not seen, is written only if it is better, and is then used."""

from __future__ import annotations

import json
import logging
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import ASKED, opened
from eval_results import ANSWERABLE, SELECTED, SHUT_OUT, UNANSWERABLE
from quoth.ask.calibration import Calibration, Logistic, calibration_for
from quoth.ask.judge import FITTED, UNFITTED
from quoth.domain import Fingerprint
from quoth.errors import IndexUnavailable, WrongUsage
from quoth.evals.calibrate import FOLDS, LEAST_HELD, LEAST_NOT_HELD, Example, examples_of, fit_logistic, fold_of, refit
from quoth.evals.run import Runner
from quoth.index.calibrations import CalibrationFiles
from samples import question

MINILM = "all-MiniLM-L6-v2/53aa5117/1"
BUILT = Fingerprint(embedder="e", dimensions=3, chunker="1", terms="1")
FITTED_TO_BOOK = Calibration(Logistic(0.0), Logistic(-1.0, {FITTED[0]: 2.0}), threshold=0.3, medium=0.5, high=0.8)
NAMES = tuple(dict.fromkeys((*FITTED, *UNFITTED.judge.weights)))


def made(count: int, truth: Logistic, *, seed: int = 1, groups: int = 40) -> list[Example]:
    """Questions whose answers are found with exactly the probability that `truth` says."""
    chance = random.Random(seed)
    examples = []
    for _ in range(count):
        features = {name: chance.random() for name in NAMES}
        held = chance.random() < truth.probability(features)
        examples.append(Example(features, held, f"page {chance.randrange(groups)}"))
    return examples


def shipped() -> Logistic:
    calibration = calibration_for(MINILM)
    assert calibration is not None
    return calibration.judge


def test_a_book_that_differs_from_the_shipped_numbers_is_fitted_better() -> None:
    fit = refit(made(400, Logistic(-2.0, {FITTED[0]: 6.0, FITTED[1]: -2.0})), MINILM)
    assert fit.better
    assert fit.after.log_loss < fit.before.log_loss
    assert fit.after.calibration_error < fit.before.calibration_error


def test_a_book_that_the_shipped_numbers_describe_is_left_alone() -> None:
    assert not refit(made(400, shipped()), MINILM).better


def test_noise_is_not_learnt_from() -> None:
    """Labels without any relation to the features: a fit tested on its own questions would look good."""
    examples = made(120, Logistic(0.0), groups=120)
    fit = refit(examples, MINILM)
    assert fit.after.auroc < 0.62
    seen = [fit.calibration.judge.probability(example.features) for example in examples]
    assert fit.after.confidences != tuple(seen)


def test_an_embedder_without_fitted_numbers_is_compared_with_the_rule() -> None:
    fit = refit(made(200, Logistic(-1.0, {FITTED[0]: 2.0})), "unknown")
    assert fit.before.confidences == tuple(UNFITTED.judge.probability(example.features) for example in fit.examples)
    assert set(fit.calibration.judge.weights) == set(NAMES)


def test_levels_stay_in_order() -> None:
    calibration = refit(made(400, Logistic(3.0, {FITTED[0]: 6.0, FITTED[1]: -9.0})), MINILM).calibration
    assert 0 < calibration.threshold <= calibration.medium <= calibration.high


def test_too_few_questions_are_refused_with_the_numbers_that_are_needed() -> None:
    few = made(LEAST_HELD + LEAST_NOT_HELD - 1, Logistic(0.5))
    with pytest.raises(WrongUsage, match=f"needs {LEAST_HELD} and {LEAST_NOT_HELD}") as caught:
        refit(few, MINILM)
    assert caught.value.exit_code == 2


@given(st.lists(st.tuples(st.integers(0, 12), st.booleans()), max_size=60))
def test_questions_about_one_page_are_never_on_both_sides_of_a_split(drawn: list[tuple[int, bool]]) -> None:
    examples = [Example({}, held, str(group)) for group, held in drawn]
    folds = fold_of(examples)
    assert folds == fold_of(examples)
    for group in {example.group for example in examples}:
        assert len({fold for fold, example in zip(folds, examples, strict=True) if example.group == group}) == 1


def test_the_parts_are_of_one_size_and_each_holds_both_sorts() -> None:
    examples = made(103, Logistic(0.5), groups=10_000)
    sorts = Counter(zip(fold_of(examples), (example.held for example in examples), strict=True))
    for sort in (True, False):
        sizes = [sorts[fold, sort] for fold in range(FOLDS)]
        assert max(sizes) - min(sizes) <= 1


def test_a_strong_prior_keeps_the_fit_and_a_weak_one_lets_it_go() -> None:
    examples = made(300, Logistic(-2.0, {FITTED[0]: 5.0}))
    rows = np.array([[example.features[name] for name in FITTED] for example in examples])
    labels, ones = np.array([example.held for example in examples]), np.ones(len(examples))
    held_tight = fit_logistic(list(FITTED), rows, labels, ones, ridge=1e9, prior=shipped())
    assert held_tight.weights == pytest.approx(dict(shipped().weights), abs=1e-3)
    free = fit_logistic(list(FITTED), rows, labels, ones, ridge=1e-6)
    assert free.weights[FITTED[0]] == pytest.approx(5.0, abs=1.5)


async def test_only_questions_that_the_book_was_searched_for_are_fitted_on(tmp_path: Path) -> None:
    async with opened(tmp_path) as doors:
        quoth = doors.quoth
        run = await Runner(quoth.conversations, quoth.index, quoth.library, book_id="book").run(
            [ANSWERABLE, UNANSWERABLE, SHUT_OUT, SELECTED]
        )
    examples = examples_of(run.outcomes)  # SHUT_OUT found nothing, SELECTED searched nothing
    assert [(example.held, example.group) for example in examples] == [(True, "topics.md"), (False, "question cup")]


# --- the file --------------------------------------------------------------------------------------------------------


def files(folder: Path, **changes: object) -> CalibrationFiles:
    return CalibrationFiles(folder, replace(BUILT, **changes), FITTED)  # type: ignore[arg-type]


def test_what_was_written_is_read_back_and_readable(tmp_path: Path) -> None:
    path = files(tmp_path).write("book", FITTED_TO_BOOK, {"file": "golden.yaml"})
    assert files(tmp_path)("book") == FITTED_TO_BOOK
    assert files(tmp_path).provenance("book") == {"file": "golden.yaml"}
    assert files(tmp_path)("other") is None
    assert files(tmp_path).provenance("other") is None
    assert files(tmp_path)("../book") is None
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["levels"] == {"outside": 0.02, "low": 0.3, "medium": 0.5, "high": 0.8}
    assert [other.name for other in path.parent.iterdir()] == ["calibration.json"]


def test_a_running_process_notices_a_new_file_and_a_deleted_one(tmp_path: Path) -> None:
    reader = files(tmp_path)
    assert reader("book") is None
    path = files(tmp_path).write("book", FITTED_TO_BOOK, {})
    assert reader("book") == FITTED_TO_BOOK
    files(tmp_path).write("book", replace(FITTED_TO_BOOK, threshold=0.25), {})
    assert reader("book") == replace(FITTED_TO_BOOK, threshold=0.25)
    path.unlink()
    assert reader("book") is None


def test_numbers_for_another_index_or_judge_are_not_used_and_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files(tmp_path).write("book", FITTED_TO_BOOK, {})
    with caplog.at_level(logging.WARNING):
        assert files(tmp_path, embedder="another")("book") is None
        assert CalibrationFiles(tmp_path, BUILT, known=("something else",))("book") is None
        files(tmp_path).path("book").write_text("{", encoding="utf-8")
        assert files(tmp_path)("book") is None
    assert [record.getMessage().count("calibration.json") for record in caplog.records] == [1, 1, 1]


def test_a_damaged_file_is_named_and_not_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = files(tmp_path).write("book", FITTED_TO_BOOK, {"file": "golden.yaml"})
    content = path.read_text(encoding="utf-8")
    used = []
    for place in [place for place, letter in enumerate(content) if letter.isdigit()]:
        path.write_text(content[:place] + str((int(content[place]) + 1) % 10) + content[place + 1 :], encoding="utf-8")
        used.append(files(tmp_path)("book"))
    assert used.count(None) == len(caplog.messages) > 30
    # With another digit in its name there is no checksum; the numbers are right.
    assert used.count(FITTED_TO_BOOK) == len(used) - used.count(None) == len("256")
    for missing in ("judge", "levels", "fingerprint", "provenance"):
        document = {name: value for name, value in json.loads(content).items() if name not in (missing, "sha256")}
        path.write_text(json.dumps(document), encoding="utf-8")
        assert files(tmp_path).provenance("book") is None
    unsealed = {name: value for name, value in json.loads(content).items() if name != "sha256"}
    path.write_text(json.dumps(unsealed), encoding="utf-8")  # as an earlier Quoth wrote it
    assert files(tmp_path)("book") == FITTED_TO_BOOK


def test_a_folder_that_cannot_be_written_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "index").write_text("in the way", encoding="utf-8")
    with pytest.raises(IndexUnavailable):
        files(tmp_path).write("book", FITTED_TO_BOOK, {})


async def test_the_judge_of_the_book_uses_its_own_numbers_from_then_on(tmp_path: Path) -> None:
    async with opened(tmp_path, books=2) as doors:
        quoth = doors.quoth
        before = await quoth.conversations.answer(question(ASKED))
        assert before.verdict.should_answer
        refusing = replace(FITTED_TO_BOOK, judge=Logistic(-9.0, {}), threshold=0.5)
        quoth.calibrations.write("book", refusing, {})
        after = await quoth.conversations.answer(question(ASKED))
        other = await quoth.conversations.answer(question(ASKED, book_id="book-2"))
    assert not after.verdict.should_answer
    assert after.verdict.confidence == Logistic(-9.0, {}).probability({})
    assert other.verdict == before.verdict
