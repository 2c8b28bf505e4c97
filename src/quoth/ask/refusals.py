"""Does a text refuse to answer? Wholly, in part, or not at all; however it is worded. Pure.

In: what a language model wrote, or its first words while they arrive. Out: a `Refusal`, and whether words that have
begun may still become one. A clause refuses when its speaker cannot answer ("I'm unable to find …") or when it says
that the book is silent ("The passages do not mention …"). That something in the book does not do something is an
answer: "The book says that the node does not provide …". English, German, French, Spanish, Urdu and Chinese. Knows
neither passages nor verdicts.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from quoth.ask import refusal_patterns as patterns
from quoth.domain import Refusal
from quoth.text.markers import code_spans, markers, without_markers
from quoth.text.sentences import sentences

_Clause = Literal["refuses", "polite", "answers"]


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


def _units(text: str) -> list[str]:
    found = [unit for unit in sentences(text) if unit.kind not in ("heading", "header")]
    ends = [text[unit.start : unit.end] for unit in found if unit.kind != "code"]
    code = ["code: `x`"] if any(unit.kind == "code" for unit in found) else []  # code is an answer
    return [plain for plain in map(_plain, ends) if any(char.isalnum() for char in plain)] + code


def _plain(sentence: str) -> str:
    """Without markers, markup, code and quotations: those are the book's words, not the speaker's."""
    text = without_markers(sentence, markers(sentence))
    for start, end in reversed(list(code_spans(text))):
        text = f"{text[:start]}code{text[end:]}"
    text = _QUOTED.sub("it", text)
    return " ".join(_MARKUP.sub("", text.translate(_APOSTROPHES)).split())[:_LONGEST]


@lru_cache(maxsize=1024)
def _kinds(units: tuple[str, ...], known: tuple[str, ...]) -> frozenset[_Clause]:
    """What the clauses do, read in order: "They do not explain it" refuses after a clause about the passages."""
    kinds: set[_Clause] = set()
    of_the_book = False
    for unit in units:
        if any(one and _plain(one).rstrip(".").lower() in unit.lower() for one in known):
            kinds.add("refuses")
            continue
        if unit.endswith(("?", "？")):
            kinds.add("polite")
            continue
        found: list[tuple[_Clause, str]] = []
        for clause in _clauses(unit):
            found.append((_kind(clause, of_the_book=of_the_book), clause))
            of_the_book = of_the_book or bool(patterns.OF_THE_BOOK.search(clause))
        refused = any(kind == "refuses" for kind, _ in found)
        # "So, I cannot answer": a few words next to a refusal do not answer.
        kinds |= {
            kind for kind, clause in found if not (refused and kind == "answers" and len(clause.split()) <= _SHORT)
        }
    return frozenset(kinds)


def _clauses(sentence: str) -> list[str]:
    leading = _LEADING.match(sentence)
    parts = [*leading.groups()] if leading else [sentence]
    clauses = [clause.strip(" ,;:，；") for part in parts for clause in _CLAUSES.split(part)]
    return [clause for clause in clauses if any(char.isalnum() for char in clause)]


def _kind(clause: str, *, of_the_book: bool) -> _Clause:
    if _refuses(clause) or (of_the_book and patterns.THEY_DO_NOT.search(clause)):
        return "refuses"
    return "polite" if patterns.POLITE.search(clause) else "answers"


def _refuses(clause: str) -> bool:
    if patterns.SPEAKER.search(clause) or patterns.NOT_SAID.search(clause) or patterns.BARE.match(clause):
        return True
    if patterns.NOTHING_THERE.search(clause):
        where = patterns.IN_SOMETHING.findall(clause)
        return not where or bool(patterns.NAMED_BOOK.search(" ".join(where)))
    return any(pattern.search(clause) for pattern in patterns.ELSEWHERE)


# --- while it is being written ---------------------------------------------------------------------------------------

_ENDED = re.compile(r"[.!?…]\s|[。！？۔]|\n")
_AT_ONCE = frozenset(
    """
    i i'm i’m we sorry unfortunately apologies regrettably none neither nothing nowhere no not there unable unknown n/a
    leider entschuldigung ich der die das el la los las le les wir keine dazu es désolé désolée malheureusement je nous
    aucun aucune il lo lamentablemente desafortunadamente معذرت مجھے میں میرے افسوس کتاب متن فراہم دیے دی اس معاف
    """.split()  # noqa: SIM905 - as a list of quoted words it would be harder to read
)
_AFTER_A_FEW = frozenset(
    """
    the this these that those it your any based according from in within while although though given as after my our
    im laut aus diese dieser dieses ce cet cette ces dans selon d'après este en según
    """.split()  # noqa: SIM905
)
_WITHOUT_SPACES = re.compile(r"\A\W*[\u3040-\u30ff\u3400-\u9fff]")
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
    if _WITHOUT_SPACES.match(beginning):
        return True
    words = beginning.lower().split()
    whole = words if beginning[-1:].isspace() else words[:-1]
    if not whole:
        return True
    first = whole[0].strip(",.:;!،")
    if first in _AT_ONCE:
        return True
    if first in _AFTER_A_FEW:
        return len(whole) < _FEW or bool(patterns.NOUNS.search(" ".join(whole[: _FEW + 1])))
    return False
