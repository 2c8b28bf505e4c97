"""What an answer rests on, as its reader sees it and as its turn keeps it. Pure.

In: the citations of an answer. Out: `CitedSource`s (places in the source file, or in the selected text), and the Turn
to store. Doors show these values and never look at chunks themselves, so a stored answer reads like a fresh one.
"""

from __future__ import annotations

from collections.abc import Sequence

from quoth.domain import (
    Answer,
    CheckedSentence,
    Citation,
    CitedSource,
    ConfidenceMetrics,
    Doubt,
    Grounding,
    ModelWork,
    PastTurn,
    Question,
    Turn,
    Verdict,
)
from quoth.text.offsets import end_in_file, line_in_file, start_in_file

_SNIPPET = 200  # characters


def sources_of(citations: Sequence[Citation], selection: str | None) -> tuple[CitedSource, ...]:
    """From the selected text if there is one, otherwise from the book."""
    if selection is None:
        return tuple(_passage(citation) for citation in citations)
    return tuple(_selection(citation, selection) for citation in citations)


def turn_of(answer: Answer) -> Turn:
    question, verdict = answer.question, answer.verdict
    return Turn(
        session_id=question.session_id,
        timestamp=answer.created_at,
        query=question.query,
        response=answer.text or "",
        book_id=question.book_id,
        request_id=question.request_id,
        searched_query=answer.searched_query,
        mode=answer.mode,
        sources=answer.sources,
        confidence=verdict.confidence,
        level=verdict.level,
        disclaimer=answer.disclaimer,
        fallback_message=answer.fallback_message,
        interrupted=answer.interrupted,
        partial=verdict.partial,
        checked=answer.grounding.total,
        removed=answer.grounding.removed,
        doubts=tuple(Doubt(one.text, one.reason) for one in answer.grounding.sentences if not one.supported),
        suggestions=answer.suggestions,
        missing_terms=answer.missing_terms,
        retrieval_count=answer.retrieval_count,
        query_time_ms=answer.query_time_ms,
        stage_ms=answer.stage_ms,
        model=answer.model,
        tokens_used=answer.tokens_used,
        searches=answer.searches,
        owner=question.owner,
    )


def answer_of(turn: Turn) -> Answer:
    """A stored turn as the answer that it was, as far as it is stored: only its doubtful sentences, and none of the
    figures behind the verdict."""
    level = turn.level or "insufficient"
    nothing = ConfidenceMetrics(0.0, 0.0, 0.0, 0, 0.0)
    doubtful = tuple(CheckedSentence(one.text, False, (), 0.0, one.reason) for one in turn.doubts)
    return Answer(
        text=None if turn.mode == "retrieval_only" else turn.response,
        mode=turn.mode,
        question=Question(turn.query, turn.book_id, turn.session_id, turn.request_id, owner=turn.owner),
        searched_query=turn.searched_query,
        citations=(),
        sources=turn.sources,
        verdict=Verdict(turn.confidence or 0.0, level, level != "insufficient", nothing, partial=turn.partial),
        grounding=Grounding(doubtful, removed=turn.removed),
        retrieval_count=turn.retrieval_count,
        created_at=turn.timestamp,
        query_time_ms=turn.query_time_ms,
        fallback_message=turn.fallback_message,
        suggestions=turn.suggestions,
        missing_terms=turn.missing_terms,
        stage_ms=turn.stage_ms,
        interrupted=turn.interrupted,
        searches=turn.searches,
        work=ModelWork(model=turn.model or "", tokens=turn.tokens_used),
    )


def past_turn(turn: Turn) -> PastTurn:
    """A stored turn as the history of the next question."""
    return PastTurn(turn.query, turn.response, turn.searched_query, turn.sources, refused=turn.refused)


def snippet(text: str) -> str:
    folded = " ".join(text.split())
    return folded if len(folded) <= _SNIPPET else folded[: _SNIPPET - 1].rstrip() + "…"


def _passage(citation: Citation) -> CitedSource:
    chunk = citation.chunk
    return CitedSource(
        index=citation.index,
        quote=citation.quote,
        highlight=_highlight(citation),
        start=start_in_file(chunk, citation.start),
        end=end_in_file(chunk, citation.end),
        snippet=snippet(chunk.shown),
        chunk_id=chunk.id,
        url=chunk.url,
        title=chunk.title,
        section=chunk.section_title or chunk.title,
        breadcrumb=chunk.breadcrumb,
        position=chunk.chunk_index,
        similarity=citation.similarity,
        source_file=chunk.source_file,
        line=line_in_file(chunk, citation.start),
    )


def _selection(citation: Citation, selection: str) -> CitedSource:
    return CitedSource(
        index=citation.index,
        quote=citation.quote,
        highlight=_highlight(citation),
        start=citation.start,
        end=citation.end,
        snippet=snippet(selection),
        selection_length=len(selection),
    )


def _highlight(citation: Citation) -> tuple[int, int]:
    """A quote without a decisive sentence is highlighted as a whole."""
    return citation.highlight or (0, len(citation.quote))
