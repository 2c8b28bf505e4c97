"""Fits and measures the grounding check: does the answer say what its passages say?

    python benchmarks/grounding.py ../shared/data            # measure what ships
    python benchmarks/grounding.py ../shared/data --fit      # fit, write src/quoth/ask/grounding.json, then measure

RAGTruth QA (`ragtruth_qa*`): answers of six models with the spans that people found unsupported. WiCE (`wice_dev`):
claims of Wikipedia against the pages they cite; nothing is ever fitted on it. An answer's score is the product of the
scores of its two weakest sentences. Figures "out of fold" come from models that have seen no answer to the same
question; figures "as shipped" prove nothing on answers that were used for the fit, but do on all others. Everything is
measured twice: with words alone, and with the reader, which reads the sentences that words leave in doubt.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from corpora import chunk_of
from grounding_sets import Judged, Set, ragtruth, wice, with_readings
from known_readings import KnownReadings
from quoth.ask.calibration import Logistic
from quoth.ask.check import check
from quoth.ask.support import FEATURES, READ, fitted
from quoth.domain import Citation
from quoth.evals import metrics
from quoth.evals.calibrate import Floats, Mask, fit_logistic
from quoth.text.terms import TERMS_VERSION

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "src" / "quoth" / "ask" / "grounding.json"
PAGE = ROOT / "docs" / "benchmarks" / "grounding"
FALSELY_MARKED = 0.10  # the stated rate: at most this share of clean answers may carry a mark
AIM = 0.09  # the rate on the answers used for the fit, so that other answers keep to the stated rate
FOLDS, SHUFFLES, RIDGE = 10, 5, 20.0
DOUBTFUL = 0.9  # a sentence whose words give it a lower chance is read: one in six of RAGTruth's
SIDES = ((False, "words alone"), (True, "with the reader"))
HALVES = 2  # for marks: the threshold is chosen on one half of the questions and measured on the other


# --- fitting and scoring ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fit:
    """The model of words, and with a reader the one for sentences that were read."""

    words: Logistic
    read: Logistic | None = None


def rows_of(of: list[Judged], *, read: bool = False) -> Floats:
    return np.array([(*one.features, one.heard) if read else one.features for one in of], dtype=np.float32)


def labels_of(of: list[Judged]) -> Mask:
    return np.array([one.unsupported for one in of])


def fit(of: list[Judged], *, read: bool) -> Fit:
    ones = np.ones(len(of), dtype=np.float32)
    words = fit_logistic(list(FEATURES), rows_of(of), labels_of(of), ones, ridge=RIDGE)
    if not read:
        return Fit(words)
    return Fit(words, fit_logistic([*FEATURES, READ], rows_of(of, read=True), labels_of(of), ones, ridge=RIDGE))


def scores_of(model: Fit, of: list[Judged]) -> Floats:
    """The probability that each sentence is supported."""
    scores = _chances(model.words, rows_of(of))
    if model.read is not None:
        scores = np.where(scores < DOUBTFUL, _chances(model.read, rows_of(of, read=True)), scores)
    return np.where([one.verbatim for one in of], 1.0, scores)


def _chances(model: Logistic, rows: Floats) -> Floats:
    chances: Floats = 1 / (1 + np.exp(model.bias + rows @ np.array(list(model.weights.values()))))
    return chances


def answer_scores(of: list[Judged], scores: Floats, count: int) -> Floats:
    weakest: list[list[float]] = [[] for _ in range(count)]
    for one, score in zip(of, scores, strict=True):
        weakest[one.answer].append(float(score))
    return np.array([np.prod(sorted(each)[:2]) for each in weakest])


def auroc(doubts: Floats, labels: Mask) -> float:
    """The probability that an unsupported text is doubted more than a supported one."""
    found = metrics.auroc(doubts.tolist(), labels.tolist())
    assert found is not None
    return found


def threshold_for(of: list[Judged], scores: Floats, labels: Mask) -> float:
    """The highest threshold that keeps the share of marked clean answers, including rules, at the stated rate."""
    weakest: dict[int, float] = {}
    for one, score in zip(of, scores, strict=True):
        if not labels[one.answer]:
            worth = 1.0 if one.verbatim else 0.0 if one.missing else float(score)
            weakest[one.answer] = min(worth, weakest.get(one.answer, 1.0))
    ordered = sorted(weakest.values())
    return round(ordered[int(AIM * len(ordered))], 3)


def marked(of: list[Judged], scores: Floats, threshold: float) -> Mask:
    return np.array(
        [not one.verbatim and (bool(one.missing) or score < threshold) for one, score in zip(of, scores, strict=True)]
    )


def out_of_fold(of: Set, seed: int, count: int = FOLDS, *, read: bool) -> tuple[Floats, Mask]:
    """Scores and marks of every sentence, from models and thresholds fitted on other questions."""
    questions = np.array(sorted(set(of.groups)))
    np.random.default_rng(seed).shuffle(questions)
    fold = {question: at % count for at, question in enumerate(questions)}
    folds = np.array([fold[of.groups[one.answer]] for one in of.sentences])
    scores, marks = np.zeros(len(folds), dtype=np.float32), np.zeros(len(folds), dtype=bool)
    for held in range(count):
        train = [one for one, at in zip(of.sentences, folds, strict=True) if at != held]
        test = [one for one, at in zip(of.sentences, folds, strict=True) if at == held]
        model = fit(train, read=read)
        scores[folds == held] = scores_of(model, test)
        marks[folds == held] = marked(
            test, scores_of(model, test), threshold_for(train, scores_of(model, train), of.labels)
        )
    return scores, marks


def interval(of: Set, scores: Floats) -> tuple[float, float]:
    """The 95 % interval, by resampling questions."""
    chance = np.random.default_rng(11)
    questions = sorted(set(of.groups))
    members = {question: [at for at, group in enumerate(of.groups) if group == question] for question in questions}
    drawn = []
    for _ in range(1000):
        picked = [at for question in chance.choice(questions, len(questions)) for at in members[str(question)]]
        if 0 < of.labels[picked].sum() < len(picked):
            drawn.append(auroc(-scores[picked], of.labels[picked]))
    return float(np.quantile(drawn, 0.025)), float(np.quantile(drawn, 0.975))


# --- measuring -------------------------------------------------------------------------------------------------------


def sentence_figures(of: Set, scores: Floats, marks: Mask) -> dict[str, float]:
    labels = labels_of(of.sentences)
    rules = np.array([bool(one.missing) and not one.verbatim for one in of.sentences])
    return {
        "sentences": len(labels),
        "unsupported sentences": int(labels.sum()),
        "sentence auroc": auroc(-scores, labels),
        "supported sentences marked": float(marks[~labels].mean()),
        "unsupported sentences marked": float(marks[labels].mean()),
        "supported sentences marked by a rule": float(rules[~labels].mean()),
        "unsupported sentences marked by a rule": float(rules[labels].mean()),
    }


def answer_figures(of: Set, marks: Mask) -> dict[str, float]:
    carrying = np.zeros(len(of.labels), dtype=bool)
    for one, mark in zip(of.sentences, marks, strict=True):
        carrying[one.answer] |= mark
    return {
        "clean answers with a mark": float(carrying[~of.labels].mean()),
        "hallucinated answers with a mark": float(carrying[of.labels].mean()),
    }


def measure_halves(of: Set, *, read: bool) -> dict[str, float]:
    """Fitted, and its threshold chosen, on one half of the questions; measured on the other."""
    runs = [out_of_fold(of, seed, HALVES, read=read) for seed in range(SHUFFLES)]
    each = [sentence_figures(of, scores, marks) | answer_figures(of, marks) for scores, marks in runs]
    return {name: float(np.mean([one[name] for one in each])) for name in each[0]}


def measure_out_of_fold(of: Set, *, read: bool) -> dict[str, float]:
    runs = [out_of_fold(of, seed, read=read) for seed in range(SHUFFLES)]
    answers = [answer_scores(of.sentences, scores, len(of.labels)) for scores, _ in runs]
    low, high = interval(of, answers[0])
    each = [sentence_figures(of, scores, marks) for scores, marks in runs]
    return {
        "answers": len(of.labels),
        "answers with something unsupported": int(of.labels.sum()),
        "auroc": float(np.mean([auroc(-scores, of.labels) for scores in answers])),
        "auroc, 2.5 %": low,
        "auroc, 97.5 %": high,
        "auroc of the share of new stems": auroc(of.baseline, of.labels),
        **{name: float(np.mean([one[name] for one in each])) for name in each[0]},
    }


def measure_shipped(of: Set, *, labelled: bool, read: bool) -> dict[str, float]:
    shipped = fitted()
    scores = scores_of(Fit(shipped.unsupported, shipped.read if read else None), of.sentences)
    answers = answer_scores(of.sentences, scores, len(of.labels))
    low, high = interval(of, answers)
    figures = {
        "answers": len(of.labels),
        "answers with something unsupported": int(of.labels.sum()),
        "auroc": auroc(-answers, of.labels),
        "auroc, 2.5 %": low,
        "auroc, 97.5 %": high,
        "auroc of the share of new stems": auroc(of.baseline, of.labels),
    }
    if not labelled:
        return figures
    marks = marked(of.sentences, scores, shipped.read_threshold if read else shipped.threshold)
    return figures | sentence_figures(of, scores, marks) | answer_figures(of, marks)


def measure_doubts(of: Set) -> dict[str, float]:
    """How many sentences are read, and what the reader alone says."""
    words = _chances(fitted().unsupported, rows_of(of.sentences))
    read = np.array([not one.verbatim and not one.missing for one in of.sentences]) & (words < DOUBTFUL)
    heard, labels = np.array([one.heard for one in of.sentences]), labels_of(of.sentences)
    return {
        "share of sentences that are read": float(read.mean()),
        "sentence auroc of the reader alone, all sentences": auroc(-heard, labels),
        "sentence auroc of the reader alone, those that are read": auroc(-heard[read], labels[read]),
    }


def measure_speed() -> dict[str, float]:
    """Ten sentences against five passages of 250 tokens; none is verbatim, because that would be quicker."""
    text = (
        "The sensor data profile is best effort with a depth of {0}, so that late messages are dropped. Call "
        "`rclpy.init()` before you create node {0}. A subscriber with a deadline of {0} milliseconds is told when the "
        "publisher is late. "
    )
    passages = [chunk_of(str(n), "\n\n".join(text.format(10 * n + k) for k in range(4))) for n in range(5)]
    answer = " ".join(
        f"When you write node {10 * n + 1}, the depth of its profile is {10 * n + 1} and late messages are lost. "
        f"[{n + 1}] "
        f"Before that you must have called `rclpy.init()`, or creating the node fails. [{n + 1}]"
        for n in range(5)
    )
    cited = [Citation(n + 1, chunk, chunk.text, 0, len(chunk.text), 1.0) for n, chunk in enumerate(passages)]
    assert check(answer, cited).total == 10
    spent = []
    for _ in range(50):
        began = time.perf_counter(), time.process_time()
        check(answer, cited)
        spent.append(((time.perf_counter() - began[0]) * 1000, (time.process_time() - began[1]) * 1000))
    clock, own = np.array(spent).T
    return {
        "sentences": 10,
        "passages": 5,
        "ms on the clock, median": float(np.median(clock)),
        "ms on the clock, least": float(clock.min()),
        "ms of processor time, median": float(np.median(own)),
    }


# --- writing ---------------------------------------------------------------------------------------------------------


def write_model(of: Set, name: str, reader: str) -> None:
    words, both = fit(of.sentences, read=False), fit(of.sentences, read=True)
    assert both.read is not None
    shipped = {
        "provenance": {
            "script": "benchmarks/grounding.py --fit",
            "terms": TERMS_VERSION,
            "set": f"{name}: {len(of.labels)} answers, {len(of.sentences)} sentences",
            "threshold": f"at most {FALSELY_MARKED:.0%} of clean answers carry a mark, by a rule or the model",
        },
        "unsupported": _as_json(words.words),
        "threshold": threshold_for(of.sentences, scores_of(words, of.sentences), of.labels),
        "read": {
            "reader": reader,
            "doubtful": DOUBTFUL,
            "unsupported": _as_json(both.read),
            "threshold": threshold_for(of.sentences, scores_of(both, of.sentences), of.labels),
        },
    }
    TARGET.write_text(json.dumps(shipped, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    fitted.cache_clear()


def _as_json(model: Logistic) -> dict[str, object]:
    return {"bias": model.bias, "weights": dict(model.weights)}


def write_page(report: dict[str, dict[str, float]]) -> None:
    rounded = {name: {figure: round(value, 4) for figure, value in part.items()} for name, part in report.items()}
    PAGE.with_suffix(".json").write_text(json.dumps(rounded, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    lines = [
        "# Grounding",
        "",
        "Written by `make bench-grounding DATA=…` (benchmarks/grounding.py says what is measured).",
        "",
    ]
    lines += [
        "Target: AUROC ≥ 0.87 on RAGTruth QA and ≥ 0.85 on WiCE, a mark on at most 10 % of clean and at least 75 % of "
        "hallucinated answers, ≤ 10 ms for ten sentences.",
        "",
    ]
    for name, part in rounded.items():
        lines += [f"## {name}", "", "| figure | measured |", "|---|---|"]
        lines += [f"| {figure} | {value:g} |" for figure, value in part.items()]
        lines.append("")
    PAGE.with_suffix(".md").write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "quoth-bench")
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--examples", type=int, default=0, help="also print this many wrong marks and misses")
    arguments = parser.parse_args()
    reader = KnownReadings(arguments.cache)
    report: dict[str, dict[str, float]] = {}
    for folder in sorted(arguments.data.glob("ragtruth_qa*")):
        of = await with_readings(ragtruth(folder), reader)
        if arguments.fit:
            write_model(of, folder.name, reader.name)
            arguments.fit = False
        if arguments.examples:
            print_examples(of, arguments.examples)
        for read, how in SIDES:
            report[f"{folder.name}, out of fold, {how}"] = measure_out_of_fold(of, read=read)
            report[f"{folder.name}, the other half, {how}"] = measure_halves(of, read=read)
            report[f"{folder.name}, as shipped, {how}"] = measure_shipped(of, labelled=True, read=read)
        report[f"{folder.name}, readings"] = measure_doubts(of)
    claims_of = arguments.data / "wice_dev" / "claim_dev.jsonl.gz"
    if claims_of.exists():
        of = await with_readings(wice(claims_of), reader)
        for read, how in SIDES:
            report[f"wice_dev, as shipped, {how}"] = measure_shipped(of, labelled=False, read=read)
    await reader.close()
    report["speed"] = measure_speed()
    write_page(report)
    print(PAGE.with_suffix(".md").read_text(encoding="utf-8"))


def print_examples(of: Set, most: int) -> None:
    scores, marks = out_of_fold(of, 0, read=True)
    for wanted, title in ((False, "MARKED THOUGH SUPPORTED"), (True, "UNSUPPORTED, NOT MARKED")):
        print(title)
        chosen = [
            (score, one)
            for score, mark, one in zip(scores, marks, of.sentences, strict=True)
            if one.unsupported == wanted and mark != wanted
        ]
        for score, one in sorted(chosen, key=lambda pair: (not pair[1].missing, pair[0]))[:most]:
            print(f"  {score:.2f} {one.missing or '-'} | {one.text[:200]!r}")


if __name__ == "__main__":
    asyncio.run(main())
