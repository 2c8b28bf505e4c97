"""What a reader sees of a book before the first question: its contents as a tree, the filters that apply, and questions
to ask. Pure.

In: the page records in reading order, the first chunk of each page and all chunks of a few pages. Out: an Outline with
candidate questions; others find out whether the book answers them. Knows no transport.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import TypeVar

from quoth.domain import Chunk, Labels, Layer, PageRecord, ProficiencyLevel
from quoth.serve.book_text import trail_of
from quoth.serve.heading_questions import question_of

_Item = TypeVar("_Item")

PAGES_LOOKED_AT = 24  # for headings, spread over the book
CANDIDATES = 12

_LONGEST = 80  # characters of a heading that becomes a question
_GLOSSARY = re.compile(r"\b(glossary|terminology|glossar|begriffe|术语|词汇|فرہنگ)", re.IGNORECASE)
_TERM = re.compile(r"^\s*(?:[-*+]\s+)?\*\*([^*\n]{2,40}?):?\*\*", re.MULTILINE)
_MARKUP = re.compile(r"`|\*\*|\{#[^}]*\}|^[\d.]+\s+|\s+\([^)]*\)$")
_PICTURES = re.compile(r"[\u2190-\u2bff\ufe0f\u200d\U0001f000-\U0001faff]")  # emoji and other signs
# Headings that say where in a lesson one is, not what it is about.
_GENERIC = re.compile(
    r"(introduction|overview|summary|conclusions?|exercises?|tasks|next steps|further reading|references|notes?|steps?"
    r"|prerequisites|requirements|setup|installation|usage|contents|index|about|faq|glossary|see also|what you .*"
    r"|before you .*|in this .*|where to .*|try it.*|check .*|questions?|answers?|license|changelog|preface|examples?"
    r"|appendix.*)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class PageEntry:
    """A page in reading order."""

    title: str
    chunk_id: str  # of its first chunk, which opens the page
    url: str
    trail: tuple[str, ...]  # the folders above the page
    labels: Labels
    at: int = 0  # its place in the reading order


@dataclass(slots=True)
class Section:
    title: str
    at: int = 0  # the place of its first page in the reading order
    pages: list[PageEntry] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Choices:
    """What a question can be narrowed to. A label with only one value in the book is left out."""

    modules: tuple[str, ...] = ()
    chapters: tuple[int, ...] = ()
    hardware_tiers: tuple[int, ...] = ()
    proficiency_levels: tuple[ProficiencyLevel, ...] = ()
    layers: tuple[Layer, ...] = ()


def entries_of(records: Sequence[PageRecord], first: Mapping[str, Chunk]) -> list[PageEntry]:
    """`first` has the first chunk of each page by its id; a page that is no longer in the index is left out."""
    found = ((record, first.get(record.chunk_ids[0])) for record in records)
    return [
        PageEntry(record.title or record.source_file, chunk.id, record.url, _trail(record, chunk), chunk.labels)
        for record, chunk in found
        if chunk is not None
    ]


def _trail(record: PageRecord, chunk: Chunk) -> tuple[str, ...]:
    return trail_of(chunk) or ((record.module,) if record.module else ())


def tree(entries: Sequence[PageEntry]) -> Section:
    """Folders and pages. A page with the name of the folder beside it opens that folder."""
    folders = {entry.trail[:depth] for entry in entries for depth in range(1, len(entry.trail) + 1)}
    top = Section("")
    for at, entry in enumerate(entries):
        own = (*entry.trail, entry.title)
        here = top
        for title in own if own in folders else entry.trail:
            below = next((section for section in here.sections if section.title == title), None)
            if below is None:
                below = Section(title, at)
                here.sections.append(below)
            here = below
        here.pages.append(replace(entry, at=at))
    return top


def choices(entries: Sequence[PageEntry]) -> Choices:
    labels = [entry.labels for entry in entries]
    return Choices(
        modules=_several(dict.fromkeys(label.module for label in labels if label.module)),
        chapters=_several(sorted({label.chapter for label in labels if label.chapter is not None})),
        hardware_tiers=_several(sorted({label.hardware_tier for label in labels})),
        proficiency_levels=_several(sorted({label.proficiency_level for label in labels})),
        layers=_several(sorted({label.layer for label in labels})),
    )


def _several(values: Iterable[_Item]) -> tuple[_Item, ...]:
    known = tuple(values)
    return known if len(known) > 1 else ()


# --- questions to ask ------------------------------------------------------------------------------------------------


def spread(items: Sequence[_Item], most: int) -> list[_Item]:
    """At most `most` of them, spread evenly."""
    return [items[at * len(items) // most] for at in range(most)] if len(items) > most else list(items)


def questions(pages: Sequence[Sequence[Chunk]]) -> list[str]:
    """Candidates, the same each time: glossary terms first, then headings from all pages in turn."""
    glossary = [page for page in pages if page and _GLOSSARY.search(page[0].title)]
    lessons = [page for page in pages if page not in glossary]
    terms = [f"What does “{term}” mean?" for page in glossary for term in spread(_terms(page), 3)]
    found = dict.fromkeys(terms[:3])
    for turn in zip_longest(*(_heading_questions(page) for page in lessons)):
        new = list(dict.fromkeys(question for question in turn if question and question not in found))
        found.update(dict.fromkeys(spread(new, CANDIDATES - len(found))))
        if len(found) == CANDIDATES:
            break
    return list(found)


def _terms(page: Sequence[Chunk]) -> list[str]:
    headings = [chunk.heading_path[-1] for chunk in page if chunk.heading_path]
    bold = [term for chunk in page for term in _TERM.findall(chunk.text)]
    plain = dict.fromkeys(_plain(term) for term in [*headings, *bold])
    return [term for term in plain if 1 < len(term) <= _LONGEST and not _GENERIC.fullmatch(term)]


def _heading_questions(page: Sequence[Chunk]) -> Iterator[str]:
    words = " ".join(chunk.text for chunk in page)
    headings = (heading for chunk in page for heading in chunk.heading_path[-1:])
    for heading in dict.fromkeys(map(_plain, [page[0].title, *headings] if page else [])):
        if 3 < len(heading) <= _LONGEST and not _GENERIC.fullmatch(heading):
            yield question_of(heading, words)


def _plain(heading: str) -> str:
    return " ".join(_MARKUP.sub("", " ".join(_PICTURES.sub("", heading).split())).split())
