"""A question → what kind of thing it asks for, and whether a sentence holds one: a price, a duration, a date, a name.

In: the question as asked. Out: a test for sentences, or None if any sentence may answer (why, what is, how do I). A
passage can hold every word of "how many threads does it start" and no number; the judge should see that. English only,
like the questions it was measured on: a question in another language asks for no kind. Pure: knows neither passages nor
scores.
"""

from __future__ import annotations

import re
from collections.abc import Callable

Holds = Callable[[str], bool]

_UNITS = "(?:milli|micro|nano)?seconds?|minutes?|hours?|days?|weeks?|months?|years?|decades?|centur(?:y|ies)"
_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
_BOUNDS = "maximum|minimum|at most|at least|largest|smallest|highest|lowest|longest|shortest"
_MEASURES = (
    "percentage|rate|frequency|speed|temperature|number|size|address|voltage|port|depth|population|age|value|amount"
    "|length|weight|height|distance|resolution|width|duration|interval|limit|capacity"
)


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


_QUESTION_WORD = _pattern(r"\b(?:who|whose|whom|what|which|when|where|why|how)\b")
_ASKS_BOUND = _pattern(rf"\b(?:{_BOUNDS})\b")
# How a question asks, and what an answer must hold; the first match counts. Numbers and names need more than a
# pattern and come after.
_KINDS = (
    (
        _pattern(r"\b(?:costs?|prices?|priced|fees?|salary)\b"),
        _pattern(r"[$€£¥]|\b(?:dollars?|euros?|pounds?|usd|eur|cents?|costs?|prices?|free)\b"),
    ),
    (
        _pattern(rf"\bhow long\b|\bhow many (?:{_UNITS})\b"),
        _pattern(rf"\b(?:\d[\d.,]*\s?(?:[mµn]?s|min|h)|{_UNITS}|until|forever|\d{{4}})\b"),
    ),
    (
        _pattern(r"\bhow (?:often|frequently)\b|\b(?:what|which) (?:\w+ )?(?:rate|frequency)\b"),
        _pattern(r"%|/s\b|\b(?:[kmg]?hz|hertz|per|every|each|times|once|twice|fps|baud|daily|weekly|monthly|yearly)\b"),
    ),
    (
        _pattern(r"\bpercent(?:age)?\b"),
        _pattern(r"%|\bper ?cent|\bhalf\b|\bthirds?\b|\bquarters?\b|\bmajority\b|\bfraction\b"),
    ),
    (
        _pattern(r"\bwhen (?:was|were|did)\b|\b(?:what|which) (?:year|decade|century|date|month|day)\b"),
        _pattern(rf"\d|\b(?:centur(?:y|ies)|after|before|during|{_MONTHS})\b"),
    ),
    (
        _ASKS_BOUND,
        _pattern(
            r"[<>≤≥]|\b(?:max|min(?!ut)|limit|exceed)"
            rf"|\b(?:{_BOUNDS}|most|least|range|between|up to|(?:more|less|fewer) than|above|below|over|under)\b"
        ),
    ),
)
_ASKS_WHO = _pattern(
    r"\bwho(?:se)?\b|\b(?:what|which) (?:company|person|author|organi[sz]ation|university|scientist|manufacturer)\b"
)
_ASKS_HOW_MUCH = _pattern(
    r"\bhow (?:many|much|far|fast|large|big|high|deep|old|wide|tall|heavy|hot|few|small|quickly)\b"
    rf"|\b(?:what|which) (?:\w+ ){{0,2}}(?:{_MEASURES})\b"
)
_NAME = re.compile(r"(?<=[\w,;] )[A-Z][\w-]+|\A[A-Z][\w-]+(?= [A-Z])")
# A number that counts or measures. The number of MPU-6050, ROS 2 and RTX 4080 is part of a name and is skipped.
_NUMBER = re.compile(r"[^\W\d][\w.-]*\d[\w.-]*|(?<=[\w,;:] )[A-Z][\w-]* \d[\d.]*|(0x[0-9A-Fa-f]+|\d+(?:[.,]\d+)*)")
_WORDS = re.compile(r"\w+")
_NUMBER_WORDS = frozenset(
    """
    zero two three four five six seven eight nine ten eleven twelve twenty thirty fifty hundred thousand million billion
    dozen half third quarter once twice both none
    """.split()  # noqa: SIM905 - as a list of quoted words it would be harder to read
)


def kind_asked(question: str) -> Holds | None:
    """A test for whether a sentence holds the kind of thing that is asked for, other than those the question names."""
    asked = question.lower()
    words = frozenset(_WORDS.findall(asked))
    how_much = _is_asked(_ASKS_HOW_MUCH, question)
    for asks, answers in _KINDS:
        if _is_asked(asks, question):
            return lambda sentence: (
                bool(answers.search(sentence))
                or (how_much and asks is _ASKS_BOUND and not words.issuperset(_numbers(sentence)))
            )
    if _is_asked(_ASKS_WHO, question):
        return lambda sentence: any(name.lower() not in asked for name in _NAME.findall(sentence))
    if how_much:
        return lambda sentence: not words.issuperset(_numbers(sentence))
    return None


def _is_asked(asks: re.Pattern[str], question: str) -> bool:
    """ "Which package tells me how far away something is?" asks for a package."""
    found, first = asks.search(question), _QUESTION_WORD.search(question)
    if found is None or first is None or not _QUESTION_WORD.match(found[0]):
        return found is not None
    return found.start() <= first.start()


def _numbers(sentence: str) -> list[str]:
    words = _WORDS.findall(sentence.lower())
    return [number for number in _NUMBER.findall(sentence) if number] + [one for one in words if one in _NUMBER_WORDS]
