"""The tool calls of agents that are under way: how far they are, and how they are cancelled.

Over HTTP a call is cancelled by closing its connection, or, by clients of the older protocol, with a message on another
connection: a call is known by its session, whose id this server gave and nobody can guess, and by the id of its
request. Cancelled work stops at once, and what was said by then is stored as at every door. On stdio the SDK does this.
Knows no tool.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from contextlib import aclosing
from typing import Any, TypeVar

from starlette.requests import Request

from quoth.domain import Answer, AnswerEvent, Delta, Done, Retrieved
from quoth.serve.sse import cancel

T = TypeVar("T")
CallKey = tuple[str, ...]  # one of the ways in which a call is known
Report = Callable[[float, str], Awaitable[None]]  # seconds so far, and what is done now

SESSION_HEADER = "mcp-session-id"
REQUEST_CANCELLED = -32800  # the code that the SDK answers a cancelled request with
PROGRESS_SECONDS = 1.0


def session_keys(request: Request, owner: str, call_id: object) -> list[CallKey]:
    """How the call with this id is known to the session of the request; in no way where it has no session."""
    session = request.headers.get(SESSION_HEADER, "")
    return [("session", owner, session, json.dumps(call_id))] if session else []


def call_keys(request: Any, owner: Callable[[Any], str], call_id: object) -> list[CallKey]:
    """All ways in which a call is known; none without a request, on stdio."""
    return [] if request is None else [connection_key(request), *session_keys(request, owner(request), call_id)]


def connection_key(request: Request) -> CallKey:
    """How the call that came with this request is known to its connection."""
    return ("connection", str(request.state.mcp_connection))


class Cancelled(Exception):
    """Its caller does not want the result any more."""


class Calls:
    def __init__(self) -> None:
        self._running: dict[CallKey, asyncio.Task[Any]] = {}

    async def run(self, keys: Sequence[CallKey], work: Coroutine[Any, Any, T]) -> T:
        """The result of the work. `Cancelled` when its caller cancelled it by one of the keys."""
        task = asyncio.create_task(work)
        self._running |= dict.fromkeys(keys, task)
        try:
            await asyncio.wait([task])
        finally:
            for key in keys:
                if self._running.get(key) is task:
                    del self._running[key]
            await cancel(task)
        if task.cancelled():
            raise Cancelled
        return task.result()

    def cancel(self, key: CallKey) -> bool:
        """Whether there is such a call here; it may just have ended."""
        task = self._running.get(key)
        return task is not None and task.cancel()


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
