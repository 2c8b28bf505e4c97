"""Chunks, passages and search results as JSON: the shapes and the views that make them. Pure.

In: domain values. Out: dicts whose keys and types are declared here, once. `quoth search --json`, `POST /search` and
the `retrieval` event of a stream share them. Knows no transport.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any, NotRequired, cast

from pydantic import Field

from quoth import domain
from quoth.ask.request import Search
from quoth.chunks.payload import to_record
from quoth.domain import Chunk, ConfidenceLevel, Evidence, Filters, Layer, Passage, ProficiencyLevel, Verdict
from quoth.serve.shapes import Moment, Score, Shape, Uuid, timestamp


class ChunkFields(Shape):
    chunk_id: str
    text: str
    lead: Annotated[str, Field(description="The fence line or header row repeated before `text` if a block was cut")]
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
    version: Annotated[int, Field(description="How often this chunk was written")]
    created_at: Moment | None
    updated_at: Moment | None
    embedded_at: Annotated[Moment | None, Field(description="When its vector was computed")]


class RawScores(Shape):
    fused_score: Annotated[float, Field(description="Results are sorted by this score, 0 to 1")]
    dense_score: Annotated[float | None, Field(description="Cosine with the query")]
    dense_rank: Annotated[int | None, Field(description="Rank among the nearest vectors; null if it is not among them")]
    sparse_score: Annotated[float | None, Field(description="BM25; null if it is not among the best by words")]
    sparse_rank: int | None
    pair_share: Annotated[
        float, Field(description="The share of the query's adjacent word pairs that are adjacent here too")
    ]
    agreement: Annotated[float, Field(description="Cosine with the best passages")]


class SearchResult(ChunkFields):
    rank: Annotated[int, Field(description="1 is the best")]
    score: Score
    similarity_score: Score
    explain: NotRequired[Annotated[RawScores, Field(description="Only with `explain`")]]


class ConfidenceMetrics(Shape):
    average_similarity: float
    min_similarity: float
    max_similarity: float
    num_chunks: int
    chunk_diversity: float
    has_sufficient_context: bool
    confidence: Score
    confidence_level: ConfidenceLevel
    should_answer: bool


class SearchResponse(Shape):
    query: str
    results: Annotated[list[SearchResult], Field(description="Best first, without duplicate texts")]
    total_found: Annotated[
        int, Field(description="Chunks that pass the filters; all of them were compared with the query")
    ]
    hardware_tier_filter: int | None
    module_filter: str | None
    filter_applied: Annotated[
        dict[str, str | int | list[str]], Field(description="Every filter applied, by its name in a question")
    ]
    query_id: Annotated[Uuid, Field(description="The id of the request")]
    book_id: str
    metrics: ConfidenceMetrics
    missing_terms: list[str]
    query_embedding: NotRequired[Annotated[list[float], Field(description="Only with `explain`")]]


# A chunk's fields come from the one map in `quoth.chunks.payload`; two have another name at the doors.
_RENAMED = {"chunk_id": "id", "source_url": "url"}
_STAMPS = ("version", "created_at", "updated_at", "embedded_at")
_CHUNK_KEYS = tuple((key, _RENAMED.get(key, key)) for key in ChunkFields.__annotations__ if key not in _STAMPS)


def chunk_view(chunk: Chunk) -> ChunkFields:
    record = to_record(chunk)
    view: dict[str, Any] = {key: record[name] for key, name in _CHUNK_KEYS}
    stamps = chunk.stamps
    view["version"] = stamps.version if stamps else 1
    view["created_at"] = timestamp(stamps.created_at) if stamps else None
    view["updated_at"] = timestamp(stamps.updated_at) if stamps else None
    view["embedded_at"] = timestamp(stamps.embedded_at) if stamps else None
    return cast(ChunkFields, view)


def passage_view(passage: Passage, rank: int, *, explain: bool = False) -> SearchResult:
    view = cast(SearchResult, chunk_view(passage.chunk))
    view["rank"] = rank
    view["score"] = view["similarity_score"] = round(passage.similarity, 4)
    if explain:
        view["explain"] = {
            "fused_score": passage.score,
            "dense_score": passage.dense_score,
            "dense_rank": passage.dense_rank,
            "sparse_score": passage.sparse_score,
            "sparse_rank": passage.sparse_rank,
            "pair_share": passage.pair_share,
            "agreement": passage.agreement,
        }
    return view


def metrics_view(metrics: domain.ConfidenceMetrics, verdict: Verdict) -> ConfidenceMetrics:
    return {
        "average_similarity": round(metrics.average_similarity, 4),
        "min_similarity": round(metrics.min_similarity, 4),
        "max_similarity": round(metrics.max_similarity, 4),
        "num_chunks": metrics.num_chunks,
        "chunk_diversity": round(metrics.chunk_diversity, 4),
        "has_sufficient_context": metrics.has_sufficient_context,
        "confidence": round(verdict.confidence, 4),
        "confidence_level": verdict.level,
        "should_answer": verdict.should_answer,
    }


def passages_view(passages: Sequence[Passage], *, explain: bool = False) -> list[SearchResult]:
    return [passage_view(passage, rank, explain=explain) for rank, passage in enumerate(passages, start=1)]


def filters_view(filters: Filters) -> dict[str, str | int | list[str]]:
    """The filters that are set."""
    named = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(filters).items()}
    return {name: value for name, value in named.items() if value not in (None, [], "")}


def search_view(search: Search, evidence: Evidence, verdict: Verdict, *, query_id: str) -> SearchResponse:
    """The body of `POST /search`."""
    filters = search.filters
    view: SearchResponse = {
        "query": search.text,
        "results": passages_view(evidence.passages, explain=search.explain),
        "total_found": evidence.total_found or 0,
        "hardware_tier_filter": filters.hardware_tier,
        "module_filter": filters.module,
        "filter_applied": filters_view(filters),
        "query_id": query_id,
        "book_id": search.book_id,
        "metrics": metrics_view(verdict.metrics, verdict),
        "missing_terms": list(evidence.missing_terms),
    }
    if search.explain:
        view["query_embedding"] = list(evidence.query_vector)
    return view
