"""Passages that suit what is asked come before those that only share its words.

In: the question, candidates and their chunks. Out: for each candidate a number to add to its score. A question about
the meaning of a term is answered where a sentence defines it, or where a heading is the term (`forms.defining`). The
opening of the book says what the book itself is about, and is searched for that. Release notes, announcements and
thanks to sponsors mention everything and explain little: they come later, unless they are asked for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from quoth.ask.asked import asked
from quoth.ask.blocks import layout
from quoth.ask.forms import Sought, defining
from quoth.domain import Chunk, QueryTerm
from quoth.text.definitions import without_its_number
from quoth.text.terms import ContentTerm, term_ids

_DEFINES = 0.5  # share of the best sentence's form score, which is seldom more than 0.6 …
_DEFINES_MOST = 0.25  # … and no more than this
_OPENS = 0.1  # for a definition where the book opens
_LOOKED_AT = 20  # passages searched for a definition: finding their sentences takes half a millisecond each
_BESIDE_THE_SUBJECT = -0.25
_SMALL = 20  # passages
_IN_A_QUARTER_OF_THE_BOOK = 1.39  # idf: ln 4

_CHANGES = (
    r"change[-_ ]?logs?|changes|release[-_ ]?notes?|releases|what[’']?s[-_ ]new|whatsnew|news|blogs?"
    r"|announcements?|announcing|migrating|migration(?:[-_ ]guides?)?|upgrading|upgrade(?:[-_ ]guides?)?"
    r"|(?:version|release|change|revision)[-_ ]?history|history[-_ ]of[-_ ]changes"
)
_PROJECT = (
    r"acknowledge?ments?|credits|sponsors?(?:hip)?|backers|contribut(?:ing|ors?)|code[-_ ]of[-_ ]conduct|licen[cs]es?"
    r"|(?:the )?(?:gnu|mit|bsd|apache|mozilla|creative commons) [\w .,-]{0,60}?licen[cs]es?|translators"
)
# What has no sentences below such a heading is a list of words and of the places where they are.
_INDEX = re.compile(
    r"\W*(?:(?:[\w-]+ ){0,2}(?:and [\w-]+ )?index(?:es)?|index of [\w ]{1,60}"
    r"|(?:[\w-]+ ){0,2}cross[- ]?references?)\W*",
    re.IGNORECASE,
)
_SENTENCE_ENDS = re.compile(r"[a-z]{2}[.!?][\"”’)*_`]*(?:\s|\Z)")
_RECORD_FILE = re.compile(rf"(?:\A|/)(?:{_CHANGES}|{_PROJECT})(?=\Z|[/.]|-v?\d)", re.IGNORECASE)
_RECORD_HEADING = re.compile(rf"\W*(?:{_CHANGES}|{_PROJECT})\W*", re.IGNORECASE)
# "0.33.0 (December 1, 2023)", "v2.1", "Version 2": a number with words after it ("3.1 Variables") is that of a chapter.
_VERSION = re.compile(r"\W*(?:(?:version|release) \d.*|v?\d+\.\d+[\w.-]*(?:\W*\(.*)?)", re.IGNORECASE)
# An entry of a change log under any name: "- Fixed a crash in …", "* Dropped support for …".
_ITEM = re.compile(r"^[ \t]*[-*+•][ \t]+(\S[^\n]*)", re.MULTILINE)
_CHANGE = re.compile(
    r"(?>\[[^\]]{0,60}\]|`[^`]{1,60}`:?|\*\*[^*]{1,60}\*\*:?|\W)*+"  # never back: "[][][]…" has 2ⁿ readings
    r"(?:added|fixed|fixes|changed|removed|dropped|deprecated|improved|updated|bumped|renamed|moved|backported|refactored"
    r"|worked around|rewrote|reverted|restored|adjusted|corrected|resolved|reworked|introduced)\b",
    re.IGNORECASE,
)
_FEW_CHANGES = 3
_ASKS_FOR_RECORDS = re.compile(
    r"\b(?:changes?|changed|changelogs?|releases?|released|new|newest|latest|since|histor\w+|news|blogs?"
    r"|announc\w+|migrat\w+|upgrad\w+|updat\w+|added|removed|renamed|deprecat\w+|break(?:s|ing)|still|longer"
    r"|acknowledge?\w*|credits?|sponsor\w*|contribut\w+|licen[cs]\w+|maintain\w*|who|donat\w+|communit\w+)\b"
    r"|\b(?:in|from|to|before|after|with) v?\d|\d\.\d",
    re.IGNORECASE,
)
_VERSIONS = re.compile(r"\bversions?\b", re.IGNORECASE)
# "Which Python versions are supported?" is answered where the book says what one needs today.
_NEEDS = re.compile(r"\b(?:support\w*|requir\w+|compatib\w+|need(?:s|ed)?|works? with|runs? on)\b", re.IGNORECASE)
_OPENINGS = frozenset(
    ("index", "readme", "introduction", "intro", "overview", "why", "about", "home", "getting-started")
)


def suits(
    question: str, words: Sequence[ContentTerm], idf: Mapping[int, float], chunks: Mapping[str, Chunk]
) -> dict[str, float]:
    """`chunks`: those that may explain something first, then best first."""
    wants_records = _asks_for_records(question)
    found = {
        key: _BESIDE_THE_SUBJECT if not wants_records and is_record(chunk) else 0.0 for key, chunk in chunks.items()
    }
    what = asked(question)
    if what.wanted != "definition" or not what.subject:
        return found
    terms = tuple((word, idf.get(word.id, 0.0)) for word in words)
    total = sum(weight for _, weight in terms) or 1.0
    sought = Sought(what, terms, total, names=(), subject=term_ids(what.subject), holds=None)
    for key in list(chunks)[:_LOOKED_AT]:
        found[key] = found[key] or _explains(sought, chunks[key])  # a record explains nothing
    return found


def _asks_for_records(question: str) -> bool:
    if _ASKS_FOR_RECORDS.search(question):
        return True
    return _VERSIONS.search(question) is not None and _NEEDS.search(question) is None


def meaning_asked(question: str) -> str:
    """Of what the question asks the meaning; empty if it asks for something else."""
    what = asked(question)
    return what.subject if what.wanted == "definition" else ""


def opening_for(question: str, terms: Sequence[QueryTerm], size: int) -> str:
    """What to look for if the question asks what the book as a whole is about: its subject is on every page, and the
    page that introduces it is no nearer to the question than any other. Empty for all other questions, and for a book
    with so few passages (`size`) that all of them are looked at anyway."""
    about = meaning_asked(question)
    subject = term_ids(about)
    everywhere = {term.id for term in terms if term.in_book and term.idf < _IN_A_QUARTER_OF_THE_BOOK}
    wanted = subject and subject <= everywhere and size > _SMALL
    return f"introduction overview of {about}" if wanted else ""


def is_record(chunk: Chunk) -> bool:
    """A record of changes, or of the people who work on the project; also an index at the end of a book."""
    headings = (chunk.title, *chunk.heading_path)
    named = [without_its_number(heading) for heading in headings]
    return bool(
        _RECORD_FILE.search(chunk.source_file)
        or any(map(_RECORD_HEADING.fullmatch, named))
        or any(map(_VERSION.fullmatch, headings))
        or (any(map(_INDEX.fullmatch, named)) and not _SENTENCE_ENDS.search(chunk.text))
        or _lists_changes(chunk.text)
    )


def _lists_changes(text: str) -> bool:
    """Most of the items say what was added, fixed or dropped."""
    items = _ITEM.findall(text)
    changes = sum(_CHANGE.match(item) is not None for item in items)
    return changes >= _FEW_CHANGES and 2 * changes > len(items)


def _explains(sought: Sought, chunk: Chunk) -> float:
    here = layout(chunk)
    quotable = [at for at, unit in enumerate(here.units) if unit.kind in ("prose", "item", "row")]
    if not quotable:
        return _BESIDE_THE_SUBJECT  # a heading, or a page that is made from code
    best = min(_DEFINES_MOST, _DEFINES * max(defining(sought, here, at, here.text(at)) for at in quotable))
    return best + (_OPENS if best and PurePosixPath(chunk.source_file).stem.lower() in _OPENINGS else 0.0)
