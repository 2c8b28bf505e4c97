"""Who replies, and what a reader is told besides the answer."""

from __future__ import annotations

import pytest

from quoth.ask.reply import ASKED_NOTHING, MODEL_SPENT, Answerer, Replies, ReplyOptions, SoFar
from quoth.domain import Draft, Evidence, Passage, QueryTerm, Reply
from quoth.text.terms import query_terms
from samples import chunk, question

ASKED = "Which durability keeps the last message?"
TEXT = "Transient local durability keeps the last message. Volatile durability keeps nothing."
BOOK = Replies(ReplyOptions(), None)


def evidence(query: str = ASKED) -> Evidence:
    terms = tuple(QueryTerm(term.text, term.id, 2.0, in_book=True) for term in query_terms(query))
    return Evidence(
        query=query, passages=(Passage(chunk(TEXT), 0.9, 0.9, dense_score=0.9),), total_found=1, terms=terms
    )


async def replied(by: Answerer, query: str = ASKED) -> tuple[Reply, SoFar]:
    so_far = SoFar()
    pieces = [piece async for piece in BOOK.reply(by, question(query), evidence(query), (), so_far, whole=False)]
    reply = pieces.pop()
    assert isinstance(reply, Reply)
    assert "".join(str(piece) for piece in pieces) == reply.draft.text
    return reply, so_far


async def test_what_was_said_so_far_are_the_words_and_nothing_else() -> None:
    reply, so_far = await replied("book")
    assert "".join(so_far.said) == reply.draft.text != ""
    assert reply.fallback_message == ""


async def test_the_book_says_that_it_answers_instead_of_the_model() -> None:
    reply, _ = await replied("book instead of the model")
    assert reply.fallback_message == MODEL_SPENT
    instructed, _ = await replied("book instead of the model", f"Summarise this: {ASKED}")
    assert instructed.fallback_message == MODEL_SPENT


async def test_an_instruction_that_the_book_cannot_follow_is_told() -> None:
    reply, _ = await replied("book", "Summarise transient local durability")
    assert "summary" in reply.fallback_message


@pytest.mark.parametrize(
    ("query", "selection", "note"),
    [
        ("Hello!", None, ASKED_NOTHING),
        ("Hello!", "Some text.", ""),
        ("Who won?", None, ""),
        ("Who won?", "A text.", ""),
    ],
)
def test_who_asks_nothing_is_told_what_to_ask(query: str, selection: str | None, note: str) -> None:
    reply = BOOK.refuse(question(query, selected_text=selection))
    assert reply.fallback_message == note
    assert reply.draft == Draft(BOOK.refusal(question(query, selected_text=selection)), ())
