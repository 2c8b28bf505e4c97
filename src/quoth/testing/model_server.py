"""A scripted OpenAI server: real HTTP on loopback, real frames, no model. For tests and benchmarks.

In: replies, one for each request, in order; the last one is repeated. Out: the requests as parsed bodies. Frames are
bytes, so that a script can also send what a sound server would not: a cut stream, half a frame, an endless answer.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import TracebackType
from typing import Any, Self

# What to send, how many seconds to pause (a negative pause never ends), or what to wait for.
Step = bytes | float | Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Reply:
    steps: tuple[Step, ...] = ()
    status: int = 200
    content_type: str = "text/event-stream"
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False  # close the connection in the middle
    endless: bytes = b""  # sent over and over after the steps
    pace: float = 0.0  # seconds before each repetition


def data(value: object) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def chunk(delta: Mapping[str, Any], *, finish: str | None = None, **more: object) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": "scripted"}
    return data({**base, "choices": [choice], **more})


def usage(prompt: int, completion: int) -> bytes:
    counted = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return data({"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [], "usage": counted})


DONE = b"data: [DONE]\n\n"


def says(*words: str, pace: float = 0.0, tokens: tuple[int, int] = (100, 20)) -> Reply:
    """A model that writes these words, each in its own frame."""
    steps: list[Step] = [chunk({"role": "assistant", "content": ""})]
    for word in words:
        steps += [pace, chunk({"content": word})] if pace else [chunk({"content": word})]
    return Reply((*steps, chunk({}, finish="stop"), usage(*tokens), DONE))


def calls(
    name: str, arguments: Mapping[str, Any] | str, *, call_id: str = "call_a", pieces: int = 3, pace: float = 0.0
) -> Reply:
    """A model that wants a tool called, with the arguments split over several frames as real servers do."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    cuts = [len(text) * at // pieces for at in range(pieces + 1)]
    first = {"index": 0, "id": call_id, "type": "function", "function": {"name": name, "arguments": ""}}
    steps: list[Step] = [chunk({"role": "assistant", "content": None, "tool_calls": [first]})]
    for start, end in pairwise(cuts):
        frame = chunk({"tool_calls": [{"index": 0, "function": {"arguments": text[start:end]}}]})
        steps += [pace, frame] if pace else [frame]
    return Reply((*steps, chunk({}, finish="tool_calls"), usage(80, 10), DONE))


def fails(status: int, message: str = "no", **headers: str) -> Reply:
    body = json.dumps({"error": {"message": message, "type": "scripted"}}).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply((body,), status=status, content_type="application/json", headers=named)


def stalls(*before: bytes) -> Reply:
    """Sends these frames and then nothing more."""
    return Reply((*before, -1.0))


def never_ends(frame: bytes, *, pace: float = 0.0) -> Reply:
    """Sends the same frame over and over for as long as somebody reads."""
    return Reply(endless=frame, pace=pace)


class ModelServer:
    """`async with ModelServer(says("It is two [1].")) as server:` then ask `server.url`."""

    def __init__(self, *replies: Reply) -> None:
        self._replies = list(replies)
        self._server: asyncio.Server | None = None
        self._open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.connections = 0
        self.left = 0  # readers that disconnected before the end of the reply
        self.someone_left = asyncio.Event()

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    def then(self, replies: Iterable[Reply]) -> None:
        self._replies = list(replies)

    def reply_to(self, body: Mapping[str, Any]) -> Reply:
        """The reply to this request: the next in the script. Override it for a server that looks at the request."""
        return self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._open.values():
            writer.transport.abort()
        await asyncio.gather(*self._open)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = writer
        self.connections += 1
        try:
            await self._converse(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has left, which it may do
        finally:
            del self._open[task]
            writer.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = asyncio.ensure_future(reader.read(1))
        while letter := await first:
            head = (letter + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            headers = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            self.bodies.append(json.loads(body or b"{}"))
            self.headers.append(headers)
            self.paths.append(head.split(" ")[1])
            reply = self.reply_to(self.bodies[-1])
            # The first byte of the next request, or nothing if the reader has left.
            first = asyncio.ensure_future(reader.read(1))
            sending = asyncio.ensure_future(_send(writer, reply))
            await asyncio.wait((first, sending), return_when=asyncio.FIRST_COMPLETED)
            sending.cancel()
            [left] = await asyncio.gather(sending, return_exceptions=True)
            if left:
                self.left += 1
                self.someone_left.set()
            if reply.cut:
                writer.transport.abort()


async def _send(writer: asyncio.StreamWriter, reply: Reply) -> None:
    headers = {"content-type": reply.content_type, "transfer-encoding": "chunked"}
    lines = [f"HTTP/1.1 {reply.status} Scripted", *(f"{k}: {v}" for k, v in {**headers, **reply.headers}.items())]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
    for step in _steps(reply):
        if isinstance(step, bytes):
            writer.write(f"{len(step):x}\r\n".encode() + step + b"\r\n")
            await writer.drain()
        elif isinstance(step, float):
            await (asyncio.sleep(step) if step >= 0 else asyncio.Event().wait())
        else:
            await step()
    if not reply.cut:
        writer.write(b"0\r\n\r\n")
        await writer.drain()


def _steps(reply: Reply) -> Iterator[Step]:
    yield from reply.steps
    while reply.endless:
        yield from (reply.pace, reply.endless)


def asked(body: Mapping[str, Any]) -> Sequence[str]:
    """The contents of one request's messages, for assertions."""
    return [message["content"] for message in body["messages"]]
