"""Joins the doors into one application. It is a factory: nothing is opened before the application starts.

In: settings, and fakes for tests or a `Quoth` that is already joined. Out: a FastAPI application.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from pathlib import Path
from typing import TypedDict

from fastapi import FastAPI
from typing_extensions import Unpack

from quoth.bootstrap import Quoth, bootstrap
from quoth.domain.versions import __version__
from quoth.errors import QuothError
from quoth.ports import ChunkIndex, Clock, Embedder, Library
from quoth.serve import (
    books,
    chat,
    health,
    ingestion,
    job_process,
    mcp,
    metrics,
    openai,
    openai_embeddings,
    opinions,
    reading,
    search,
    sessions,
    webhook,
)
from quoth.serve.access import Access, open_guard
from quoth.serve.bodies import TransferLimits
from quoth.serve.doorway import Doorway
from quoth.serve.jobs import Jobs, Launch
from quoth.serve.limits import AnswerLimit
from quoth.serve.openapi import document
from quoth.serve.problems import install_problems
from quoth.serve.static import install_pages
from quoth.settings import Settings

logger = logging.getLogger(__name__)

_DESCRIPTION = "Ask a technical book: answers in its own words, citations that open at the right line, honest refusals."
_DOORS = (
    chat,
    sessions,
    search,
    books,
    reading,
    opinions,
    openai,
    openai_embeddings,
    mcp,
    ingestion,
    webhook,
    health,
    metrics,
)


class _Fakes(TypedDict, total=False):
    """What a test uses instead of the real parts."""

    clock: Clock
    embedder: Embedder
    index: ChunkIndex
    library: Library


def create_app(
    settings: Settings,
    *,
    quoth: Quoth | None = None,
    launch: Launch = job_process.launch,
    workers: Path | None = None,
    **fakes: Unpack[_Fakes],
) -> FastAPI:
    """`workers`: the folder through which the workers of one server reach each other."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        joined: AbstractAsyncContextManager[Quoth] = nullcontext(quoth) if quoth else bootstrap(settings, **fakes)
        async with joined as app.state.quoth, _at_work(app, launch, workers):
            yield

    # The framework's own documentation pages load scripts from other sites; /openapi.json is ours.
    app = FastAPI(
        title="Quoth",
        version=__version__,
        description=_DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # the Host header would choose the redirect's address
        # Our spans are in `insight.telemetry` and hold no texts; the framework's would hold error messages.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    # A request passes the middleware added last first.
    app.add_middleware(AnswerLimit)
    app.add_middleware(TransferLimits, larger={"/ingestion/webhook/github": webhook.MAX_DELIVERY})
    app.add_middleware(Access)
    app.add_middleware(Doorway)
    metrics.install_metrics(app)
    install_problems(app)
    for door in _DOORS:
        # Not `include_router`: it would rebuild every route's models on the first request, 85 ms of CPU.
        app.router.routes.extend(door.router.routes)
    install_pages(app)
    document(app)
    return app


@asynccontextmanager
async def _at_work(app: FastAPI, launch: Launch, workers: Path | None) -> AsyncIterator[None]:
    """What the doors share while the server runs."""
    quoth: Quoth = app.state.quoth
    async with open_guard(quoth) as app.state.guard:
        app.state.jobs = Jobs(quoth, launch)
        app.state.checks = health.Checks(quoth, app.state.guard.limiter)
        quoth.observers.watchers.append(app.state.metrics.count_answer)
        app.state.agents = mcp.AgentSessions(workers)
        app.state.outlines = reading.Outlines()
        app.state.deliveries = webhook.Deliveries(quoth.clock)
        await _settle(app.state.jobs)
        warming = asyncio.create_task(_warm(quoth, app.state.checks))
        yield
        await app.state.jobs.close()
        quoth.observers.watchers.remove(app.state.metrics.count_answer)
        await app.state.agents.close()
        warming.cancel()
        await asyncio.wait([warming])


async def _settle(jobs: Jobs) -> None:
    """Mark the jobs that died with the last server as failed, before anyone asks for them."""
    try:
        await jobs.bury_the_dead()
    except QuothError as error:
        logger.warning("interrupted jobs could not be marked as failed: %s", error)


async def _warm(quoth: Quoth, checks: health.Checks) -> None:
    """Load the model and open the index before a reader waits for them. A failure shows, with its cause, in /health and
    in the first answer."""
    try:
        await quoth.embedder.embed_query("Are you there?")
        for book_id in (await quoth.index.books())[:1]:
            await quoth.index.view(book_id).idf([0])  # opens the index
    except QuothError as error:
        logger.warning("not ready to answer: %s", error)
    finally:
        checks.starting = False
