"""What an answer rests on, as its reader sees it and as its turn keeps it. Pure.

In: the citations of an answer. Out: `CitedSource`s (places in the source file, or in the selected text), and the Turn
to store. Doors show these values and never look at chunks themselves, so a stored answer reads like a fresh one.
"""

from __future__ import annotations

from collections.abc import Sequence

from quoth.domain import Answer, Citation, CitedSource, Doubt, PastTurn, Turn
from quoth.text.offsets import end_in_file, line_in_file, start_in_file

_SNIPPET = 200  # characters


def sources_of(citations: Sequence[Citation], selection: str | None) -> tuple[CitedSource, ...]:
    """Of a selected text where there is one, else of the book."""
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
    """A quote without a decisive sentence is decisive as a whole."""
    return citation.highlight or (0, len(citation.quote))
