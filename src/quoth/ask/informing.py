"""Which exchanges of a conversation tell what a question means. Pure.

In: the exchanges, how rare words are in the book, the question. Out: those that were answered; right after a question
about something that the book does not know, only that one, if the question can mean it. What was refused poisons
nothing that follows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from quoth.ask.references import LIGHT, RELATIONAL
from quoth.ask.shift import turns_to
from quoth.ask.subject import antecedent, noun_phrases
from quoth.domain import PastTurn
from quoth.text.terms import query_terms

_WHO = re.compile(r"\W*(?:who|whose|whom)\b", re.IGNORECASE)
_ONE = re.compile(r"\bone\W*\Z", re.IGNORECASE)
_ANY_ONE = re.compile(r"\ban?\s", re.IGNORECASE)

Rarity = Mapping[int, float]  # term id → IDF


def informing(history: Sequence[PastTurn], rarity: Rarity, question: str = "") -> list[PastTurn]:
    """The exchanges that tell what a question means. One that was refused says nothing about the book, so what follows
    goes on with what was answered before. Only right after a question about something that the book does not know, "it"
    means that: then nothing else is meant. "What about cancel scopes?" names what it is about, and goes on."""
    answered = [turn for turn in history if not turn.refused]
    if not history or not history[-1].refused or (question and turns_to(question)):
        return answered
    last = history[-1]
    if answered and _is_other(question, last, rarity):
        return answered
    unknown = rarity and any(not term.found_in(rarity) for term in query_terms(last.question) if term.id not in LIGHT)
    return [last] if unknown or not answered else answered


def _is_other(question: str, last: PastTurn, rarity: Rarity) -> bool:
    """What it points at is not what the last question named: a person is not "it", of "the weather" there is not "one",
    and the book would not know the words that are used of something unknown."""
    thing = antecedent(question, [last])
    if thing is not None and (_WHO.match(last.question) or (not thing and any(noun_phrases(last.question)))):
        return True
    if _ONE.search(question) and not _ANY_ONE.search(last.question):
        return True
    own = [word for word in query_terms(question) if word.id not in LIGHT | RELATIONAL]
    return bool(own) and all(word.found_in(rarity) for word in own)
