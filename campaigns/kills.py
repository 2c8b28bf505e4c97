"""`kill -9` of an ingest, and of a server under load, on SQLite and on PostgreSQL with two workers.

A killed ingest leaves every page old or new, and the next run converges. After a server is killed, every
answer that a reader got whole is in the store, and the next server starts from what is left.
"""

from __future__ import annotations

import os
import random
import signal
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from itertools import cycle
from pathlib import Path

import test_kill
from campaigns.tally import Tally
from postgres_server import PostgresServer, binaries
from quoth.domain import Chunk
from serve.test_stopping import Asked, check_nothing_is_lost, database, put_a_book, readers, until
from serving import children_of, serving

INGESTS = 100  # on each database
SERVERS = 40  # on each database
HEAL_EVERY = 10
WORKERS = 2


@asynccontextmanager
async def _databases() -> AsyncIterator[dict[str, str]]:
    """The address of each database; SQLite has none."""
    found = binaries()
    if found is None:
        raise SystemExit("This campaign needs PostgreSQL's server (Debian: postgresql).")
    server = PostgresServer(found)
    try:
        server.start()
        yield {"SQLite": "", "PostgreSQL": server.new_database()}
    finally:
        server.remove()


async def ingests() -> list[Tally]:
    async with _databases() as databases:
        return [await _ingests(name, url) for name, url in databases.items()]


async def servers() -> list[Tally]:
    async with _databases() as databases:
        return [await _servers(name, url) for name, url in databases.items()]


async def _ingests(name: str, url: str) -> Tally:
    tally = Tally(f"kills of an ingest, {name}")
    named = {"DATABASE_URL": url} if url else {}
    os.environ.update(named)  # the campaign's processes see it, like the environment of a service
    try:
        with tempfile.TemporaryDirectory(dir=_memory(), prefix="quoth-campaign-") as place:
            await _kill_ingests(Path(place), named, tally)
    finally:
        for variable in named:
            del os.environ[variable]
    return tally


async def _kill_ingests(place: Path, environ: Mapping[str, str], tally: Tally) -> None:
    ingests, folder, data = test_kill.Ingests(), place / "docs", place / "data"
    fresh: dict[int, dict[str, list[Chunk]]] = {}
    for number in (1, 2):
        test_kill.write(folder, test_kill.edition(number))
        ingests.run(place / f"fresh-{number}", folder)
        fresh[number] = await test_kill.stored(place / f"fresh-{number}", environ)
    ingests.run(data, folder)
    always = fresh[1].keys() & fresh[2].keys()
    dice = random.Random(7)
    ended = 0
    for number in cycle((1, 2)):
        test_kill.write(folder, test_kill.edition(number))
        if not ingests.run_and_kill(data, folder, dice.random()):
            ended += 1  # the ingest was faster than the kill
            continue
        found = await test_kill.stored(data, environ)
        whole = all(chunks in [fresh[one].get(name) for one in (1, 2)] for name, chunks in found.items())
        tally.judge(whole and always <= found.keys(), f"kill {tally.tried}: a page is missing, or neither old nor new")
        if tally.tried % HEAL_EVERY == 0:
            ingests.run(data, folder)
            if await test_kill.stored(data, environ) != fresh[number]:
                tally.lost.append(f"after kill {tally.tried} the next run did not converge")
        if tally.tried >= INGESTS:
            break
    tally.figures = {"ended before their kill": ended}


async def _servers(name: str, url: str) -> Tally:
    workers = WORKERS if url else 1
    tally = Tally(f"kills of a server under load, {name}, {workers} worker{'s' if workers > 1 else ''}")
    named = {"DATABASE_URL": url} if url else {}
    answered = 0
    with tempfile.TemporaryDirectory(dir=_memory(), prefix="quoth-campaign-") as place:
        folder = Path(place)
        await put_a_book(folder, named)
        dice = random.Random(11)
        for _ in range(SERVERS):
            asked, fault = await _killed(folder, workers, named, dice)
            answered += sum(one.answer is not None for one in asked)
            try:
                await check_nothing_is_lost(url or database(folder), asked)
            except (AssertionError, KeyError) as lost:
                fault = fault or f"an answer that a reader got is not in the store: {str(lost)[:200]}"
            tally.judge(not fault, fault)
    tally.figures = {"answers that readers had whole": answered}
    return tally


async def _killed(folder: Path, workers: int, named: Mapping[str, str], dice: random.Random) -> tuple[list[Asked], str]:
    async with serving(folder, "--workers", str(workers), QUOTH_RATE_LIMIT="0", **named) as served:
        if not served.address:
            return [], f"it did not start again: {' '.join(served.said)[-200:]}"
        async with readers(served.address) as (asked, stopped):
            await until(asked, dice.randrange(8, 24), lambda one: one.answer)
            stopped.set()
            for pid in [*children_of(served.process.pid), served.process.pid]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            await served.process.ended()
        return asked, ""


def _memory() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
