"""Chunks on their way into a new base: written down as they come, so that memory does not grow with the book.

`draft` puts and drops; when it publishes, `base` copies the rows that are left, and the spool is thrown away. A chunk
that is put again gets a new row, and its old row is forgotten.
"""

from __future__ import annotations

import os
import shutil
from array import array
from collections.abc import Iterable
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quoth.index.base import Part
from quoth.index.changes import Point
from quoth.index.columns import ID, Floats, Rows
from quoth.index.fields import FieldCodes
from quoth.index.payload_file import PayloadFile, PayloadWriter


class Spool:
    def __init__(self, folder: Path, dimensions: int) -> None:
        self._folder = folder
        self._dimensions = dimensions
        self._rows: dict[str, int] = {}
        self._ids: list[str] = []
        self._lengths = array("I")  # how many terms each row has
        self._codes = FieldCodes()
        folder.mkdir()
        self._vectors, self._terms, self._weights, self._payloads = self._files = [
            (folder / name).open("w+b") for name in ("vectors", "terms", "weights", "payloads")
        ]
        self._lines = PayloadWriter(self._payloads)

    def __contains__(self, id: str) -> bool:
        return id in self._rows

    def put(self, points: Iterable[tuple[str, Point]]) -> None:
        for id, point in points:
            self._rows[id] = len(self._ids)
            self._ids.append(id)
            self._vectors.write(point.dense.tobytes())
            self._terms.write(array("I", point.sparse.ids))
            self._weights.write(array("f", point.sparse.weights))
            self._lengths.append(len(point.sparse.ids))
            self._codes.add(point.payload)
            self._lines.add(point.payload)

    def drop(self, ids: Iterable[str]) -> None:
        for id in ids:
            self._rows.pop(id, None)

    def vector(self, id: str) -> Floats:
        self._vectors.flush()
        size = self._dimensions * np.dtype(np.float32).itemsize
        return np.frombuffer(os.pread(self._vectors.fileno(), size, self._rows[id] * size), dtype=np.float32)

    def part(self) -> Part:
        for file in self._files:
            file.flush()
        rows = Rows(
            ids=np.array(self._ids, dtype=ID),
            vectors=_mapped(self._folder / "vectors", np.float32).reshape(-1, self._dimensions),
            starts=np.array([0, *accumulate(self._lengths)], dtype=np.int64),
            terms=_mapped(self._folder / "terms", np.uint32),
            weights=_mapped(self._folder / "weights", np.float32),
            fields=self._codes.fields(),
        )
        lines = PayloadFile(self._folder / "payloads", self._lines.starts, self._lines.sums)
        return Part(rows, lines, np.array(sorted(self._rows.values()), dtype=np.intp))

    def close(self) -> None:
        for file in self._files:
            with suppress(OSError):  # the disk may be full, and what is left to write is not needed
                file.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _mapped(file: Path, kind: Any) -> NDArray[Any]:
    if not file.stat().st_size:
        return np.empty(0, dtype=kind)
    return np.memmap(file, dtype=kind, mode="r").view(np.ndarray)
