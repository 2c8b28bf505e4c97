"""What a coding agent may do with the books: an MCP server on the official SDK, for both `/mcp` and `quoth mcp`.

Tools `search`, `fetch` (in the shape that ChatGPT's connectors expect) and `ask` (the one pipeline), and every page as
a resource. In: a `Quoth`. Out: a server that a transport can run. A wrong argument or an outage becomes a tool result
with our message, so that the agent can read it and do better. The SDK takes a second to import: import this late.
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from quoth import logs
from quoth.ask.request import ChatRequest, Name, ToolRequest, parse
from quoth.bootstrap import Quoth
from quoth.domain import Book, Chunk, ConfidenceLevel, Filters, Passage
from quoth.domain.versions import __version__
from quoth.errors import InternalError, NotFound, QuothError, UnknownChunk, WrongUsage
from quoth.serve.book_text import pages_of, trail_of, whole
from quoth.serve.disclosure import is_admin, public
from quoth.serve.mcp_calls import REQUEST_CANCELLED, Calls, Cancelled, call_keys, reported
from quoth.serve.search_views import chunk_view
from quoth.serve.shapes import Score, Shape
from quoth.serve.views import ChatResponse, answer_view

logger = logging.getLogger(__name__)

_SCHEME = "quoth://"
PAGE_SIZE = 100  # resources in one answer
_MOST_BOOKS = 16  # searched at once if no book is named

_INSTRUCTIONS = (
    "Quoth holds technical books and documentation. `ask` answers a question about a book, with citations, or says that"
    " the book does not hold it. `search` finds passages, `fetch` reads the whole page of one. Cite the `url` given."
)

Context = ServerRequestContext[Any, Any]  # we use its `request`, None on stdio


class _SearchArguments(ToolRequest):
    """Find passages, best first."""

    book_id: Name | None = Field(None, description="Which book; left out: all of them")


class _FetchArguments(BaseModel):
    """Read a page."""

    model_config = ConfigDict(extra="forbid")

    id: Name = Field(description="The `id` of a search result, or the URI of a resource")


class FoundPassage(Shape):
    id: str
    title: str
    url: str
    text: str


class BookVerdict(Shape):
    book_id: str
    confidence: Score
    confidence_level: ConfidenceLevel
    should_answer: bool


class FoundPassages(Shape):
    results: list[FoundPassage]
    books: list[BookVerdict]


class FetchedPage(Shape):
    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, Any]


# The fields of `ChatResponse` that agents use: its full schema would be longer than all other tools together.
_ANSWERED = {
    "type": "object",
    "properties": {"answer": {"type": ["string", "null"]}, "sources": {"type": "array", "items": {"type": "object"}}},
    "required": ["answer", "sources", "confidence", "should_answer", "session_id"],
}

_Result = tuple[str, Mapping[str, Any]]  # a tool's words, and the same as structured content


class Agents:
    def __init__(
        self,
        seen: Callable[[Any], Quoth],
        owner: Callable[[Any], str] = lambda request: "",
        calls: Calls | None = None,
    ) -> None:
        """`seen`: what the sender of an HTTP request (None on stdio) may see; `owner`: who owns its sessions; `calls`:
        the running calls, for those who cancel one."""
        self._seen = seen
        self._owner = owner
        self._calls = calls or Calls()
        self._tools: Mapping[str, Callable[[Context, Any], Coroutine[Any, Any, _Result]]] = {
            "search": self._search,
            "fetch": self._fetch,
            "ask": self._ask,
        }

    def server(self) -> Server[Any]:
        server: Server[Any] = Server(
            "quoth",
            title="Quoth",
            version=__version__,
            instructions=_INSTRUCTIONS,
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_list_resources=self.list_resources,
            on_list_resource_templates=self.list_templates,
            on_read_resource=self.read_resource,
        )
        server.middleware.append(_translate_errors)
        return server

    # --- tools -------------------------------------------------------------------------------------------------------

    async def list_tools(self, context: Context, params: object) -> types.ListToolsResult:
        books = ", ".join(
            f"{book.book_id} ({book.title})" for book in (await self._seen(context.request).books())[:_MOST_BOOKS]
        )
        there = f" Books: {books}." if books else ""
        return types.ListToolsResult(
            tools=[
                _tool(
                    "search",
                    f"Find passages of the books, best first.{there}",
                    _SearchArguments,
                    _schema(FoundPassages),
                ),
                _tool(
                    "fetch",
                    "Read the whole page of a search result, or a resource.",
                    _FetchArguments,
                    _schema(FetchedPage),
                ),
                _tool(
                    "ask",
                    f"Ask a book: an answer with citations, or an honest refusal. To go on send its session_id.{there}",
                    ChatRequest,
                    _ANSWERED,
                ),
            ]
        )

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = self._tools.get(params.name)
        if tool is None:
            known = ", ".join(self._tools)
            raise MCPError(types.INVALID_PARAMS, f"There is no tool {params.name!r}. The tools are {known}.")
        try:
            text, structured = await self._calls.run(
                call_keys(context.request, self._owner, context.request_id), tool(context, params.arguments or {})
            )
        except Cancelled as cancelled:
            raise MCPError(REQUEST_CANCELLED, "The call was cancelled.") from cancelled
        except QuothError as error:
            return types.CallToolResult(
                content=[types.TextContent(type="text", text=_public_message(error, context.request))], is_error=True
            )
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=text)], structured_content=structured, is_error=False
        )

    async def _search(self, context: Context, arguments: Any) -> _Result:
        quoth = self._seen(context.request)
        wanted = parse(_SearchArguments, arguments)
        found: list[Passage] = []
        judged: list[BookVerdict] = []
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
        structured: FoundPassages = {"results": [_result(passage.chunk) for passage in best], "books": judged}
        return json.dumps(structured, ensure_ascii=False), structured

    async def _fetch(self, context: Context, arguments: Any) -> _Result:
        quoth = self._seen(context.request)
        wanted = parse(_FetchArguments, arguments).id
        metadata: dict[str, Any] = {}
        if wanted.startswith(_SCHEME):
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

    async def _ask(self, context: Context, arguments: Any) -> _Result:
        quoth = self._seen(context.request)
        asked = parse(ChatRequest, arguments)
        book = await quoth.choose_book(asked.book_id)
        request_id = str(uuid.uuid4()) if context.request is None else str(context.request.state.request_id)
        question = quoth.question(asked, book, request_id=request_id, owner=self._owner(context.request))
        told = "progress_token" in (context.meta or {})  # the client wants progress reports
        events = quoth.conversations.ask(question, whole=not told)

        async def report(seconds: float, doing: str) -> None:
            await context.session.report_progress(seconds, message=doing)

        view = answer_view(await reported(events, report))
        return _readable(view), view

    # --- pages as resources ------------------------------------------------------------------------------------------

    async def list_resources(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """In the order of their addresses. The cursor is the last address sent, so a change in between skips no page
        that still exists."""
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
                if len(listed) == PAGE_SIZE:
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
    """The index searches one book at a time, so on a server with hundreds the caller must name one."""
    books = [] if book_id or quoth.settings.book else await quoth.books()
    return books if 0 < len(books) <= _MOST_BOOKS else [await quoth.choose_book(book_id)]


async def _page_at(quoth: Quoth, uri: str) -> tuple[Book, list[Chunk]]:
    book_id, source_file = place_of(uri)
    book = await quoth.book(book_id)
    record = (await quoth.library.page_records(book_id)).get(source_file)
    if record is None:
        raise NotFound(f"The book {book_id} has no page {source_file}.", hint="`resources/list` names the pages.")
    return book, await quoth.index.view(book_id).chunks(record.chunk_ids)


async def _translate_errors(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Give protocol errors our message. An unforeseen fault shows no internals; the SDK would show them to older
    clients. This is the last handler of this door; on stdio there is no other."""
    mark = logs.request_id.set(None if ctx.request is None else str(ctx.request.state.request_id))
    try:
        return await call_next(ctx)
    except (MCPError, ValidationError):
        raise
    except QuothError as error:
        raise MCPError(
            types.INVALID_PARAMS if error.status < 500 else types.INTERNAL_ERROR, _public_message(error, ctx.request)
        ) from error
    except Exception as error:
        logger.exception("unhandled %s in %s", type(error).__name__, ctx.method)
        raise MCPError(types.INTERNAL_ERROR, _public_message(InternalError(""), ctx.request)) from error
    finally:
        logs.request_id.reset(mark)


def address(book_id: str, source_file: str) -> str:
    return f"{_SCHEME}{book_id}/{quote(source_file)}"


def place_of(uri: str) -> tuple[str, str]:
    """The book and the file that an address names; the inverse of `address`."""
    book_id, slash, source_file = uri.removeprefix(_SCHEME).partition("/")
    if not uri.startswith(_SCHEME) or not slash:
        raise WrongUsage(f"{uri!r} is not the address of a page.", hint="Write quoth://<book_id>/<file>.")
    return book_id, unquote(source_file)


def _public_message(error: QuothError, request: Any) -> str:
    """What an agent may know. On stdio (no request) it runs on the operator's own machine."""
    if error.status == 500:
        return "Something went wrong inside Quoth. [INTERNAL_ERROR]"
    told = error if request is None or is_admin(request) else public(error, str(request.state.request_id))
    return f"{told} [{told.code}]"


def _tool(name: str, description: str, arguments: type[BaseModel], output: Mapping[str, Any]) -> types.Tool:
    return types.Tool(
        name=name,
        title=name.capitalize(),
        description=description,
        input_schema=arguments.model_json_schema(),
        output_schema=dict(output),
        # A question is stored in the asker's own session; neither the book nor anything outside changes.
        annotations=types.ToolAnnotations(read_only_hint=True, destructive_hint=False, open_world_hint=False),
    )


def _schema(shape: type[Shape]) -> dict[str, Any]:
    return TypeAdapter(shape).json_schema()


def _result(chunk: Chunk) -> FoundPassage:
    return {
        "id": f"{chunk.book_id}/{chunk.id}",
        "title": " › ".join(chunk.breadcrumb),
        "url": chunk.url or address(chunk.book_id, chunk.source_file),
        "text": chunk.shown,
    }


def _page(wanted: str, book: Book, chunks: Sequence[Chunk], metadata: Mapping[str, Any]) -> FetchedPage:
    if not chunks:
        raise NotFound(f"The page {wanted} of {book.book_id} no longer has any text.", hint="Search again.")
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


def _readable(view: ChatResponse) -> str:
    """The answer and its sources, for a model that reads text; the rest is in the structured result."""
    said = view["answer"] if view["answer"] is not None else view["fallback_message"]
    lines = [said or ""]
    for source in view["sources"]:
        if "source_type" in source:
            lines.append(f"[{source['index']}] the selected text: {source['quote']}")
        else:
            place = f"{source['source_url']} ({source['source_file']}:{source['line']})".strip()
            lines.append(f"[{source['index']}] {place}: {source['quote']}")
    for near in view["metadata"]["suggestions"]:
        lines.append(f"Nearest: {near['title']} {near['source_url']}")
    return "\n\n".join(lines)
