"""`GET /books`: the list of books; `/llms.txt` and `/llms-full.txt`: a book's contents and its whole text.

The last two are for programs that read a whole book instead of asking it (llmstxt.org). The text is read from the index
page by page while it is sent, so a large book is never in memory all at once.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, PlainTextResponse, StreamingResponse

from quoth.domain import PageRecord
from quoth.index import status_of
from quoth.ports import ChunkIndex
from quoth.serve.book_text import as_document, contents, llms_txt, pages_of, text_of
from quoth.serve.deps import BookId, quoth_of
from quoth.serve.disclosure import visible_source
from quoth.serve.library_views import BookFields, book_state
from quoth.serve.shapes import Responses, Shape, answers, problems

# --- the list of books -----------------------------------------------------------------------------------------------


router = APIRouter(tags=["books"])

_TEXT: Responses = {
    200: {"description": "Plain text", "content": {"text/plain": {"schema": {"type": "string"}}}},
    **problems(400, 404, 503),
}


class BooksResponse(Shape):
    books: list[BookFields]


@router.get("/books", responses=answers(BooksResponse, 503))
async def books(request: Request) -> JSONResponse:
    """Every book, with the state of its index."""
    quoth = quoth_of(request)
    known = await quoth.books()
    shown = [replace(book, source=visible_source(request, book)) for book in known]
    states = [await book_state(quoth, book, await status_of(quoth.index, book.book_id)) for book in shown]
    body: BooksResponse = {"books": states}
    return JSONResponse(body)


# --- whole books -----------------------------------------------------------------------------------------------------


@router.get("/llms.txt", responses=_TEXT, response_class=PlainTextResponse)
async def llms(request: Request, book_id: BookId = None) -> PlainTextResponse:
    """The pages of a book by section, with their URLs, in the llmstxt.org format."""
    return await _table_of_contents(request, book_id)


@router.get("/books/{book_id}/llms.txt", responses=_TEXT, response_class=PlainTextResponse)
async def llms_of(request: Request, book_id: str) -> PlainTextResponse:
    """The same for the named book."""
    return await _table_of_contents(request, book_id)


@router.get("/llms-full.txt", responses=_TEXT, response_class=PlainTextResponse)
async def llms_full(request: Request, book_id: BookId = None) -> StreamingResponse:
    """The text of every page of a book, in reading order."""
    return await _whole_text(request, book_id)


@router.get("/books/{book_id}/llms-full.txt", responses=_TEXT, response_class=PlainTextResponse)
async def llms_full_of(request: Request, book_id: str) -> StreamingResponse:
    """The same for the named book."""
    return await _whole_text(request, book_id)


async def _table_of_contents(request: Request, book_id: str | None) -> PlainTextResponse:
    quoth = quoth_of(request)
    book = await quoth.choose_book(book_id)
    links = await contents(quoth.index, await pages_of(quoth.library, book.book_id))
    full = str(request.app.url_path_for("llms_full_of", book_id=book.book_id))
    return PlainTextResponse(llms_txt(book, links, whole_text=full))


async def _whole_text(request: Request, book_id: str | None) -> StreamingResponse:
    quoth = quoth_of(request)
    book = await quoth.choose_book(book_id)
    records = await pages_of(quoth.library, book.book_id)
    # A failure before the first byte still gets a proper status.
    first = [as_document(record, await text_of(quoth.index, record)) for record in records[:1]]
    return StreamingResponse(_documents(quoth.index, "".join(first), records[1:]), media_type="text/plain")


async def _documents(index: ChunkIndex, first: str, rest: Sequence[PageRecord]) -> AsyncIterator[str]:
    yield first
    for record in rest:
        yield as_document(record, await text_of(index, record))
