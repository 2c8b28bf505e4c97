"""An ordinal that points at one of several things, in other languages: "die zweite" → "the second one". Pure, by table.

In: a question. Out: the question with the ordinal in English, which `items` and `references` can resolve; the same
question where there is none. Only an ordinal that stands alone points: "die zweite Option" names what it is.
"""

from __future__ import annotations

import re

from quoth.ask.references import LONGEST_FOLLOW_UP

_ENGLISH = ("first", "second", "third", "fourth", "last")
_ENDS = r"\b(?=\s*(?:[?!.,;¿]|\Z)|\s+(?:est|fait|es|hace|è|fa|é|faz)\b)"
# What comes before, the five stems, what comes behind: endings, and no noun.
_LANGUAGES = (
    (r"\b(?:der|die|das|den|dem)\s+", ("erst", "zweit", "dritt", "viert", "letzt"), r"e[nr]?\b(?!\s+(?-i:[A-ZÄÖÜ]))"),
    (
        r"\b(?:le|la)\s+",
        ("premi[eè]re?", "(?:deuxi[eè]me|seconde?)", "troisi[eè]me", "quatri[eè]me", "derni[eè]re?"),
        _ENDS,
    ),
    (r"\b(?:el|la)\s+", ("primer[oa]", "segund[oa]", "tercer[oa]", "cuart[oa]", "[uú]ltim[oa]"), _ENDS),
    (r"\b(?:o|a)\s+", ("primeir[oa]", "segund[oa]", "terceir[oa]", "quart[oa]", "[uú]ltim[oa]"), _ENDS),
    (r"\b(?:il|la|l['’])\s*", ("prim[oa]", "second[oa]", "terz[oa]", "quart[oa]", "ultim[oa]"), _ENDS),
    ("", ("第一", "第二", "第三", "第四", "最后一"), "(?:个|種|种|项|條|条)"),
    ("", ("پہل[اےی]", "دوسر[اےی]", "تیسر[اےی]", "چوتھ[اےی]", "آخری"), r"(?:\s+وال[اےی])?(?!\w)"),
)
_POINTING = tuple(
    re.compile(before + "(?:" + "|".join(f"({stem})" for stem in stems) + ")" + behind, re.IGNORECASE)
    for before, stems, behind in _LANGUAGES
)


def ordinals_in_english(question: str) -> str:
    if len(question) > LONGEST_FOLLOW_UP:
        return question
    for pointing in _POINTING:
        if found := pointing.search(question):
            one = f"the {_ENGLISH[(found.lastindex or 1) - 1]} one"
            before, behind = question[: found.start()].rstrip(), question[found.end() :].lstrip()
            return f"{before} {one}{' ' if behind[:1].isalnum() else ''}{behind}".strip()
    return question
