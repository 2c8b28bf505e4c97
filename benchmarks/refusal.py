"""Fits and measures the judge: how likely is it that the passages found hold the answer?

    python benchmarks/refusal.py ../shared/data                     # measure what ships
    python benchmarks/refusal.py ../shared/data --fit               # fit, write calibration.json, measure
    python benchmarks/refusal.py ../shared/data --without-reader    # the same for an installation without the reader

Nothing has to be labelled: take a question whose answer is known, and remove the answer from the index.
  article     the whole article (or chapter) of the question is gone: the book is about something else
  half        half of all passages are gone; some questions lost theirs
  tenth       a tenth of them is gone and all their neighbours stay
  stranger    a question about one corpus is put to another
  look-alike  questions written so that a passage seems to hold the answer but does not, against ordinary ones
  near        the same for technical books: our own questions about books that the reader's training never saw
              (asked_books.py, passage_books.py)
Articles, chapters and claims are split in two before anything is fitted; figures come from the half that was not used.
Whether the stated probability holds for books of another kind is measured by leaving whole sets out of the fit.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

import asked_books
import passage_books
import shelf
from corpora import Asked, EvaluationSet, Floats, load_sets
from embedding import REPORTS
from known_readings import KnownReadings
from quoth.ask.calibration import Calibration, Logistic, Order, calibration_for
from quoth.ask.calibration import shipped as shipped_numbers
from quoth.ask.judge import FITTED, READ, features
from quoth.ask.read import asks, sign, with_signs
from quoth.domain import Chunk, Evidence, Passage
from quoth.evals.calibrate import ANSWERABLE_REFUSED, fit_logistic
from quoth.evals.html import svg_curve
from quoth.evals.metrics import auroc, calibration_error, risk_coverage
from quoth.models.minilm import NAME as EMBEDDER
from quoth.text import terms
from refusal_page import as_page
from searching import Mask, Searcher

FITTED_ON = ("squad2_dev_half", "scifact", "rust_book_quiz", "qed_nq_dev", "covidqa_passages", "chunking_evaluation")
# Our own questions about books that nothing is ever fitted on (decisions 0045 and 0047). Nobody knows which other
# passages answer a question that was written about one, so many are still answered where theirs is gone.
TESTED_ON = (
    *(f"asked_{book}" for book in asked_books.HELD_OUT),
    *(f"passages_{book}" for book in sorted(shelf.LEFT_OUT)),
)
# Sets of questions that only seem to be answered, each with the set that has the ordinary ones.
ALIKE = {"squad2_look_alikes": ("squad2_dev_half", "look-alike")}
ALIKE |= {f"near_{book}": (f"asked_{book}", "near") for book in asked_books.HELD_OUT}
ALIKE |= {f"unanswered_{book}": (f"passages_{book}", "near") for book in sorted(shelf.LEFT_OUT)}
TEMPTING = ("look-alike", "near")  # settings
TARGET = Path(__file__).parent.parent / "src" / "quoth" / "ask" / "calibration.json"
# In other sets an unlabelled passage may answer all the same, so removing the labelled ones does not
# always remove the answer. COVID-QA does not say which passages belong to one paper: most answers are in several.
TRUSTED = "squad2_dev_half"
TRUST = {TRUSTED: 3.0, "covidqa_passages": 0.3}
# The sets that settle the judge's numbers: labels that can be trusted, several kinds of books and questions.
CALIBRATED_ON = ("squad2_dev_half", "scifact", "qed_nq_dev", "rust_book_quiz", "chunking_evaluation")
ORDERS = (0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.1)  # how much the reading may count in the order
AS_MUCH = 0.001  # of nDCG@10: less is no difference
# Look-alikes are the hardest to tell apart, and the features that do it matter little in the other settings: without
# extra weight they are not told apart at all. More than this would cost the other settings more than it gains here.
LOOK_ALIKES = 3.0
# Regularisation per case. With it, left-out sets are judged a little better.
RIDGE = 0.025
# A margin between the questions of the fit and future ones, about two standard errors of that share.
ROOM = 0.01
OUTSIDE = 0.005  # share of the answerable questions that may be refused before a language model is asked


@dataclass(frozen=True, slots=True)
class Case:
    set_name: str
    setting: str
    answerable: bool
    held_out: bool
    seen: Mapping[str, float]  # the judge's features
    cosine: float  # the best passage's, for comparison

    @classmethod
    def of(cls, set_name: str, setting: str, answerable: bool, asked: Asked, evidence: Evidence) -> Case:
        cosine = max(passage.dense_score or 0.0 for passage in evidence.passages)
        return cls(set_name, setting, answerable, held_out(whole(asked.group)), features(evidence), cosine)


def held_out(group: str) -> bool:
    return crc32(group.encode()) % 2 == 1


def whole(group: str) -> str:
    """ch17-01-… and ch17-02-… are one chapter."""
    return group.split("-")[0] if group.endswith(".md") else group


def article_of(chunk: Chunk) -> str:
    """The article or chapter: in ready-made sets from the passage's name, in our own books from the file."""
    if chunk.breadcrumb:
        return chunk.source_file
    return chunk.id.rsplit("#" if "#" in chunk.id else "-", 1)[0]


# --- cases -----------------------------------------------------------------------------------------------------------


def relevant_to(of: EvaluationSet, at: int) -> Mask:
    relevant = np.zeros(len(of.corpus.chunks), dtype=np.bool_)
    relevant[[of.corpus.at[key] for key in of.questions[at].relevant]] = True
    return relevant


def halved(of: EvaluationSet, at: int, keep: Mask) -> bool:
    """Some of its right passages are gone and some are not: nobody knows whether the rest answers it."""
    right = relevant_to(of, at)
    return bool((keep & right).any() and (~keep & right).any())


async def make_case(
    searcher: Searcher,
    of: EvaluationSet,
    at: int,
    setting: str,
    keep: Mask | None = None,
    put_to: EvaluationSet | None = None,
) -> Case:
    """The question at `at` put to its own corpus, thinned to `keep`, or to another one."""
    asked, vector = of.questions[at], of.question_vectors[at]
    answerable = put_to is None and (keep is None or bool((keep & relevant_to(of, at)).any()))
    evidence = await searcher.find((put_to or of).corpus, asked.text, vector, 5, keep)
    return Case.of(of.name, setting, answerable, asked, evidence)


async def cases(of: EvaluationSet, others: list[EvaluationSet], searcher: Searcher, most: int) -> AsyncIterator[Case]:
    chosen = np.random.default_rng(7).permutation(len(of.questions))[:most]
    keys = [chunk.id for chunk in of.corpus.chunks]
    groups = np.array([whole(article_of(chunk)) for chunk in of.corpus.chunks])
    thinned = {
        setting: np.random.default_rng(seed).random(len(keys)) >= share
        for setting, share, seed in (("half", 0.5, 1), ("tenth", 0.1, 2))
    }
    for at in chosen:
        asked = of.questions[at]
        relevant = relevant_to(of, int(at))
        case = partial(make_case, searcher, of, int(at))
        yield await case("article")
        yield await case("article", (groups != whole(asked.group)) & ~relevant)
        for setting, keep in thinned.items():
            if not halved(of, int(at), keep):
                yield await case(setting, keep)
        if at % 4 == 0:  # few lose their passages by chance
            yield await case("tenth", thinned["tenth"] & ~relevant)
        if at % 8 == 0:
            yield await case("stranger")
            for other in others:
                yield await case("stranger", put_to=other)


async def look_alikes(
    of: EvaluationSet, alike: EvaluationSet, setting: str, searcher: Searcher, most: int
) -> AsyncIterator[Case]:
    for source, answerable in ((of, True), (alike, False)):
        for at in np.random.default_rng(8).permutation(len(source.questions))[:most]:
            asked = source.questions[at]
            evidence = await searcher.find(of.corpus, asked.text, source.question_vectors[at], 5)
            yield Case.of(of.name, setting, answerable, asked, evidence)


# --- fitting ---------------------------------------------------------------------------------------------------------


def balanced(keys: Sequence[tuple[object, ...]]) -> Floats:
    """Every group of cases counts the same, however large it is."""
    counts: dict[tuple[object, ...], int] = {}
    for key in keys:
        counts[key] = counts.get(key, 0) + 1
    return np.array([1 / counts[key] for key in keys])


@dataclass(frozen=True, slots=True)
class Found:
    """The best passages of one question, as they were found, and which are right."""

    set_name: str
    held_out: bool
    passages: tuple[Passage, ...]
    right: tuple[bool, ...]
    relevant: int
    asks: bool  # a question, not a statement


async def found_by(searcher: Searcher, sets: list[EvaluationSet], most: int) -> list[Found]:
    found = []
    for of in sets:
        for at in np.random.default_rng(7).permutation(len(of.questions))[:most]:
            asked = of.questions[at]
            evidence = await searcher.find(of.corpus, asked.text, of.question_vectors[at], 10)
            right = tuple(passage.chunk.id in asked.relevant for passage in evidence.passages)
            group = held_out(whole(asked.group))
            found.append(Found(of.name, group, evidence.passages, right, len(asked.relevant), asks(asked.text)))
    return found


def unread_sign(found: list[Found]) -> float:
    """The usual reading of the last passages that were read: a passage after them gets no more."""
    last = [sign(one.passages[4].reading) for one in found if len(one.passages) > 4 and one.passages[4].reading]
    return round(float(np.mean(last)), 3)


def scores_of(one: Found, weight: float, unread: float) -> list[float]:
    if not one.asks:
        return [p.score for p in one.passages]
    signs = [sign(p.reading) if p.reading else None for p in one.passages]
    return with_signs([p.score for p in one.passages], signs, Order(weight, unread))


def gain_of(one: Found, weight: float, unread: float) -> float:
    """nDCG@10 of the passages in their new order."""
    scores = scores_of(one, weight, unread)
    order = sorted(range(len(scores)), key=lambda at: -scores[at])
    gain = sum(one.right[at] / np.log2(rank + 2) for rank, at in enumerate(order))
    return float(gain / sum(1 / np.log2(rank + 2) for rank in range(min(one.relevant, 10))))


def fit_order(found: list[Found]) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
    """The weight that gains most on average over the sets without making any of them worse than before; the smallest
    of those that gain as much (decision 0049)."""
    unread = unread_sign(found)
    names = sorted({one.set_name for one in found})
    gains = {
        name: {
            f"{weight:g}": float(np.mean([gain_of(one, weight, unread) for one in found if one.set_name == name]))
            for weight in ORDERS
        }
        for name in names
    }
    harmless = [w for w in ORDERS if all(gains[name][f"{w:g}"] >= gains[name]["0"] - 1e-9 for name in names)]
    mean = {w: float(np.mean([gains[name][f"{w:g}"] for name in names])) for w in harmless}
    weight = min(w for w in harmless if mean[w] >= max(mean.values()) - AS_MUCH)
    return {"weight": weight, "unread": unread}, gains


def fit_similarity(found: list[Found], order: Mapping[str, float]) -> Logistic:
    rows: list[list[float]] = []
    labels: list[bool] = []
    keys: list[tuple[object, ...]] = []
    for one in found:
        if not one.held_out:
            rows += [[score] for score in scores_of(one, order["weight"], order["unread"])]
            labels += one.right
            keys += [(one.set_name,)] * len(one.right)
    return fit_logistic(["score"], np.array(rows), np.array(labels), balanced(keys))


def weighed(train: list[Case]) -> list[str]:
    return list(READ if READ[0] in train[0].seen else FITTED)


def fit_judge(known: list[Case]) -> Logistic:
    train = [case for case in known if case.set_name in FITTED_ON]
    names = weighed(train)
    rows = np.array([[case.seen[name] for name in names] for case in train])
    labels = np.array([case.answerable for case in train])
    weights = balanced([(case.set_name, case.setting, case.answerable) for case in train])
    weights *= np.array([TRUST.get(case.set_name, 1.0) for case in train])
    weights *= np.array([LOOK_ALIKES if case.setting in TEMPTING else 1.0 for case in train])
    return recalibrated(fit_logistic(names, rows, labels, weights, RIDGE * len(rows)), train)


def threshold_of(judged: Logistic, known: list[Case], refused: float) -> float:
    """The threshold with this share of the answerable questions of the fit below it, put to whole corpora; every set
    counts the same."""
    asked = [
        case for case in known
        if case.answerable and not case.held_out and case.setting in ("article", *TEMPTING)
        and case.set_name in CALIBRATED_ON
    ]  # fmt: skip
    weights = balanced([(case.set_name,) for case in asked])
    scores = np.array([judged.probability(case.seen) for case in asked])
    order = np.argsort(scores)
    below = np.cumsum(weights[order]) / weights.sum()
    return round(float(scores[order][int(np.searchsorted(below, refused))]), 3)


def recalibrated(judged: Logistic, train: list[Case]) -> Logistic:
    """Look-alikes help to rank, but readers ask few of them: probabilities are calibrated without them, on the sets
    whose labels can be trusted, each counting the same."""
    plain = [case for case in train if case.setting not in TEMPTING and case.set_name in CALIBRATED_ON]
    logits = np.array([[judged.logit(case.seen)] for case in plain])
    labels = np.array([case.answerable for case in plain])
    scale = fit_logistic(["logit"], logits, labels, balanced([(case.set_name, case.setting) for case in plain]))
    by = scale.weights["logit"]
    return Logistic(
        round(scale.bias + by * judged.bias, 4),
        {name: round(by * weight, 4) for name, weight in judged.weights.items()},
    )


def left_out(known: list[Case]) -> dict[str, dict[str, float]]:
    """Each set judged by a model that was fitted only on the other sets."""
    report = {}
    for name in sorted({case.set_name for case in known}):
        judged = fit_judge([case for case in known if case.set_name != name])
        test = [case for case in known if case.set_name == name and case.setting not in TEMPTING]
        scores = [judged.probability(case.seen) for case in test]
        labels = [case.answerable for case in test]
        report[name] = {
            "calibration error": round(calibration_error(scores, labels) or 0.0, 4),
            "calibration error by chance": round(error_by_chance(scores), 4),
            "auroc": round(auroc(scores, labels) or 0.0, 4),
            "auroc of the best cosine": round(auroc([case.cosine for case in test], labels) or 0.0, 4),
            "cases": len(test),
        }
    return report


def error_by_chance(scores: Sequence[float]) -> float:
    """The calibration error that remains if every stated probability is exactly right, because the cases are few."""
    chance = np.random.default_rng(9)
    drawn = (chance.random(len(scores)) < np.array(scores) for _ in range(200))
    return float(np.mean([calibration_error(scores, labels.tolist()) or 0.0 for labels in drawn]))


# --- measuring -------------------------------------------------------------------------------------------------------


def measure(known: list[Case], shipped: Calibration) -> dict[str, dict[str, float]]:
    report = {}
    threshold = shipped.threshold
    crossed = {half: fit_judge([case for case in known if case.held_out is not half]) for half in (False, True)}
    test = [case for case in known if case.held_out]
    for name, setting in sorted({(case.set_name, case.setting) for case in test}):
        part = [case for case in test if (case.set_name, case.setting) == (name, setting)]
        labels = np.array([case.answerable for case in part])
        scores = np.array([shipped.judge.probability(case.seen) for case in part])
        cosine = np.array([case.cosine for case in part])
        both = [case for case in known if (case.set_name, case.setting) == (name, setting)]
        unseen = [crossed[case.held_out].logit(case.seen) for case in both]
        report[f"{name} · {setting}"] = {
            "auroc": round(auroc(scores.tolist(), labels.tolist()) or 0.0, 4),
            "auroc of both halves": round(auroc(unseen, [case.answerable for case in both]) or 0.0, 4),
            "auroc of the best cosine": round(auroc(cosine.tolist(), labels.tolist()) or 0.0, 4),
            "calibration error": round(calibration_error(scores.tolist(), labels.tolist()) or 0.0, 4),
            "answerable refused": round(float((scores[labels] < threshold).mean()), 4),
            "unanswerable refused": round(float((scores[~labels] < threshold).mean()), 4),
            "cases": len(part),
        }
    return report


def pooled(known: list[Case], shipped: Calibration) -> tuple[list[float], list[bool]]:
    """Confidence and truth for the held-out questions of the set whose labels can be trusted, without look-alikes."""
    test = [case for case in known if case.held_out and case.set_name == TRUSTED and case.setting != "look-alike"]
    return [shipped.judge.probability(case.seen) for case in test], [case.answerable for case in test]


def publish(known: list[Case], shipped: Calibration, name: str) -> None:
    scores, labels = pooled(known, shipped)
    points = risk_coverage(scores, labels)
    report = {
        "settings": measure(known, shipped),
        "left out": left_out(known),
        "pooled": {
            "what": "the held-out SQuAD2-half questions of all settings but the look-alikes",
            "calibration error": round(calibration_error(scores, labels) or 0.0, 4),
            "auroc": round(auroc(scores, labels) or 0.0, 4),
            "cases": len(scores),
        },
        "threshold": shipped.threshold,
        "curve": [
            {"threshold": round(p.threshold, 3), "coverage": round(p.coverage, 4), "risk": round(p.risk, 4)}
            for p in points[:: max(1, len(points) // 100)]
        ],
    }
    REPORTS.mkdir(parents=True, exist_ok=True)
    (REPORTS / f"{name}.json").write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    drawn = svg_curve({"": report["curve"]})  # type: ignore[dict-item]
    style = "<style>text{font:13px system-ui,sans-serif;fill:#888}</style>"
    head, body = drawn.split(">", 1)
    (REPORTS / f"{name}.svg").write_text(f'{head} xmlns="http://www.w3.org/2000/svg">{style}{body}\n', encoding="utf-8")
    (REPORTS / f"{name}.md").write_text(as_page(report, name), encoding="utf-8")


def entry_for(reader: str) -> str:
    return f"{EMBEDDER} + {reader}" if reader else EMBEDDER


def write(reader: str, entry: dict[str, Any]) -> None:
    numbers = json.loads(TARGET.read_text(encoding="utf-8"))
    kept = {name: one for name, one in numbers["embedders"].items() if not reader or " + " not in name}
    numbers["embedders"] = {**kept, entry_for(reader): entry}
    TARGET.write_text(json.dumps(numbers, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    shipped_numbers.cache_clear()


async def gather(searcher: Searcher, sets: list[EvaluationSet], alike: list[EvaluationSet], most: int) -> list[Case]:
    known = [
        case
        for of in sets
        async for case in cases(of, [other for other in sets[:3] if other is not of], searcher, most)
    ]
    plain = {of.name: of for of in sets}
    for tempting in alike:
        name, setting = ALIKE[tempting.name]
        known += [case async for case in look_alikes(plain[name], tempting, setting, searcher, 2 * most)]
    return known


async def fit(
    searcher: Searcher, sets: list[EvaluationSet], alike: list[EvaluationSet], most: int, reader: str
) -> None:
    """The order comes first: the judge's input depends on it. Until then a reader has the embedder's numbers."""
    entry = json.loads(TARGET.read_text(encoding="utf-8"))["embedders"][EMBEDDER]
    order: dict[str, float] = {"weight": 0.0, "unread": 0.0}
    gains: dict[str, dict[str, float]] = {}
    write(reader, entry)
    found = await found_by(searcher, [of for of in sets if of.name in FITTED_ON], most)
    if reader:
        order, gains = fit_order(found)
        entry = {**entry, "order": order}
        write(reader, entry)
    known = await gather(searcher, sets, alike, most)
    fitted_on = [*FITTED_ON, *(name for name, (of, _) in ALIKE.items() if of in FITTED_ON)]
    judged = fit_judge([case for case in known if not case.held_out])
    entry = {
        "provenance": {
            "script": "benchmarks/refusal.py --fit",
            "terms": terms.TERMS_VERSION,
            "sets": [f"{name}, half of its articles, chapters or claims" for name in fitted_on],
            "threshold": f"{ANSWERABLE_REFUSED - ROOM:.0%} of the answerable questions fitted on are refused, "
            f"so that at most {ANSWERABLE_REFUSED:.0%} of those to come are; {OUTSIDE:.1%} lie outside",
            **({"nDCG@10 by weight of the reading": gains} if gains else {}),
        },
        "similarity": _as_json(fit_similarity(found, order)),
        "judge": _as_json(judged),
        "levels": {
            "outside": threshold_of(judged, known, OUTSIDE),
            "low": threshold_of(judged, known, ANSWERABLE_REFUSED - ROOM),
            "medium": 0.5,
            "high": 0.8,
        },
        **({"order": order} if reader else {}),
    }
    write(reader, entry)


def _as_json(logistic: Logistic) -> dict[str, Any]:
    return {"bias": logistic.bias, "weights": dict(logistic.weights)}


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "quoth-bench")
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--without-reader", action="store_true")
    parser.add_argument("--most", type=int, default=400, help="questions of each set")
    arguments = parser.parse_args()
    asked_books.register()
    passage_books.register()
    names = (*FITTED_ON, *TESTED_ON)
    loaded = await load_sets((*names, *ALIKE), arguments.data, arguments.cache)
    sets, alike = loaded[: len(names)], loaded[len(names) :]
    reader = None if arguments.without_reader else KnownReadings(arguments.cache)
    name = reader.name if reader else ""
    searcher = Searcher(reader)
    if arguments.fit:
        await fit(searcher, sets, alike, arguments.most, name)
    shipped = calibration_for(EMBEDDER, name)
    if shipped is None:
        parser.error("nothing is shipped for this embedder and reader yet: run with --fit")
    known = await gather(searcher, sets, alike, arguments.most)
    if reader:
        await reader.close()
    report = "refusal" if reader else "refusal_without_reader"
    publish(known, shipped, report)
    print((REPORTS / f"{report}.md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    asyncio.run(main())
