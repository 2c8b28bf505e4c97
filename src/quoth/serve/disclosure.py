"""What a caller may learn about the server's internals: which part failed in an outage, the name of a book's folder.

In: an error or a book, and the request. Out: the same without paths, hosts and tables, which are for operators (keys of
scope `admin`) and for the log. Knows no web framework, so that `quoth mcp` does not have to load one.
"""

from __future__ import annotations

from pathlib import PurePath

from starlette.requests import Request

from quoth.domain import Book, Key
from quoth.errors import (
    DiskFull,
    EmbedderUnavailable,
    IndexMismatch,
    IndexUnavailable,
    InternalError,
    LibraryUnavailable,
    ModelFilesUnavailable,
    ModelUnavailable,
    Outage,
    QuothError,
)

# The part behind each outage, by its label in metrics and health.
_PARTS: tuple[tuple[type[QuothError], str], ...] = (
    (IndexUnavailable, "index"),
    (IndexMismatch, "index"),
    (LibraryUnavailable, "database"),
    (ModelFilesUnavailable, "embedder"),
    (EmbedderUnavailable, "embedder"),
    (ModelUnavailable, "model"),
    (DiskFull, "disk"),
)


_NOUNS = {"embedder": "embedding model", "model": "language model"}


def part_of(error: QuothError) -> str:
    """The part of the server that failed; empty if none did."""
    return next((part for kind, part in _PARTS if isinstance(error, kind)), "")


def public(error: QuothError, request_id: str = "") -> QuothError:
    """The error as a stranger may see it. Details of our own faults, and the paths, hosts and tables that an outage
    names, go only to the log. The doors themselves raise a plain `Outage`, which names none."""
    if error.status == 500:
        return InternalError("Something went wrong inside Quoth.", hint=f"Report it with the request id {request_id}.")
    if not isinstance(error, Outage) or type(error) is Outage:
        return error
    if error.inside:
        return type(error)(error.message, hint=error.hint)  # hosts and reasons are in its details
    part = part_of(error)
    next_step = "Try again in a moment" if error.retryable else "The operator has to fix it first"
    under = f" under the request id {request_id}" if request_id else ""
    return type(error)(
        f"The {_NOUNS.get(part, part or 'server')} is not available right now.",
        hint=f"{next_step}; the server's log has the reason{under}.",
    )


def is_admin(request: Request) -> bool:
    key: Key | None = getattr(request.state, "key", None)
    return key is not None and key.scope == "admin"


def visible_source(request: Request, book: Book) -> str:
    """Where the book came from. Only operators see more than the name of a folder on this machine."""
    if is_admin(request) or "://" in book.source:
        return book.source
    return PurePath(book.source).name
