"""Where a handler finds the parts that `bootstrap` joined."""

from __future__ import annotations

from typing import cast

from fastapi import Request

from quoth.api.jobs import Jobs
from quoth.bootstrap import Quoth


def quoth_of(request: Request) -> Quoth:
    return cast(Quoth, request.app.state.quoth)  # set by the lifespan; the framework's state is untyped


def jobs_of(request: Request) -> Jobs:
    return cast(Jobs, request.app.state.jobs)


def owner_of(request: Request) -> str:
    """Whose sessions this request may see; empty where nobody needs a key."""
    return str(getattr(request.state, "owner", ""))
