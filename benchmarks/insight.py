"""What observing costs: figures for each request, a trace for each answer. Prints; docs/decisions/0024 quotes it.

`python benchmarks/insight.py`: the sample book, the real model and index, extractive answers, one at a time and four at
once, with traces and without, in turns, so that a noisy machine is noisy for both. Small costs are given in CPU time.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

from starlette.types import Message, Receive, Scope, Send

from quoth.bootstrap import Quoth, bootstrap
from quoth.domain import Done, Question
from quoth.insight.observers import Observation
from quoth.insight.trace import trace_of
from quoth.serve.app import create_app
from quoth.serve.metrics import Metrics, MetricsMiddleware
from quoth.settings import load_settings
from quoth.sources import open_source

BOOK = Path(__file__).resolve().parents[1] / "examples" / "robotics-book"
ASKED = "Which QoS setting keeps the last message for late subscribers?"
ROUNDS, ANSWERS, REQUESTS = 5, 8, 4_000


async def bare(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def microseconds_a_request(app: Callable[[Scope, Receive, Send], Awaitable[None]], owner: object) -> float:
    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        return

    started = time.thread_time()
    for _ in range(REQUESTS):
        scope = {"type": "http", "method": "POST", "path": "/chat", "headers": [], "app": owner, "state": {}}
        await app(scope, receive, send)
    return (time.thread_time() - started) / REQUESTS * 1e6


async def milliseconds_to_done(quoth: Quoth, number: int) -> list[float]:
    spent = []
    for at in range(ANSWERS):
        question = Question(ASKED, "robots", "6a1f7a9e-2f7e-4c3e-9d57-0d5a3d7b6f10", f"{number}-{at}")
        started = time.perf_counter()
        async for event in quoth.conversations.ask(question):
            if isinstance(event, Done):
                spent.append((time.perf_counter() - started) * 1000)
    return spent


async def milliseconds_a_trace(quoth: Quoth) -> float:
    seen: list[Observation] = []
    quoth.observers.watchers.append(seen.append)
    await milliseconds_to_done(quoth, 0)
    quoth.observers.watchers.remove(seen.append)
    started = time.thread_time()
    made = [trace_of(one.answer, one.evidence) for one in seen if one.answer and one.evidence]
    return (time.thread_time() - started) / len(made) * 1000


async def cpu_of_an_answer(quoth: Quoth, number: int) -> float:
    """CPU time of all threads, including what is stored meanwhile."""
    started = time.process_time()
    await asyncio.gather(*(milliseconds_to_done(quoth, number * 100 + one) for one in range(4)))
    await asyncio.sleep(0.5)  # until the traces are stored
    return (time.process_time() - started) / (4 * ANSWERS) * 1000


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings(data_dir=Path(folder))
        async with AsyncExitStack() as stack:
            joined: dict[str, Quoth] = {}
            for name in ("nothing", "traces"):
                more = load_settings(data_dir=Path(folder), traces=name == "traces")
                joined[name] = await stack.enter_async_context(bootstrap(more))
                if name == "nothing":
                    await joined[name].ingest.run(open_source(BOOK, book_id="robots"))
            app = create_app(settings, quoth=joined["nothing"])
            app.state.quoth = joined["nothing"]
            metered = MetricsMiddleware(bare, Metrics())
            found: dict[str, list[float]] = {}
            for number in range(ROUNDS):
                found.setdefault("a request, bare, CPU µs", []).append(await microseconds_a_request(bare, app))
                found.setdefault("a request, counted, CPU µs", []).append(await microseconds_a_request(metered, app))
                for name, quoth in sorted(joined.items(), reverse=number % 2 == 0):
                    found.setdefault(f"question to Done, {name}, ms", []).extend(
                        await milliseconds_to_done(quoth, number)
                    )
                    found.setdefault(f"an answer, {name}, CPU ms", []).append(await cpu_of_an_answer(quoth, number))
            found["a trace, made, CPU ms"] = [await milliseconds_a_trace(joined["nothing"]) for _ in range(ROUNDS)]
        trace = (await _last(settings.data_dir)).encode()
    for what, values in found.items():
        print(f"{what:34} median {statistics.median(values):9.2f}   {min(values):.2f}–{max(values):.2f}")
    print(f"a trace                            {len(trace)} bytes")


async def _last(folder: Path) -> str:
    async with bootstrap(load_settings(data_dir=folder)) as quoth:
        return json.dumps(dict((await quoth.library.trace()).record), ensure_ascii=False)


if __name__ == "__main__":
    asyncio.run(main())
