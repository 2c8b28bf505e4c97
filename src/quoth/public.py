"""The Python API: `quoth.open()` and what it returns.

    async with quoth.open("data-dir") as q:
        await q.ingest("my-docs")
        answer = await q.ask("How do I …?")

In: plain strings and numbers, checked exactly as the HTTP doors check them. Out: values of `quoth.domain`, errors of
`quoth.errors`. It is one more door, with the same pipelines as the command line and the server.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quoth.ask.tools import SearchBook, format_tool_error, format_tool_response
from quoth.bootstrap import Quoth as Parts
from quoth.bootstrap import book_id_for, bootstrap, open_book
from quoth.domain import (
    Answer,
    AnswerEvent,
    Book,
    Filters,
    IngestJob,
    IngestMode,
    Message,
    Passage,
    Question,
    ToolUse,
    Turn,
    Verdict,
)
from quoth.errors import QuothError
from quoth.settings import load_settings

if TYPE_CHECKING:
    from quoth.ingest import Progress


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Passages that match a query, best first, and whether they are likely to hold the answer."""

    query: str
    passages: tuple[Passage, ...]
    total_found: int  # chunks of the book that pass the filters
    verdict: Verdict


_MOST_MESSAGES = 100  # in a conversation; more do not fit into most models' context


@dataclass(slots=True)
class Conversation:
    """The messages of a model and its user, with the model's searches, in order.

    `ValueError` for a message that cannot come next: the first is the system's, then user and assistant take turns,
    with tool calls and their results in between."""

    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    messages: list[Message] = field(default_factory=list)
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    model: str = ""

    def __post_init__(self) -> None:
        given, self.messages = self.messages, []
        for message in given:
            self.add_message(message)

    def add_message(self, message: Message) -> None:
        last = self.messages[-1] if self.messages else None
        if (last is None) != (message.role == "system"):
            raise ValueError("A conversation begins with a system message and has only one.")
        if last is not None and not _may_follow(last, message, self._unanswered()):
            raise ValueError(f"The {message.role}'s message cannot come after the {last.role}'s.")
        if len(self.messages) == _MOST_MESSAGES:
            raise ValueError(f"A conversation has at most {_MOST_MESSAGES} messages; start a new one.")
        self.messages.append(message)

    def to_openai_messages(self) -> list[dict[str, Any]]:
        """For the `messages` of OpenAI's chat completions."""
        return [message.to_openai() for message in self.messages]

    def _unanswered(self) -> frozenset[str]:
        """The tool calls without a result yet."""
        called = {call.id for message in self.messages for call in message.tool_calls}
        return frozenset(called - {message.tool_call_id for message in self.messages})


def _may_follow(last: Message, message: Message, unanswered: frozenset[str]) -> bool:
    if unanswered:
        return message.role == "tool" and message.tool_call_id in unanswered
    if message.role == "user":
        return last.role in ("system", "assistant")
    return message.role == "assistant" and last.role in ("user", "tool")


class Quoth:
    """The books of one data directory. Create it with `quoth.open()`."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def ask(self, query: str, **options: Any) -> Answer:
        """Ask a book. Options: `book`, `session_id`, `selected_text`, `filters` (a mapping), `top_k`,
        `similarity_threshold`, as in `POST /chat`."""
        return await self._parts.conversations.answer(await self._question(query, options))

    async def stream(self, query: str, **options: Any) -> AsyncGenerator[AnswerEvent]:
        """The same answer as events: `Status`, `Retrieved`, `Delta` for each piece of text, `Sourced`, `Grounded`,
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
        assert found.total_found is not None  # a search always counts
        return SearchResult(found.query, found.passages, found.total_found, verdict)

    async def call_retrieval_tool(
        self, arguments: Mapping[str, Any], *, book: str | None = None
    ) -> tuple[Passage, ...]:
        """The result of a search tool call; `execute_retrieval_tool` returns it as JSON."""
        from quoth.ask.request import ToolRequest, parse

        chosen = await self._parts.choose_book(book)
        threshold = self._parts.settings.similarity_threshold or 0.0
        search = parse(ToolRequest, dict(arguments)).to_search(
            book=chosen, within=Filters(), similarity_threshold=threshold
        )
        assert search is not None, "nothing is narrower than everything"
        found, _ = await self._parts.conversations.search(search)
        return found.passages

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
        """Read a book, or what changed in it, from a folder or the URL of a published site. Without `book`, the
        folder's name becomes the id. The job's `notices` say what the author should know."""
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
        """Delete its index and all records of its pages. Conversations stay: they belong to their readers."""
        await self._parts.book(book)
        await self._parts.index.delete_book(book)
        await self._parts.library.delete_book(book)

    async def history(self, session_id: str, *, limit: int = 50) -> list[Turn]:
        """The newest turns of a conversation, oldest first."""
        turns, _ = await self._parts.library.turns(session_id, limit=limit)
        return turns

    async def conversation(self, session_id: str) -> Conversation:
        """A stored conversation as messages: each question, the searches for it, and its answer. If there are too many,
        the oldest exchanges are left out; search results are not stored."""
        stored = await self._parts.library.conversation(session_id)
        turns = await self._parts.library.recent_turns(session_id, limit=_MOST_MESSAGES)
        told: list[Message] = []
        for turn in reversed(turns):
            spoken = _messages_of(turn)
            if 1 + len(spoken) + len(told) > _MOST_MESSAGES:
                break
            told = [*spoken, *told]
        model = next((turn.model for turn in reversed(turns) if turn.model), "")
        rules = Message("system", "Answer from what search_book_content returns, and from nothing else.")
        return Conversation(session_id, [rules, *told], stored.created_at, model)

    async def forget(self, session_id: str) -> None:
        """Erase a conversation for good."""
        await self._parts.conversations.forget(session_id)

    async def _question(self, query: str, options: Mapping[str, Any]) -> Question:
        from quoth.ask.request import ChatRequest, parse

        fields = {"book_id" if name == "book" else name: value for name, value in options.items()}
        request = parse(ChatRequest, {"query": query, **fields})
        book = await self._parts.choose_book(request.book_id)
        return self._parts.question(request, book, request_id=str(uuid.uuid4()))


def _messages_of(turn: Turn) -> list[Message]:
    asked_at = turn.timestamp - timedelta(milliseconds=turn.query_time_ms)
    spoken = [Message("user", turn.query, asked_at)]
    for number, search in enumerate(turn.searches, start=1):
        call = replace(search.call, id=f"{turn.request_id}-{number}")  # a model numbers its calls anew in each answer
        spoken.append(Message("assistant", "", search.timestamp, tool_calls=(call,)))
        spoken.append(Message("tool", _kept_result(search), search.timestamp, tool_call_id=call.id))
    return [*spoken, Message("assistant", turn.response or turn.fallback_message or "", turn.timestamp)]


def _kept_result(search: ToolUse) -> str:
    if search.error:
        return format_tool_error(search.error, search.query)
    return json.dumps({"total_results": search.results, "query": search.query}, ensure_ascii=False)


def retrieval_tool() -> dict[str, Any]:
    """The search as a tool for OpenAI's chat completions, for your own agent: pass its calls to
    `execute_retrieval_tool`."""
    function = {"name": SearchBook.name, "description": SearchBook.description, "parameters": SearchBook.parameters()}
    return {"type": "function", "function": function}


async def execute_retrieval_tool(
    q: Quoth,
    query: str,
    top_k: int = 5,
    similarity_threshold: float = 0.0,
    *,
    filters: Mapping[str, Any] | None = None,
    book: str | None = None,
) -> str:
    """The tool's answer as JSON: `{"results": […], "total_results", "query"}`, or `{"error", "query"}`, because the
    model should read about a wrong argument or an outage."""
    arguments = {"query": query, "top_k": top_k, "similarity_threshold": similarity_threshold, "filters": filters}
    try:
        found = await q.call_retrieval_tool(arguments, book=book)
    except QuothError as error:
        return format_tool_error(str(error), query)
    return format_tool_response(found, query)


@asynccontextmanager
async def open(data_dir: str | Path | None = None, **settings: Any) -> AsyncIterator[Quoth]:
    """Open a data directory (None: the configured one, or the user's own). Pass other settings by name, as in
    docs/settings.md: `openai_base_url="…"`, `top_k=8`. The environment, `.env` and `quoth.toml` are read as on the
    command line; arguments given here win."""
    directory = None if data_dir is None else Path(data_dir)
    async with bootstrap(load_settings(data_dir=directory, **settings)) as parts:
        yield Quoth(parts)
