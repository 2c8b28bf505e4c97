"""Answer text + citations → each sentence, checked against what it cites.

Comes in: an answer with `[n]` markers, written by us or by a language model, and what each marker points at. Goes out:
`Grounding`. A sentence is supported when it stands in a cited passage word for word, or when its exact parts (numbers,
flags, identifiers, names) all occur there and most of the rest of its words do. A marker without a citation, or a
quote that is not in its chunk, supports nothing. Purely lexical: it never asks a model whether it believes itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from quoth.domain import CheckedSentence, Citation, Grounding
from quoth.sentences import Sentence, fold, sentences
from quoth.terms import ContentTerm, is_exact, query_terms, term_ids

_MARKER = re.compile(r"\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\](?![(:])")
_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
_MARKUP = re.compile(r"[*_`~]+")
_NOT_LETTERS = re.compile(r"[^\w]+")
# A capital inside a sentence names something; at its start it says nothing.
_NAME = re.compile(r"(?<=[\w,;)] )[\"'(*_]*([A-Z][\w'’-]+)")


@dataclass(frozen=True, slots=True)
class GroundingOptions:
    share: float = 0.75  # of a sentence's words that must stand in what it cites


@dataclass(frozen=True, slots=True)
class _Unit:
    text: str  # as written, markers included
    claim: str  # without markers
    sources: tuple[int, ...]
    paragraph: int
    kind: str


@dataclass(frozen=True, slots=True)
class _Source:
    """One cited passage, in the two forms in which a sentence is looked up."""

    folded: str
    letters: str
    ids: frozenset[int]


def check(text: str, citations: Sequence[Citation], options: GroundingOptions = GroundingOptions()) -> Grounding:
    sources = {citation.index: _source(citation) for citation in citations if quote_stands(citation)}
    units = _inherited(_units(text))
    return Grounding(
        tuple(CheckedSentence(unit.text, _supported(unit, sources, options), unit.sources) for unit in units)
    )


def quote_stands(citation: Citation) -> bool:
    """The quote is exactly the slice of the chunk that its offsets name."""
    chunk = citation.chunk
    start, end = citation.start - chunk.start, citation.end - chunk.start
    return bool(citation.quote) and start >= 0 and chunk.text[start:end] == citation.quote


def _source(citation: Citation) -> _Source:
    chunk = citation.chunk
    around = "\n".join((" / ".join((chunk.title, *chunk.heading_path)), chunk.shown))
    return _Source(folded=fold(chunk.shown), letters=_letters(chunk.shown), ids=term_ids(around))


# --- the sentences of an answer --------------------------------------------------------------------------------------


def _units(text: str) -> list[_Unit]:
    units: list[_Unit] = []
    paragraph = 0
    end = 0
    for sentence in sentences(text):
        paragraph += "\n\n" in text[end : sentence.start] or sentence.kind == "heading"
        end = sentence.end
        if sentence.kind == "heading":
            continue
        unit = _unit(text, sentence, paragraph)
        if unit.claim or not units:
            units.append(unit)
        else:
            _mark_block_before(units, unit.sources)
    return [unit for unit in units if unit.claim]


def _unit(text: str, sentence: Sentence, paragraph: int) -> _Unit:
    body = text[sentence.start : sentence.end]
    if sentence.kind == "code":
        return _Unit(body, body, (), paragraph, "code")
    code = [match.span() for match in _CODE.finditer(body)]
    marks = [mark for mark in _MARKER.finditer(body) if not any(start <= mark.start() < end for start, end in code)]
    numbers = dict.fromkeys(int(number) for mark in marks for number in mark.group(1).split(","))
    claim = body
    for mark in reversed(marks):
        claim = claim[: mark.start()].rstrip() + claim[mark.end() :]
    return _Unit(body, claim.strip(), tuple(numbers), paragraph, sentence.kind)


def _mark_block_before(units: list[_Unit], sources: tuple[int, ...]) -> None:
    """Markers alone on a line belong to the code block, the table or the sentence above them."""
    kinds = ("row", "header") if units[-1].kind in ("row", "header") else (units[-1].kind,)
    position = len(units) - 1
    while position >= 0 and units[position].kind in kinds:
        unit = units[position]
        units[position] = _Unit(unit.text, unit.claim, unit.sources + sources, unit.paragraph, unit.kind)
        if kinds != ("row", "header"):
            break
        position -= 1


def _inherited(units: Sequence[_Unit]) -> list[_Unit]:
    """An unmarked sentence leans on the next marker of its paragraph, else on the one before it."""
    found: list[_Unit] = []
    for position, unit in enumerate(units):
        sources = unit.sources
        if not sources:
            same = [other.sources for other in units[position + 1 :] if other.paragraph == unit.paragraph]
            earlier = [other.sources for other in found if other.paragraph == unit.paragraph]
            sources = next((later for later in same if later), earlier[-1] if earlier else ())
        if not sources and unit.kind == "code" and found:
            sources = found[-1].sources
        found.append(_Unit(unit.text, unit.claim, sources, unit.paragraph, unit.kind))
    return found


# --- support ---------------------------------------------------------------------------------------------------------


def _supported(unit: _Unit, sources: Mapping[int, _Source], options: GroundingOptions) -> bool:
    if not unit.sources or any(number not in sources for number in unit.sources):
        return False
    cited = [sources[number] for number in unit.sources]
    if _verbatim(unit, cited):
        return True
    if unit.kind == "code":
        return False
    return _covered(unit.claim, frozenset().union(*(source.ids for source in cited)), options)


def _verbatim(unit: _Unit, cited: Sequence[_Source]) -> bool:
    if unit.kind == "code":
        body = fold("\n".join(line for line in unit.claim.splitlines() if not line.strip().startswith(("```", "~~~"))))
        return bool(body) and any(_squeezed(body) in _squeezed(source.folded) for source in cited)
    claim = fold(unit.claim)
    letters = _letters(claim)
    return any(claim in source.folded or (letters.strip() and letters in source.letters) for source in cited)


def _squeezed(text: str) -> str:
    return re.sub(r"[\s>]+", "", text)


def _letters(text: str) -> str:
    """Word characters only, bounded by spaces: how a text reads when markup and punctuation are forgotten."""
    return f" {_NOT_LETTERS.sub(' ', _MARKUP.sub('', text)).strip()} ".lower()


def _covered(claim: str, ids: frozenset[int], options: GroundingOptions) -> bool:
    terms = query_terms(claim)
    if not terms:
        return True  # nothing is claimed: "Yes, it does."
    names = set(_NAME.findall(claim))
    if any(_must_stand(term, names) and not term.found_in(ids) for term in terms):
        return False
    return sum(term.found_in(ids) for term in terms) >= options.share * len(terms)


def _must_stand(term: ContentTerm, names: set[str]) -> bool:
    return is_exact(term.text) or term.text in names
