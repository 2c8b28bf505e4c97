"""Query → Evidence: both rank lists of the index, fused, the best looked at twice, and the very best read.

In: the text to search, the book, the filters, the lowest similarity that a passage may have. Out: passages best first,
each with a similarity that is a probability (0.5: as likely relevant as not), and what the judge needs to know of the
question's words. `quoth.ask.fuse` puts the scores together, `quoth.ask.read` adds what the reader says, if there is
one. What to make of the evidence is not decided here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from quoth.ask.calibration import Calibration, Logistic, calibration_for
from quoth.ask.fuse import (
    COMPARED,
    READ_FOR_PAIRS,
    Scored,
    ceiling,
    fuse,
    idf_of_all,
    pair_weights,
    scale_of,
    with_agreement,
    with_pairs,
)
from quoth.ask.read import Remembering, asks, in_order, read_best
from quoth.ask.spans import SILENT, Spans
from quoth.ask.suited import meaning_asked, opening_for, suits
from quoth.domain import (
    Candidate,
    Chunk,
    Evidence,
    Filters,
    IndexHit,
    IndexQuery,
    Passage,
    QueryTerm,
    Reading,
    TermWeights,
    Vector,
)
from quoth.errors import IndexUnavailable
from quoth.ports import BookView, ChunkIndex, Embedder, Reader, TokenCounter, within
from quoth.text.definitions import mark_of
from quoth.text.terms import ContentTerm, Pair, query_pairs, query_terms, query_weights

INDEX_SECONDS = 10.0  # how long to wait for the index

_DEPTH = 50  # entries of each rank list: enough for the second look after duplicates are gone
_EXPLAINING = 12  # passages that may explain what is asked about
_ATTEMPTS = 3  # in case the book is published between finding and reading
_SAME_PAGE = 0.3  # added to the score of a passage on the one page that the whole conversation is on
_HEADS = 10  # entries of each rank list that a trace shows
_LONG_QUERY = 2_000  # characters: beyond that, counting its words is worth a thread

# For an embedder without fitted numbers. The best cosine of a list then counts as 1 however low it is, so the words
# have to make up half of the score before a passage is as likely relevant as not.
_UNFITTED = Logistic(bias=-6.0, weights={"score": 8.0})


@dataclass(frozen=True, slots=True)
class PreparedQuery:
    """A query, taken apart."""

    readable: str  # as much of it as the embedder reads
    sparse: TermWeights
    words: list[ContentTerm]
    pairs: list[Pair]
    phrase: str = ""  # what the query means; empty: the query itself
    pages: Mapping[str, float] = field(default_factory=dict)  # source file → how much the conversation is on it
    alone: bool = False  # the question makes sense without the conversation

    def preference(self, chunk: Chunk) -> float:
        """What the page of a passage adds to its score."""
        return _SAME_PAGE * self.pages.get(chunk.source_file, 0.0)

    @property
    def term_ids(self) -> list[int]:
        parts = (part for word in self.words for part in word.parts)
        return sorted({*self.sparse.ids, *parts, *(term for pair in self.pairs for term in pair.ids)})


def prepare(query: str, tokens: TokenCounter) -> PreparedQuery:
    readable = _cut_to_limit(query, tokens)
    return PreparedQuery(readable, query_weights(query), query_terms(query), query_pairs(readable))


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a caller asks for."""

    query: str
    filters: Filters
    limit: int
    threshold: float
    count: bool


@dataclass(frozen=True, slots=True)
class _Looked:
    """What the index said; the later steps do not need the index again."""

    ranked: list[Scored]
    scored: list[Scored]
    chunks: Mapping[str, Chunk]
    vectors: Mapping[str, Sequence[float]]
    terms: tuple[QueryTerm, ...]
    size: int  # of the book, in chunks
    total_found: int | None


class _Vanished(Exception):
    """A chunk that was found is no longer there."""


class Retriever:
    def __init__(
        self,
        index: ChunkIndex,
        embedder: Embedder,
        spans: Spans = SILENT,
        *,
        seconds: float = INDEX_SECONDS,
        reader: Reader | None = None,
    ) -> None:
        self._reader = reader
        self._index = index
        self._embedder = embedder
        self._seconds = seconds
        self._spans = spans

    def remembering(self) -> Retriever:
        """The same, for somebody who searches several times for one question: no passage is read twice for it."""
        reader = Remembering(self._reader) if self._reader else None
        return Retriever(self._index, self._embedder, self._spans, seconds=self._seconds, reader=reader)

    async def find(
        self,
        query: str,
        *,
        book_id: str,
        filters: Filters = Filters(),
        limit: int = 5,
        threshold: float = 0.0,
        phrase: str = "",
        pages: Mapping[str, float] | None = None,
        alone: bool = False,
        view: BookView | None = None,
        count: bool = False,
    ) -> Evidence:
        """Passages with a similarity below `threshold` are dropped, possibly all of them. `phrase` says what is meant
        if `query` has words that only help to find it; a reader reads with the phrase in mind. `pages` says how much
        the conversation is on which source file, from 0 to 1; if the question makes sense `alone`, they put passages
        in order and say nothing about how well they fit. `view` is what the question has looked at so far.
        `count` asks for the number of chunks that pass the filters."""
        wanted = _Wanted(query, filters, limit, threshold, count)
        with self._spans.retrieval(book_id, limit):
            asked = replace(await self._prepare(query), phrase=phrase, pages=pages or {}, alone=alone)
            return await self._find(wanted, asked, book_id, view or self._index.view(book_id))

    async def _find(self, wanted: _Wanted, asked: PreparedQuery, book_id: str, view: BookView) -> Evidence:
        with self._spans.embedding(self._embedder.name, self._embedder.dimensions):
            vector = await self._embedder.embed_query(asked.readable)
        slow = IndexUnavailable("The index does not answer.", hint="Ask again.")
        for _ in range(_ATTEMPTS):
            try:
                async with within(self._seconds, slow):
                    looked = await self._look(wanted, asked, vector, view)
                    opening = opening_for(asked.phrase or asked.readable, looked.terms, looked.size)
                    if opening:
                        looked = await self._look_again(wanted, asked, opening, looked, view)
                return replace(await self._evidence(wanted, asked, looked), query_vector=vector)
            except _Vanished:
                view = self._index.view(book_id)  # the hits belonged to a generation that is gone
        raise IndexUnavailable(f"The book {book_id!r} changes faster than it can be searched.", hint="Ask again.")

    async def _look(self, wanted: _Wanted, asked: PreparedQuery, vector: Vector, view: BookView) -> _Looked:
        depth, compared = max(_DEPTH, wanted.limit), max(COMPARED, wanted.limit)
        hits = await view.search(IndexQuery(vector, asked.sparse, wanted.filters, depth, wanted.count))
        explaining = await _explaining(view, asked, vector, wanted.filters)
        rarity = await view.idf(asked.term_ids)
        full = idf_of_all(asked.words, rarity, hits.size)
        dense, sparse = _scores(hits.dense), _scores(hits.sparse)
        scale = scale_of(dense, absolute=self._calibration is not None)

        floor = sparse[-1][1] if len(sparse) >= depth else 0.0
        known = {key for key, _ in (*dense, *sparse)}
        sparse += [(key, floor) for key in explaining if key not in known]
        scored = fuse(dense, sparse, ceiling=ceiling(asked.sparse, full), depth=depth, scale=scale)
        scored = _with_near(scored, explaining)
        chunks = await _read(view, scored, compared)
        pairs = pair_weights(asked.pairs, full, hits.size)
        paired = with_pairs(_unique(scored, chunks), pairs, lambda key: chunks[key].shown)
        seen = {one.key: chunks[one.key] for one in sorted(paired, key=lambda one: one.key not in explaining)}
        suited = suits(asked.phrase or asked.readable, asked.words, full, seen)
        near = sorted(paired, key=lambda one: -one.score - suited[one.key])[:compared]
        vectors = await view.dense_vectors([one.key for one in near])
        ranked = _favoured(with_agreement(near, vector, vectors, scale), asked, chunks, suited)
        terms = tuple(_query_term(word, rarity, full) for word in asked.words)
        return _Looked(ranked, scored, chunks, vectors, terms, hits.size, hits.total_found)

    async def _look_again(
        self, wanted: _Wanted, asked: PreparedQuery, opening: str, looked: _Looked, view: BookView
    ) -> _Looked:
        """Search for the opening of the book, wherever the conversation is. The weights of the question's own words are
        already known."""
        again = replace(await self._prepare(opening), phrase=asked.phrase or asked.readable)
        vector = await self._embedder.embed_query(opening)
        return replace(await self._look(wanted, again, vector, view), terms=looked.terms)

    async def _evidence(self, wanted: _Wanted, asked: PreparedQuery, looked: _Looked) -> Evidence:
        """Read the best candidates; those above the threshold are the evidence."""
        ranked, chunks, calibration = looked.ranked, looked.chunks, self._calibration
        readings: dict[str, Reading] = {}
        if self._reader is not None:
            readings = await read_best(self._reader, asked.phrase or asked.readable, ranked, chunks)
            if calibration is not None and calibration.order is not None and asks(asked.readable):
                ranked = in_order(ranked, readings, calibration.order)
        found = (
            _passage(one, chunks[one.key], calibration, readings.get(one.key), asked) for one in ranked[: wanted.limit]
        )
        passages = tuple(passage for passage in found if passage.similarity >= wanted.threshold)
        vectors = looked.vectors
        return Evidence(
            query=wanted.query,
            passages=passages,
            total_found=looked.total_found,
            terms=looked.terms,
            diversity=diversity([vectors[one.chunk.id] for one in passages if one.chunk.id in vectors]),
            candidates=_candidates(ranked, looked.scored, chunks),
        )

    @property
    def _calibration(self) -> Calibration | None:
        return calibration_for(self._embedder.name, self._reader.name if self._reader else "")

    async def _prepare(self, query: str) -> PreparedQuery:
        tokens = self._embedder.tokens
        return await asyncio.to_thread(prepare, query, tokens) if len(query) > _LONG_QUERY else prepare(query, tokens)


async def _explaining(view: BookView, asked: PreparedQuery, vector: Vector, filters: Filters) -> list[str]:
    """Passages that explain what the query asks the meaning of, if it does: the word may be in a hundred others."""
    subject = meaning_asked(asked.phrase or asked.readable)
    mark = mark_of(subject) if subject else None
    if mark is None:
        return []
    hits = await view.search(IndexQuery(vector, TermWeights((mark,), (1.0,)), filters, _EXPLAINING))
    return [hit.chunk_id for hit in hits.sparse]


def _with_near(scored: Sequence[Scored], keys: Collection[str]) -> list[Scored]:
    """These candidates among those that are read, whatever their scores."""
    far = [one for one in scored[READ_FOR_PAIRS:] if one.key in keys]
    kept = READ_FOR_PAIRS - len(far)
    return [*scored[:kept], *far, *(one for one in scored[kept:] if one not in far)]


async def _read(view: BookView, scored: Sequence[Scored], wanted: int) -> dict[str, Chunk]:
    """The chunks of the best candidates: as many as get a second look, and more where texts repeat."""
    found: dict[str, Chunk] = {}
    for start in range(0, len(scored), READ_FOR_PAIRS):
        ids = [one.key for one in scored[start : start + READ_FOR_PAIRS]]
        chunks = await view.chunks(ids)
        if len(chunks) < len(ids):
            raise _Vanished
        found.update((chunk.id, chunk) for chunk in chunks)
        if len({chunk.content_hash for chunk in found.values()}) >= wanted:
            break
    return found


# --- pure --------------------------------------------------------------------------------------------------------


def _cut_to_limit(query: str, tokens: TokenCounter) -> str:
    """The longest beginning of the query that the embedder reads whole, cut between words where possible."""
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


def _unique(scored: Sequence[Scored], chunks: Mapping[str, Chunk]) -> list[Scored]:
    """The best candidate of each text; on a tie, the one that comes first in the book."""
    best: dict[str, Scored] = {}
    read = (one for one in scored if one.key in chunks)
    for one in sorted(read, key=lambda one: (-one.score, *_place(chunks[one.key]))):
        best.setdefault(chunks[one.key].content_hash, one)
    return list(best.values())


def _favoured(
    ranked: Sequence[Scored], asked: PreparedQuery, chunks: Mapping[str, Chunk], suited: Mapping[str, float]
) -> list[Scored]:
    """Best first, with a bonus for what suits the question and for the pages of the conversation, which seldom change
    from one turn to the next."""

    def added(one: Scored) -> Scored:
        return one._replace(score=one.score + asked.preference(chunks[one.key]) + suited[one.key])

    return sorted(map(added, ranked), key=lambda one: -one.score)


def _place(chunk: Chunk) -> tuple[str, int]:
    return chunk.source_file, chunk.chunk_index


def _candidates(
    ranked: Sequence[Scored], scored: Sequence[Scored], chunks: Mapping[str, Chunk]
) -> tuple[Candidate, ...]:
    """The heads of both lists: first those that got a second look, in their order, then the others."""
    seen = {one.key for one in ranked}
    heads = [one for one in (*ranked, *(one for one in scored if one.key not in seen)) if _is_head(one)]
    return tuple(
        Candidate(
            chunk_id=one.key,
            place=" › ".join(chunks[one.key].breadcrumb) if one.key in chunks else "",
            score=one.score,
            dense_score=one.dense,
            dense_rank=one.dense_rank,
            sparse_score=one.sparse,
            sparse_rank=one.sparse_rank,
        )
        for one in heads
    )


def _is_head(one: Scored) -> bool:
    return min(one.dense_rank or _HEADS + 1, one.sparse_rank or _HEADS + 1) <= _HEADS


def diversity(vectors: Sequence[Sequence[float]]) -> float:
    """One minus the mean cosine of all pairs."""
    if len(vectors) < 2:
        return 0.0
    import numpy as np

    table = np.array(list(vectors), dtype=np.float64)
    cosines = table @ table.T
    pairs = len(vectors) * (len(vectors) - 1)  # each counted twice, and none with itself
    return max(0.0, min(1.0, 1.0 - float(cosines.sum() - cosines.trace()) / pairs))


def _scores(hits: Sequence[IndexHit]) -> list[tuple[str, float]]:
    return [(hit.chunk_id, hit.score) for hit in hits]


def _passage(
    scored: Scored, chunk: Chunk, calibration: Calibration | None, reading: Reading | None, asked: PreparedQuery
) -> Passage:
    model = calibration.similarity if calibration else _UNFITTED
    lent = asked.preference(chunk) if asked.alone else 0.0
    worth = round(scored.score - lent, 9)  # what was lent leaves no trace in the last digits
    return Passage(
        chunk=chunk,
        score=scored.score,
        similarity=model.probability({"score": worth}),
        dense_score=scored.dense,
        dense_rank=scored.dense_rank,
        sparse_score=scored.sparse,
        sparse_rank=scored.sparse_rank,
        pair_share=scored.pairs,
        agreement=scored.agreement,
        reading=reading,
    )


def _query_term(word: ContentTerm, rarity: Mapping[int, float], full: Mapping[int, float]) -> QueryTerm:
    return QueryTerm(word.text, word.id, full[word.id], in_book=word.found_in(rarity))
