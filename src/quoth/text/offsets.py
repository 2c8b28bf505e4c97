"""From offsets in the text of a page to offsets in its file, and which stretch of a text holds an offset.

Text and file differ only where a page includes others: there the text holds more than the file. In: a chunk (or the
inserts of a page) and an offset into the text. Out: the offset or the line in the file. Text that an include
added is placed at its directive.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

from quoth.domain import Chunk, Insert


class Stretches:
    """Stretches of a text in order, without overlaps. A lookup takes logarithmic time."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        self._spans = list(spans)

    def holding(self, offset: int) -> tuple[int, int] | None:
        """The stretch with `start <= offset < end`."""
        index = bisect_right(self._spans, offset, key=_first) - 1
        return self._spans[index] if index >= 0 and offset < self._spans[index][1] else None


def insert_at(inserts: Sequence[Insert], offset: int) -> Insert | None:
    """The insert that holds the offset, or the last one before it."""
    index = bisect_right(inserts, offset, key=_start) - 1
    return inserts[index] if index >= 0 else None


def start_in_file(chunk: Chunk, offset: int) -> int:
    insert = insert_at(chunk.inserts, offset)
    if insert is None:
        return offset - chunk.shift
    return insert.at if offset < insert.end else offset - insert.shift


def end_in_file(chunk: Chunk, offset: int) -> int:
    """Like `start_in_file`, for the end of a stretch: after a directive, not before it."""
    index = bisect_left(chunk.inserts, offset, key=_start) - 1
    if index < 0:
        return offset - chunk.shift
    insert = chunk.inserts[index]
    return insert.until if offset <= insert.end else offset - insert.shift


def line_in_file(chunk: Chunk, offset: int) -> int:
    below = chunk.text.count("\n", 0, max(0, offset - chunk.start))
    insert = insert_at(chunk.inserts, offset)
    if insert is None:
        return chunk.line + below
    return insert.line if offset < insert.end else chunk.line + chunk.line_shift + below - insert.lines


def _start(insert: Insert) -> int:
    return insert.start


def _first(span: tuple[int, int]) -> int:
    return span[0]
