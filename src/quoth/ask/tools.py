"""The search that a language model may call in the middle of an answer, as a tool: JSON in, JSON out.

In: what the model wrote as arguments. Out: Evidence, from the reader's book and within the reader's filters whatever
the arguments say: they can narrow, never widen. The reader's threshold holds too. Wrong arguments raise the error that
names them, for the model to read. How passages and errors are written down for a model is decided here too, once for
the model's turn and for the Python API. Knows no model and no transport.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypedDict

from quoth.ask.find import Retriever
from quoth.ask.request import ToolRequest, parse
from quoth.domain import Book, Evidence, Filters, Passage


class ToolResult(TypedDict):
    """One passage, as a model reads it."""

    content: str
    url: str
    page_title: str
    section: str | None
    breadcrumb: str
    score: float
    rank: int
    chunk_index: int


@dataclass(frozen=True, slots=True)
class SearchBook:
    retriever: Retriever
    book: Book
    within: Filters = Filters()
    threshold: float = 0.0  # the reader's: passages below it are dropped here too

    name: ClassVar[str] = "search_book_content"
    # Some models were taught another name for this tool.
    names: ClassVar[frozenset[str]] = frozenset((name, "retrieve_documentation", "search_textbook", "search_book"))
    description: ClassVar[str] = (
        "Find passages of the book, best first. Search again with other words when what you have does not answer."
    )

    @classmethod
    def parameters(cls) -> Mapping[str, Any]:
        """JSON Schema of the arguments, reduced to what every server accepts."""
        schema = ToolRequest.model_json_schema()
        return _plain({**schema, "description": ""}, schema["$defs"])

    async def __call__(self, arguments: Any) -> Evidence:
        asked = parse(ToolRequest, arguments)
        search = asked.to_search(book=self.book, within=self.within, similarity_threshold=self.threshold)
        if search is None:  # nothing can pass both the reader's filters and the model's
            return Evidence(query=asked.query, passages=(), total_found=0)
        return await self.retriever.find(
            search.text,
            book_id=search.book_id,
            filters=search.filters,
            limit=search.limit,
            threshold=search.similarity_threshold,
        )


def format_tool_response(
    results: Sequence[Passage], query: str, *, ranks: Sequence[int] = (), known: Collection[str] = ()
) -> str:
    """The passages as JSON for a model. `ranks`: the numbers by which it cites them, if they do not start at 1.
    `known`: ids of chunks whose text it has read already, so that it is not paid for twice."""
    numbers = ranks or range(1, len(results) + 1)
    listed = [
        _tool_result(passage, rank, known=passage.chunk.id in known)
        for rank, passage in zip(numbers, results, strict=True)
    ]
    return json.dumps({"results": listed, "total_results": len(listed), "query": query}, ensure_ascii=False)


def format_tool_error(error: str, query: str) -> str:
    return json.dumps({"error": error, "query": query}, ensure_ascii=False)


def _tool_result(passage: Passage, rank: int, *, known: bool) -> ToolResult:
    chunk = passage.chunk
    return {
        "content": f"(You have read it: rank {rank}.)" if known else chunk.shown,
        "url": chunk.url or chunk.source_file,
        "page_title": chunk.title,
        "section": chunk.section_title or None,
        "breadcrumb": " › ".join(part.replace("\n", " ") for part in chunk.breadcrumb),
        "score": round(passage.similarity, 4),
        "rank": rank,
        "chunk_index": chunk.chunk_index,
    }


# The words of JSON Schema that go to a model. Gemini refuses a request with others, and each costs tokens in every
# turn; what is left out here is checked when the arguments come.
_WORDS = ("type", "description", "enum", "minimum", "maximum", "required")
_NO_LIMIT = 2**31 - 1


def _plain(schema: Mapping[str, Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """References resolved; an optional value is one that may be left out, not one that may be null."""
    whole = dict(schema)
    for one in schema.get("anyOf", ()):
        if one.get("type") != "null":
            whole = {**one, **whole}
    if "$ref" in whole:
        whole = {**named[whole["$ref"].rpartition("/")[2]], **whole}
    plain = {word: whole[word] for word in _WORDS if whole.get(word) not in (None, "", _NO_LIMIT)}
    if "properties" in whole:
        plain["properties"] = {name: _plain(value, named) for name, value in whole["properties"].items()}
    if "items" in whole:
        plain["items"] = _plain(whole["items"], named)
    return plain
