"""Resumes a broken stream where it broke, without asking again.

Each event of an answer has an id that names its session, its question, and how much of the text was sent by then. In: a
request with the id of the last event its reader has. Out: the rest of the stored answer as stream events, or 204, which
tells browsers to stop, if the reader has all of it. An answer stops when its reader leaves, so the rest is what was
written by then.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping

from fastapi import Request, Response

from quoth.ask.cited import answer_of
from quoth.ask.threads import LIVE_TURNS
from quoth.bootstrap import Quoth
from quoth.domain import AnswerEvent, Delta, Done, Grounded, Question, Sourced, Turn
from quoth.errors import NotFound, SessionNotFound
from quoth.serve.asking import while_connected
from quoth.serve.deps import owner_of, quoth_of
from quoth.serve.problems import problem_teller
from quoth.serve.sse import Event, EventStream
from quoth.serve.views import event_view

_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_ID = re.compile(rf"({_UUID})\.({_UUID})\.(\d{{1,7}})\.([a-z]+)")
_LAST = ("done", "error")
_LOOKS = 10  # attempts to find a turn that another worker is storing
_PAUSE = 0.2  # seconds between two looks


class StreamIds:
    """The ids of the events of one answer, in order."""

    def __init__(self, question: Question) -> None:
        self._asked = f"{question.session_id}.{question.request_id}"
        self._sent = 0  # characters of the text

    def __call__(self, name: str, data: Mapping[str, object]) -> str:
        if name == "delta":
            self._sent += len(str(data["delta"]))
        return f"{self._asked}.{self._sent}.{name}"


async def resumed(request: Request) -> Response | None:
    """The rest of a broken stream; None for a new question."""
    last = _ID.fullmatch(request.headers.get("last-event-id", ""))
    if last is None:
        return None
    session_id, request_id, sent, name = last.groups()
    if name in _LAST:
        return Response(status_code=204)
    turn = await while_connected(request, _stored(quoth_of(request), session_id, request_id, owner_of(request)))
    if turn is None:
        raise NotFound("The answer of this stream is not stored.", hint="Ask again, without `Last-Event-ID`.")
    asked = Question(turn.query, turn.book_id, session_id, request_id)
    ids = StreamIds(asked)
    ids("delta", {"delta": turn.response[: int(sent)]})
    return EventStream(_rest(turn, int(sent), name), explain=problem_teller(request), identify=ids)


async def _stored(quoth: Quoth, session_id: str, request_id: str, owner: str) -> Turn | None:
    async with quoth.conversations.memory.order.turn(owner, session_id):  # a turn is stored before its order ends
        for _ in range(_LOOKS):
            try:
                turns = await quoth.library.recent_turns(session_id, owner=owner, limit=LIVE_TURNS)
            except SessionNotFound:
                turns = []
            for turn in turns:
                if turn.request_id == request_id:
                    return turn
            await asyncio.sleep(_PAUSE)
    return None


async def _rest(turn: Turn, sent: int, name: str) -> AsyncGenerator[Event]:
    answer = answer_of(turn)
    if unread := turn.response[sent:]:
        yield event_view(Delta(unread))
    ends: list[AnswerEvent] = [Sourced(answer), Grounded(answer.grounding), Done(answer)]
    for end in ends[{"sources": 1, "grounding": 2}.get(name, 0) :]:
        yield event_view(end)
