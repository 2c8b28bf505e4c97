"""Server-sent events: named events, JSON data, a heartbeat, and no work for a reader who has left.

In: the events of one answer as they happen. Out: a `text/event-stream` response. Does not know what the events mean.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from quoth.errors import QuothError

logger = logging.getLogger(__name__)

_HEARTBEAT = 15.0  # seconds
MOST_WAITING = 65_536  # bytes, if a reader is slower than the answer
Event = tuple[str, Mapping[str, object]]
Identify = Callable[[str, Mapping[str, object]], str]

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode  # `dumps` builds one per event


def frame(name: str, data: Mapping[str, object], identity: str = "") -> bytes:
    """Without a name: a plain message, for protocols that do not name events."""
    named = f"event: {name}\n" if name else ""
    known = f"id: {identity}\n" if identity else ""
    return f"{known}{named}data: {_encode(data)}\n\n".encode()


class EventStream(Response):
    """Sends events until they end or fail, or the reader leaves; in each case the generator is closed first.

    One of our errors becomes the last event, `error`. Any other exception goes to the doorway, which does the same.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        events: AsyncGenerator[Event, None],
        *,
        explain: Callable[[QuothError], Mapping[str, object]],
        heartbeat: float = _HEARTBEAT,
        opening: asyncio.Task[list[Event]] | None = None,
        farewell: bytes = b"",
        identify: Identify = lambda name, data: "",
    ) -> None:
        """`opening` is reading, or has read, the first events. `farewell` is sent as is after all events. `identify`
        gives each event its id; a reader sends it back as `Last-Event-ID` after a broken connection."""
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._events = events
        self._opening = opening
        self._explain = explain
        self._heartbeat = heartbeat
        self._farewell = farewell
        self._identify = identify
        self._last_sent = 0.0
        self._waiting = bytearray()
        self._ready, self._room = asyncio.Event(), asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with aclosing(self._events):
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            self._last_sent = asyncio.get_running_loop().time()
            writing = asyncio.create_task(self._write(send))
            others = [asyncio.create_task(self._beat(send)), asyncio.create_task(wait_for_disconnect(receive))]
            try:
                await asyncio.wait([writing, *others], return_when=asyncio.FIRST_COMPLETED)
            finally:
                await cancel(writing, *others, *([self._opening] if self._opening else []))
            for task in (writing, *others):
                if not task.cancelled():
                    task.result()  # raises its error, if any
            if writing.cancelled():
                logger.info("the reader left; the answer was stopped")

    async def _write(self, send: Send) -> None:
        """Events that are ready together are sent together: words that a model wrote at once cost one packet."""
        gathering = asyncio.create_task(self._gather())
        try:
            while self._waiting or not gathering.done():
                await self._ready.wait()
                self._ready.clear()
                block, self._waiting = bytes(self._waiting), bytearray()
                self._room.set()
                if block:
                    await self._send(send, block)
            gathering.result()
        finally:
            await cancel(gathering)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _gather(self) -> None:
        try:
            for event in await self._opening if self._opening else ():
                await self._put(self._frame(event))
            async for event in self._events:
                await self._put(self._frame(event))
            await self._put(self._farewell)
        except QuothError as error:
            self._waiting += self._frame(("error", self._explain(error)))
        finally:
            self._ready.set()

    def _frame(self, event: Event) -> bytes:
        return frame(*event, self._identify(*event))

    async def _put(self, block: bytes) -> None:
        self._waiting += block
        self._ready.set()
        if len(self._waiting) > MOST_WAITING:
            self._room.clear()
            await self._room.wait()

    async def _beat(self, send: Send) -> None:
        """Send a comment after each silence, so that proxies keep the connection open. Frames are sent whole, so a beat
        never splits one."""
        while True:
            silent = asyncio.get_running_loop().time() - self._last_sent
            if silent >= self._heartbeat:
                await self._send(send, b": still here\n\n")
            else:
                await asyncio.sleep(self._heartbeat - silent)

    async def _send(self, send: Send, body: bytes) -> None:
        self._last_sent = asyncio.get_running_loop().time()
        await send({"type": "http.response.body", "body": body, "more_body": True})


async def cancel(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


async def wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
