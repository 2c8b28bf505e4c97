"""The chunks of all books in one Qdrant collection, as they are seen in one View.

Under `qdrant` and `qdrant_writer`. A point belongs to a book and knows the generation it was born in and, once it is
replaced or dropped, the one it is gone from. Every caller names the View: a book between two generations. So two
versions of a chunk can be there side by side, and what is not yet published is in no view. It must not know which
generation is live, nor how rare a term is.

Every request is limited to one book: the collection keeps a graph for each book and none over all of them. What a point
holds never changes except for `gone`, and its id is never used again, so points that were read are kept for the next
question.
"""

from __future__ import annotations

import uuid
from array import array
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from quoth.chunks.payload import ORDER_FIELDS, STORED_FIELDS, to_chunk, to_indexed, to_payload, to_stored
from quoth.domain import Chunk, Filters, IndexedChunk, StoredChunk, TermWeights, Vector, conditions
from quoth.errors import IndexUnavailable
from quoth.index.qdrant_filters import BORN, CHUNK_ID, GONE, PAGE, View, between, condition, each, is_
from quoth.index.qdrant_nodes import Node
from quoth.index.qdrant_server import Json, Server

TERMS = "terms"
_READ = 256  # points with all their payload and vectors in one answer
# A book of up to this many chunks is compared whole in milliseconds; the graph of a larger one is searched widely.
_EXACT_UP_TO = 20_000
_WIDTH = 256
_OVERSAMPLING = 2.0  # for vectors in bytes, if the collection has them; the best are compared again in full
_MOST_TIES = 8192
_MOST_KEPT = 2_000  # points that stay in memory: questions often need the same passages
# Times the usual timeout: a change of a whole book may take longer than a question.
_PATIENCE = 12.0

Record = dict[str, Any]  # a point as the server sends it


@dataclass(frozen=True, slots=True)
class Hit:
    chunk_id: str
    score: float
    point_id: str


@dataclass(frozen=True, slots=True)
class Held:
    """What one point holds, without its terms."""

    chunk: Chunk
    dense: array[float]


@dataclass(frozen=True, slots=True)
class Version:
    """What a chunk adds to the sums of its book."""

    chunk_id: str
    source_file: str
    terms: tuple[int, ...]


def dense_name(dimensions: int) -> str:
    """Named by its size, so that books of several embedding models fit into one collection."""
    return f"dense-{dimensions}"


class Points:
    def __init__(self, server: Server, dimensions: int) -> None:
        self._server = server
        self._path = f"/collections/{server.options.collection}/points"
        self._dense = dense_name(dimensions)
        self._kept: dict[str, Held] = {}

    # --- reading --------------------------------------------------------------------------------------------------

    async def search(
        self, view: View, dense: Vector, terms: TermWeights, filters: Filters, limit: int, *, size: int
    ) -> list[list[Hit]]:
        """The best by vector and the best by words, in one request. `terms` are already weighed; `size`: how many
        chunks the book has."""
        among = view.filter(*map(condition, conditions(filters)))
        searches = [{"query": {"nearest": list(dense)}, "using": self._dense, "params": _width(size, limit)}]
        if terms.ids:
            searches.append({"query": {"nearest": _sparse(terms)}, "using": TERMS})
        first = await self._ranked(searches, among, limit + 1, view.at)
        lists = [
            await self._settle(hits, limit, one, among, view.at) for hits, one in zip(first, searches, strict=True)
        ]
        return lists if terms.ids else [*lists, []]

    async def count(self, view: View, filters: Filters = Filters()) -> int:
        among = view.filter(*map(condition, conditions(filters)))
        body = {"filter": among, "exact": True}
        return int((await self._server.question(f"{self._path}/count", body, at=view.at))["count"])

    async def held(self, point_ids: Sequence[str], at: Node | None = None) -> dict[str, Held]:
        """By point id; those that are gone for good are left out."""
        missing = [point_id for point_id in point_ids if point_id not in self._kept]
        if missing:
            asked = {"ids": missing, "with_payload": True, "with_vector": [self._dense]}
            read = {
                record["id"]: Held(chunk_of(record), array("f", record["vector"][self._dense]))
                for record in await self._server.question(self._path, asked, at=at)
            }
            known = {point_id: self._kept[point_id] for point_id in point_ids if point_id in self._kept}
            # Start anew when it is full: by then other passages may be needed.
            if len(self._kept) + len(read) > _MOST_KEPT:
                self._kept = {}
            self._kept.update(read)
            return known | read
        return {point_id: self._kept[point_id] for point_id in point_ids}

    async def chunks(self, view: View, ids: Iterable[str]) -> dict[str, Chunk]:
        return {id_of(record): chunk_of(record) async for record in self._named(view, ids, with_payload=True)}

    async def dense_vectors(self, view: View, ids: Iterable[str]) -> dict[str, Vector]:
        records = self._named(view, ids, with_payload=[CHUNK_ID], with_vector=[self._dense])
        return {id_of(record): self._dense_of(record) async for record in records}

    async def page(self, view: View, parent_doc_id: str) -> list[Chunk]:
        among = view.filter(*map(condition, conditions(Filters(parent_doc_id=parent_doc_id))))
        records = self._scroll(among, view.at, with_payload=True, limit=_READ, soon=True)
        chunks = [chunk_of(record) async for record in records]
        return sorted(chunks, key=lambda chunk: (chunk.source_file, chunk.chunk_index, chunk.id))

    async def in_order(self, view: View, *, vectors: bool) -> AsyncIterator[Record]:
        """Every point by source file and position. One that disappears while we read is an error, never left out."""
        keys = []
        async for record in self._scroll(view.filter(), view.at, with_payload=[*ORDER_FIELDS, CHUNK_ID]):
            payload = record["payload"]
            keys.append((*(payload[name] for name in ORDER_FIELDS), payload[CHUNK_ID], record["id"]))
        point_ids = [key[-1] for key in sorted(keys)]
        wanted = [self._dense, TERMS] if vectors else False
        for start in range(0, len(point_ids), _READ):
            bite = point_ids[start : start + _READ]
            body = {"ids": bite, "with_payload": True, "with_vector": wanted}
            records = await self._server.read(self._path, body, at=view.at)
            found = {record["id"]: record for record in records}
            for point_id in bite:
                if point_id not in found:
                    raise IndexUnavailable(
                        f"The book {view.book_id!r} was published twice while it was read.", hint="Try again."
                    )
                yield found[point_id]

    async def stored(self, view: View, among: Iterable[Json]) -> dict[str, StoredChunk]:
        """What an ingest needs to know about the chunks that pass one of the view's filters."""
        return {
            id_of(record): to_stored(id_of(record), record["payload"])
            for one in among
            async for record in self._scroll(one, view.at, with_payload=[*STORED_FIELDS, CHUNK_ID])
        }

    async def vectors(self, view: View, embed_hashes: Iterable[str]) -> dict[str, Vector]:
        found = {}
        for among in each(view, "embed_hash", dict.fromkeys(embed_hashes)):
            async for record in self._scroll(
                among, view.at, with_payload=["embed_hash"], with_vector=[self._dense], limit=_READ
            ):
                found[record["payload"]["embed_hash"]] = self._dense_of(record)
        return found

    async def versions(self, view: View, ids: Collection[str]) -> list[Version]:
        """Those of these chunks that are in view, with everything that the sums count."""
        return [held for among in each(view, CHUNK_ID, ids) async for held in self._versions(view, among)]

    def all_versions(self, view: View) -> AsyncIterator[Version]:
        return self._versions(view, view.filter())

    async def _versions(self, view: View, among: Json) -> AsyncIterator[Version]:
        fields = [CHUNK_ID, "source_file"]
        async for record in self._scroll(among, view.at, with_payload=fields, with_vector=[TERMS]):
            yield Version(id_of(record), record["payload"]["source_file"], _terms_of(record).ids)

    def indexed(self, record: Record) -> IndexedChunk:
        return to_indexed(id_of(record), record["payload"], self._dense_of(record), _terms_of(record))

    # --- writing --------------------------------------------------------------------------------------------------

    async def put(self, view: View, chunks: Sequence[IndexedChunk], writer: str) -> None:
        """First write the new points, then mark the old ones as gone."""
        points = [self._point(indexed, view.last, writer) for indexed in chunks]
        await self._server.write(self._path, {"points": points}, method="PUT")
        await self.retire(view, [indexed.chunk.id for indexed in chunks])

    async def drop(self, view: View, ids: Sequence[str]) -> None:
        await self.retire(view, ids)
        for among in each(replace(view, first=view.last), CHUNK_ID, ids):
            await self._delete(among)

    async def undo(self, view: View) -> None:
        """Remove everything of a generation that was never published."""
        await self._delete({"must": [is_("book_id", view.book_id), between(BORN, view.last, None)]})
        marked = {"must": [is_("book_id", view.book_id), between(GONE, view.last, None)]}
        await self._server.write(f"{self._path}/payload/delete", {"keys": [GONE], "filter": marked}, patience=_PATIENCE)

    async def forget(self, view: View) -> None:
        """Remove what only an earlier view holds."""
        before = [between(BORN, None, view.first - 1), between(GONE, None, view.last)]
        await self._delete({"must": [is_("book_id", view.book_id)], "should": before})

    async def delete_book(self, book_id: str) -> None:
        await self._delete({"must": [is_("book_id", book_id)]})

    async def retire(self, view: View, ids: Sequence[str]) -> None:
        if view.first == view.last:
            return  # nothing from before is in view
        for among in each(replace(view, last=view.last - 1), CHUNK_ID, ids):
            await self._server.write(f"{self._path}/payload", {"payload": {GONE: view.last}, "filter": among})

    async def _delete(self, among: Json) -> None:
        await self._server.write(f"{self._path}/delete", {"filter": among}, patience=_PATIENCE)

    # --- the server's words ---------------------------------------------------------------------------------------

    async def _settle(self, hits: list[Hit], limit: int, search: Json, among: Json, at: Node | None) -> list[Hit]:
        """The best `limit`, ties by id. The server cuts ties at random, so a tie at the cut is fetched whole."""
        asked = limit + 1
        while len(hits) == asked and hits[-1].score == hits[limit - 1].score and asked < _MOST_TIES:
            asked *= 4
            [hits] = await self._ranked([search], among, asked, at)
        return hits[:limit]

    async def _ranked(self, searches: Sequence[Json], among: Json, limit: int, at: Node | None) -> list[list[Hit]]:
        both = {"filter": among, "limit": limit, "with_payload": [CHUNK_ID]}
        body = {"searches": [{**search, **both} for search in searches]}
        answers = await self._server.question(f"{self._path}/query/batch", body, at=at)
        return [
            sorted(
                (Hit(id_of(point), point["score"], point["id"]) for point in answer["points"]),
                key=lambda hit: (-hit.score, hit.chunk_id),
            )
            for answer in answers
        ]

    async def _named(
        self,
        view: View,
        ids: Iterable[str],
        *,
        with_payload: bool | list[str],
        with_vector: bool | list[str] = False,
    ) -> AsyncIterator[Record]:
        for among in each(view, CHUNK_ID, ids):
            async for record in self._scroll(
                among, view.at, with_payload=with_payload, with_vector=with_vector, limit=_READ, soon=True
            ):
                yield record

    async def _scroll(
        self,
        among: Json,
        at: Node | None,
        *,
        with_payload: bool | list[str],
        with_vector: bool | list[str] = False,
        limit: int = PAGE,
        soon: bool = False,
    ) -> AsyncIterator[Record]:
        """`soon`: somebody is waiting for it."""
        ask = self._server.question if soon else self._server.read
        body: Json = {"filter": among, "limit": limit, "with_payload": with_payload, "with_vector": with_vector}
        while True:
            found = await ask(f"{self._path}/scroll", body, at=at)
            for record in found["points"]:
                yield record
            if (offset := found.get("next_page_offset")) is None:
                return
            body = {**body, "offset": offset}

    def _point(self, indexed: IndexedChunk, born: int, writer: str) -> Json:
        chunk_id = indexed.chunk.id
        return {
            "id": point_id(chunk_id, born, writer),
            "vector": {self._dense: list(indexed.dense), TERMS: _sparse(indexed.sparse)},
            "payload": {**to_payload(indexed), CHUNK_ID: chunk_id, BORN: born},
        }

    def _dense_of(self, record: Record) -> Vector:
        return tuple(record["vector"][self._dense])


def point_id(chunk_id: str, born: int, writer: str) -> str:
    """Made from the input, so that a write may be repeated; one for each version and writer, so that two versions can
    be there side by side, and an id never means anything else again."""
    return str(uuid.uuid5(uuid.UUID(chunk_id), f"born {born} of {writer}"))


def _width(size: int, limit: int) -> Json:
    if size <= _EXACT_UP_TO:
        return {"exact": True}
    again = {"rescore": True, "oversampling": _OVERSAMPLING}
    return {"hnsw_ef": max(_WIDTH, 4 * limit), "quantization": again}


def _sparse(terms: TermWeights) -> Json:
    return {"indices": list(terms.ids), "values": list(terms.weights)}


def _terms_of(record: Record) -> TermWeights:
    sparse = record["vector"].get(TERMS) or {"indices": [], "values": []}
    return TermWeights(ids=tuple(sparse["indices"]), weights=tuple(sparse["values"]))


def id_of(record: Record) -> str:
    return str(record["payload"][CHUNK_ID])


def chunk_of(record: Record) -> Chunk:
    return to_chunk(id_of(record), record["payload"])
