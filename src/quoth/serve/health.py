"""`GET /health` (every part), `/healthz` (alive), `/readyz` (ready to answer).

Each part is really used: the indexes are opened and counted, the database is queried and its disk space checked, the
embedder embeds. All checks run at once. A part that does not answer in time counts as unavailable, or as degraded while
the server is starting. An outcome is reused for a moment, so asking costs nothing; that moment and the timeout together
are less than two seconds, so no failure and no recovery goes unnoticed for longer. Models of other providers are not
called, because words and vectors cost money there: we only know whether their addresses answer and how the last calls
went. Anyone may ask, so only operators (keys of scope `admin`) and the log are told where and why a part fails.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Annotated, Literal, cast

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import Field

from quoth.ask.calibration import calibration_for
from quoth.bootstrap import Quoth
from quoth.domain.versions import __version__
from quoth.errors import DiskFull, Outage, QuothError
from quoth.ports import RateLimiter
from quoth.serve.deps import quoth_of
from quoth.serve.disclosure import is_admin, public
from quoth.serve.limits import FallbackLimiter
from quoth.serve.shapes import Moment, Shape, answers, timestamp
from quoth.settings import Settings
from quoth.together import together

logger = logging.getLogger(__name__)

router = APIRouter(tags=["health"])

CHECK_TIMEOUT = 1.3  # seconds for a part to answer
HOLDS = 0.5  # seconds for which an outcome is reused
_MOST_BOOKS = 16  # opened by one check: a server with hundreds must not load them all just for its health
DISK_FULL = 2**20  # with fewer bytes left, no turn can be stored
DISK_LOW = 2**23  # with fewer bytes left, an operator should know
_STARTING = "The server is starting."

Health = Literal["healthy", "degraded", "unavailable"]
SEVERITY: tuple[Health, ...] = ("healthy", "degraded", "unavailable")


class ServiceStatus(Shape):
    name: str
    status: Health
    latency_ms: float | None
    error: str | None


class Answering(Shape):
    """What to expect from the answers."""

    mode: Annotated[
        Literal["full", "extractive"], Field(description="Written by a language model, or the book's own sentences")
    ]
    model: str | None
    embedder: str
    reader: Annotated[
        str | None,
        Field(description="The model that reads question and passage together; null if quoth-reader is not installed"),
    ]
    calibration: Annotated[
        Literal["fitted", "unfitted"],
        Field(description="unfitted: this embedder's scores were never measured, so confidence is a cautious guess"),
    ]


class HealthResponse(Shape):
    status: Health
    timestamp: Moment
    services: dict[str, ServiceStatus]
    version: str
    answering: Answering


class ReadyResponse(Shape):
    status: str


# None: all is well. An error returned: only some questions can be answered. An error raised: none can.
Check = Callable[[Quoth], Awaitable[QuothError | None]]
States = Mapping[str, ServiceStatus]


async def _check_index(quoth: Quoth) -> QuothError | None:
    of_books, of_all = await together(_check_books(quoth), quoth.index.fault())
    return of_books or of_all


async def _check_books(quoth: Quoth) -> QuothError | None:
    books = (await quoth.index.books())[:_MOST_BOOKS]
    faults = [fault for fault in await together(*(_fault_of(quoth, book_id) for book_id in books)) if fault]
    if faults and len(faults) == len(books):
        raise faults[0]
    return faults[0] if faults else None


async def _fault_of(quoth: Quoth, book_id: str) -> QuothError | None:
    try:
        await quoth.index.view(book_id).count()  # opens the index and compares its fingerprint
    except QuothError as fault:
        return fault
    return None


async def _check_database(quoth: Quoth) -> QuothError | None:
    await quoth.library.ping()
    folder = _database_folder(quoth.settings)
    return None if folder is None else await asyncio.to_thread(_check_disk, folder)


def _database_folder(settings: Settings) -> Path | None:
    """None if the database is a server with its own disk."""
    kind, _, path = settings.database_url.partition(":///")
    return Path(path).parent if kind.startswith("sqlite") and path else None


def _check_disk(folder: Path) -> DiskFull | None:
    if not folder.exists():
        return None  # nothing is stored there
    free = shutil.disk_usage(folder).free
    fault = DiskFull(f"The disk of {folder} is nearly full: {free / 1e6:.1f} MB left.")
    if free < DISK_FULL:
        raise fault
    return fault if free < DISK_LOW else None


async def _check_embedder(quoth: Quoth) -> QuothError | None:
    await quoth.embedder.ping()
    return None


async def _check_reader(quoth: Quoth) -> QuothError | None:
    """Its files are read on first use."""
    if quoth.reader is not None:
        await quoth.reader.load()
    return None


async def _check_model(quoth: Quoth) -> QuothError | None:
    return await quoth.model.fault() if quoth.model else None


_CHECKS: dict[str, Check] = {
    "index": _check_index,
    "database": _check_database,
    "embedder": _check_embedder,
    "reader": _check_reader,
    "model": _check_model,
}


class Checks:
    """The state of every part. However many callers ask at once, each part is checked once."""

    def __init__(self, quoth: Quoth, limiter: RateLimiter | None = None) -> None:
        self._quoth = quoth
        there = {"reader": quoth.reader, "model": quoth.model}
        self._checks = {name: check for name, check in _CHECKS.items() if there.get(name, quoth) is not None}
        if isinstance(limiter, FallbackLimiter):
            self._checks["redis"] = lambda _: limiter.fault()  # without Redis each process counts alone
        self._now = quoth.clock.monotonic
        self._looking: asyncio.Task[States] | None = None
        self._found: States = {}
        self._whole: dict[str, str] = {}  # what operators are told about unhealthy parts
        self._found_at = float("-inf")
        self.starting = True  # until model and index are loaded, or have failed to load

    async def states(self) -> States:
        if self._now() - self._found_at < HOLDS:
            return self._found
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look(), name="health")
        return await asyncio.shield(self._looking)  # a caller who disconnects does not stop it for the others

    def in_full(self, states: States) -> States:
        return {name: {**state, "error": self._whole.get(name) or state["error"]} for name, state in states.items()}

    async def _look(self) -> States:
        began = self._now()  # an outcome is as old as the start of its check
        states = await asyncio.gather(*(self._service(name, check) for name, check in self._checks.items()))
        self._found, self._found_at = {state["name"]: state for state in states}, began
        return self._found

    async def _service(self, name: str, check: Check) -> ServiceStatus:
        started = time.perf_counter()
        # Without the model readers still get the passages; a part that is loading will be available soon.
        status: Health = "degraded" if name == "model" else "unavailable"
        fault: QuothError | None
        try:
            async with asyncio.timeout(CHECK_TIMEOUT):
                fault = await check(self._quoth)
            status = "degraded" if fault else "healthy"
        except TimeoutError:
            fault = Outage(_STARTING if self.starting else f"No answer within {CHECK_TIMEOUT:g} s.")
            status = "degraded" if self.starting else status
        except QuothError as raised:
            fault = raised
        self._log_change(name, status, fault)
        self._whole[name] = fault.in_full() if fault else ""
        spent = round((time.perf_counter() - started) * 1000, 2)
        return {"name": name, "status": status, "latency_ms": spent, "error": str(public(fault)) if fault else None}

    def _log_change(self, name: str, status: Health, fault: QuothError | None) -> None:
        """Log the reason once; callers of /health need not know it."""
        before = self._found[name]["status"] if name in self._found else "healthy"
        if status != before:
            logger.warning("the %s is %s%s", name, status, f": {fault.in_full()}" if fault else "")


def checks_of(request: Request) -> Checks:
    return cast(Checks, request.app.state.checks)  # set by the lifespan; the framework's state is untyped


def _overall(states: States) -> Health:
    return max((state["status"] for state in states.values()), key=SEVERITY.index)


def _answering(quoth: Quoth) -> Answering:
    """What writes the answers, and whether their confidence rests on measured numbers."""
    embedder = quoth.embedder.name
    return {
        "mode": "full" if quoth.model else "extractive",
        "model": quoth.model.name if quoth.model else None,
        "embedder": embedder,
        "reader": quoth.reader_name or None,
        "calibration": "fitted" if calibration_for(embedder, quoth.reader_name) else "unfitted",
    }


@router.get("/health", responses=answers(HealthResponse))
async def health(request: Request) -> JSONResponse:
    """The state of every part; always 200, because the server itself answers."""
    quoth = quoth_of(request)
    checks = checks_of(request)
    states = await checks.states()
    if is_admin(request):
        states = checks.in_full(states)
    body: HealthResponse = {
        "status": _overall(states),
        "timestamp": timestamp(quoth.clock.now()),
        "services": dict(states),
        "version": __version__,
        "answering": _answering(quoth),
    }
    return JSONResponse(body)


@router.get("/healthz", responses=answers(ReadyResponse))
async def alive() -> JSONResponse:
    """The process is alive; for a supervisor that would restart it otherwise."""
    return JSONResponse({"status": "alive"})


@router.get("/readyz", responses=answers(ReadyResponse, 503))
async def ready(request: Request) -> JSONResponse:
    """Questions can be answered; for a load balancer."""
    states = await checks_of(request).states()
    down = [name for name, state in states.items() if state["status"] == "unavailable" or state["error"] == _STARTING]
    if down:
        raise Outage(
            f"Not ready: {', '.join(down)}.", hint="Try again in a moment.", details={"services": dict(states)}
        )
    return JSONResponse({"status": "ready"})
