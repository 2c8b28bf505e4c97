"""An answer becomes a stored turn and an answer again; what readers see of a citation."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from quoth.ask.cited import answer_of, snippet, sources_of, turn_of
from quoth.domain import (
    Answer,
    AnswerMode,
    CheckedSentence,
    Citation,
    ConfidenceMetrics,
    Doubt,
    Grounding,
    ModelWork,
    Turn,
    Verdict,
)
from samples import chunk, question

NOTHING = ConfidenceMetrics(0.0, 0.0, 0.0, 0, 0.0)


def citation(**fields: Any) -> Citation:
    text = "A node publishes messages."
    return Citation(1, chunk(text, **fields), text, 0, len(text), 0.9)


def answer(mode: AnswerMode = "full") -> Answer:
    return Answer(
        text=None if mode == "retrieval_only" else "A node publishes. [1] It flies. [1]",
        mode=mode,
        question=question(owner="key-1"),
        searched_query="node publish",
        citations=(),
        sources=sources_of((citation(),), None),
        verdict=Verdict(0.7, "medium", True, NOTHING),
        grounding=Grounding((CheckedSentence("It flies.", False, (), 0.0, "fly"),), removed=2),
        retrieval_count=3,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        query_time_ms=12.5,
        work=ModelWork(model="m", tokens=7),
    )


@pytest.mark.parametrize("mode", ["full", "extractive", "no_results", "retrieval_only"])
def test_a_stored_answer_is_the_answer_that_it_was(mode: AnswerMode) -> None:
    assert answer_of(turn_of(answer(mode))) == answer(mode)


def test_a_turn_of_which_little_is_known_claims_nothing() -> None:
    turn = Turn(question().session_id, datetime(2026, 1, 1, tzinfo=UTC), "Why?", "Because.", doubts=(Doubt("x", "y"),))
    found = answer_of(turn)
    assert found.verdict == Verdict(0.0, "insufficient", False, NOTHING)
    assert (found.text, found.model, found.tokens_used) == ("Because.", None, 0)
    assert found.grounding.sentences == (CheckedSentence("x", False, (), 0.0, "y"),)


def test_a_turn_that_was_judged_keeps_its_confidence_and_its_model() -> None:
    turn = Turn("s", datetime(2026, 1, 1, tzinfo=UTC), "q", "r", confidence=0.8, level="high", model="m")
    found = answer_of(turn)
    assert (found.verdict.confidence, found.verdict.level, found.verdict.should_answer) == (0.8, "high", True)
    assert found.model == "m"


def test_a_quote_without_a_decisive_sentence_is_decisive_as_a_whole() -> None:
    (seen,) = sources_of((citation(),), None)
    assert seen.highlight == (0, len(seen.quote))
    (marked,) = sources_of((replace(citation(), highlight=(2, 6)),), None)
    assert marked.highlight == (2, 6)


def test_a_source_has_the_title_of_its_section_or_else_of_its_page() -> None:
    titles = [
        sources_of((citation(heading_path=path, title="Page"),), None)[0].section for path in (("Page", "Names"), ())
    ]
    assert titles == ["Names", "Page"]


def test_a_snippet_ends_where_it_would_be_too_long() -> None:
    assert snippet("a  b\nc") == "a b c"
    longest = next(n for n in range(1, 2_000) if snippet("x" * n) != "x" * n) - 1
    assert snippet("x" * (longest + 1)) == "x" * (longest - 1) + "…"
