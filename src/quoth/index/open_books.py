"""The books that are open for reading: between `embedded`, which is asked, and the columns and payloads of each book.

A `Book` is a base and what has changed since, read as one; it never changes and is safe in any number of threads.
`OpenBooks` keeps the last used ones. It follows the pointer file at every call, so the next call sees a publication by
any process; a book that is replaced lives on until the last call that holds it is done. If only changes were published,
the base stays open.
"""

from __future__ import annotations

import math
import threading
from array import array
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from quoth.chunks.payload import check_fingerprint, to_chunk, to_indexed
from quoth.domain import Chunk, Filters, Fingerprint, IndexedChunk, IndexHit, IndexHits, IndexQuery, TermWeights
from quoth.index.generations import Generations, Pointer, Stamp, damaged
from quoth.index.inventory import INVENTORY

if TYPE_CHECKING:
    from quoth.index.base import Base
    from quoth.index.changes import Changes
    from quoth.index.columns import Columns, Ranked

_MOST_KEPT = 2_000  # chunks of a book that stay in memory: questions often need the same passages


class Payloads(Protocol):
    def __getitem__(self, row: int, /) -> Mapping[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Layer:
    """The base without what is gone, or the changes."""

    columns: Columns
    payloads: Payloads

    def points(self, rows: Mapping[str, int]) -> Iterator[tuple[str, IndexedChunk]]:
        for id, row in rows.items():
            dense = tuple(self.columns.rows.vectors[row].tolist())
            yield id, to_indexed(id, self.payloads[row], dense, self.columns.rows.sparse(row))

    def chunks(self, rows: Mapping[str, int]) -> Iterator[tuple[str, Chunk]]:
        for id, row in rows.items():
            yield id, to_chunk(id, self.payloads[row])


class Book:
    def __init__(self, base: Base, changes: Changes) -> None:
        self.base = base
        self._layers = [Layer(base.columns.without(changes.gone), base.payloads)]
        if changes.points:
            self._layers.append(Layer(changes.columns, changes.payloads))
        self._size = sum(len(layer.columns) for layer in self._layers)
        self._chunks: dict[str, Chunk] = {}

    def search(self, queries: Sequence[IndexQuery]) -> list[IndexHits]:
        from quoth.index.columns import Asked

        asked = [Asked(one.dense, self._weights(one.sparse), one.filters, one.limit) for one in queries]
        found = zip(*(layer.columns.best(asked) for layer in self._layers), strict=True)
        return [
            IndexHits(
                dense=_best([near for near, _ in lists], one.limit),
                sparse=_best([worded for _, worded in lists], one.limit),
                size=self._size,
                total_found=self.count(one.filters),
            )
            for one, lists in zip(queries, found, strict=True)
        ]

    def _weights(self, terms: TermWeights) -> dict[int, float]:
        rarity = self.idf(terms.ids)
        return {id: weight * rarity[id] for id, weight in zip(terms.ids, terms.weights, strict=True) if id in rarity}

    def idf(self, terms: Collection[int]) -> dict[int, float]:
        counted = [layer.columns.holders(terms) for layer in self._layers]
        holders = {term: sum(counts.get(term, 0) for counts in counted) for term in terms}
        return {term: math.log(1 + (self._size - n + 0.5) / (n + 0.5)) for term, n in holders.items() if n}

    def count(self, filters: Filters) -> int:
        return sum(layer.columns.count(filters) for layer in self._layers)

    def chunks(self, ids: Iterable[str]) -> dict[str, Chunk]:
        wanted = set(ids)
        known = {id: chunk for id in wanted if (chunk := self._chunks.get(id)) is not None}
        read: dict[str, Chunk] = {}
        for layer in self._layers:
            read.update(layer.chunks(layer.columns.find(wanted - known.keys())))
        # Start anew when it is full: by then other passages may be needed.
        kept = self._chunks if len(self._chunks) + len(read) <= _MOST_KEPT else {}
        kept.update(read)
        self._chunks = kept
        return known | read

    def points(self, ids: Iterable[str]) -> dict[str, IndexedChunk]:
        wanted = list(ids)
        return {id: point for layer in self._layers for id, point in layer.points(layer.columns.find(wanted))}

    def dense_vectors(self, ids: Iterable[str]) -> dict[str, array[float]]:
        wanted = list(ids)
        return {
            id: array("f", layer.columns.rows.vectors[row].tobytes())
            for layer in self._layers
            for id, row in layer.columns.find(wanted).items()
        }

    def page(self, parent_doc_id: str) -> list[Chunk]:
        filters = Filters(parent_doc_id=parent_doc_id)
        found = [chunk for layer in self._layers for _, chunk in layer.chunks(layer.columns.matching(filters))]
        return sorted(found, key=lambda chunk: (chunk.source_file, chunk.chunk_index, chunk.id))

    def ids_in_order(self) -> list[str]:
        return [id for *_, id in sorted(place for layer in self._layers for place in layer.columns.places())]


def _best(lists: Sequence[Ranked], limit: int) -> tuple[IndexHit, ...]:
    best = lists[0] if len(lists) == 1 else sorted((hit for hits in lists for hit in hits), key=_rank)[:limit]
    return tuple(starmap(IndexHit, best))


def _rank(hit: tuple[str, float]) -> tuple[float, str]:
    return -hit[1], hit[0]


@dataclass(frozen=True, slots=True)
class Opened:
    stamp: Stamp
    pointer: Pointer
    book: Book


class OpenBooks:
    def __init__(self, index_dir: Path, fingerprint: Fingerprint, most: int) -> None:
        self._index_dir = index_dir
        self._fingerprint = fingerprint
        self._most = most
        self._lock = threading.Lock()
        self._opening: dict[str, threading.Lock] = {}
        self._open: OrderedDict[str, Opened] = OrderedDict()

    def book(self, book_id: str) -> Book:
        """The book as it is live now."""
        generations = Generations(self._index_dir, book_id)
        if (known := self._known(book_id, generations.stamp())) is not None:
            return known
        with self._lock:
            opening = self._opening.setdefault(book_id, threading.Lock())
        with opening:
            # Another thread may have opened it while we waited.
            if (known := self._known(book_id, generations.stamp())) is not None:
                return known
            opened = generations.steadily(lambda pointer, stamp: self._read(generations, pointer, stamp))
            self._put(book_id, opened)
            return opened.book

    def has(self, book_id: str) -> bool:
        with self._lock:
            return book_id in self._open

    def forget(self, book_id: str) -> None:
        with self._lock:
            self._open.pop(book_id, None)

    def clear(self) -> None:
        with self._lock:
            self._open.clear()

    def _put(self, book_id: str, opened: Opened) -> None:
        with self._lock:
            self._open[book_id] = opened
            self._open.move_to_end(book_id)
            while len(self._open) > self._most:
                self._open.popitem(last=False)

    def _known(self, book_id: str, stamp: Stamp) -> Book | None:
        with self._lock:
            known = self._open.get(book_id)
            if known is None or known.stamp != stamp:
                return None
            self._open.move_to_end(book_id)
            return known.book

    def _read(self, generations: Generations, pointer: Pointer, stamp: Stamp) -> Opened:
        # numpy is imported with the first book, not with the command line.
        from quoth.index.base import PAYLOADS, Base
        from quoth.index.changes import Changes

        check_fingerprint(generations.book_id, pointer.fingerprint, self._fingerprint)
        generations.check_format(pointer)
        with self._lock:
            known = self._open.get(generations.book_id)
        if known is not None and known.pointer.base_files == pointer.base_files:
            base = known.book.base
        else:
            # Payloads are compared line by line when they are read, the inventory when a draft reads it. Everything
            # else is compared here: damage would change scores without a sign.
            generations.check(pointer, whole=lambda name: name not in (PAYLOADS, INVENTORY))
            base = Base.open(generations.folder(pointer.base))
        book = Book(base, Changes.read(generations, pointer))
        if (found := book.count(Filters())) != pointer.chunks:
            problem = f"holds {found} chunks instead of {pointer.chunks}"
            raise damaged((generations.folder(pointer.base), problem))
        return Opened(stamp, pointer, book)
