"""The machine misbehaves: its clock jumps, its disk is full.

Clock: a whole server with a clock that jumps by hours and days, forwards and backwards, between questions. Disk: a
server and an ingest on a small file system that is filled up while they work (needs root, for the mount).
"""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2

from campaigns.tally import Tally
from doors import ASKED, opened
from serve.test_stopping import put_a_book
from serving import serving

JUMPS = 120
FILLINGS = 12
MEGABYTES = 6


class JumpingClock:
    """Its wall time jumps anywhere; its monotonic time only grows, as the machine's does."""

    def __init__(self) -> None:
        self._dice = random.Random(23)
        self._now = datetime(2026, 11, 17, 12, tzinfo=UTC)
        self._seconds = 0.0

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        self._seconds += 0.01
        return self._seconds

    def jump(self) -> None:
        hours = self._dice.choice((-24 * 400, -25, -1, -0.01, 0.01, 1, 2, 25, 24 * 400))
        self._now += timedelta(hours=hours)


async def clock() -> Tally:
    tally = Tally("jumps of the clock")
    jumping = JumpingClock()
    with tempfile.TemporaryDirectory(prefix="quoth-campaign-") as place:
        async with opened(Path(place), clock=jumping, index=None, library=None) as doors:
            session = (await doors.ask())["session_id"]
            for number in range(JUMPS):
                jumping.jump()
                answer = await doors.ask(ASKED, session_id=session)
                history = (await doors.client.get(f"/history/{session}")).json()
                held = answer["should_answer"] and history["total_entries"] == number + 2
                tally.judge(
                    bool(held), f"jump {number}: {answer['metadata']['mode']}, {history.get('total_entries')} turns"
                )
    return tally


async def disk() -> Tally:
    tally = Tally("a full disk")
    if os.geteuid() != 0:
        tally.figures = {"not run": "needs root, to mount a small file system"}
        return tally
    with tempfile.TemporaryDirectory(prefix="quoth-campaign-") as place:
        folder = Path(place) / "small"
        folder.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={MEGABYTES}m", "quoth-campaign", str(folder)]
        if (await asyncio.to_thread(subprocess.run, mount, capture_output=True)).returncode != 0:
            tally.figures = {"not run": "no file system could be mounted here"}
            return tally
        try:
            await _fill(folder, tally)
        finally:
            await asyncio.to_thread(subprocess.run, ["umount", str(folder)], check=True)
    return tally


async def _fill(folder: Path, tally: Tally) -> None:
    await put_a_book(folder)
    async with serving(folder, QUOTH_RATE_LIMIT="0") as served:
        async with httpx2.AsyncClient(base_url=served.address, timeout=60) as client:
            before = await _answer(client)
            for _ in range(FILLINGS):
                ballast = folder / "ballast"
                _fill_up(ballast)
                full = await client.post("/chat", json={"query": ASKED})
                health = (await client.get("/health")).json()
                ballast.unlink()
                told = full.status_code in (200, 503) and (full.status_code == 200 or health["status"] != "healthy")
                after = await _until_answered(client)
                tally.judge(
                    told and after == before, f"{full.status_code}, {health['status']}, afterwards {after[:60]!r}"
                )
        await served.stop()


def _fill_up(ballast: Path) -> None:
    with ballast.open("wb", buffering=0) as file:
        for size in (65536, 4096, 512):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                continue  # this much no longer fits: try a smaller amount


async def _answer(client: httpx2.AsyncClient) -> str:
    response = await client.post("/chat", json={"query": ASKED})
    return str(response.json().get("answer")) if response.status_code == 200 else f"status {response.status_code}"


async def _until_answered(client: httpx2.AsyncClient) -> str:
    """A server that has seen a full disk may take a moment to notice that there is room again."""
    for _ in range(50):
        answer = await _answer(client)
        if not answer.startswith("status "):
            return answer
        await asyncio.sleep(0.2)
    return answer
