"""What a publication says about a book as a whole: how many chunks hold each term, and which chunks each file has.

Under `qdrant_ledger` (which stores it) and `qdrant` (which asks it). A record holds sums: what a publication adds to
those before it, or all of them together. So an edit writes what it changes, a reader that knows the publication before
reads only the new record, and any number of shards weigh a word alike, because only Quoth weighs it. Pure.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from quoth.domain import IdSet
from quoth.errors import IndexUnavailable


@dataclass(slots=True)
class Tally:
    """What a writer has added and taken away since the last publication."""

    chunks: int = 0
    terms: Counter[int] = field(default_factory=Counter)
    files: dict[str, IdSet] = field(default_factory=dict)

    def add(self, chunk_id: str, source_file: str, terms: Iterable[int]) -> None:
        self.chunks += 1
        self.terms.update(terms)
        self.files[source_file] = self.files.get(source_file, IdSet()) + IdSet.of([chunk_id])

    def take_away(self, chunk_id: str, source_file: str, terms: Iterable[int]) -> None:
        self.chunks -= 1
        self.terms.subtract(terms)
        self.files[source_file] = self.files.get(source_file, IdSet()) - IdSet.of([chunk_id])


@dataclass(frozen=True, slots=True)
class TermCounts:
    """How many chunks hold each term: numbers that can be added."""

    ids: NDArray[np.uint32]  # ascending
    counts: NDArray[np.int32]

    @classmethod
    def of(cls, counts: Mapping[int, int]) -> TermCounts:
        held = sorted((term, count) for term, count in counts.items() if count)
        return cls(
            np.array([term for term, _ in held], dtype=np.uint32),
            np.array([count for _, count in held], dtype=np.int32),
        )

    @classmethod
    def sum(cls, parts: Sequence[TermCounts]) -> TermCounts:
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return cls.of({})
        ids, place = np.unique(np.concatenate([part.ids for part in parts]), return_inverse=True)
        counts = np.zeros(len(ids), dtype=np.int32)
        np.add.at(counts, place, np.concatenate([part.counts for part in parts]))
        return cls(ids[counts != 0], counts[counts != 0])

    def holders(self, terms: Sequence[int]) -> dict[int, int]:
        """Terms that no chunk holds are left out."""
        wanted = np.array(terms, dtype=np.uint32)
        places = np.minimum(np.searchsorted(self.ids, wanted), max(0, len(self.ids) - 1))
        if not len(self.ids):
            return {}
        found = zip(terms, (self.ids[places] == wanted).tolist(), self.counts[places].tolist(), strict=True)
        return {term: count for term, there, count in found if there and count > 0}

    def idf(self, terms: Sequence[int], size: int) -> dict[int, float]:
        return {term: math.log(1 + (size - n + 0.5) / (n + 0.5)) for term, n in self.holders(terms).items()}

    def encode(self) -> str:
        """Differences of ids and counts, their bytes sorted by place: a third of the size."""
        gaps = np.diff(self.ids, prepend=np.uint32(0)).astype("<u4")
        planes = np.concatenate([gaps.view(np.uint8), self.counts.astype("<i4").view(np.uint8)]).reshape(-1, 4).T
        return _packed(planes.tobytes())

    @classmethod
    def decode(cls, text: str) -> TermCounts:
        content = np.frombuffer(_unpacked(text), dtype=np.uint8)
        if len(content) % 8:
            raise damaged()
        words = np.ascontiguousarray(content.reshape(4, -1).T)
        half = len(words) // 2
        ids = np.cumsum(words[:half].view("<u4").ravel(), dtype=np.uint32)
        return cls(ids, words[half:].view("<i4").ravel().astype(np.int32))


Files = Mapping[str, IdSet]


def encode_files(files: Files) -> str:
    rows = {name: [ids.count, f"{ids.mark:x}"] for name, ids in files.items() if ids != IdSet()}
    return _packed(json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))


def decode_files(text: str) -> dict[str, IdSet]:
    try:
        rows = json.loads(_unpacked(text))
        return {name: IdSet(count, int(mark, 16)) for name, (count, mark) in rows.items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise damaged() from error


def sum_of_files(parts: Iterable[Files]) -> dict[str, IdSet]:
    """Files that no longer have a chunk are left out."""
    total: dict[str, IdSet] = {}
    for files in parts:
        for name, ids in files.items():
            total[name] = total[name] + ids if name in total else ids
    return {name: ids for name, ids in total.items() if ids.count}


def damaged() -> IndexUnavailable:
    return IndexUnavailable(
        "The records of a book on the Qdrant server are damaged.",
        hint="Build the book again: `quoth ingest PATH --mode recreate`.",
    )


def _packed(content: bytes) -> str:
    return base64.b64encode(zlib.compress(content)).decode("ascii")


def _unpacked(text: str) -> bytes:
    try:
        return zlib.decompress(base64.b64decode(text, validate=True))
    except (ValueError, zlib.error) as error:
        raise damaged() from error
