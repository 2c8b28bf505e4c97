"""`GET /books/{book_id}/contents`, `/questions`, `/page`, `/figure`: a book to browse, questions to ask, a page, its
pictures.

For the reader's page. In: a book and a chunk of the page. Out: the shapes below. A page is the text of its chunks, so
readers see exactly what is searched and cited; `places` says where in it each chunk begins.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import Field

from quoth.bootstrap import Quoth
from quoth.domain import Book, Chunk, Layer, PageRecord, ProficiencyLevel
from quoth.errors import NotFound, UnknownChunk
from quoth.index import status_of
from quoth.ports import BookView
from quoth.serve.book_text import pages_of, placed, trail_of
from quoth.serve.deps import quoth_of
from quoth.serve.figures import MEDIA_TYPES, find_figure
from quoth.serve.outline import (
    Choices,
    PageEntry,
    Section,
    choices,
    entries_of,
    tree,
)
from quoth.serve.proposals import Proposals
from quoth.serve.shapes import Responses, Shape, answers, problems

router = APIRouter(tags=["books"])

_LONGEST_PAGE = 200_000  # characters that are sent at once
_BATCH = 256  # chunks to fetch at once
# A picture is shown and nothing else: not even a script inside an SVG that is opened on its own.
_PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

_ChunkId = Annotated[str, Query(description="Any chunk of the page; ids come from `/contents`, `/search` and sources")]

_Known = Annotated[
    int | None,
    Query(ge=0, le=100, description="How many you have: the answer comes as soon as there are more, or in a second"),
]


# --- shapes ----------------------------------------------------------------------------------------------------------


class ContentsPage(Shape):
    title: str
    chunk_id: Annotated[str, Field(description="The first of the page: opens it at `/page`")]
    source_url: str
    at: Annotated[int, Field(description="Its place in the reading order, among pages and sections")]


class ContentsSection(Shape):
    title: Annotated[str, Field(description="Empty at the top")]
    at: Annotated[int, Field(description="The place of its first page")]
    pages: list[ContentsPage]
    sections: list[ContentsSection]


class FilterChoices(Shape):
    """The values that a question's filters can take in this book. A label with only one value has none."""

    module: list[str]
    chapter: list[int]
    hardware_tier: list[int]
    proficiency_levels: list[ProficiencyLevel]
    layer: list[Layer]


class ContentsResponse(Shape):
    book_id: str
    title: str
    contents: ContentsSection
    filters: FilterChoices
    sharing: Annotated[bool, Field(description="Answers can be shared (QUOTH_SHARING)")]


class QuestionsResponse(Shape):
    book_id: str
    questions: Annotated[
        list[str], Field(description="First questions from headings and glossary; the book answers each of them")
    ]
    complete: Annotated[bool, Field(description="False while the search for more goes on: ask again in a second")]


class PageNeighbour(Shape):
    title: str
    chunk_id: str


class PagePlace(Shape):
    chunk_id: str
    at: Annotated[int, Field(description="Where the chunk begins in `text`, in characters (code points)")]


class PageResponse(Shape):
    book_id: str
    title: str
    breadcrumb: Annotated[list[str], Field(description="The folders above the page and its title")]
    source_url: str
    markup: Annotated[str, Field(examples=["markdown"])]
    text: Annotated[str, Field(description=f"At most {_LONGEST_PAGE:,} characters around the chunk")]
    places: list[PagePlace]
    cut: Annotated[bool, Field(description="The page is longer than `text`")]
    before: PageNeighbour | None
    after: PageNeighbour | None


# --- what we know about a book ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Outline:
    entries: tuple[PageEntry, ...]
    contents: Section
    choices: Choices


class Outlines:
    """Computed once for each publication of a book. A failure is tried again on the next request."""

    def __init__(self) -> None:
        self._outlines: _Made[Outline] = {}
        self._proposals: _Made[Proposals] = {}

    async def of(self, quoth: Quoth, book: Book) -> Outline:
        return await _once(self._outlines, quoth, book, _outline)

    async def questions(self, quoth: Quoth, book: Book, known: int | None) -> tuple[list[str], bool]:
        """To start with, and whether these are all."""
        proposals = await _once(self._proposals, quoth, book, _propose)
        try:
            return await proposals.more(known)
        finally:
            if proposals.failed:
                self._proposals.pop(book.book_id, None)


_Value = TypeVar("_Value")
_Made = dict[str, tuple[int | None, asyncio.Task[_Value]]]


async def _once(
    made: _Made[_Value], quoth: Quoth, book: Book, make: Callable[[Quoth, Book], Coroutine[Any, Any, _Value]]
) -> _Value:
    status = await status_of(quoth.index, book.book_id)
    generation = None if status is None else status.generation
    known = made.get(book.book_id)
    if known is None or known[0] != generation or (known[1].done() and _failed(known[1])):
        known = made[book.book_id] = generation, asyncio.create_task(make(quoth, book))
    return await asyncio.shield(known[1])


def _failed(task: asyncio.Task[_Value]) -> bool:
    return task.cancelled() or task.exception() is not None


async def _outline(quoth: Quoth, book: Book) -> Outline:
    records = await pages_of(quoth.library, book.book_id)
    first = await _first_chunks(quoth.index.view(book.book_id), records)
    entries = entries_of(records, {chunk.id: chunk for chunk in first})
    return Outline(tuple(entries), tree(entries), choices(entries))


async def _propose(quoth: Quoth, book: Book) -> Proposals:
    return Proposals(quoth, book)


async def _first_chunks(view: BookView, records: list[PageRecord]) -> list[Chunk]:
    ids = [record.chunk_ids[0] for record in records]
    batches = [await view.chunks(ids[start : start + _BATCH]) for start in range(0, len(ids), _BATCH)]
    return [chunk for batch in batches for chunk in batch]


def _outlines_of(request: Request) -> Outlines:
    outlines: Outlines = request.app.state.outlines
    return outlines


# --- the doors -------------------------------------------------------------------------------------------------------


@router.get("/books/{book_id}/contents", responses=answers(ContentsResponse, 404, 503))
async def book_contents(request: Request, book_id: str) -> JSONResponse:
    """A book before the first question: its pages as a tree, and the filters that apply."""
    quoth = quoth_of(request)
    book = await quoth.book(book_id)
    outline = await _outlines_of(request).of(quoth, book)
    body: ContentsResponse = {
        "book_id": book.book_id,
        "title": book.title,
        "contents": _section_view(outline.contents),
        "filters": {
            "module": list(outline.choices.modules),
            "chapter": list(outline.choices.chapters),
            "hardware_tier": list(outline.choices.hardware_tiers),
            "proficiency_levels": list(outline.choices.proficiency_levels),
            "layer": list(outline.choices.layers),
        },
        "sharing": quoth.settings.sharing,
    }
    return JSONResponse(body)


def _section_view(section: Section) -> ContentsSection:
    pages: list[ContentsPage] = [
        {"title": page.title, "chunk_id": page.chunk_id, "source_url": page.url, "at": page.at}
        for page in section.pages
    ]
    sections = [_section_view(below) for below in section.sections]
    return {"title": section.title, "at": section.at, "pages": pages, "sections": sections}


@router.get("/books/{book_id}/questions", responses=answers(QuestionsResponse, 400, 404, 503))
async def book_questions(request: Request, book_id: str, known: _Known = None) -> JSONResponse:
    """What could be asked first. Found once for each state of the book, by a few searches; never waits long."""
    quoth = quoth_of(request)
    book = await quoth.book(book_id)
    found, complete = await _outlines_of(request).questions(quoth, book, known)
    body: QuestionsResponse = {"book_id": book.book_id, "questions": found, "complete": complete}
    return JSONResponse(body)


@router.get("/books/{book_id}/page", responses=answers(PageResponse, 400, 404, 503))
async def page(request: Request, book_id: str, chunk_id: _ChunkId) -> JSONResponse:
    """The text of a page around one of its chunks, and the pages before and after it."""
    quoth = quoth_of(request)
    book = await quoth.book(book_id)
    asked, chunks = await _page_of(quoth, book, chunk_id)
    shown = _around(asked, chunks)
    text, places = placed(shown)
    before, after = await _neighbours(request, book, chunks[0].id)
    body: PageResponse = {
        "book_id": book.book_id,
        "title": asked.title,
        "breadcrumb": [*trail_of(asked), asked.title],
        "source_url": asked.url.partition("#")[0],
        "markup": asked.markup,
        "text": text,
        "places": [{"chunk_id": name, "at": at} for name, at in places.items()],
        "cut": len(shown) < len(chunks),
        "before": before,
        "after": after,
    }
    return JSONResponse(body)


async def _page_of(quoth: Quoth, book: Book, chunk_id: str) -> tuple[Chunk, list[Chunk]]:
    view = quoth.index.view(book.book_id)
    found = await view.chunks([chunk_id])
    if not found:
        raise UnknownChunk(f"The book {book.book_id} has no chunk {chunk_id}.", hint="Ids come from POST /search.")
    return found[0], await view.page(found[0].parent_doc_id)


def _around(asked: Chunk, chunks: list[Chunk]) -> list[Chunk]:
    """All of them, or as many on both sides as may be sent."""
    nearest = sorted(chunks, key=lambda chunk: abs(chunk.chunk_index - asked.chunk_index))
    left = _LONGEST_PAGE
    kept: set[str] = set()
    for chunk in nearest:
        left -= len(chunk.text)
        if left < 0 and kept:
            break
        kept.add(chunk.id)
    return [chunk for chunk in chunks if chunk.id in kept]


async def _neighbours(
    request: Request, book: Book, first_chunk: str
) -> tuple[PageNeighbour | None, PageNeighbour | None]:
    entries = (await _outlines_of(request).of(quoth_of(request), book)).entries
    at = next((at for at, entry in enumerate(entries) if entry.chunk_id == first_chunk), None)
    if at is None:
        return None, None

    def neighbour(other: int) -> PageNeighbour | None:
        known = 0 <= other < len(entries)
        return {"title": entries[other].title, "chunk_id": entries[other].chunk_id} if known else None

    return neighbour(at - 1), neighbour(at + 1)


_PICTURE: Responses = {
    200: {"description": "A picture", "content": {name: {"schema": {"type": "string"}} for name in MEDIA_TYPES}},
    **problems(400, 404, 503),
}


@router.get("/books/{book_id}/figure", responses=_PICTURE, response_class=Response)
async def figure(
    request: Request,
    book_id: str,
    chunk_id: _ChunkId,
    src: Annotated[str, Query(max_length=1000, description="The address of the picture as the page writes it")],
) -> Response:
    """A picture on a page of a book that was read from a folder on the server."""
    quoth = quoth_of(request)
    book = await quoth.book(book_id)
    asked, chunks = await _page_of(quoth, book, chunk_id)
    found = None
    if any(src in chunk.text for chunk in chunks):  # only pictures that the page shows
        found = await asyncio.to_thread(find_figure, book, asked.source_file, src)
    if found is None:
        raise NotFound(
            "This page shows no such picture, or it is not on this server.", hint="The page's text describes it."
        )
    headers = {
        "content-security-policy": _PICTURE_POLICY,
        "x-content-type-options": "nosniff",
        "cross-origin-resource-policy": "same-origin",
        "cache-control": "private, max-age=300",
    }
    return Response(found.content, media_type=found.media_type, headers=headers)
