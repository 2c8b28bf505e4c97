"""Does a text refuse to answer? Wholly, in part, or not at all; however it is worded. Pure.

In: what a language model wrote, or its first words while they arrive. Out: a `Refusal`, and whether words that have
begun may still become one. A clause refuses when its speaker cannot answer ("I'm unable to find …") or when it says
that the book is silent ("The passages do not mention …"). That something in the book does not do something is an
answer: "The book says that the node does not provide …". Six languages by their grammar (`refusal_patterns`), more by
their words (`refusal_languages`). Knows neither passages nor verdicts.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from quoth.ask import refusal_patterns as patterns
from quoth.ask.refusal_languages import APOLOGIES, LANGUAGES
from quoth.domain import Refusal
from quoth.text.markers import code_spans, markers, without_markers
from quoth.text.sentences import sentences

_Clause = Literal["refuses", "polite", "answers"]


class _Unit(NamedTuple):
    """A sentence, without what is not its speaker's words."""

    text: str
    cited: bool = False  # it names its source, or shows code


_CLAUSES = re.compile(
    r"(?:[,;:—–]|\s-)\s*(?=(?:but|however|although|though|yet|whereas|while|so|therefore|they|it|aber"
    r"|jedoch|sondern|obwohl|mais|cependant|pero|aunque|sino)\b)"
    r"|\s(?=(?:but|although|whereas|aber)\s)|[;；]|[,，](?=但|不过|不過|然而|只|仅|僅)"
)
_LEADING = re.compile(  # While the passages do not mention the price, they say …
    r"\A\W*(?:while|although|though|even\s+though|whereas|obwohl|bien\s+que|aunque)\b([^,]*),\s*(.*)\Z",
    re.IGNORECASE | re.DOTALL,
)
_QUOTED = re.compile(r"\"[^\"\n]*\"|“[^”\n]*”|«[^»\n]*»|„[^“”\n]*[“”]|「[^」\n]*」")
_MARKUP = re.compile(r"[*_~#>]+")
_APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "`": "'", "´": "'"})
# Written out, every negation is one word of its own: "isn't" and "is not" need one pattern.
_CONTRACTED = (
    (re.compile(r"\bcan't\b", re.IGNORECASE), "cannot"),
    (re.compile(r"\bwon't\b", re.IGNORECASE), "will not"),
    (re.compile(r"(?<=[a-z])n't\b", re.IGNORECASE), " not"),
    (re.compile(r"(?<=[a-z])'s (?=not\b|never\b)", re.IGNORECASE), " is "),
)
_APOLOGY = re.compile(APOLOGIES, re.IGNORECASE)
_LABEL = re.compile(r"\A(?:answer|response|antwort|réponse|respuesta|risposta)\s*:\s*", re.IGNORECASE)
_SHORT = 3  # words; a clause this short answers nothing
_LONGEST = 600  # characters of a sentence that are checked: refusals are short


def refusal_in(text: str, *known: str) -> Refusal:
    """How much of the text refuses. `known` are sentences that are refusals by definition."""
    kinds = _kinds(tuple(_units(text)), known)
    if "refuses" not in kinds:
        return "none"
    return "part" if "answers" in kinds else "whole"


def refuses(sentence: str) -> bool:
    """Whether the sentence refuses, and says nothing else."""
    return refusal_in(sentence) == "whole"


def _units(text: str) -> list[_Unit]:
    found = [unit for unit in sentences(text) if unit.kind not in ("heading", "header")]
    said = [text[unit.start : unit.end] for unit in found if unit.kind != "code"]
    units = [_Unit(_plain(one), bool(markers(one) or list(code_spans(one)))) for one in said]
    code = [_Unit("code: `x`", cited=True)] if any(unit.kind == "code" for unit in found) else []  # code is an answer
    return [unit for unit in units if any(char.isalnum() for char in unit.text)] + code


def _plain(sentence: str) -> str:
    """Without markers, markup, code and quotations: those are the book's words, not the speaker's."""
    text = without_markers(sentence, markers(sentence))
    for start, end in reversed(list(code_spans(text))):
        text = f"{text[:start]}code{text[end:]}"
    text = _MARKUP.sub("", _QUOTED.sub("it", text).translate(_APOSTROPHES))
    for contracted, written in _CONTRACTED:
        text = contracted.sub(written, text)
    return _LABEL.sub("", " ".join(text.split())[:_LONGEST])


@lru_cache(maxsize=1024)
def _kinds(units: tuple[_Unit, ...], known: tuple[str, ...]) -> frozenset[_Clause]:
    """What the clauses do, read in order: "They do not explain it" refuses after a clause about the passages."""
    kinds: set[_Clause] = set()
    of_the_book = False
    for unit, cited in units:
        if any(one and _plain(one).rstrip(".").lower() in unit.lower() for one in known):
            kinds.add("refuses")
            continue
        if unit.endswith(("?", "？")):
            kinds.add("polite")
            continue
        found: list[tuple[_Clause, str]] = []
        for clause in _clauses(unit):
            of_the_book = of_the_book or bool(patterns.OF_THE_BOOK.search(clause))
            found.append((_kind(clause, of_the_book=of_the_book, cited=cited), clause))
        refused = any(kind == "refuses" for kind, _ in found)
        # "So, I cannot answer": a few words next to a refusal do not answer. "Use `git stash`, but …" does.
        kinds |= {kind for kind, clause in found if not (refused and kind == "answers" and _is_few_words(clause))}
    return frozenset(kinds)


def _clauses(sentence: str) -> list[str]:
    leading = _LEADING.match(sentence)
    parts = [*leading.groups()] if leading else [sentence]
    clauses = [clause.strip(" ,;:，；") for part in parts for clause in _CLAUSES.split(part)]
    return [clause for clause in clauses if any(char.isalnum() for char in clause)]


def _is_few_words(clause: str) -> bool:
    words = clause.split()
    return len(words) <= _SHORT and "code" not in words


def _kind(clause: str, *, of_the_book: bool, cited: bool) -> _Clause:
    if _refuses(clause) or (of_the_book and patterns.THEY_DO_NOT.search(clause)):
        return "refuses"
    if not cited and patterns.UNCITED.search(clause):
        return "refuses"
    return "polite" if patterns.POLITE.search(clause) or _APOLOGY.search(clause) else "answers"


def _refuses(clause: str) -> bool:
    if patterns.SPEAKER.search(clause) or patterns.NOT_SAID.search(clause) or patterns.BARE.match(clause):
        return True
    if patterns.NOTHING_THERE.search(clause):
        where = patterns.IN_SOMETHING.findall(clause)
        return not where or bool(patterns.NAMED_BOOK.search(" ".join(where)))
    return any(pattern.search(clause) for pattern in (*patterns.ELSEWHERE, *LANGUAGES))


# --- while it is being written ---------------------------------------------------------------------------------------

_ENDED = re.compile(r"[.!?…؟]\s|[。！？۔।]|\n")
_AT_ONCE = frozenset(
    """
    i i'm we hmm sorry unfortunately sadly apologies regrettably none neither nothing nowhere no not there unable
    unknown n/a leider entschuldigung ich der die das wir keine dazu darüber davon hierzu tut es le les désolé désolée
    malheureusement je nous aucun aucune il el la los las lo eso lamentablemente desafortunadamente mi non purtroppo
    desculpe infelizmente não helaas üzgünüm maalesef niestety bohužel tyvärr desværre beklager valitettavasti rất maaf
    """.split()  # noqa: SIM905 - as a list of quoted words it would be harder to read
)
_AFTER_A_FEW = frozenset(
    """
    the this these that those it your any based according from in within while although though given as after my our
    im laut aus diese dieser dieses ce cet cette ces dans selon d'après este en según nel nei questo o os nos
    essa isso het de dit dat kitapta metinde answer bu por w boken trong nope esse me temo
    """.split()  # noqa: SIM905
)
_NOT_LATIN = re.compile(r"\A[\W\d]*[^\W\d_\u0000-\u024f]")  # words there tell little: one sentence is waited for
_FEW = 4  # words
_LONGEST_HELD = 1_500  # characters


def may_refuse(beginning: str) -> bool:
    """Whether an answer that begins like this may still turn out to be nothing but a refusal. Readers never wait
    long."""
    if len(beginning) > _LONGEST_HELD:
        return False
    beginning = beginning.lstrip(" \n*_#>\"'“-")
    ends = [found.end() for found in _ENDED.finditer(beginning)]
    if ends:
        return "answers" not in _kinds(tuple(_units(beginning[: ends[-1]])), ())
    if _NOT_LATIN.match(beginning):
        return True
    words = beginning.lower().translate(_APOSTROPHES).split()
    whole = words if beginning[-1:].isspace() else words[:-1]
    if not whole:
        return True
    first = whole[0].strip(",.:;!").removesuffix("'s")
    if first in _AT_ONCE:
        return True
    if first in _AFTER_A_FEW:
        few = " ".join(whole[: _FEW + 1])
        return len(whole) < _FEW or bool(patterns.NOUNS.search(few)) or any(one.names_book(few) for one in LANGUAGES)
    return False
