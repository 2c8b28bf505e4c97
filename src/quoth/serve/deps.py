"""Where a handler gets its dependencies: the parts that `bootstrap` joined, as far as the caller may see them."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import Query, Request

from quoth.bootstrap import Quoth
from quoth.domain import Key
from quoth.serve.jobs import Jobs

BookId = Annotated[str | None, Query(description="May be left out if there is only one book")]


def quoth_of(request: Request) -> Quoth:
    """A `Quoth` that sees only what this request's key may see. Handlers get it in no other way."""
    quoth = cast(Quoth, request.app.state.quoth)  # set by the lifespan; the framework's state is untyped
    key: Key | None = getattr(request.state, "key", None)
    return quoth if key is None else quoth.seen_by(key)


def jobs_of(request: Request) -> Jobs:
    return cast(Jobs, request.app.state.jobs)


def owner_of(request: Request) -> str:
    """Whose sessions this request may see; empty if no key is needed."""
    return str(getattr(request.state, "owner", ""))
