"""What a passage explains, as terms of its own: a question about the meaning of a word finds the passage that explains
it, although a hundred others repeat the word.

In: the plain text of a passage, its raw text and its heading. Out: one id for each name that is explained there: by a
sentence ("celery beat is a scheduler"), by an entry in bold, by a glossary, or because the passage opens the section
of that name. In a question the same id stands for the name that is asked about. Whether a sentence is a good
definition is decided elsewhere (`quoth.ask.forms`); here it is enough that it may be one. Pure.
"""

from __future__ import annotations

import re
from hashlib import blake2s

from quoth.text.terms import query_terms

_LONGEST = 4  # words of a name
_WORDS = r"[^\s.,;:!?()|]+(?:[ \t]+[^\s.,;:!?()|]+){0,5}?"
_SENTENCE = re.compile(
    rf"(?:^|(?<=[.!?:] ))\W{{0,3}}(?:(?:An?|The|In [\w. ]{{2,20}}, an?)\s+)?"
    rf"(?P<name>{_WORDS})(?:\s*\([^()\n]{{1,60}}\))?\s+"
    r"(?:(?:is|are)\s+(?:(?:simply|just|basically|essentially|also|now|actually)\s+)?"
    r"(?:an?|the|any|one|some|what|how|where|when|used|called)\b"
    r"|means?\b|refers? to\b|stands? for\b|denotes?\b|represents?\b|describes?\b|defines?\b|wraps?\b"
    r"|(?:lets|allows) you\b)",
    re.MULTILINE | re.IGNORECASE,
)
_IN_BOLD = re.compile(
    r"^[ \t>]*(?:[-*+][ \t]+)?(?P<mark>\*\*|__|)(?P<code>``?|)(?<=[*_`])(?P<name>(?:(?!__)[^*`\n]){2,60})"
    r"(?P=code)(?P=mark)[ \t]*(?:\([^()\n]*\)[ \t]*)?(?:(?:\n[ \t]{0,3})?:|[—–]|-[ \t])",
    re.MULTILINE,
)
_ENTRY = re.compile(r"^[ \t]*(?P<name>[^\s.:;][^.:;\n]{1,50})\n(?:[ \t]+\S|[ \t]*:[ \t])", re.MULTILINE)
_GLOSSARY = re.compile(r"\b(?:glossary|terminology|terms|definitions|vocabulary)\b", re.IGNORECASE)
_BRACKETED = re.compile(r"(?<!\s)\s*\([^()]*\)\s*\Z")
# "3.6 Here documents", "Chapter 1. The project", "A.2.1. lintian", "(5) EBUSY"; "2D plots" and "404 Not found" stay.
_NUMBER = re.compile(
    r"\s*(?:(?i:chapter|appendix|part|section|lesson|unit)\s+(?:\d{1,3}|[A-Z])(?:\.\d{1,3}){0,5}[.:)]?"
    r"|\(?\d{1,2}(?:\.\d{1,3}){0,5}[.)]|(?:\d{1,2}|[A-Z])(?:\.\d{1,3}){1,5}\.?|\d{1,2}(?=\s+[A-Z]))"
    r"(?:\s*[—–:-])?\s+(?=\S)"
)
_HOW_OR_WHEN = re.compile(r"\W*(?:how|when|why|where|whether|which)\b", re.IGNORECASE)
_ASIDE = re.compile(r"\s[—–-]{1,3}\s")
_POINTING = frozenset(
    """
    this that these those it they he she there here we you i what which who how when where why if because while although
    note tip warning default type example following first second third next last result above below all each every both
    either such one
    """.split()  # noqa: SIM905 - as a list of quoted words it would be harder to read
)
# "the `acks_late` option": what kind of thing a name is says nothing about where it is explained.
_ITS_KIND = re.compile(
    r"(?<!\s)\s+(?:(?:configuration|config|command|environment|data|keyword)\s+)?"
    r"(?:settings?|options?|param(?:eter)?s?|arg(?:ument)?s?|flags?|functions?|methods?|class(?:es)?|commands?|modules?"
    r"|packages?|attribut(?:e|es)|propert(?:y|ies)|variables?|fields?|keys?|keywords?|directives?|decorators?|macros?"
    r"|hooks?|signals?|events?|types?|constants?|traits?|components?|headers?|files?|values?)[\s`*]*\Z",
    re.IGNORECASE,
)


def without_its_kind(name: str) -> str:
    """`acks_late` for "the acks_late option"; unchanged if nothing would be left."""
    return _ITS_KIND.sub("", name) or name


def without_its_number(heading: str) -> str:
    """The heading of a numbered section, without the number."""
    return heading[found.end() :] if (found := _NUMBER.match(heading)) else heading


def names_in(heading: str) -> tuple[str, ...]:
    """What a heading may name: all of it, or one side of its dash (`asyncio — Asynchronous I/O`). "When and how to do
    an upload" has no other content word, and does not say what an upload is."""
    named = without_its_number(_BRACKETED.sub("", heading))
    if _HOW_OR_WHEN.match(named):
        return ()
    sides = _ASIDE.split(named)
    return (named, *sides) if len(sides) == 2 else (named,)


def mark_of(name: str) -> int | None:
    """The id of a name that is explained; None for what is no name."""
    words = query_terms(without_its_kind(_BRACKETED.sub("", name)))
    if not 0 < len(words) <= _LONGEST:
        return None
    said = " ".join(str(one) for one in sorted(word.id for word in words))
    return int.from_bytes(blake2s(f"explains {said}".encode(), digest_size=4).digest(), "big")


def explained_in(plain: str, raw: str, heading: str, above: str = "") -> frozenset[int]:
    """`heading`: of the section that the passage opens, empty if it opens none; `above`: its other headings."""
    names = [*names_in(heading)] if heading else []
    names += [found["name"] for found in _SENTENCE.finditer(plain)]
    names += [found["name"] for found in _IN_BOLD.finditer(raw)]
    if _GLOSSARY.search(f"{heading} {above}"):
        names += [found["name"] for found in _ENTRY.finditer(raw)]
    marks = (mark_of(name) for name in names if _POINTING.isdisjoint(name.lower().split()[:1]))
    return frozenset(mark for mark in marks if mark is not None)
