from __future__ import annotations

from pathlib import Path

import pytest

from doors import UNKNOWN, opened
from quoth.ask.languages import words_cannot_tell
from quoth.domain import QueryTerm
from quoth.testing.model import ScriptedModel
from quoth.text.terms import query_terms, term_ids

TRUE = "Transient local durability keeps the last message for late subscribers [1]."


def terms(question: str, book: str) -> list[QueryTerm]:
    held = term_ids(book)
    return [QueryTerm(term.text, term.id, 1.0, in_book=term.found_in(held)) for term in query_terms(question)]


@pytest.mark.parametrize(
    "question",
    [
        "Fasse den Abschnitt über topics zusammen",
        "Was ist ein topic?",
        "Résume le chapitre sur les topics",
        "¿Qué es un topic?",
        "O que é um topic?",
        "Wat is een topic?",
        "Chi ha scritto topic?",
        "اس کتاب میں topic کی وضاحت کریں",
        "topic とは何ですか",
        "Что такое topic?",
        "Summarise this book",
    ],
)
def test_words_of_another_language_cannot_tell_what_is_outside(question: str) -> None:
    assert words_cannot_tell(question, terms(question, "A topic carries messages."))


@pytest.mark.parametrize("question", [UNKNOWN, "Who is Don Quixote de la Mancha?", "What is π in metres?", "Hello"])
def test_words_of_the_books_language_can(question: str) -> None:
    assert not words_cannot_tell(question, terms(question, "A topic carries messages."))


def test_a_book_in_that_language_knows_its_small_words() -> None:
    book = "Ein Knoten ist ein Prozess, und das Paket wird mit dem Werkzeug gebaut."
    question = "Wie ist das Rezept für ein Brot?"
    assert not words_cannot_tell(question, terms(question, book))
    assert words_cannot_tell(question, terms(question, "A node is a process."))


@pytest.mark.parametrize(
    ("question", "calls"), [("Fasse das Kapitel über topics zusammen", 1), ("Summarise the book", 1), (UNKNOWN, 0)]
)
async def test_only_what_is_plainly_outside_is_refused_before_the_model(
    tmp_path: Path, question: str, calls: int
) -> None:
    model = ScriptedModel([[TRUE]])
    async with opened(tmp_path, model=model) as doors:
        await doors.ask(question)
        assert len(model.shown) == calls


async def test_an_operators_own_threshold_is_obeyed_in_every_language(tmp_path: Path) -> None:
    model = ScriptedModel([[TRUE]])
    async with opened(tmp_path, model=model, settings={"refusal_threshold": 0.9}) as doors:
        await doors.ask("Fasse das Kapitel über topics zusammen")
        assert model.shown == []
