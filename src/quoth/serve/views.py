"""Domain values as the JSON of the doors: pure, so that `quoth ask --json`, `POST /chat` and the last event of a stream
are the same bytes by construction (CONTRACT sections 1, 3, 4; S0, S3).

In: domain values. Out: plain dicts. Knows no transport.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from quoth.domain import (
    Answer,
    AnswerEvent,
    Book,
    Chunk,
    Citation,
    CitedSource,
    ConfidenceMetrics,
    Delta,
    Done,
    Evidence,
    Filters,
    Grounded,
    Grounding,
    IndexStatus,
    IngestJob,
    Key,
    Notice,
    Passage,
    RecordedQuestion,
    Retrieved,
    Sourced,
    Status,
    Verdict,
)
from quoth.text.offsets import end_in_file, start_in_file

if TYPE_CHECKING:
    from quoth.chunks.plan import FilePlan

View = dict[str, Any]
CHUNK_TEXT = 500


def timestamp(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def source_view(source: CitedSource) -> View:
    """A source of an answer, fresh or remembered: a passage of the book, or a part of the selected text."""
    quoted = {"quote": source.quote, "start": source.start, "end": source.end}
    if source.selection_length is not None:
        return {
            "source_type": "selected_text",
            "index": source.index,
            "selection_length": source.selection_length,
            "snippet": source.snippet,
            "relevance_note": "The answer quotes this part of the selection.",
            **quoted,
        }
    return {
        "index": source.index,
        "source_url": source.url,
        "title": source.title,
        "section": source.section,
        "chunk_position": source.position,
        "similarity_score": round(source.similarity, 4),
        "snippet": source.snippet,
        "chunk_id": source.chunk_id,
        "breadcrumb": list(source.breadcrumb),
        **quoted,
        "source_file": source.source_file,
        "line": source.line,
    }


def sources_view(answer: Answer) -> list[View]:
    return [source_view(source) for source in answer.sources]


def grounding_view(grounding: Grounding) -> View:
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


def metadata_view(answer: Answer) -> View:
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
        "suggestions": [
            {"title": suggestion.title, "source_url": suggestion.url, "breadcrumb": list(suggestion.breadcrumb)}
            for suggestion in answer.suggestions
        ],
        "missing_terms": list(answer.missing_terms),
        "stage_ms": {stage: round(spent, 2) for stage, spent in answer.stage_ms.items()},
    }


def answer_view(answer: Answer) -> View:
    """The body of `POST /chat`."""
    return {
        "answer": answer.text,
        "fallback_message": answer.fallback_message,
        "sources": sources_view(answer),
        "metadata": metadata_view(answer),
        "session_id": answer.question.session_id,
        "confidence": round(answer.verdict.confidence, 4),
        "confidence_level": answer.verdict.level,
        "should_answer": answer.verdict.should_answer,
        "timestamp": timestamp(answer.created_at),
        "model": answer.model,
        "tokens_used": answer.tokens_used,
        "grounding": grounding_view(answer.grounding),
    }


def run_view(answer: Answer) -> View:
    """The body of `POST /chat/run`: S4 ChatResponse and ConfidenceMetrics."""
    return {
        "response": answer.text or answer.fallback_message or "",
        "confidence": round(answer.verdict.confidence, 4),
        "sources": [run_source_view(citation) for citation in answer.citations],
        "session_id": answer.question.session_id,
        "timestamp": timestamp(answer.created_at),
        "confidence_level": answer.verdict.level,
        "should_answer": answer.verdict.should_answer,
        "metrics": metrics_view(answer.verdict.metrics, answer.verdict),
        "metadata": metadata_view(answer),
    }


def run_source_view(citation: Citation) -> View:
    """S4 Source. What a book calls a chapter is the page here, and the nearest heading its section."""
    chunk = citation.chunk
    return {
        "chunk_text": chunk.shown if len(chunk.shown) <= CHUNK_TEXT else chunk.shown[: CHUNK_TEXT - 1] + "…",
        "similarity_score": round(citation.similarity, 4),
        "chapter": chunk.title,
        "section": chunk.section_title or chunk.title,
        "url": chunk.url,
        "chunk_index": chunk.chunk_index,
    }


def event_view(event: AnswerEvent) -> tuple[str, View]:
    """The name and the data of one server-sent event."""
    match event:
        case Status(stage=stage):
            return "status", {"stage": stage}
        case Retrieved(evidence=evidence, session_id=session_id):
            results = [passage_view(passage) for passage in evidence.passages]
            return "retrieval", {"session_id": session_id, "searched_query": evidence.asked, "results": results}
        case Delta(text=text):
            return "delta", {"delta": text}
        case Sourced(answer=answer):
            return "sources", {"sources": sources_view(answer), "metadata": metadata_view(answer)}
        case Grounded(grounding=grounding):
            return "grounding", grounding_view(grounding)
        case Done(answer=answer):
            return "done", {"done": True, **answer_view(answer)}


def chunk_view(chunk: Chunk) -> View:
    """The fields of S3 SearchResult that belong to the chunk itself."""
    return {
        "chunk_id": chunk.id,
        "text": chunk.text,
        "lead": chunk.lead,
        "source_file": chunk.source_file,
        "source_url": chunk.url,
        "title": chunk.title,
        "section_title": chunk.section_title,
        "breadcrumb": list(chunk.breadcrumb),
        "module": chunk.labels.module,
        "chapter": chunk.labels.chapter,
        "lesson": chunk.labels.lesson,
        "hardware_tier": chunk.labels.hardware_tier,
        "proficiency_level": chunk.labels.proficiency_level,
        "layer": chunk.labels.layer,
        "chunk_index": chunk.chunk_index,
        "total_chunks": chunk.total_chunks,
        "parent_doc_id": chunk.parent_doc_id,
        "prev_chunk_id": chunk.prev_chunk_id,
        "next_chunk_id": chunk.next_chunk_id,
        "content_hash": chunk.content_hash,
        "start": start_in_file(chunk, chunk.start),
        "end": end_in_file(chunk, chunk.end),
        "line": chunk.line,
    }


def passage_view(passage: Passage, *, explain: bool = False) -> View:
    similarity = round(passage.similarity, 4)
    view = {"score": similarity, "similarity_score": similarity, **chunk_view(passage.chunk)}
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


def metrics_view(metrics: ConfidenceMetrics, verdict: Verdict) -> View:
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


def search_view(
    query: str, book_id: str, filters: Filters, evidence: Evidence, verdict: Verdict, *, explain: bool = False
) -> View:
    """The body of `POST /search`: S3 SearchResponse and S4 ConfidenceMetrics."""
    return {
        "query": query,
        "results": [passage_view(passage, explain=explain) for passage in evidence.passages],
        "total_found": evidence.total_found,
        "hardware_tier_filter": filters.hardware_tier,
        "module_filter": filters.module,
        "book_id": book_id,
        "metrics": metrics_view(verdict.metrics, verdict),
        "missing_terms": list(evidence.missing_terms),
    }


def notice_view(notice: Notice) -> View:
    return {
        "code": notice.code,
        "message": notice.message,
        "source_file": notice.source_file,
        "line": notice.line,
        "fatal": notice.fatal,
    }


def job_view(job: IngestJob) -> View:
    """S3 IngestionJob with its warnings."""
    return {
        "job_id": job.job_id,
        "book_id": job.book_id,
        "mode": job.mode,
        "status": job.status,
        "dry_run": job.dry_run,
        "files_discovered": job.files_discovered,
        "files_processed": job.files_processed,
        "files_skipped": job.files_skipped,
        "files_failed": job.files_failed,
        "files_deleted": job.files_deleted,
        "chunks_created": job.chunks_created,
        "chunks_kept": job.chunks_kept,
        "chunks_deleted": job.chunks_deleted,
        "chunks_embedded": job.chunks_embedded,
        "started_at": timestamp(job.started_at),
        "completed_at": timestamp(job.completed_at),
        "duration_seconds": None if job.duration_seconds is None else round(job.duration_seconds, 3),
        "error_message": job.error_message,
        "warnings": [notice_view(notice) for notice in job.notices],
    }


def plan_view(plan: FilePlan, job: IngestJob) -> View:
    """What a dry run found: S3 get_changed_files, and how many texts the index has a vector for already."""
    return {
        "new": [file.source_file for file in plan.new],
        "changed": [file.source_file for file in plan.changed],
        "deleted": list(plan.deleted),
        "unchanged": len(plan.unchanged),
        "embeddings_saved": job.chunks_created + job.chunks_kept - job.chunks_embedded,
    }


def book_view(book: Book, status: IndexStatus | None) -> View:
    return {
        "book_id": book.book_id,
        "title": book.title,
        "base_url": book.base_url,
        "source": book.source,
        "toolchain": book.toolchain,
        "chunks": 0 if status is None else status.chunks,
        "generation": None if status is None else status.generation,
        "bytes_on_disk": 0 if status is None else status.bytes_on_disk,
        "fingerprint": None if status is None else status.fingerprint.as_dict(),
    }


def recorded_view(question: RecordedQuestion, times: int) -> View:
    """What its author reads of a question that the book does not answer; `times` counts it and those like it."""
    nearest = {"breadcrumb": list(question.nearest), "source_url": question.nearest_url}
    return {
        "book_id": question.book_id,
        "asked_at": timestamp(question.asked_at),
        "question": question.question,
        "searched_query": question.searched,
        "confidence_level": question.level,
        "confidence": question.confidence,
        "missing_terms": list(question.missing_terms),
        "nearest": nearest if question.nearest else None,
        "times": times,
    }


def key_view(key: Key, now: datetime) -> View:
    """A key without anything that opens."""
    status = "revoked" if key.revoked_at else "active" if key.in_force(now) else "expired"
    return {
        "key_id": key.key_id,
        "name": key.name,
        "scope": key.scope,
        "status": status,
        "book_id": key.book_id or None,
        "public": key.public,
        "origins": list(key.origins),
        "daily": key.daily,
        "created_at": timestamp(key.created_at),
        "expires_at": timestamp(key.expires_at),
        "revoked_at": timestamp(key.revoked_at),
    }
