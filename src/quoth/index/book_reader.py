"""A book of the embedded index as it was published: a base inside the engine, and what has changed since, as one.

Every read of the ChunkIndex port is answered here, synchronously; `edge` calls it from threads. Neither part changes
once it is published, so a book is safe to read from any number of threads and simply replaced by the next one.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from itertools import starmap
from typing import TYPE_CHECKING, TypeVar

from quoth.domain import Chunk, Filters, IndexedChunk, IndexHit, IndexHits, IndexQuery, TermWeights
from quoth.index.changes import NOTHING, Changes

if TYPE_CHECKING:
    from quoth.index.columns import Asked, Ranked
    from quoth.index.engine import Shard

T = TypeVar("T")

_MOST_COUNTS = 1024
_MOST_KEPT = 2_000  # chunks and vectors, as they were read: questions meet at the same passages


class EdgeBook:
    def __init__(self, base: Shard, changes: Changes = NOTHING) -> None:
        self.base = base
        self.changes = changes
        self._counts: dict[Filters, int] = {}
        self._chunks: dict[str, Chunk] = {}
        self._vectors: dict[str, array[float]] = {}  # packed: a twelfth of the room, and added up without Python
        self._size = base.count() - len(changes.gone) + len(changes.points)

    def search(self, queries: Sequence[IndexQuery]) -> list[IndexHits]:
        from quoth.index.columns import Asked

        asked = [Asked(one.dense, self._weights(one.sparse), one.filters, one.limit) for one in queries]
        found = self.base.best(asked, self.changes.gone)
        return [self._hits(one, *best) for one, best in zip(asked, found, strict=True)]

    def _weights(self, terms: TermWeights) -> dict[int, float]:
        rarity = self.idf(terms.ids)
        return {id: weight * rarity[id] for id, weight in zip(terms.ids, terms.weights, strict=True) if id in rarity}

    def _hits(self, query: Asked, near: Ranked, worded: Ranked) -> IndexHits:
        among = self.changes.passing(query.filters)
        if among:
            near = _merged(near, self.changes.near(query.dense, among), query.limit)
            worded = _merged(worded, self.changes.worded(query.terms, among), query.limit)
        return IndexHits(
            dense=tuple(starmap(IndexHit, near)),
            sparse=tuple(starmap(IndexHit, worded)),
            total_found=self.count(query.filters),
        )

    def idf(self, term_ids: Iterable[int]) -> dict[int, float]:
        found = {}
        for term in term_ids:
            holders = self.base.terms.holders(term) + self.changes.holders[term]
            if holders:
                found[term] = math.log(1 + (self._size - holders + 0.5) / (holders + 0.5))
        return found

    def count(self, filters: Filters = Filters()) -> int:
        if filters == Filters():
            return self._size
        # Nothing changes here, and who asks with a filter mostly asks with it again.
        if (known := self._counts.get(filters)) is None:
            known = self.base.count(filters, self.changes.gone) + len(self.changes.passing(filters))
            if len(self._counts) < _MOST_COUNTS:
                self._counts[filters] = known
        return known

    def chunks(self, ids: Iterable[str]) -> dict[str, Chunk]:
        found, unread = _known(ids, self._chunks)
        changed, unchanged = self._parted(unread)
        read = {id: self.changes.chunk(id) for id in changed} | self.base.chunks(unchanged)
        self._chunks = _kept(self._chunks, read)
        return found | read

    def points(self, ids: Iterable[str]) -> dict[str, IndexedChunk]:
        changed, unchanged = self._parted(ids)
        return {id: self.changes.indexed(id) for id in changed} | self.base.points(unchanged)

    def dense_vectors(self, ids: Iterable[str]) -> dict[str, array[float]]:
        found, unread = _known(ids, self._vectors)
        changed, unchanged = self._parted(unread)
        dense = {id: self.changes.points[id].dense for id in changed} | self.base.dense_vectors(unchanged)
        read = {id: array("f", vector) for id, vector in dense.items()}
        self._vectors = _kept(self._vectors, read)
        return found | read

    def page(self, parent_doc_id: str) -> list[Chunk]:
        found = [chunk for chunk in self.base.page(parent_doc_id) if chunk.id not in self.changes.gone]
        found += map(self.changes.chunk, self.changes.passing(Filters(parent_doc_id=parent_doc_id)))
        return sorted(found, key=lambda chunk: (chunk.source_file, chunk.chunk_index, chunk.id))

    def ids_in_order(self) -> list[str]:
        places = [place for place in self.base.places() if place[2] not in self.changes.gone]
        for id, point in self.changes.points.items():
            places.append((point.payload["source_file"], point.payload["chunk_index"], id))
        return [id for *_, id in sorted(places)]

    def _parted(self, ids: Iterable[str]) -> tuple[list[str], list[str]]:
        changed, unchanged = [], []
        for id in ids:
            if id in self.changes.points:
                changed.append(id)
            elif id not in self.changes.gone:
                unchanged.append(id)
        return changed, unchanged


def _known(ids: Iterable[str], kept: dict[str, T]) -> tuple[dict[str, T], list[str]]:
    found, unread = {}, []
    for id in ids:
        if (known := kept.get(id)) is None:
            unread.append(id)
        else:
            found[id] = known
    return found, unread


def _kept(before: dict[str, T], read: dict[str, T]) -> dict[str, T]:
    """Begun anew when there are too many: by then what is asked for may be other passages."""
    if len(before) + len(read) > _MOST_KEPT:
        before = {}
    before.update(read)
    return before


def _merged(one: Ranked, other: Ranked, limit: int) -> Ranked:
    from quoth.index.engine import rank

    return sorted([*one, *other], key=rank)[:limit]
