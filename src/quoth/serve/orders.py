"""What may be ingested over HTTP: a folder that the operator allowed, or a known book from where it came.

In: a checked request. Out: an `Order`, or the error that says why not. A folder is judged by where it really is, with
all links followed, before anything is said about what is there: this door must not be a way to read the machine.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from quoth.ask.request import IngestRequest
from quoth.bootstrap import Quoth
from quoth.chunks.payload import check_book_id
from quoth.domain import Book
from quoth.errors import Forbidden, UnknownBook, Unreadable, WrongUsage
from quoth.serve.jobs import Order

if TYPE_CHECKING:
    from quoth.sources import BookSource


async def order_of(quoth: Quoth, wanted: IngestRequest) -> Order:
    order = await _known_or_allowed(quoth, wanted)
    order = replace(order, mode=wanted.mode, dry_run=wanted.dry_run)
    return order if wanted.base_url is None else replace(order, base_url=wanted.base_url)


async def _known_or_allowed(quoth: Quoth, wanted: IngestRequest) -> Order:
    if wanted.path is None:
        return await order_again(await quoth.choose_book(wanted.book_id))
    if wanted.book_id is None:
        raise WrongUsage("`book_id` is missing.", hint="With `path`, say under which id the book is kept.")
    check_book_id(wanted.book_id)
    quoth.check_book(wanted.book_id)
    book = await _book(quoth, wanted.book_id)
    if book is not None and book.source == wanted.path:
        return await order_again(book)
    folder = await asyncio.to_thread(allowed_folder, wanted.path, quoth.settings.ingest_roots)
    return Order(wanted.book_id, str(folder))


async def order_again(book: Book) -> Order:
    """The same book from the same place. `Unreadable` when that is gone."""
    return Order(book.book_id, book.source, base_url=await asyncio.to_thread(base_url_of, book))


def allowed_folder(path: str, roots: Sequence[Path]) -> Path:
    """The folder that `path` means, in itself or below a root. `Forbidden` wherever it lies outside of all roots."""
    inside = []
    for root in (root.resolve() for root in roots):
        folder = (root / path).resolve()
        if folder.is_relative_to(root):
            inside.append(folder)
    if not inside:
        raise Forbidden(
            f"{path} is in no folder that may be ingested over HTTP.",
            hint="Add its folder to QUOTH_INGEST_ROOTS on the server, or run `quoth ingest PATH` there.",
        )
    for folder in inside:
        if folder.is_dir():
            return folder
    raise Unreadable(f"{path} is no folder.", hint="Give the folder that holds the book.")


def base_url_of(book: Book) -> str:
    """The base URL to ingest the book with again: none where its toolchain names the recorded one by itself, because
    an address that was given is not read quite as one that was found in the toolchain's own settings."""
    from quoth.sources import open_source  # brings the parsers along, which answering does not need

    if not book.source:
        raise Unreadable(f"Nobody knows where {book.book_id!r} came from.", hint="Ingest it once with its path.")
    if book.source.startswith(("http://", "https://")):
        return ""  # a site knows where it is published, and is not visited to be asked
    found = open_source(book.source, book_id=book.book_id).book.base_url
    return "" if found == book.base_url else book.base_url


def reopen(book: Book) -> BookSource:
    from quoth.sources import open_source

    return open_source(book.source, book_id=book.book_id, base_url=base_url_of(book))


async def _book(quoth: Quoth, book_id: str) -> Book | None:
    try:
        return await quoth.shelf.book(book_id)
    except UnknownBook:
        return None
