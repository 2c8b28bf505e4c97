"""A selected paragraph as the only evidence: nothing from the book may ground such an answer. Pure.

In: the question and the reader's selection. Out: Evidence with one passage made of the selection, and a Verdict on it
by the share of the question's words that it holds. A language model is asked whatever the verdict, because it reads the
selection itself; only a selection without a word is outside. Offsets of citations are offsets into the selection.
"""

from __future__ import annotations

import hashlib

from quoth.ask.instructions import instruction_in
from quoth.ask.kinds import kind_asked
from quoth.domain import Chunk, ConfidenceLevel, ConfidenceMetrics, Evidence, Passage, QueryTerm, Verdict
from quoth.text.terms import query_terms, term_ids

# Words that point at the selection instead of asking for something in it.
_POINTING = term_ids(
    "explain summarise summarize summary paragraph passage selection text section meaning mean say tell"
)
_ENOUGH = 0.5  # share of the question's words that must be in the selection
_UNMET = 0.45  # what is left of that share if the kind of thing that is asked for is missing


def evidence_of_selection(query: str, selection: str, *, book_id: str) -> Evidence:
    held = term_ids(selection)
    instruction = instruction_in(query)  # "Translate this to Urdu" asks for nothing that has to be there
    terms = tuple(
        QueryTerm(text=term.text, id=term.id, idf=1.0, in_book=term.found_in(held))
        for term in query_terms(instruction.object if instruction else query)
        if term.id not in _POINTING
    )
    share = _coverage(terms)
    passage = Passage(chunk=_chunk(selection, book_id), score=share, similarity=share)
    return Evidence(query=query, passages=(passage,), total_found=1, terms=terms)


def judge_selection(evidence: Evidence) -> Verdict:
    """A price, a number or a name that is asked for must be in the selection, whatever else is there."""
    holds = kind_asked(evidence.query)
    share = _coverage(evidence.terms)
    if holds is not None and not holds(evidence.passages[0].chunk.text):
        share *= _UNMET
    level: ConfidenceLevel = "insufficient"
    if share >= _ENOUGH:
        level = "high" if share == 1.0 else "medium"
    metrics = ConfidenceMetrics(share, share, share, len(evidence.passages), 0.0)
    wordless = not any(char.isalnum() for char in evidence.passages[0].chunk.text)
    return Verdict(share, level, should_answer=share >= _ENOUGH and not wordless, metrics=metrics, outside=wordless)


def _coverage(terms: tuple[QueryTerm, ...]) -> float:
    """The share of the words that are there. “Explain this” asks for nothing in particular, so it is covered."""
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
