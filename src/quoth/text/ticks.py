"""Where code between backticks ends, found in linear time.

A run of k backticks opens code that the next run of exactly k closes. A pattern would search to the end of the text
for each run that nothing closes; here all runs of a text are listed once, by length. A run that nothing closes as a
whole may still open code with its last backticks, because readers and models sometimes write one too many.
"""

from __future__ import annotations

import re
from bisect import bisect_left

_RUN = re.compile(r"`+")
_GAP = re.compile(r"\n(?=[ \t]*\n)")


class Ticks:
    """The runs of backticks in `text[start:end]`. With `paragraphs`, code ends with its paragraph."""

    def __init__(self, text: str, start: int = 0, end: int | None = None, *, paragraphs: bool = False) -> None:
        end = len(text) if end is None else end
        self._starts: dict[int, list[int]] = {}  # of the runs of each length
        for run in _RUN.finditer(text, start, end):
            self._starts.setdefault(run.end() - run.start(), []).append(run.start())
        self._gaps = [gap.start() for gap in _GAP.finditer(text, start, end)] if paragraphs else []
        self._end = end

    def code(self, start: int, end: int) -> tuple[int, int] | None:
        """The code that the run from `start` to `end` opens, with its backticks on both sides."""
        gap = bisect_left(self._gaps, end)
        limit = self._gaps[gap] if gap < len(self._gaps) else self._end
        for length in range(end - start, 0, -1):
            starts = self._starts.get(length, [])
            closing = bisect_left(starts, end)
            if closing < len(starts) and starts[closing] < limit:
                return end - length, starts[closing] + length
        return None
