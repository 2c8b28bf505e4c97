"""Query → Evidence: both rank lists of the index, fused by calibrated scores.

Comes in: the text to search, the book, the filters. Goes out: passages best first, each with a similarity that is a
probability (0.5: as likely relevant as not), and what the judge needs to know of the question's words. Cosine and BM25
are put on one absolute scale and added; ranks are not used, because a rank says nothing about how good the best is.
What to make of the evidence is not decided here.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from quoth.calibration import Calibration, Logistic, calibration_for
from quoth.domain import (
    Chunk,
    Evidence,
    Filters,
    IndexQuery,
    Passage,
    QueryTerm,
    TermWeights,
    Vector,
)
from quoth.ports import ChunkIndex, Embedder, TokenCounter
from quoth.terms import K1, ContentTerm, names_something, query_terms, query_weights

SPARE = 5  # candidates that are read beyond those wanted, because some repeat the text of another
LONG_QUERY = 2_000  # characters: beyond that, counting its words is worth a thread


@dataclass(frozen=True, slots=True)
class RetrievalOptions:
    depth: int = 50  # of each list
    dense_share: float = 0.5  # cosine against BM25, both on a scale from 0 to 1


# For an embedder without fitted numbers. The best cosine of a list then counts as 1 however far it is, so the words
# have to make up half of the score before a passage is as likely relevant as not.
UNFITTED = Logistic(bias=-6.0, weights={"score": 8.0})
# A passage that holds every word of the query once, at average length, reaches about this share of BM25's bound.
REACHABLE = 0.6
ORDINARY = 0.5  # how much an ordinary word that is nowhere in the book weighs against a name


@dataclass(frozen=True, slots=True)
class Scored:
    """One candidate on the common scale; None where a list did not hold it."""

    key: str
    dense: float | None
    sparse: float | None
    dense_rank: int | None
    sparse_rank: int | None
    score: float


class Retriever:
    def __init__(self, index: ChunkIndex, embedder: Embedder, options: RetrievalOptions = RetrievalOptions()) -> None:
        self._index = index
        self._embedder = embedder
        self._options = options

    async def find(self, query: str, *, book_id: str, filters: Filters = Filters(), limit: int = 5) -> Evidence:
        readable, sparse, words = await self._prepared(query)
        dense = await self._embedder.embed_query(readable)
        depth = max(self._options.depth, limit)
        hits, rarity = await asyncio.gather(
            self._index.search(IndexQuery(book_id, dense, sparse, filters, depth)),
            self._index.idf(book_id, sorted({*sparse.ids, *(part for word in words for part in word.parts)})),
        )
        size = hits.total_found if filters == Filters() else await self._index.count(book_id)
        full = completed(words, rarity, size)
        calibration = calibration_for(self._embedder.name)
        scored = fuse(
            [(hit.chunk_id, hit.score) for hit in hits.dense],
            [(hit.chunk_id, hit.score) for hit in hits.sparse],
            ceiling=ceiling(sparse, full),
            depth=depth,
            dense_share=self._options.dense_share,
            absolute=calibration is not None,
        )
        passages = _passages(scored, await self._best(book_id, scored, limit), calibration, limit)
        return Evidence(
            query=query,
            passages=passages,
            total_found=hits.total_found,
            terms=tuple(query_term(word, rarity, full) for word in words),
            diversity=await self._diversity(book_id, passages),
        )

    async def _prepared(self, query: str) -> tuple[str, TermWeights, list[ContentTerm]]:
        def prepare() -> tuple[str, TermWeights, list[ContentTerm]]:
            return cut_to_limit(query, self._embedder.tokens), query_weights(query), query_terms(query)

        return await asyncio.to_thread(prepare) if len(query) > LONG_QUERY else prepare()

    async def _best(self, book_id: str, scored: Sequence[Scored], limit: int) -> dict[str, Chunk]:
        """The chunks of the best candidates: as many as it takes for `limit` of different text."""
        found: dict[str, Chunk] = {}
        texts: set[str] = set()
        for start in range(0, len(scored), step := limit + SPARE):
            ids = [candidate.key for candidate in scored[start : start + step]]
            for chunk in await self._index.chunks(book_id, ids):
                found[chunk.id] = chunk
                texts.add(chunk.content_hash)
            if len(texts) >= limit:
                break
        return found

    async def _diversity(self, book_id: str, passages: Sequence[Passage]) -> float:
        if len(passages) < 2:
            return 0.0
        vectors = await self._index.dense_vectors(book_id, [passage.chunk.id for passage in passages])
        return diversity(list(vectors.values()))


# --- pure --------------------------------------------------------------------------------------------------------


def cut_to_limit(query: str, tokens: TokenCounter) -> str:
    """The longest beginning of the query that the embedder reads whole, cut between words where it can be."""
    spans = tokens.spans(query)
    kept = tokens.limit
    while len(spans) > kept > 0:
        end = spans[kept - 1][1]
        head = query[:end]
        if not query[end : end + 1].isspace():
            # Back to the last space, unless the script has none.
            head = head.rsplit(maxsplit=1)[0] if len(head.split(maxsplit=1)) > 1 else head
        if tokens.counts([head])[0] <= tokens.limit:
            return head.rstrip()
        kept -= 1  # a word cut in two may make more tokens than it had
    return query if kept > 0 else ""


def absent_idf(size: int) -> float:
    """The IDF of a word that no chunk holds."""
    return math.log(1 + (size + 0.5) / 0.5)


def completed(words: Sequence[ContentTerm], rarity: Mapping[int, float], size: int) -> dict[int, float]:
    """The IDF of every term of the query, also of those that are nowhere in the book: a name that is missing tells
    that the book is about something else, an ordinary word that it says the same thing otherwise."""
    full = dict(rarity)
    for word in words:
        found = word.found_in(full)
        for part in word.parts:
            full.setdefault(part, ORDINARY * absent_idf(size))
        if word.id not in full:
            weight = 1.0 if names_something(word.text) else ORDINARY
            full[word.id] = max(full[part] for part in word.parts) if found else weight * absent_idf(size)
    return full


def ceiling(query: TermWeights, full: Mapping[int, float]) -> float:
    """The BM25 score of a passage that says all of the query."""
    weighted = zip(query.ids, query.weights, strict=True)
    return sum(weight * full[term] for term, weight in weighted) * (K1 + 1) * REACHABLE


def fuse(
    dense: Sequence[tuple[str, float]],
    sparse: Sequence[tuple[str, float]],
    *,
    ceiling: float,
    depth: int,
    dense_share: float,
    absolute: bool = True,
) -> list[Scored]:
    """All candidates of both lists, best first; ties by key.

    A candidate that a full list of `depth` does not hold is taken to score like the last one it does hold: it cannot
    be better. Where the scale of the cosine is unknown (`absolute` false) it is stretched over the list.
    """
    dense_scores = dict(dense)
    sparse_scores = dict(sparse)
    dense_ranks = {key: rank for rank, (key, _) in enumerate(dense, start=1)}
    sparse_ranks = {key: rank for rank, (key, _) in enumerate(sparse, start=1)}
    dense_floor = dense[-1][1] if dense else 0.0
    sparse_floor = sparse[-1][1] if len(sparse) >= depth else 0.0
    dense_top = dense[0][1] if dense else 0.0
    found = []
    for key in {**dense_scores, **sparse_scores}:
        cosine = dense_scores.get(key, dense_floor)
        if not absolute:
            cosine = (cosine - dense_floor) / (dense_top - dense_floor) if dense_top > dense_floor else 0.0
        words = min(1.0, sparse_scores.get(key, sparse_floor) / ceiling) if ceiling > 0 else 0.0
        found.append(
            Scored(
                key=key,
                dense=dense_scores.get(key),
                sparse=sparse_scores.get(key),
                dense_rank=dense_ranks.get(key),
                sparse_rank=sparse_ranks.get(key),
                score=dense_share * cosine + (1 - dense_share) * words,
            )
        )
    return sorted(found, key=lambda scored: (-scored.score, scored.key))


def diversity(vectors: Sequence[Vector]) -> float:
    """S4: one minus the mean cosine of all pairs."""
    if len(vectors) < 2:
        return 0.0
    pairs = [
        sum(a * b for a, b in zip(one, other, strict=True))
        for position, one in enumerate(vectors)
        for other in vectors[position + 1 :]
    ]
    return max(0.0, min(1.0, 1.0 - sum(pairs) / len(pairs)))


def _passages(
    scored: Sequence[Scored], chunks: Mapping[str, Chunk], calibration: Calibration | None, limit: int
) -> tuple[Passage, ...]:
    model = calibration.similarity if calibration else UNFITTED
    seen: set[str] = set()
    passages: list[Passage] = []
    for candidate in scored:
        chunk = chunks.get(candidate.key)  # gone, when a publication came between finding and reading it
        if chunk is None or chunk.content_hash in seen:
            continue
        seen.add(chunk.content_hash)
        passages.append(
            Passage(
                chunk=chunk,
                score=candidate.score,
                similarity=model.probability({"score": candidate.score}),
                dense_score=candidate.dense,
                dense_rank=candidate.dense_rank,
                sparse_score=candidate.sparse,
                sparse_rank=candidate.sparse_rank,
            )
        )
        if len(passages) == limit:
            break
    return tuple(passages)


def query_term(word: ContentTerm, rarity: Mapping[int, float], full: Mapping[int, float]) -> QueryTerm:
    return QueryTerm(word.text, word.id, full[word.id], in_book=word.found_in(rarity))
