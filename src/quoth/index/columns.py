"""A large book as columns beside the engine, by which it is searched: what a base of over `plain_up_to` chunks gets.

Written once from all points of a base (`write`), mapped by every reader (`Scan`), never changed. A row is a chunk, in
the order of ids, so that a tie between rows is a tie by id. Filters become one truth value for each row, so that one
that lets everything pass costs no more than one that does not. By vector, the rows whose signs differ least from the
query's are found first and scored exactly after; by words, the lists of the query's terms are added up. All of it is
numpy at work on whole columns, without the interpreter's lock and in memory that each thread keeps; searches that are
asked at the same time go together, on all cores.

It must not know the engine, nor which base is live. Scores are those of the engine (docs/decisions/0012).
"""

from __future__ import annotations

import json
import shutil
import threading
from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from quoth.batching import usable_cores
from quoth.domain import Condition, Filters, TermWeights, Vector, conditions
from quoth.errors import IndexUnavailable
from quoth.index.inventory import REBUILD_HINT

# What filters look at.
FIELDS = (
    "url",
    "heading_path",
    "module",
    "chapter",
    "lesson",
    "hardware_tier",
    "proficiency_level",
    "layer",
    "parent_doc_id",
)
_FOLDER = "scan"
_MARKS = "marks.json"
_VECTORS = "vectors.dat"
_ID = "S36"
_WORD = 64  # signs that are compared at once
_WORDS_IN_A_BYTE = 3  # whose differences are counted before there are more than a byte can hold
# Rows that are scored exactly, at least and for each one wanted: of 100,000 the best 50 were among 2,000 in 99.7 % of
# the cases.
_SCORED = 2_000
_SCORED_EACH = 40
_SAMPLE = 8  # every so manieth row tells how far away the nearest ones are
_WORTH_SPREADING = 50_000  # rows: with fewer, one core is done before another has begun
_MOST_FILTERS = 32  # remembered, with a byte for each row

Row = tuple[str, Vector, TermWeights, Mapping[str, Any]]  # id, vectors and FIELDS of a chunk
Ranked = list[tuple[str, float]]  # ids and scores, best first, ties by id
Floats = NDArray[np.float32]
Rows = NDArray[np.int32]
Passing = NDArray[np.bool_]
Number = TypeVar("Number", bound=np.generic)
T = TypeVar("T")
A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class Asked:
    dense: Vector
    terms: Mapping[int, float]  # and what each weighs
    filters: Filters
    limit: int


class Scan:
    def __init__(self, folder: Path) -> None:
        try:
            self._ids: NDArray[np.bytes_] = _mapped(folder, "ids")
            flat = np.memmap(folder / _VECTORS, dtype=np.float32, mode="r").view(np.ndarray)
            self._vectors: Floats = flat.reshape(len(self._ids), -1)
            self._signs: NDArray[np.uint64] = _mapped(folder, "signs")
            self._terms: NDArray[np.uint32] = _mapped(folder, "terms")
            self._term_lists = _Lists(folder, "term")
            self._weights: Floats = _mapped(folder, "weights")
            self._marks: list[str] = json.loads((folder / _MARKS).read_text("utf-8"))
            self._mark_lists = _Lists(folder, "mark")
            self._known: dict[Filters, Passing | None] = {}
        except (OSError, ValueError) as error:
            raise IndexUnavailable(f"{folder} is missing or damaged: {error}.", hint=REBUILD_HINT) from error

    @classmethod
    def of(cls, base: Path) -> Scan | None:
        """None where the base has none because it is small."""
        return cls(base / _FOLDER) if (base / _FOLDER).is_dir() else None

    def best(self, asked: Sequence[Asked], without: Collection[str]) -> list[tuple[Ranked, Ranked]]:
        """The best by each vector for each that is asked. What is long is spread over the cores; what is short is done
        one after the other: threads that do it at once wait longer for the interpreter's lock than they work."""
        passing = [self._passing(one.filters, without) for one in asked]
        queries = [_unit(one.dense) for one in asked]
        rows = self._likely(queries, passing, [max(_SCORED, _SCORED_EACH * one.limit) for one in asked])
        scores = self._spread(self._scores, list(zip(queries, rows, strict=True)))
        return [
            (self._ranked(rows[n], scores[n], one.limit), self._worded(one.terms, passing[n], one.limit))
            for n, one in enumerate(asked)
        ]

    def count(self, filters: Filters, without: Collection[str]) -> int:
        passing = self._passing(filters, without)
        return len(self._ids) if passing is None else int(np.count_nonzero(passing))

    def _spread(self, work: Callable[[T], A], items: Sequence[T]) -> list[A]:
        return _spread(work, items) if len(self._ids) >= _WORTH_SPREADING else [work(item) for item in items]

    # --- filters --------------------------------------------------------------------------------------------------

    def _passing(self, filters: Filters, without: Collection[str]) -> Passing | None:
        """None: all of them."""
        # Nothing changes here, and who asks with a filter mostly asks with it again.
        if filters in self._known:
            passing = self._known[filters]
        else:
            passing = self._filtered(filters)
            if len(self._known) < _MOST_FILTERS:
                self._known[filters] = passing
        if not without:
            return passing
        passing = np.ones(len(self._ids), dtype=np.bool_) if passing is None else passing.copy()
        passing[self._places(without)] = False
        return passing

    def _filtered(self, filters: Filters) -> Passing | None:
        passing = np.ones(len(self._ids), dtype=np.bool_)
        for wanted in conditions(filters):
            here = np.zeros(len(self._ids), dtype=np.bool_)
            for first, last in self._marked(wanted):
                here[self._mark_lists.rows(first, last)] = True
            passing &= here
        return None if passing.all() else passing

    def _marked(self, wanted: Condition) -> Iterator[tuple[int, int]]:
        """Where the marks stand that meet a condition, each from … up to."""
        if wanted.prefix is not None:
            yield self._beginning_with(_mark(wanted.field, wanted.prefix))
        elif wanted.any_of or wanted.equals is not None:
            for value in wanted.any_of or (wanted.equals,):
                place = bisect_left(self._marks, mark := _mark(wanted.field, value))
                if place < len(self._marks) and self._marks[place] == mark:
                    yield place, place + 1
        else:
            first, last = self._beginning_with(name := _mark(wanted.field, ""))
            for place in range(first, last):  # chapters and tiers are few
                value = int(self._marks[place].removeprefix(name))
                if (wanted.least is None or value >= wanted.least) and (wanted.most is None or value <= wanted.most):
                    yield place, place + 1

    def _beginning_with(self, text: str) -> tuple[int, int]:
        first = bisect_left(self._marks, text)
        return first, bisect_left(self._marks, True, first, key=lambda mark: not mark.startswith(text))

    def _places(self, ids: Collection[str]) -> NDArray[np.intp]:
        wanted = np.sort(np.array(list(ids), dtype=_ID))
        places = np.minimum(np.searchsorted(self._ids, wanted), len(self._ids) - 1)
        found: NDArray[np.intp] = places[self._ids[places] == wanted]
        return found

    # --- the best -------------------------------------------------------------------------------------------------

    def _likely(
        self, queries: Sequence[Floats], passing: Sequence[Passing | None], most: Sequence[int]
    ) -> list[NDArray[np.intp]]:
        """The rows that pass when they are few, else about so many, with all ties, whose signs differ least."""
        rows = [self._few(*one) for one in zip(passing, most, strict=True)]
        many = [n for n, found in enumerate(rows) if found is None]
        away = _desk.space("away", len(many) * len(self._ids), np.uint16).reshape(len(many), len(self._ids))
        self._spread(self._compare, list(zip([queries[n] for n in many], away, strict=True)))
        for n, differing in zip(many, away, strict=True):
            if (those := passing[n]) is not None:
                np.copyto(differing, len(queries[n]) + 1, where=~those)
            nearest = list(accumulate(np.bincount(differing[::_SAMPLE]).tolist()))
            rows[n] = np.flatnonzero(differing <= min(bisect_left(nearest, most[n] // _SAMPLE), len(queries[n])))
        return [found for found in rows if found is not None]

    def _few(self, passing: Passing | None, most: int) -> NDArray[np.intp] | None:
        if passing is None:
            return np.arange(len(self._ids)) if len(self._ids) <= most else None
        return np.flatnonzero(passing) if np.count_nonzero(passing) <= most else None

    def _compare(self, asked: tuple[Floats, NDArray[np.uint16]]) -> None:
        """Write down in how many signs each row differs from the query."""
        query, away = asked
        words = _signs(query[np.newaxis])
        away.fill(0)
        for start in range(0, len(words), _WORDS_IN_A_BYTE):
            columns = self._signs[start : start + _WORDS_IN_A_BYTE]
            differing = _desk.space("differing", columns.size, np.uint64).reshape(columns.shape)
            counted = _desk.space("counted", columns.size, np.uint8).reshape(columns.shape)
            some = _desk.space("some", len(away), np.uint8)
            np.bitwise_xor(columns, words[start : start + _WORDS_IN_A_BYTE], out=differing)
            np.bitwise_count(differing, out=counted)
            np.add(away, np.add.reduce(counted, axis=0, out=some), out=away)

    def _scores(self, asked: tuple[Floats, NDArray[np.intp]]) -> Floats:
        query, rows = asked
        vectors = _desk.space("vectors", len(rows) * len(query), np.float32).reshape(len(rows), len(query))
        np.take(self._vectors, rows, axis=0, out=vectors, mode="clip")
        # Row by row and not as a matrix, so that equal vectors score the same wherever they stand.
        scores: Floats = np.vecdot(vectors, query)
        return scores

    def _worded(self, terms: Mapping[int, float], passing: Passing | None, limit: int) -> Ranked:
        scores = _desk.space("scores", len(self._ids), np.float32)
        scores.fill(0)
        wanted = np.array([*terms], dtype=np.uint32)  # as theirs: else they all would be made into other numbers first
        for place, (term, weight) in zip(np.searchsorted(self._terms, wanted).tolist(), terms.items(), strict=True):
            if place < len(self._terms) and self._terms[place] == term:
                part = self._term_lists.part(place, place + 1)
                np.add.at(scores, self._term_lists.all_rows[part], np.float32(weight) * self._weights[part])
        if passing is not None:
            scores *= passing
        rows = np.flatnonzero(scores > 0)
        return self._ranked(rows, scores[rows], limit)

    def _ranked(self, rows: NDArray[np.intp], scores: Floats, limit: int) -> Ranked:
        if len(rows) > limit:
            kept = scores >= np.partition(scores, -limit)[-limit]
            rows, scores = rows[kept], scores[kept]
        # So few are sorted by Python: numpy would let go of the interpreter's lock, and have it back later than that.
        best = sorted(zip((-scores).tolist(), rows.tolist(), strict=True))[:limit]
        ids: list[str] = self._ids[[row for _, row in best]].astype(str).tolist()
        return [(id, -score) for id, (score, _) in zip(ids, best, strict=True)]


class _Desk(threading.local):
    """Where a thread works. It is kept: to have memory from the system for every search cost more than the search did,
    and ten times as much while another thread had some as well."""

    def __init__(self) -> None:
        self._spaces: dict[str, NDArray[Any]] = {}

    def space(self, name: str, size: int, kind: type[Number]) -> NDArray[Number]:
        """As it was left."""
        if name not in self._spaces or len(self._spaces[name]) < size:
            self._spaces[name] = np.empty(size, dtype=kind)
        return self._spaces[name][:size]


_desk = _Desk()
_others = ThreadPoolExecutor(usable_cores(), thread_name_prefix="quoth-columns")  # starts none before it is needed


def _spread(work: Callable[[T], A], items: Sequence[T]) -> list[A]:
    """Of all of them, by this thread and as many others as there are more cores. None is asked for one item."""
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


def _unit(vector: Vector) -> Floats:
    query = np.asarray(vector, dtype=np.float32)
    unit: Floats = query / (np.linalg.norm(query) or np.float32(1))
    return unit


class _Lists:
    """For each key, by its place among the sorted ones, the rows that hold it."""

    def __init__(self, folder: Path, name: str) -> None:
        self._starts: NDArray[np.int64] = _mapped(folder, f"{name}_starts")
        self.all_rows: Rows = _mapped(folder, f"{name}_rows")

    def part(self, first: int, last: int) -> slice:
        return slice(int(self._starts[first]), int(self._starts[last]))

    def rows(self, first: int, last: int) -> Rows:
        return self.all_rows[self.part(first, last)]


# --- writing ------------------------------------------------------------------------------------------------------


def write(base: Path, points: Iterable[list[Row]]) -> None:
    """All points of a base, some at a time, in the order of their ids."""
    remove(base)
    folder = base / _FOLDER
    folder.mkdir()
    ids: list[str] = []
    signs: list[NDArray[np.uint64]] = []
    terms, weights, lengths = array("I"), array("f"), array("I")
    marks: dict[str, int] = {}
    marked, marked_rows = array("I"), array("I")
    with (folder / _VECTORS).open("wb") as vectors:
        for some in points:
            block = np.array([dense for _, dense, _, _ in some], dtype=np.float32)
            vectors.write(block.tobytes())
            signs.append(_signs(block))
            for row, (id, _, sparse, fields) in enumerate(some, start=len(ids)):
                ids.append(id)
                terms.extend(sparse.ids)
                weights.extend(sparse.weights)
                lengths.append(len(sparse.ids))
                found = [marks.setdefault(mark, len(marks)) for mark in _marks_of(fields)]
                marked.extend(found)
                marked_rows.extend([row] * len(found))
    _save(folder, "ids", np.array(ids, dtype=_ID))
    _save(folder, "signs", np.hstack(signs))
    rows = np.repeat(np.arange(len(ids), dtype=np.int32), np.frombuffer(lengths, dtype=np.uint32))
    keys, order = _write_lists(folder, "term", np.frombuffer(terms, dtype=np.uint32), rows)
    _save(folder, "terms", keys)
    _save(folder, "weights", np.frombuffer(weights, dtype=np.float32)[order])
    names = sorted(marks)
    (folder / _MARKS).write_text(json.dumps(names, ensure_ascii=False), "utf-8")
    places = np.empty(len(names), dtype=np.uint32)
    places[[marks[name] for name in names]] = np.arange(len(names))
    _write_lists(folder, "mark", places[np.frombuffer(marked, dtype=np.uint32)], np.frombuffer(marked_rows, np.int32))


def remove(base: Path) -> None:
    shutil.rmtree(base / _FOLDER, ignore_errors=True)


def _write_lists(
    folder: Path, name: str, keys: NDArray[np.uint32], rows: Rows
) -> tuple[NDArray[np.uint32], NDArray[np.intp]]:
    """The keys that there are, and the order in which their rows stand now."""
    order = np.argsort(keys, kind="stable")
    distinct, starts = np.unique(keys[order], return_index=True)
    _save(folder, f"{name}_starts", np.append(starts, len(keys)))
    _save(folder, f"{name}_rows", rows[order])
    return distinct, order


def _signs(vectors: Floats) -> NDArray[np.uint64]:
    """A column for each vector, a word for each 64 dimensions."""
    padded = np.zeros((len(vectors), -(-vectors.shape[1] // _WORD) * _WORD), dtype=np.bool_)
    padded[:, : vectors.shape[1]] = vectors > 0
    return np.ascontiguousarray(np.packbits(padded, axis=1).view(np.uint64).T)


def _marks_of(fields: Mapping[str, Any]) -> Iterator[str]:
    for name in FIELDS:
        found = fields[name]
        for value in found if isinstance(found, list) else [found]:
            if value is not None:
                yield _mark(name, value)


def _mark(field: str, value: str | int | None) -> str:
    return f"{field}={value}"


def _file(folder: Path, name: str) -> Path:
    return folder / f"{name}.npy"


def _save(folder: Path, name: str, values: NDArray[Any]) -> None:
    np.save(_file(folder, name), values, allow_pickle=False)


def _mapped(folder: Path, name: str) -> NDArray[Any]:
    # Seen as a plain array: a memmap would spend its time on making memmaps of every slice.
    column: NDArray[Any] = np.load(_file(folder, name), mmap_mode="r", allow_pickle=False).view(np.ndarray)
    return column
