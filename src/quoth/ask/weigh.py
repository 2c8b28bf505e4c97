"""Every sentence of the passages, weighed: how well does it answer what is asked?

In: the question, the passages with their layouts. Out: a `Candidate` for each sentence that may be quoted. Its weight
is the share of the question's words in it (the rarer, the more), how well its passage was found, what its form says for
it (`forms`), and how much of the answer the reader sees in it. Words around a sentence count less than its own; a block
that is asked for (a list, code) is known by what introduces it. `extract` makes an answer of the best.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from quoth.ask.asked import Asked, Wanted, asked, identifiers
from quoth.ask.blocks import Block, Layout, layout
from quoth.ask.expand import Expansion
from quoth.ask.forms import Sought, explains_heading, fit, heading_of, shows_how
from quoth.ask.kinds import kind_asked
from quoth.ask.quotes import Place
from quoth.ask.references import LIGHT
from quoth.domain import Chunk, Evidence, Passage, Reading
from quoth.text.sentences import Sentence
from quoth.text.terms import ContentTerm, query_terms, term_ids

READER_WEIGHT = 1.0  # of the share of the answer that the reader sees in a sentence, relative to the cover of its words
DEFINING_WEIGHT = 0.5  # the same for a definition: its form says more, and the reader has learned from few
PARTLY_WEIGHT = 0.6  # the same for steps and comparisons: the reader finds only a part of them, but it finds the place
# In the first passage it also counts how much more the reader sees here than in its other sentences: even where it
# doubts that the passage answers, it often knows where the answer would be.
AMONG_WEIGHT = 0.5

_ORDINARY_IDF = 3.0  # for a term whose rarity was not measured
_CARRIED = 1 / 2  # total weight of the words carried over from the conversation: they say where, not what
_ASKING = 1 / 2  # weight of a word that says how something is asked for, not what: "the steps of", "the reason why"
_HEARD = 0.3  # taken off a sentence that was just quoted: a follow-up seldom asks for it again
_NEAR = 1 / 3  # weight of the words around a sentence …
_BEFORE_CODE = 20  # blocks that are looked through for the paragraph that code belongs to
_NEAR_BLOCK = 0.6  # … and of those around code, a list or a table that is asked for: they have few words of their own
# The reader finds an answer that is in one place; of a list it finds any item.
ONE_PLACE: tuple[Wanted, ...] = ("definition", "value", "why", "fact")
_FORM_WORDS = LIGHT | term_ids(
    "step command difference reason list way example code snippet sample syntax definition meaning overview summary"
)
_CODE_SPAN = re.compile(r"`+[^`]*`+")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_MACRO = re.compile(r"\s*\{\{[^{}]*\}\}\s*")
_VERSION = re.compile(r"\s*v?\d+(?:\.\d+)+\s*")
_LOOKS_LIKE_MARKER = re.compile(r"\[\d{1,3}(?:\s*,\s*\d{1,3})*\](?![(:])")


@dataclass(frozen=True, slots=True)
class Weighing:
    """What every sentence is compared with."""

    sought: Sought
    known: float  # the share of the question's words that the book has; no sentence can cover the others
    own: frozenset[int]  # the words of the question
    expansion: Expansion

    @property
    def asked(self) -> Asked:
        return self.sought.asked


@dataclass(frozen=True, slots=True)
class Candidate:
    score: float
    place: Place
    ids: frozenset[int]
    text: str
    cover: float = 0.0
    unread: float = 0.0  # the score without what the reader sees


def weighing(question: str, evidence: Evidence, layouts: Sequence[Layout]) -> Weighing:
    what = asked(question)
    terms = _weighted(question, what, evidence)
    measured = {term.id: term for term in evidence.terms}
    mine = [measured[term.id] for term in query_terms(question) if term.id in measured]
    whole = sum(term.idf for term in mine)
    return Weighing(
        sought=Sought(
            asked=what,
            terms=terms,
            total=sum(weight for _, weight in terms) or 1.0,
            names=tuple(name.lower() for name in identifiers(question)),
            subject=term_ids(what.subject),
            holds=kind_asked(question),
        ),
        known=sum(term.idf for term in mine if term.in_book) / whole if whole else 1.0,
        own=term_ids(question),
        expansion=Expansion(layouts, what, question, evidence.exclude_quotes),
    )


def _weighted(question: str, what: Asked, evidence: Evidence) -> tuple[tuple[ContentTerm, float], ...]:
    """The words of the query, each with its rarity; those that were carried over or only ask weigh less."""
    idf = {term.id: term.idf if term.in_book else 0.0 for term in evidence.terms}
    object_ = what.subject if what.instruction else ""  # what an instruction is about; the rest asks for nothing
    searched = object_ or (question if evidence.query.startswith(question.strip()) else "")
    own = term_ids(searched)
    known = [(term, idf.get(term.id, _ORDINARY_IDF)) for term in query_terms(evidence.query)]
    if any(term.id not in _FORM_WORDS and weight for term, weight in known):
        known = [(term, weight * (_ASKING if term.id in _FORM_WORDS else 1.0)) for term, weight in known]
    mine = sum(weight for term, weight in known if term.id in own)
    carried = sum(weight for _, weight in known) - mine
    share = min(1.0, _CARRIED * mine / carried) if mine and carried else 1.0
    if what.instruction and mine:
        share = 0.0  # "give me", "explain", "simple words": they ask for nothing in the book
    return tuple((term, weight if term.id in own else weight * share) for term, weight in known)


def candidates(
    passages: Sequence[Passage], layouts: Sequence[Layout], held: Weighing, evidence: Evidence
) -> Iterator[Candidate]:
    best = max((passage.similarity for passage in passages), default=0.0) or 1.0
    for rank, passage in enumerate(passages):
        here, chunk = layouts[rank], passage.chunk
        above = term_ids(" ".join((chunk.title, *chunk.heading_path)))
        before: frozenset[int] = frozenset()
        prior = 0.4 * passage.similarity / best - 0.02 * rank
        for position, unit in enumerate(here.units):
            text = here.text(position)
            if unit.kind in ("heading", "header") or (unit.kind == "code" and not _code_answers(held, text)):
                continue
            ids = term_ids(text)
            cover = _cover(held, here, position, above, before)
            score = held.known * cover + prior + fit(held.sought, here, position)
            score += 0.15 * held.expansion.fits(rank, position)
            sight = 0.0
            if passage.reading is not None and (held.asked.wanted in ONE_PLACE or shows_how(here, position)):
                sight = _reader_weight(held.asked.wanted) * seen(passage.reading, unit, first=rank == 0)
            before = ids
            if any(text in quote for quote in evidence.previous_quotes):
                score -= _HEARD
            excluded = any(text in quote for quote in evidence.exclude_quotes)
            if not excluded and (unit.kind == "code" or quotable(text)):
                yield Candidate(score + sight, (rank, position), ids, text, cover, unread=score)


def _reader_weight(wanted: Wanted) -> float:
    if wanted in ("how_to", "comparison"):
        return PARTLY_WEIGHT
    return DEFINING_WEIGHT if wanted == "definition" else READER_WEIGHT if wanted in ONE_PLACE else 0.0


def seen(reading: Reading, unit: Sentence, *, first: bool) -> float:
    """How much of the answer the reader sees in a sentence."""
    share = reading.share(unit.start, unit.end)
    return share + AMONG_WEIGHT * share / reading.whole() if share and first else share


def _cover(held: Weighing, here: Layout, position: int, above: frozenset[int], before: frozenset[int]) -> float:
    text = _about_it(held.asked, here.text(position))
    block = here.block(position)
    said = term_ids(f"{text}\n{block.tab}\n{here.header(position)}")
    around = above | before | _block_ids(here, position, held.asked)
    shows = _shows_block(held.asked, here, position)
    if explains_heading(held.sought, here, position):
        said |= above
    elif shows or (block.kind == "list" and here.before(block) in (None, here.heading)):
        said |= _introducing(here.chunk, block)
    return held.sought.cover(said, around, text.lower(), _NEAR_BLOCK if shows else _NEAR)


def _code_answers(held: Weighing, code: str) -> bool:
    """Where code is welcome, or has the very name that is asked about: the output of a command, an error message."""
    return held.asked.example or any(name in code.lower() for name in held.sought.names)


def _about_it(what: Asked, text: str) -> str:
    """A name that has the words of a term in it (`qos_profile_sensor_data`) says nothing about the term."""
    if what.wanted != "definition" or identifiers(what.subject):
        return text
    return _CODE_SPAN.sub(lambda code: code[0] if " " in code[0] or code[0].strip("`").isalnum() else " ", text)


@lru_cache(maxsize=256)  # asked for each item
def _introducing(chunk: Chunk, block: Block) -> frozenset[int]:
    """The words of the sentence that announces a block; without one, the heading announces the first block of its kind
    below it."""
    here = layout(chunk)
    introduction = here.introduction(block) if block.kind != "paragraph" else None
    if introduction is not None:
        return term_ids(here.text(introduction.last))
    first = next((one for one in here.blocks if one.kind == block.kind), None)
    return term_ids(heading_of(here)) if first == block and block.kind != "paragraph" else frozenset()


def _block_ids(here: Layout, position: int, what: Asked) -> frozenset[int]:
    """For code, a list or steps: the words of the block and of what introduces it."""
    block = here.block(position)
    if block.kind != "code" and (what.wanted not in ("list", "how_to", "comparison") or block.kind == "paragraph"):
        return frozenset()
    return _ids_around(here.chunk, block, loosely=what.wanted == "list")


@lru_cache(maxsize=256)  # asked for each item
def _ids_around(chunk: Chunk, block: Block, *, loosely: bool) -> frozenset[int]:
    here = layout(chunk)
    if block.kind == "code":  # it is about what the last paragraph before it is about
        at = here.at[block.first]
        near = (here.blocks[one] for one in range(at - 1, max(-1, at - 1 - _BEFORE_CODE), -1))
        said = next((one for one in near if one.kind == "paragraph"), None)
        return term_ids(" ".join(here.text(one) for one in said.positions)) if said else frozenset()
    introduction = here.introduction(block, loosely=loosely)
    first = introduction.first if introduction else block.first
    return term_ids(here.chunk.text[here.units[first].start : here.units[block.last].end])


def _shows_block(what: Asked, here: Layout, position: int) -> bool:
    """Whether the sentence belongs to a block of the kind that the question wants, or announces one."""
    block = here.block(position)
    if what.wanted in ("how_to", "example"):
        return block.kind == "code" or here.beside_code(position) or (what.wanted == "how_to" and block.ordered)
    if what.wanted != "list":
        return False
    return block.kind in ("list", "table") or (position == block.last and bool(here.introduces(block, loosely=True)))


def readable(places: Iterable[Place], layouts: Sequence[Layout]) -> set[Place]:
    """Without headings, and without sentences that a reader could mistake for something else."""
    return {
        (rank, position)
        for rank, position in places
        if layouts[rank].units[position].kind != "heading"
        and (layouts[rank].units[position].kind == "code" or quotable(layouts[rank].text(position)))
    }


def quotable(text: str) -> bool:
    """A bracketed number would be mistaken for a citation; a macro, HTML with a few words in it, or the version since
    which something exists says nothing."""
    said = _CODE_SPAN.sub("", text)
    if _LOOKS_LIKE_MARKER.search(said) or _MACRO.fullmatch(said) or _VERSION.fullmatch(text):
        return False
    return "<" not in said or 2 * sum(map(len, _TAG.findall(said))) <= len(said)
