"""Claims made from passages: what a passage says in nearly its own words, and what it does not say.

Real answers mostly repeat a source and go wrong in a name, a number, an opposite or an added half-sentence; the
public claim sets have few such claims about long passages. A passage comes in, labelled claims go out. Pure Python.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

from .lookalikes import Answered, Elsewhere, opposite, other_name, other_number, other_of_kind, other_word
from .texts import names, sentences

_CHANGES = (other_name, other_number, other_of_kind, opposite, other_word)
_ASIDE = re.compile(r"\s*\([^()]{3,80}\)|, (?:which|who|where)[^,.]{5,80},")
_OPENING = re.compile(r"^(?:However|Moreover|Furthermore|In addition|Additionally|Also|For example|Then|Thus), ", re.I)
# "Who wrote it?": the answer is the subject, and the rest of the question is the predicate.
_SUBJECT_QUESTION = re.compile(
    r"^(?:Who|What|Which [a-z]+) ((?:\w+(?:ed|es)|wrote|won|led|made|has|had|can|became) .+)\?$"
)


@dataclass(frozen=True, slots=True)
class MadeClaim:
    kind: str
    passage: str
    text: str
    label: str
    anchor: int  # a character of the passage that a window must contain


def _sentence(passage: str, chance: Random) -> tuple[int, int] | None:
    fitting = [
        (a, b) for a, b in sentences(passage) if 8 <= len(passage[a:b].split()) <= 40 and "```" not in passage[a:b]
    ]
    return chance.choice(fitting) if len(fitting) >= 3 else None


def reworded(text: str, chance: Random) -> str:
    """The same, a little shorter: drops asides and openings, and sometimes half of a compound sentence."""
    text = _OPENING.sub("", _ASIDE.sub("", " ".join(text.split())))
    parts = re.split(r"; |, (?:and|but) (?=[a-z]+ )", text)
    if len(parts) > 1 and len(parts[0].split()) >= 7 and chance.random() < 0.5:
        text = parts[0].rstrip(" ,;.") + "."
    return text[:1].upper() + text[1:]


def from_passage(passage: str, elsewhere: Elsewhere, chance: Random) -> MadeClaim | None:
    """One claim about the passage: kept, changed, extended, or from a sentence that is then removed."""
    place = _sentence(passage, chance)
    if place is None:
        return None
    start, end = place
    text = reworded(passage[start:end], chance)
    drawn = chance.random()
    if drawn < 0.4:
        return MadeClaim("claim kept", passage, text, "supported", start)
    if drawn < 0.55:
        rest = (passage[:start].rstrip() + " " + passage[end:].lstrip()).strip()
        return MadeClaim("claim taken out", rest, text, "neutral", min(start, len(rest) - 1))
    if drawn < 0.65:
        return _widened(passage, text, start, elsewhere, chance)
    return _changed(passage, text, place, elsewhere, chance)


def _changed(passage: str, text: str, place: tuple[int, int], elsewhere: Elsewhere, chance: Random) -> MadeClaim | None:
    for change in chance.sample(_CHANGES, len(_CHANGES)):
        made = change(Answered(text, passage, place), elsewhere, chance)
        if made is not None and made.question.lower() != text.lower():
            return MadeClaim("claim changed", passage, made.question, "unsupported", place[0])
    return None


def _widened(passage: str, text: str, start: int, elsewhere: Elsewhere, chance: Random) -> MadeClaim | None:
    """A true sentence with an added condition that the passage does not mention."""
    if not elsewhere.names:
        return None
    added = chance.choice(
        (
            f"in {chance.randint(1850, 2022)}",
            f"according to {chance.choice(elsewhere.names)}",
            f"especially in {chance.choice(elsewhere.names)}",
            f"and by {chance.choice(elsewhere.names)}",
            f"for at least {chance.randint(2, 30)} {chance.choice(('days', 'minutes', 'years', 'hours', 'percent'))}",
        )
    )
    return MadeClaim("claim widened", passage, f"{text.rstrip('. ')} {added}.", "unsupported", start)


def from_question(of: Answered, chance: Random) -> MadeClaim | None:
    """Question and answer as one statement, right or with another name from the passage."""
    answer = " ".join(of.passage[slice(*of.span)].split()).strip(" .,;:")
    if not answer or len(answer.split()) > 12:
        return None
    match = _SUBJECT_QUESTION.match(of.question)
    if match is None and chance.random() < 0.5:
        return None  # a question followed by its answer is not a sentence: keep few of those
    others = [
        name for name in names(of.passage) if name not in answer and answer not in name and name not in of.question
    ]
    wrong = bool(others) and chance.random() < 0.5
    said = chance.choice(others) if wrong else answer
    text = f"{said[:1].upper()}{said[1:]} {match.group(1)}." if match else f"{of.question} {said}."
    return MadeClaim("claim of an answer", of.passage, text, "unsupported" if wrong else "supported", of.span[0])
