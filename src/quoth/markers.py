"""A model's `[n]` while they stream → markers in order of appearance.

Comes in: the words of a model as they come, cut anywhere, whose markers number the passages it was shown. Goes out: the
same words, in which the first passage used is [1], the second [2], and a marker of no passage is gone; a number in
brackets inside code or before a link's target is left alone. What has been given out is never taken back, so at most a
few characters are held until it is clear what they are. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable

# [1] · [1, 2] · [1-3] · [^1] · 【1】, and where one may still become one.
_MARKER = re.compile(r"[\[【]\^?(\d{1,3}(?: ?[,;–-] ?\d{1,3}){0,11})(?:†[^\]】]{0,20})?[\]】]")
_PERHAPS = re.compile(r"[\[【]\^?[\d ,;–-]{0,75}(?:†[^\]】]{0,20})?\Z")
_STOP = re.compile(r"[\[【`\n]")
_ENDS = re.compile(r"\d+")
_TICKS = re.compile(r"`+")
WIDEST_RANGE = 10


class Markers:
    def __init__(self, exists: Callable[[int], bool]) -> None:
        self._exists = exists  # asked when a marker comes: passages may be added while a model writes
        self._held = ""
        self._code = 0  # length of the run of backticks that opened it
        self.order: list[int] = []  # numbers of the passages used; the first is marked [1]

    def feed(self, words: str) -> str:
        self._held += words
        return self._release(final=False)

    def end(self) -> str:
        return self._release(final=True)

    def _release(self, *, final: bool) -> str:
        text, self._held = self._held, ""
        out: list[str] = []
        at = 0
        while (found := _STOP.search(text, at)) is not None:
            out.append(text[at : found.start()])
            at = found.start()
            taken = self._special(text, at, final=final)
            if taken is None:  # not yet clear
                self._held = text[at:]
                return "".join(out)
            piece, at = taken
            out.append(piece)
        out.append(text[at:])
        return "".join(out)

    def _special(self, text: str, at: int, *, final: bool) -> tuple[str, int] | None:
        """What stands at `at`, and where it ends; None when more words are needed to tell."""
        if text[at] == "`":
            run = _TICKS.match(text, at)
            assert run is not None
            if run.end() == len(text) and not final:
                return None
            self._code = self._after_ticks(len(run[0]))
            return run[0], run.end()
        if text[at] == "\n":
            if at + 1 == len(text) and not final and 0 < self._code < 3:
                return None
            if 0 < self._code < 3 and text[at : at + 2] == "\n\n":
                self._code = 0  # a code span ends with its paragraph, closed or not
            return "\n", at + 1
        if self._code:
            return text[at], at + 1
        return self._bracket(text, at, final=final)

    def _after_ticks(self, run: int) -> int:
        if not self._code:
            return run
        return 0 if run == self._code or (self._code >= 3 and run > self._code) else self._code

    def _bracket(self, text: str, at: int, *, final: bool) -> tuple[str, int] | None:
        marker = _MARKER.match(text, at)
        if marker is None:
            undecided = not final and _PERHAPS.match(text, at) is not None
            return None if undecided else (text[at], at + 1)
        if marker.end() == len(text) and not final:
            return None
        if text[marker.end() : marker.end() + 1] in ("(", ":"):  # a link, or a definition of one
            return marker[0], marker.end()
        return self._renumbered(marker[1]), marker.end()

    def _renumbered(self, written: str) -> str:
        numbers: list[int] = []
        for part in re.split(r" ?[,;] ?", written):
            first, *_, last = _ENDS.findall(part) * 2  # alone, a number is a range of one
            numbers += range(int(first), min(int(last), int(first) + WIDEST_RANGE) + 1)
        marks = []
        for number in dict.fromkeys(numbers):
            if self._exists(number):
                if number not in self.order:
                    self.order.append(number)
                marks.append(f"[{self.order.index(number) + 1}]")
        return "".join(marks)
