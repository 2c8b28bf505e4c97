"""The Python API: `quoth.open()` and what it gives you.

    async with quoth.open("data-dir") as q:
        await q.ingest("my-docs")
        answer = await q.ask("How do I …?")

In: plain strings and numbers, checked exactly as the HTTP doors check them. Out: values of `quoth.domain`, errors of
`quoth.errors`. It is one more door: the pipelines behind it are those of the command line and the server.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quoth.bootstrap import Quoth as Parts
from quoth.bootstrap import book_id_for, bootstrap, open_book
from quoth.domain import Answer, AnswerEvent, Book, IngestJob, IngestMode, Passage, Question, Turn, Verdict
from quoth.settings import load_settings

if TYPE_CHECKING:
    from quoth.ingest import Progress


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Passages that fit a query, best first, and whether they are likely to hold the answer."""

    query: str
    passages: tuple[Passage, ...]
    total_found: int  # chunks of the book that pass the filters
    verdict: Verdict


class Quoth:
    """The books of one data directory. Make one with `quoth.open()`."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def ask(self, query: str, **options: Any) -> Answer:
        """Ask a book. Options: `book`, `session_id`, `selected_text`, `filters` (a mapping), `top_k`,
        `similarity_threshold`, as in `POST /chat`."""
        return await self._parts.conversations.answer(await self._question(query, options))

    async def stream(self, query: str, **options: Any) -> AsyncGenerator[AnswerEvent]:
        """The same answer as its events: `Status`, `Retrieved`, `Delta` for each piece of text, `Sourced`, `Grounded`,
        `Done`. Close the generator (`contextlib.aclosing`) to stop the answer early."""
        question = await self._question(query, options)
        events = self._parts.conversations.ask(question)
        try:
            async for event in events:
                yield event
        finally:
            await events.aclose()

    async def search(
        self, query: str, *, book: str | None = None, limit: int = 5, filters: Mapping[str, Any] | None = None
    ) -> SearchResult:
        """Find passages without answering. `filters` as in `POST /chat`."""
        from quoth.ask.request import FilterFields, Search, SearchRequest, parse

        chosen = await self._parts.choose_book(book)
        checked = parse(SearchRequest, {"text": query, "limit": limit})
        within = parse(FilterFields, dict(filters or {})).to_filters(chosen.base_url)
        threshold = self._parts.settings.similarity_threshold or 0.0
        found, verdict = await self._parts.conversations.search(
            Search(checked.text, chosen.book_id, within, checked.limit, similarity_threshold=threshold)
        )
        assert found.total_found is not None  # a search counts
        return SearchResult(found.query, found.passages, found.total_found, verdict)

    async def ingest(
        self,
        path: str | Path,
        *,
        book: str | None = None,
        base_url: str = "",
        mode: IngestMode = "incremental",
        dry_run: bool = False,
        progress: Callable[[Progress], None] = lambda progress: None,
    ) -> IngestJob:
        """Read a book, or what changed in it: a folder, or the URL of a published site. Without `book` the folder's
        name becomes the id. The job's `notices` say what the author should know."""
        from quoth.ingest import Progress

        place = str(path)

        def crawled(done: int, total: int) -> None:
            progress(Progress(done, total, 0))

        source = await asyncio.to_thread(
            open_book, self._parts.settings, place, book or book_id_for(place), base_url, crawled
        )
        try:
            return await self._parts.ingest.run(source, mode=mode, dry_run=dry_run, tell=progress)
        finally:
            source.close()

    async def books(self) -> list[Book]:
        return await self._parts.books()

    async def delete_book(self, book: str) -> None:
        """Its index and all that is known of its pages. Conversations stay: they belong to their readers."""
        await self._parts.book(book)
        await self._parts.index.delete_book(book)
        await self._parts.library.delete_book(book)

    async def history(self, session_id: str, *, limit: int = 50) -> list[Turn]:
        """The newest turns of a conversation, oldest first."""
        turns, _ = await self._parts.library.turns(session_id, limit=limit)
        return turns

    async def forget(self, session_id: str) -> None:
        """Erase a conversation for good."""
        await self._parts.conversations.forget(session_id)

    async def _question(self, query: str, options: Mapping[str, Any]) -> Question:
        from quoth.ask.request import ChatRequest, parse

        fields = {"book_id" if name == "book" else name: value for name, value in options.items()}
        request = parse(ChatRequest, {"query": query, **fields})
        book = await self._parts.choose_book(request.book_id)
        return self._parts.question(request, book, request_id=str(uuid.uuid4()))


@asynccontextmanager
async def open(data_dir: str | Path | None = None, **settings: Any) -> AsyncIterator[Quoth]:
    """Open a data directory (None: the configured one, or the user's own). Further settings by name, as in
    docs/settings.md: `openai_base_url="…"`, `top_k=8`. The environment, `.env` and `quoth.toml` are read as by the
    command line; what is given here wins."""
    directory = None if data_dir is None else Path(data_dir)
    async with bootstrap(load_settings(data_dir=directory, **settings)) as parts:
        yield Quoth(parts)
