"""Two rank lists → one: calibrated scores first, then second looks, without a model, at the best.

In: the raw cosine and BM25 of the candidates, the text and the vector of the few best. Out: candidates best first, each
with a score from 0 to 1 and what it is made of. Cosine and BM25 are put on one absolute scale and added; ranks are not
used, because a rank says nothing about how good the best is. Two words of the query that are side by side in a passage
say more than each alone. A passage that is like the best ones is likely to be right when they are. Pure: it must not
know an index or an embedder.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from quoth.domain import TermWeights, Vector
from quoth.text.terms import K1, ContentTerm, Pair, names_something, side_by_side

# Second looks are for the best only (docs/decisions/0015): they read texts and fetch vectors.
READ_FOR_PAIRS = 40  # candidates whose text is read for pairs
COMPARED = 20  # candidates whose vector is compared: as many passages as a request may want
ORDINARY = 0.5  # weight of an ordinary word that is nowhere in the book, relative to a name
LINKED = 0.5  # weight of a pair of a content word and a stop word, relative to two content words

# A passage that holds every word of the query once, at average length, reaches about this share of BM25's bound.
_REACHABLE = 0.6
_STEEPNESS = 12.0  # how fast trust in a passage falls with its distance from the first


@dataclass(frozen=True, slots=True)
class FusionOptions:
    """The weights of the parts of the score, 1 in total. The values are on a plateau: see docs/decisions/0015."""

    cosine: float = 0.30
    words: float = 0.37
    pairs: float = 0.13
    agreement: float = 0.20
    trusted: int = 3  # the best passages, which the others are compared with


class Scored(NamedTuple):
    """One candidate on the common scale. Raw scores and ranks are None if a list did not hold it."""

    key: str
    dense: float | None
    sparse: float | None
    dense_rank: int | None
    sparse_rank: int | None
    cosine: float  # from here on estimates, each from 0 to 1
    words: float
    pairs: float = 0.0
    agreement: float = 0.0
    score: float = 0.0


# --- how much there is to find ----------------------------------------------------------------------------------------


def _absent_idf(size: int) -> float:
    """The IDF of a word that no chunk holds."""
    return math.log(1 + (size + 0.5) / 0.5)


def idf_of_all(words: Sequence[ContentTerm], rarity: Mapping[int, float], size: int) -> dict[int, float]:
    """The IDF of every term of the query, including those that are nowhere in the book. A missing name means that the
    book is about something else; a missing ordinary word, that it says the same thing in other words."""
    full = dict(rarity)
    for word in words:
        found = word.found_in(full)
        for part in word.parts:
            full.setdefault(part, ORDINARY * _absent_idf(size))
        if word.id not in full:
            weight = 1.0 if names_something(word.text) else ORDINARY
            full[word.id] = max(full[part] for part in word.parts) if found else weight * _absent_idf(size)
    return full


def ceiling(query: TermWeights, full: Mapping[int, float]) -> float:
    """The BM25 score of a passage that says all of the query."""
    weighted = zip(query.ids, query.weights, strict=True)
    return sum(weight * full[term] for term, weight in weighted) * (K1 + 1) * _REACHABLE


def pair_weights(pairs: Iterable[Pair], full: Mapping[int, float], size: int) -> dict[bytes, float]:
    """What each pair of neighbours weighs: the rarer its words, the more."""
    absent = ORDINARY * _absent_idf(size)
    return {
        pair.text: sum(full.get(term, absent) for term in pair.ids) * (1.0 if len(pair.ids) > 1 else LINKED)
        for pair in pairs
    }


# --- first look -------------------------------------------------------------------------------------------------------


Scale = Callable[[float], float]  # puts a cosine between 0 and 1


def scale_of(dense: Sequence[tuple[str, float]], *, absolute: bool) -> Scale:
    """The cosine itself; or, if its meaning is not known (`absolute` is false), its place between the last and the
    first of the list."""
    if absolute:
        return lambda cosine: max(0.0, min(1.0, cosine))
    floor, top = (dense[-1][1], dense[0][1]) if dense else (0.0, 0.0)
    spread = top - floor
    return lambda cosine: max(0.0, min(1.0, (cosine - floor) / spread)) if spread > 0 else 0.0


def fuse(
    dense: Sequence[tuple[str, float]],
    sparse: Sequence[tuple[str, float]],
    *,
    ceiling: float,
    depth: int,
    scale: Scale,
    options: FusionOptions = FusionOptions(),
) -> list[Scored]:
    """All candidates of both lists, best first; ties by key. A candidate that is missing from a full list of `depth`
    is taken to score like the last one of that list: it cannot be better."""
    dense_scores = dict(dense)
    sparse_scores = dict(sparse)
    dense_ranks = {key: rank for rank, (key, _) in enumerate(dense, start=1)}
    sparse_ranks = {key: rank for rank, (key, _) in enumerate(sparse, start=1)}
    dense_floor = dense[-1][1] if dense else 0.0
    sparse_floor = sparse[-1][1] if len(sparse) >= depth else 0.0
    found = []
    for key in {**dense_scores, **sparse_scores}:
        cosine = scale(dense_scores.get(key, dense_floor))
        words = min(1.0, sparse_scores.get(key, sparse_floor) / ceiling) if ceiling > 0 else 0.0
        found.append(
            Scored(
                key=key,
                dense=dense_scores.get(key),
                sparse=sparse_scores.get(key),
                dense_rank=dense_ranks.get(key),
                sparse_rank=sparse_ranks.get(key),
                cosine=cosine,
                words=words,
                score=options.cosine * cosine + options.words * words,
            )
        )
    return sorted(found, key=_best_first)


def _again(one: Scored, pairs: float, agreement: float, options: FusionOptions) -> Scored:
    """The same candidate after another look. (`_replace` takes three times as long, and this runs for each.)"""
    key, dense, sparse, dense_rank, sparse_rank, cosine, words, *_ = one
    score = options.cosine * cosine + options.words * words + options.pairs * pairs + options.agreement * agreement
    return Scored(key, dense, sparse, dense_rank, sparse_rank, cosine, words, pairs, agreement, score)


def _best_first(one: Scored) -> tuple[float, str]:
    return -one.score, one.key


# --- second looks -----------------------------------------------------------------------------------------------------


def with_pairs(
    scored: Sequence[Scored],
    pairs: Mapping[bytes, float],
    text_of: Callable[[str], str],
    options: FusionOptions = FusionOptions(),
) -> list[Scored]:
    """The best few again, best first, now with the share of the query's pairs that are side by side in their text. A
    query of one word has no pairs; its word then counts in their place."""
    # Count one more pair, which no passage has: otherwise a chance hit would decide a query of two words.
    total = sum(pairs.values()) * (1 + 1 / max(1, len(pairs)))
    near = scored[:READ_FOR_PAIRS]
    if not total:
        return sorted((_again(one, one.words, one.agreement, options) for one in near), key=_best_first)
    found = []
    for one in near:
        text = side_by_side(text_of(one.key))
        held = sum([weight for pair, weight in pairs.items() if pair in text])
        found.append(_again(one, held / total, one.agreement, options))
    return sorted(found, key=_best_first)


def with_agreement(
    scored: Sequence[Scored],
    query: Vector,
    vectors: Mapping[str, Sequence[float]],
    scale: Scale,
    options: FusionOptions = FusionOptions(),
) -> list[Scored]:
    """The best few again, best first: with their exact cosine if only words had found them, and with their nearness to
    the best. A passage without a vector has left the index meanwhile, and gets nothing added."""
    import numpy as np  # with packed vectors it is forty times as fast as plain Python

    rows = {key: row for row, key in enumerate(vectors)}
    table, asked = np.array(list(vectors.values()), dtype=np.float64), np.array(query)
    exact = []
    for one in scored:
        if one.dense is None and one.key in rows:
            cosine = float(table[rows[one.key]] @ asked)
            one = one._replace(dense=cosine, cosine=scale(cosine))
        exact.append(_again(one, one.pairs, one.agreement, options))
    exact.sort(key=_best_first)
    best = [one for one in exact if one.key in rows][: options.trusted]
    if not best:
        return exact
    trust = np.exp([_STEEPNESS * (one.score - best[0].score) for one in best])
    centre = trust / trust.sum() @ table[[rows[one.key] for one in best]]
    near = np.clip(table @ centre, 0.0, 1.0).tolist()
    agreed = (_again(one, one.pairs, near[rows[one.key]] if one.key in rows else 0.0, options) for one in exact)
    return sorted(agreed, key=_best_first)
