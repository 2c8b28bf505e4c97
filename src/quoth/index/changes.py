"""What has changed in a book since its base was built: a few chunks, whole, in one small JSON file beside the base.

An edit of a page concerns a dozen chunks out of thousands. They are written here, and the chunks of the base that they
replace, or that are gone, are named. A reader makes columns of them and searches them like those of the base
(`open_books`). When there are many, the writer builds a new base (`draft`).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np

from quoth.domain import TermWeights
from quoth.index.columns import ID, Columns, Floats, Rows
from quoth.index.fields import FieldCodes, united
from quoth.index.generations import Generations, Pointer


@dataclass(frozen=True, slots=True)
class Point:
    """A chunk as an index holds it."""

    payload: Mapping[str, Any]
    dense: Floats  # of length 1
    sparse: TermWeights


class Changes:
    """Immutable: a draft gathers changes and makes new ones."""

    def __init__(self, gone: Collection[str] = (), points: Mapping[str, Point] | None = None) -> None:
        self.gone = frozenset(gone)  # ids of the base
        self.points = dict(sorted((points or {}).items()))  # in the order of rows

    @classmethod
    def read(cls, generations: Generations, pointer: Pointer) -> Changes:
        if not pointer.changed:
            return cls()
        return cls.decode(generations.read(pointer, generations.changes_file(pointer.generation)))

    def encode(self) -> bytes:
        rows = [
            (id, point.payload, _packed(point.dense), point.sparse.ids, point.sparse.weights)
            for id, point in self.points.items()
        ]
        return json.dumps({"gone": sorted(self.gone), "points": rows}, ensure_ascii=False).encode()

    @classmethod
    def decode(cls, content: bytes) -> Changes:
        found = json.loads(content)
        points = {
            id: Point(payload, _unpacked(dense), TermWeights(tuple(ids), tuple(weights)))
            for id, payload, dense, ids, weights in found["points"]
        }
        return cls(found["gone"], points)

    @cached_property
    def payloads(self) -> list[Mapping[str, Any]]:
        return [point.payload for point in self.points.values()]

    @cached_property
    def columns(self) -> Columns:
        points = self.points.values()
        codes = FieldCodes()
        for point in points:
            codes.add(point.payload)
        return Columns.of(
            Rows(
                ids=np.array(list(self.points), dtype=ID),
                vectors=np.array([point.dense for point in points], dtype=np.float32),
                starts=np.array([0, *accumulate(len(point.sparse.ids) for point in points)], dtype=np.int64),
                terms=np.array([term for point in points for term in point.sparse.ids], dtype=np.uint32),
                weights=np.array([weight for point in points for weight in point.sparse.weights], dtype=np.float32),
                fields=united([(codes.fields(), np.arange(len(points)))]),
            )
        )


def _packed(vector: Floats) -> str:
    return base64.b64encode(vector.tobytes()).decode("ascii")


def _unpacked(text: str) -> Floats:
    return np.frombuffer(base64.b64decode(text), dtype=np.float32)
