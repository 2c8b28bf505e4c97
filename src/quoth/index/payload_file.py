"""The payloads of a base: one line of JSON for each chunk, and where each line begins.

Written once, line after line; read by position, only for the few chunks that are shown. Every line has a checksum, and
every read compares it, so a damaged text is never shown. The file is too large to be compared whole when a book is
opened. It must not know what a payload means, nor which chunk a row is.
"""

from __future__ import annotations

import json
import os
import weakref
import zlib
from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from quoth.index.generations import damaged, disk_errors


class PayloadFile:
    def __init__(self, path: Path, starts: NDArray[np.uint64], sums: NDArray[np.uint32]) -> None:
        self._path = path
        self._starts = starts
        self._sums = sums
        self._file = os.open(path, os.O_RDONLY)
        weakref.finalize(self, os.close, self._file)

    def line(self, row: int) -> bytes:
        start, end = self._starts[row : row + 2].tolist()
        # Not mapped: a read that waits for the disk lets the other threads go on.
        with disk_errors(self._path):
            found = os.pread(self._file, end - start, start)
        if zlib.crc32(found) != self._sums[row]:
            raise damaged((self._path, f"is not what was published, from byte {start} to {end}"))
        return found

    def __getitem__(self, row: int) -> Mapping[str, Any]:
        payload: Mapping[str, Any] = json.loads(self.line(row))
        return payload


class PayloadWriter:
    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._starts = array("Q", [0])
        self._sums = array("I")

    def add(self, payload: Mapping[str, Any]) -> None:
        self.add_line(json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")

    def add_line(self, line: bytes) -> None:
        self._file.write(line)
        self._starts.append(self._starts[-1] + len(line))
        self._sums.append(zlib.crc32(line))

    @property
    def starts(self) -> NDArray[np.uint64]:
        return np.array(self._starts, dtype=np.uint64)

    @property
    def sums(self) -> NDArray[np.uint32]:
        return np.array(self._sums, dtype=np.uint32)
