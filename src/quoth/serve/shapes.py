"""What the doors answer, for OpenAPI only: `quoth.serve.views` makes the JSON, and a test holds the two together."""

from __future__ import annotations

from datetime import datetime
from http import HTTPStatus
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from quoth.domain import AnswerMode, ConfidenceLevel, IngestMode, JobStatus, Layer, ProficiencyLevel

Responses = dict[int | str, dict[str, Any]]
Score = Field(ge=0, le=1)
Health = Literal["healthy", "degraded", "unavailable"]


class Documented(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Problem(Documented):
    """RFC 9457 problem details and S0 ErrorResponse in one."""

    type: str = Field(examples=["/errors/EMPTY_QUERY"])
    title: str = Field(examples=["Empty query"])
    status: int = Field(examples=[400])
    detail: str = Field(examples=["The question is empty."])
    instance: str = Field(examples=["/chat"])
    error_code: str = Field(examples=["EMPTY_QUERY"])
    message: str = Field(examples=["The question is empty."])
    request_id: UUID
    details: dict[str, Any]
    hint: str = Field(examples=["Ask a question of at least one character."])


class SourceCitation(Documented):
    """The exact words that the answer relies on, and where they stand."""

    index: int = Field(description="The n of [n] in the answer", examples=[1])
    source_url: str = Field(
        description="Opens the published page at the heading", examples=["https://book.example/ros2/qos#durability"]
    )
    title: str
    section: str
    chunk_position: int
    similarity_score: float = Score
    snippet: str
    chunk_id: str
    breadcrumb: list[str] = Field(examples=[["ROS 2", "Quality of service", "Durability"]])
    quote: str
    start: int = Field(description="Offset of the quote in the source file")
    end: int
    source_file: str = Field(examples=["docs/ros2/qos.md"])
    line: int = Field(description="1-based line of the quote in the source file", examples=[42])


class SelectedTextCitation(Documented):
    source_type: Literal["selected_text"]
    index: int
    selection_length: int
    snippet: str
    relevance_note: str
    quote: str
    start: int
    end: int


class Suggestion(Documented):
    title: str
    source_url: str
    breadcrumb: list[str]


class ResponseMetadata(Documented):
    query_time_ms: float
    retrieval_count: int
    mode: AnswerMode
    low_confidence: bool
    partial: bool = Field(description="The answer says itself that a part of what was asked is not in the book")
    disclaimer: str | None = Field(description="What to tell the reader of an answer of low confidence")
    interrupted: bool = Field(description="It broke off: the reader left, or the model did not come to an end")
    request_id: UUID
    book_id: str
    searched_query: str = Field(
        description="What was really searched: for a follow-up, the question and the words of the conversation it means"
    )
    suggestions: list[Suggestion] = Field(description="The nearest sections, with a refusal")
    missing_terms: list[str] = Field(description="Words of the question that the book never uses, with a refusal")
    stage_ms: dict[str, float]


class CheckedSentence(Documented):
    text: str
    supported: bool
    sources: list[int]
    score: float = Field(ge=0, le=1, description="The chance that the sources say this")
    reason: str | None = Field(description="Why it is not supported")
    start: int | None = Field(description="Where it stands word for word in the file of its source")
    end: int | None


class GroundingReport(Documented):
    supported: int
    total: int
    score: float = Field(ge=0, le=1, description="The chance that the sources say even the two weakest sentences")
    removed: int = Field(description="Unsupported sentences that were taken out (QUOTH_GROUNDING=strict)")
    sentences: list[CheckedSentence]


class AnswerDetails(Documented):
    """All that is said about an answer, but its text."""

    fallback_message: str | None
    sources: list[SourceCitation | SelectedTextCitation]
    metadata: ResponseMetadata
    session_id: UUID
    confidence: float = Score
    confidence_level: ConfidenceLevel
    should_answer: bool
    timestamp: datetime
    model: str | None
    tokens_used: int
    grounding: GroundingReport


class ChatResponse(AnswerDetails):
    """The one answer."""

    answer: str | None


class ChunkFields(Documented):
    chunk_id: str
    text: str
    lead: str = Field(description="The fence line or header row repeated before `text` where a block was cut")
    source_file: str
    source_url: str
    title: str
    section_title: str | None
    breadcrumb: list[str]
    module: str | None
    chapter: int | None
    lesson: int | None
    hardware_tier: int
    proficiency_level: ProficiencyLevel
    layer: Layer
    chunk_index: int
    total_chunks: int
    parent_doc_id: str
    prev_chunk_id: str | None
    next_chunk_id: str | None
    content_hash: str
    start: int
    end: int
    line: int


class RawScores(Documented):
    fused_score: float = Field(description="What the results are ordered by, 0 to 1")
    dense_score: float | None = Field(description="Cosine with the query")
    dense_rank: int | None = Field(description="In the list of the nearest vectors; null when that does not hold it")
    sparse_score: float | None = Field(description="BM25; null when it is not in the list of the best words")
    sparse_rank: int | None
    pair_share: float = Field(description="Of the query's neighbouring words, those that stand side by side here too")
    agreement: float = Field(description="Cosine with the best passages")


class SearchResult(ChunkFields):
    score: float = Score
    similarity_score: float = Score
    explain: RawScores | None = Field(None, description="Only with explain")


class ConfidenceMetrics(Documented):
    average_similarity: float
    min_similarity: float
    max_similarity: float
    num_chunks: int
    chunk_diversity: float
    has_sufficient_context: bool
    confidence: float = Score
    confidence_level: ConfidenceLevel
    should_answer: bool


class SearchResponse(Documented):
    query: str
    results: list[SearchResult] = Field(description="Best first; of equal texts only the best")
    total_found: int = Field(description="Chunks that pass the filters: all of them were compared with the query")
    hardware_tier_filter: int | None
    module_filter: str | None
    book_id: str
    metrics: ConfidenceMetrics
    missing_terms: list[str]


class ContextResponse(Documented):
    book_id: str
    chunk_id: str
    chunks: list[ChunkFields]


class LessonResponse(Documented):
    book_id: str
    parent_doc_id: str
    title: str
    chunks: list[ChunkFields]


class UnsupportedSentence(Documented):
    text: str
    reason: str


class HistoryEntry(Documented):
    timestamp: datetime
    query: str
    response: str
    sources: list[SourceCitation | SelectedTextCitation]
    unsupported: list[UnsupportedSentence] = Field(description="Sentences of the response that its sources do not say")
    interrupted: bool = Field(description="The response broke off here")
    disclaimer: str | None


class HistoryResponse(Documented):
    session_id: UUID
    entries: list[HistoryEntry]
    total_entries: int


class BookFields(Documented):
    book_id: str
    title: str
    base_url: str
    source: str
    toolchain: str
    chunks: int
    generation: int | None
    bytes_on_disk: int
    fingerprint: dict[str, str | int] | None


class BooksResponse(Documented):
    books: list[BookFields]


class IngestNotice(Documented):
    code: str = Field(examples=["FRONT_MATTER_DEFAULT"])
    message: str
    source_file: str
    line: int | None
    fatal: bool = Field(description="The page is not in the index because of this")


class JobResponse(Documented):
    """S3 IngestionJob with its warnings."""

    job_id: int
    book_id: str
    mode: IngestMode
    status: JobStatus
    dry_run: bool
    files_discovered: int
    files_processed: int = Field(description="With files_skipped: all that were discovered, once it has completed")
    files_skipped: int = Field(description="Unchanged")
    files_failed: int = Field(description="Counted in files_processed too")
    files_deleted: int
    chunks_created: int
    chunks_kept: int
    chunks_deleted: int
    chunks_embedded: int
    started_at: datetime | None
    completed_at: datetime | None
    duration_seconds: float | None
    error_message: str | None
    warnings: list[IngestNotice]


class JobsResponse(Documented):
    jobs: list[JobResponse]


class ChangesResponse(Documented):
    """S3 get_changed_files against the folder that the book came from."""

    book_id: str
    source: str
    new: list[str]
    modified: list[str]
    deleted: list[str]
    unchanged: int


class WebhookResponse(Documented):
    message: str = Field(examples=["pong"])
    job_id: int | None


class ServiceStatus(Documented):
    name: str
    status: Health
    latency_ms: float | None
    error: str | None


class Answering(Documented):
    """Ours, over S0's: what to expect of the answers."""

    mode: Literal["full", "extractive"] = Field(description="A language model writes, or the book's own sentences")
    model: str | None
    embedder: str
    calibration: Literal["fitted", "unfitted"] = Field(
        description="unfitted: nobody has measured what this embedder's scores mean, so confidence is a careful guess"
    )


class HealthResponse(Documented):
    status: Health
    timestamp: datetime
    services: dict[str, ServiceStatus]
    version: str
    answering: Answering


class ReadyResponse(Documented):
    status: str


def problems(*statuses: int, shape: str = "Problem") -> Responses:
    content = {"application/problem+json": {"schema": {"$ref": f"#/components/schemas/{shape}"}}}
    named: Responses = {status: {"description": HTTPStatus(status).phrase, "content": content} for status in statuses}
    return {**named, "default": {"description": "Any other error, in the same shape", "content": content}}


def answers(model: type[BaseModel] | None, *errors: int) -> Responses:
    """The `responses` of a route: its model, the errors it is known to give, and the shape of all others."""
    success: Responses = {200: {"model": model}} if model else {}
    return {**success, **problems(*errors)}


def events(*names: str) -> dict[str, Any]:
    """Server-sent events of these names, or without a name; `itemSchema` is OpenAPI 3.2's word for one of them."""
    data = {"type": "string", "contentMediaType": "application/json"}
    item = {"type": "object", "properties": {"data": data}, "required": ["data"]}
    if names:
        properties = {"event": {"enum": list(names)}, "data": data}
        item = {"type": "object", "properties": properties, "required": ["event", "data"]}
    return {"text/event-stream": {"itemSchema": item}}


STREAM: Responses = {
    200: {
        "description": "status, retrieval, delta*, sources, grounding, done – or error; each with JSON data",
        "content": events("status", "retrieval", "delta", "sources", "grounding", "done", "error"),
    },
    **problems(400, 404, 413, 415, 503),
}

JOB_EVENTS: Responses = {
    200: {
        "description": "progress*, then completed or failed; each with the whole job as JSON data",
        "content": events("progress", "completed", "failed", "error"),
    },
    **problems(400, 404, 503),
}

EXPOSITION: Responses = {
    200: {
        "description": "Prometheus' text format",
        "content": {"text/plain": {"schema": {"type": "string"}}},
    },
    **problems(),
}

TEXT: Responses = {
    200: {"description": "Plain text", "content": {"text/plain": {"schema": {"type": "string"}}}},
    **problems(400, 404, 503),
}

_RPC = {"type": "object", "properties": {"jsonrpc": {"const": "2.0"}}, "required": ["jsonrpc"]}
_CALL = {
    "type": "object",
    "properties": {
        "jsonrpc": {"const": "2.0"},
        "id": {"type": ["integer", "string"], "description": "Left out: a notification"},
        "method": {"type": "string", "examples": ["tools/call"]},
        "params": {"type": "object"},
    },
    "required": ["jsonrpc", "method"],
}
MCP_REQUEST = {"requestBody": {"required": True, "content": {"application/json": {"schema": _CALL}}}}
MCP: Responses = {
    200: {
        "description": "JSON-RPC 2.0 by the Model Context Protocol, as one document or as server-sent events",
        "content": {"application/json": {"schema": _RPC}, **events("message")},
    },
    202: {"description": "A notification was taken note of"},
    **problems(400, 403, 404, 406, 413, 415),
}
for _status in (400, 404, 406):  # a JSON-RPC error and a problem in one body, declared as what MCP clients look for
    MCP[_status]["content"] = {**MCP[_status]["content"], "application/json": {"schema": _RPC}}
