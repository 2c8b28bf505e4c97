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

from quoth.api.bodies import read_body
from quoth.api.parts import owner_of, quoth_of
from quoth.api.problems import log_fault, problem, request_id_of
from quoth.api.sse import Event, EventStream, disconnected
from quoth.domain import Answer, AnswerEvent, Question
from quoth.errors import QuothError
from quoth.requests import ChatRequest
from quoth.views import View, event_view

T = TypeVar("T")
Asked = TypeVar("Asked", bound=ChatRequest)
AnswerEvents = AsyncGenerator[AnswerEvent, None]
Dressed = Callable[[AnswerEvents], AsyncGenerator[Event, None]]


async def read_question(request: Request, model: type[Asked]) -> tuple[Asked, Question]:
    quoth = quoth_of(request)
    asked = await read_body(request, model)
    book = await quoth.choose_book(asked.book_id)
    question = asked.to_question(
        book=book, request_id=request_id_of(request), top_k=quoth.settings.top_k, owner=owner_of(request)
    )
    return asked, question


async def answered(request: Request, question: Question) -> Answer:
    return await while_there(request, quoth_of(request).conversations.answer(question))


async def streamed(
    request: Request, question: Question, dressed: Dressed | None = None, *, opening: int = 2, farewell: bytes = b""
) -> Response:
    """The events of an answer as those of this door. So many of them are had before the first byte is sent, because
    what happens until something was found can still fail with a proper status."""
    events = (dressed or viewed)(quoth_of(request).conversations.ask(question))
    first = await while_there(request, read(events, opening))

    def explain(error: QuothError) -> View:
        log_fault(error)
        return problem(error, request_id=request_id_of(request), instance=request.url.path)

    return EventStream(events, explain=explain, opening=first, farewell=farewell)


async def viewed(events: AnswerEvents) -> AsyncGenerator[Event]:
    async with aclosing(events):
        async for event in events:
            yield event_view(event)


async def read(events: AsyncGenerator[Event], count: int) -> list[Event]:
    return [await anext(events) for _ in range(count)]


async def while_there(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The work's result. A reader who leaves stops it: nobody waits for it, and others may."""
    working = asyncio.create_task(work)
    leaving = asyncio.create_task(disconnected(request.receive))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.wait((working, leaving))
    return working.result()
