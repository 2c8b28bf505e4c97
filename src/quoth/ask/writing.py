"""A model's words → what a reader may see of them, and at the end what each of them rests on.

In: the passages that a model was shown and its text, in pieces as they arrive. Out: the text that goes to the reader,
and at any time that text as a `Draft` with its citations and the `Grounding` of every sentence. The words pass one pipe
of named stages: `_SupportGate` (only in `strict`) lets supported sentences through, `Renumbering` counts the markers in
order of appearance, `_RefusalGate` holds back what may yet turn out to be a refusal. What was shown is what is stored.
Sentences that words leave in doubt can be read before that (`settle`, `look_ahead`). Knows no model, no history and no
transport.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Protocol

from quoth.ask.check import NOTHING_SUPPORTED, GroundingPolicy, check_claim, check_claims, checkable, sources_of
from quoth.ask.claims import Claim, claims, is_claim
from quoth.ask.doubts import Doubts
from quoth.ask.grounds import Source, analyse
from quoth.ask.places import locate_code
from quoth.ask.refusals import may_refuse, refusal_in, refuses
from quoth.ask.support import Said, unread
from quoth.domain import Citation, Draft, Grounding, Passage
from quoth.ports import Reader
from quoth.text.markers import Renumbering, markers, renumbered, without_markers, without_unfinished
from quoth.text.sentences import sentences
from quoth.text.terms import ContentTerm, content_terms, term_ids

_LABEL_LEVEL = 7  # a bold label is below every heading
_ENDS = re.compile(r"[.!?…:。！？\n]")  # only then can another sentence be complete


class _Stage(Protocol):
    """One part of the pipe. It may hold words back, and gives out the rest at the end."""

    def feed(self, piece: str) -> str: ...

    def finish(self) -> str: ...


class Writing:
    """The pipe. With `mark` nothing is held longer than a marker takes to arrive; with `strict` a sentence is held
    until the next one has begun. A text that begins like the `refusal` is held until it no longer does."""

    def __init__(
        self,
        passages: Sequence[Passage],
        question: str = "",
        policy: GroundingPolicy = "mark",
        *,
        refusal: str = "",
        whole: bool = False,
    ) -> None:
        """With `whole` the text is read only when it is complete, so all of it comes with `finish`."""
        self._passages: list[Passage] = []
        self._question = question
        self._sources: dict[int, Source] = {}
        self._doubts = Doubts()
        self._gate = _SupportGate(self._sources, question, self._doubts.said) if policy == "strict" else None
        self._numbering = Renumbering(())
        self._refusal = _RefusalGate(refusal, whole=whole)
        self._stages: list[_Stage] = [*([self._gate] if self._gate else []), self._numbering, self._refusal]
        self._shown: list[str] = []
        self.add(passages)

    def add(self, passages: Sequence[Passage]) -> None:
        """More passages that the model was given; their numbers go on from the last."""
        first = len(self._passages) + 1
        self._passages += passages
        if self._gate:  # otherwise they are analysed when the text is complete and has been read
            self._sources.update((number, analyse(passage.chunk)) for number, passage in enumerate(passages, first))
        self._numbering.know(range(first, len(self._passages) + 1))

    async def look_ahead(self, piece: str, reader: Reader | None, *, last: bool = False) -> None:
        """Before `feed`, or `finish` with `last`: the sentences that a gate will decide on are read."""
        if self._gate and reader:
            self._gate.look_ahead(piece, last=last)
            await self._doubts.settle(reader)

    def feed(self, piece: str) -> str:
        for stage in self._stages:
            piece = stage.feed(piece)
        return self._show(piece)

    def finish(self) -> str:
        """The rest of the text, at its end."""
        rest = ""
        for stage in self._stages:
            rest = stage.feed(rest) + stage.finish()
        return self._show(rest)

    @property
    def begun(self) -> bool:
        """Whether the reader has read words of an answer; words that may yet be a refusal do not count."""
        return self._refusal.opened

    async def settle(self, reader: Reader | None) -> None:
        """Before the last `so_far`: the sentences that words leave in doubt are read."""
        if reader:
            self.so_far()
            await self._doubts.settle(reader)

    def so_far(self) -> tuple[Draft, Grounding]:
        """What the reader has seen, with its citations, each sentence checked."""
        text = "".join(self._shown)
        removed = self._gate.removed if self._gate else 0
        if self._gate and self._gate.withheld:
            return Draft(text, ()), Grounding(removed=removed)
        draft, grounding = cite(text, self._passages, self._numbering.order, self._question, self._doubts.said)
        return draft, replace(grounding, removed=removed)

    def _show(self, text: str) -> str:
        self._shown.append(text)
        return text


def drop_unsupported(draft: Draft, question: str = "") -> tuple[Draft, int]:
    """The draft without its unsupported sentences and the citations that only those had; how many were dropped."""
    gate = _SupportGate(sources_of(draft.citations), question)
    kept = gate.feed(draft.text) + gate.finish()
    if not gate.removed:
        return draft, 0
    if gate.withheld:
        return Draft(kept, ()), gate.removed
    text, order = renumbered(kept.rstrip(), {citation.index for citation in draft.citations})
    cited = [replace(one, index=order[one.index]) for one in draft.citations if one.index in order]
    return Draft(text, tuple(sorted(cited, key=lambda citation: citation.index))), gate.removed


# --- the stages ------------------------------------------------------------------------------------------------------


class _SupportGate:
    """Lets the supported sentences through. A heading waits for a sentence below it, a row needs its header."""

    def __init__(self, sources: Mapping[int, Source], question: str, said: Said = unread) -> None:
        self._sources = sources
        self._said = said
        self._asked = term_ids(question)
        self._text = ""
        self._at = 0  # everything up to here is decided
        self._waiting: list[tuple[int, str]] = []  # headings, with their levels
        self._headless = False  # the table that is being read has lost its header
        self._passed = ""  # the end of what was let through
        self.removed = 0
        self.withheld = False  # not one sentence was supported

    def look_ahead(self, piece: str, *, last: bool) -> None:
        """Checks what the next piece will decide, so that `said` is asked about it."""
        if last or _ENDS.search(piece):
            text = self._text + piece
            found = claims(text if last else without_unfinished(text))
            for claim in found if last else found[:-1]:
                if claim.begin >= self._at and is_claim(claim):
                    self._check(claim)

    def feed(self, piece: str) -> str:
        self._text += piece
        if not _ENDS.search(piece):
            return ""
        found = claims(without_unfinished(self._text))
        return "".join(self._decide(claim, after.begin) for claim, after in pairwise(found))  # the last may go on

    def finish(self) -> str:
        found = claims(self._text)
        ends = [*(claim.begin for claim in found[1:]), len(self._text)]
        rest = "".join(self._decide(claim, end) for claim, end in zip(found, ends, strict=bool(found)))
        self.withheld = self.removed > 0 and not self._passed
        return NOTHING_SUPPORTED if self.withheld else rest

    def _decide(self, claim: Claim, end: int) -> str:
        if claim.begin < self._at:
            return ""
        self._at = end
        segment = self._text[claim.begin : end]
        if not is_claim(claim):
            level = (len(claim.text) - len(claim.text.lstrip("#"))) or _LABEL_LEVEL
            self._waiting = [*(one for one in self._waiting if one[0] < level), (level, segment)]
            return ""
        out = self._pass(segment) if self._is_supported(claim) else self._remove(claim, segment)
        self._passed = out[-2:] or self._passed
        return out

    def _is_supported(self, claim: Claim) -> bool:
        if claim.kind != "row":
            self._headless = False
        if refuses(claim.words):  # it states nothing about the book's subject
            return True
        return not self._headless and self._check(claim)

    def _check(self, claim: Claim) -> bool:
        return check_claim(replace(claim, leans=()), self._sources, self._asked, said=self._said).supported

    def _pass(self, segment: str) -> str:
        above, self._waiting = "".join(heading for _, heading in self._waiting), []
        return above + segment

    def _remove(self, claim: Claim, segment: str) -> str:
        self.removed += 1
        self._headless = self._headless or claim.kind == "header"
        space = segment[len(segment.rstrip()) :]
        # The break after a removed sentence still ends the paragraph before it.
        stays = "\n" in space and self._passed and not self._waiting and not self._passed.endswith("\n")
        return space if stays else ""


class _RefusalGate:
    """Holds the first words back while they may still become a refusal: whether a model that begins with these words
    refuses is known only at its end. A refusal goes out without markers, because it has no sources."""

    def __init__(self, refusal: str, *, whole: bool) -> None:
        self._refusal = refusal
        self._whole = whole
        self._held = ""
        self.opened = False

    def feed(self, piece: str) -> str:
        if self.opened:
            return piece
        self._held += piece
        self.opened = not (self._whole or self._may_refuse())
        return self.finish() if self.opened else ""

    def finish(self) -> str:
        held, self._held = self._held, ""
        found = markers(held)
        return without_markers(held, found) if found and refusal_in(held, self._refusal) == "whole" else held

    def _may_refuse(self) -> bool:
        return self._refusal.startswith(self._held.strip(" \n.")) or may_refuse(self._held)


# --- the citations of an answer that a model wrote -------------------------------------------------------------------


def cite(
    text: str, passages: Sequence[Passage], order: Mapping[int, int], question: str = "", said: Said = unread
) -> tuple[Draft, Grounding]:
    """`passages` as the model was given them, from 1 on; `order`: their numbers there → their numbers in `text`."""
    of = checkable(text)
    by_number = _by_number(passages, order)
    named = set(order.values())
    # A sentence without a marker may rest on any passage. Without such a sentence only the named ones count.
    wanted = by_number if any(not claim.numbers for claim in of) else named
    sources = {number: analyse(passage.chunk) for number, passage in by_number.items() if number in wanted}
    grounding = check_claims(of, sources, question, said=said)
    final = _final_numbers(grounding, named, sources)
    citations = tuple(
        _citation(final[number], by_number[number], sources[number], _resting_on(number, of, grounding))
        for number in sorted(final, key=lambda number: final[number])
    )
    return Draft(text, citations), _renumber(grounding, final)


def _by_number(passages: Sequence[Passage], order: Mapping[int, int]) -> dict[int, Passage]:
    """The passages by their numbers in the text; those that it does not name come after the others."""
    uncited = [at for at in range(1, len(passages) + 1) if at not in order]
    numbers = {**order, **{at: len(order) + extra for extra, at in enumerate(uncited, 1)}}
    return {numbers[at]: passages[at - 1] for at in sorted(numbers, key=lambda at: numbers[at])}


def _final_numbers(grounding: Grounding, named: set[int], sources: Mapping[int, Source]) -> dict[int, int]:
    """Passages that the text does not name, but that hold sentences of it, come after those that it names."""
    used = dict.fromkeys(number for one in grounding.sentences for number in one.sources if number in sources)
    added = (number for number in used if number not in named)
    return {number: number for number in named} | {number: len(named) + extra for extra, number in enumerate(added, 1)}


def _renumber(grounding: Grounding, final: Mapping[int, int]) -> Grounding:
    return Grounding(
        tuple(
            replace(one, sources=tuple(final.get(number, number) for number in one.sources))
            for one in grounding.sentences
        )
    )


def _resting_on(number: int, of: Iterable[Claim], grounding: Grounding) -> list[Claim]:
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
    """Which of the words are there, by their places in the list."""
    return frozenset(at for at, term in enumerate(terms) if term.found_in(ids))
