"""Citation markers in the text of an answer: where they stand, what they name, and their numbers put in order.

In: text written by us or by a language model, whole or piece by piece. Out: `Marker`s, or the same text with the
numbers counted in order of appearance. `[2]`, `[1, 3]`, `[2-4]`, `[^2]`, `[source 2]` and `【2】` are markers; what
stands in code, the label of a link and the definition of one are not. Knows nothing of sources or sentences.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

_LIST = r"\^?(?:(?:source|passage)s?\s+)?\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*"
PATTERN = rf"(?i:\[{_LIST}\]|【{_LIST}(?:†[^】\n]*)?】)"
_MARKER = re.compile(PATTERN)
_CODE = re.compile(
    r"^[ \t>]*(?P<fence>`{3,}|~{3,})[^\n]*(?:\n|\Z)(?:.*?^[ \t>]*(?P=fence)[`~]*[ \t]*$|.*\Z)"
    r"|(?P<ticks>`+)(?!`)(?:(?!\n[ \t]*\n).)+?(?<!`)(?P=ticks)(?!`)",
    re.DOTALL | re.MULTILINE,
)
_RANGE = re.compile(r"(\d+)\s*[–-]\s*(\d+)")
WIDEST_RANGE = 20  # [1-300] is no list of sources
# A bracket at the end of a text may become a marker, and one that is closed may become the label of a link.
_UNFINISHED = re.compile(r"[\[【][^\]】\n]{0,39}[\]】]?\Z")
# Where nothing is held back, text without any of these is only text, whatever comes before and after it.
_MEANINGFUL = re.compile(r"[\[【`~\n]")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")


@dataclass(frozen=True, slots=True)
class Marker:
    start: int
    end: int
    numbers: tuple[int, ...]


def code_spans(text: str) -> list[tuple[int, int]]:
    """Fenced blocks and inline code."""
    return [match.span() for match in _CODE.finditer(text)]


def markers(text: str) -> list[Marker]:
    code = code_spans(text) if "`" in text or "~~~" in text else []
    return [
        Marker(match.start(), match.end(), tuple(_numbers(match.group())))
        for match in _MARKER.finditer(text)
        if not _in(match.start(), code) and not _of_a_link(text, match)
    ]


def _of_a_link(text: str, match: re.Match[str]) -> bool:
    """[1](page.md) is the label of a link, and [1]: at the start of a line defines one."""
    following = text[match.end() : match.end() + 1]
    before = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
    return following == "(" or (following == ":" and not before.strip(" \t>"))


def without_markers(text: str, found: Sequence[Marker]) -> str:
    for marker in reversed(found):
        text = text[: marker.start].rstrip(" \t") + text[marker.end :]
    return text.strip()


def without_unfinished(text: str) -> str:
    """Without what could still become a marker at its end."""
    found = _UNFINISHED.search(text)
    return text[: found.start()] if found else text


def _numbers(listed: str) -> Iterator[int]:
    listed = listed.split("†")[0]
    seen: set[int] = set()
    for first, last in _RANGE.findall(listed):
        if int(last) - int(first) <= WIDEST_RANGE:
            seen.update(range(int(first), int(last) + 1))
    seen.update(int(number) for number in re.findall(r"\d+", listed))
    yield from sorted(seen)


class Renumbering:
    """Text in, the same text out, its markers numbered in order of appearance.

    Pieces may be cut anywhere: what could still turn out to be part of a marker or of code is held back until it is
    clear. A marker that names no known source keeps its number, for the grounding check to find.
    """

    def __init__(self, known: Collection[int]) -> None:
        self._known = set(known)
        self._text = ""  # as much of the current paragraph as still matters
        self._done = 0  # how much of it was passed on
        self.order: dict[int, int] = {}  # the number as written → the number as shown

    def know(self, numbers: Collection[int]) -> None:
        """Sources that came while the text was being written."""
        self._known.update(numbers)

    def feed(self, piece: str) -> str:
        if self._done == len(self._text) and not _MEANINGFUL.search(piece):  # most words of an answer
            self._text += piece
            self._forget()
            return piece
        self._text += piece
        code = code_spans(self._text)
        ready = self._passed_on(max(self._done, _settled(self._text, code)))
        breaks = [gap.end() for gap in _BLANK_LINE.finditer(self._text, 0, self._done) if not _in(gap.start(), code)]
        if breaks:  # nothing of the next paragraph depends on the one before
            self._text, self._done = self._text[breaks[-1] :], self._done - breaks[-1]
        if self._done == len(self._text):
            self._forget()
        return ready

    def finish(self) -> str:
        return self._passed_on(len(self._text))

    def _forget(self) -> None:
        """Where nothing is held back, only this can matter to what follows: does a line begin here, and after what?"""
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


def _in(at: int, spans: Sequence[tuple[int, int]]) -> bool:
    return any(start <= at < end for start, end in spans)


def _settled(text: str, code: Sequence[tuple[int, int]]) -> int:
    """How much of the text means the same whatever follows."""
    settled = len(without_unfinished(text))
    last_break = max((gap.start() for gap in _BLANK_LINE.finditer(text)), default=0)
    for tick in re.finditer("`+", text):
        inside = next(((start, end) for start, end in code if start <= tick.start() < end), None)
        still_open = tick.start() >= last_break if inside is None else inside[1] == len(text)
        if still_open:
            return min(settled, inside[0] if inside else tick.start())
    return settled
