"""Where in its own file something stands that was found in the text of a page.

The two differ only where a page includes others: there the text holds more than the file. Comes in: a chunk (or the
inserts of a page) and an offset into the text. Goes out: the offset or the line in the file. What an include has
brought stands where its directive stands.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from quoth.domain import Chunk, Insert


def insert_at(inserts: Sequence[Insert], offset: int) -> Insert | None:
    """The insert that holds the offset, or else the last before it."""
    index = bisect_right(inserts, offset, key=_start) - 1
    return inserts[index] if index >= 0 else None


def start_in_file(chunk: Chunk, offset: int) -> int:
    insert = insert_at(chunk.inserts, offset)
    if insert is None:
        return offset - chunk.shift
    return insert.at if offset < insert.end else offset - insert.shift


def end_in_file(chunk: Chunk, offset: int) -> int:
    """As `start_in_file`, for the end of a stretch: behind a directive rather than before it."""
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
