"""Evidence → Verdict: may this be answered, and how sure are we?

In: what a search brought back. Out: a probability that the passages hold the answer, a level, and whether to answer.
Two policies: `calibrated` (a small logistic model over what was found and what was not; its numbers are fitted on
public data and shipped) and `spec` (a fixed table over the average similarity and the number of passages, see
docs/contract.md). Only this module decides on a refusal before an answer is written; an outage never gets here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from quoth.ask.asked import absent_identifiers
from quoth.ask.calibration import Calibration, Logistic, calibration_for, scale_for
from quoth.ask.kinds import kind_asked
from quoth.ask.read import bounded, sign
from quoth.domain import Basis, ConfidenceLevel, ConfidenceMetrics, Evidence, Passage, QueryTerm, Verdict
from quoth.text.sentences import sentences
from quoth.text.terms import ContentTerm, is_exact, kinship, names_something, query_terms, term_ids

Policy = Literal["calibrated", "spec"]

# For evidence without fitted numbers (another embedder): only words are trusted. The passages must hold most of the
# question's rare words. One word that is nowhere in the book outweighs a good match of the rest, and so does a number
# that is asked for where there is none.
UNFITTED = Calibration(
    similarity=Logistic(0.0),  # not used by the judge
    judge=Logistic(-4.5, {"top_share": 4.0, "sentence_share": 4.0, "absent_share": -4.0, "unmet": -2.0}),
    threshold=0.5,
    medium=0.65,
    high=0.85,
)
_READ_CLOSELY = 3  # passages
_CERTAIN = 5.0  # log odds: what the reader is still surer of makes little difference, least of all on foreign books
_NEARLY = 0.8  # sentences that hold this share of what the nearest one holds are looked at as well
# The features that the shipped model weighs, of those computed below: without a reader, and where passages were read.
# With a reader few are enough, and few hold better on books that nothing was fitted on (decision 0039).
FITTED = ("cosine", "agreement", "top_share", "sentence_share", "another_name", "unmet", "words")
READ = ("read", "first_read", "cosine", "agreement", "top_share", "absent_share", "unmet")


@dataclass(frozen=True, slots=True)
class ConfidenceOptions:
    policy: Policy = "calibrated"
    embedder: str = ""  # whose fitted numbers apply; unknown names fall back to the conservative rule
    reader: str = ""  # that read the passages; empty: none did
    own: Calibration | None = None  # fitted to this book by `quoth eval --calibrate`
    threshold: float | None = None  # the operator's own: below it a question is refused

    @property
    def fitted(self) -> bool:
        """Whether the levels rest on measured numbers, for /health."""
        return (self.own or self.shipped) is not None

    @property
    def shipped(self) -> Calibration | None:
        return calibration_for(self.embedder, self.reader)


def judge(evidence: Evidence, options: ConfidenceOptions = ConfidenceOptions()) -> Verdict:
    metrics = metrics_of(evidence)
    if options.policy == "spec":
        return _by_table(metrics, options)
    if not evidence.passages:
        return Verdict(confidence=0.0, level="insufficient", should_answer=False, metrics=metrics, outside=True)
    seen = features(evidence)
    calibration = _with_threshold(_calibration(evidence, options, seen), options.threshold)
    judge = calibration.judge
    basis = Basis(
        features=seen,
        weights=judge.weights,
        bias=judge.bias,
        threshold=calibration.threshold,
        fitted=calibration.judge is not UNFITTED.judge,
    )
    confidence = judge.probability(basis.features)
    if absent_identifiers(evidence.asked, evidence):
        confidence = min(confidence, _about_another(calibration))
    level = _level(confidence, calibration)
    return Verdict(
        confidence,
        level,
        should_answer=level != "insufficient",
        metrics=metrics,
        basis=basis,
        outside=confidence < calibration.outside,
    )


def _calibration(evidence: Evidence, options: ConfidenceOptions, seen: Mapping[str, float]) -> Calibration:
    """The book's own, the shipped one, or that for evidence which nothing was fitted to. One that weighs what was read
    is of no use where nothing was."""
    searched = any(passage.dense_score is not None for passage in evidence.passages)
    fitted = (options.own, options.shipped, calibration_for(options.embedder)) if searched else ()
    return next((one for one in fitted if one is not None and one.judge.weights.keys() <= seen.keys()), UNFITTED)


def _with_threshold(calibration: Calibration, threshold: float | None) -> Calibration:
    """The operator's threshold holds with and without a language model. Levels begin at it."""
    if threshold is None:
        return calibration
    medium, high = max(calibration.medium, threshold), max(calibration.high, threshold)
    return replace(calibration, threshold=threshold, outside=threshold, medium=medium, high=high)


def _about_another(calibration: Calibration) -> float:
    """The most if the passages are about something else, however well their other words fit: too little to answer, but
    a model may still be asked, where one is asked about doubtful things at all."""
    half, outside = calibration.threshold / 2, calibration.outside
    return outside if half < outside < calibration.threshold else half


def metrics_of(evidence: Evidence) -> ConfidenceMetrics:
    similarities = [passage.similarity for passage in evidence.passages]
    if not similarities:
        return ConfidenceMetrics(0.0, 0.0, 0.0, 0, 0.0)
    average = sum(similarities) / len(similarities)
    least, most = min(similarities), max(similarities)
    return ConfidenceMetrics(
        average_similarity=max(least, min(most, average)),  # rounding must not put the mean outside its own range
        min_similarity=least,
        max_similarity=most,
        num_chunks=len(similarities),
        chunk_diversity=evidence.diversity,
    )


def _by_table(metrics: ConfidenceMetrics, options: ConfidenceOptions) -> Verdict:
    """The table was written for similarities of another model; where it was measured, ours are read on its scale."""
    scale = scale_for(options.embedder, options.reader)
    if scale is not None:
        metrics = replace(
            metrics,
            average_similarity=scale.read(metrics.average_similarity),
            min_similarity=scale.read(metrics.min_similarity),
            max_similarity=scale.read(metrics.max_similarity),
        )
    average, count = metrics.average_similarity, metrics.num_chunks
    level: ConfidenceLevel = "insufficient"
    if average >= 0.85 and count >= 5:
        level = "high"
    elif average >= 0.75 and count >= 3:
        level = "medium"
    elif average >= 0.60 and count >= 2:
        level = "low"
    if options.threshold is not None and average < options.threshold:
        level = "insufficient"
    return Verdict(average, level, level != "insufficient", metrics, outside=level == "insufficient")


def _level(confidence: float, calibration: Calibration) -> ConfidenceLevel:
    if confidence < calibration.threshold:
        return "insufficient"
    if confidence >= calibration.high:
        return "high"
    return "medium" if confidence >= calibration.medium else "low"


# --- what the judge looks at -----------------------------------------------------------------------------------------

_WORD = re.compile(r"\w+")
_NAME = re.compile(r"\b(?:[A-Z][\w-]+|\d[\d.,]*)")
_Weighted = Sequence[tuple[ContentTerm, QueryTerm]]


def features(evidence: Evidence) -> dict[str, float]:
    """Every feature is defined for one passage as well as for twenty, and for a question of one word."""
    words = {word.id: word for word in query_terms(evidence.query)}
    weighted = [(words.get(term.id, ContentTerm(term.text, term.id)), term) for term in evidence.terms]
    top, read = evidence.passages[0], evidence.passages[:_READ_CLOSELY]
    near = _sentences(read, weighted)
    nearest = max(near, key=lambda one: one.share, default=_Sentence())
    return {
        "cosine": top.dense_score or 0.0,
        "agreement": top.agreement,
        "top_share": max(_share(weighted, term_ids(_readable(passage))) for passage in read),
        "sentence_share": nearest.share,
        "another_name": float(_names_another(nearest, weighted, evidence.query)),
        "absent_share": _absent_share(weighted),
        "unmet": float(_unmet(evidence.query, near, nearest.share)),
        "words": min(len(weighted), 12) / 12,
        **_as_read(evidence.passages),
    }


def _as_read(passages: Sequence[Passage]) -> dict[str, float]:
    """What the reader makes of the best passages, and of the first one, of which it reads most. Nothing where there is
    no reader."""
    readings = [passage.reading for passage in passages if passage.reading is not None]
    if not readings:
        return {}
    best = max(bounded(reading.answerable) for reading in readings)
    return {"read": _softened(best), "first_read": _softened(sign(readings[0]))}


def _softened(logit: float) -> float:
    return _CERTAIN * math.tanh(logit / _CERTAIN)


def _readable(passage: Passage) -> str:
    chunk = passage.chunk
    return "\n".join((*chunk.breadcrumb, chunk.shown))


def _share(weighted: _Weighted, ids: frozenset[int], text: str = "") -> float:
    """The rarity-weighted share of the question's words that are among `ids`. A word of which only a relative is in the
    text (discover, discovery) counts for as much as the two have in common."""
    total = sum(term.idf for _, term in weighted)
    if not total:
        return 0.0
    found = sum(term.idf for word, term in weighted if word.found_in(ids))
    near = sum(term.idf * kinship(term.text, text) for word, term in weighted if text and not word.found_in(ids))
    return (found + near) / total


def _absent_share(weighted: _Weighted) -> float:
    total = sum(term.idf for _, term in weighted)
    return sum(term.idf for _, term in weighted if not term.in_book) / total if total else 0.0


# --- the sentences that come nearest to the question -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence of a passage, and how much of the question it holds."""

    text: str = ""
    share: float = 0.0
    beside: tuple[frozenset[int], ...] = ()  # the terms of its headings, of its neighbours and its own

    @property
    def around(self) -> frozenset[int]:
        return frozenset().union(*self.beside)


def _sentences(passages: Sequence[Passage], weighted: _Weighted) -> list[_Sentence]:
    found = []
    for passage in passages:
        text = passage.chunk.text
        units = sentences(text, lead=passage.chunk.lead, markup=passage.chunk.markup)
        said = [text[unit.start : unit.end] for unit in units if unit.kind != "heading"]
        ids = [term_ids(one) for one in said]
        above = term_ids("\n".join(passage.chunk.breadcrumb))
        found += [
            _Sentence(one, _share(weighted, ids[at], one.lower()), (above, *ids[max(0, at - 1) : at + 2]))
            for at, one in enumerate(said)
        ]
    return found


def _unmet(query: str, near: Sequence[_Sentence], best: float) -> bool:
    """A price, a number, a date or a name is asked for, and no sentence near the question holds one."""
    holds = kind_asked(query)
    return holds is not None and not any(holds(one.text) for one in near if one.share >= _NEARLY * best)


def _names_another(nearest: _Sentence, weighted: _Weighted, query: str) -> bool:
    """A name, a number or an identifier asked for is not there, and others are: most likely this is about those."""
    opening = query.split(maxsplit=1)[0] if query.split() else ""
    around = nearest.around
    missing = any(
        names_something(term.text) and not word.found_in(around)
        for word, term in weighted
        if term.text != opening or is_exact(opening)  # the first word has a capital whatever it is
    )
    asked = set(_WORD.findall(query.lower()))
    return missing and any(name.lower() not in asked for name in _NAME.findall(nearest.text))
