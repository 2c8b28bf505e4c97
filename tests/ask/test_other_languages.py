"""A follow-up that is not English uses the conversation where it has no content of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import SESSION, opened
from quoth.ask.follow_up import rewrite, terms_for
from quoth.ask.languages import words_cannot_tell
from quoth.ask.other_languages import read_elsewhere
from quoth.domain import PastTurn, QueryTerm
from quoth.testing.model import ScriptedModel
from quoth.text.terms import query_terms, term_ids

BEFORE = [PastTurn("How do I write a launch file?", "In Python. [1]")]
TRUE = "Transient local durability keeps the last message for late subscribers [1]."


@pytest.mark.parametrize(
    ("question", "rule", "own"),
    [
        ("und für Parameter?", "opening", "parameters"),
        ("warum?", "empty", "why"),
        ("Wie mache ich das?", "pronoun", "how to"),
        ("Kann ich das abbrechen?", "pronoun", "abbrechen"),
        ("Wie heißt die Option dafür?", "pronoun", "Option"),
        ("gib mir ein Beispiel", "empty", "example"),
        ("und in Docker?", "opening", "Docker"),
        ("et pour les paramètres ?", "opening", "parameters"),
        ("pourquoi ?", "empty", "why"),
        ("Quelle est sa valeur par défaut ?", "pronoun", "default value"),
        ("comment je fais ça ?", "pronoun", "how to"),
        ("¿y cuál es su valor por defecto?", "opening", "default value"),
        ("¿Por qué?", "empty", "why"),
        ("dame un ejemplo", "empty", "example"),
        ("¿cómo puedo hacerlo?", "pronoun", "how to"),
        ("y en typescript?", "opening", "typescript"),
        ("E os headers?", "opening", "headers"),
        ("qual é o valor padrão?", "empty", "default value"),
        ("Como faço isso?", "pronoun", "how to"),
        ("por quê?", "empty", "why"),
        ("e per i thread?", "opening", "thread"),
        ("perché?", "empty", "why"),
        ("come posso usarlo?", "pronoun", "how to"),
        ("它的默认值是什么？", "pronoun", "default value"),
        ("为什么？", "empty", "why"),
        ("那参数呢？", "opening", "parameters"),
        ("给我一个例子", "empty", "example"),
        ("اس کی مثال دیں", "pronoun", "example"),
        ("کیوں؟", "empty", "why"),
        ("یہ کیسے کام کرتا ہے؟", "pronoun", "how to"),
    ],
)
def test_what_points_back_is_recognised_and_its_own_words_are_searched_in_english(
    question: str, rule: str, own: str
) -> None:
    read = read_elsewhere(question)
    assert read is not None
    assert rule in read.rules
    assert read.own == own
    query = rewrite(question, BEFORE)
    assert query.text.startswith(own)
    assert {"launch", "file"} <= set(query.carried)
    assert query.shown == f"launch file: {question}"


@pytest.mark.parametrize(
    "question",
    [
        "Wie installiere ich Gazebo auf Windows?",
        "Was ist eine Nursery?",
        "Comment installer les dépendances du projet ?",
        "¿Qué es un topic?",
        "什么是通道？",
        "如何使用 asyncio？",
    ],
)
def test_a_question_with_content_of_its_own_makes_sense_alone(question: str) -> None:
    read = read_elsewhere(question)
    assert read is not None
    assert read.rules == ()


@pytest.mark.parametrize(
    "question",
    [
        "What is a die?",
        "was it me?",
        "on Windows?",
        "Who is Don Quixote de la Mancha?",
        "How does the la option of es differ from y?",
        "can a NAS be used as a server?",
        "O",
        "Y. A. Tittle",
        "Ed McMahon",
        "",
        "tf2",
    ],
)
def test_english_is_not_taken_for_another_language(question: str) -> None:
    assert read_elsewhere(question) is None


def test_the_first_question_of_a_conversation_is_searched_as_it_is() -> None:
    assert rewrite("warum?", []).text == "warum?"


def test_a_name_that_needs_no_translation_takes_the_place_of_the_old_one() -> None:
    history = [PastTurn("What is the default value of bodyLimit?", "1 MiB. [1]")]
    assert rewrite("et pour connectionTimeout ?", history).shown == "What is the default value of connectionTimeout?"


def test_small_words_of_an_earlier_question_are_not_what_is_talked_about() -> None:
    history = [PastTurn("Wie kann ich eine Nursery abbrechen?", "So. [1]")]
    (nursery,) = term_ids("nursery")
    query = rewrite("why?", history, {nursery: 3.0})
    assert query.carried == ("Nursery",)


def test_in_a_book_of_that_language_the_question_is_searched_in_its_own_words() -> None:
    question = "und wie mache ich das mit Parametern?"
    known = dict.fromkeys(term_ids("und wie mache ich das mit der launch file"), 1.0)
    assert rewrite(question, BEFORE, known).text.startswith(question)
    assert not rewrite(question, BEFORE).text.startswith(question)


def test_how_usual_its_words_are_in_the_book_is_asked_for() -> None:
    assert term_ids("warum") <= set(terms_for("warum?", BEFORE))


def test_a_follow_up_in_another_language_is_not_plainly_outside_the_book() -> None:
    (example,) = query_terms("Beispiel")
    searched = [QueryTerm("example", example.id, 1.0, in_book=False)]
    assert words_cannot_tell("gib mir ein Beispiel", searched)
    assert not words_cannot_tell("give me something", searched)


async def test_the_model_is_asked_a_follow_up_in_another_language(tmp_path: Path) -> None:
    model = ScriptedModel([[TRUE]])
    async with opened(tmp_path, model=model) as doors:
        await doors.ask("What does the deadline policy name?", session_id=SESSION)
        body = await doors.ask("¿y cuál es su valor por defecto?", session_id=SESSION)
        assert len(model.shown) == 2
    assert body["metadata"]["searched_query"] == "deadline policy: ¿y cuál es su valor por defecto?"


@given(st.text(max_size=100) | st.text(alphabet="das es é它的 ?¿eyو", max_size=60))
def test_any_text_is_read_without_a_fault(question: str) -> None:
    assert read_elsewhere(question) == read_elsewhere(question)
