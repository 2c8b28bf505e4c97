"""Answer text + what it cites → each sentence, checked against its sources.

In: an answer with `[n]` markers, written by us or by a language model, and the passages behind the numbers. Out:
`Grounding`: a sentence is supported when it stands in a cited passage word for word, or when its exact parts all occur
there and the rest is likely enough said there (`support.py`). A marker without a source and a quote that is not in its
chunk support nothing; a sentence without a marker is attributed to the passages that say it, if any do. For answers
that a model writes, `settled` makes the citations, and `Writing` is the same for text that arrives in pieces.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Literal

from quoth.ask.claims import Claim, claims, is_claim
from quoth.ask.support import Source, code_lines, locate, locate_code, read, support, verbatim
from quoth.domain import CheckedSentence, Citation, Draft, Grounding, Passage
from quoth.text.markers import Renumbering, renumbered, without_unfinished
from quoth.text.offsets import end_in_file, start_in_file
from quoth.text.sentences import sentences
from quoth.text.terms import ContentTerm, content_terms, term_ids

GroundingPolicy = Literal["mark", "strict"]
MOST_ATTRIBUTED = 3  # passages that one sentence without a marker may rest on
NOTHING_SUPPORTED = "The answer is withheld: none of its sentences is supported by the passages that were found."
_ENDS = re.compile(r"[.!?…:。！？\n]")  # only then can another sentence be complete

_NOT_SAID = "the source does not say this"
_NOWHERE = "no source is named, and none says this"
_ADAPTED = "adapted: this code is not in the source as it stands"
_FOREIGN = "this code is not in the source"


def check(text: str, citations: Sequence[Citation], question: str = "") -> Grounding:
    if text == NOTHING_SUPPORTED:
        return Grounding()
    standing = _standing(citations)
    moved = {citation.index for citation in citations} - set(standing)
    return _checked([claim for claim in claims(text) if is_claim(claim)], standing, question, moved)


def sieved(draft: Draft, question: str = "") -> Draft:
    """Without its unsupported sentences, and without the citations that only those had."""
    sieve = _Sieve(_standing(draft.citations), question)
    kept = sieve.feed(draft.text) + sieve.finish()
    if not sieve.removed:
        return draft
    if not kept.strip():
        return Draft(NOTHING_SUPPORTED, (), sieve.removed)
    text, order = renumbered(kept.rstrip(), {citation.index for citation in draft.citations})
    cited = [replace(one, index=order[one.index]) for one in draft.citations if one.index in order]
    return Draft(text, tuple(sorted(cited, key=lambda citation: citation.index)), sieve.removed)


def _standing(citations: Sequence[Citation]) -> dict[int, Source]:
    return {citation.index: read(citation.chunk) for citation in citations if quote_stands(citation)}


def quote_stands(citation: Citation) -> bool:
    """The quote is exactly the slice of the chunk that its offsets name."""
    chunk = citation.chunk
    start, end = citation.start - chunk.start, citation.end - chunk.start
    return bool(citation.quote) and start >= 0 and chunk.text[start:end] == citation.quote


# --- checking --------------------------------------------------------------------------------------------------------


def _checked(
    of: Sequence[Claim], sources: Mapping[int, Source], question: str, moved: Collection[int] = ()
) -> Grounding:
    asked = term_ids(question)
    return Grounding(tuple(_judged(claim, sources, asked, moved) for claim in of))


def _judged(
    claim: Claim, sources: Mapping[int, Source], asked: frozenset[int], moved: Collection[int] = ()
) -> CheckedSentence:
    unknown = [number for number in claim.numbers if number not in sources]
    if unknown:
        moved_away = f"the quote of [{unknown[0]}] is not in its passage"
        reason = moved_away if unknown[0] in moved else f"there is no source [{unknown[0]}]"
        return CheckedSentence(claim.text, False, claim.numbers, 0.0, reason)
    cited = {number: sources[number] for number in claim.sources if number in sources}
    if claim.kind == "code":
        return _judged_code(claim, cited if claim.numbers else {**cited, **sources})
    found = support(claim.words, list(cited.values()), asked)
    if found.stands:
        return _placed(CheckedSentence(claim.text, True, tuple(cited), found.score), claim, cited)
    if not claim.numbers:  # whoever names no source may be helped to one
        anywhere = support(claim.words, list(sources.values()), asked)
        if anywhere.stands:
            numbers = _attributed(claim, sources)
            return _placed(CheckedSentence(claim.text, True, numbers, anywhere.score), claim, sources)
        found = found if cited else anywhere
    reason = found.missing or (_NOT_SAID if cited else _NOWHERE)
    return CheckedSentence(claim.text, False, tuple(cited), found.score, reason)


def _attributed(claim: Claim, sources: Mapping[int, Source]) -> tuple[int, ...]:
    """The passage that holds most of the sentence's words, then those that hold what is still missing."""
    word_for_word = verbatim(claim.words, list(sources.values()))
    if word_for_word:
        return tuple(number for number, source in sources.items() if source is word_for_word)[:1]
    left = content_terms(claim.words)
    chosen: list[int] = []
    while left and len(chosen) < MOST_ATTRIBUTED:
        held = {number: sum(term.found_in(source.ids) for term in left) for number, source in sources.items()}
        best = max(held, key=lambda number: held[number])
        if not held[best] or (chosen and held[best] == 1):  # one word alone is found in many places
            break
        chosen.append(best)
        left = [term for term in left if not term.found_in(sources[best].ids)]
    return tuple(chosen or list(sources)[:1])


def _judged_code(claim: Claim, cited: Mapping[int, Source]) -> CheckedSentence:
    for number, source in cited.items():
        place = locate_code(claim.words, source.chunk.text)
        if place:
            return _at(CheckedSentence(claim.text, True, (number,)), source, place)
    if not code_lines(claim.words):  # an empty block claims nothing
        return CheckedSentence(claim.text, True, tuple(n for n in claim.sources if n in cited))
    words = content_terms(claim.words)
    known = sum(any(term.found_in(source.ids) for source in cited.values()) for term in words)
    share = known / len(words) if words else 0.0
    reason = _ADAPTED if share >= 0.5 else _FOREIGN
    return CheckedSentence(claim.text, False, tuple(n for n in claim.sources if n in cited), share / 2, reason)


def _placed(sentence: CheckedSentence, claim: Claim, cited: Mapping[int, Source]) -> CheckedSentence:
    for number in sentence.sources:
        place = locate(claim.words, cited[number].chunk.text)
        if place:
            return _at(sentence, cited[number], place)
    return sentence


def _at(sentence: CheckedSentence, source: Source, place: tuple[int, int]) -> CheckedSentence:
    chunk = source.chunk
    start, end = chunk.start + place[0], chunk.start + place[1]
    return replace(sentence, start=start_in_file(chunk, start), end=end_in_file(chunk, end))


# --- the citations of an answer that a model wrote -------------------------------------------------------------------


def settled(
    text: str, passages: Sequence[Passage], order: Mapping[int, int], question: str = ""
) -> tuple[Draft, Grounding]:
    """`passages` as the model was given them, from 1 on; `order`: their numbers there → their numbers in `text`."""
    uncited = [at for at in range(1, len(passages) + 1) if at not in order]
    shown = {**order, **{at: len(order) + extra for extra, at in enumerate(uncited, 1)}}
    by_number = {shown[at]: passages[at - 1] for at in sorted(shown, key=lambda at: shown[at])}
    of = [claim for claim in claims(text) if is_claim(claim)]
    # What a sentence without a marker rests on may stand in any of them; otherwise only those that are named count.
    wanted = by_number if any(not claim.numbers for claim in of) else set(order.values())
    sources = {number: read(passage.chunk) for number, passage in by_number.items() if number in wanted}
    grounding = _checked(of, sources, question)
    # Passages that the text does not name, but that hold sentences of it, come after those that it names.
    named = set(order.values())
    added = dict.fromkeys(number for one in grounding.sentences for number in one.sources if number in sources)
    final = {number: number for number in named} | {
        number: len(named) + extra for extra, number in enumerate((n for n in added if n not in named), 1)
    }
    renamed = tuple(
        replace(one, sources=tuple(final.get(number, number) for number in one.sources)) for one in grounding.sentences
    )
    citations = tuple(
        _citation(final[number], by_number[number], sources[number], _resting_on(number, of, grounding))
        for number in sorted(final, key=lambda number: final[number])
    )
    return Draft(text, citations), Grounding(renamed)


def _resting_on(number: int, of: Sequence[Claim], grounding: Grounding) -> list[Claim]:
    both = list(zip(of, grounding.sentences, strict=True))
    resting = [claim for claim, one in both if number in one.sources and one.supported]
    return resting or [claim for claim, one in both if number in one.sources]


def _citation(index: int, passage: Passage, source: Source, resting: Sequence[Claim]) -> Citation:
    chunk = passage.chunk
    start, end = _quote(source, resting)
    return Citation(index, chunk, chunk.text[start:end], chunk.start + start, chunk.start + end, passage.similarity)


def _quote(source: Source, resting: Sequence[Claim]) -> tuple[int, int]:
    """The sentence of the passage, or two adjacent ones, that hold most of what rests on it."""
    for claim in resting:
        place = locate_code(claim.words, source.chunk.text) if claim.kind == "code" else None
        if place and len(resting) == 1:
            return place
    terms = content_terms(" ".join(claim.words for claim in resting))
    chunk = source.chunk
    units = sentences(chunk.text, lead=chunk.lead, markup=chunk.markup)
    quotable = [unit for unit in units if unit.kind != "heading"] or units
    held = [_held(terms, term_ids(chunk.text[unit.start : unit.end])) for unit in quotable]
    best, most = (0, len(chunk.text)), -1.0
    for at, one in enumerate(quotable):
        for last in range(at, min(at + 2, len(quotable))):
            # A longer quote must earn its length.
            worth = len(held[at] | held[last]) - (0.5 if last > at else 0.0)
            if worth > most:
                best, most = (one.start, quotable[last].end), worth
    return best


def _held(terms: Sequence[ContentTerm], ids: frozenset[int]) -> frozenset[int]:
    """Which of the words stand there, by their places in the list."""
    return frozenset(at for at, term in enumerate(terms) if term.found_in(ids))


# --- an answer that arrives in pieces --------------------------------------------------------------------------------


class Writing:
    """A model's text goes in as it comes; what may be shown goes out, its markers numbered in order of appearance.

    With `mark` nothing is held longer than a marker takes to arrive. With `strict` a sentence is held until the next
    one has begun, and goes out only if it is supported: what was shown is what is stored.
    """

    def __init__(self, passages: Sequence[Passage], question: str = "", policy: GroundingPolicy = "mark") -> None:
        self._passages: list[Passage] = []
        self._question = question
        self._sources: dict[int, Source] = {}
        self._sieve = _Sieve(self._sources, question) if policy == "strict" else None
        self._numbering = Renumbering(())
        self.add(passages)
        self._shown: list[str] = []
        self._withheld = False

    def add(self, passages: Sequence[Passage]) -> None:
        """More passages that the model was given; their numbers go on from the last."""
        first = len(self._passages) + 1
        self._passages += passages
        if self._sieve:  # else they are read when the text is complete, and nobody waits for it
            self._sources.update((number, read(passage.chunk)) for number, passage in enumerate(passages, first))
        self._numbering.know(range(first, len(self._passages) + 1))

    def feed(self, piece: str) -> str:
        return self._show(self._numbering.feed(self._sieve.feed(piece) if self._sieve else piece))

    def finish(self) -> str:
        """The rest of the text, at its end."""
        rest = self._numbering.feed(self._sieve.finish() if self._sieve else "") + self._numbering.close()
        self._withheld = bool(self._sieve and self._sieve.removed) and not ("".join(self._shown) + rest).strip()
        return self._show(NOTHING_SUPPORTED if self._withheld else rest)

    def settled(self) -> tuple[Draft, Grounding]:
        """What was shown, with its citations."""
        text = "".join(self._shown)
        removed = self._sieve.removed if self._sieve else 0
        if self._withheld:
            return Draft(text, (), removed), Grounding(removed=removed)
        draft, grounding = settled(text, self._passages, self._numbering.order, self._question)
        return replace(draft, removed=removed), replace(grounding, removed=removed)

    def _show(self, text: str) -> str:
        self._shown.append(text)
        return text


class _Sieve:
    """Lets the supported sentences through. A heading waits for a sentence below it, a row needs its header."""

    def __init__(self, sources: Mapping[int, Source], question: str) -> None:
        self._sources = sources
        self._asked = term_ids(question)
        self._text = ""
        self._at = 0  # up to here all is decided
        self._waiting: list[tuple[int, str]] = []  # headings, with their levels
        self._headless = False  # the table that is being read has lost its header
        self._passed = ""  # the end of what was let through
        self.removed = 0

    def feed(self, piece: str) -> str:
        self._text += piece
        if not _ENDS.search(piece):
            return ""
        found = claims(without_unfinished(self._text))
        return "".join(self._decided(claim, after.begin) for claim, after in pairwise(found))  # the last may go on

    def finish(self) -> str:
        found = claims(self._text)
        ends = [*(claim.begin for claim in found[1:]), len(self._text)]
        return "".join(self._decided(claim, end) for claim, end in zip(found, ends, strict=bool(found)))

    def _decided(self, claim: Claim, end: int) -> str:
        if claim.begin < self._at:
            return ""
        self._at = end
        return self._sifted(claim, self._text[claim.begin : end])

    def _sifted(self, claim: Claim, segment: str) -> str:
        if not is_claim(claim):
            level = len(claim.text) - len(claim.text.lstrip("#"))
            self._waiting = [*(one for one in self._waiting if one[0] < level), (level, segment)]
            return ""
        if claim.kind != "row":
            self._headless = False
        if not self._headless and _judged(replace(claim, leans=()), self._sources, self._asked).supported:
            out, self._waiting = "".join(heading for _, heading in self._waiting) + segment, []
        else:
            self.removed += 1
            self._headless = self._headless or claim.kind == "header"
            space = segment[len(segment.rstrip()) :]
            # The break behind a sentence that goes is still the end of the paragraph before it.
            stays = "\n" in space and self._passed and not self._waiting and not self._passed.endswith("\n")
            out = space if stays else ""
        self._passed = out[-2:] or self._passed
        return out
