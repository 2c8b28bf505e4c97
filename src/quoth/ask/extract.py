"""Evidence → an answer in the book's own words.

In: the question and the passages found for it. Out: a `Draft`: the piece of the book that answers, whole and verbatim,
with the decisive sentence marked in each citation. Three steps: `asked` says what is wanted, here every sentence of the
passages is weighed (the rarity of the question's words in it, what kind of answer is asked for, how well its passage
was found, how much of the answer the reader sees in it), and `expand` makes a whole piece of the best. No model is
called. Whether to answer at all is decided elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from quoth.ask.asked import INSTRUCTIONS, Asked, Wanted, asked, identifiers
from quoth.ask.blocks import Block, Layout, layout
from quoth.ask.expand import LEANING, LONG, Expansion
from quoth.ask.kinds import Holds, kind_asked
from quoth.ask.quotes import Piece, Place, book_order, composed
from quoth.domain import Draft, Evidence, Passage
from quoth.text.sentences import fold
from quoth.text.terms import ContentTerm, kinship, query_terms, term_ids

READER_WEIGHT = 0.6  # of the share of the answer that the reader sees in a sentence, against the cover of its words


@dataclass(frozen=True, slots=True)
class ExtractiveOptions:
    most_words: int = 120  # with these, no further piece is added; a block that answers may be longer
    most_pieces: int = 3
    longest_table: int = 8  # rows: a short table is clearer whole than one row of it


@dataclass(frozen=True, slots=True)
class _Weighing:
    """What every sentence is held against."""

    asked: Asked
    terms: tuple[tuple[ContentTerm, float], ...]  # with their idf
    total: float
    names: tuple[str, ...]  # identifiers of the question, in small letters
    subject: frozenset[int]  # the words of what is to be defined
    holds: Holds | None  # whether a sentence has a thing of the kind that is asked for
    expansion: Expansion

    def cover(self, own: frozenset[int], around: frozenset[int], text: str, near: float = 1 / 3) -> float:
        """The share of the question's weight that is in the sentence. A relative of a word counts for as much as the
        two share, the sentence's surroundings for `near`."""
        shares = (
            (weight, 1.0 if term.found_in(own) else max(kinship(term.text, text), term.found_in(around) * near))
            for term, weight in self.terms
        )
        return sum(weight * share for weight, share in shares) / self.total


@dataclass(frozen=True, slots=True)
class _Candidate:
    score: float
    place: Place
    ids: frozenset[int]
    text: str


_REASON = re.compile(
    r"\b(?:because|since|so that|in order to|therefore|due to|reasons?|otherwise|(?:that|which) is why"
    r"|as a result)\b",
    re.IGNORECASE,
)
_DEFINES = re.compile(
    r"\s(?:is|are|means|refers? to|describes?|stands? for|denotes?|represents?|provides?|lets?|allows?)\s"
    r"|\s[—–:-]\s|:\**\s|\n:[ \t]"
)
_SHOWS = re.compile(r"\b(?:for example|for instance|such as|e\.g\.|suppose|consider|imagine)\b", re.IGNORECASE)
_EXERCISE = re.compile(r"\b(?:exercises?|quiz|check yourself|review|questions?|practi[cs]e|try it|challenge)\b", re.I)
_SUMMARY = re.compile(r"\b(?:summary|recap|in short|overview|key (?:points|takeaways)|conclusions?|tl;?dr)\b", re.I)
_GLOSSARY = re.compile(r"\b(?:glossary|terminology|terms|definitions|vocabulary)\b", re.IGNORECASE)
_BRACKETED = re.compile(r"\s*\([^)]*\)\s*\Z")
_DIGITS = re.compile(r"\d")
_CODE_SPAN = re.compile(r"`+[^`]*`+")
_LOOKS_LIKE_MARKER = re.compile(r"\[\d{1,3}(?:\s*,\s*\d{1,3})*\](?![(:])")
_MOST_PASSAGES = 5  # later ones are read only by a language model
_COMPANION_RATIO = 0.8  # a further piece of the best one's passage must be nearly as good …
_ELSEWHERE_RATIO = 0.95  # … and one of another passage, which is another thing to read, its equal
_ORDINARY_IDF = 3.0  # for a term whose rarity was not measured
_CARRIED = 1 / 2  # what the words taken over from the conversation may weigh together: they say where, not what
_HEARD = 0.3  # off a sentence that was quoted just before: readers who go on asking seldom ask for it again
_NEAR = 1 / 3  # what the words around a sentence count …
_NEAR_BLOCK = 0.6  # … and those around code, a list or a table that is asked for: they have few words of their own
_BOTH_SIDES = 0.75  # of the words of each side, for a block to be a comparison
# The reader sees an answer that is in one place; steps, lists and sides of a comparison it sees in part.
_ONE_PLACE: tuple[Wanted, ...] = ("definition", "value", "why", "fact")
_SHOWN_AS_CODE: tuple[Wanted, ...] = ("how_to", "example")


def draft(question: str, evidence: Evidence, options: ExtractiveOptions = ExtractiveOptions()) -> Draft:
    passages = evidence.passages[:_MOST_PASSAGES]
    layouts = [layout(passage.chunk) for passage in passages]
    weighing = _weighing(question, evidence, layouts)
    found = sorted(_candidates(passages, layouts, weighing, evidence), key=lambda one: (-one.score, one.place))
    pieces = _sides(found, passages, layouts, weighing, evidence) if weighing.asked.sides else []
    pieces = pieces or _pieces(found, layouts, weighing, options) or _nearest_block(layouts)
    drafted = composed(_in_order(pieces, passages, weighing.asked), passages, layouts, options.longest_table)
    note = INSTRUCTIONS[weighing.asked.instruction] if weighing.asked.instruction and drafted.text else ""
    return Draft(drafted.text, drafted.citations, note)


def _weighing(question: str, evidence: Evidence, layouts: Sequence[Layout]) -> _Weighing:
    what = asked(question)
    idf = {term.id: term.idf if term.in_book else 0.0 for term in evidence.terms}
    follows = evidence.query.startswith(question.strip())
    own = term_ids((what.subject if what.instruction else "") or question) if follows else frozenset()
    known = [(term, idf.get(term.id, _ORDINARY_IDF)) for term in query_terms(evidence.query)]
    mine = sum(weight for term, weight in known if term.id in own)
    carried = sum(weight for _, weight in known) - mine
    share = min(1.0, _CARRIED * mine / carried) if mine and carried else 1.0
    if what.instruction and mine:
        share = 0.0  # "give me", "explain", "simple words": they ask for nothing in the book
    terms = tuple((term, weight if term.id in own else weight * share) for term, weight in known)
    return _Weighing(
        asked=what,
        terms=terms,
        total=sum(weight for _, weight in terms) or 1.0,
        names=tuple(name.lower() for name in identifiers(question)),
        subject=term_ids(what.subject),
        holds=kind_asked(question),
        expansion=Expansion(layouts, what, question, evidence.exclude_quotes),
    )


# --- weighing --------------------------------------------------------------------------------------------------------


def _candidates(
    passages: Sequence[Passage], layouts: Sequence[Layout], weighing: _Weighing, evidence: Evidence
) -> Iterator[_Candidate]:
    best = max((passage.similarity for passage in passages), default=0.0) or 1.0
    for rank, passage in enumerate(passages):
        here, chunk = layouts[rank], passage.chunk
        above = term_ids(" ".join((chunk.title, *chunk.heading_path)))
        before: frozenset[int] = frozenset()
        prior = 0.4 * passage.similarity / best - 0.02 * rank
        for position, unit in enumerate(here.units):
            if unit.kind in ("heading", "header") or (unit.kind == "code" and not weighing.asked.example):
                continue
            text = here.text(position)
            ids = term_ids(text)
            said = ids | term_ids(f"{here.block(position).tab}\n{here.header(position)}")
            if _explains_heading(weighing, here, position):
                said |= above
            around = above | before | _block_ids(here, position, weighing.asked)
            near = _NEAR_BLOCK if _shows_block(weighing.asked, here, position) else _NEAR
            score = weighing.cover(said, around, text.lower(), near)
            score += prior + _fit(weighing, here, position, text) + 0.15 * weighing.expansion.fits(rank, position)
            if passage.reading is not None and weighing.asked.wanted in _ONE_PLACE:
                score += READER_WEIGHT * passage.reading.share(unit.start, unit.end)
            before = ids
            if any(text in quote for quote in evidence.previous_quotes):
                score -= _HEARD
            excluded = any(text in quote for quote in evidence.exclude_quotes)
            if not excluded and (unit.kind == "code" or _quotable(text)):
                yield _Candidate(score, (rank, position), ids, text)


def _block_ids(here: Layout, position: int, what: Asked) -> frozenset[int]:
    """Of a list or of steps: the words of the whole block and of what introduces it."""
    block = here.block(position)
    if what.wanted not in ("list", "how_to", "comparison") or block.kind == "paragraph":
        return frozenset()
    introduction = here.introduction(block, loosely=what.wanted == "list")
    first = introduction.first if introduction else block.first
    return term_ids(here.chunk.text[here.units[first].start : here.units[block.last].end])


def _fit(weighing: _Weighing, here: Layout, position: int, text: str) -> float:
    """What the form of the sentence says for it or against it."""
    unit, words = here.units[position], len(text.split())
    fit = -0.3 if words < 4 and unit.kind not in ("row", "code") else 0.0
    fit -= 0.1 if words > 70 else 0.0
    if unit.kind == "code":  # so many words hold some of the question's by chance
        fit -= 0.1 if weighing.asked.wanted in ("how_to", "example") else 0.2
    if weighing.asked.wanted != "quiz" and _EXERCISE.search(_heading(here)):
        fit -= 0.4
    fit -= 0.4 if text.endswith("?") and weighing.asked.wanted != "quiz" else 0.0
    fit -= 0.05 if LEANING.match(text) else 0.0
    if weighing.names:
        fit += 0.25 * sum(name in text.lower() for name in weighing.names) / len(weighing.names)
    if weighing.holds is not None:
        fit += 0.1 if weighing.holds(text) else -0.05
    return fit + _fit_of_kind(weighing, here, position, text)


def _fit_of_kind(weighing: _Weighing, here: Layout, position: int, text: str) -> float:
    block = here.block(position)
    following = here.introduces(block, loosely=weighing.asked.wanted == "list") if position == block.last else None
    beside_code = _beside_code(here, position)
    wanted, fit = weighing.asked.wanted, 0.0
    if text.endswith(":") and following is None:
        fit -= 0.2
    if weighing.asked.example and (beside_code or "`" in text):
        fit += 0.2 if beside_code else 0.05
    if wanted == "how_to":
        fit += 0.1 if block.ordered else 0.0
        fit -= 0.4 if _GLOSSARY.search(" ".join(here.chunk.breadcrumb)) else 0.0  # it says what, not how
    elif wanted == "list":
        fit += 0.2 if following and following.kind != "code" else 0.1 if block.kind in ("list", "table") else 0.0
    elif wanted == "value" and _DIGITS.search(text) and weighing.holds is not None:
        fit += 0.05
    elif wanted == "why" and _REASON.search(text):
        fit += 0.15
    elif wanted in ("definition", "simpler", "translation"):
        fit += _definition(weighing, here, block, text)
    elif wanted == "example":
        fit += 0.4 if here.units[position].kind == "code" else 0.2 if _SHOWS.search(text) else 0.0
    elif wanted == "quiz":
        fit += 0.4 if _EXERCISE.search(_heading(here)) else 0.2 if text.endswith("?") else 0.0
    elif wanted == "summary":
        fit += 0.5 if _SUMMARY.search(_heading(here)) else 0.0
        if block == _first_paragraph(here) and weighing.subject:
            fit += 0.2 + 0.4 * len(weighing.subject & term_ids(_heading(here))) / len(weighing.subject)
    return fit


def _shows_block(what: Asked, here: Layout, position: int) -> bool:
    """Whether the sentence belongs to a block of the kind that the question wants, or announces one."""
    block = here.block(position)
    if what.wanted in ("how_to", "example"):
        return block.kind == "code" or _beside_code(here, position)
    if what.wanted != "list":
        return False
    return block.kind in ("list", "table") or (position == block.last and bool(here.introduces(block, loosely=True)))


def _beside_code(here: Layout, position: int) -> bool:
    block = here.block(position)
    following = here.after(block)
    if block.kind == "list":
        return position + 1 < len(here.units) and here.units[position + 1].kind == "code"
    return position == block.last and following is not None and following.kind == "code"


def _definition(weighing: _Weighing, here: Layout, block: Block, text: str) -> float:
    """The entry of a glossary, then the first paragraph below a heading that is the term, then a defining sentence."""
    fit = 0.3 if _is_definition(weighing, text) else 0.0
    if block == _first_paragraph(here) and _is_term(weighing, _heading(here)):
        fit = max(fit, 0.3) + (0.3 if _GLOSSARY.search(" ".join(here.chunk.breadcrumb)) else 0.1)
    return fit


def _explains_heading(weighing: _Weighing, here: Layout, position: int) -> bool:
    """The first paragraph below a heading speaks of what the heading names, whether it repeats the name or not."""
    if here.block(position) != _first_paragraph(here):
        return False
    return weighing.asked.wanted == "summary" or (bool(weighing.subject) and _is_term(weighing, _heading(here)))


def _heading(here: Layout) -> str:
    return here.chunk.heading_path[-1] if here.chunk.heading_path else here.chunk.title


def _first_paragraph(here: Layout) -> Block | None:
    return next((block for block in here.blocks if block.kind == "paragraph"), None)


def _is_term(weighing: _Weighing, heading: str) -> bool:
    """Whether a heading says the term and nothing else; what it has in brackets does not count."""
    return bool(weighing.subject) and term_ids(_BRACKETED.sub("", heading)) in (
        weighing.subject,
        term_ids(_BRACKETED.sub("", weighing.asked.subject)),
    )


def _is_definition(weighing: _Weighing, text: str) -> bool:
    """The words asked about come before the verb, and little else does."""
    verb = _DEFINES.search(text)
    head = text[: verb.start()] if verb else text.strip("| ").split("|")[0] if text.startswith("|") else ""
    if not head or len(head.split()) > 7:
        return False
    ids = term_ids(head)
    if weighing.subject and weighing.subject <= ids:
        return True
    return sum(weight for term, weight in weighing.terms if term.found_in(ids)) >= 0.6 * weighing.total


def _quotable(text: str) -> bool:
    """A bracketed number would be taken for a citation."""
    return not _LOOKS_LIKE_MARKER.search(_CODE_SPAN.sub("", text))


# --- choosing --------------------------------------------------------------------------------------------------------


def _pieces(
    found: Sequence[_Candidate], layouts: Sequence[Layout], weighing: _Weighing, options: ExtractiveOptions
) -> list[Piece]:
    pieces: list[Piece] = []
    said: list[frozenset[int]] = []
    seen: set[str] = set()
    taken: set[Place] = set()
    words = 0
    for candidate in found:
        if len(pieces) >= options.most_pieces or words >= options.most_words:
            break
        ratio = _COMPANION_RATIO if candidate.place[0] == found[0].place[0] else _ELSEWHERE_RATIO
        if candidate.score < ratio * found[0].score:
            continue
        if candidate.place in taken or fold(candidate.text) in seen:
            continue
        if _beside_another(candidate.place, pieces, layouts, weighing):
            continue
        if any(_alike(candidate.ids, one) for one in said):
            continue
        places = _readable(weighing.expansion.around(*candidate.place) | {candidate.place}, layouts) - taken
        length = weighing.expansion.words(places)
        if pieces and words + length > options.most_words:
            continue
        pieces.append(Piece(frozenset(places), candidate.place, candidate.score))
        taken |= places
        texts = [layouts[rank].text(position) for rank, position in places]
        said.extend(term_ids(text) for text in texts)
        seen.update(fold(text) for text in texts)
        words += length
    return pieces


def _beside_another(place: Place, pieces: list[Piece], layouts: Sequence[Layout], weighing: _Weighing) -> bool:
    """Two items of one list are one answer: the list. Joins them where the place is beside a piece."""
    rank, position = place
    block = layouts[rank].block(position)
    for at, piece in enumerate(pieces):
        if block.kind == "list" and any(of == rank and one in block.positions for of, one in piece.places):
            whole = _readable(weighing.expansion.whole(rank, block), layouts) | piece.places
            if weighing.expansion.words(whole) <= LONG:
                pieces[at] = replace(piece, places=frozenset(whole))
            return True
    return False


def _readable(places: frozenset[Place] | set[Place], layouts: Sequence[Layout]) -> set[Place]:
    """Without headings, and without sentences that a reader could take for something else."""
    return {
        (rank, position)
        for rank, position in places
        if layouts[rank].units[position].kind != "heading"
        and (layouts[rank].units[position].kind == "code" or _quotable(layouts[rank].text(position)))
    }


def _alike(one: frozenset[int], other: frozenset[int]) -> bool:
    return len(one & other) > 0.75 * min(len(one), len(other)) if one and other else False


def _in_order(pieces: Sequence[Piece], passages: Sequence[Passage], what: Asked) -> list[Piece]:
    """As the book has them; but a definition comes first, and the sides of a comparison as they were named."""
    if what.sides:
        return list(pieces)
    first = pieces[:1] if what.wanted in ("definition", "simpler", "translation") else pieces[:0]

    def place(piece: Piece) -> tuple[object, ...]:
        return *book_order(passages[piece.decisive[0]].chunk), min(piece.places)

    return [*first, *sorted(pieces[len(first) :], key=place)]


def _sides(
    found: Sequence[_Candidate],
    passages: Sequence[Passage],
    layouts: Sequence[Layout],
    weighing: _Weighing,
    evidence: Evidence,
) -> list[Piece]:
    """The block that has both sides; else one piece for each; none where a side is nowhere in the passages."""
    sides = [list(query_terms(side)) for side in weighing.asked.sides]
    if not all(sides):
        return []
    if both := _with_both(found, layouts, weighing, sides):
        return [both]
    pieces: list[Piece] = []
    taken: set[Place] = set()
    for terms in sides:
        scored = [(_share(terms, one.ids) + 0.5 * one.score, one) for one in found if _share(terms, one.ids) > 0]
        best = max(scored, key=lambda pair: (pair[0], -pair[1].place[0]), default=None)
        if best is None:
            return []
        places = _readable(weighing.expansion.around(*best[1].place) | {best[1].place}, layouts) - taken
        if places:
            decisive = best[1].place if best[1].place in places else min(places)
            pieces.append(Piece(frozenset(places), decisive, best[0]))
            taken |= places
    return pieces


def _with_both(
    found: Sequence[_Candidate], layouts: Sequence[Layout], weighing: _Weighing, sides: Sequence[list[ContentTerm]]
) -> Piece | None:
    best: Piece | None = None
    for rank, here in enumerate(layouts):
        for block in here.blocks:
            if block.kind in ("heading", "code"):
                continue
            text = here.chunk.text[here.units[block.first].start : here.units[block.last].end]
            ids = term_ids(text) | term_ids(" ".join(here.chunk.heading_path))
            least = min(_share(terms, ids) for terms in sides)
            inside = [one for one in found if one.place[0] == rank and one.place[1] in block.positions]
            if least < _BOTH_SIDES or not inside:
                continue
            score = least + inside[0].score + _faces_off(here, block, sides)
            if best is None or score > best.score:
                places = _readable(weighing.expansion.whole(rank, block), layouts)
                best = Piece(frozenset(places | {inside[0].place}), inside[0].place, score)
    return best


def _faces_off(here: Layout, block: Block, sides: Sequence[list[ContentTerm]]) -> float:
    """A sentence compares two things where it has both, a table where each has a column or a row of its own."""
    if block.kind != "table":
        both = (all(_share(terms, term_ids(here.text(at))) >= _BOTH_SIDES for terms in sides) for at in block.positions)
        return 0.1 if any(both) else 0.0
    first_cells = [here.text(at).strip("| ").split("|")[0] for at in block.positions if here.units[at].kind == "row"]
    columns = here.header(block.first).split("\n")[0].split("|")
    for cells in (first_cells, columns):
        if all(sum(_share(terms, term_ids(cell)) >= _BOTH_SIDES for cell in cells) == 1 for terms in sides):
            return 0.3
    return -0.2


def _share(terms: Sequence[ContentTerm], ids: frozenset[int]) -> float:
    return sum(term.found_in(ids) for term in terms) / len(terms)


def _nearest_block(layouts: Sequence[Layout]) -> list[Piece]:
    """Passages of nothing but code (or of nothing quotable at all) still answer with what they hold."""
    for kinds in (("code",), ("row", "item", "prose"), ("heading", "header")):
        for rank, here in enumerate(layouts):
            for position, unit in enumerate(here.units):
                if unit.kind in kinds:
                    return [Piece(frozenset({(rank, position)}), (rank, position))]
    return []
