"""What has changed in a book since its base was built: a few chunks in one small file, searched without an engine.

An edit of a page concerns a dozen chunks of thousands. They are written here, whole, beside the base that the engine
holds; those of the base that they replace, or that are gone, are named with their terms, so that IDF stays exact. A
reader lays one over the other (`edge_book`); when it has become much, the writer builds a new base (`edge_draft`).
Scores are those of the engine: cosine, and the product of term weights.
"""

from __future__ import annotations

import base64
import json
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from quoth.chunks.payload import to_chunk, to_indexed
from quoth.domain import Chunk, Filters, IndexedChunk, TermWeights, Vector, conditions
from quoth.errors import IndexUnavailable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Point:
    """A chunk as the engine would hold it."""

    payload: Mapping[str, Any]
    dense: Vector
    sparse: TermWeights


class Changes:
    """Never changed once it is published: `copy` before writing."""

    def __init__(self, gone: Mapping[str, tuple[int, ...]], points: Mapping[str, Point]) -> None:
        self.gone = dict(gone)  # chunks of the base, and their terms
        self.points = dict(points)

    def __len__(self) -> int:
        return max(len(self.gone), len(self.points))

    def copy(self) -> Changes:
        return Changes(self.gone, self.points)

    def encode(self) -> bytes:
        rows = [
            (id, point.payload, _packed(point.dense), point.sparse.ids, point.sparse.weights)
            for id, point in self.points.items()
        ]
        return json.dumps({"gone": self.gone, "points": rows}, ensure_ascii=False).encode()

    @classmethod
    def decode(cls, content: bytes) -> Changes:
        try:
            found = json.loads(content)
            points = {
                id: Point(payload, _unpacked(dense), TermWeights(tuple(ids), tuple(weights)))
                for id, payload, dense, ids, weights in found["points"]
            }
            return cls({id: tuple(terms) for id, terms in found["gone"].items()}, points)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise IndexUnavailable(
                f"The changes of an index are damaged: {error}.",
                hint="Build it again: `quoth ingest PATH --mode recreate`.",
            ) from error

    # --- reading --------------------------------------------------------------------------------------------------

    @cached_property
    def holders(self) -> Counter[int]:
        """By how many chunks each term stands in more, or fewer, than in the base."""
        more: Counter[int] = Counter()
        for point in self.points.values():
            more.update(point.sparse.ids)
        for terms in self.gone.values():
            more.subtract(terms)
        return more

    def near(self, dense: Vector, among: Iterable[str]) -> list[tuple[str, float]]:
        import numpy as np

        ids = list(self.points)
        query = np.asarray(dense, dtype=np.float32)
        scores = self._matrix @ (query / (np.linalg.norm(query) or 1.0))
        wanted = set(among)
        return [(id, float(score)) for id, score in zip(ids, scores, strict=True) if id in wanted]

    def worded(self, terms: Mapping[int, float], among: Iterable[str]) -> list[tuple[str, float]]:
        wanted = set(among)
        scores: dict[str, float] = {}
        for term, weight in terms.items():
            for id, count in self._postings.get(term, ()):
                if id in wanted:
                    scores[id] = scores.get(id, 0.0) + weight * count
        return list(scores.items())

    def passing(self, filters: Filters) -> list[str]:
        wanted = list(conditions(filters))
        return [
            id
            for id, point in self.points.items()
            if all(condition.holds(point.payload[condition.field]) for condition in wanted)
        ]

    def chunk(self, id: str) -> Chunk:
        return to_chunk(id, self.points[id].payload)

    def indexed(self, id: str) -> IndexedChunk:
        point = self.points[id]
        return to_indexed(id, point.payload, point.dense, point.sparse)

    @cached_property
    def _postings(self) -> dict[int, list[tuple[str, float]]]:
        found: dict[int, list[tuple[str, float]]] = {}
        for id, point in self.points.items():
            for term, weight in zip(point.sparse.ids, point.sparse.weights, strict=True):
                found.setdefault(term, []).append((id, weight))
        return found

    @cached_property
    def _matrix(self) -> NDArray[np.float32]:
        import numpy as np

        rows = np.array([point.dense for point in self.points.values()], dtype=np.float32)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows / np.where(lengths > 0, lengths, 1.0), dtype=np.float32)


NOTHING = Changes({}, {})


def _packed(vector: Vector) -> str:
    return base64.b64encode(array("f", vector).tobytes()).decode("ascii")


def _unpacked(text: str) -> Vector:
    return tuple(array("f", base64.b64decode(text)))
