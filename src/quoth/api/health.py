"""`GET /health` (S0), `/healthz` (alive), `/readyz` (ready to answer).

Each part is really used, not merely looked at: the index is listed and its fingerprints compared, the database is
asked, the embedder embeds. A part that does not answer within two seconds counts as unavailable.
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
from quoth.errors import IndexMismatch, Outage, QuothError
from quoth.views import View, timestamp

router = APIRouter(tags=["health"])

PATIENCE = 2.0
SEVERITY = ("healthy", "degraded", "unavailable")

Check = Callable[[Quoth], Awaitable[object]]


async def check_index(quoth: Quoth) -> None:
    for book_id in await quoth.index.books():
        status = await quoth.index.status(book_id)
        if status.fingerprint != quoth.index.fingerprint:
            raise IndexMismatch(f"The index of {book_id} was built by another version.")


async def check_database(quoth: Quoth) -> None:
    await quoth.library.ping()


async def check_embedder(quoth: Quoth) -> None:
    await quoth.embedder.embed_query("Are you there?")


CHECKS: dict[str, Check] = {"index": check_index, "database": check_database, "embedder": check_embedder}


async def service(name: str, check: Check, quoth: Quoth) -> View:
    """S0 ServiceStatus. An index that fits badly is degraded, since other books may still be answered."""
    started = time.perf_counter()
    status, error = "healthy", None
    try:
        async with asyncio.timeout(PATIENCE):
            await check(quoth)
    except TimeoutError:
        status, error = "unavailable", f"No answer within {PATIENCE:g} s."
    except QuothError as fault:
        status, error = "degraded" if isinstance(fault, IndexMismatch) else "unavailable", str(fault)
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
