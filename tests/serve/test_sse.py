from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, MutableMapping
from typing import Any

import pytest

from quoth.errors import IndexUnavailable, QuothError
from quoth.serve.sse import MOST_WAITING, Event, EventStream, frame

SCOPE: dict[str, Any] = {"type": "http", "method": "POST", "path": "/chat/stream", "headers": []}


class Reader:
    """The other end of the wire: keeps what was sent, and disconnects when told to."""

    def __init__(self) -> None:
        self.body = b""
        self.ended = False
        self.left = asyncio.Event()
        self.got = asyncio.Event()

    async def send(self, message: MutableMapping[str, Any]) -> None:
        self.body += message.get("body", b"")
        self.ended = message["type"] == "http.response.body" and not message["more_body"]
        if self.body:
            self.got.set()

    async def receive(self) -> MutableMapping[str, Any]:
        await self.left.wait()
        return {"type": "http.disconnect"}


def explain(error: QuothError) -> dict[str, Any]:
    return {"error_code": error.code}


def stream(events: AsyncGenerator[Event, None], heartbeat: float = 60.0) -> EventStream:
    return EventStream(events, explain=explain, heartbeat=heartbeat)


def test_a_frame_is_two_lines_whatever_the_text_holds() -> None:
    text = 'two\nlines\r\n\r\nand \u2028 "quotes"'
    name, data, *rest = frame("delta", {"delta": text}).decode().split("\n")
    assert name == "event: delta"
    assert json.loads(data.removeprefix("data: ")) == {"delta": text}
    assert rest == ["", ""]


async def test_events_are_sent_as_they_happen_and_then_the_stream_ends() -> None:
    async def two() -> AsyncGenerator[Event, None]:
        yield "status", {"stage": "retrieving"}
        yield "done", {"done": True}

    reader = Reader()
    await stream(two())(SCOPE, reader.receive, reader.send)
    assert reader.body == frame("status", {"stage": "retrieving"}) + frame("done", {"done": True})
    assert reader.ended


async def test_an_error_of_ours_becomes_the_last_event() -> None:
    async def fails() -> AsyncGenerator[Event, None]:
        yield "status", {"stage": "retrieving"}
        raise IndexUnavailable("gone")

    reader = Reader()
    await stream(fails())(SCOPE, reader.receive, reader.send)
    assert reader.body.endswith(frame("error", {"error_code": "QDRANT_UNAVAILABLE"}))
    assert reader.ended


async def test_any_other_fault_leaves_for_the_doorway() -> None:
    async def breaks() -> AsyncGenerator[Event, None]:
        yield "status", {"stage": "retrieving"}
        raise ZeroDivisionError

    reader = Reader()
    with pytest.raises(ZeroDivisionError):
        await stream(breaks())(SCOPE, reader.receive, reader.send)
    assert not reader.ended


async def test_a_reader_who_leaves_while_the_answer_is_made_stops_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    stopped = asyncio.Event()

    async def endless() -> AsyncGenerator[Event, None]:
        try:
            yield "status", {"stage": "generating"}
            await asyncio.Event().wait()  # a model that thinks
        finally:
            stopped.set()

    reader = Reader()
    serving = asyncio.create_task(stream(endless())(SCOPE, reader.receive, reader.send))
    await reader.got.wait()
    assert not stopped.is_set()
    reader.left.set()
    await asyncio.wait_for(serving, timeout=60)
    assert stopped.is_set()
    assert not reader.ended
    assert caplog.messages == ["the reader left; the answer was stopped"]


async def test_a_reader_who_leaves_while_bytes_are_stuck_stops_the_answer_too() -> None:
    stopped = asyncio.Event()
    stuck = asyncio.Event()

    async def ready() -> AsyncGenerator[Event, None]:
        try:
            while True:
                yield "delta", {"delta": "word"}
        finally:
            stopped.set()

    reader = Reader()

    async def full_buffer(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.body":
            stuck.set()
            await asyncio.Event().wait()

    serving = asyncio.create_task(stream(ready())(SCOPE, reader.receive, full_buffer))
    await stuck.wait()
    reader.left.set()
    await asyncio.wait_for(serving, timeout=60)
    assert stopped.is_set()


async def test_a_comment_is_sent_while_nothing_happens() -> None:
    silence = asyncio.Event()

    async def slow() -> AsyncGenerator[Event, None]:
        await silence.wait()
        yield "done", {"done": True}

    reader = Reader()
    serving = asyncio.create_task(stream(slow(), heartbeat=0.001)(SCOPE, reader.receive, reader.send))
    await reader.got.wait()
    assert reader.body.startswith(b": ")
    silence.set()
    await serving
    assert reader.body.endswith(frame("done", {"done": True}))
    assert set(reader.body.split(b"\n\n")[:-2]) == {b": still here"}


async def test_no_comment_is_sent_before_its_time() -> None:
    async def quick() -> AsyncGenerator[Event, None]:
        for number in range(50):
            yield "delta", {"delta": str(number)}
            await asyncio.sleep(0)

    reader = Reader()
    await stream(quick())(SCOPE, reader.receive, reader.send)
    assert b": still here" not in reader.body


async def test_events_that_are_ready_together_leave_together_and_no_word_waits_for_the_next() -> None:
    go_on = asyncio.Event()

    async def in_two_breaths() -> AsyncGenerator[Event, None]:
        for word in ["one", "two", "three"]:
            yield "delta", {"delta": word}
        await go_on.wait()
        yield "done", {"done": True}

    class Counting(Reader):
        sent: list[bytes]

        async def send(self, message: MutableMapping[str, Any]) -> None:
            self.sent.append(message.get("body", b""))
            await super().send(message)

    reader = Counting()
    reader.sent = []
    running = asyncio.create_task(stream(in_two_breaths())(SCOPE, reader.receive, reader.send))
    await reader.got.wait()
    assert reader.body == b"".join(frame("delta", {"delta": word}) for word in ("one", "two", "three"))
    go_on.set()
    await running
    assert [bool(block) for block in reader.sent] == [False, True, True, False]  # the head, two breaths, the end


async def test_a_slow_reader_holds_up_the_answer_instead_of_filling_the_memory() -> None:
    made = 0

    async def long() -> AsyncGenerator[Event, None]:
        nonlocal made
        for _ in range(100):
            made += 1
            yield "delta", {"delta": "x" * 10_000}

    class Slow(Reader):
        most = 0

        async def send(self, message: MutableMapping[str, Any]) -> None:
            await asyncio.sleep(0)
            self.most = max(self.most, len(message.get("body", b"")))
            await super().send(message)

    reader = Slow()
    await stream(long())(SCOPE, reader.receive, reader.send)
    assert made == 100
    assert len(reader.body) > 1_000_000
    assert reader.most < 2 * MOST_WAITING
