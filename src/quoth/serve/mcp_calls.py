"""The running tool calls of agents: their progress, and how they are cancelled.

Over HTTP a client cancels a call by closing its connection. Clients of the older protocol send a message on another
connection, which names the call by its session and its request id; this server chose the session id, and it cannot be
guessed. Cancelled work stops at once, and the words so far are stored, as at every door. On stdio the SDK does this.
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
CallKey = tuple[str, ...]  # one of the ways to identify a call
Report = Callable[[float, str], Awaitable[None]]  # seconds so far, and the current step

SESSION_HEADER = "mcp-session-id"
REQUEST_CANCELLED = -32800  # the SDK's error code for a cancelled request
PROGRESS_SECONDS = 1.0


def session_keys(request: Request, owner: str, call_id: object) -> list[CallKey]:
    """The keys of the call with this id within the request's session; none if it has no session."""
    session = request.headers.get(SESSION_HEADER, "")
    return [("session", owner, session, json.dumps(call_id))] if session else []


def call_keys(request: Any, owner: Callable[[Any], str], call_id: object) -> list[CallKey]:
    """All keys of a call; none without a request, on stdio."""
    return [] if request is None else [connection_key(request), *session_keys(request, owner(request), call_id)]


def connection_key(request: Request) -> CallKey:
    """The key of the call that came over this request's connection."""
    return ("connection", str(request.state.mcp_connection))


class Cancelled(Exception):
    """The caller no longer wants the result."""


class Calls:
    def __init__(self) -> None:
        self._running: dict[CallKey, asyncio.Task[Any]] = {}

    async def run(self, keys: Sequence[CallKey], work: Coroutine[Any, Any, T]) -> T:
        """The result of the work. `Cancelled` if its caller cancelled it by one of the keys."""
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
        """Cancel the call. Returns whether it runs here; it may just have ended."""
        task = self._running.get(key)
        return task is not None and task.cancel()


async def reported(events: AsyncGenerator[AnswerEvent], report: Report) -> Answer:
    """The answer. Until it is ready, reports the current step every second."""
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
