"""`POST /search`, `GET /context/{chunk_id}`, `GET /lesson/{parent_doc_id}`: the doors for tools.

Ids are unique within a book, so the two reading doors take an optional `book_id`, as every question does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse

from quoth.ask.request import SearchRequest
from quoth.errors import NotFound, UnknownChunk
from quoth.serve.bodies import body_schema, read_body
from quoth.serve.deps import BookId, quoth_of
from quoth.serve.problems import request_id_of
from quoth.serve.search_views import ChunkFields, SearchResponse, chunk_view, search_view
from quoth.serve.shapes import Shape, answers

router = APIRouter(tags=["search"])


class ContextResponse(Shape):
    book_id: str
    chunk_id: str
    chunks: list[ChunkFields]


class LessonResponse(Shape):
    book_id: str
    parent_doc_id: str
    title: str
    chunks: list[ChunkFields]


_Neighbours = Annotated[int, Query(ge=0, le=10, description="How many chunks on this side")]
_Explain = Annotated[bool, Query(description="Include the raw scores and ranks; also a field of the body")]


@router.post(
    "/search", openapi_extra=body_schema(SearchRequest), responses=answers(SearchResponse, 400, 404, 413, 415, 503)
)
async def search(request: Request, explain: _Explain = False) -> JSONResponse:
    """Find passages, best first, without answering."""
    quoth = quoth_of(request)
    wanted = await read_body(request, SearchRequest)
    book = await quoth.choose_book(wanted.book_id)
    query = wanted.to_search(book=book, similarity_threshold=quoth.settings.similarity_threshold or 0.0)
    query = replace(query, explain=query.explain or explain)
    evidence, verdict = await quoth.conversations.search(query)
    return JSONResponse(search_view(query, evidence, verdict, query_id=request_id_of(request)))


@router.get("/context/{chunk_id}", responses=answers(ContextResponse, 400, 404, 503))
async def context(
    request: Request, chunk_id: str, prev: _Neighbours = 1, next: _Neighbours = 1, book_id: BookId = None
) -> JSONResponse:
    """A chunk and its neighbours on the page, in reading order."""
    quoth = quoth_of(request)
    book = await quoth.choose_book(book_id)
    view = quoth.index.view(book.book_id)
    found = await view.chunks([chunk_id])
    if not found:
        raise UnknownChunk(f"The book {book.book_id} has no chunk {chunk_id}.", hint="Ids come from POST /search.")
    page = await view.page(found[0].parent_doc_id)
    at = found[0].chunk_index
    near = [chunk for chunk in page if at - prev <= chunk.chunk_index <= at + next]
    body: ContextResponse = {
        "book_id": book.book_id,
        "chunk_id": chunk_id,
        "chunks": [chunk_view(chunk) for chunk in near],
    }
    return JSONResponse(body)


@router.get("/lesson/{parent_doc_id}", responses=answers(LessonResponse, 400, 404, 503))
async def lesson(request: Request, parent_doc_id: str, book_id: BookId = None) -> JSONResponse:
    """All chunks of one page, in reading order."""
    quoth = quoth_of(request)
    book = await quoth.choose_book(book_id)
    page = await quoth.index.view(book.book_id).page(parent_doc_id)
    if not page:
        raise NotFound(f"The book {book.book_id} has no lesson {parent_doc_id}.", hint="Ids come from POST /search.")
    body: LessonResponse = {
        "book_id": book.book_id,
        "parent_doc_id": parent_doc_id,
        "title": page[0].title,
        "chunks": [chunk_view(chunk) for chunk in page],
    }
    return JSONResponse(body)
