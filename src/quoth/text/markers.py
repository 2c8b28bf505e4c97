"""Citation markers in the text of an answer: where they are, which sources they name, and their numbers put in order.

In: text written by us or by a language model, whole or piece by piece. Out: `Marker`s, or the same text with its
markers numbered in order of appearance. `[2]`, `[1, 3]`, `[2-4]`, `[^2]`, `[source 2]` and `【2】` are markers; code,
link labels and link definitions are not. Knows nothing of sources or sentences.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from quoth.text.offsets import Stretches
from quoth.text.ticks import Ticks

_LIST = r"\^?(?:(?:source|passage)s?\s+)?\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*"
PATTERN = rf"(?i:\[{_LIST}\]|【{_LIST}(?:†[^】\n]{{0,200}})?】)"
_MARKER = re.compile(PATTERN)
_CODE = re.compile(r"^[ \t>]*(?P<fence>`{3,}|~{3,})[^\n]*(?:\n|\Z)|`+", re.M)
_RANGE = re.compile(r"(?<!\d)(\d+)\s*[–-]\s*(\d+)")
_WIDEST_RANGE = 20  # [1-300] is not a list of sources
# A bracket at the end of a text may become a marker, and one that is closed may become the label of a link.
_UNFINISHED = re.compile(r"[\[【][^\]】\n]{0,39}[\]】]?\Z")
# If nothing is held back, text without any of these is plain text, whatever comes before and after it.
_MEANINGFUL = re.compile(r"[\[【`~\n]")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_QUOTE_MARKS = " \t>"


@dataclass(frozen=True, slots=True)
class Marker:
    start: int
    end: int
    numbers: tuple[int, ...]


def code_spans(text: str) -> Iterator[tuple[int, int]]:
    """Fenced blocks and inline code, in order."""
    ticks = Ticks(text, paragraphs=True)
    at = 0
    while mark := _CODE.search(text, at):
        if mark["fence"]:
            span = (mark.start(), _fence_end(text, mark["fence"], mark.end()))
        else:
            found = ticks.code(mark.start(), mark.end())
            if found is None:
                at = mark.end()
                continue
            span = found
        yield span
        at = span[1]


def _fence_end(text: str, fence: str, at: int) -> int:
    """The end of the line that closes the fence, or of the text if none does."""
    while (found := text.find(fence, at)) >= 0:
        start = text.rfind("\n", 0, found) + 1
        end = text.find("\n", found)
        end = len(text) if end < 0 else end
        closes = not text[start:found].strip(_QUOTE_MARKS) and not text[found:end].rstrip(" \t").strip("`~")
        if closes and start >= at:
            return end
        at = max(end, found + 1)
    return len(text)


def _code(text: str) -> Stretches:
    return Stretches(code_spans(text) if "`" in text or "~~~" in text else ())


def markers(text: str) -> list[Marker]:
    code = _code(text)
    return [
        Marker(match.start(), match.end(), tuple(_numbers(match.group())))
        for match in _MARKER.finditer(text)
        if code.holding(match.start()) is None and not _of_a_link(text, match)
    ]


def _of_a_link(text: str, match: re.Match[str]) -> bool:
    """[1](page.md) is the label of a link, and [1]: at the start of a line defines one."""
    following = text[match.end() : match.end() + 1]
    if following != ":":
        return following == "("
    before = match.start()
    while before and text[before - 1] in _QUOTE_MARKS:
        before -= 1
    return before == 0 or text[before - 1] == "\n"


def without_markers(text: str, found: Sequence[Marker]) -> str:
    parts: list[str] = []
    at = 0
    for marker in found:
        parts.append(text[at : marker.start].rstrip(" \t"))
        at = marker.end
    return "".join([*parts, text[at:]]).strip()


def without_unfinished(text: str) -> str:
    """The text without a bracket at its end that could still become a marker."""
    found = _UNFINISHED.search(text)
    return text[: found.start()] if found else text


def _numbers(listed: str) -> Iterator[int]:
    listed = listed.split("†")[0]
    seen: set[int] = set()
    for first, last in _RANGE.findall(listed):
        if int(last) - int(first) <= _WIDEST_RANGE:
            seen.update(range(int(first), int(last) + 1))
    seen.update(int(number) for number in re.findall(r"\d+", listed))
    yield from sorted(seen)


class Renumbering:
    """Text in, the same text out, its markers numbered in order of appearance.

    Pieces may be cut anywhere: text that may still become part of a marker or of code is held back until that is clear.
    A marker that names no known source keeps its number, for the grounding check to find.
    """

    def __init__(self, known: Collection[int]) -> None:
        self._known = set(known)
        self._text = ""  # the part of the current paragraph that still matters
        self._done = 0  # how much of it has been passed on
        self.order: dict[int, int] = {}  # the number as written → the number as shown

    def know(self, numbers: Collection[int]) -> None:
        """Add sources that came while the text was being written."""
        self._known.update(numbers)

    def feed(self, piece: str) -> str:
        if self._done == len(self._text) and not _MEANINGFUL.search(piece):  # most words of an answer
            self._text += piece
            self._forget()
            return piece
        self._text += piece
        code = _code(self._text)
        ready = self._passed_on(max(self._done, _settled(self._text, code)))
        gaps = _BLANK_LINE.finditer(self._text, 0, self._done)
        breaks = [gap.end() for gap in gaps if code.holding(gap.start()) is None]
        if breaks:  # nothing in the next paragraph depends on the one before
            self._text, self._done = self._text[breaks[-1] :], self._done - breaks[-1]
        if self._done == len(self._text):
            self._forget()
        return ready

    def finish(self) -> str:
        return self._passed_on(len(self._text))

    def _forget(self) -> None:
        """If nothing is held back, one thing matters to what follows: does a line begin here, and after what?"""
        line = self._text[self._text.rfind("\n") + 1 :]
        self._text = f"x{line[-1]}" if line.strip(" \t>") else line
        self._done = len(self._text)

    def _passed_on(self, end: int) -> str:
        out, at = [], self._done
        for marker in markers(self._text):
            if at <= marker.start and marker.end <= end:
                out += [self._text[at : marker.start], *(f"[{self._number(number)}]" for number in marker.numbers)]
                at = marker.end
        self._done = end
        return "".join([*out, self._text[at:end]])

    def _number(self, number: int) -> int:
        if number not in self._known:
            return number
        return self.order.setdefault(number, len(self.order) + 1)


def renumbered(text: str, known: Collection[int]) -> tuple[str, dict[int, int]]:
    numbering = Renumbering(known)
    return numbering.feed(text) + numbering.finish(), numbering.order


def _settled(text: str, code: Stretches) -> int:
    """How much of the text means the same whatever follows."""
    settled = len(without_unfinished(text))
    last_break = max((gap.start() for gap in _BLANK_LINE.finditer(text)), default=0)
    for tick in re.finditer("`+", text):
        inside = code.holding(tick.start())
        still_open = tick.start() >= last_break if inside is None else inside[1] == len(text)
        if still_open:
            return min(settled, inside[0] if inside else tick.start())
    return settled
