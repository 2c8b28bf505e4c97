"""A selected paragraph as the only evidence: nothing of the book may ground such an answer. Pure.

In: the question and the reader's selection. Out: Evidence with one passage made of the selection, and a Verdict on it.
Offsets of citations are offsets into the selection.
"""

from __future__ import annotations

import hashlib

from quoth.ask.kinds import kind_asked
from quoth.domain import Chunk, ConfidenceLevel, ConfidenceMetrics, Evidence, Passage, QueryTerm, Verdict
from quoth.text.terms import query_terms, term_ids

# Words that point at the selection instead of asking for something in it.
POINTING = term_ids(
    "explain summarise summarize summary paragraph passage selection text section meaning mean say tell"
)
ENOUGH = 0.5  # share of the question's words that must stand in the selection
UNMET = 0.45  # what is left of it where the kind of thing that is asked for does not


def evidence_of_selection(query: str, selection: str, *, book_id: str) -> Evidence:
    held = term_ids(selection)
    terms = tuple(
        QueryTerm(text=term.text, id=term.id, idf=1.0, in_book=term.found_in(held))
        for term in query_terms(query)
        if term.id not in POINTING
    )
    share = coverage(terms)
    passage = Passage(chunk=_chunk(selection, book_id), score=share, similarity=share)
    return Evidence(query=query, passages=(passage,), total_found=1, terms=terms)


def judge_selection(evidence: Evidence) -> Verdict:
    """A price, a number or a name asked for that stands nowhere in the selection is too little, whatever else does."""
    holds = kind_asked(evidence.query)
    share = coverage(evidence.terms)
    if holds is not None and not holds(evidence.passages[0].chunk.text):
        share *= UNMET
    level: ConfidenceLevel = "insufficient"
    if share >= ENOUGH:
        level = "high" if share == 1.0 else "medium"
    metrics = ConfidenceMetrics(share, share, share, len(evidence.passages), 0.0)
    return Verdict(confidence=share, level=level, should_answer=share >= ENOUGH, metrics=metrics)


def coverage(terms: tuple[QueryTerm, ...]) -> float:
    """“Explain this” asks for nothing in particular: all of it is there."""
    return sum(term.in_book for term in terms) / len(terms) if terms else 1.0


def _chunk(selection: str, book_id: str) -> Chunk:
    digest = hashlib.sha256(selection.encode()).hexdigest()
    return Chunk(
        id=f"selection:{digest[:16]}",
        book_id=book_id,
        text=selection,
        end=len(selection),
        source_file_hash=digest,
        title="Selected text",
        breadcrumb=("Selected text",),
        content_hash=digest,
        word_count=len(selection.split()),
        char_count=len(selection),
    )
