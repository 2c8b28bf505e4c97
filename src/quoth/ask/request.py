"""What a reader may send, checked once for every door (docs/contract.md lists the fields).

In: the fields of an HTTP body or of a command line. Out: a `Question` or a `Search`, or the one error that names what
is wrong. Knows no transport and no store; the caller says which books exist.
"""

from __future__ import annotations

import difflib
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar
from urllib.parse import urljoin

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)
from pydantic_core import ErrorDetails

from quoth.domain import Book, Filters, Layer, ProficiencyLevel, Question
from quoth.errors import (
    EmptyQuery,
    InvalidFilter,
    InvalidSessionId,
    InvalidThreshold,
    InvalidTopK,
    QueryTooLong,
    QuothError,
    SelectionTooLong,
    UnknownField,
    WrongUsage,
)

MAX_QUERY = 32_000
MAX_SELECTION = 64_000
MAX_TOP_K = 20
_NESTED = "quoth"  # where a request of a foreign shape has our own fields
MAX_RUN_TOP_K = 10


def _uuid4(value: str) -> str:
    parsed = uuid.UUID(value)
    if parsed.version != 4:
        raise ValueError("not a UUID version 4")
    return str(parsed)


def _whole(value: object) -> object:
    """In JSON Schema 5.0 is an integer; "5" and true are not."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Whole = BeforeValidator(_whole)

# The JSON Schema of a text accepts no more than the code does, so a generated client sends nothing that fails.
_UUID4 = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-4[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$"
_QueryText = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_QUERY),
    Field(json_schema_extra={"pattern": r"\S"}),
]
SessionId = Annotated[str, AfterValidator(_uuid4), Field(json_schema_extra={"format": "uuid", "pattern": _UUID4})]
Name = Annotated[str, StringConstraints(min_length=1, max_length=512)]
# A path on the book's site, or the beginning of a URL; only characters that a URL may hold. U+0085 is named because
# some regex engines do not count it as white space.
_IN_URL = r"[^\s\x85<>{}|\\^`\"]"
_URL_PREFIX = rf"^(/|/[^/\s\x85<>{{}}|\\^`\"]{_IN_URL}*|https?://{_IN_URL}*)$"
UrlPrefix = Annotated[str, StringConstraints(min_length=1, max_length=512, pattern=_URL_PREFIX)]
# Three characters, or fewer if one of them is not a lower-case letter: `Go`, `C`, `-v`, `&&`, `主题`.
_SearchText = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_QUERY, pattern=r"\S[\s\S]+\S|[^a-z\s]"),
]
Number = Annotated[int, Field(ge=0, le=2**31 - 1, strict=True), Whole]  # what every index can hold
Threshold = Annotated[float, Field(ge=0, le=1)]
_THRESHOLD = "Passages with a lower `similarity_score` are dropped. Default: the operator's setting, which is 0"


class FilterFields(BaseModel):
    """All AND; enforced in the index."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    source_url_prefix: UrlPrefix | None = Field(
        None,
        description="The URL of the source starts with this; what begins with `/` is taken on the book's own site",
        examples=["/docs/ros2"],
    )
    section: Name | None = Field(None, description="Exact heading, at any level of the path", examples=["QoS profiles"])
    module: Name | None = Field(None, examples=["ros2"])
    chapter_min: Number | None = None
    chapter_max: Number | None = None
    lesson: Number | None = None
    hardware_tier: Annotated[int, Field(ge=1, le=4, strict=True), Whole] | None = Field(
        None, description="This tier or lower"
    )
    proficiency_levels: list[ProficiencyLevel] | None = Field(None, description="Any of these", examples=[["A2", "B1"]])
    layer: Layer | None = None
    parent_doc_id: Name | None = None

    def to_filters(self, base_url: str = "") -> Filters:
        fields = {name: getattr(self, name) for name in FilterFields.model_fields}
        fields["proficiency_levels"] = tuple(self.proficiency_levels or ())
        fields["source_url_prefix"] = _on_site(self.source_url_prefix, base_url)
        return Filters(**fields)


def _on_site(prefix: str | None, base_url: str) -> str | None:
    """A prefix may be a path; the sources of a published book have full addresses."""
    return urljoin(base_url, prefix) if prefix and prefix.startswith("/") else prefix


class ChatRequest(BaseModel):
    """A question about the book."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    query: _QueryText = Field(
        validation_alias=AliasChoices("query", "message", "question"),
        description="The question; `message` and `question` are accepted too",
        examples=["What does the transient local durability policy do?"],
    )
    selected_text: Annotated[str, StringConstraints(max_length=MAX_SELECTION)] | None = Field(
        None, description="When present, only this text may ground the answer"
    )
    session_id: SessionId | None = Field(None, description="UUID v4; created if absent")
    book_id: Name | None = Field(None, description="May be left out when there is one book")
    filters: FilterFields | None = None
    top_k: Annotated[int, Field(ge=1, le=MAX_TOP_K, strict=True), Whole] | None = Field(
        None, description="Passages to read, 1–20"
    )
    similarity_threshold: Threshold | None = Field(None, description=_THRESHOLD)

    def to_question(
        self, *, book: Book, request_id: str, top_k: int, similarity_threshold: float = 0.0, owner: str = ""
    ) -> Question:
        """`top_k` and `similarity_threshold` are the operator's defaults, for a request without its own."""
        own_threshold = self.similarity_threshold
        selection = self.selected_text if self.selected_text and self.selected_text.strip() else None
        return Question(
            query=self.query,
            book_id=book.book_id,
            session_id=self.session_id or str(uuid.uuid4()),
            request_id=request_id,
            selected_text=selection,
            filters=self.filters.to_filters(book.base_url) if self.filters else Filters(),
            top_k=self.top_k or top_k,
            similarity_threshold=similarity_threshold if own_threshold is None else own_threshold,
            owner=owner,
        )


class RunRequest(ChatRequest):
    """A question about the book, for `/chat/run`."""

    top_k: Annotated[int, Field(ge=1, le=MAX_RUN_TOP_K, strict=True), Whole] | None = Field(
        None, description="Passages to read, 1–10"
    )
    stream: Annotated[bool, Field(strict=True)] = Field(False, description="Answer with the events of /chat/stream")

    def to_question(
        self, *, book: Book, request_id: str, top_k: int, similarity_threshold: float = 0.0, owner: str = ""
    ) -> Question:
        fewer = min(top_k, MAX_RUN_TOP_K)
        return super().to_question(
            book=book, request_id=request_id, top_k=fewer, similarity_threshold=similarity_threshold, owner=owner
        )


@dataclass(frozen=True, slots=True)
class Search:
    """A search without an answer, validated."""

    text: str
    book_id: str
    filters: Filters
    limit: int
    explain: bool = False
    similarity_threshold: float = 0.0  # passages below it are dropped


class SearchRequest(BaseModel):
    """What to find in the book, and where."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    text: _SearchText = Field(
        validation_alias=AliasChoices("text", "query"),
        description="What to look for: three characters or more, fewer if it is an identifier (`C`, `-v`); "
        "`query` is accepted too",
        examples=["tf2_ros static transform"],
    )
    book_id: Name | None = Field(None, description="May be left out when there is one book")
    hardware_tier_filter: Annotated[int, Field(ge=1, le=4, strict=True), Whole] | None = Field(
        None, description="This tier or lower"
    )
    module_filter: Name | None = None
    chapter_min: Number | None = None
    chapter_max: Number | None = None
    lesson_filter: Number | None = None
    proficiency_levels: list[ProficiencyLevel] | None = None
    layer_filter: Layer | None = None
    parent_doc_id: Name | None = None
    source_url_prefix: UrlPrefix | None = None
    section: Name | None = None
    limit: Annotated[int, Field(ge=1, le=MAX_TOP_K, strict=True), Whole] = Field(
        5, validation_alias=AliasChoices("limit", "top_k"), description="How many passages; `top_k` is accepted too"
    )
    similarity_threshold: Threshold | None = Field(None, description=_THRESHOLD)
    explain: bool = Field(False, description="Give the raw scores and ranks of both lists")

    def to_search(self, *, book: Book, similarity_threshold: float = 0.0) -> Search:
        """`similarity_threshold` is the operator's default, for a request without its own."""
        own_threshold = self.similarity_threshold
        filters = Filters(
            source_url_prefix=_on_site(self.source_url_prefix, book.base_url),
            section=self.section,
            module=self.module_filter,
            chapter_min=self.chapter_min,
            chapter_max=self.chapter_max,
            lesson=self.lesson_filter,
            hardware_tier=self.hardware_tier_filter,
            proficiency_levels=tuple(self.proficiency_levels or ()),
            layer=self.layer_filter,
            parent_doc_id=self.parent_doc_id,
        )
        return Search(
            text=self.text,
            book_id=book.book_id,
            filters=filters,
            limit=self.limit,
            explain=self.explain,
            similarity_threshold=similarity_threshold if own_threshold is None else own_threshold,
        )


class ToolRequest(BaseModel):
    """What a model may ask of the book in the middle of an answer: a search, narrower than the reader's or as wide."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    query: _QueryText = Field(description="What to look for, in words that the book would use")
    top_k: Annotated[int, Field(ge=1, le=MAX_TOP_K, strict=True), Whole] = Field(5, description="How many passages")
    similarity_threshold: Threshold = Field(0.0, description="Leave out passages with a lower score")
    filters: FilterFields | None = None

    def to_search(self, *, book: Book, within: Filters, similarity_threshold: float = 0.0) -> Search | None:
        """Within the reader's filters and threshold. None if nothing can pass both the reader's filters and these."""
        own = (self.filters or FilterFields()).to_filters(book.base_url)  # type: ignore[call-arg]
        filters = within.narrowed_by(own)
        if filters is None:
            return None
        threshold = max(self.similarity_threshold, similarity_threshold)
        return Search(self.query, book.book_id, filters, self.top_k, similarity_threshold=threshold)


Request = TypeVar("Request", bound=BaseModel)


def parse(model: type[Request], fields: Any) -> Request:
    """Validate, or raise the error of `quoth.errors` that belongs to the first wrong field."""
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        first = min(error.errors(include_url=False), key=lambda detail: detail["type"] != "extra_forbidden")
        raise _usage_error(first, model) from None


# How pydantic names the alternatives of a field with several types; our callers do not know these names.
_CHOICE = re.compile(r"(constrained-)?(str|int|float|bool)$|(list|dict)\[")


def _usage_error(detail: ErrorDetails, model: type[BaseModel]) -> QuothError:
    path = [str(part) for part in detail["loc"] if not _CHOICE.match(str(part))]
    name = ".".join(path) or "body"
    details: Mapping[str, Any] = {"field": name, "reason": detail["msg"]}
    path = path[1:] if path[:1] == [_NESTED] else path
    if detail["type"] == "extra_forbidden":
        known = _known_fields(path, ChatRequest if name.startswith(f"{_NESTED}.") else model)
        near = difflib.get_close_matches(path[-1], known, n=1)
        hint = f"Did you mean `{near[0]}`?" if near else f"Known fields: {', '.join(known)}."
        return UnknownField(f"Unknown field `{name}`.", hint=hint if known else "Leave it out.", details=details)
    if name == "top_k" and model is RunRequest:
        return InvalidTopK(f"`top_k` must be a whole number from 1 to {MAX_RUN_TOP_K}.", details=details)
    make = _FIELD_ERRORS.get(path[0] if path else "", _wrong_usage)
    return make(name, detail, details)


def _known_fields(path: Sequence[str], model: type[BaseModel]) -> list[str]:
    if len(path) == 1:
        return list(model.model_fields)
    return list(FilterFields.model_fields) if path[-2] == "filters" else []


def _wrong_usage(name: str, detail: ErrorDetails, details: Mapping[str, Any]) -> QuothError:
    return WrongUsage(f"`{name}` is wrong: {detail['msg']}.", details=details)


def _query_error(name: str, detail: ErrorDetails, details: Mapping[str, Any]) -> QuothError:
    if detail["type"] == "string_too_long":
        return QueryTooLong(f"The question is longer than {MAX_QUERY:,} characters.", details=details)
    if detail["type"] in {"missing", "string_too_short"}:
        return EmptyQuery("The question is empty.", details=details)
    if detail["type"] == "string_pattern_mismatch":
        return WrongUsage(
            "The text to search for is too short.",
            hint="Write three characters or more, or an identifier with a capital letter, a digit or a sign: `Go`.",
            details=details,
        )
    return _wrong_usage(name, detail, details)


def _selection_error(name: str, detail: ErrorDetails, details: Mapping[str, Any]) -> QuothError:
    if detail["type"] == "string_too_long":
        return SelectionTooLong(f"The selection is longer than {MAX_SELECTION:,} characters.", details=details)
    return _wrong_usage(name, detail, details)


def _session_error(name: str, detail: ErrorDetails, details: Mapping[str, Any]) -> QuothError:
    return InvalidSessionId("session_id is not a UUID version 4.", details=details)


def _filter_error(name: str, detail: ErrorDetails, details: Mapping[str, Any]) -> QuothError:
    if name.endswith("source_url_prefix") and detail["type"] == "string_pattern_mismatch":
        return InvalidFilter(
            "The filter `source_url_prefix` is not the beginning of an address.",
            hint="Write a path like /docs/ros2, or an address like https://docs.example.com/ros2.",
            details=details,
        )
    return InvalidFilter(f"The filter `{name.removeprefix('filters.')}` is wrong: {detail['msg']}.", details=details)


def _top_k_error(name: str, detail: ErrorDetails, details: Mapping[str, Any]) -> QuothError:
    return InvalidTopK(f"`{name}` must be a whole number from 1 to {MAX_TOP_K}.", details=details)


def _threshold_error(name: str, detail: ErrorDetails, details: Mapping[str, Any]) -> QuothError:
    return InvalidThreshold("similarity_threshold must be a number from 0 to 1.", details=details)


_FIELD_ERRORS: Mapping[str, Callable[[str, ErrorDetails, Mapping[str, Any]], QuothError]] = {
    "query": _query_error,
    "message": _query_error,
    "question": _query_error,
    "text": _query_error,
    "selected_text": _selection_error,
    "session_id": _session_error,
    "filters": _filter_error,
    "hardware_tier_filter": _filter_error,
    "module_filter": _filter_error,
    "chapter_min": _filter_error,
    "chapter_max": _filter_error,
    "lesson_filter": _filter_error,
    "proficiency_levels": _filter_error,
    "layer_filter": _filter_error,
    "parent_doc_id": _filter_error,
    "source_url_prefix": _filter_error,
    "section": _filter_error,
    "module": _filter_error,
    "lesson": _filter_error,
    "hardware_tier": _filter_error,
    "layer": _filter_error,
    "top_k": _top_k_error,
    "limit": _top_k_error,
    "similarity_threshold": _threshold_error,
}
