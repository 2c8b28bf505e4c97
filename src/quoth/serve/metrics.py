"""`GET /metrics`: figures about the doors and the pipeline, for Prometheus.

In: every finished request, every answer (`quoth.insight.observers`), and at each scrape the size of the indexes, the
last ingests and the health of the parts. Labels form a small closed set: a door is the template of its route, never a
path, and no reader can create a new one. Each application has its own registry. If several workers share a port, each
writes its figures into one folder, and the worker that gets the scrape adds them up.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

from fastapi import APIRouter, FastAPI, Request, Response
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.datastructures import Headers
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quoth.ask.grounds import analyse
from quoth.ask.spans import SILENT, Spans
from quoth.bootstrap import Quoth
from quoth.domain import IndexStatus, IngestJob
from quoth.domain.versions import __version__
from quoth.errors import QuothError
from quoth.insight.observers import Observation
from quoth.serve.deps import quoth_of
from quoth.serve.disclosure import part_of
from quoth.serve.health import SEVERITY, Checks, checks_of
from quoth.serve.shapes import Responses, problems
from quoth.text.sentences import sentences
from quoth.text.terms import term_ids
from quoth.together import together

router = APIRouter(tags=["health"])

_MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SHARED = "PROMETHEUS_MULTIPROC_DIR"  # the library's name for the folder that workers share
_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
_UNKNOWN = "unknown"  # the label for paths without a door
_REFUSED = "refused"  # the label for requests that reached no door: no key, too many, too large
_MOST_BOOKS = 200  # with a label of their own
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_STAGE_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0)

_EXPOSITION: Responses = {
    200: {"description": "Prometheus' text format", "content": {"text/plain": {"schema": {"type": "string"}}}},
    **problems(),
}

CACHES = {"passages": analyse, "sentences": sentences, "terms": term_ids}  # each remembers analysed texts


@contextmanager
def shared_metrics() -> Iterator[Callable[[int], None]]:
    """For the parent of several workers, for as long as any of them lives: a folder that they find in the environment.
    (The library looks there when it is imported, so workers are spawned, not forked.) Yields a function to call with
    the id of each worker that has ended, so that its requests no longer count as in progress."""
    with tempfile.TemporaryDirectory(prefix="quoth-metrics-") as folder:
        os.environ[SHARED] = folder
        try:
            yield _forget_worker
        finally:
            del os.environ[SHARED]


def _forget_worker(pid: int) -> None:
    from prometheus_client.multiprocess import mark_process_dead

    mark_process_dead(pid)  # type: ignore[no-untyped-call]  # the library leaves it untyped


class Metrics:
    """The figures of one application, in this process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        # The start time of each series is useless here and doubles the text.
        disable_created_metrics()  # type: ignore[no-untyped-call]  # the library leaves it untyped

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"quoth_{name}", text, labels, registry=self.registry)

        def histogram(name: str, text: str, *labels: str, buckets: tuple[float, ...] = _SECONDS) -> Histogram:
            return Histogram(f"quoth_{name}", text, labels, registry=self.registry, buckets=buckets)

        self.requests = counter("http_requests_total", "Requests answered.", "door", "method", "status")
        self.latency = histogram("http_request_seconds", "From the first byte in to the last byte out.", "door")
        self.in_flight = Gauge(
            "quoth_http_in_flight",
            "Requests in progress.",
            registry=self.registry,
            multiprocess_mode="livesum",
        )
        self.problems = counter("problems_total", "Error responses, by their code.", "code")
        self.outages = counter("outages_total", "Requests that failed because a part of the server did.", "part")
        self.answers = counter("answers_total", "Answers, by who wrote them and their confidence.", "mode", "level")
        self.refusals = counter("refusals_total", "Answers that say the book does not hold the answer.", "by")
        self.unfinished = counter("unfinished_answers_total", "Answers that failed or whose reader left.", "why")
        self.stages = histogram("stage_seconds", "Each stage of an answer.", "stage", buckets=_STAGE_SECONDS)
        self.whole = histogram("answer_seconds", "A whole answer, without the transport.", "mode")
        self.first_word = histogram("first_token_seconds", "From the question to the first words.", "mode")
        self.tokens = counter("model_tokens_total", "Tokens that the language model read and wrote.", "direction")
        self.unsupported = counter("unsupported_sentences_total", "Sentences that their sources do not support.")
        self.lookups = counter("cache_lookups_total", "Lookups of analysed texts, found or not.", "cache", "found")
        self._counted = self._cached()

    def _cached(self) -> dict[tuple[str, str], int]:
        """Hits and misses of each cache of this process."""
        infos = {name: kept.cache_info() for name, kept in CACHES.items()}
        hits = {(name, "yes"): info.hits for name, info in infos.items()}
        return hits | {(name, "no"): info.misses for name, info in infos.items()}

    def count_answer(self, seen: Observation) -> None:
        """A watcher of answers (`quoth.insight.observers`)."""
        answer = seen.answer
        before, self._counted = self._counted, self._cached()
        for labels, count in self._counted.items():
            self.lookups.labels(*labels).inc(max(0, count - before[labels]))  # lower only after a cache was emptied
        if answer is None:
            self.unfinished.labels("failed" if seen.error else "left").inc()
            return
        self.answers.labels(answer.mode, answer.verdict.level).inc()
        self.whole.labels(answer.mode).observe(answer.query_time_ms / 1000)
        for stage, spent in answer.stage_ms.items():
            self.stages.labels(stage).observe(spent / 1000)
        if seen.first_word_ms is not None:
            self.first_word.labels(answer.mode).observe(seen.first_word_ms / 1000)
        if not answer.verdict.should_answer:
            self.refusals.labels("model" if answer.model else "judge").inc()
        if answer.mode == "retrieval_only":
            self.outages.labels("model").inc()
        if answer.tokens_used:
            self.tokens.labels("read").inc(answer.work.prompt_tokens)
            self.tokens.labels("written").inc(max(0, answer.tokens_used - answer.work.prompt_tokens))
        if missing := answer.grounding.total - answer.grounding.supported:
            self.unsupported.inc(missing)

    def count_error(self, error: QuothError) -> None:
        self.problems.labels(error.code).inc()
        part = part_of(error)
        if part or error.status == 503:
            self.outages.labels(part or "other").inc()

    def exposition(self, *more: Collector) -> bytes:
        """The text for Prometheus, with the figures of all workers."""
        registry = self.registry
        if os.environ.get(SHARED):
            from prometheus_client.multiprocess import MultiProcessCollector

            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]  # the library leaves it untyped
        text = generate_latest(registry)
        for one in more:
            once = CollectorRegistry()
            once.register(one)
            text += generate_latest(once)
        return text


def _metrics_of(request: Request) -> Metrics:
    metrics: Metrics = request.app.state.metrics
    return metrics


class MetricsMiddleware:
    """Counts every request. It is the outermost layer, and plain ASGI, so that streams pass through untouched."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 500  # if the response never starts

        async def passed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        method = scope["method"] if scope["method"] in _METHODS else "OTHER"
        started = time.perf_counter()
        self._metrics.in_flight.inc()
        try:
            with _spans_of(scope).request(method, Headers(scope=scope).get("traceparent", "")) as span:
                try:
                    await self._app(scope, receive, passed)
                finally:
                    span.end(_door_of(scope, status), status)
        finally:
            self._metrics.in_flight.dec()
            door = _door_of(scope, status)
            self._metrics.requests.labels(door, method, f"{status // 100}xx").inc()
            self._metrics.latency.labels(door).observe(time.perf_counter() - started)
            error = scope.get("state", {}).get("error")
            if isinstance(error, QuothError):
                self._metrics.count_error(error)


def _spans_of(scope: Scope) -> Spans:
    quoth: Quoth | None = getattr(scope["app"].state, "quoth", None)  # missing before the application has started
    return quoth.spans if quoth else SILENT


def _door_of(scope: Scope, status: int) -> str:
    """The template of the route that answered."""
    path = getattr(scope.get("route") or _plain_route(scope), "path", None)
    if isinstance(path, str) and path:
        return path
    return _UNKNOWN if status == 404 else _REFUSED


def _plain_route(scope: Scope) -> BaseRoute | None:
    """The route of pages and files: the framework notes their endpoint in the scope, but not the route."""
    endpoint = scope.get("endpoint")
    routes: Iterable[BaseRoute] = scope["app"].routes if endpoint is not None else ()
    return next(
        (route for route in routes if endpoint in (getattr(route, "endpoint", 0), getattr(route, "app", 0))), None
    )


# --- figures read at each scrape -------------------------------------------------------------------------------------


class _ScrapeCollector(Collector):
    """Figures that are read at each scrape rather than counted."""

    def __init__(self, statuses: Iterable[IndexStatus], jobs: Iterable[IngestJob], parts: dict[str, str]) -> None:
        self._statuses = list(statuses)
        self._jobs = list(jobs)
        self._parts = parts

    def collect(self) -> Iterator[Metric]:
        build = GaugeMetricFamily("quoth_build_info", "The version of Quoth.", labels=["version"])
        build.add_metric([__version__], 1)
        yield build
        chunks = GaugeMetricFamily("quoth_index_chunks", "Chunks in the index.", labels=["book"])
        size = GaugeMetricFamily("quoth_index_bytes", "Size on disk, if known.", labels=["book"])
        generation = GaugeMetricFamily("quoth_index_generation", "Publications so far.", labels=["book"])
        for status in self._statuses:
            chunks.add_metric([status.book_id], status.chunks)
            size.add_metric([status.book_id], status.bytes_on_disk)
            generation.add_metric([status.book_id], status.generation)
        yield from (chunks, size, generation)
        embedded = GaugeMetricFamily(
            "quoth_ingest_chunks",
            "Chunks of a book's last ingest: embedded, or saved because the text was known.",
            labels=["book", "embedding"],
        )
        for job in self._jobs:
            embedded.add_metric([job.book_id, "made"], job.chunks_embedded)
            saved = job.chunks_created + job.chunks_kept - job.chunks_embedded
            embedded.add_metric([job.book_id, "saved"], max(0, saved))
        yield embedded
        health = GaugeMetricFamily(
            "quoth_part_health", "2 healthy, 1 degraded, 0 unavailable; as in /health.", labels=["part"]
        )
        for part, state in self._parts.items():
            health.add_metric([part], 2 - SEVERITY.index(state))
        yield health


async def _look_up(quoth: Quoth, checks: Checks) -> _ScrapeCollector:
    """The figures of a failing part are missing, and its health says so: a scrape never fails."""
    states = await checks.states()
    statuses: list[IndexStatus] = []
    last: dict[str, IngestJob] = {}
    with suppress(QuothError):  # the part's health says so
        books = [book for book in await quoth.index.books() if quoth.only_book in ("", book)][:_MOST_BOOKS]
        statuses = list(await together(*(quoth.index.status(book_id) for book_id in books)))
        for job in await quoth.library.jobs(quoth.only_book or None, limit=_MOST_BOOKS):
            if job.status == "completed" and not job.dry_run and job.book_id in books:
                last.setdefault(job.book_id, job)
    return _ScrapeCollector(statuses, last.values(), {name: str(state["status"]) for name, state in states.items()})


@router.get("/metrics", response_class=Response, responses=_EXPOSITION)
async def metrics(request: Request) -> Response:
    """Figures of all workers, for Prometheus."""
    looked_up = await _look_up(quoth_of(request), checks_of(request))
    text = await asyncio.to_thread(_metrics_of(request).exposition, looked_up)
    return Response(text, media_type=_MEDIA_TYPE)


def install_metrics(app: FastAPI) -> None:
    app.state.metrics = Metrics()
    app.add_middleware(MetricsMiddleware, metrics=app.state.metrics)
