"""Labels → places in the book as it is now indexed.

In: golden cases and the index. Out: for each labelled case, where its quote is, which chunks hold it and which sections
they belong to; or, for a quote that is gone (a stale label), what became of it. Pages are put together from their
chunks, one at a time, so labels survive any way of splitting, and memory does not grow with the book.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from quoth.domain import Chunk, Citation, Passage
from quoth.evals.cases import Case, Label
from quoth.ports import ChunkIndex

Span = tuple[int, int]
HELD = 0.5  # of a quote's characters: if a quote is cut in two, the chunk with the larger part holds it


@dataclass(frozen=True, slots=True)
class Place:
    """Where a quote is: its spans in the page's text, the chunks that hold it, the links that open there."""

    page: str
    spans: tuple[Span, ...]
    texts: frozenset[str] = frozenset()  # content hashes: a search shows only one of several equal chunks
    urls: frozenset[str] = frozenset()
    block: frozenset[int] = frozenset()  # offsets of the whole block that answers, without spaces; empty: no block

    def held_by(self, passage: Passage) -> bool:
        return passage.chunk.content_hash in self.texts

    def opened_by(self, citation: Citation) -> bool:
        return citation.chunk.url in self.urls

    def share_quoted(self, citations: Sequence[Citation]) -> float:
        """The share of the quote's characters that the citations quote, at its best place."""
        quoted = self._quoted(citations)
        return max((sum(at in quoted for at in range(*span)) / (span[1] - span[0]) for span in self.spans), default=0.0)

    def share_of_block(self, citations: Sequence[Citation]) -> float | None:
        """The share of the block's characters that the citations quote; None if the label names no block."""
        return len(self.block & self._quoted(citations)) / len(self.block) if self.block else None

    def _quoted(self, citations: Sequence[Citation]) -> set[int]:
        return {
            position
            for citation in citations
            if citation.chunk.source_file == self.page
            for position in range(citation.start, citation.end)
        }


@dataclass(frozen=True, slots=True)
class Stale:
    """A label whose quote is no longer in the book."""

    id: str
    line: int
    page: str
    quote: str
    reason: str


@dataclass(frozen=True, slots=True)
class PageText:
    source_file: str
    text: str
    chunks: tuple[Chunk, ...]


async def place_labels(
    cases: Iterable[Case], index: ChunkIndex, book_id: str
) -> tuple[dict[str, Place], tuple[Stale, ...]]:
    """The places by the ids of their cases, and the labels without a place."""
    labelled = [(case, case.label) for case in cases if case.label is not None]
    places: dict[str, Place] = {}
    waiting: dict[str, list[tuple[str, Label]]] = {}
    for case, label in labelled:
        if case.selected_text is not None:
            places[case.id] = Place("", spans_of(label.quote, case.selected_text))
        else:
            waiting.setdefault(label.page, []).append((case.id, label))
    names: list[str] = []
    async for page in pages_of(index, book_id):
        names.append(page.source_file)
        for case_id, label in waiting.get(page.source_file, ()):
            if place := _place_of(label, page):
                places[case_id] = place
    lost = [case for case, _ in labelled if case.id not in places]
    return places, await _stale(lost, names, index, book_id) if lost else ()


def _place_of(label: Label, page: PageText) -> Place | None:
    """None if the page no longer has the words."""
    spans = spans_of(label.quote, page.text)
    if not spans or (label.until and not spans_of(label.until, page.text)):
        return None
    return replace(place_in(page, spans), block=block_of(label, page.text))


def place_in(page: PageText, spans: tuple[Span, ...]) -> Place:
    holding = [chunk for chunk in page.chunks if any(_holds(chunk, span) for span in spans)]
    return Place(
        page.source_file,
        spans,
        frozenset(chunk.content_hash for chunk in holding),
        frozenset(chunk.url for chunk in holding),
    )


def spans_of(quote: str, text: str) -> tuple[Span, ...]:
    """Every place that has the words of the quote, wherever its lines break."""
    words = r"\s+".join(re.escape(word) for word in quote.split())
    return tuple(found.span() for found in re.finditer(words, text))


def block_of(label: Label, text: str) -> frozenset[int]:
    """The offsets of the block that a label names by its first and last words: the shortest stretch between two such
    places."""
    if not label.until:
        return frozenset()
    begins, ends = spans_of(label.quote, text), spans_of(label.until, text)
    found = [(first[0], last[1]) for first in begins for last in ends if last[1] > first[0]]
    start, end = min(found, key=lambda span: span[1] - span[0], default=(0, 0))
    return frozenset(at for at in range(start, end) if not text[at].isspace())


def _holds(chunk: Chunk, span: Span) -> bool:
    common = min(chunk.end, span[1]) - max(chunk.start, span[0])
    return common >= HELD * (span[1] - span[0])


async def pages_of(index: ChunkIndex, book_id: str) -> AsyncIterator[PageText]:
    gathered: list[Chunk] = []
    async for chunk in index.scan(book_id):
        if gathered and gathered[0].source_file != chunk.source_file:
            yield joined(gathered)
            gathered = []
        gathered.append(chunk)
    if gathered:
        yield joined(gathered)


def joined(chunks: Sequence[Chunk]) -> PageText:
    """The text of a page from its chunks, with blanks for the text that no chunk holds."""
    text = ""
    for chunk in sorted(chunks, key=lambda chunk: chunk.start):
        text = text.ljust(chunk.start) + chunk.text[max(0, len(text) - chunk.start) :]
    return PageText(chunks[0].source_file, text, tuple(chunks))


async def _stale(lost: Sequence[Case], names: Sequence[str], index: ChunkIndex, book_id: str) -> tuple[Stale, ...]:
    moved: dict[str, str] = {}
    async for page in pages_of(index, book_id):
        for case in lost:
            if case.label is not None and case.id not in moved and spans_of(case.label.quote, page.text):
                moved[case.id] = page.source_file
    return tuple(_reported(case, case.label, names, moved) for case in lost if case.label is not None)


def _reported(case: Case, label: Label, names: Sequence[str], moved: Mapping[str, str]) -> Stale:
    if case.id in moved:
        reason = f"the quote is now in {moved[case.id]}"
    elif label.page in names:
        reason = "the quote is no longer in the page"
    else:
        near = difflib.get_close_matches(label.page, names, n=1)
        reason = f"there is no such page{f'; the nearest is {near[0]}' if near else ''}"
    return Stale(case.id, case.line, label.page, label.quote, reason)
