"""The chunks of all books in one Qdrant collection, as they are seen in one View.

Under `adapters/qdrant.py`. A point belongs to a book and knows the generation it was born in and, once it is replaced
or dropped, the one it is gone from. Whoever reads or writes names the View: a book between two generations. So two
versions of a chunk can stand side by side, and what is not yet published is in nobody's view. It must not know
which generation is live.

Every request is limited to one book: the collection keeps a graph for each book and none over all of them, and the
IDF of a term is that of the view.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import cast

from qdrant_client import models

from quoth.chunks.payload import ORDER_FIELDS, STORED_FIELDS, to_chunk, to_indexed, to_payload, to_stored
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
    conditions,
)
from quoth.errors import BadConfiguration, IndexUnavailable
from quoth.index.qdrant_client import AlreadyThere, CollectionMissing, Server
from quoth.index.qdrant_filters import (
    BORN,
    CHUNK_ID,
    GONE,
    INDEXES,
    PAGE,
    View,
    between,
    book,
    condition,
    each,
    index_params,
)

SPARSE = "sparse"
_READ = 256  # points with all their payload and vectors in one answer
# A book of so many chunks is compared whole in milliseconds; the graph of a larger one is looked through widely.
_EXACT_UP_TO = 20_000
_WIDTH = 256
_MOST_TIES = 8192
# What changes a whole book may take longer than a question.
_PATIENCE = 12.0

Scoring = tuple[models.Query | list[float] | models.SparseVector, str, models.SearchParams | None]


class Points:
    def __init__(self, server: Server, dimensions: int) -> None:
        self._server = server
        self._name = server.options.collection
        # By its size, so that books of several embedding models fit into one collection.
        self._dense = f"dense-{dimensions}"
        self._dimensions = dimensions
        self._ready = False

    async def prepare(self) -> None:
        """Make the collection and its indexes, or what is missing of them."""
        if self._ready:
            return
        try:
            found = await self._server.ask(lambda client: client.get_collection(self._name))
        except CollectionMissing:
            await self._create()
            found = await self._server.ask(lambda client: client.get_collection(self._name))
        if SPARSE not in (found.config.params.sparse_vectors or {}):
            raise BadConfiguration(
                f"The collection {self._name!r} at {self._server.name} was not made by Quoth.",
                hint="Choose another name: QDRANT_COLLECTION_NAME.",
            )
        if self._dense not in cast("dict[str, models.VectorParams]", found.config.params.vectors or {}):
            config = models.DenseVectorConfig(size=self._dimensions, distance=models.Distance.COSINE)
            await self._server.write(
                lambda client: client.create_vector_name(
                    self._name, self._dense, models.DenseVectorNameConfig(dense=config)
                )
            )
        for index in INDEXES:
            if index.field not in found.payload_schema:
                await self._server.write(
                    lambda client, index=index: client.create_payload_index(  # type: ignore[misc]
                        self._name, index.field, index_params(index)
                    ),
                    patience=_PATIENCE,
                )
        self._ready = True

    # --- reading --------------------------------------------------------------------------------------------------

    async def search(self, view: View, query: IndexQuery, size: int) -> IndexHits:
        """`size`: how many chunks the book has."""
        among = view.filter(*map(condition, conditions(query.filters)))
        scorings: list[Scoring] = [(list(query.dense), self._dense, _width(size, query.limit))]
        if query.sparse.ids:
            scorings.append((_sparse(query.sparse), SPARSE, _idf_of(view)))
        lists, total = await asyncio.gather(self._best(scorings, among, query.limit), self.count(view, query.filters))
        ranked = [tuple(IndexHit(_id(hit), hit.score) for hit in hits) for hits in lists]
        return IndexHits(dense=ranked[0], sparse=ranked[1] if query.sparse.ids else (), total_found=total)

    async def idf(self, view: View, term_ids: Sequence[int]) -> dict[int, float]:
        """The engine tells no document frequency, but the score of a single term is idf × its weight in the hit."""
        terms = list(dict.fromkeys(term_ids))
        requests = [
            models.QueryRequest(
                query=models.SparseVector(indices=[term], values=[1.0]),
                using=SPARSE,
                filter=view.filter(),
                params=_idf_of(view),
                limit=1,
                with_vector=[SPARSE],
                with_payload=False,
            )
            for term in terms
        ]
        if not requests:
            return {}
        answers = await self._server.ask(lambda client: client.query_batch_points(self._name, requests))
        found = {}
        for term, answer in zip(terms, answers, strict=True):
            for hit in answer.points:
                weights = _sparse_of(hit)
                found[term] = hit.score / weights.weights[weights.ids.index(term)]
        return found

    async def count(self, view: View, filters: Filters = Filters()) -> int:
        among = view.filter(*map(condition, conditions(filters)))
        return (await self._server.ask(lambda client: client.count(self._name, among, exact=True))).count

    async def chunks(self, view: View, ids: Sequence[str]) -> dict[str, Chunk]:
        return {_id(record): chunk_of(record) async for record in self._named(view, ids, with_payload=True)}

    async def known(self, view: View, ids: Sequence[str]) -> list[str]:
        return [_id(record) async for record in self._named(view, ids, with_payload=[CHUNK_ID])]

    async def dense_vectors(self, view: View, ids: Sequence[str]) -> dict[str, Vector]:
        records = self._named(view, ids, with_payload=[CHUNK_ID], with_vectors=[self._dense])
        return {_id(record): self._dense_of(record) async for record in records}

    async def page(self, view: View, parent_doc_id: str) -> list[Chunk]:
        among = view.filter(*map(condition, conditions(Filters(parent_doc_id=parent_doc_id))))
        chunks = [chunk_of(record) async for record in self._scroll(among, with_payload=True, limit=_READ)]
        return sorted(chunks, key=lambda chunk: (chunk.source_file, chunk.chunk_index, chunk.id))

    async def in_order(self, view: View, *, vectors: bool) -> AsyncIterator[models.Record]:
        """Every point by source file and position. One that has gone while we read is an error, never left out."""
        keys = []
        async for record in self._scroll(view.filter(), with_payload=[*ORDER_FIELDS, CHUNK_ID]):
            payload = record.payload or {}
            keys.append((*(payload[name] for name in ORDER_FIELDS), payload[CHUNK_ID], str(record.id)))
        point_ids = [key[-1] for key in sorted(keys)]
        wanted = [self._dense, SPARSE] if vectors else False
        for start in range(0, len(point_ids), _READ):
            bite = point_ids[start : start + _READ]
            records = await self._server.ask(
                lambda client, bite=bite: client.retrieve(  # type: ignore[misc]
                    self._name, bite, with_payload=True, with_vectors=wanted
                )
            )
            found = {str(record.id): record for record in records}
            for point_id in bite:
                if point_id not in found:
                    raise IndexUnavailable(
                        f"The book {view.book_id!r} was published twice while it was read.", hint="Read it again."
                    )
                yield found[point_id]

    async def stored(self, view: View) -> dict[str, StoredChunk]:
        records = self._scroll(view.filter(), with_payload=[*STORED_FIELDS, CHUNK_ID])
        return {_id(record): to_stored(_id(record), record.payload or {}) async for record in records}

    async def vectors(self, view: View, embed_hashes: Iterable[str]) -> dict[str, Vector]:
        found = {}
        for among in each(view, "embed_hash", dict.fromkeys(embed_hashes)):
            async for record in self._scroll(
                among, with_payload=["embed_hash"], with_vectors=[self._dense], limit=_READ
            ):
                found[(record.payload or {})["embed_hash"]] = self._dense_of(record)
        return found

    def indexed(self, record: models.Record) -> IndexedChunk:
        return to_indexed(_id(record), record.payload or {}, self._dense_of(record), _sparse_of(record))

    # --- writing --------------------------------------------------------------------------------------------------

    async def put(self, view: View, chunks: Sequence[IndexedChunk], *, before_each: Callable[[], None]) -> None:
        """First the new points, then the word to the old ones that they are gone."""
        for start in range(0, len(chunks), self._server.options.batch):
            bite = chunks[start : start + self._server.options.batch]
            points = [self._point(indexed, view.last) for indexed in bite]
            before_each()
            await self._server.write(lambda client, points=points: client.upsert(self._name, points))  # type: ignore[misc]
            await self._retire(view, [indexed.chunk.id for indexed in bite])

    async def drop(self, view: View, ids: Sequence[str]) -> None:
        await self._retire(view, ids)
        for among in each(replace(view, first=view.last), CHUNK_ID, ids):
            await self._delete(among)

    async def undo(self, view: View) -> None:
        """Nothing stays of a generation that was never published."""
        await self._delete(models.Filter(must=[book(view.book_id), between(BORN, view.last, None)]))
        marked = models.Filter(must=[book(view.book_id), between(GONE, view.last, None)])
        await self._server.write(
            lambda client: client.delete_payload(self._name, [GONE], models.FilterSelector(filter=marked)),
            patience=_PATIENCE,
        )

    async def forget(self, view: View) -> None:
        """Whatever only a view before this one holds."""
        before: list[models.Condition] = [between(BORN, None, view.first - 1), between(GONE, None, view.last)]
        await self._delete(models.Filter(must=[book(view.book_id)], should=before))

    async def delete_book(self, book_id: str) -> None:
        await self._delete(models.Filter(must=[book(book_id)]))

    async def _retire(self, view: View, ids: Sequence[str]) -> None:
        if view.first == view.last:
            return  # of what came before, nothing is in view
        for among in each(replace(view, last=view.last - 1), CHUNK_ID, ids):
            await self._server.write(
                lambda client, among=among: client.set_payload(  # type: ignore[misc]
                    self._name, {GONE: view.last}, models.FilterSelector(filter=among)
                )
            )

    async def _delete(self, among: models.Filter) -> None:
        selector = models.FilterSelector(filter=among)
        await self._server.write(lambda client: client.delete(self._name, selector), patience=_PATIENCE)

    # --- the engine's words ---------------------------------------------------------------------------------------

    async def _create(self) -> None:
        options = self._server.options
        with suppress(AlreadyThere):
            await self._server.ask(
                lambda client: client.create_collection(
                    self._name,
                    vectors_config={
                        self._dense: models.VectorParams(size=self._dimensions, distance=models.Distance.COSINE)
                    },
                    sparse_vectors_config={SPARSE: models.SparseVectorParams(modifier=models.Modifier.IDF)},
                    # No graph over all books, one for each of them.
                    hnsw_config=models.HnswConfigDiff(m=0, payload_m=16),
                    shard_number=options.shards,
                    replication_factor=options.replicas,
                    write_consistency_factor=options.write_consistency or options.replicas,
                ),
                patience=_PATIENCE,
            )

    async def _best(
        self, scorings: Sequence[Scoring], among: models.Filter, limit: int
    ) -> list[list[models.ScoredPoint]]:
        first = await self._ranked(scorings, among, limit + 1)
        return [await self._settle(hits, limit, scoring, among) for hits, scoring in zip(first, scorings, strict=True)]

    async def _settle(
        self, hits: list[models.ScoredPoint], limit: int, scoring: Scoring, among: models.Filter
    ) -> list[models.ScoredPoint]:
        """The best `limit`, ties by id. The engine cuts among equals at random, so a tie at the cut is asked whole."""
        asked = limit + 1
        while len(hits) == asked and hits[-1].score == hits[limit - 1].score and asked < _MOST_TIES:
            asked *= 4
            [hits] = await self._ranked([scoring], among, asked)
        return hits[:limit]

    async def _ranked(
        self, scorings: Sequence[Scoring], among: models.Filter, limit: int
    ) -> list[list[models.ScoredPoint]]:
        requests = [
            models.QueryRequest(
                query=query, using=using, params=params, filter=among, limit=limit, with_payload=[CHUNK_ID]
            )
            for query, using, params in scorings
        ]
        answers = await self._server.ask(lambda client: client.query_batch_points(self._name, requests))
        return [sorted(answer.points, key=lambda hit: (-hit.score, _id(hit))) for answer in answers]

    async def _named(
        self,
        view: View,
        ids: Sequence[str],
        *,
        with_payload: bool | list[str],
        with_vectors: bool | list[str] = False,
    ) -> AsyncIterator[models.Record]:
        for among in each(view, CHUNK_ID, ids):
            async for record in self._scroll(among, with_payload=with_payload, with_vectors=with_vectors, limit=_READ):
                yield record

    async def _scroll(
        self,
        among: models.Filter,
        *,
        with_payload: bool | list[str],
        with_vectors: bool | list[str] = False,
        limit: int = PAGE,
    ) -> AsyncIterator[models.Record]:
        offset: models.ExtendedPointId | None = None
        while True:
            records, offset = await self._server.ask(
                lambda client, offset=offset: client.scroll(  # type: ignore[misc]
                    self._name,
                    among,
                    limit=limit,
                    offset=offset,
                    with_payload=with_payload,
                    with_vectors=with_vectors,
                )
            )
            for record in records:
                yield record
            if offset is None:
                return

    def _point(self, indexed: IndexedChunk, born: int) -> models.PointStruct:
        chunk_id = indexed.chunk.id
        return models.PointStruct(
            id=point_id(chunk_id, born),
            vector={self._dense: list(indexed.dense), SPARSE: _sparse(indexed.sparse)},
            payload={**to_payload(indexed), CHUNK_ID: chunk_id, BORN: born},
        )

    def _dense_of(self, record: models.Record) -> Vector:
        return tuple(cast("dict[str, list[float]]", record.vector)[self._dense])


def point_id(chunk_id: str, born: int) -> str:
    """From the input, so that a write may be repeated; one for each version, so that two can stand side by side."""
    return str(uuid.uuid5(uuid.UUID(chunk_id), f"born {born}"))


def _width(size: int, limit: int) -> models.SearchParams:
    if size <= _EXACT_UP_TO:
        return models.SearchParams(exact=True)
    return models.SearchParams(hnsw_ef=max(_WIDTH, 4 * limit))


def _idf_of(view: View) -> models.SearchParams:
    return models.SearchParams(idf=models.IdfCorpusParams(corpus=view.filter()))


def _sparse(terms: TermWeights) -> models.SparseVector:
    return models.SparseVector(indices=list(terms.ids), values=list(terms.weights))


def _sparse_of(record: models.Record | models.ScoredPoint) -> TermWeights:
    sparse = cast("dict[str, models.SparseVector]", record.vector)[SPARSE]
    return TermWeights(ids=tuple(sparse.indices), weights=tuple(sparse.values))


def _id(record: models.Record | models.ScoredPoint) -> str:
    return str((record.payload or {})[CHUNK_ID])


def chunk_of(record: models.Record | models.ScoredPoint) -> Chunk:
    return to_chunk(_id(record), record.payload or {})
