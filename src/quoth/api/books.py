"""`GET /books`: which books can be asked."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from quoth.api.parts import quoth_of
from quoth.api.schemas import BooksResponse, answers
from quoth.bootstrap import Quoth
from quoth.domain import Book, IndexStatus
from quoth.errors import UnknownBook
from quoth.views import book_view

router = APIRouter(tags=["books"])


async def status_of(quoth: Quoth, book: Book) -> IndexStatus | None:
    try:
        return await quoth.index.status(book.book_id)
    except UnknownBook:  # known to the library, but its first ingest has not published anything yet
        return None


@router.get("/books", responses=answers(BooksResponse, 503))
async def books(request: Request) -> JSONResponse:
    """Every book, with the state of its index."""
    quoth = quoth_of(request)
    known = await quoth.books()
    return JSONResponse({"books": [book_view(book, await status_of(quoth, book)) for book in known]})
