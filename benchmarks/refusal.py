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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import asked_books
import passage_books
from corpora import EvaluationSet, load_sets
from embedding import REPORTS
from known_readings import KnownReadings
from quoth.ask.calibration import Calibration, Logistic, calibration_for
from quoth.ask.calibration import shipped as shipped_numbers
from quoth.evals.calibrate import ANSWERABLE_REFUSED
from quoth.evals.html import svg_curve
from quoth.evals.metrics import auroc, calibration_error, risk_coverage
from quoth.models.minilm import NAME as EMBEDDER
from quoth.text import terms
from refusal_cases import ALIKE, FITTED_ON, TEMPTING, TESTED_ON, Case, gather
from refusal_fit import TRUSTED, fit_judge, fit_order, fit_similarity, found_by, threshold_of
from refusal_page import as_page
from searching import Searcher

TARGET = Path(__file__).parent.parent / "src" / "quoth" / "ask" / "calibration.json"
# A margin between the questions of the fit and future ones, about two standard errors of that share.
ROOM = 0.01
OUTSIDE = 0.005  # share of the answerable questions that may be refused before a language model is asked


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


# --- fitting what ships ---


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
