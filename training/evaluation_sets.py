"""Measures a reader on the evaluation sets, in the halves of benchmarks/refusal.py.

The files of `candidates` come in; figures with intervals go out, beside what Quoth does today. Nothing is chosen on
the reporting half: a mix with other scores is fitted on other sets, and scales on the other half.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

import numpy as np

from .left_out import Figures, sentence_hits, sign
from .measures import (
    Figure,
    auroc_figure,
    bootstrapped,
    calibration_error,
    fitted_scale,
    mean_figure,
    ndcg,
)
from .reading import Asked, PassageReader, Reading
from .records import read_lines
from .texts import sentences

RANKED = ("squad2_dev_half", "scifact", "rust_book_quiz", "chunking_evaluation")
# How much the reader counts beside the retrieval score, both in standard deviations within a question.
MIXES = tuple(product((0.0, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0), (0.0, 0.1, 0.2, 0.35, 0.5)))


def reported(group: str) -> bool:
    return crc32(group.encode()) % 2 == 1


# --- SQuAD 2: answerable or look-alike, given the right passage -------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SquadQuestion:
    text: str
    passage: str
    article: str
    spans: tuple[tuple[int, int], ...]
    answerable: bool


def squad_questions(data: Path, *, reporting: bool, most: int | None = None) -> list[SquadQuestion]:
    folder = data / "squad2_dev_half"
    passages = {p["_id"]: p["text"] for p in read_lines(folder / "passages.jsonl.gz")}
    rows = []
    for q in read_lines(folder / "questions.jsonl.gz"):
        article = q["passage"].rsplit("-", 1)[0]
        if reported(article) is reporting:
            spans = tuple((a["start"], a["start"] + len(a["text"])) for a in q["answers"])
            rows.append(SquadQuestion(q["text"], passages[q["passage"]], article, spans, not q["is_impossible"]))
    return rows if most is None else Random(9).sample(rows, min(most, len(rows)))


def read_squad(reader: PassageReader, rows: Sequence[SquadQuestion]) -> list[Reading]:
    return reader.read([Asked(q.text, q.passage) for q in rows])


def squad(rows: Sequence[SquadQuestion], readings: Sequence[Reading], name: str) -> Figures:
    labels, passages = [q.answerable for q in rows], [q.passage for q in rows]
    figures = {
        f"{name}: look-alikes, AUROC": auroc_figure([sign(r) for r in readings], labels, passages),
        f"{name}: look-alikes, head alone": auroc_figure([r.answerable for r in readings], labels, passages),
        f"{name}: look-alikes, span alone": auroc_figure([r.margin for r in readings], labels, passages),
    }
    own = [(q, r) for q, r in zip(rows, readings, strict=True) if q.answerable]
    passages = [q.passage for q, _ in own]
    hits = sentence_hits([r for _, r in own], passages, [q.spans for q, _ in own])
    touched = [float(any(a < r.best[1] and r.best[0] < b for a, b in q.spans)) for q, r in own]
    figures[f"{name}: right sentence"] = mean_figure(hits, passages)
    figures[f"{name}: best span touches the answer"] = mean_figure(touched, passages)
    return figures


Read = tuple[Sequence[SquadQuestion], Sequence[Reading]]


def calibration(fit: Read, test: Read) -> tuple[Figures, dict[str, float]]:
    """Fits slope and shift of the sign on one half; measures the error of its probabilities on the other."""
    scores = [np.array([sign(r) for r in readings]) for _, readings in (fit, test)]
    truth = [np.array([q.answerable for q in rows]) for rows, _ in (fit, test)]
    slope, shift = fitted_scale(scores[0], truth[0])
    chances = 1 / (1 + np.exp(-(slope * scores[1] + shift)))
    error = bootstrapped(lambda rows: calibration_error(chances[rows], truth[1][rows]), [q.passage for q in test[0]])
    return {"SQuAD2, reporting half: calibration error": error}, {"slope": round(slope, 4), "shift": round(shift, 4)}


# --- ranking ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RankedSet:
    name: str
    questions: list[dict[str, Any]]
    readings: list[list[Reading]]  # for the ten best passages of each


def load_candidates(folder: Path, name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return content


def ranked_set(reader: PassageReader, folder: Path, name: str, most: int) -> RankedSet:
    content = load_candidates(folder, name)
    questions = content["questions"]
    if len(questions) > most:
        questions = Random(10).sample(questions, most)
    asked = [
        Asked(q["text"], content["passages"][key]["text"], content["passages"][key]["heading"])
        for q in questions
        for key, _, _ in q["found"]
    ]
    readings = iter(reader.read(asked))
    return RankedSet(name, questions, [[next(readings) for _ in q["found"]] for q in questions])


def within(values: Sequence[float], spread: float) -> list[float]:
    middle = sum(values) / len(values)
    return [(value - middle) / spread for value in values]


def mixed_ndcg(of: RankedSet, relevance: float, answerable: float) -> list[float]:
    score_spread = _spread([[score for _, score, _ in q["found"]] for q in of.questions])
    gains = []
    for q, readings in zip(of.questions, of.readings, strict=True):
        keys = [key for key, _, _ in q["found"]]
        scores = within([score for _, score, _ in q["found"]], score_spread)
        rel = within([r.relevance for r in readings], 2.0)
        ans = within([sign(r) for r in readings], 4.0)
        total = [s + relevance * a + answerable * b for s, a, b in zip(scores, rel, ans, strict=True)]
        order = sorted(range(len(keys)), key=lambda at: -total[at])
        gains.append(ndcg([keys[at] for at in order], set(q["relevant"])))
    return gains


def _spread(of: list[list[float]]) -> float:
    return float(np.mean([np.std(values) for values in of])) or 1.0


def ranking(reader: PassageReader, folder: Path, most: int) -> tuple[Figures, dict[str, Any]]:
    """The order of the best ten: today's, the reader alone, and mixed with weights from the other sets."""
    sets = [ranked_set(reader, folder, name, most) for name in RANKED]
    table = {of.name: {mix: mixed_ndcg(of, *mix) for mix in MIXES} for of in sets}
    figures: Figures = {}
    chosen: dict[str, Any] = {}
    for of in sets:
        others = [table[other.name] for other in sets if other is not of]
        best = max(MIXES, key=lambda mix: float(np.mean([np.mean(other[mix]) for other in others])))
        chosen[of.name] = best
        groups = [q["text"] for q in of.questions]
        now, after = table[of.name][(0.0, 0.0)], table[of.name][best]
        figures[f"{of.name}: nDCG@10 today"] = mean_figure(now, groups)
        figures[f"{of.name}: nDCG@10 with the reader"] = mean_figure(after, groups)
        figures[f"{of.name}: gain"] = mean_figure([b - a for a, b in zip(now, after, strict=True)], groups)
        alone = [
            float(q["found"][int(np.argmax([r.relevance for r in rs]))][0] in q["relevant"])
            for q, rs in zip(of.questions, of.readings, strict=True)
        ]
        first = [float(q["found"][0][0] in q["relevant"]) for q in of.questions]
        figures[f"{of.name}: first is right, today"] = mean_figure(first, groups)
        figures[f"{of.name}: first is right, reader alone"] = mean_figure(alone, groups)
    return figures, {"mix from the other sets": chosen, "best mix of all": _best_of_all(table)}


def _best_of_all(table: dict[str, dict[tuple[float, float], list[float]]]) -> tuple[float, float]:
    return max(MIXES, key=lambda mix: float(np.mean([np.mean(rows[mix]) for rows in table.values()])))


# --- sentences of the right passages ----------------------------------------------------------------------------------


def chosen_sentences(reader: PassageReader, folder: Path, data: Path, most: int) -> Figures:
    """Given only the right passages: is the sentence that is chosen first a right one? With today's for comparison."""
    figures: Figures = {}
    content = load_candidates(folder, "chunking_evaluation")
    rows = [q for q in content["questions"] if q["today"]]
    today, now = [], []
    for q in rows[:most]:
        keys = [key for key in q["relevant"] if key in content["passages"]]
        texts = [content["passages"][key] for key in keys]
        readings = reader.read([Asked(q["text"], p["text"], p["heading"]) for p in texts])
        scored = []
        for key, p, reading in zip(keys, texts, readings, strict=True):
            places = sentences(p["text"])
            scored += [
                (score, key, place) for score, place in zip(reading.sentence_scores(places), places, strict=True)
            ]
        _, key, place = max(scored)
        now.append(float(_right(q, content["passages"][key], place)))
        first = q["today"][0]
        today.append(float(_right(q, content["passages"][first[0]], (first[1], first[2]))))
    figures["chunking_evaluation: right sentence today"] = mean_figure(today)
    figures["chunking_evaluation: right sentence"] = mean_figure(now)
    return figures


def _right(q: dict[str, Any], passage: dict[str, Any], place: tuple[int, int]) -> bool:
    """At least half of the sentence is in the words that the set names."""
    start, end = place[0] + passage["start"], place[1] + passage["start"]
    inside = sum(max(0, min(end, b) - max(start, a)) for a, b in q["spans"])
    return bool(inside >= 0.5 * (end - start))


def squad_today(folder: Path, data: Path) -> Figures:
    """Today's sentence on the reporting half, given only the right passage."""
    content = load_candidates(folder, "squad2_dev_half")
    spans: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for row in read_lines(data / "squad2_dev_half" / "questions.jsonl.gz"):
        spans[(row["text"], row["passage"])] = [(a["start"], a["start"] + len(a["text"])) for a in row["answers"]]
    hits, groups = [], []
    for q in content["questions"]:
        if q["held_out"] and q["today"]:
            key, start, end = q["today"][0]
            hits.append(float(any(a < end and start < b for a, b in spans.get((q["text"], key), []))))
            groups.append(key)
    return {"SQuAD2, reporting half: right sentence today": mean_figure(hits, groups)}


# --- grounding --------------------------------------------------------------------------------------------------------


def grounding(reader: PassageReader, folder: Path, name: str, most_windows: int = 40) -> Figures:
    """An answer is as good as its two weakest sentences; each is read against every passage, and the best counts."""
    content = load_candidates(folder, name)
    asked, owner = [], []
    for at, claim in enumerate(content["claims"]):
        for source in content["sources"][claim["answer"]]:
            asked.append(Asked(claim["text"], source[: most_windows * 500]))
            owner.append(at)
    best = [-99.0] * len(content["claims"])
    for at, reading in zip(owner, reader.read(asked), strict=True):
        best[at] = max(best[at], reading.supported)
    labels = content["labels"]
    figures: Figures = {}
    own = [1 / (1 + np.exp(-score)) for score in best]
    today = [claim["score"] for claim in content["claims"]]
    verbatim = [claim["verbatim"] for claim in content["claims"]]
    own = [1.0 if exact else float(score) for exact, score in zip(verbatim, own, strict=True)]
    for title, scores in (("today", today), ("reader alone", own), ("both", _both(today, own))):
        answers = _weakest(content["claims"], scores, len(labels))
        figures[f"{name}: {title}, AUROC"] = auroc_figure([-a for a in answers], labels, content["groups"])
    return figures


def _both(today: Sequence[float], own: Sequence[float]) -> list[float]:
    """Mean of the log odds: nothing is fitted."""

    def odds(chance: float) -> float:
        clipped = min(max(chance, 0.005), 0.995)
        return float(np.log(clipped / (1 - clipped)))

    return [float(1 / (1 + np.exp(-(odds(a) + odds(b)) / 2))) for a, b in zip(today, own, strict=True)]


def _weakest(claims: Sequence[dict[str, Any]], scores: Sequence[float], count: int) -> list[float]:
    each: list[list[float]] = [[] for _ in range(count)]
    for claim, score in zip(claims, scores, strict=True):
        each[claim["answer"]].append(score)
    return [float(np.prod(sorted(one)[:2])) for one in each]


__all__ = [
    "Figure",
    "calibration",
    "chosen_sentences",
    "grounding",
    "ranking",
    "read_squad",
    "squad",
    "squad_questions",
    "squad_today",
]
