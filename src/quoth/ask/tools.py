"""The search that a language model may call in the middle of an answer, as a tool.

In: what the model wrote as arguments. Out: Evidence, from the reader's book and within the reader's filters whatever
the arguments say: they can narrow, never widen. The reader's threshold holds too. Wrong arguments leave as the error
that names them, for the model to read. Knows no model and no transport.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from quoth.ask.find import Retriever
from quoth.ask.request import ToolRequest, parse
from quoth.domain import Book, Evidence, Filters


@dataclass(frozen=True, slots=True)
class SearchBook:
    retriever: Retriever
    book: Book
    within: Filters = Filters()
    threshold: float = 0.0  # the reader's: passages below it are dropped here too

    name: ClassVar[str] = "search_book"
    description: ClassVar[str] = (
        "Find passages of the book, best first. Search again with other words when what you have does not answer."
    )

    @classmethod
    def parameters(cls) -> Mapping[str, Any]:
        """JSON Schema of the arguments, in the part of it that every server takes."""
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
