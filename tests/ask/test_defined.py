"""Who asks what a term means is shown first where it is explained."""

from __future__ import annotations

import pytest

from quoth.ask.defined import explained_first
from quoth.ask.fuse import Scored
from quoth.domain import Chunk
from quoth.text.terms import query_terms
from samples import chunk

USED = chunk("Pass the closure to the thread. The thread runs the closure.", id="used")
DEFINED = chunk("A closure is a function that keeps what is around it.", id="defined")
NAMED = chunk(
    "Functions may keep what is around them.", id="named", heading_path=("Closures",), breadcrumb=("Book", "Closures")
)
FAR = 0.9  # of the score: too much to be made up for


def order(question: str, *chunks: Chunk, scores: tuple[float, ...] = (0.7, 0.6)) -> list[str]:
    ranked = [
        Scored(one.id, None, None, None, None, 0.0, 0.0, score=score) for one, score in zip(chunks, scores, strict=True)
    ]
    words = query_terms(question)
    found = explained_first(question, words, {word.id: 3.0 for word in words}, ranked, {one.id: one for one in chunks})
    return [one.key for one in found]


@pytest.mark.parametrize("explains", [DEFINED, NAMED])
def test_a_passage_that_explains_the_term_comes_before_one_that_uses_it(explains: Chunk) -> None:
    assert order("What is a closure?", USED, explains) == [explains.id, "used"]


def test_other_questions_keep_their_order() -> None:
    assert order("How do I pass a closure to a thread?", USED, DEFINED) == ["used", "defined"]


def test_a_definition_does_not_make_up_for_everything() -> None:
    assert order("What is a closure?", USED, DEFINED, scores=(FAR, 0.1)) == ["used", "defined"]


def test_the_definition_of_another_term_counts_for_nothing() -> None:
    other = chunk("A thread is a path of execution.", id="other")
    assert order("What is a closure?", USED, other) == ["used", "other"]
