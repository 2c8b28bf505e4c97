"""Evaluation sets behind quoth.ask.find itself: this measures the code that ships, over a brute-force index.

`Searcher` answers as `quoth search` would on a book that holds exactly the passages of a set. The baselines beside it
are built here from the same texts and vectors: plain BM25, cosine, and reciprocal ranks of the two.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import cast

import numpy as np
import numpy.typing as npt
import Stemmer

from corpora import Corpus, Floats
from quoth.ask.find import Retriever
from quoth.domain import Chunk, Evidence, IndexHit, IndexHits, IndexQuery, Vector
from quoth.models.minilm import DIMENSIONS, NAME, MiniLMEmbedder
from quoth.ports import ChunkIndex, Embedder, Reader, TokenCounter

Mask = npt.NDArray[np.bool_]


class CorpusIndex:
    """As much of the port as a search needs, and the view of its only book. `keep` removes passages, as if they had
    never been ingested."""

    def __init__(self, corpus: Corpus, keep: Mask | None = None) -> None:
        self._corpus = corpus
        self._keep = keep

    def view(self, book_id: str) -> CorpusIndex:
        return self

    async def search(self, query: IndexQuery) -> IndexHits:
        dense = self._corpus.vectors @ np.array(query.dense, dtype=np.float32)
        sparse = self._corpus.sparse(query.sparse, self._keep)
        if self._keep is not None:
            dense, sparse = np.where(self._keep, dense, -2.0), np.where(self._keep, sparse, 0.0)
        return IndexHits(
            dense=self._hits(dense, query.limit, -2.0),
            sparse=self._hits(sparse, query.limit, 0.0),
            size=self._size,
            total_found=self._size,
        )

    async def idf(self, term_ids: Sequence[int]) -> dict[int, float]:
        return self._corpus.idf(term_ids, self._keep)

    @property
    def _size(self) -> int:
        return len(self._corpus.chunks) if self._keep is None else int(self._keep.sum())

    async def chunks(self, ids: Sequence[str]) -> list[Chunk]:
        return [self._corpus.chunks[self._corpus.at[one]] for one in ids]

    async def dense_vectors(self, ids: Sequence[str]) -> dict[str, Vector]:
        return {one: tuple(self._corpus.vectors[self._corpus.at[one]].tolist()) for one in ids}

    def _hits(self, scores: Floats, limit: int, above: float) -> tuple[IndexHit, ...]:
        order = best(scores, limit)
        return tuple(IndexHit(self._corpus.chunks[at].id, float(scores[at])) for at in order if scores[at] > above)


class KnownVectors:
    """An embedder that is given the vector of the next query."""

    name = NAME
    dimensions = DIMENSIONS

    def __init__(self) -> None:
        self.tokens: TokenCounter = MiniLMEmbedder().tokens
        self.next: Vector = ()

    async def embed_query(self, text: str) -> Vector:
        return self.next


class Searcher:
    """Without a reader the passages are not read."""

    def __init__(self, reader: Reader | None = None) -> None:
        self._embedder = KnownVectors()
        self._reader = reader

    async def find(self, corpus: Corpus, query: str, vector: Floats, limit: int, keep: Mask | None = None) -> Evidence:
        self._embedder.next = tuple(vector.tolist())
        index = cast(ChunkIndex, CorpusIndex(corpus, keep))
        retriever = Retriever(index, cast(Embedder, self._embedder), reader=self._reader)
        return await retriever.find(query, book_id="set", limit=limit)


# --- baselines -------------------------------------------------------------------------------------------------------

# Lucene's stop words.
STOP_WORDS = frozenset(
    """a an and are as at be but by for if in into is it no not of on or such that the their then there these they this
    to was will with""".split()  # noqa: SIM905 - a list of quoted words would be harder to read
)


class PlainBM25:
    """Lucene's BM25: k1 1.5, b 0.75, English stop words, Snowball stems."""

    def __init__(self, texts: Sequence[str], k1: float = 1.5, b: float = 0.75) -> None:
        self._stemmer = Stemmer.Stemmer("english")
        words = [self._words(text) for text in texts]
        lengths = np.array([len(one) for one in words], dtype=np.float32)
        norms = k1 * (1 - b + b * lengths / lengths.mean())
        self._size = len(texts)
        gathered: dict[str, tuple[list[int], list[int]]] = {}
        for position, one in enumerate(words):
            for word, count in Counter(one).items():
                listed = gathered.setdefault(word, ([], []))
                listed[0].append(position)
                listed[1].append(count)
        self._postings = {}
        for word, (where, counts) in gathered.items():
            at, often = np.array(where), np.array(counts, dtype=np.float32)
            idf = math.log(1 + (self._size - len(where) + 0.5) / (len(where) + 0.5))
            self._postings[word] = (at, idf * often / (often + norms[at]))

    def scores(self, query: str) -> Floats:
        scores = np.zeros(self._size, dtype=np.float32)
        for word in self._words(query):
            if word in self._postings:
                at, weights = self._postings[word]
                scores[at] += weights
        return scores

    def _words(self, text: str) -> list[str]:
        words = re.findall(r"\b\w\w+\b", text.lower())
        return [self._stemmer.stemWord(word) for word in words if word not in STOP_WORDS]


def best(scores: Floats, depth: int) -> list[int]:
    return [int(at) for at in np.argsort(-scores, kind="stable")[:depth]]


def reciprocal_ranks(bm25: Floats, dense: Floats, depth: int = 100, constant: int = 60) -> list[int]:
    """Equal weights; a tie goes to BM25, which is the better of the two on most sets."""
    scores: dict[int, float] = {}
    for scored in (bm25, dense):
        for rank, at in enumerate(best(scored, depth), start=1):
            scores[at] = scores.get(at, 0.0) + 1 / (constant + rank)
    return sorted(scores, key=lambda at: (-scores[at], -bm25[at], at))
