"""What the doors that ask a book have in common: read the question, answer it whole or as a stream.

In: a request. Out: an `Answer`, or a response that streams one. A reader who leaves stops the work, whichever door he
asked at; the pipeline stores what he was given.
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
from quoth.serve.problems import explained, request_id_of
from quoth.serve.sse import Event, EventStream, disconnected, stopped
from quoth.serve.views import event_view

PATIENCE = 10.0  # seconds: who has heard nothing by then is given the head of the response and heartbeats

T = TypeVar("T")
Asked = TypeVar("Asked", bound=ChatRequest)
Dress = Callable[[AsyncGenerator[AnswerEvent]], AsyncGenerator[Event]]


async def read_question(request: Request, model: type[Asked]) -> tuple[Asked, Question]:
    quoth = quoth_of(request)
    asked = await read_body(request, model)
    book = await quoth.choose_book(asked.book_id)
    return asked, quoth.question(asked, book, request_id=request_id_of(request), owner=owner_of(request))


async def viewed(events: AsyncGenerator[AnswerEvent]) -> AsyncGenerator[Event]:
    async with aclosing(events):
        async for event in events:
            yield event_view(event)


async def answered(request: Request, question: Question) -> Answer:
    return await while_there(request, quoth_of(request).conversations.answer(question))


async def streamed(
    request: Request, question: Question, *, dress: Dress = viewed, found: str = "retrieval", farewell: bytes = b""
) -> Response:
    """`dress` makes the door's events of the pipeline's; `found` is its first one that tells of passages."""
    events = dress(quoth_of(request).conversations.ask(question))
    opening = asyncio.create_task(until(found, events))
    try:
        await while_there(request, asyncio.wait([opening], timeout=PATIENCE))
    except BaseException:
        await stopped(opening)
        raise

    if opening.done():
        opening.result()  # or the fault that it met
    return EventStream(events, explain=explained(request), opening=opening, farewell=farewell)


async def until(found: str, events: AsyncGenerator[Event]) -> list[Event]:
    """What happens before the first byte can still fail with a proper status; most failures are failures to find."""
    opening: list[Event] = []
    async for event in events:
        opening.append(event)
        if event[0] == found:
            break
    return opening


async def while_there(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The work's result. A reader who leaves stops it: nobody waits for it, and others may."""
    working = asyncio.create_task(work)
    leaving = asyncio.create_task(disconnected(request.receive))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
    finally:
        await stopped(working, leaving)
    return working.result()
