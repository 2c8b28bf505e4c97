"""A turn as a row of the table `conversations`, and back.

The columns `sources` and `metadata` are JSON with the public names of an answer's fields, so an operator who looks into
the database reads what the doors show. `metadata.version` says which layout a row has:

1 (no version): rows written before turns were typed. They have no level, model or tokens.
2: all fields of `domain.Turn`. Sources that were stored before there was a `highlight` have none; turns of that time
   do not know how many of their sentences were checked, and have no `searches`.

A row of a newer layout than this code knows is read as far as it goes; unknown keys are left alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Row

from quoth.domain import CitedSource, Doubt, Feedback, Suggestion, ToolCall, ToolUse, Turn
from quoth.store.database import storable

VERSION = 2

Json = dict[str, Any]


def to_row(turn: Turn) -> Json:
    return {
        "session_id": turn.session_id,
        "timestamp": turn.timestamp,
        "query": storable(turn.query),
        "response": storable(turn.response),
        "sources": [_source_json(source) for source in turn.sources],
        "metadata": _metadata_json(turn),
    }


def from_row(row: Row[*tuple[Any, ...]], owner: str) -> Turn:
    known: Mapping[str, Any] = row._mapping["metadata"]
    return Turn(
        session_id=row.session_id,
        timestamp=row.timestamp,
        query=row.query,
        response=row.response,
        book_id=known.get("book_id", ""),
        request_id=known.get("request_id", ""),
        searched_query=known.get("searched_query") or "",
        mode=known.get("mode", "full"),
        sources=tuple(_source(source) for source in row.sources),
        confidence=known.get("confidence"),
        level=known.get("confidence_level"),
        disclaimer=known.get("disclaimer"),
        fallback_message=known.get("fallback_message"),
        interrupted=known.get("interrupted", False),
        partial=known.get("partial", False),
        checked=known.get("checked", 0),
        removed=known.get("removed", 0),
        doubts=tuple(Doubt(one["text"], one["reason"]) for one in known.get("unsupported", ())),
        suggestions=tuple(
            Suggestion(one["title"], one["source_url"], tuple(one["breadcrumb"]))
            for one in known.get("suggestions", ())
        ),
        missing_terms=tuple(known.get("missing_terms", ())),
        retrieval_count=known.get("retrieval_count", 0),
        query_time_ms=known.get("query_time_ms", 0.0),
        stage_ms=known.get("stage_ms", {}),
        model=known.get("model"),
        tokens_used=known.get("tokens_used", 0),
        feedback=_feedback(known.get("feedback")),
        share=known.get("share", ""),
        searches=tuple(_search(one) for one in known.get("searches", ())),
        turn_id=row.id,
        owner=owner,
    )


def _metadata_json(turn: Turn) -> Json:
    return {
        "version": VERSION,
        "book_id": turn.book_id,
        "request_id": turn.request_id,
        "searched_query": storable(turn.searched_query),
        "mode": turn.mode,
        "confidence": None if turn.confidence is None else round(turn.confidence, 4),
        "confidence_level": turn.level,
        "disclaimer": turn.disclaimer,
        "fallback_message": turn.fallback_message,
        "interrupted": turn.interrupted,
        "partial": turn.partial,
        "checked": turn.checked,
        "removed": turn.removed,
        "unsupported": [{"text": storable(one.text), "reason": storable(one.reason)} for one in turn.doubts],
        "suggestions": [
            {"title": one.title, "source_url": one.url, "breadcrumb": list(one.breadcrumb)} for one in turn.suggestions
        ],
        "missing_terms": [storable(term) for term in turn.missing_terms],
        "retrieval_count": turn.retrieval_count,
        "query_time_ms": round(turn.query_time_ms, 2),
        "stage_ms": {stage: round(spent, 2) for stage, spent in turn.stage_ms.items()},
        "model": turn.model,
        "tokens_used": turn.tokens_used,
        "searches": [_search_json(one) for one in turn.searches],
        "feedback": feedback_json(turn.feedback),
        "share": turn.share,
    }


def feedback_json(feedback: Feedback | None) -> Json | None:
    return None if feedback is None else {"rating": feedback.rating, "reason": storable(feedback.reason)}


def _feedback(stored: Mapping[str, Any] | None) -> Feedback | None:
    return None if stored is None else Feedback(stored["rating"], stored["reason"])


def _search_json(search: ToolUse) -> Json:
    return {
        "id": search.call.id,
        "tool_name": search.call.name,
        "arguments": storable(search.call.arguments),
        "query": storable(search.query),
        "results_count": search.results,
        "avg_similarity": round(search.average, 4),
        "timestamp": search.timestamp.isoformat(),
        "error": storable(search.error),
    }


def _search(stored: Mapping[str, Any]) -> ToolUse:
    return ToolUse(
        call=ToolCall(stored["id"], stored["tool_name"], stored["arguments"]),
        query=stored["query"],
        results=stored["results_count"],
        average=stored["avg_similarity"],
        timestamp=datetime.fromisoformat(stored["timestamp"]),
        error=stored["error"],
    )


def _source_json(source: CitedSource) -> Json:
    quoted = {
        "index": source.index,
        "snippet": storable(source.snippet),
        "quote": storable(source.quote),
        "start": source.start,
        "end": source.end,
        "highlight": None if source.highlight is None else list(source.highlight),
    }
    if source.selection_length is not None:
        return {"source_type": "selected_text", "selection_length": source.selection_length, **quoted}
    return {
        **quoted,
        "source_url": source.url,
        "title": source.title,
        "section": source.section,
        "chunk_position": source.position,
        "similarity_score": round(source.similarity, 4),
        "chunk_id": source.chunk_id,
        "breadcrumb": list(source.breadcrumb),
        "source_file": source.source_file,
        "line": source.line,
    }


def _source(stored: Mapping[str, Any]) -> CitedSource:
    return CitedSource(
        index=stored.get("index", 0),
        quote=stored.get("quote", ""),
        start=stored.get("start", 0),
        end=stored.get("end", 0),
        highlight=_span(stored.get("highlight")),
        snippet=stored.get("snippet", ""),
        selection_length=stored.get("selection_length"),
        chunk_id=stored.get("chunk_id", ""),
        url=stored.get("source_url", ""),
        title=stored.get("title", ""),
        section=stored.get("section", ""),
        breadcrumb=tuple(stored.get("breadcrumb", ())),
        position=stored.get("chunk_position", 0),
        similarity=stored.get("similarity_score", 0.0),
        source_file=stored.get("source_file", ""),
        line=stored.get("line", 0),
    )


def _span(stored: Sequence[int] | None) -> tuple[int, int] | None:
    return None if stored is None else (stored[0], stored[1])
