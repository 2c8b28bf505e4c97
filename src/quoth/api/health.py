"""`GET /health` (S0), `/healthz` (alive), `/readyz` (ready to answer).

Each part is really used, not merely looked at: the indexes are opened and counted, the database is asked, the embedder
embeds. A part that does not answer within two seconds counts as unavailable.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from quoth import __version__
from quoth.api.parts import quoth_of
from quoth.api.schemas import HealthResponse, ReadyResponse, answers
from quoth.bootstrap import Quoth
from quoth.errors import Outage, QuothError
from quoth.views import View, timestamp

router = APIRouter(tags=["health"])

PATIENCE = 2.0
MOST_BOOKS = 16  # opened by one check: a server of hundreds must not hold them all in memory for its health
SEVERITY = ("healthy", "degraded", "unavailable")

# None: all is well. An error returned: only a part of the questions can be answered. An error raised: none can.
Check = Callable[[Quoth], Awaitable[QuothError | None]]


async def check_index(quoth: Quoth) -> QuothError | None:
    books = (await quoth.index.books())[:MOST_BOOKS]
    faults = [fault for book_id in books if (fault := await fault_of(quoth, book_id))]
    if faults and len(faults) == len(books):
        raise faults[0]
    return faults[0] if faults else None


async def fault_of(quoth: Quoth, book_id: str) -> QuothError | None:
    try:
        await quoth.index.count(book_id)  # opens it, and compares how it was built
    except QuothError as fault:
        return fault
    return None


async def check_database(quoth: Quoth) -> QuothError | None:
    await quoth.library.ping()
    return None


async def check_embedder(quoth: Quoth) -> QuothError | None:
    await quoth.embedder.embed_query("Are you there?")
    return None


CHECKS: dict[str, Check] = {"index": check_index, "database": check_database, "embedder": check_embedder}


async def service(name: str, check: Check, quoth: Quoth) -> View:
    """S0 ServiceStatus."""
    started = time.perf_counter()
    try:
        async with asyncio.timeout(PATIENCE):
            fault = await check(quoth)
        status, error = ("degraded", str(fault)) if fault else ("healthy", None)
    except TimeoutError:
        status, error = "unavailable", f"No answer within {PATIENCE:g} s."
    except QuothError as fault:
        status, error = "unavailable", str(fault)
    spent = (time.perf_counter() - started) * 1000
    return {"name": name, "status": status, "latency_ms": round(spent, 2), "error": error}


async def services(quoth: Quoth) -> dict[str, View]:
    states = await asyncio.gather(*(service(name, check, quoth) for name, check in CHECKS.items()))
    return {state["name"]: state for state in states}


def overall(states: dict[str, View]) -> str:
    return max((str(state["status"]) for state in states.values()), key=SEVERITY.index)


@router.get("/health", responses=answers(HealthResponse))
async def health(request: Request) -> JSONResponse:
    """How every part is; always 200, since the server itself answers."""
    quoth = quoth_of(request)
    states = await services(quoth)
    body: dict[str, Any] = {"status": overall(states), "timestamp": timestamp(quoth.clock.now())}
    return JSONResponse({**body, "services": states, "version": __version__})


@router.get("/healthz", responses=answers(ReadyResponse))
async def alive() -> JSONResponse:
    """The process lives; for a supervisor that would restart it otherwise."""
    return JSONResponse({"status": "alive"})


@router.get("/readyz", responses=answers(ReadyResponse, 503))
async def ready(request: Request) -> JSONResponse:
    """Questions can be answered; for a load balancer."""
    states = await services(quoth_of(request))
    down = [name for name, state in states.items() if state["status"] == "unavailable"]
    if down:
        raise Outage(f"Not ready: {', '.join(down)}.", details={"services": states})
    return JSONResponse({"status": "ready"})
