"""What an author may learn from a question that the book does not answer, and from any text of a reader. Pure.

In: an answer and what was found for it. Out: a `RecordedQuestion` with everything redacted, or None if there is nothing
to learn: the book answered, or the question was about a selection and not the book. Also groups similar questions for
reading. When to record, and where, is not decided here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from quoth.ask.redaction import redacted
from quoth.domain import Answer, Evidence, RecordedQuestion
from quoth.text.terms import content_terms, term_ids

LONGEST = 1_000  # characters of a question that are kept: the rest of a pasted log is private
_LONGEST_READ = 4_000  # characters that are redacted before the cut
_SIMILAR = 0.6  # share of the words of two questions that both use


def gap_of(answer: Answer, evidence: Evidence) -> RecordedQuestion | None:
    verdict, asked = answer.verdict, answer.question
    if asked.selected_text is not None or (verdict.should_answer and verdict.level != "low"):
        return None
    searched = shown(evidence.query)
    said = {term.text for term in content_terms(searched)}
    nearest = evidence.passages[0].chunk if evidence.passages else None
    return RecordedQuestion(
        book_id=asked.book_id,
        asked_at=answer.created_at,
        question=shown(asked.query),
        searched=searched,
        level=verdict.level,
        confidence=verdict.confidence,
        # A key or an address is a missing term too: only what redaction left may be named.
        missing_terms=tuple(term for term in evidence.missing_terms if term in said),
        nearest=nearest.breadcrumb if nearest else (),
        nearest_url=nearest.url if nearest else "",
    )


def shown(text: str) -> str:
    """What a reader wrote, as an author may see it. It is redacted before it is cut, and read to the end of a word:
    half a key does not look like one."""
    head = text if len(text) <= _LONGEST_READ else text[:_LONGEST_READ].rsplit(maxsplit=1)[0]
    return redacted(head)[:LONGEST]


@dataclass(frozen=True, slots=True)
class Similar:
    """Questions that ask much the same thing."""

    newest: RecordedQuestion
    times: int


def together(questions: Iterable[RecordedQuestion]) -> list[Similar]:
    """Groups in the order of their newest questions; questions about two books are never the same."""
    groups: list[tuple[frozenset[int], list[RecordedQuestion]]] = []
    for question in questions:
        words = term_ids(question.question)
        for known, members in groups:
            if members[0].book_id == question.book_id and _alike(known, words, members[0], question):
                members.append(question)
                break
        else:
            groups.append((words, [question]))
    return [Similar(members[0], len(members)) for _, members in groups]


def _alike(known: frozenset[int], words: frozenset[int], one: RecordedQuestion, other: RecordedQuestion) -> bool:
    if not known or not words:
        return one.question == other.question
    return len(known & words) >= _SIMILAR * len(known | words)
