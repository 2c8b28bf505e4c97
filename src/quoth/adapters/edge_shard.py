"""One generation of one book inside Qdrant's engine: the only file that imports qdrant_edge.

Synchronous and blocking; `adapters/edge.py` calls it from threads. In come domain values, out come domain values;
every failure of the engine leaves as an error of ours. It must not know where generations live or which one is live.

What was seen of the engine and shapes this file: an exact scan of 10,000 chunks takes 2 ms, a graph takes half of it,
loses up to a third of the best 50 and takes 14 s to build, so there is none; deleted points still count in the
engine's own IDF, so every sparse query names the book as its IDF corpus; `retrieve` holds the GIL, queries and scrolls
do not; equal scores come in any order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import qdrant_edge as engine

from quoth.domain import (
    Chunk,
    Filters,
    IndexedChunk,
    IndexHit,
    IndexHits,
    IndexQuery,
    StoredChunk,
    TermWeights,
    Vector,
)
from quoth.errors import DiskFull, IndexUnavailable
from quoth.payload import (
    ORDER_FIELDS,
    PAYLOAD_INDEXES,
    STORED_FIELDS,
    Condition,
    PayloadIndex,
    conditions,
    is_chunk_id,
    to_chunk,
    to_indexed,
    to_payload,
    to_stored,
)

_DENSE = "dense"
_SPARSE = "sparse"
_PAGE = 1024
# `retrieve` and `update` hold the GIL: small bites keep the event loop breathing.
_BITE = 128
# In kB of vectors, and never reached: no graph is built.
_NO_GRAPH = 2**40
# Where many chunks score the same the cut among them is by id, up to so many.
_MOST_TIES = 8192
_NO_SPACE = re.compile(r"os error (28|122|27)\b|no space left|quota exceeded|file too large", re.IGNORECASE)

Scoring = tuple[engine.Query, engine.SearchParams | None]


class Shard:
    def __init__(self, shard: engine.EdgeShard, path: Path, book_id: str) -> None:
        self._shard = shard
        self._path = path
        self._book = engine.FieldCondition("book_id", match=engine.MatchValue(book_id))
        self._whole_book = engine.Filter(must=[self._book])
        self._idf_of_book = engine.SearchParams(idf=engine.IdfParams(corpus=self._whole_book))
        self._size: int | None = None

    @classmethod
    def create(cls, path: Path, book_id: str, dimensions: int) -> Shard:
        config = engine.EdgeConfig(
            vectors={_DENSE: engine.EdgeVectorParams(size=dimensions, distance=engine.Distance.Cosine)},
            sparse_vectors={_SPARSE: engine.EdgeSparseVectorParams(modifier=engine.Modifier.Idf)},
            optimizers=engine.EdgeOptimizersConfig(indexing_threshold=_NO_GRAPH, default_segment_number=1),
            wal_enabled=False,
        )
        with _translated("created", path):
            shard = cls(engine.EdgeShard.create(str(path), config), path, book_id)
            for index in PAYLOAD_INDEXES:
                shard._update(engine.UpdateOperation.create_field_index(index.field, _index_params(index)))
        return shard

    @classmethod
    def load(cls, path: Path, book_id: str) -> Shard:
        with _translated("opened", path):
            return cls(engine.EdgeShard.load(str(path)), path, book_id)

    # --- reading --------------------------------------------------------------------------------------------------

    def search(self, query: IndexQuery) -> IndexHits:
        with _translated("searched", self._path):
            among = self._filter(query.filters)
            scorings: list[Scoring] = [(engine.Query.Nearest(list(query.dense), using=_DENSE), None)]
            if query.sparse.ids:
                terms = engine.SparseVector(list(query.sparse.ids), list(query.sparse.weights))
                scorings.append((engine.Query.Nearest(terms, using=_SPARSE), self._idf_of_book))
            first = self._ask(scorings, among, query.limit + 1)
            lists = [
                self._settle(hits, query.limit, scoring, among) for hits, scoring in zip(first, scorings, strict=True)
            ]
            # The two lists overlap: each chunk is decoded once.
            found = {hit.id: hit for hits in lists for hit in hits}
            chunks = {known: to_chunk(str(known), hit.payload or {}) for known, hit in found.items()}
            ranked = [tuple(IndexHit(chunk=chunks[hit.id], score=hit.score) for hit in hits) for hits in lists]
            sparse = ranked[1] if query.sparse.ids else ()
            return IndexHits(dense=ranked[0], sparse=sparse, total_found=self.count(query.filters))

    def idf(self, term_ids: Sequence[int]) -> dict[int, float]:
        """The engine tells no document frequency, but the score of a single term is idf × its weight in the hit."""
        terms = list(dict.fromkeys(term_ids))
        with _translated("searched", self._path):
            answers = self._shard.query_batch(
                engine.QueryBatchRequest(
                    [
                        engine.QueryRequest(
                            limit=1,
                            query=engine.Query.Nearest(engine.SparseVector([term], [1.0]), using=_SPARSE),
                            filter=self._whole_book,
                            params=self._idf_of_book,
                            with_vector=[_SPARSE],
                        )
                        for term in terms
                    ]
                )
            )
        found = {}
        for term, hits in zip(terms, answers, strict=True):
            for hit in hits:
                weights = _sparse_of(hit)
                found[term] = hit.score / weights.weights[weights.ids.index(term)]
        return found

    def count(self, filters: Filters = Filters()) -> int:
        with _translated("counted", self._path):
            if filters != Filters():
                return self._shard.count(engine.CountRequest(exact=True, filter=self._filter(filters)))
            if self._size is None:
                self._size = self._shard.count(engine.CountRequest(exact=True, filter=self._whole_book))
            return self._size

    def chunks(self, ids: Iterable[str]) -> dict[str, Chunk]:
        records = self._retrieve(ids, with_payload=True, with_vector=False)
        return {str(record.id): to_chunk(str(record.id), record.payload or {}) for record in records}

    def points(self, ids: Iterable[str]) -> dict[str, IndexedChunk]:
        records = self._retrieve(ids, with_payload=True, with_vector=[_DENSE, _SPARSE])
        return {
            str(record.id): to_indexed(str(record.id), record.payload or {}, _dense_of(record), _sparse_of(record))
            for record in records
        }

    def known(self, ids: Iterable[str]) -> list[str]:
        return [str(record.id) for record in self._retrieve(ids, with_payload=False, with_vector=False)]

    def dense_vectors(self, ids: Iterable[str]) -> dict[str, Vector]:
        records = self._retrieve(ids, with_payload=False, with_vector=[_DENSE])
        return {str(record.id): _dense_of(record) for record in records}

    def page(self, parent_doc_id: str) -> list[Chunk]:
        among = self._filter(Filters(parent_doc_id=parent_doc_id))
        chunks = [to_chunk(str(record.id), record.payload or {}) for record in self._scroll(among, with_payload=True)]
        return sorted(chunks, key=lambda chunk: (chunk.source_file, chunk.chunk_index, chunk.id))

    def ids_in_order(self) -> list[str]:
        keys = []
        for record in self._scroll(self._whole_book, with_payload=list(ORDER_FIELDS)):
            payload = record.payload or {}
            keys.append((payload["source_file"], payload["chunk_index"], str(record.id)))
        return [chunk_id for *_, chunk_id in sorted(keys)]

    def stored(self) -> dict[str, StoredChunk]:
        records = self._scroll(self._whole_book, with_payload=list(STORED_FIELDS))
        return {str(record.id): to_stored(str(record.id), record.payload or {}) for record in records}

    def vectors(self, embed_hashes: Iterable[str]) -> dict[str, Vector]:
        wanted = list(dict.fromkeys(embed_hashes))
        found = {}
        for start in range(0, len(wanted), _PAGE):
            match = engine.MatchAny(wanted[start : start + _PAGE])
            among = engine.Filter(must=[self._book, engine.FieldCondition("embed_hash", match=match)])
            for record in self._scroll(among, with_payload=["embed_hash"], with_vector=[_DENSE]):
                found[(record.payload or {})["embed_hash"]] = _dense_of(record)
        return found

    # --- writing --------------------------------------------------------------------------------------------------

    def put(self, chunks: Sequence[IndexedChunk]) -> None:
        self._size = None
        with _translated("written", self._path):
            for start in range(0, len(chunks), _BITE):
                points = [_point(indexed) for indexed in chunks[start : start + _BITE]]
                self._update(engine.UpdateOperation.upsert_points(points))

    def drop(self, ids: Sequence[str]) -> None:
        self._size = None
        known = _uuids(ids)
        with _translated("written", self._path):
            for start in range(0, len(known), _PAGE):
                self._update(engine.UpdateOperation.delete_points(known[start : start + _PAGE]))

    def finish(self) -> None:
        """Sweep out what was deleted when it has become much, write everything down, and close.

        The engine leaves journals that the next opening folds in and removes. That opening has to be ours: readers
        in several processes would do it all at once.
        """
        with _translated("written", self._path):
            self._shard.optimize()
            self._shard.flush()
            self._shard.close()
            again = engine.EdgeShard.load(str(self._path))
            again.flush()
            again.close()

    def close(self) -> None:
        with _translated("closed", self._path):
            self._shard.close()

    # --- the engine's words ---------------------------------------------------------------------------------------

    def _update(self, operation: engine.UpdateOperation) -> None:
        self._shard.update(operation)

    def _ask(self, scorings: Sequence[Scoring], among: engine.Filter, limit: int) -> list[list[engine.ScoredPoint]]:
        """Payloads come along: fetching them afterwards would hold the GIL and take a quarter longer."""
        requests = [
            engine.QueryRequest(limit=limit, query=query, filter=among, params=params, with_payload=True)
            for query, params in scorings
        ]
        answers = self._shard.query_batch(engine.QueryBatchRequest(requests))
        return [sorted(hits, key=_rank) for hits in answers]

    def _settle(
        self, hits: list[engine.ScoredPoint], limit: int, scoring: Scoring, among: engine.Filter
    ) -> list[engine.ScoredPoint]:
        """The best `limit`, ties by id. The engine cuts among equals at random, so a tie at the cut is asked whole."""
        asked = limit + 1
        while len(hits) == asked and hits[-1].score == hits[limit - 1].score and asked < _MOST_TIES:
            asked *= 4
            [hits] = self._ask([scoring], among, asked)
        return hits[:limit]

    def _retrieve(
        self, ids: Iterable[str], *, with_payload: bool, with_vector: bool | list[str]
    ) -> Iterator[engine.Record]:
        known = _uuids(ids)
        with _translated("read", self._path):
            for start in range(0, len(known), _BITE):
                yield from self._shard.retrieve(known[start : start + _BITE], with_payload, with_vector)

    def _scroll(
        self, among: engine.Filter, *, with_payload: bool | list[str], with_vector: bool | list[str] = False
    ) -> Iterator[engine.Record]:
        offset = None
        with _translated("read", self._path):
            while True:
                records, offset = self._shard.scroll(
                    engine.ScrollRequest(
                        offset=offset, limit=_PAGE, filter=among, with_payload=with_payload, with_vector=with_vector
                    )
                )
                yield from records
                if offset is None:
                    return

    def _filter(self, filters: Filters) -> engine.Filter:
        return engine.Filter(must=[self._book, *map(_condition, conditions(filters))])


def _condition(wanted: Condition) -> engine.FieldCondition:
    match: engine.MatchPrefix | engine.MatchAny | engine.MatchValue
    if wanted.prefix is not None:
        match = engine.MatchPrefix(wanted.prefix)
    elif wanted.any_of:
        match = engine.MatchAny(list(wanted.any_of))
    elif wanted.equals is not None:
        match = engine.MatchValue(wanted.equals)
    else:
        return engine.FieldCondition(wanted.field, range=engine.RangeFloat(gte=wanted.least, lte=wanted.most))
    return engine.FieldCondition(wanted.field, match=match)


def _index_params(index: PayloadIndex) -> engine.KeywordIndexParams | engine.IntegerIndexParams:
    if index.kind == "integer":
        return engine.IntegerIndexParams(lookup=True, range=True)
    return engine.KeywordIndexParams(is_tenant=index.tenant or None, prefix=index.prefix or None)


def _point(indexed: IndexedChunk) -> engine.Point:
    sparse = engine.SparseVector(list(indexed.sparse.ids), list(indexed.sparse.weights))
    vectors: dict[str, engine.NamedVector] = {_DENSE: list(indexed.dense), _SPARSE: sparse}
    return engine.Point(indexed.chunk.id, vectors, dict(to_payload(indexed)))


def _dense_of(record: engine.Record) -> Vector:
    return tuple(cast("dict[str, list[float]]", record.vector)[_DENSE])


def _sparse_of(hit: engine.ScoredPoint | engine.Record) -> TermWeights:
    sparse = cast("dict[str, engine.SparseVector]", hit.vector)[_SPARSE]
    return TermWeights(ids=tuple(sparse.indices), weights=tuple(sparse.values))


def _rank(hit: engine.ScoredPoint) -> tuple[float, str]:
    return -hit.score, str(hit.id)


def _uuids(ids: Iterable[str]) -> list[engine.PointId]:
    return [chunk_id for chunk_id in ids if is_chunk_id(chunk_id)]


@contextmanager
def _translated(done: str, path: Path) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        # The engine raises bare Exception, and on damaged files a panic that is no Exception at all.
        if type(error) is not Exception and type(error).__name__ != "PanicException":
            raise
        if _NO_SPACE.search(str(error)):
            raise DiskFull(f"The disk of {path} is full: {error}.") from error
        raise IndexUnavailable(
            f"The index in {path} cannot be {done}: {error}.",
            hint="If it is damaged, build it again: `quoth ingest PATH --mode recreate`.",
        ) from error
