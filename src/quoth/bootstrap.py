"""Joins everything, once. The command line, the server and the tests all start here; tests pass in fakes.

In: settings. Out: a `Quoth` whose parts are ready to use. Nothing heavy is loaded before it is needed: the embedding
model is loaded with the first embedding, the index with the first search.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from quoth.ask.find import Retriever
from quoth.ask.judge import FITTED, READ, UNFITTED, ConfidenceOptions
from quoth.ask.model_turn import ModelWriter
from quoth.ask.reply import ReplyOptions
from quoth.ask.request import ChatRequest
from quoth.ask.spans import SILENT, Spans
from quoth.bookshelf import Bookshelf
from quoth.conversation import AnswerOptions, Conversations
from quoth.domain import Book, Fingerprint, Key, Question
from quoth.domain.versions import CHUNKER_VERSION, TERMS_VERSION
from quoth.errors import BadConfiguration, UnknownBook, WrongUsage
from quoth.insight.observers import Observers, Traces, log_answer
from quoth.ports import ChatModel, ChunkIndex, Clock, Embedder, Fetcher, Library, Reader, TellSteps
from quoth.providers import embedder_of, qdrant_options, reader_of
from quoth.settings import Settings

if TYPE_CHECKING:
    from quoth.index.calibrations import CalibrationFiles
    from quoth.ingest import Ingest
    from quoth.sources import BookSource, Documents, Web


logger = logging.getLogger(__name__)


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


@dataclass(frozen=True, slots=True)
class Quoth:
    settings: Settings
    clock: Clock
    library: Library
    index: ChunkIndex
    shelf: Bookshelf  # the books of index and library
    embedder: Embedder
    conversations: Conversations
    calibrations: CalibrationFiles
    observers: Observers  # they see every answer; the doors add their own
    spans: Spans
    reader: Reader | None = None  # without one, passages are not read
    model: ChatModel | None = None  # without one, the book answers in its own sentences
    only_book: str = ""  # the only book the caller may see; empty: all

    @property
    def reader_name(self) -> str:
        return self.reader.name if self.reader else ""

    @property
    def ingest(self) -> Ingest:
        """Made on demand: answering needs none of the code that reads and splits a book."""
        from quoth.ingest import Ingest

        return Ingest(self.index, self.library, self.embedder, self.clock)

    def seen_by(self, key: Key) -> Quoth:
        """The same for a caller who may see only one book, or whose model has a budget."""
        if key.daily is None:
            return replace(self, only_book=key.book_id)
        most = key.daily

        async def may_use_model() -> bool:
            return await self.library.keys.spend(key.key_id, day=self.clock.now().date(), most=most)

        return replace(self, only_book=key.book_id, conversations=self.conversations.with_budget(may_use_model))

    def check_book(self, book_id: str) -> None:
        """`UnknownBook` for a book that the caller may not see, as if it did not exist."""
        if self.only_book and book_id != self.only_book:
            raise UnknownBook(f"There is no book {book_id!r}.")

    async def books(self) -> list[Book]:
        """The books that the caller may see."""
        return [book for book in await self.shelf.books() if self.only_book in ("", book.book_id)]

    async def book(self, book_id: str) -> Book:
        """`UnknownBook` even for a book that exists but that the caller may not see."""
        self.check_book(book_id)
        return await self.shelf.book(book_id)

    def question(self, request: ChatRequest, book: Book, *, request_id: str, owner: str = "") -> Question:
        """A request as a question to this book, with the operator's limits unless it has its own."""
        return request.to_question(
            book=book,
            request_id=request_id,
            top_k=self.settings.top_k,
            similarity_threshold=self.settings.similarity_threshold,
            owner=owner,
        )

    async def choose_book(self, book_id: str | None) -> Book:
        """The named book, the configured one, or the only one."""
        wanted = book_id or self.only_book or self.settings.book
        if wanted:
            return await self.book(wanted)
        books = await self.books()
        if not books:
            raise UnknownBook("There is no book yet.", hint="Add one: `quoth ingest PATH`.")
        if len(books) > 1:
            names = ", ".join(book.book_id for book in books)
            raise WrongUsage(
                f"There are several books: {names}.", hint="Name one: --book ID, or `book_id` in the request."
            )
        return books[0]


def fingerprint_of(embedder: Embedder) -> Fingerprint:
    return Fingerprint(
        embedder=embedder.name, dimensions=embedder.dimensions, chunker=CHUNKER_VERSION, terms=TERMS_VERSION
    )


@asynccontextmanager
async def bootstrap(
    settings: Settings,
    *,
    warm: bool = False,
    threads: int | None = None,
    clock: Clock | None = None,
    embedder: Embedder | None = None,
    reader: Reader | None = None,
    index: ChunkIndex | None = None,
    library: Library | None = None,
    model: ChatModel | None = None,
    spans: Spans | None = None,
) -> AsyncIterator[Quoth]:
    clock = clock or SystemClock()
    if embedder is None:
        embedder, reader = embedder_of(settings, threads), reader or reader_of(settings, threads)
    model = model or _model(settings)
    spans = spans or _spans(settings)
    async with AsyncExitStack() as closing:
        for part in (spans, embedder, reader, model):
            if part is not None:
                closing.push_async_callback(part.close)
        # The Qdrant index imports numpy here, before the model's thread does: numpy cannot be imported in two threads
        # at once.
        index = index or _index(settings, fingerprint_of(embedder))
        closing.push_async_callback(index.close)
        # If a question is about to come, the model is loaded while the database is opened.
        loading = asyncio.create_task(_load(embedder, reader)) if warm else None
        store = library or await _library(settings, clock)
        closing.push_async_callback(store.close)
        if loading is not None:
            await loading
        quoth = _joined(settings, clock, store, index, embedder, reader, model, spans)
        if settings.traces:
            traces = Traces(store, clock, keep=timedelta(days=settings.trace_days))
            closing.push_async_callback(traces.close)
            quoth.observers.watchers.append(traces)
        closing.push_async_callback(quoth.conversations.close)
        yield quoth


def _joined(
    settings: Settings,
    clock: Clock,
    library: Library,
    index: ChunkIndex,
    embedder: Embedder,
    reader: Reader | None,
    model: ChatModel | None,
    spans: Spans,
) -> Quoth:
    """All parts joined, with nothing left to open."""
    calibrations = _calibrations(settings, fingerprint_of(embedder), reader)
    observers = Observers(spans, log_answer)
    options = replace(_answer_options(settings, embedder, reader, calibrations), observed=observers)
    retriever = Retriever(index, embedder, spans, seconds=settings.index_timeout, reader=reader)
    watched = spans.model(model) if model is not None else None
    writer = None
    if watched is not None:
        writer = ModelWriter(watched, retriever, index, library, spans, reader=reader)
    return Quoth(
        settings=settings,
        clock=clock,
        library=library,
        index=index,
        shelf=Bookshelf(index, library, clock),
        embedder=embedder,
        conversations=Conversations(retriever, index, library, clock, options, writer),
        calibrations=calibrations,
        observers=observers,
        spans=spans,
        reader=reader,
        model=watched,
    )


async def _load(embedder: Embedder, reader: Reader | None) -> None:
    await embedder.load()
    if reader is not None:
        await reader.load()


def _answer_options(
    settings: Settings, embedder: Embedder, reader: Reader | None, calibrations: CalibrationFiles
) -> AnswerOptions:
    return AnswerOptions(
        confidence=ConfidenceOptions(
            settings.confidence, embedder.name, reader.name if reader else "", threshold=settings.refusal_threshold
        ),
        own_calibration=calibrations,
        reply=ReplyOptions(refusal=settings.refusal_sentence, grounding=settings.grounding),
        index_seconds=settings.index_timeout,
        keep_unanswered=timedelta(days=settings.record_days) if settings.record_questions else None,
    )


def _spans(settings: Settings) -> Spans:
    """Spans go to a collector if one is named and the extra is installed. All programs on a machine share the variable
    that names it, so a missing extra is no reason to fail."""
    if not settings.otel_endpoint:
        return SILENT
    if find_spec("opentelemetry.sdk") is None or find_spec("opentelemetry.exporter.otlp.proto.http") is None:
        logger.warning("spans are not sent: pip install 'quoth[telemetry]'")
        return SILENT
    from quoth.insight.telemetry import telemetry_for

    return telemetry_for(settings.otel_endpoint)


def documents() -> Documents | None:
    """The converter for PDF, EPUB and DOCX; None if the extra is not installed."""
    from quoth.models.documents import documents as converter

    return converter()


# Adapters are imported where they are built: each imports a large library.


def threads_of_worker(settings: Settings) -> int:
    """The threads of one of several workers on this machine: together they have as many as there are cores. A worker
    that took all cores for each query would spend a quarter more on it, and the others would wait."""
    from quoth.batching import usable_cores

    return max(1, usable_cores() // settings.workers)


_GEMINI = "https://generativelanguage.googleapis.com/v1beta/openai"
_OPENAI = "https://api.openai.com/v1"


def _model(settings: Settings) -> ChatModel | None:
    """OpenAI, Gemini, or any server that speaks OpenAI's protocol; None if none is configured."""
    key, base_url, name = settings.openai_api_key, settings.openai_base_url, settings.openai_model
    if base_url and not name:
        raise BadConfiguration(
            "OPENAI_BASE_URL is set, but no model is named.", hint="Set OPENAI_MODEL to a model of that server."
        )
    if not base_url and key is None:
        key, base_url, name = settings.gemini_api_key, _GEMINI, name or "gemini-2.5-flash"
        if key is None:
            return None
    from quoth.models.openai import ModelOptions, OpenAIChat

    secret = key.get_secret_value() if key else ""
    return OpenAIChat(
        ModelOptions(
            base_url or _OPENAI,
            name or "gpt-4o-mini",
            secret,
            temperature=settings.temperature,
            max_tokens=settings.max_tokens,
            first_token=settings.model_first_token_timeout,
            total=settings.model_timeout,
        )
    )


def embedded_index(settings: Settings, fingerprint: Fingerprint) -> ChunkIndex:
    from quoth.index.embedded import EmbeddedIndex

    return EmbeddedIndex(settings.data_dir, fingerprint)


def cluster_index(settings: Settings, fingerprint: Fingerprint) -> ChunkIndex:
    """The index on a Qdrant server or cluster."""
    options = qdrant_options(settings)
    from quoth.index.qdrant import QdrantIndex

    return QdrantIndex(options, fingerprint)


def _index(settings: Settings, fingerprint: Fingerprint) -> ChunkIndex:
    return (cluster_index if settings.qdrant_url else embedded_index)(settings, fingerprint)


def _calibrations(settings: Settings, fingerprint: Fingerprint, reader: Reader | None) -> CalibrationFiles:
    from quoth.index.calibrations import CalibrationFiles

    known = (*(READ if reader else ()), *FITTED, *UNFITTED.judge.weights)
    return CalibrationFiles(settings.data_dir, fingerprint, known=known)


def web_of(settings: Settings, *, tell: TellSteps = lambda done, total: None) -> Web:
    """How a crawl reaches published sites, for `open_source`. The HTTP client is loaded with the first request."""
    from quoth.sources import CrawlOptions, Web

    def opened() -> AbstractAsyncContextManager[Fetcher]:
        from quoth.models.web import FetchOptions, open_fetcher

        return open_fetcher(FetchOptions(timeout=settings.crawl_timeout, allow_private=settings.allow_private))

    options = CrawlOptions(
        max_pages=settings.max_pages,
        max_page_bytes=int(settings.max_page_mb * 1_000_000),
        max_total_bytes=int(settings.max_crawl_mb * 1_000_000),
        requests=settings.crawl_requests,
    )
    return Web(opened, options, tell)


def book_id_for(path: str | Path) -> str:
    """The folder's name as a book id: `My Docs/` becomes `my-docs`, and `guide.pdf` becomes `guide`. For a site, its
    host and the folder to read: `https://example.com/guide/sitemap.xml` becomes `example.com-guide`."""
    site = re.match(r"https?://([^/?#]+)(/[^?#]*)?", str(path), re.I)
    if site is None:
        place = Path(os.path.abspath(path))  # noqa: PTH100 - resolve() follows links, and fails if they loop
        shown = place.stem if place.is_file() else place.name
    else:
        shown = re.sub(r"[^/]*\.(?:xml|xml\.gz|txt)$", "", "".join(site.groups("")))
    name = re.sub(r"[^a-z0-9._-]+", "-", shown.lower()).strip("-._")
    return name[:64] or "book"


def open_book(
    settings: Settings,
    place: str,
    book_id: str,
    base_url: str = "",
    crawled: TellSteps = lambda done, total: None,
    *,
    url_style: str = "",
    project: Path | None = None,
) -> BookSource:
    """A folder, or a published site by its URL, as a source of pages. Blocks: call it in a thread."""
    from quoth.sources import open_source  # imports the parsers, which asking does not need

    if not place.lower().startswith(("http://", "https://")):
        # Absolute, because it is stored: a server may ingest the book again from another working directory.
        place = str(Path(place).absolute())
    said = {"book_id": book_id, "base_url": base_url, "url_style": url_style}
    web, roots = web_of(settings, tell=crawled), settings.ingest_roots
    return open_source(place, **said, documents=documents(), web=web, roots=roots, project=project)


async def _library(settings: Settings, clock: Clock) -> Library:
    def imported() -> Callable[..., Awaitable[Library]]:
        from quoth.store.library import open_library

        return open_library

    open_library = await asyncio.to_thread(imported)
    return await open_library(
        settings.database_url,
        now=clock.now,
        seconds=settings.database_timeout,
        pool_size=settings.database_pool_size,
    )
