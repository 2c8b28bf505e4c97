"""What the doors that ask a book have in common: read the question, then answer it at once or as a stream.

In: a request. Out: an `Answer`, or a response that streams one. A reader who disconnects stops the work, at every door;
the pipeline stores what they received.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from typing import Any, TypeVar

from fastapi import Request, Response
from starlette.requests import ClientDisconnect

from quoth.ask.request import ChatRequest
from quoth.domain import Answer, AnswerEvent, Question
from quoth.serve.bodies import read_body
from quoth.serve.deps import owner_of, quoth_of
from quoth.serve.problems import problem_teller, request_id_of
from quoth.serve.sse import Event, EventStream, Identify, cancel, wait_for_disconnect
from quoth.serve.views import event_view

_FIRST_EVENT_TIMEOUT = 10.0  # seconds; then the response's headers are sent, and heartbeats

T = TypeVar("T")
Asked = TypeVar("Asked", bound=ChatRequest)
_ToEvents = Callable[[AsyncGenerator[AnswerEvent]], AsyncGenerator[Event]]


async def read_question(request: Request, model: type[Asked]) -> tuple[Asked, Question]:
    quoth = quoth_of(request)
    asked = await read_body(request, model)
    book = await quoth.choose_book(asked.book_id)
    return asked, quoth.question(asked, book, request_id=request_id_of(request), owner=owner_of(request))


async def answer_question(request: Request, question: Question) -> Answer:
    return await while_connected(request, quoth_of(request).conversations.answer(question))


async def _our_events(events: AsyncGenerator[AnswerEvent]) -> AsyncGenerator[Event]:
    async with aclosing(events):
        async for event in events:
            yield event_view(event)


async def stream_answer(
    request: Request,
    question: Question,
    *,
    to_events: _ToEvents = _our_events,
    found: str = "retrieval",
    farewell: bytes = b"",
    identify: Identify = lambda name, data: "",
) -> Response:
    """`to_events` turns the pipeline's events into the door's. `found` names the first event that mentions passages."""
    events = to_events(quoth_of(request).conversations.ask(question))
    opening = asyncio.create_task(_read_until(found, events))
    try:
        await while_connected(request, asyncio.wait([opening], timeout=_FIRST_EVENT_TIMEOUT))
    except BaseException:
        await cancel(opening)
        raise
    if opening.done():
        opening.result()  # raises its error, if any
    return EventStream(events, explain=problem_teller(request), opening=opening, farewell=farewell, identify=identify)


async def _read_until(found: str, events: AsyncGenerator[Event]) -> list[Event]:
    """A failure before the first byte can still get a proper status; most failures happen while searching."""
    opening: list[Event] = []
    async for event in events:
        opening.append(event)
        if event[0] == found:
            break
    return opening


async def while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The work's result. A reader who disconnects stops it."""
    working = asyncio.create_task(work)
    leaving = asyncio.create_task(wait_for_disconnect(request.receive))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
    finally:
        await cancel(working, leaving)
    return working.result()
