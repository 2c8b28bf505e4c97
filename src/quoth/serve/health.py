"""`GET /health` (S0), `/healthz` (alive), `/readyz` (ready to answer).

Each part is really used, not merely looked at: the indexes are opened and counted, the database is asked, the embedder
embeds. All at once, and a part that does not answer in time counts as unavailable. What was found holds for a moment
for whoever asks, so that asking costs nothing; that moment and the patience together are less than two seconds, which
is the longest that a part can have failed, or be well again, without this telling so. The language model is not asked
for words, which cost: what is known is whether somebody listens there and how the last calls went.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from quoth.ask.calibration import calibration_for
from quoth.bootstrap import Quoth
from quoth.errors import Outage, QuothError
from quoth.ports import RateLimiter
from quoth.serve.deps import quoth_of
from quoth.serve.limits import FallbackLimiter
from quoth.serve.shapes import HealthResponse, ReadyResponse, answers
from quoth.serve.views import View, timestamp
from quoth.versions import __version__

logger = logging.getLogger(__name__)

router = APIRouter(tags=["health"])

PATIENCE = 1.3  # seconds for a part to answer
HOLDS = 0.5  # seconds that an outcome is given again
MOST_BOOKS = 16  # opened by one check: a server of hundreds must not hold them all in memory for its health
SEVERITY = ("healthy", "degraded", "unavailable")

# None: all is well. An error returned: only a part of the questions can be answered. An error raised: none can.
Check = Callable[[Quoth], Awaitable[QuothError | None]]
States = Mapping[str, View]


async def check_index(quoth: Quoth) -> QuothError | None:
    books = (await quoth.index.books())[:MOST_BOOKS]
    faults = [fault for fault in await asyncio.gather(*(fault_of(quoth, book_id) for book_id in books)) if fault]
    if faults and len(faults) == len(books):
        raise faults[0]
    return faults[0] if faults else await quoth.index.fault()


async def fault_of(quoth: Quoth, book_id: str) -> QuothError | None:
    try:
        await quoth.index.view(book_id).count()  # opens it, and compares how it was built
    except QuothError as fault:
        return fault
    return None


async def check_database(quoth: Quoth) -> QuothError | None:
    await quoth.library.ping()
    return None


async def check_embedder(quoth: Quoth) -> QuothError | None:
    await quoth.embedder.embed_query("Are you there?")
    return None


async def check_model(quoth: Quoth) -> QuothError | None:
    return await quoth.model.fault() if quoth.model else None


CHECKS: dict[str, Check] = {
    "index": check_index,
    "database": check_database,
    "embedder": check_embedder,
    "model": check_model,
}


async def service(name: str, check: Check, quoth: Quoth) -> View:
    """S0 ServiceStatus."""
    started = time.perf_counter()
    failed = "degraded" if name == "model" else "unavailable"  # without it readers still get the passages
    try:
        async with asyncio.timeout(PATIENCE):
            fault = await check(quoth)
        status, error = ("degraded", str(fault)) if fault else ("healthy", None)
        if fault is not None:
            logger.info("a part is degraded", extra={"part": name, "fault": fault.in_full()})
    except TimeoutError:
        status, error = failed, f"No answer within {PATIENCE:g} s."
    except QuothError as fault:
        status, error = failed, str(fault)
    spent = (time.perf_counter() - started) * 1000
    return {"name": name, "status": status, "latency_ms": round(spent, 2), "error": error}


class Checks:
    """How the parts are. However many ask at once, each part is checked once."""

    def __init__(self, quoth: Quoth, limiter: RateLimiter | None = None) -> None:
        self._quoth = quoth
        self._checks = {name: check for name, check in CHECKS.items() if name != "model" or quoth.model}
        if isinstance(limiter, FallbackLimiter):
            self._checks["redis"] = lambda _: limiter.fault()  # without it each process counts alone
        self._now = quoth.clock.monotonic
        self._looking: asyncio.Task[States] | None = None
        self._found: States = {}
        self._found_at = float("-inf")

    async def states(self) -> States:
        if self._now() - self._found_at < HOLDS:
            return self._found
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look(), name="health")
        return await asyncio.shield(self._looking)  # one who leaves does not stop it for the others

    async def _look(self) -> States:
        began = self._now()  # what is found is as old as the moment when it was asked for
        checks = self._checks.items()
        states = await asyncio.gather(*(service(name, check, self._quoth) for name, check in checks))
        self._found, self._found_at = {state["name"]: state for state in states}, began
        return self._found


def checks_of(request: Request) -> Checks:
    return cast(Checks, request.app.state.checks)  # set by the lifespan; the framework's state is untyped


def overall(states: States) -> str:
    return max((str(state["status"]) for state in states.values()), key=SEVERITY.index)


def answering(quoth: Quoth) -> View:
    """What writes the answers, and whether their confidence rests on measured numbers."""
    embedder = quoth.embedder.name
    return {
        "mode": "full" if quoth.model else "extractive",
        "model": quoth.model.name if quoth.model else None,
        "embedder": embedder,
        "calibration": "fitted" if calibration_for(embedder) else "unfitted",
    }


@router.get("/health", responses=answers(HealthResponse))
async def health(request: Request) -> JSONResponse:
    """How every part is; always 200, since the server itself answers."""
    quoth = quoth_of(request)
    states = await checks_of(request).states()
    body: dict[str, Any] = {"status": overall(states), "timestamp": timestamp(quoth.clock.now())}
    return JSONResponse({**body, "services": states, "version": __version__, "answering": answering(quoth)})


@router.get("/healthz", responses=answers(ReadyResponse))
async def alive() -> JSONResponse:
    """The process lives; for a supervisor that would restart it otherwise."""
    return JSONResponse({"status": "alive"})


@router.get("/readyz", responses=answers(ReadyResponse, 503))
async def ready(request: Request) -> JSONResponse:
    """Questions can be answered; for a load balancer."""
    states = await checks_of(request).states()
    down = [name for name, state in states.items() if state["status"] == "unavailable"]
    if down:
        raise Outage(f"Not ready: {', '.join(down)}.", details={"services": states})
    return JSONResponse({"status": "ready"})
