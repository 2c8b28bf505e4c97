"""A question that points at one of several things: "the latter", "the second one", "the last option".

In: the question and the exchanges that inform it. Out: the question with the name of that thing in the place of the
words that point at it, or nothing. The things are, in this order: two that the last question put side by side, the rows
or list items of the last answer, and for *former* and *latter* what the last two questions were about. A list whose
items have no short name, and sources, are not for this module (`references.pointed_at`). Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from quoth.ask.asked import asked
from quoth.ask.references import CARDINALS, LIGHT, LONGEST_FOLLOW_UP, ORDINALS, RELATIONAL
from quoth.ask.subject import noun_phrases
from quoth.domain import PastTurn
from quoth.text.terms import names_something, term_ids

_LONGEST_ANSWER = 8_000  # characters of an answer that are looked through
_LONGEST_ITEM = 300  # characters of one item
_LONGEST_NAME = 6  # words: a longer item is a sentence, and no name for anything
_SORTS = (
    "one|option|way|method|approach|item|point|possibility|alternative|choice|kind|type|sort|variant|row|thing|case"
)
_SORT = re.compile(rf"(?:{_SORTS})s?", re.IGNORECASE)
_ORDINAL = "|".join((*ORDINALS, "1st", "2nd", "3rd", "[4-9]th", "last", "final"))
_VERBS = r"(?:do|does|did|is|are|was|means?|can|could|should|will|has|have|and|or)"
_POINTING = re.compile(
    rf"\b(?:the|that|this)\s+(?P<pair>former|latter)\b(?:\s+(?:{_SORTS})\b)?"
    rf"|\b(?:the|that|this|your)\s+(?:very\s+)?(?P<nth>{_ORDINAL})(?:\s+(?!{_VERBS}\b)(?P<sort>[^\W\d_]+)\b(?!\s+(?:of|in|to|for)\b)"
    rf"|(?=\W*\Z|\s+{_VERBS}\b))"
    rf"|\b(?:option|item|point|number)\s+(?P<number>\d{{1,2}}|{'|'.join(CARDINALS)})\b",
    re.IGNORECASE,
)
_WHICH = re.compile(
    r"\W*(?:\w+\W+){0,2}?which\s+(?:ones?|of\s+(?:the\s+two|them|these|those)|is|are|should|do|does|can|would)\b",
    re.IGNORECASE,
)
_COUNT = {word: number for words in (ORDINALS, CARDINALS) for number, word in enumerate(words, start=1)}
_THING = r"(?:an?\s+|the\s+)?([\w.`'-]+(?:\(\))?(?:\s(?!and\b|or\b)[\w.-]+)?)"
_ONE_WORD = r"(?:an?\s+|the\s+)?([\w.`'-]+(?:\(\))?)"
_SIDE_BY_SIDE = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\bbetween\s+{_THING}\s+(?:and|or)\s+{_THING}",
        rf"\b(?:is|are)\s+{_ONE_WORD}\s+(?:\w+er|more\s+\w+|less\s+\w+)\s+than\s+{_ONE_WORD}",
        rf"(?:\A|\b(?:a|the|on|in|with|for|of|is|are|use|explain|about)\s+){_ONE_WORD}\s+(?:and|or|vs\.?|versus)\s+{_ONE_WORD}\W*\Z",
    )
)
_PRONOUNS = frozenset({"it", "them", "this", "that", "these", "those", "one", "both", "other", "others"})
_ARTICLE = re.compile(r"\b(an?|the)\s+\Z", re.IGNORECASE)

_FENCE = re.compile(r"^(`{3,}|~{3,}).*?^\1[^\n]*$", re.DOTALL | re.MULTILINE)
_ITEM = re.compile(r"^([ \t]{0,8})(?:[-*+•]|\d{1,3}[.)])[ \t]+(\S.*)$", re.MULTILINE)
_ROW = re.compile(r"^[ \t]*+\|([^|\n]*+)\|", re.MULTILINE)
_RULE = re.compile(r"[-: \t]+\Z")
_LINK = re.compile(r"\[([^\[\]]+)\]\([^()\s]*\)")
_MARKUP = re.compile(r"[*`_]{2,}|[*`]|\[\d{1,3}\]|\\")
_TERM = re.compile(r"(.+?)(?:\s+[-–—]\s|\s*[:;–—]\s|\s*[:.]\Z|\s*\(|\s*,|\Z)")


@dataclass(frozen=True, slots=True)
class Named:
    question: str  # with the name of the thing in the place of the words that point at it
    listed: bool  # the last answer listed it: what the list is of, it does not say itself


def named(question: str, history: Sequence[PastTurn]) -> Named | None:
    """The question about the thing that it points at; None if it points at none that is known."""
    pointing = _POINTING.search(question) if len(question) <= LONGEST_FOLLOW_UP else None
    while len(history) > 1 and _names_nothing(history[-1]):
        history = history[:-1]  # "and the former?" is of the same two
    if pointing is None or not history:
        return None
    listed, things = _things(pointing, history)
    at = _position(pointing, len(things))
    if not 1 <= at <= len(things) or len(things) < 2:
        return None
    before, behind = question[: pointing.start()], question[pointing.end() :]
    if term_ids(before + behind) & term_ids(things[at - 1]):
        return None  # "the latter" of something else: the question names this thing itself
    return Named(f"{before}{things[at - 1]}{behind}", listed)


def _names_nothing(turn: PastTurn) -> bool:
    """ "Which is faster?", "Explain the second one": what was before is still what can be pointed at."""
    if _POINTING.search(turn.question) or _WHICH.match(turn.question):
        return True
    return not (_subject(turn) or _pair(_own(turn)) or items(turn.answer))


def _own(turn: PastTurn) -> str:
    """What it asked itself: of "nursery: why?" nothing but *why*."""
    return turn.question if turn.searched.endswith(f": {turn.question}") else turn.searched or turn.question


def _things(pointing: re.Match[str], history: Sequence[PastTurn]) -> tuple[bool, list[str]]:
    """What can be meant, and whether it is a list of the last answer."""
    last = history[-1]
    before = _own(last)
    pair, listed = _pair(before), items(last.answer)
    if pointing["pair"]:
        if pair or len(listed) != 2:
            return False, pair or _subjects(history)
        return True, listed
    sort = pointing["sort"]
    if sort and not _SORT.fullmatch(sort):  # the second *filter*, after "Which filters are there?"
        return True, listed if term_ids(sort) & term_ids(before) else []
    return (False, pair) if pair else (True, listed)


def _position(pointing: re.Match[str], count: int) -> int:
    """Counted from one; 0 if it cannot be told."""
    said = (pointing["pair"] or pointing["nth"] or pointing["number"]).lower()
    if said in ("last", "final", "latter"):
        return count
    digits = said.rstrip("stndrh")
    return 1 if said == "former" else int(digits) if digits.isdigit() else _COUNT.get(said, 0)


# --- what can be pointed at ------------------------------------------------------------------------------------------


def _pair(question: str) -> list[str]:
    """Two things that a question puts side by side, with the articles that it gives them."""
    if len(question) > LONGEST_FOLLOW_UP:
        return []
    sides = list(asked(question).sides)
    for pattern in () if sides else _SIDE_BY_SIDE:
        found = pattern.search(question)
        if found and any(map(term_ids, found.groups())) and not _PRONOUNS.intersection(map(str.lower, found.groups())):
            sides = list(found.groups())
            break
    return [_with_article(side, question) for side in sides]


def _with_article(thing: str, question: str) -> str:
    found = _ARTICLE.search(question[: question.find(thing)])
    bare = found is None or any(names_something(word) and word.lower() != "a" for word in thing.split())
    return thing if bare or found is None else f"{found[1]} {thing}"


def _subjects(history: Sequence[PastTurn]) -> list[str]:
    """What the last two exchanges were about, if each was about one thing of its own."""
    if len(history) < 2:
        return []
    found = [_subject(turn) for turn in history[-2:]]
    return found if all(found) and term_ids(found[0]) != term_ids(found[1]) else []


def _subject(turn: PastTurn) -> str:
    question = _own(turn)
    phrases = [phrase for phrase in noun_phrases(question) if term_ids(phrase) - LIGHT - RELATIONAL]
    phrases = phrases or list(noun_phrases(question))
    return _with_article(phrases[0], question) if phrases else ""


def items(answer: str) -> list[str]:
    """The names of the items of a list, or of the rows of a table; nothing where there is no list, or an item has no
    name. Of a list in a list, only the outer one counts."""
    text = _FENCE.sub("", answer[:_LONGEST_ANSWER])
    rows = [row for row in _ROW.findall(text) if not _RULE.match(row)]
    if len(rows) > 2:
        names = [_name(row) for row in rows[1:]]  # below the header
    else:
        found = [(len(indent.expandtabs()), said) for indent, said in _ITEM.findall(text)]
        outer = min((indent for indent, _ in found), default=0)
        names = [_name(said) for indent, said in found if indent == outer]
    return names if len(names) > 1 and all(names) else []


def _name(item: str) -> str:
    """What an item is called: what is before its first dash, colon or bracket, without markup."""
    said = " ".join(_MARKUP.sub("", _LINK.sub(r"\1", item[:_LONGEST_ITEM])).split())
    found = _TERM.match(said)
    name = found[1].strip() if found else ""
    return name if 0 < len(name.split()) <= _LONGEST_NAME and term_ids(name) else ""
