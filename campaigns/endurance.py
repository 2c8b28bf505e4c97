"""Many requests at one server: memory, file handles and threads stay flat.

A real server with the real embedder on a free port; readers ask new questions over kept-alive connections. The
process's memory, files and threads are counted after each tenth of the requests; the first tenth is warm-up.
"""

from __future__ import annotations

import asyncio
import itertools
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx2

from campaigns.tally import Tally
from serve.test_stopping import put_a_book
from serving import serving

REQUESTS = 20_000
READERS = 8
PARTS = 10
GROWTH = 1.10  # of memory, after the warm-up
MINUTES = 25  # after that it stops, and reports how many requests it made
NOUNS = ("durability", "topic", "message", "deadline", "subscriber", "publisher", "queue", "gripper", "sensor", "node")


def question(number: int) -> str:
    first, second = NOUNS[number % len(NOUNS)], NOUNS[number // len(NOUNS) % len(NOUNS)]
    return f"How does the {first} number {number} reach a {second}?"


def held_by(pid: int) -> tuple[float, int, int]:
    """Megabytes, open files, threads."""
    status = Path(f"/proc/{pid}/status").read_text()
    fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    handles = sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
    return int(fields["VmRSS"].split()[0]) / 1024, handles, int(fields["Threads"])


async def run() -> Tally:
    tally = Tally("requests in a row")
    seen: list[tuple[float, int, int]] = []
    numbers = itertools.count()
    ends = time.monotonic() + MINUTES * 60
    with tempfile.TemporaryDirectory(prefix="quoth-campaign-") as place:
        await put_a_book(Path(place))
        async with serving(Path(place), QUOTH_RATE_LIMIT="0", QUOTH_TRACE_DAYS="1") as served:
            assert urlsplit(served.address).hostname == "127.0.0.1"
            for _ in range(PARTS):
                await asyncio.gather(*(_reader(served.address, numbers, tally, ends) for _ in range(READERS)))
                seen.append(held_by(served.process.pid))
            await served.stop()
    (memory, handles, threads), (last_memory, last_handles, last_threads) = seen[0], seen[-1]
    if last_memory > GROWTH * memory:
        tally.lost.append(f"memory grew from {memory:.0f} to {last_memory:.0f} MB")
    if last_handles > handles + READERS:
        tally.lost.append(f"open files grew from {handles} to {last_handles}")
    if last_threads > threads + 2:
        tally.lost.append(f"threads grew from {threads} to {last_threads}")
    tally.figures = {
        "megabytes after a tenth, at the end": f"{memory:.0f}, {last_memory:.0f}",
        "open files after a tenth, at the end": f"{handles}, {last_handles}",
        "threads after a tenth, at the end": f"{threads}, {last_threads}",
    }
    return tally


async def _reader(address: str, numbers: itertools.count[int], tally: Tally, ends: float) -> None:
    doors = ("/search", "/chat", "/chat/stream", "/chat/run")
    async with httpx2.AsyncClient(base_url=address, timeout=60) as client:
        for _ in range(REQUESTS // PARTS // READERS):
            if time.monotonic() > ends:
                return
            number = next(numbers)
            door = doors[number % len(doors)]
            field = "text" if door == "/search" else "query"
            response = await client.post(door, json={field: question(number)})
            tally.judge(response.status_code == 200, f"{door}: {response.status_code} {response.text[:120]}")
