"""One generation of one book inside Qdrant's engine: the only file that imports qdrant_edge.

Synchronous and blocking; `adapters/edge.py` calls it from threads. In come domain values, out come domain values;
every failure of the engine leaves as an error of ours. It must not know where generations live or which one is live.

What was seen of the engine and shapes this file (docs/decisions/0012): opening it costs milliseconds for every payload
index, so there are two, one of which holds all that filters compare for equality; deleted points still count in the
engine's own IDF, so IDF is ours and comes with the query; there is no graph and every hit costs an object for its id,
so all but small books are searched by columns of ours (`edge_scan`); `retrieve` holds the GIL, queries and scrolls do
not; equal scores come in any order.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import cast

import qdrant_edge as engine

from quoth.chunks.payload import ORDER_FIELDS, Payload, is_chunk_id, to_chunk, to_indexed, to_payload, to_stored
from quoth.domain import Chunk, Condition, Filters, IndexedChunk, StoredChunk, TermWeights, Vector, conditions
from quoth.errors import DiskFull, IndexUnavailable
from quoth.index import columns
from quoth.index.columns import Asked, Ranked
from quoth.index.inventory import TermCounts

_DENSE = "dense"
_SPARSE = "sparse"
# A field of ours beside the payload: whatever filters compare for equality or by prefix, as one list of words.
_MARKS = "marks"
_MARKED = ("heading_path", "module", "lesson", "hardware_tier", "proficiency_level", "layer", "parent_doc_id")
_CHAPTER = "chapter"
_PAGE = 1024
# `retrieve` and `update` hold the GIL: small bites keep the event loop breathing.
_BITE = 128
# Every search is a scan. The engine calls this a graph without edges that is never large enough to be used.
_NO_GRAPH = engine.HnswIndexConfig(m=0, payload_m=0, ef_construct=4, full_scan_threshold=2**40)
# A large book is packed part by part while it is written: all at once would take twice its memory.
_PART = 20_000
_PARTS = 8
# Where many chunks score the same the cut among them is by id, up to so many.
_MOST_TIES = 8192
_LARGE = 2**20
# Asked beyond what is wanted where some of those found may be unwanted.
_SPARE = 16
_NO_SPACE = re.compile(r"os error (28|122|27)\b|no space left|quota exceeded|file too large", re.IGNORECASE)

# Written before the engine's own files are changed and replayed at the next opening: nothing but a copy once they are.
_JOURNAL = "tracker_journal.dat"


class Shard:
    def __init__(self, shard: engine.EdgeShard, path: Path, terms: TermCounts) -> None:
        self._shard = shard
        self._path = path
        self.terms = terms
        self._size: int | None = None
        self._loose = 0  # chunks that were written since it was last seen whether there is a part to pack

    @classmethod
    def create(cls, path: Path, dimensions: int, plain_up_to: int) -> Shard:
        """Every so many chunks are packed as they come: read from disk and no longer changed in memory."""
        kilobytes = max(1, plain_up_to * dimensions * 4 // 1024)
        config = engine.EdgeConfig(
            vectors={
                _DENSE: engine.EdgeVectorParams(
                    size=dimensions, distance=engine.Distance.Cosine, memory=engine.Memory.Cold
                )
            },
            sparse_vectors={_SPARSE: engine.EdgeSparseVectorParams()},
            hnsw_config=_NO_GRAPH,
            optimizers=engine.EdgeOptimizersConfig(indexing_threshold=kilobytes, default_segment_number=_PARTS),
            wal_enabled=False,
        )
        with _translated("created", path):
            shard = cls(engine.EdgeShard.create(str(path), config), path, TermCounts())
            words = engine.KeywordIndexParams(prefix=True, enable_hnsw=False)
            numbers = engine.IntegerIndexParams(lookup=False, range=True, enable_hnsw=False)
            shard._update(engine.UpdateOperation.create_field_index(_MARKS, words))
            shard._update(engine.UpdateOperation.create_field_index(_CHAPTER, numbers))
        return shard

    @classmethod
    def load(cls, path: Path) -> Shard:
        terms = TermCounts.load(path)
        _read_ahead(path)
        with _translated("opened", path):
            return cls(engine.EdgeShard.load(str(path)), path, terms)

    # --- reading --------------------------------------------------------------------------------------------------

    def best(self, asked: Sequence[Asked], without: Collection[str]) -> list[tuple[Ranked, Ranked]]:
        """The best by each vector for each that is asked."""
        if self._scan is not None:
            return self._scan.best(asked, without)
        with _translated("searched", self._path):
            return [self._best(one, without) for one in asked]

    def _best(self, one: Asked, without: Collection[str]) -> tuple[Ranked, Ranked]:
        among = _filter(one.filters)
        vectors = [engine.Query.Nearest(list(one.dense), using=_DENSE)]
        if one.terms:
            sparse = engine.SparseVector(list(one.terms), list(one.terms.values()))
            vectors.append(engine.Query.Nearest(sparse, using=_SPARSE))
        asked = one.limit + 1 + min(len(without), _SPARE)
        near, *worded = (
            self._settle(hits, asked, one.limit, vector, among, without)
            for hits, vector in zip(self._ask(vectors, among, asked), vectors, strict=True)
        )
        return near, worded[0] if worded else []

    def count(self, filters: Filters = Filters(), without: Collection[str] = ()) -> int:
        with _translated("counted", self._path):
            if self._size is None:
                self._size = self._shard.count(engine.CountRequest(exact=True))
            among = _filter(filters)
            if among is not None and self._scan is not None:
                return self._scan.count(filters, without)
            found = self._shard.count(engine.CountRequest(exact=True, filter=among)) if among else self._size
            if without and found:
                # Leaving them out of every search would cost a look at every chunk; these are few.
                unwanted = _filter(filters, engine.HasIdCondition({*without}))
                found -= self._shard.count(engine.CountRequest(exact=True, filter=unwanted))
            return found

    def chunks(self, ids: Iterable[str]) -> dict[str, Chunk]:
        records = self._retrieve(ids, with_payload=True, with_vector=False)
        return {str(record.id): to_chunk(str(record.id), record.payload or {}) for record in records}

    def points(self, ids: Iterable[str]) -> dict[str, IndexedChunk]:
        records = self._retrieve(ids, with_payload=True, with_vector=[_DENSE, _SPARSE])
        return {
            str(record.id): to_indexed(str(record.id), record.payload or {}, _dense_of(record), _sparse_of(record))
            for record in records
        }

    def dense_vectors(self, ids: Iterable[str]) -> dict[str, Vector]:
        records = self._retrieve(ids, with_payload=False, with_vector=[_DENSE])
        return {str(record.id): _dense_of(record) for record in records}

    def terms_of(self, ids: Iterable[str]) -> dict[str, tuple[int, ...]]:
        records = self._retrieve(ids, with_payload=False, with_vector=[_SPARSE])
        return {str(record.id): _sparse_of(record).ids for record in records}

    def page(self, parent_doc_id: str) -> list[Chunk]:
        among = _filter(Filters(parent_doc_id=parent_doc_id))
        return [to_chunk(str(record.id), record.payload or {}) for record in self._scroll(among, with_payload=True)]

    def places(self) -> Iterator[tuple[str, int, str]]:
        """Source file, position and id of every chunk, in any order."""
        for record in self._scroll(None, with_payload=list(ORDER_FIELDS)):
            payload = record.payload or {}
            yield payload["source_file"], payload["chunk_index"], str(record.id)

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
            self.terms.add(indexed.sparse.ids)
        self._loose += len(last)
        if self._loose >= _PART:
            self._pack()
        return [to_stored(id, payload) for id, payload in payloads.items()]

    def drop(self, ids: Sequence[str]) -> None:
        self._count_out(ids)
        known = _uuids(ids)
        with _translated("written", self._path):
            for start in range(0, len(known), _PAGE):
                self._update(engine.UpdateOperation.delete_points(known[start : start + _PAGE]))

    def finish(self, plain_up_to: int) -> None:
        """Sweep out what was deleted when it has become much, and write everything down; of more chunks than
        `plain_up_to` also the columns by which they are searched. It stays open, to be read."""
        self.terms.save(self._path)
        self._pack()
        with _translated("written", self._path):
            self._shard.flush()
        self.__dict__.pop("_scan", None)
        if self.count() > plain_up_to:
            columns.write(self._path, self._rows())
        else:
            columns.remove(self._path)
        # The next opening would replay and remove them, and readers in several processes would do it all at once.
        for journal in self._path.rglob(_JOURNAL):
            journal.unlink()

    def close(self) -> None:
        with _translated("closed", self._path):
            self._shard.close()

    # --- the engine's words ---------------------------------------------------------------------------------------

    @cached_property
    def _scan(self) -> columns.Scan | None:
        return columns.Scan.of(self._path)

    def _rows(self) -> Iterator[list[columns.Row]]:
        records = self._scroll(None, with_payload=list(columns.FIELDS), with_vector=True)
        while some := list(islice(records, _PAGE)):
            yield [(str(one.id), _dense_of(one), _sparse_of(one), one.payload or {}) for one in some]

    def _pack(self) -> None:
        """The engine sees itself whether there is enough of it, and sweeps out what was deleted when it is much."""
        self._loose = 0
        with _translated("written", self._path):
            self._shard.optimize()

    def _update(self, operation: engine.UpdateOperation) -> None:
        self._shard.update(operation)

    def _ask(self, vectors: Sequence[engine.Query], among: engine.Filter | None, limit: int) -> list[Ranked]:
        requests = [engine.QueryRequest(limit=limit, query=vector, filter=among) for vector in vectors]
        answers = self._shard.query_batch(engine.QueryBatchRequest(requests))
        return [sorted(((str(hit.id), hit.score) for hit in hits), key=rank) for hits in answers]

    def _settle(
        self,
        hits: Ranked,
        asked: int,
        limit: int,
        vector: engine.Query,
        among: engine.Filter | None,
        without: Collection[str],
    ) -> Ranked:
        """The best `limit`, ties by id. The engine cuts among equals at random, so a tie at the cut is asked whole; and
        more is asked where too many of those found are unwanted."""
        while True:
            wanted = [hit for hit in hits if hit[0] not in without]
            whole = len(hits) < asked or asked >= _MOST_TIES
            if whole or (len(wanted) >= limit and hits[-1][1] < wanted[limit - 1][1]):
                return wanted[:limit]
            asked *= 4
            [hits] = self._ask([vector], among, asked)

    def _count_out(self, ids: Iterable[str]) -> None:
        """The terms of chunks that are about to be replaced or deleted."""
        self._size = None
        for terms in self.terms_of(ids).values():
            self.terms.remove(terms)

    def _retrieve(
        self, ids: Iterable[str], *, with_payload: bool, with_vector: bool | list[str]
    ) -> Iterator[engine.Record]:
        known = _uuids(ids)
        with _translated("read", self._path):
            for start in range(0, len(known), _BITE):
                yield from self._shard.retrieve(known[start : start + _BITE], with_payload, with_vector)

    def _scroll(
        self, among: engine.Filter | None, *, with_payload: bool | list[str], with_vector: bool = False
    ) -> Iterator[engine.Record]:
        """In the order of ids."""
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


def _filter(filters: Filters, *more: engine.HasIdCondition) -> engine.Filter | None:
    wanted = [_condition(condition) for condition in conditions(filters)]
    return engine.Filter(must=[*wanted, *more]) if wanted or more else None


def _condition(wanted: Condition) -> engine.FieldCondition:
    if wanted.field == _CHAPTER:
        return engine.FieldCondition(_CHAPTER, range=engine.RangeFloat(gte=wanted.least, lte=wanted.most))
    match: engine.MatchPrefix | engine.MatchAny | engine.MatchValue
    if wanted.prefix is not None:
        match = _begins_with(wanted.prefix)
    elif wanted.any_of:
        match = engine.MatchAny([_mark(wanted.field, value) for value in wanted.any_of])
    elif wanted.equals is not None:
        match = engine.MatchValue(_mark(wanted.field, wanted.equals))
    else:
        # Tiers are few and counted from one.
        match = engine.MatchAny([_mark(wanted.field, value) for value in range(1, (wanted.most or 0) + 1)])
    return engine.FieldCondition(_MARKS, match=match)


def _begins_with(prefix: str) -> engine.MatchPrefix | engine.MatchValue:
    """The engine takes time for every different value with the prefix, so it gets the fewest: folders, then pages."""
    if prefix.endswith("/") and "#" not in prefix:
        return engine.MatchValue(_mark("folder", prefix))
    return engine.MatchPrefix(_mark("url" if "#" in prefix else "page_url", prefix))


def _marks(payload: Payload) -> list[str]:
    url = str(payload["url"])
    page, anchor, _ = url.partition("#")
    marks = [_mark("page_url", page), *([_mark("url", url)] if anchor else [])]
    marks += [_mark("folder", page[: place + 1]) for place, letter in enumerate(page) if letter == "/"]
    for field in _MARKED:
        value = payload[field]
        values = value if isinstance(value, list) else [value]
        marks.extend(_mark(field, one) for one in values if isinstance(one, str | int))
    return marks


def _mark(field: str, value: str | int) -> str:
    return f"{field}={value}"


def _point(indexed: IndexedChunk, payload: Payload) -> engine.Point:
    sparse = engine.SparseVector(list(indexed.sparse.ids), list(indexed.sparse.weights))
    vectors: dict[str, engine.NamedVector] = {_DENSE: list(indexed.dense), _SPARSE: sparse}
    return engine.Point(indexed.chunk.id, vectors, {**payload, _MARKS: _marks(payload)})


def _dense_of(record: engine.Record) -> Vector:
    return tuple(cast("dict[str, list[float]]", record.vector)[_DENSE])


def _sparse_of(record: engine.Record) -> TermWeights:
    sparse = cast("dict[str, engine.SparseVector]", record.vector)[_SPARSE]
    return TermWeights(ids=tuple(sparse.indices), weights=tuple(sparse.values))


def rank(hit: tuple[str, float]) -> tuple[float, str]:
    return -hit[1], hit[0]


def _uuids(ids: Iterable[str]) -> list[engine.PointId]:
    return [chunk_id for chunk_id in ids if is_chunk_id(chunk_id)]


def _read_ahead(folder: Path) -> None:
    """From front to back, so that they are in memory when the engine maps them: it would fetch them page by page, which
    took 15 s of a book of 100,000 chunks where this takes one."""
    for file in (Path(where, name) for where, _, names in os.walk(folder) for name in names):
        try:
            if file.stat().st_blocks * 512 > _LARGE:
                with file.open("rb", buffering=0) as reader:
                    while reader.read(_LARGE):
                        pass
        except OSError:
            continue  # it may just be removed; if not, the engine will say what is wrong


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
