"""A book as columns, searched with numpy: `open_books` asks, ranked ids come out.

A row is a chunk. Rows are in the order of their ids, so a tie between rows is a tie by id. A filter becomes one truth
value for each row (`fields`), so a filter that lets everything pass costs as little as a narrow one. By vector, a small
book has every row scored; in a larger one the rows whose signs differ least from the query's come first, and those are
scored exactly. By words, the lists of the query's terms are added up. All of it is numpy on whole columns, without the
interpreter's lock and in memory that each thread keeps. Searches that arrive at the same time run together.

The columns are mapped files of a base or arrays made of a few changes; this module must not know which, nor payloads
and generations. The reasons are in docs/decisions/0012.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quoth.batching import usable_cores
from quoth.chunks.payload import ORDER_FIELDS
from quoth.domain import Filters, TermWeights, Vector
from quoth.index.fields import Fields, Passing, Places

ID = np.dtype("S36")
_WORD = 64  # signs that are compared at once
_WORDS_IN_A_BYTE = 3  # words whose differences can be counted together in one byte
# Rows that are scored exactly: at least this many, and so many for each hit wanted. Of 100,000 rows the best 50 were
# among these 2,000 in 99.7 % of the cases.
_SCORED = 2_000
_SCORED_EACH = 40
_SAMPLE = 8  # every eighth row is looked at to estimate the cut-off
_WORTH_SPREADING = 50_000  # rows; with fewer, one core is done before another has begun
_MOST_FILTERS = 32  # remembered, with a byte for each row
_ROUNDING = 1e-6  # how far the length of a unit vector may be from 1

Ranked = list[tuple[str, float]]  # ids and scores, best first, ties by id
Floats = NDArray[np.float32]
Number = TypeVar("Number", bound=np.generic)
T = TypeVar("T")
A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class Rows:
    """What is kept of each chunk besides its payload."""

    ids: NDArray[np.bytes_]
    vectors: Floats  # of length 1
    starts: NDArray[np.int64]  # where the terms of each row begin, and where the last ones end
    terms: NDArray[np.uint32]
    weights: Floats
    fields: Fields

    def sparse(self, row: int) -> TermWeights:
        part = slice(int(self.starts[row]), int(self.starts[row + 1]))
        return TermWeights(tuple(self.terms[part].tolist()), tuple(self.weights[part].tolist()))


@dataclass(frozen=True, slots=True)
class TermLists:
    """For each term the rows that hold it, with its weight in each."""

    terms: NDArray[np.uint32]  # sorted
    starts: NDArray[np.int64]
    rows: NDArray[np.int32]
    weights: Floats

    @classmethod
    def of(cls, starts: NDArray[np.int64], terms: NDArray[np.uint32], weights: Floats) -> TermLists:
        """From the terms of each row."""
        order = np.argsort(terms, kind="stable")
        distinct, first = np.unique(terms[order], return_index=True)
        holders = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
        return cls(distinct, np.append(first, len(order)), holders[order], weights[order])

    def parts(self, terms: Collection[int]) -> Iterator[tuple[int, slice]]:
        """Where the lists of these terms are. Terms that no row holds are left out."""
        if not len(self.terms):
            return
        wanted = np.array([*terms], dtype=np.uint32)  # the type of the column: otherwise all of it would be converted
        places = np.minimum(np.searchsorted(self.terms, wanted), len(self.terms) - 1)
        held, starts, ends = self.terms[places] == wanted, self.starts[places], self.starts[places + 1]
        for term, is_held, start, end in zip(terms, held.tolist(), starts.tolist(), ends.tolist(), strict=True):
            if is_held:
                yield term, slice(start, end)


@dataclass(frozen=True, slots=True)
class Asked:
    dense: Vector
    terms: Mapping[int, float]  # and the weight of each
    filters: Filters
    limit: int


class Columns:
    def __init__(
        self, rows: Rows, signs: NDArray[np.uint64], lists: TermLists, gone: Places = np.empty(0, dtype=np.intp)
    ) -> None:
        self.rows = rows
        self.signs = signs
        self.lists = lists
        self._gone = frozenset(gone.tolist())  # rows that are no longer in the book
        # Remembered, because most questions with a filter come with the same one.
        self._passing: Callable[[Filters], Passing | None] = lru_cache(_MOST_FILTERS)(
            partial(_passing, rows.fields, gone)
        )

    @classmethod
    def of(cls, rows: Rows) -> Columns:
        return cls(rows, signs_of(rows.vectors), TermLists.of(rows.starts, rows.terms, rows.weights))

    def without(self, ids: Collection[str]) -> Columns:
        return Columns(self.rows, self.signs, self.lists, self._places(ids)) if ids else self

    def __len__(self) -> int:
        return len(self.rows.ids) - len(self._gone)

    # --- reading --------------------------------------------------------------------------------------------------

    def find(self, ids: Iterable[str]) -> dict[str, int]:
        """The rows of these ids. Unknown ids are left out."""
        found = [row for row in self._places(ids).tolist() if row not in self._gone]
        return dict(zip(self._names(found), found, strict=True))

    def matching(self, filters: Filters) -> dict[str, int]:
        passing = self._passing(filters)
        found = range(len(self.rows.ids)) if passing is None else np.flatnonzero(passing).tolist()
        return dict(zip(self._names(found), found, strict=True))

    def count(self, filters: Filters) -> int:
        passing = self._passing(filters)
        return len(self) if passing is None else int(np.count_nonzero(passing))

    def holders(self, terms: Collection[int]) -> dict[int, int]:
        """How many chunks hold each term."""
        return {term: part.stop - part.start - self._gone_terms.get(term, 0) for term, part in self.lists.parts(terms)}

    def places(self) -> list[tuple[str, int, str]]:
        """Source file, position and id of every chunk."""
        file, position = (self.rows.fields.column(field) for field in ORDER_FIELDS)
        return [(file[row], position[row], id) for id, row in self.matching(Filters()).items()]

    @cached_property
    def _gone_terms(self) -> Counter[int]:
        return Counter(term for row in self._gone for term in self.rows.sparse(row).ids)

    def _places(self, ids: Iterable[str]) -> Places:
        wanted = np.array([id for id in ids if len(id) == ID.itemsize and id.isascii()], dtype=ID)
        if not len(self.rows.ids):
            return np.empty(0, dtype=np.intp)
        places = np.minimum(np.searchsorted(self.rows.ids, wanted), len(self.rows.ids) - 1)
        found: Places = places[self.rows.ids[places] == wanted]
        return found

    def _names(self, rows: Sequence[int]) -> list[str]:
        names: list[str] = self.rows.ids[np.asarray(rows, dtype=np.intp)].astype(str).tolist()
        return names

    # --- searching ------------------------------------------------------------------------------------------------

    def best(self, asked: Sequence[Asked]) -> list[tuple[Ranked, Ranked]]:
        """For each query, the best by vector and the best by words. Long steps are spread over the cores. Short steps
        run one after another: threads that ran them at once would wait for the interpreter's lock longer than they
        would work."""
        passing = [self._passing(one.filters) for one in asked]
        queries = [unit(one.dense) for one in asked]
        rows = self._likely(queries, passing, [max(_SCORED, _SCORED_EACH * one.limit) for one in asked])
        scores = self._spread(self._scores, list(zip(queries, rows, strict=True)))
        return [
            (self._ranked(rows[n], scores[n], one.limit), self._worded(one.terms, passing[n], one.limit))
            for n, one in enumerate(asked)
        ]

    def _spread(self, work: Callable[[T], A], items: Sequence[T]) -> list[A]:
        return _spread(work, items) if len(self.rows.ids) >= _WORTH_SPREADING else [work(item) for item in items]

    def _likely(
        self, queries: Sequence[Floats], passing: Sequence[Passing | None], most: Sequence[int]
    ) -> list[Places]:
        """All rows that pass, if they are few; otherwise those whose signs differ least: about `most`, with all
        ties."""
        rows = [self._few(*one) for one in zip(passing, most, strict=True)]
        many = [n for n, found in enumerate(rows) if found is None]
        size = len(self.rows.ids)
        away = _desk.space("away", len(many) * size, np.uint16).reshape(len(many), size)
        self._spread(self._compare, list(zip([queries[n] for n in many], away, strict=True)))
        for n, differing in zip(many, away, strict=True):
            if (those := passing[n]) is not None:
                np.copyto(differing, len(queries[n]) + 1, where=~those)
            nearest = list(accumulate(np.bincount(differing[::_SAMPLE]).tolist()))
            rows[n] = np.flatnonzero(differing <= min(bisect_left(nearest, most[n] // _SAMPLE), len(queries[n])))
        return [found for found in rows if found is not None]

    def _few(self, passing: Passing | None, most: int) -> Places | None:
        if passing is None:
            return np.arange(len(self.rows.ids)) if len(self.rows.ids) <= most else None
        return np.flatnonzero(passing) if np.count_nonzero(passing) <= most else None

    def _compare(self, asked: tuple[Floats, NDArray[np.uint16]]) -> None:
        """Count in how many signs each row differs from the query."""
        query, away = asked
        words = signs_of(query[np.newaxis])
        away.fill(0)
        for start in range(0, len(words), _WORDS_IN_A_BYTE):
            columns = self.signs[start : start + _WORDS_IN_A_BYTE]
            differing = _desk.space("differing", columns.size, np.uint64).reshape(columns.shape)
            counted = _desk.space("counted", columns.size, np.uint8).reshape(columns.shape)
            some = _desk.space("some", len(away), np.uint8)
            np.bitwise_xor(columns, words[start : start + _WORDS_IN_A_BYTE], out=differing)
            np.bitwise_count(differing, out=counted)
            np.add(away, np.add.reduce(counted, axis=0, out=some), out=away)

    def _scores(self, asked: tuple[Floats, Places]) -> Floats:
        query, rows = asked
        vectors = self.rows.vectors
        if len(rows) < len(vectors):
            vectors = _desk.space("vectors", len(rows) * len(query), np.float32).reshape(len(rows), len(query))
            np.take(self.rows.vectors, rows, axis=0, out=vectors, mode="clip")
        # Row by row and not as a matrix, so that equal vectors score the same in any batch.
        scores: Floats = np.vecdot(vectors, query)
        return scores

    def _worded(self, terms: Mapping[int, float], passing: Passing | None, limit: int) -> Ranked:
        scores = _desk.space("scores", len(self.rows.ids), np.float32)
        scores.fill(0)
        for term, part in self.lists.parts(terms):
            np.add.at(scores, self.lists.rows[part], np.float32(terms[term]) * self.lists.weights[part])
        if passing is not None:
            scores *= passing
        rows = np.flatnonzero(scores > 0)
        return self._ranked(rows, scores[rows], limit)

    def _ranked(self, rows: Places, scores: Floats, limit: int) -> Ranked:
        if len(rows) > limit:
            kept = scores >= np.partition(scores, -limit)[-limit]
            rows, scores = rows[kept], scores[kept]
        # So few are sorted in Python: numpy would release the interpreter's lock, and getting it back takes longer than
        # that.
        best = sorted(zip((-scores).tolist(), rows.tolist(), strict=True))[:limit]
        return [(id, -score) for id, (score, _) in zip(self._names([row for _, row in best]), best, strict=True)]


def _passing(fields: Fields, gone: Places, filters: Filters) -> Passing | None:
    """None: every row passes."""
    passing = fields.passing(filters)
    passing[gone] = False
    return None if passing.all() else passing


class _Desk(threading.local):
    """Memory that a thread keeps for its work. Asking the system for it took longer than the search, and ten times as
    long while another thread did the same."""

    def __init__(self) -> None:
        self._spaces: dict[str, NDArray[Any]] = {}

    def space(self, name: str, size: int, kind: type[Number]) -> NDArray[Number]:
        """It holds whatever was left in it."""
        if name not in self._spaces or len(self._spaces[name]) < size:
            self._spaces[name] = np.empty(size, dtype=kind)
        return self._spaces[name][:size]


_desk = _Desk()
_others = ThreadPoolExecutor(usable_cores(), thread_name_prefix="quoth-columns")  # starts no thread until it is needed


def _spread(work: Callable[[T], A], items: Sequence[T]) -> list[A]:
    """Work on all items, in this thread and in one more for each further core. One item stays in this thread."""
    left = deque(enumerate(items))
    done: dict[int, A] = {}

    def help() -> None:
        while left:
            try:
                place, item = left.popleft()
            except IndexError:  # another thread was faster
                return
            done[place] = work(item)

    helping = [_others.submit(help) for _ in range(min(usable_cores(), len(items)) - 1)]
    help()
    for other in helping:
        other.result()
    return [done[place] for place in range(len(items))]


def unit(vectors: ArrayLike) -> Floats:
    """One vector or many, each of length 1. Vectors that already have it stay the same, bit for bit."""
    found = np.asarray(vectors, dtype=np.float32)
    lengths = np.linalg.norm(found, axis=-1, keepdims=True)
    scale = np.where((lengths > 0) & (np.abs(lengths - 1) > _ROUNDING), lengths, 1)
    return (found / scale).astype(np.float32, copy=False)


def signs_of(vectors: Floats) -> NDArray[np.uint64]:
    """A column for each vector, a word for each 64 dimensions."""
    padded = np.zeros((len(vectors), -(-vectors.shape[1] // _WORD) * _WORD), dtype=np.bool_)
    padded[:, : vectors.shape[1]] = vectors > 0
    return np.ascontiguousarray(np.packbits(padded, axis=1).view(np.uint64).T)
