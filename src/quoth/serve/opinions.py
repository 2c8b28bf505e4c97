"""`POST /feedback`, `POST /share`, `GET /shared/{share_id}`: readers rate an answer, or share it.

In: a session and the request id of one of its answers. Feedback and shares are stored with the turn, so they are erased
with the session. A share id is the turn's number and a secret, so no address can be guessed; `static` serves its page
at `/a/{share_id}`.
"""

from __future__ import annotations

import re
import secrets
from typing import Annotated, Literal

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from quoth.ask.request import SessionId
from quoth.bootstrap import Quoth
from quoth.domain import Feedback, Turn
from quoth.errors import NotFound
from quoth.serve.bodies import body_schema, read_body
from quoth.serve.deps import owner_of, quoth_of
from quoth.serve.sessions import HistoryEntry, entry_view
from quoth.serve.shapes import Shape, answers, problems

router = APIRouter(tags=["sessions"])

_SHARE = re.compile(r"(\d{1,18})-([A-Za-z0-9_-]{22})")

_RequestId = Annotated[str, Field(min_length=1, max_length=36, description="`metadata.request_id` of the answer")]


class FeedbackRequest(BaseModel):
    """A reader's rating of an answer."""

    model_config = ConfigDict(extra="forbid")

    session_id: SessionId
    request_id: _RequestId
    rating: Literal["up", "down"] | None = Field(description="null withdraws the rating")
    reason: str = Field(default="", max_length=500)


class ShareRequest(BaseModel):
    """An answer to share."""

    model_config = ConfigDict(extra="forbid")

    session_id: SessionId
    request_id: _RequestId


class ShareResponse(Shape):
    share_id: str
    path: Annotated[str, Field(description="The page that shows it", examples=["/a/7-mZ0vXJ3m1bq4nQyC8oGd2A"])]


class SharedResponse(Shape):
    """A shared answer; nothing else of the conversation."""

    share_id: str
    book_id: str
    title: Annotated[str, Field(description="The book's title")]
    entry: HistoryEntry


@router.post(
    "/feedback",
    status_code=204,
    openapi_extra=body_schema(FeedbackRequest),
    responses=problems(400, 404, 413, 415, 503),
)
async def feedback(request: Request) -> Response:
    """Rate an answer: up, or down with a reason. The rating is erased with its session."""
    given = await read_body(request, FeedbackRequest)
    opinion = None if given.rating is None else Feedback(given.rating, given.reason.strip())
    library = quoth_of(request).library
    await library.put_feedback(given.session_id, given.request_id, opinion, owner=owner_of(request))
    return Response(status_code=204)


@router.post(
    "/share", openapi_extra=body_schema(ShareRequest), responses=answers(ShareResponse, 400, 404, 413, 415, 503)
)
async def share(request: Request) -> JSONResponse:
    """Create an address at which anyone who knows it can read one answer. It ends with the session."""
    quoth = quoth_of(request)
    _check_sharing(quoth)
    wanted = await read_body(request, ShareRequest)
    turn = await quoth.library.share_turn(
        wanted.session_id, wanted.request_id, secrets.token_urlsafe(16), owner=owner_of(request)
    )
    body: ShareResponse = {"share_id": _share_id(turn), "path": f"/a/{_share_id(turn)}"}
    return JSONResponse(body)


@router.get("/shared/{share_id}", responses=answers(SharedResponse, 404, 503))
async def shared(request: Request, share_id: str) -> JSONResponse:
    """A shared answer. Needs no key."""
    turn, title = await find_shared(quoth_of(request), share_id)
    entry = entry_view(turn)
    entry["rating"] = None  # private to the reader who rated it
    body: SharedResponse = {"share_id": share_id, "book_id": turn.book_id, "title": title, "entry": entry}
    return JSONResponse(body, headers={"x-robots-tag": "noindex", "cache-control": "no-store"})


async def find_shared(quoth: Quoth, share_id: str) -> tuple[Turn, str]:
    """The turn and the title of its book; `NotFound` for everything that is not shared."""
    _check_sharing(quoth)
    known = _SHARE.fullmatch(share_id)
    if known is None:
        raise NotFound("No answer is shared under this address.")
    turn = await quoth.library.shared_turn(int(known[1]), known[2])
    return turn, next((book.title for book in await quoth.library.books() if book.book_id == turn.book_id), "")


def _share_id(turn: Turn) -> str:
    return f"{turn.turn_id}-{turn.share}"


def _check_sharing(quoth: Quoth) -> None:
    if not quoth.settings.sharing:
        raise NotFound("Sharing is off on this server.", hint="The operator can allow it: `QUOTH_SHARING=true`.")
