"""One generation of one book inside Qdrant's engine: the only file that imports qdrant_edge.

Synchronous and blocking; `adapters/edge.py` calls it from threads. In come domain values, out come domain values;
every failure of the engine leaves as an error of ours. It must not know where generations live or which one is live.

What was seen of the engine and shapes this file: opening it costs milliseconds for every payload index, so there are
two, one of which holds all that filters compare for equality; deleted points still count in the engine's own IDF, so
IDF is ours and comes with the query; an exact scan of 10,000 chunks takes 2 ms, a graph takes half of it, loses up to a
third of the best 50 and takes 14 s to build, so there is none; `retrieve` holds the GIL, queries and scrolls do not;
equal scores come in any order.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import qdrant_edge as engine

from quoth.adapters.inventory import TermCounts
from quoth.domain import (
    Chunk,
    Filters,
    IndexedChunk,
    IndexHit,
    IndexHits,
    IndexQuery,
    StoredChunk,
    Vector,
)
from quoth.errors import DiskFull, IndexUnavailable
from quoth.payload import ORDER_FIELDS, Payload, to_chunk, to_payload, to_stored

_DENSE = "dense"
_SPARSE = "sparse"
# A field of ours beside the payload: everything that filters compare for equality or by prefix, as one list of words.
_MARKS = "marks"
_CHAPTER = "chapter"
_PAGE = 1024
# `retrieve` and `update` hold the GIL: small bites keep the event loop breathing.
_BITE = 128
# In kB of vectors, and never reached: no graph is built.
_NO_GRAPH = 2**40
# Where many chunks score the same the cut among them is by id, up to so many.
_MOST_TIES = 8192
_NO_SPACE = re.compile(r"os error (28|122|27)\b|no space left|quota exceeded|file too large", re.IGNORECASE)

# Written before the engine's own files are changed and replayed at the next opening: nothing but a copy once they are.
_JOURNAL = "tracker_journal.dat"


class Shard:
    def __init__(self, shard: engine.EdgeShard, path: Path, terms: TermCounts) -> None:
        self._shard = shard
        self._path = path
        self._terms = terms
        self._size: int | None = None

    @classmethod
    def create(cls, path: Path, dimensions: int) -> Shard:
        config = engine.EdgeConfig(
            vectors={_DENSE: engine.EdgeVectorParams(size=dimensions, distance=engine.Distance.Cosine)},
            sparse_vectors={_SPARSE: engine.EdgeSparseVectorParams()},
            optimizers=engine.EdgeOptimizersConfig(indexing_threshold=_NO_GRAPH, default_segment_number=1),
            wal_enabled=False,
        )
        with _translated("created", path):
            shard = cls(engine.EdgeShard.create(str(path), config), path, TermCounts())
            words, numbers = engine.KeywordIndexParams(prefix=True), engine.IntegerIndexParams(lookup=False, range=True)
            shard._update(engine.UpdateOperation.create_field_index(_MARKS, words))
            shard._update(engine.UpdateOperation.create_field_index(_CHAPTER, numbers))
        return shard

    @classmethod
    def load(cls, path: Path) -> Shard:
        terms = TermCounts.load(path)
        with _translated("opened", path):
            return cls(engine.EdgeShard.load(str(path)), path, terms)

    # --- reading --------------------------------------------------------------------------------------------------

    def search(self, query: IndexQuery) -> IndexHits:
        with _translated("searched", self._path):
            among = _filter(query.filters)
            vectors = [engine.Query.Nearest(list(query.dense), using=_DENSE)]
            rarity = self.idf(query.sparse.ids)
            if rarity:
                weighted = zip(query.sparse.ids, query.sparse.weights, strict=True)
                terms = {term: weight * rarity[term] for term, weight in weighted if term in rarity}
                vector = engine.SparseVector(list(terms), list(terms.values()))
                vectors.append(engine.Query.Nearest(vector, using=_SPARSE))
            first = self._ask(vectors, among, query.limit + 1)
            lists = [
                self._settle(hits, query.limit, vector, among) for hits, vector in zip(first, vectors, strict=True)
            ]
            # The two lists overlap: each chunk is decoded once.
            found = {hit.id: hit for hits in lists for hit in hits}
            chunks = {known: to_chunk(str(known), hit.payload or {}) for known, hit in found.items()}
            ranked = [tuple(IndexHit(chunk=chunks[hit.id], score=hit.score) for hit in hits) for hits in lists]
            return IndexHits(dense=ranked[0], sparse=ranked[1] if rarity else (), total_found=self.count(query.filters))

    def idf(self, term_ids: Iterable[int]) -> dict[int, float]:
        return self._terms.idf(term_ids, self.count())

    def count(self, filters: Filters = Filters()) -> int:
        with _translated("counted", self._path):
            if filters != Filters():
                return self._shard.count(engine.CountRequest(exact=True, filter=_filter(filters)))
            if self._size is None:
                self._size = self._shard.count(engine.CountRequest(exact=True))
            return self._size

    def chunks(self, ids: Iterable[str]) -> dict[str, Chunk]:
        records = self._retrieve(ids, with_payload=True, with_vector=False)
        return {str(record.id): to_chunk(str(record.id), record.payload or {}) for record in records}

    def dense_vectors(self, ids: Iterable[str]) -> dict[str, Vector]:
        records = self._retrieve(ids, with_payload=False, with_vector=[_DENSE])
        return {str(record.id): _dense_of(record) for record in records}

    def page(self, parent_doc_id: str) -> list[Chunk]:
        among = _filter(Filters(parent_doc_id=parent_doc_id))
        chunks = [to_chunk(str(record.id), record.payload or {}) for record in self._scroll(among, with_payload=True)]
        return sorted(chunks, key=lambda chunk: (chunk.source_file, chunk.chunk_index, chunk.id))

    def ids_in_order(self) -> list[str]:
        keys = []
        for record in self._scroll(None, with_payload=list(ORDER_FIELDS)):
            payload = record.payload or {}
            keys.append((payload["source_file"], payload["chunk_index"], str(record.id)))
        return [chunk_id for *_, chunk_id in sorted(keys)]

    # --- writing --------------------------------------------------------------------------------------------------

    def put(self, chunks: Sequence[IndexedChunk]) -> list[StoredChunk]:
        """Returns what an ingest will want to know of them."""
        last = {indexed.chunk.id: indexed for indexed in chunks}
        payloads = {id: to_payload(indexed) for id, indexed in last.items()}
        self._count_out(last)
        with _translated("written", self._path):
            for start in range(0, len(last), _BITE):
                ids = list(last)[start : start + _BITE]
                points = [_point(last[id], payloads[id]) for id in ids]
                self._update(engine.UpdateOperation.upsert_points(points))
        for indexed in last.values():
            self._terms.add(indexed.sparse.ids)
        return [to_stored(id, payload) for id, payload in payloads.items()]

    def drop(self, ids: Sequence[str]) -> None:
        known = _uuids(ids)
        self._count_out(known)
        with _translated("written", self._path):
            for start in range(0, len(known), _PAGE):
                self._update(engine.UpdateOperation.delete_points(known[start : start + _PAGE]))

    def finish(self) -> None:
        """Sweep out what was deleted when it has become much, and write everything down. It stays open, to be read."""
        self._terms.save(self._path)
        with _translated("written", self._path):
            self._shard.optimize()
            self._shard.flush()
        # The next opening would replay and remove them, and readers in several processes would do it all at once.
        for journal in self._path.rglob(_JOURNAL):
            journal.unlink()

    def close(self) -> None:
        with _translated("closed", self._path):
            self._shard.close()

    # --- the engine's words ---------------------------------------------------------------------------------------

    def _update(self, operation: engine.UpdateOperation) -> None:
        self._shard.update(operation)

    def _ask(
        self, vectors: Sequence[engine.Query], among: engine.Filter | None, limit: int
    ) -> list[list[engine.ScoredPoint]]:
        """Payloads come along: fetching them afterwards would hold the GIL and take a quarter longer."""
        requests = [
            engine.QueryRequest(limit=limit, query=vector, filter=among, with_payload=True) for vector in vectors
        ]
        answers = self._shard.query_batch(engine.QueryBatchRequest(requests))
        return [sorted(hits, key=_rank) for hits in answers]

    def _settle(
        self, hits: list[engine.ScoredPoint], limit: int, vector: engine.Query, among: engine.Filter | None
    ) -> list[engine.ScoredPoint]:
        """The best `limit`, ties by id. The engine cuts among equals at random, so a tie at the cut is asked whole."""
        asked = limit + 1
        while len(hits) == asked and hits[-1].score == hits[limit - 1].score and asked < _MOST_TIES:
            asked *= 4
            [hits] = self._ask([vector], among, asked)
        return hits[:limit]

    def _count_out(self, ids: Iterable[engine.PointId]) -> None:
        """The terms of chunks that are about to be replaced or deleted."""
        self._size = None
        for record in self._retrieve(map(str, ids), with_payload=False, with_vector=[_SPARSE]):
            self._terms.remove(_terms_of(record))

    def _retrieve(
        self, ids: Iterable[str], *, with_payload: bool, with_vector: bool | list[str]
    ) -> Iterator[engine.Record]:
        known = _uuids(ids)
        with _translated("read", self._path):
            for start in range(0, len(known), _BITE):
                yield from self._shard.retrieve(known[start : start + _BITE], with_payload, with_vector)

    def _scroll(self, among: engine.Filter | None, *, with_payload: bool | list[str]) -> Iterator[engine.Record]:
        offset = None
        with _translated("read", self._path):
            while True:
                records, offset = self._shard.scroll(
                    engine.ScrollRequest(offset=offset, limit=_PAGE, filter=among, with_payload=with_payload)
                )
                yield from records
                if offset is None:
                    return


def _filter(filters: Filters) -> engine.Filter | None:
    conditions = [*_conditions(filters)]
    return engine.Filter(must=[*conditions]) if conditions else None


def _conditions(filters: Filters) -> Iterator[engine.FieldCondition]:
    for kind, wanted in _equal_to(filters):
        yield engine.FieldCondition(_MARKS, match=engine.MatchValue(_mark(kind, wanted)))
    if filters.source_url_prefix:
        yield engine.FieldCondition(_MARKS, match=engine.MatchPrefix(_mark("url", filters.source_url_prefix)))
    if filters.hardware_tier is not None:
        tiers = [_mark("tier", tier) for tier in range(1, filters.hardware_tier + 1)]
        yield engine.FieldCondition(_MARKS, match=engine.MatchAny(tiers))
    if filters.proficiency_levels:
        levels = [_mark("level", level) for level in filters.proficiency_levels]
        yield engine.FieldCondition(_MARKS, match=engine.MatchAny(levels))
    if filters.chapter_min is not None or filters.chapter_max is not None:
        chapters = engine.RangeFloat(gte=filters.chapter_min, lte=filters.chapter_max)
        yield engine.FieldCondition(_CHAPTER, range=chapters)


def _equal_to(filters: Filters) -> Iterator[tuple[str, str | int]]:
    found = {
        "section": filters.section,
        "module": filters.module,
        "lesson": filters.lesson,
        "layer": filters.layer,
        "page": filters.parent_doc_id,
    }
    return ((kind, wanted) for kind, wanted in found.items() if wanted is not None)


def _marks(chunk: Chunk) -> list[str]:
    marks = [_mark("section", heading) for heading in dict.fromkeys(chunk.heading_path)]
    for kind, value in (
        ("url", chunk.url),
        ("page", chunk.parent_doc_id),
        ("module", chunk.module),
        ("lesson", chunk.lesson),
        ("tier", chunk.hardware_tier),
        ("level", chunk.proficiency_level),
        ("layer", chunk.layer),
    ):
        if value is not None:
            marks.append(_mark(kind, value))
    return marks


def _mark(kind: str, value: str | int) -> str:
    return f"{kind}:{value}"


def _point(indexed: IndexedChunk, payload: Payload) -> engine.Point:
    sparse = engine.SparseVector(list(indexed.sparse.ids), list(indexed.sparse.weights))
    vectors: dict[str, engine.NamedVector] = {_DENSE: list(indexed.dense), _SPARSE: sparse}
    return engine.Point(indexed.chunk.id, vectors, {**payload, _MARKS: _marks(indexed.chunk)})


def _dense_of(record: engine.Record) -> Vector:
    return tuple(cast("dict[str, list[float]]", record.vector)[_DENSE])


def _terms_of(record: engine.Record) -> list[int]:
    return cast("dict[str, engine.SparseVector]", record.vector)[_SPARSE].indices


def _rank(hit: engine.ScoredPoint) -> tuple[float, str]:
    return -hit.score, str(hit.id)


def _uuids(ids: Iterable[str]) -> list[engine.PointId]:
    """The engine refuses a whole call for one id that is no UUID; to us that is simply an unknown id."""
    return [chunk_id for chunk_id in ids if _is_uuid(chunk_id)]


def _is_uuid(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False


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
