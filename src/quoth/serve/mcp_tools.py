"""What a coding agent may do with the books: an MCP server on the official SDK, for `/mcp` and `quoth mcp` alike.

Tools `search`, `fetch` (in the shape that ChatGPT's connectors expect) and `ask` (the one pipeline), and every page as
a resource. In: a `Quoth`. Out: a server that a transport can run. A wrong argument or an outage is the result of a
tool, with our message, so that the agent reads it and does better. The SDK takes a second to import: import this late.
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from quoth import logs
from quoth.ask.request import ChatRequest, Name, ToolRequest, parse
from quoth.bootstrap import Quoth
from quoth.domain import Book, Chunk, Filters, Passage
from quoth.errors import InternalError, NotFound, QuothError, UnknownChunk, WrongUsage
from quoth.serve.book_text import pages_of, trail_of, whole
from quoth.serve.views import View, answer_view, chunk_view
from quoth.versions import __version__

logger = logging.getLogger(__name__)

SCHEME = "quoth://"
LISTED = 100  # resources in one answer
MOST_BOOKS = 16  # that one search looks through when none is named

INSTRUCTIONS = (
    "Quoth holds technical books and documentation. `ask` answers a question about a book, with citations, or says that"
    " the book does not hold it. `search` finds passages, `fetch` reads the whole page of one. Cite the `url` given."
)

Context = ServerRequestContext[Any, Any]  # what we use of it is its `request`, which stdio has none of


class SearchArguments(ToolRequest):
    """Find passages, best first."""

    book_id: Name | None = Field(None, description="Which book; left out: all of them")


class FetchArguments(BaseModel):
    """Read a page."""

    model_config = ConfigDict(extra="forbid")

    id: Name = Field(description="The `id` of a search result, or the URI of a resource")


RESULT = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("id", "title", "url", "text")},
    "required": ["id", "title", "url", "text"],
}
FOUND = {
    "type": "object",
    "properties": {
        "results": {"type": "array", "items": RESULT},
        "books": {"type": "array", "items": {"type": "object"}},
    },
    "required": ["results"],
}
FETCHED = {**RESULT, "properties": {**RESULT["properties"], "metadata": {"type": "object"}}}  # type: ignore[dict-item]
ANSWERED = {
    "type": "object",
    "properties": {"answer": {"type": ["string", "null"]}, "sources": {"type": "array", "items": {"type": "object"}}},
    "required": ["answer", "sources", "confidence", "should_answer", "session_id"],
}


class Agents:
    def __init__(self, seen: Callable[[Any], Quoth], owner: Callable[[Any], str] = lambda request: "") -> None:
        """What whoever sent an HTTP request (None on stdio) may see, and to whom its sessions belong."""
        self._seen = seen
        self._owner = owner
        self._tools: Mapping[str, Callable[[Context, Any], Awaitable[tuple[str, View]]]] = {
            "search": self._search,
            "fetch": self._fetch,
            "ask": self._ask,
        }

    def server(self) -> Server[Any]:
        server: Server[Any] = Server(
            "quoth",
            title="Quoth",
            version=__version__,
            instructions=INSTRUCTIONS,
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_list_resources=self.list_resources,
            on_list_resource_templates=self.list_templates,
            on_read_resource=self.read_resource,
        )
        server.middleware.append(explained)
        return server

    # --- tools -------------------------------------------------------------------------------------------------------

    async def list_tools(self, context: Context, params: object) -> types.ListToolsResult:
        books = ", ".join(
            f"{book.book_id} ({book.title})" for book in (await self._seen(context.request).books())[:MOST_BOOKS]
        )
        there = f" Books: {books}." if books else ""
        return types.ListToolsResult(
            tools=[
                _tool("search", f"Find passages of the books, best first.{there}", SearchArguments, FOUND),
                _tool("fetch", "Read the whole page of a search result, or a resource.", FetchArguments, FETCHED),
                _tool(
                    "ask",
                    f"Ask a book: an answer with citations, or an honest refusal. To go on send its session_id.{there}",
                    ChatRequest,
                    ANSWERED,
                ),
            ]
        )

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = self._tools.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"There is no tool {params.name!r}: {', '.join(self._tools)}.")
        try:
            text, structured = await tool(context, params.arguments or {})
        except QuothError as error:
            return types.CallToolResult(content=[types.TextContent(type="text", text=told(error))], is_error=True)
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=text)], structured_content=structured, is_error=False
        )

    async def _search(self, context: Context, arguments: Any) -> tuple[str, View]:
        quoth = self._seen(context.request)
        wanted = parse(SearchArguments, arguments)
        found: list[Passage] = []
        judged: list[View] = []
        for book in await _books(quoth, wanted.book_id):
            threshold = quoth.settings.similarity_threshold or 0.0
            search = wanted.to_search(book=book, within=Filters(), similarity_threshold=threshold)
            assert search is not None, "nothing is narrower than everything"
            evidence, verdict = await quoth.conversations.search(search)
            found += evidence.passages
            judged.append(
                {
                    "book_id": book.book_id,
                    "confidence": round(verdict.confidence, 4),
                    "confidence_level": verdict.level,
                    "should_answer": verdict.should_answer,
                }
            )
        best = sorted(found, key=lambda passage: -passage.similarity)[: wanted.top_k]
        structured = {"results": [_result(passage.chunk) for passage in best], "books": judged}
        return json.dumps(structured, ensure_ascii=False), structured

    async def _fetch(self, context: Context, arguments: Any) -> tuple[str, View]:
        quoth = self._seen(context.request)
        wanted = parse(FetchArguments, arguments).id
        metadata: View = {}
        if wanted.startswith(SCHEME):
            book, chunks = await _page_at(quoth, wanted)
        else:
            book_id, _, chunk_id = wanted.partition("/")
            book = await quoth.book(book_id)
            view = quoth.index.view(book_id)
            near = await view.chunks([chunk_id])
            if not near:
                raise UnknownChunk(f"The book {book_id} has no passage {chunk_id}.", hint="Ids come from `search`.")
            chunks = await view.page(near[0].parent_doc_id)
            metadata = {"passage": chunk_view(near[0])}
        structured = _page(wanted, book, chunks, metadata)
        return json.dumps(structured, ensure_ascii=False), structured

    async def _ask(self, context: Context, arguments: Any) -> tuple[str, View]:
        quoth = self._seen(context.request)
        asked = parse(ChatRequest, arguments)
        book = await quoth.choose_book(asked.book_id)
        request_id = str(uuid.uuid4()) if context.request is None else str(context.request.state.request_id)
        question = quoth.question(asked, book, request_id=request_id, owner=self._owner(context.request))
        answer = await quoth.conversations.answer(question)
        view = answer_view(answer)
        return _readable(view), view

    # --- pages as resources ------------------------------------------------------------------------------------------

    async def list_resources(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """In the order of their addresses; the cursor is the last one that was given, so that a change in between
        leaves none out that stays."""
        try:
            after = place_of(params.cursor) if params is not None and params.cursor else ("", "")
        except WrongUsage as error:
            raise MCPError(types.INVALID_PARAMS, "This cursor was not given by this server.") from error
        quoth = self._seen(context.request)
        listed: list[types.Resource] = []
        for book in await quoth.books():
            if book.book_id < after[0]:
                continue
            for record in sorted(await pages_of(quoth.library, book.book_id), key=lambda one: one.source_file):
                if (book.book_id, record.source_file) <= after:
                    continue
                if len(listed) == LISTED:
                    return types.ListResourcesResult(resources=listed, next_cursor=listed[-1].uri)
                listed.append(
                    types.Resource(
                        uri=address(book.book_id, record.source_file),
                        name=record.source_file,
                        title=record.title or None,
                        description=record.url or None,
                        mime_type="text/markdown",
                    )
                )
        return types.ListResourcesResult(resources=listed)

    async def list_templates(self, context: Context, params: object) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            uri_template="quoth://{book_id}/{+source_file}",
            name="page",
            title="A page of a book",
            mime_type="text/markdown",
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        _, chunks = await _page_at(self._seen(context.request), params.uri)
        text = types.TextResourceContents(uri=params.uri, mime_type="text/markdown", text=whole(chunks))
        return types.ReadResourceResult(contents=[text])


async def _books(quoth: Quoth, book_id: str | None) -> list[Book]:
    """Engines search one book at a time, so a server of hundreds wants to be told which."""
    books = [] if book_id or quoth.settings.book else await quoth.books()
    return books if 0 < len(books) <= MOST_BOOKS else [await quoth.choose_book(book_id)]


async def _page_at(quoth: Quoth, uri: str) -> tuple[Book, list[Chunk]]:
    book_id, source_file = place_of(uri)
    book = await quoth.book(book_id)
    record = (await quoth.library.page_records(book_id)).get(source_file)
    if record is None:
        raise NotFound(f"The book {book_id} has no page {source_file}.", hint="resources/list names them.")
    return book, await quoth.index.view(book_id).chunks(record.chunk_ids)


async def explained(ctx: Context, call_next: CallNext) -> HandlerResult:
    """What leaves as an error of the protocol: our message, or, for a fault that nobody foresaw, none of its inside.
    The SDK would tell it to older clients; it is the last handler of this door, which on stdio has no other."""
    mark = logs.request_id.set(None if ctx.request is None else str(ctx.request.state.request_id))
    try:
        return await call_next(ctx)
    except (MCPError, ValidationError):
        raise
    except QuothError as error:
        raise MCPError(types.INVALID_PARAMS if error.status < 500 else types.INTERNAL_ERROR, told(error)) from error
    except Exception as error:
        logger.exception("unhandled %s in %s", type(error).__name__, ctx.method)
        raise MCPError(types.INTERNAL_ERROR, told(InternalError(""))) from error
    finally:
        logs.request_id.reset(mark)


def address(book_id: str, source_file: str) -> str:
    return f"{SCHEME}{book_id}/{quote(source_file)}"


def place_of(uri: str) -> tuple[str, str]:
    """The book and the file that an address names; the opposite of `address`."""
    book_id, slash, source_file = uri.removeprefix(SCHEME).partition("/")
    if not uri.startswith(SCHEME) or not slash:
        raise WrongUsage(f"{uri!r} is no address of a page.", hint="Write quoth://<book_id>/<file>.")
    return book_id, unquote(source_file)


def told(error: QuothError) -> str:
    """What an agent may know: faults of ours keep their inside to the log."""
    return f"{error} [{error.code}]" if error.status != 500 else "Something went wrong inside Quoth. [INTERNAL_ERROR]"


def _tool(name: str, description: str, arguments: type[BaseModel], output: Mapping[str, Any]) -> types.Tool:
    return types.Tool(
        name=name,
        title=name.capitalize(),
        description=description,
        input_schema=arguments.model_json_schema(),
        output_schema=dict(output),
        # To ask is remembered in a session of the asker's own; nothing of the book changes, and nothing outside.
        annotations=types.ToolAnnotations(read_only_hint=True, destructive_hint=False, open_world_hint=False),
    )


def _result(chunk: Chunk) -> View:
    return {
        "id": f"{chunk.book_id}/{chunk.id}",
        "title": " › ".join(chunk.breadcrumb),
        "url": chunk.url or address(chunk.book_id, chunk.source_file),
        "text": chunk.shown,
    }


def _page(wanted: str, book: Book, chunks: Sequence[Chunk], metadata: View) -> View:
    if not chunks:
        raise NotFound(f"The page {wanted} of {book.book_id} has no text any more.", hint="Search again.")
    first = chunks[0]
    return {
        "id": wanted,
        "title": " › ".join((*trail_of(first), first.title)),
        "text": whole(chunks),
        "url": first.url.partition("#")[0] or address(book.book_id, first.source_file),
        "metadata": {
            "book_id": book.book_id,
            "book_title": book.title,
            "source_file": first.source_file,
            "resource": address(book.book_id, first.source_file),
            **metadata,
        },
    }


def _readable(view: View) -> str:
    """The answer and its sources, for a model that reads text; the rest is in the structured result."""
    said = view["answer"] if view["answer"] is not None else view["fallback_message"]
    lines = [said]
    for source in view["sources"]:
        place = f" ({source['source_file']}:{source['line']})" if "source_file" in source else ""
        lines.append(f"[{source['index']}] {source.get('source_url') or 'the selected text'}{place}: {source['quote']}")
    for near in view["metadata"]["suggestions"]:
        lines.append(f"Nearest: {near['title']} {near['source_url']}")
    return "\n\n".join(lines)
