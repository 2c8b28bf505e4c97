"""Answer text + what it cites → each sentence, checked against its sources.

In: an answer with `[n]` markers and the passages behind the numbers. Out: `Grounding`. A sentence is supported when a
cited passage has it word for word, or when all its exact parts occur there and the rest is probably said there
(`support.py`). A marker without a source and a quote that is not in its chunk support nothing. A sentence without a
marker is attributed to the passages that say it, if any do. Knows no model and no stream: `writing.py` has both.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from quoth.ask.claims import Claim, claims, is_claim
from quoth.ask.grounds import Source, analyse
from quoth.ask.places import code_lines, locate, locate_code
from quoth.ask.refusals import refuses
from quoth.ask.support import Said, support, unread, verbatim
from quoth.domain import CheckedSentence, Citation, Grounding
from quoth.text.offsets import end_in_file, start_in_file
from quoth.text.terms import content_terms, term_ids

# What happens to an unsupported sentence: it is marked, or the reader never sees it.
GroundingPolicy = Literal["mark", "strict"]
NOTHING_SUPPORTED = "The answer is withheld: none of its sentences is supported by the passages that were found."

_MOST_ATTRIBUTED = 3  # passages that one sentence without a marker may rest on
_NOT_SAID = "the source does not say this"
_NOWHERE = "no source is named, and none says this"
_ADAPTED = "adapted: this code is not in the source as it stands"
_FOREIGN = "this code is not in the source"


def check(text: str, citations: Sequence[Citation], question: str = "") -> Grounding:
    if text == NOTHING_SUPPORTED:
        return Grounding()
    sources = sources_of(citations)
    moved = {citation.index for citation in citations} - set(sources)
    return check_claims(checkable(text), sources, question, moved)


def checkable(text: str) -> list[Claim]:
    """What can be right or wrong. That something is not in the book is not a statement of the book."""
    return [claim for claim in claims(text) if is_claim(claim) and not refuses(claim.words)]


def sources_of(citations: Sequence[Citation]) -> dict[int, Source]:
    """The passages whose quotes are in their place, by number. The others support nothing."""
    return {citation.index: analyse(citation.chunk) for citation in citations if quote_is_in_place(citation)}


def quote_is_in_place(citation: Citation) -> bool:
    """The quote is exactly the slice of the chunk that its offsets name."""
    chunk = citation.chunk
    start, end = citation.start - chunk.start, citation.end - chunk.start
    return bool(citation.quote) and start >= 0 and chunk.text[start:end] == citation.quote


def check_claims(
    of: Sequence[Claim],
    sources: Mapping[int, Source],
    question: str,
    moved: Collection[int] = (),
    said: Said = unread,
) -> Grounding:
    """`moved` are the numbers of sources that exist, but whose quotes are not in their place."""
    asked = term_ids(question)
    return Grounding(tuple(check_claim(claim, sources, asked, moved, said) for claim in of))


def check_claim(
    claim: Claim,
    sources: Mapping[int, Source],
    asked: frozenset[int],
    moved: Collection[int] = (),
    said: Said = unread,
) -> CheckedSentence:
    unknown = [number for number in claim.numbers if number not in sources]
    if unknown:
        return CheckedSentence(claim.text, False, claim.numbers, 0.0, _why_unknown(unknown[0], moved))
    cited = {number: sources[number] for number in claim.sources if number in sources}
    if claim.kind == "code":
        return _check_code(claim, cited if claim.numbers else {**cited, **sources})
    found = support(claim.words, list(cited.values()), asked, said)
    if found.is_enough:
        return _with_place(CheckedSentence(claim.text, True, tuple(cited), found.score), claim, cited)
    if not claim.numbers:  # it names no source itself, so any passage may be the one that says it
        anywhere = support(claim.words, list(sources.values()), asked, said)
        if anywhere.is_enough:
            attributed = CheckedSentence(claim.text, True, _attribute(claim, sources), anywhere.score)
            return _with_place(attributed, claim, sources)
        found = found if cited else anywhere
    reason = found.missing or (_NOT_SAID if cited else _NOWHERE)
    return CheckedSentence(claim.text, False, tuple(cited), found.score, reason)


def _why_unknown(number: int, moved: Collection[int]) -> str:
    return f"the quote of [{number}] is not in its passage" if number in moved else f"there is no source [{number}]"


def _attribute(claim: Claim, sources: Mapping[int, Source]) -> tuple[int, ...]:
    """The passage that holds most of the sentence's words, then those that hold what is still missing."""
    word_for_word = verbatim(claim.words, list(sources.values()))
    if word_for_word:
        return tuple(number for number, source in sources.items() if source is word_for_word)[:1]
    left = content_terms(claim.words)
    chosen: list[int] = []
    while left and len(chosen) < _MOST_ATTRIBUTED:
        held = {number: sum(term.found_in(source.ids) for term in left) for number, source in sources.items()}
        best = max(held, key=lambda number: held[number])
        if not held[best] or (chosen and held[best] == 1):  # one word alone is found in many places
            break
        chosen.append(best)
        left = [term for term in left if not term.found_in(sources[best].ids)]
    return tuple(chosen or list(sources)[:1])


def _check_code(claim: Claim, cited: Mapping[int, Source]) -> CheckedSentence:
    named = tuple(number for number in claim.sources if number in cited)
    for number, source in cited.items():
        place = locate_code(claim.words, source.chunk.text)
        if place:
            return _at(CheckedSentence(claim.text, True, (number,)), source, place)
    whole = "\n".join(source.chunk.text for source in cited.values())
    if claim.numbers and len(cited) > 1 and locate_code(claim.words, whole):  # a block that was cut into several chunks
        return CheckedSentence(claim.text, True, tuple(cited))
    if not code_lines(claim.words):  # an empty block claims nothing
        return CheckedSentence(claim.text, True, named)
    words = content_terms(claim.words)
    known = sum(any(term.found_in(source.ids) for source in cited.values()) for term in words)
    share = known / len(words) if words else 0.0
    reason = _ADAPTED if share >= 0.5 else _FOREIGN
    return CheckedSentence(claim.text, False, named, share / 2, reason)


def _with_place(sentence: CheckedSentence, claim: Claim, cited: Mapping[int, Source]) -> CheckedSentence:
    for number in sentence.sources:
        place = locate(claim.words, cited[number].chunk.text)
        if place:
            return _at(sentence, cited[number], place)
    return sentence


def _at(sentence: CheckedSentence, source: Source, place: tuple[int, int]) -> CheckedSentence:
    chunk = source.chunk
    start, end = chunk.start + place[0], chunk.start + place[1]
    return replace(sentence, start=start_in_file(chunk, start), end=end_in_file(chunk, end))
