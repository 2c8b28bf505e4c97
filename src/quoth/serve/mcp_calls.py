"""The tool calls of agents that are under way: how far they are, and how they are cancelled.

A client of the older protocol cancels a call over HTTP with a message of its own, on another connection. It is known
by its session, whose id this server gave it and nobody can guess, and by the id of its request. Cancelled work stops
at once, and what was said by then is stored as at every door. The newer protocol, and stdio, need none of this: there
a call is cancelled by closing its stream, or by the SDK. Knows no tool.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import aclosing
from typing import Any, TypeVar

from starlette.requests import Request

from quoth.domain import Answer, AnswerEvent, Delta, Done, Retrieved
from quoth.serve.sse import cancel

T = TypeVar("T")
CallKey = tuple[str, str, str]  # whose, in which session, which
Report = Callable[[float, str], Awaitable[None]]  # seconds so far, and what is done now

SESSION_HEADER = "mcp-session-id"
REQUEST_CANCELLED = -32800  # the code that the SDK answers a cancelled request with
PROGRESS_SECONDS = 1.0


def call_key(request: Request | None, owner: str, call_id: object) -> CallKey | None:
    """How a call is known to the one who may cancel it; None where it has no session, or no request (stdio)."""
    session = "" if request is None else request.headers.get(SESSION_HEADER, "")
    return (owner, session, json.dumps(call_id)) if session else None


class Cancelled(Exception):
    """Its caller does not want the result any more."""


class Calls:
    def __init__(self) -> None:
        self._running: dict[CallKey, asyncio.Task[Any]] = {}

    async def run(self, key: CallKey | None, work: Coroutine[Any, Any, T]) -> T:
        """The result of the work. `Cancelled` when its caller cancelled it; without a key it cannot."""
        if key is None:
            return await work
        task = asyncio.create_task(work)
        self._running[key] = task
        try:
            await asyncio.wait([task])
        finally:
            if self._running.get(key) is task:
                del self._running[key]
            await cancel(task)
        if task.cancelled():
            raise Cancelled
        return task.result()

    def cancel(self, key: CallKey) -> None:
        """Nothing happens where there is no such call: it may just have ended."""
        if task := self._running.get(key):
            task.cancel()


async def reported(events: AsyncGenerator[AnswerEvent], report: Report) -> Answer:
    """The answer; while it is made, every second, what is being done."""
    loop = asyncio.get_running_loop()
    began, doing, words = loop.time(), "searching the book", 0

    async def tick() -> None:
        while True:
            await report(round(loop.time() - began, 3), doing)
            await asyncio.sleep(PROGRESS_SECONDS)

    ticking = asyncio.create_task(tick())
    try:
        async with aclosing(events):
            async for event in events:
                if isinstance(event, Retrieved):
                    doing = f"reading {len(event.evidence.passages)} passages"
                elif isinstance(event, Delta):
                    words += len(event.text.split())
                    doing = f"writing: {words} words so far"
                elif isinstance(event, Done):
                    return event.answer
    finally:
        await cancel(ticking)
    raise AssertionError("the stream of an answer ends with Done")
