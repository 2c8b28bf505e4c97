"""Answers as JSON: the shapes and the views that make them. Pure, so `quoth ask --json`, `POST /chat` and the last
event of a stream are the same bytes by construction.

In: domain values. Out: dicts whose keys and types are declared here, once, for mypy and OpenAPI. Knows no transport.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from quoth import domain
from quoth.domain import (
    Answer,
    AnswerEvent,
    AnswerMode,
    Citation,
    CitedSource,
    ConfidenceLevel,
    Delta,
    Done,
    Grounded,
    Grounding,
    Retrieved,
    Sourced,
    Status,
)
from quoth.serve.search_views import ConfidenceMetrics, metrics_view, passages_view
from quoth.serve.shapes import Moment, Score, Shape, Uuid, timestamp

_CHUNK_TEXT = 500  # characters of a chunk that `POST /chat/run` shows


# --- sources ---------------------------------------------------------------------------------------------------------


Highlight = Annotated[
    list[int] | None,
    Field(
        description="The decisive sentence: its start and end in the quote, in characters (code points); null if "
        "unknown, as in turns stored by earlier versions",
        examples=[[0, 64]],
        min_length=2,
        max_length=2,
    ),
]


class SourceCitation(Shape):
    """The exact words the answer relies on, and where they are."""

    index: Annotated[int, Field(description="The n of [n] in the answer", examples=[1])]
    source_url: Annotated[
        str,
        Field(
            description="Opens the published page at the heading",
            examples=["https://book.example/ros2/qos#durability"],
        ),
    ]
    title: str
    section: str
    chunk_position: int
    similarity_score: Score
    snippet: str
    chunk_id: str
    breadcrumb: Annotated[list[str], Field(examples=[["ROS 2", "Quality of service", "Durability"]])]
    quote: str
    start: Annotated[int, Field(description="Offset of the quote in the source file")]
    end: int
    highlight: Highlight
    source_file: Annotated[str, Field(examples=["docs/ros2/qos.md"])]
    line: Annotated[int, Field(description="1-based line of the quote in the source file", examples=[42])]


class SelectedTextCitation(Shape):
    source_type: Literal["selected_text"]
    index: int
    selection_length: int
    snippet: str
    relevance_note: str
    quote: str
    start: int
    end: int
    highlight: Highlight


AnySource = SourceCitation | SelectedTextCitation


def source_view(source: CitedSource) -> AnySource:
    """A source of an answer, fresh or stored: a passage of the book, or a part of the selected text."""
    highlight = None if source.highlight is None else list(source.highlight)
    if source.selection_length is not None:
        selected: SelectedTextCitation = {
            "source_type": "selected_text",
            "index": source.index,
            "selection_length": source.selection_length,
            "snippet": source.snippet,
            "relevance_note": "The answer quotes this part of the selection.",
            "quote": source.quote,
            "start": source.start,
            "end": source.end,
            "highlight": highlight,
        }
        return selected
    cited: SourceCitation = {
        "index": source.index,
        "source_url": source.url,
        "title": source.title,
        "section": source.section,
        "chunk_position": source.position,
        "similarity_score": round(source.similarity, 4),
        "snippet": source.snippet,
        "chunk_id": source.chunk_id,
        "breadcrumb": list(source.breadcrumb),
        "quote": source.quote,
        "start": source.start,
        "end": source.end,
        "highlight": highlight,
        "source_file": source.source_file,
        "line": source.line,
    }
    return cited


def _sources_view(answer: Answer) -> list[AnySource]:
    return [source_view(source) for source in answer.sources]


# --- grounding -------------------------------------------------------------------------------------------------------


class CheckedSentence(Shape):
    text: str
    supported: bool
    sources: list[int]
    score: Annotated[Score, Field(description="The probability that the sources say this")]
    reason: Annotated[str | None, Field(description="Why it is not supported")]
    start: Annotated[int | None, Field(description="Where it is in its source file, if word for word")]
    end: int | None


class GroundingReport(Shape):
    supported: int
    total: int
    score: Annotated[
        Score, Field(description="The probability that the sources support even the two weakest sentences")
    ]
    removed: Annotated[int, Field(description="Unsupported sentences that were removed (QUOTH_GROUNDING=strict)")]
    sentences: list[CheckedSentence]


def _grounding_view(grounding: Grounding) -> GroundingReport:
    return {
        "supported": grounding.supported,
        "total": grounding.total,
        "score": round(grounding.score, 4),
        "removed": grounding.removed,
        "sentences": [
            {
                "text": sentence.text,
                "supported": sentence.supported,
                "sources": list(sentence.sources),
                "score": round(sentence.score, 4),
                "reason": sentence.reason or None,
                "start": sentence.start,
                "end": sentence.end,
            }
            for sentence in grounding.sentences
        ],
    }


# --- answers ---------------------------------------------------------------------------------------------------------


class Suggestion(Shape):
    title: str
    source_url: str
    breadcrumb: list[str]


class ResponseMetadata(Shape):
    query_time_ms: float
    retrieval_count: int
    mode: AnswerMode
    low_confidence: bool
    partial: Annotated[bool, Field(description="The answer itself says that part of the question is not in the book")]
    disclaimer: Annotated[str | None, Field(description="A note for the reader of a low-confidence answer")]
    interrupted: Annotated[bool, Field(description="It broke off: the reader left, or the model did not finish")]
    request_id: Uuid
    book_id: str
    searched_query: Annotated[
        str,
        Field(
            description="How the question was understood: a follow-up has its subject before it, as in "
            "`launch file: and for parameters?`"
        ),
    ]
    suggestions: Annotated[list[Suggestion], Field(description="For a refusal: the nearest sections")]
    missing_terms: Annotated[
        list[str], Field(description="For a refusal: words of the question that the book never uses")
    ]
    stage_ms: dict[str, float]


class AnswerDetails(Shape):
    """Everything about an answer except its text."""

    fallback_message: str | None
    sources: list[AnySource]
    metadata: ResponseMetadata
    session_id: Uuid
    confidence: Score
    confidence_level: ConfidenceLevel
    should_answer: bool
    timestamp: Moment
    model: str | None
    tokens_used: int
    grounding: GroundingReport


class ChatResponse(AnswerDetails):
    """An answer."""

    answer: str | None


def suggestion_view(suggestion: domain.Suggestion) -> Suggestion:
    return {"title": suggestion.title, "source_url": suggestion.url, "breadcrumb": list(suggestion.breadcrumb)}


def _metadata_view(answer: Answer) -> ResponseMetadata:
    return {
        "query_time_ms": round(answer.query_time_ms, 2),
        "retrieval_count": answer.retrieval_count,
        "mode": answer.mode,
        "low_confidence": answer.verdict.level == "low",
        "partial": answer.verdict.partial,
        "disclaimer": answer.disclaimer,
        "interrupted": answer.interrupted,
        "request_id": answer.question.request_id,
        "book_id": answer.question.book_id,
        "searched_query": answer.searched_query,
        "suggestions": [suggestion_view(suggestion) for suggestion in answer.suggestions],
        "missing_terms": list(answer.missing_terms),
        "stage_ms": {stage: round(spent, 2) for stage, spent in answer.stage_ms.items()},
    }


def details_view(answer: Answer) -> AnswerDetails:
    return {
        "fallback_message": answer.fallback_message,
        "sources": _sources_view(answer),
        "metadata": _metadata_view(answer),
        "session_id": answer.question.session_id,
        "confidence": round(answer.verdict.confidence, 4),
        "confidence_level": answer.verdict.level,
        "should_answer": answer.verdict.should_answer,
        "timestamp": timestamp(answer.created_at),
        "model": answer.model,
        "tokens_used": answer.tokens_used,
        "grounding": _grounding_view(answer.grounding),
    }


def answer_view(answer: Answer) -> ChatResponse:
    """The body of `POST /chat`."""
    return {"answer": answer.text, **details_view(answer)}


# --- the shorter shape of `POST /chat/run` ---------------------------------------------------------------------------


class RunSource(Shape):
    chunk_text: Annotated[str, Field(max_length=_CHUNK_TEXT)]
    similarity_score: Score
    chapter: Annotated[str, Field(description="Name of the chapter, or the title of a page that is a chapter itself")]
    section: Annotated[str, Field(description="Nearest heading")]
    url: str
    chunk_index: int


class RunResponse(Shape):
    """The same answer as from `POST /chat`, with the metrics of its search."""

    response: str
    confidence: Score
    sources: list[RunSource]
    session_id: Uuid
    timestamp: Moment
    confidence_level: ConfidenceLevel
    should_answer: bool
    metrics: ConfidenceMetrics
    metadata: ResponseMetadata


def run_view(answer: Answer) -> RunResponse:
    return {
        "response": answer.text or answer.fallback_message or "",
        "confidence": round(answer.verdict.confidence, 4),
        "sources": [_run_source_view(citation) for citation in answer.citations],
        "session_id": answer.question.session_id,
        "timestamp": timestamp(answer.created_at),
        "confidence_level": answer.verdict.level,
        "should_answer": answer.verdict.should_answer,
        "metrics": metrics_view(answer.verdict.metrics, answer.verdict),
        "metadata": _metadata_view(answer),
    }


def _run_source_view(citation: Citation) -> RunSource:
    chunk = citation.chunk
    return {
        "chunk_text": chunk.shown if len(chunk.shown) <= _CHUNK_TEXT else chunk.shown[: _CHUNK_TEXT - 1] + "…",
        "similarity_score": round(citation.similarity, 4),
        "chapter": chunk.chapter_title,
        "section": chunk.section_title or chunk.title,
        "url": chunk.url,
        "chunk_index": chunk.chunk_index,
    }


# --- the stream ------------------------------------------------------------------------------------------------------


def event_view(event: AnswerEvent) -> tuple[str, Mapping[str, object]]:
    """The name and the data of one server-sent event."""
    match event:
        case Status(stage=stage):
            return "status", {"stage": stage}
        case Retrieved(evidence=evidence, session_id=session_id):
            results = passages_view(evidence.passages)
            return "retrieval", {"session_id": session_id, "searched_query": evidence.searched, "results": results}
        case Delta(text=text):
            return "delta", {"delta": text}
        case Sourced(answer=answer):
            return "sources", {"sources": _sources_view(answer), "metadata": _metadata_view(answer)}
        case Grounded(grounding=grounding):
            return "grounding", _grounding_view(grounding)
        case Done(answer=answer):
            return "done", {"done": True, **answer_view(answer)}
