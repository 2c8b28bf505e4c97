"""Makes questions that a passage seems to answer but does not, and their answerable twins.

A question with its passage and answer comes in; variants go out, each marked with the kind of change, so that every
kind can be measured separately. Each change that its words alone could give away (negation, "besides", a strange
name) has a twin that stays answerable. Pure Python; all randomness comes from the `Random` that the caller passes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from .lexicon import CAUSES, KINDS, OPPOSITES, SMALL_WORDS, TIMES
from .texts import Span, has_word, names, places, sentence_of, swap

_WORD = re.compile(r"[A-Za-z][\w'’-]*")
_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\w])")
_YEAR = re.compile(r"\b(?:1[0-9]|20)\d\d\b")
_CODE = re.compile(r"`[^`\n]{2,40}`")
_AUXILIARY = re.compile(r"\b(is|are|was|were|did|does|do|can|could|has|have|had|would|will|should)\b")


@dataclass(frozen=True, slots=True)
class Answered:
    """An answerable question, unchanged or with a change that keeps it answerable."""

    question: str
    passage: str
    span: Span


@dataclass(frozen=True, slots=True)
class Variant:
    kind: str
    question: str
    passage: str
    span: Span | None  # None: the passage does not answer


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """What to swap in: names from other passages, and for each word others that are used like it."""

    names: Sequence[str]
    neighbours: Mapping[str, Sequence[str]]


Change = Callable[[Answered, Elsewhere, Random], Variant | None]


def _swapped_passage(of: Answered, old: str, new: str) -> Answered | None:
    """The passage with `new` for `old`, and where its answer is afterwards."""
    before, answer, after = of.passage[: of.span[0]], of.passage[slice(*of.span)], of.passage[of.span[1] :]
    if has_word(answer, old):
        return None
    before = swap(before, old, new)
    passage = before + answer + swap(after, old, new)
    if passage == of.passage:
        return None
    return Answered(of.question, passage, (len(before), len(before) + len(answer)))


# --- changes of the question -----------------------------------------------------------------------------------------


def other_name(of: Answered, elsewhere: Elsewhere, chance: Random) -> Variant | None:
    """A name in the question becomes another one: from the passage, of a similar kind, or from anywhere."""
    own = [name for name in names("x " + of.question) if has_word(of.passage, name)]
    if not own:
        return None
    old = chance.choice(own)
    answer = of.passage[slice(*of.span)]
    near = [n for n in names(of.passage) if n not in of.question and old not in n and n not in answer]
    like = [n for n in elsewhere.neighbours.get(old.lower(), ()) if not has_word(of.passage, n)]
    drawn = chance.random()
    if near and drawn < 0.6:
        kind, new = "name of the passage", chance.choice(_used_alike(of, old, near))
    elif like and drawn < 0.85:
        kind, new = "name of a like kind", chance.choice(like).capitalize()
    else:
        kind, new = "name from elsewhere", _far_name(of, elsewhere, chance)
    return Variant(kind, swap(of.question, old, new), of.passage, None) if new else None


def _used_alike(of: Answered, old: str, names_there: list[str]) -> list[str]:
    """Names that follow the same small word as the name in the question (in, by, of), if there are any."""
    at = next(places(of.question, old), 0)
    before = of.question[:at].split()[-1:]
    if not before or before[0].lower() not in SMALL_WORDS:
        return names_there
    return [n for n in names_there if f"{before[0]} {n}" in of.passage] or names_there


def _far_name(of: Answered, elsewhere: Elsewhere, chance: Random) -> str:
    """Never one that is in the passage."""
    for _ in range(8):
        new = chance.choice(elsewhere.names) if elsewhere.names else ""
        if new and new not in of.passage:
            return new
    return ""


def other_number(of: Answered, elsewhere: Elsewhere, chance: Random) -> Variant | None:
    own = [n for n in _NUMBER.findall(of.question) if has_word(of.passage, n)]
    if not own:
        return None
    old = chance.choice(own)
    near = [n for n in _NUMBER.findall(of.passage) if n != old and len(n) == len(old) and n not in of.question]
    new = chance.choice(near) if near and chance.random() < 0.5 else moved(old, chance)
    return None if new == old else Variant("number", swap(of.question, old, new), of.passage, None)


def moved(number: str, chance: Random) -> str:
    """A number of the same size: a year stays a year."""
    plain = number.replace(",", "")
    if _YEAR.fullmatch(plain):
        return str(int(plain) + chance.choice([-20, -10, -5, -3, -2, -1, 1, 2, 3, 5, 10]))
    digits = list(number)
    places = [at for at, sign in enumerate(digits) if sign.isdigit()]
    at = chance.choice(places)
    digits[at] = chance.choice([d for d in "123456789" if d != digits[at]])
    return "".join(digits)


def other_of_kind(of: Answered, elsewhere: Elsewhere, chance: Random) -> Variant | None:
    """Months, weekdays, ordinals, number words, colours."""
    found = [
        (word, kind)
        for kind in KINDS
        for word in kind
        if has_word(of.question, word) and has_word(of.passage, word) and word not in {"may", "May", "March"}
    ]
    if not found:
        return None
    old, kind = chance.choice(found)
    new = chance.choice([word for word in kind if word != old])
    return Variant("month, ordinal or colour", swap(of.question, old, new), of.passage, None)


def opposite(of: Answered, elsewhere: Elsewhere, chance: Random) -> Variant | None:
    found = [word for word in _WORD.findall(of.question) if word.lower() in OPPOSITES]
    if not found:
        return None
    old = chance.choice(found)
    return Variant("opposite", swap(of.question, old, chance.choice(OPPOSITES[old.lower()])), of.passage, None)


def other_word(of: Answered, elsewhere: Elsewhere, chance: Random) -> Variant | None:
    """A content word that is also in the passage becomes one that is used like it."""
    start, end = sentence_of(of.passage, of.span)
    near = of.passage[start:end]
    own = [w for w in _WORD.findall(of.question) if len(w) > 3 and w.islower() and w not in SMALL_WORDS]
    own = [w for w in own if has_word(near, w[:5]) or has_word(near, w)]
    chance.shuffle(own)
    for old in own:
        like = [w for w in elsewhere.neighbours.get(old, ()) if w[:4] != old[:4] and not has_word(near, w)]
        if not like:
            continue
        here = [w for w in like if has_word(of.passage, w)]
        pool = here if here and chance.random() < 0.9 else like
        kind = "word of the passage" if pool is here else "word from elsewhere"
        return Variant(kind, swap(of.question, old, chance.choice(pool)), of.passage, None)
    return None


def other_code(of: Answered, elsewhere: Elsewhere, chance: Random) -> Variant | None:
    """A command, option or identifier becomes another one from the passage."""
    own = _CODE.findall(of.question)
    others = [code for code in _CODE.findall(of.passage) if code not in of.question]
    if not own or not others:
        return None
    old = chance.choice(own)
    return Variant("identifier", of.question.replace(old, chance.choice(others)), of.passage, None)


def negated(of: Answered, elsewhere: Elsewhere, chance: Random) -> Variant | None:
    match = _AUXILIARY.search(of.question)
    if match is None or " not " in of.question or "n't" in of.question:
        return None
    word = match.group()
    short = chance.random() < 0.5 and word not in {"will", "am"}
    if short:
        return Variant("negation", of.question[: match.end()] + "n't" + of.question[match.end() :], of.passage, None)
    # "did the king sign" → "did the king not sign" would need a parser; people write it right after the verb.
    return Variant("negation", of.question[: match.end()] + " not" + of.question[match.end() :], of.passage, None)


def false_condition(of: Answered, elsewhere: Elsewhere, chance: Random) -> Variant | None:
    """Adds a year, a place or a person that the passage mentions in another context, or not at all."""
    start, end = sentence_of(of.passage, of.span)
    near = of.passage[start:end]
    years = [y for y in _YEAR.findall(of.passage) if y not in near and y not in of.question]
    others = [n for n in names(of.passage) if n not in near and n not in of.question]
    added = []
    if not _YEAR.search(of.question):
        added.append(f"in {chance.choice(years) if years else chance.randint(1700, 2020)}")
    if others:
        added.append(f"{chance.choice(['according to', 'besides', 'for', 'in', 'with'])} {chance.choice(others)}")
    if elsewhere.names:
        added.append(f"{chance.choice(['in', 'by', 'under', 'according to'])} {chance.choice(elsewhere.names)}")
    return Variant("false condition", _with(of.question, chance.choice(added)), of.passage, None) if added else None


def _with(question: str, added: str) -> str:
    return f"{question.rstrip('?').rstrip()} {added}?"


def besides_the_answer(of: Answered, elsewhere: Elsewhere, chance: Random) -> Variant | None:
    answer = of.passage[slice(*of.span)].strip(" .,;:")
    if len(answer.split()) > 5 or "\n" in answer:
        return None
    added = f"{chance.choice(['other than', 'besides', 'apart from', 'instead of', 'except'])} {answer}"
    return Variant("besides the answer", _with(of.question, added), of.passage, None)


def besides_another(of: Answered, elsewhere: Elsewhere, chance: Random) -> Variant | None:
    """The answerable twin: it has the same words, but excludes something other than the answer."""
    answer = of.passage[slice(*of.span)]
    others = [n for n in names(of.passage) if n not in answer and answer not in n and n not in of.question]
    if not others or len(answer.split()) > 5:
        return None
    added = f"{chance.choice(['other than', 'besides', 'apart from', 'instead of', 'except'])} {chance.choice(others)}"
    return Variant("twin: besides another", _with(of.question, added), of.passage, of.span)


_OTHER_ASKED = (
    (re.compile(r"^(When|Where|How|In what year|In which year|Why) (was|were|did|is|are|does|do) "), "Why"),
    (re.compile(r"^(Where|How|Why) (was|were|did) "), "When"),
    (re.compile(r"^(What|Which) (?:year|city|country|state|place|person|company|group) "), "How many people"),
)


def other_asked(of: Answered, elsewhere: Elsewhere, chance: Random) -> Variant | None:
    """Why instead of when, when instead of where, if nothing in the passage could answer that."""
    lowered = of.passage.lower()
    for pattern, word in chance.sample(_OTHER_ASKED, len(_OTHER_ASKED)):
        match = pattern.match(of.question)
        if match is None or match.group(1) == word:
            continue
        if word == "Why" and any(cause in lowered for cause in CAUSES):
            continue
        if word == "When" and (re.search(r"\d", lowered) or any(has_word(lowered, time) for time in TIMES)):
            continue
        if word == "How many people" and re.search(r"\d", lowered):
            continue
        rest = of.question[match.end(1) :] if match.lastindex and match.lastindex > 1 else of.question[match.end() :]
        return Variant("another thing asked", f"{word} {rest.lstrip()}", of.passage, None)
    return None


# --- changes of the passage ------------------------------------------------------------------------------------------


def without_answer(of: Answered, elsewhere: Elsewhere, chance: Random) -> Variant | None:
    """Removes the answer's sentence; its neighbours stay."""
    start, end = sentence_of(of.passage, of.span)
    passage = of.passage[:start].rstrip() + " " + of.passage[end:].lstrip()
    answer = of.passage[slice(*of.span)].strip()
    if len(passage.split()) < 25 or has_word(passage, answer):
        return None
    return Variant("answer taken out", of.question, passage.strip(), None)


def other_name_there(of: Answered, elsewhere: Elsewhere, chance: Random) -> Variant | None:
    """The name asked for becomes another one in the passage."""
    own = [name for name in names("x " + of.question) if has_word(of.passage, name)]
    if not own or not elsewhere.names:
        return None
    changed = _swapped_passage(of, chance.choice(own), chance.choice(elsewhere.names))
    return None if changed is None else Variant("name in the passage", of.question, changed.passage, None)


def other_name_in_both(of: Answered, elsewhere: Elsewhere, chance: Random) -> Variant | None:
    """The answerable twin: a name becomes another one in both question and passage."""
    own = [name for name in names("x " + of.question) if has_word(of.passage, name)]
    if not own or not elsewhere.names:
        return None
    old, new = chance.choice(own), chance.choice(elsewhere.names)
    changed = _swapped_passage(of, old, new)
    if changed is None:
        return None
    return Variant("twin: name in both", swap(of.question, old, new), changed.passage, changed.span)


def negated_in_both(of: Answered, elsewhere: Elsewhere, chance: Random) -> Variant | None:
    """The answerable twin of negation: the passage's sentence denies it too."""
    start, end = sentence_of(of.passage, of.span)
    for match in _AUXILIARY.finditer(of.question):
        inside = re.search(rf"\b{match.group()}\b", of.passage[start:end])
        at = start + inside.end() if inside else -1
        if inside is None or of.span[0] < at < of.span[1]:
            continue
        question = of.question[: match.end()] + " not" + of.question[match.end() :]
        shift = 4 if at <= of.span[0] else 0
        passage = of.passage[:at] + " not" + of.passage[at:]
        return Variant("twin: negation in both", question, passage, (of.span[0] + shift, of.span[1] + shift))
    return None


# --- all of them -----------------------------------------------------------------------------------------------------

# How often each is tried first. The changes that people make most when they write look-alikes come most often.
UNANSWERABLE: tuple[tuple[Change, float], ...] = (
    (other_name, 6.0),
    (other_word, 3.0),
    (opposite, 5.0),
    (other_number, 3.0),
    (other_of_kind, 1.5),
    (other_code, 2.0),
    (false_condition, 1.5),
    (besides_the_answer, 0.7),
    (negated, 1.2),
    (other_asked, 1.5),
    (without_answer, 3.0),
    (other_name_there, 2.0),
)
# A change that fits nearly every question would otherwise replace all those that do not fit.
TRIED = 5
TWINS: tuple[tuple[Change, float], ...] = ((other_name_in_both, 2.0), (besides_another, 0.7), (negated_in_both, 1.0))


def make(
    of: Answered,
    elsewhere: Elsewhere,
    chance: Random,
    of_which: Sequence[tuple[Change, float]],
    tried: int = TRIED,
) -> Variant | None:
    """One variant, made by the first change that fits the question, of a few in a weighted random order."""
    order = sorted(of_which, key=lambda one: -(chance.random() ** (1 / one[1])))
    for change, _ in order[:tried]:
        made = change(of, elsewhere, chance)
        if made is not None and (made.question, made.passage) != (of.question, of.passage):
            return made
    return None
