"""The readers of `load.py`: bare HTTP/1.1 on kept-alive connections, in a separate process, as light as possible.

In: one JSON line on stdin (where, which door, how many readers, how long, the questions). Out: one JSON line: how many
were answered, what went wrong, and every latency in milliseconds. Each question is asked once, so no cache can help.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Seen:
    latencies: list[float] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    together: int = 0  # the most streams that were open at the same time
    open: int = 0


async def read_response(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    status = int(head.split(" ", 2)[1])
    for line in head.split("\r\n"):
        if line.startswith("content-length: "):
            return status, await reader.readexactly(int(line.removeprefix("content-length: ")))
    body = b""
    while size := int((await reader.readuntil(b"\r\n")), 16):
        body += await reader.readexactly(size)
        await reader.readexactly(2)
    await reader.readexactly(2)
    return status, body


def request(port: int, door: str, body: dict[str, Any]) -> bytes:
    data = json.dumps(body).encode()
    head = f"POST {door} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(data)}\r\n\r\n".encode() + data


async def reader(order: dict[str, Any], questions: list[str], seen: Seen, until: float) -> None:
    port, door = order["port"], order["door"]
    reading, writing = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
    while questions and time.perf_counter() < until:
        sent = request(port, door, {"query": questions.pop()})
        began = time.perf_counter()
        try:
            writing.write(sent)
            status, body = await asyncio.wait_for(read_response(reading), timeout=30)
        except (OSError, EOFError, TimeoutError) as fault:
            seen.faults[type(fault).__name__] += 1
            reading, writing = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
            continue
        seen.latencies.append((time.perf_counter() - began) * 1000)
        if status != 200:
            seen.faults[f"{status} {json.loads(body).get('error_code')}"] += 1
    writing.close()


async def stream(order: dict[str, Any], question: str, seen: Seen) -> None:
    """One answer as it arrives; an error unless its deltas are the answer and `done` is its end."""
    reading, writing = await asyncio.open_connection("127.0.0.1", order["port"], limit=2**20)
    writing.write(request(order["port"], "/chat/stream", {"query": question}))
    head = (await reading.readuntil(b"\r\n\r\n")).decode("latin-1")
    seen.open += 1
    seen.together = max(seen.together, seen.open)
    text, name, done = b"", "", False
    shown, answer = "", None
    while size := int(await reading.readuntil(b"\r\n"), 16):
        text += await reading.readexactly(size)
        await reading.readexactly(2)
        while b"\n" in text:
            line, text = text.split(b"\n", 1)
            if line.startswith(b"event: "):
                name = line[7:].decode()
            elif line.startswith(b"data: "):
                data = json.loads(line[6:])
                shown += data["delta"] if name == "delta" else ""
                if name == "done":
                    done, answer = True, data["answer"]
    seen.open -= 1
    if not done or shown != answer:
        seen.faults[f"{head.split(' ')[1]}, last event {name}"] += 1
    writing.close()


async def main() -> None:
    order = json.loads(sys.stdin.readline())
    seen, questions = Seen(), list(order["questions"])
    began = time.perf_counter()
    if order["door"] == "/chat/stream":
        asked = [stream(order, questions.pop(), seen) for _ in range(order["readers"])]
    else:
        asked = [reader(order, questions, seen, began + order["seconds"]) for _ in range(order["readers"])]
    for ending in await asyncio.gather(*asked, return_exceptions=True):
        if isinstance(ending, BaseException):
            seen.faults[repr(ending)] += 1
    spent = time.perf_counter() - began
    answered = {"latencies": seen.latencies, "faults": dict(seen.faults), "seconds": spent, "together": seen.together}
    print(json.dumps(answered))


if __name__ == "__main__":
    asyncio.run(main())
