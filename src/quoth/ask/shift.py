"""A follow-up that turns to something else of the same kind: "And what about borrowing?" after "What is ownership?".

In: the question, what the exchange before it asked, and how rare words are in the book. Out: that question with the new
thing in the place of the old one ("What is borrowing?"), or nothing. With the old subject beside the new one, a search
finds the old answer again. Only like replaces like: after a question about a name, "what about plugins?" asks for one
side of it, and that is no turn. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from quoth.ask.references import LIGHT, RELATIONAL
from quoth.ask.subject import noun_phrases
from quoth.domain import PastTurn
from quoth.text.terms import names_something, query_terms, term_ids

_OPENING = r"\A\W*(?:(?:ok|okay|thanks|thank\s+you|great|so|yes|no|right|and|but|then)\b[\s,.!]*)*"
_TURN = re.compile(rf"{_OPENING}(?:what|how)\s+about\s+(.+?)(?:\s+instead)?\W*\Z|\A\W*and\s+(.+?)\W*\Z", re.IGNORECASE)
_ARTICLE = re.compile(r"\A(an?|the)\s+", re.IGNORECASE)
_ONE = re.compile(r"\ban?\s+\Z", re.IGNORECASE)
_INDEFINITE = frozenset({"a", "an"})
_DETERMINED = re.compile(r"\b(?:an?|the|my|your|our|their|its|this|that|these|those|each|any)\s+\Z", re.IGNORECASE)
_PREPOSITION = re.compile(
    r"(in|on|at|by|for|from|with|without|under|to|as|using|via|behind|inside|outside|through|over|during|after|before)"
    r"\s+(.+)",
    re.IGNORECASE,
)
_OF = re.compile(r"\bof\s+(?:(?:an?|the)\s+)?")  # the rules of ownership → the rules of borrowing
_ONES = re.compile(r"(?<=\s)ones?\Z", re.IGNORECASE)
_NOWHERE = (0, 0)
_STAND_IN = term_ids("others rest both same former latter ones remaining")  # for what was said: no new thing
_COMMONPLACE = LIGHT | RELATIONAL  # with "a" before it, such a word names a thing all the same: "and a group?"
_COMMON = 0.3  # of the highest rarity: a name below it is that of the book itself

Rarity = Mapping[int, float]  # term id → IDF


def turned(question: str, history: Sequence[PastTurn], rarity: Rarity) -> str:
    """The question that is meant, in words that a reader could have typed; empty if this is no turn."""
    preposition, article, new = _thing(question)
    if not new or not history:
        return ""
    last = history[-1]
    before = last.searched or last.question
    if _TURN.match(before) or _joined(before, last.question):
        return ""
    if not term_ids(new) - term_ids(before) - (_COMMONPLACE if article in ("", "the") else frozenset()):
        return ""  # nothing new: it goes on about the same
    start, end = _led_by(preposition, before) if preposition else _place(article, new, before, rarity)
    if start == end:
        return ""
    new = _ONES.sub(before[start:end].split()[-1], new)  # the odom frame → the map one → the map frame
    return f"{_with_article(before[:start], article, new)}{before[end:]}"


def _with_article(head: str, article: str, new: str) -> str:
    """The new thing with the article that it needs: how do I define a model → *a* foreign key, → enums."""
    if _ONE.search(head):
        plain = article == "" and (new.endswith("s") or any(names_something(word) for word in new.split()))
        own = article if article in _INDEFINITE else "an" if new[:1] in "aeiou" else "a"
        return _ONE.sub("" if plain else f"{own} ", head) + new
    return f"{head}{new}" if not article or _DETERMINED.search(head) else f"{head}{article} {new}"


def turns_to(question: str) -> bool:
    """Whether it names another thing by itself, whatever was talked about before."""
    return bool(term_ids(_thing(question)[2]) - _COMMONPLACE)


def _thing(question: str) -> tuple[str, str, str]:
    """The preposition, the article and the thing of "and with a panic?"; no thing if it is not one noun phrase, or only
    stands for what was said."""
    found = _TURN.match(question)
    if not found:
        return "", "", ""
    said = found[1] or found[2]
    led = _PREPOSITION.fullmatch(said)
    thing = led[2] if led else said
    leading = _ARTICLE.match(thing)
    article = leading[1].lower() if leading else ""
    new = _ARTICLE.sub("", thing)
    named = list(noun_phrases(f"about {new}")) == [new] and not term_ids(new) <= _STAND_IN
    return (led[1] if led else "", article, new) if named else ("", "", "")


def _joined(before: str, question: str) -> bool:
    """The exchange before was a follow-up itself, with its subject before it: that is what is being talked about."""
    return before != question and before.endswith(f": {question}")


def _led_by(preposition: str, before: str) -> tuple[int, int]:
    """What follows the same preposition in the question before."""
    for place in reversed(_places(before)):
        if re.search(rf"\b{preposition}\s+(?:(?:an?|the|my)\s+)?\Z", before[: place[0]], re.IGNORECASE):
            return place
    return _NOWHERE


def _place(article: str, new: str, before: str, rarity: Rarity) -> tuple[int, int]:
    """The words that the new thing replaces."""
    places = _places(before)
    sharing = [(a, b) for a, b in places if term_ids(before[a:b]) & term_ids(new)]
    if sharing:
        return sharing[-1]  # the energy function → the mass function
    indefinite = [(a, b) for a, b in places if _ONE.search(before[:a])]
    if article in _INDEFINITE and len(indefinite) == 1:
        start, end = indefinite[0]  # what is a task in Kivy → what is a schedule in Kivy
        of = _OF.search(before, start, end)
        return start, of.start() - 1 if of else end
    named = [(a, b) for a, b in places if _is_name(before[a:b], rarity)]
    if _is_name(new, {}):
        return _behind_of(*named[-1], before, name=True) if named else _NOWHERE
    things = [(a, b) for a, b in places if not _is_name(before[a:b], {})]
    if named or len(things) != 1:
        return _NOWHERE  # of several things, nobody knows which is meant
    return _behind_of(*things[0], before)


def _behind_of(start: int, end: int, before: str, *, name: bool = False) -> tuple[int, int]:
    """Of "the rules of ownership", *ownership* is replaced."""
    behind = max((of.end() for of in _OF.finditer(before, start, end)), default=start)
    return (start if name and not _is_name(before[behind:end], {}) else behind), end


def _places(text: str) -> list[tuple[int, int]]:
    places, at = [], 0
    for phrase in noun_phrases(text):
        at = text.index(phrase, at)
        places.append((at, at + len(phrase)))
        at += len(phrase)
    return places


def _is_name(phrase: str, rarity: Rarity) -> bool:
    floor = _COMMON * max(rarity.values(), default=0.0)
    return any(names_something(term.text) and rarity.get(term.id, floor) >= floor for term in query_terms(phrase))
