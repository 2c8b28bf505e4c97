"""The text of an answer → what it claims, sentence by sentence, and which markers each claim carries.

In: Markdown with `[n]` markers. Out: `Claim`s that together own every character of the text: prose sentences, list
items, table rows, code blocks, and anything else a model may write (raw HTML, comments), because nothing may slip
through unchecked. Headings, bold labels, list numbers and lines that announce a list ("The steps are:") are not claims,
unless they are as long as sentences or hold a figure. Knows nothing of sources.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from quoth.text.markers import markers, without_markers
from quoth.text.sentences import Kind, Sentence, sentences

_LONGEST_HEADING = 8  # words
_LONGEST_LABEL = 6  # words
_LONGEST_LABELLED = 120  # characters: what is longer is not a label
_LIST_MARK = re.compile(r"(?:^|(?<=\n))[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?\Z")
# **Depth:** at the beginning of an item or a sentence, with what follows it; the whole text where nothing does.
_LABEL = re.compile(
    r"\A(?:\d{1,3}[.)]\s+)?(\*\*|__)(?:\d{1,3}[.)]\s+)?((?:(?!\1)[^\n.!?]){1,60}?)(?::\1|\1\s*(?::|[–—-](?=\s)|\Z))\s*"
)
_REST_OF_LABEL = re.compile(r"\A((?:(?!\*\*)[^\n.!?]){0,59}[^\s.!?])\*\*:?(?=\s|\Z)\s*")  # **2. Close**, after its 2.
_NUMBER = re.compile(r"\W*\d{0,3}\W*\Z")
_LIST_NUMBER = re.compile(r"\A(?:\(\d{1,2}\)|[①-⑳]|\d{1,2}\ufe0f?\u20e3|\(?[a-h]\))\s+")  # written without Markdown
_STEP = re.compile(
    r"\A\W*(?:step|tip|option|point|part|phase|stage|question|answer|example|note|rule|reason|q|a|schritt|tipp|étape|paso)"
    r"\s*\d{1,2}\b",
    re.IGNORECASE,
)
_NEXT_NUMBER = re.compile(r"(?<=[.!?])\s+\d{1,2}[.)]\Z")  # First do this. 2.
_ANNOUNCES = re.compile(r"[^.!?\n]*:\W*\Z")
_OFFERS = re.compile(
    r"\W*(?:(?:sure|certainly|of\s+course|absolutely|okay|ok)\W+)?"
    r"(?:here(?:['’]s|\s+is|\s+are)|below\s+(?:is|are)|the\s+following\s+(?:is|are))\b",
    re.IGNORECASE,
)
_LONGEST_OFFER = 14  # words
_EXCLAIMS = re.compile(
    r"\W*(?:sure|certainly|of\s+course|great\s+question|good\s+question|absolutely)\W*\Z", re.IGNORECASE
)
_PARTED = re.compile(r"\n[ \t>]*\n")


@dataclass(frozen=True, slots=True)
class Claim:
    begin: int  # the text from here to the next claim's beginning belongs to this one: list mark, markers, space
    text: str  # as written, markers included
    words: str  # without markers
    numbers: tuple[int, ...]  # of its own markers
    leans: tuple[int, ...]  # if it has none: those of the next marked sentence of its paragraph, else the one before
    kind: Kind
    paragraph: int

    @property
    def sources(self) -> tuple[int, ...]:
        return self.numbers or self.leans


def claims(text: str) -> list[Claim]:
    """Headings are among them, as owners of their text; `is_claim` tells them apart."""
    found: list[Claim] = []
    end = paragraph = 0
    for unit in _units(text):
        paragraph += bool(_PARTED.search(text, end, unit.start)) or unit.kind == "heading"
        claim = _claim(text, unit, paragraph, _begin(text, end, unit.start) if found else 0)
        end = unit.end
        if claim.words or not found:
            found.append(claim)
        else:
            _mark_block_before(found, claim.numbers)
    return _leaning([claim for claim in found if claim.words])


def is_claim(claim: Claim) -> bool:
    return claim.kind != "heading" and not (claim.kind in ("prose", "item") and _is_label(claim))


def _is_label(claim: Claim) -> bool:
    if len(claim.words) > _LONGEST_LABELLED:
        return False
    if _NUMBER.match(_STEP.sub("", claim.words)) or _EXCLAIMS.match(claim.words):
        return True
    if any(char.isdigit() for char in claim.words) and not _LABEL.match(claim.words):
        return False
    label = _LABEL.match(claim.words)
    if label and label.end() == len(claim.words):
        return _is_short(label[2])
    longest = _LONGEST_OFFER if _OFFERS.match(claim.words) else _LONGEST_HEADING
    return not claim.numbers and bool(_ANNOUNCES.match(claim.words)) and len(claim.words.split()) <= longest


def _is_short(label: str) -> bool:
    return len(label.split()) <= _LONGEST_LABEL and not any(char.isdigit() for char in _STEP.sub("", label))


def _units(text: str) -> Iterator[Sentence]:
    """The sentences, and between them what only carries markup in a book but may carry a claim in an answer."""
    end = 0
    for unit in (*sentences(text), Sentence(len(text), len(text), "prose")):
        gap = _LIST_MARK.sub("", text[end : unit.start])
        if any(char.isalnum() for char in gap):
            left = end + len(gap) - len(gap.lstrip())
            yield Sentence(left, end + len(gap.rstrip()), "prose")
        if unit.start < unit.end:
            long = unit.kind == "heading" and len(text[unit.start : unit.end].split()) > _LONGEST_HEADING
            yield replace(unit, kind="prose") if long else unit
        end = unit.end


def _begin(text: str, end: int, start: int) -> int:
    """White space belongs to the sentence before it, a list mark to the one after it."""
    gap = text[end:start]
    return end + len(gap) - len(gap.lstrip())


def _claim(text: str, unit: Sentence, paragraph: int, begin: int) -> Claim:
    body = text[unit.start : unit.end]
    if unit.kind == "code":
        return Claim(begin, body, body, (), (), "code", paragraph)
    found = markers(body)
    numbers = tuple(dict.fromkeys(number for marker in found for number in marker.numbers))
    words = _unlabelled(_LIST_NUMBER.sub("", _NEXT_NUMBER.sub("", without_markers(body, found))))
    words = words if any(char.isalnum() for char in words) else ""
    return Claim(begin, body, words, numbers, (), unit.kind, paragraph)


def _unlabelled(words: str) -> str:
    label = _LABEL.match(words)
    if label and label.end() < len(words) and _is_short(label[2]):
        return words[label.end() :]
    rest = _REST_OF_LABEL.match(words) if words.count("**") % 2 else None
    return words[rest.end() :] if rest and _is_short(rest[1]) else words


def _mark_block_before(found: list[Claim], numbers: tuple[int, ...]) -> None:
    """Markers alone on a line belong to the code block, the table or the sentence above them."""
    table = ("row", "header")
    kinds = table if found[-1].kind in table else (found[-1].kind,)
    for position in range(len(found) - 1, -1, -1):
        if found[position].kind not in kinds:
            break
        found[position] = replace(found[position], numbers=(*found[position].numbers, *numbers))
        if kinds != table:
            break


def _leaning(found: Sequence[Claim]) -> list[Claim]:
    leaning: list[Claim] = []
    for claim, later in zip(found, _marked_later(found), strict=True):
        leans: tuple[int, ...] = ()
        if not claim.numbers:
            last = leaning[-1] if leaning else None
            before = last.sources if last and last.paragraph == claim.paragraph else ()
            leans = later or before
            if not leans and claim.kind == "code" and last:
                leans = last.sources
        leaning.append(replace(claim, leans=leans))
    return leaning


def _marked_later(found: Sequence[Claim]) -> list[tuple[int, ...]]:
    """For each claim the markers of the next one of its paragraph that has any."""
    later: list[tuple[int, ...]] = []
    following: tuple[int, ...] = ()
    paragraph = -1
    for claim in reversed(found):
        if claim.paragraph != paragraph:
            following, paragraph = (), claim.paragraph
        later.append(following)
        following = claim.numbers or following
    return later[::-1]
