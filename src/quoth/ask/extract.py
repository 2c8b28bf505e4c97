"""Evidence → an answer in the book's own words.

In: the question and the passages found for it. Out: a `Draft`: the piece of the book that answers, whole and verbatim,
with the decisive sentence marked in each citation. Three steps: `asked` says what is wanted, `weigh` weighs every
sentence of the passages, and `expand` makes a whole piece of the best ones (`sides` does so for a comparison). This
module decides how many pieces there are, and which. No model is called. Whether to answer at all is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from quoth.ask.asked import INSTRUCTIONS, Asked
from quoth.ask.blocks import Layout, layout
from quoth.ask.expand import LONG
from quoth.ask.forms import is_title
from quoth.ask.quotes import Piece, Place, book_order, composed
from quoth.ask.sides import sides_of
from quoth.ask.weigh import ONE_PLACE, Candidate, Weighing, candidates, readable, seen, weighing
from quoth.domain import Draft, Evidence, Passage
from quoth.text.sentences import fold
from quoth.text.terms import query_terms, term_ids


@dataclass(frozen=True, slots=True)
class ExtractiveOptions:
    most_pieces: int = 3
    longest_table: int = 8  # rows: a short table is clearer whole than one row of it


_MAY_GO_ON = ("list", "table", "code")
_MOST_WORDS = 120  # at this length no further piece is added; a block that answers may be longer
MOST_PASSAGES = 5  # later ones are read only by a language model
_COMPANION_RATIO = 0.8  # a further piece of the best one's passage must be nearly as good …
_ELSEWHERE_RATIO = 0.95  # … and one of another passage, which is one more thing to read, as good
_SEEN = 0.3  # of the answer: where the reader sees that much in one sentence of a piece, this one is decisive
_BEST_FIRST = (*ONE_PLACE, "simpler", "translation")  # steps and lists are read in the order of the book
_REPEATED = 15  # words: a longer piece says more than the question
_ITS_CODE = 0.5  # share of the question's words that code of the same section needs to belong to the steps


def draft(question: str, evidence: Evidence, options: ExtractiveOptions = ExtractiveOptions()) -> Draft:
    weighed = evidence.passages[:MOST_PASSAGES]
    passages = (*weighed, *_beside(weighed, evidence))
    layouts = [layout(passage.chunk) for passage in passages]
    held = weighing(question, evidence, layouts)
    found = sorted(candidates(weighed, layouts, held, evidence), key=lambda one: (-one.score, one.place))
    pieces = sides_of(found, layouts, held) if held.asked.sides else []
    pieces = pieces or _pieces(found, layouts, held, options) or _nearest_block(layouts[: len(weighed)])
    if held.asked.wanted == "how_to":
        pieces += _its_code(pieces, found, layouts, held)
    pieces = [_decided(piece, passages, layouts) for piece in pieces]
    drafted = composed(_in_order(pieces, passages, held.asked), passages, layouts, options.longest_table)
    note = INSTRUCTIONS[held.asked.instruction] if held.asked.instruction and drafted.text else ""
    return Draft(drafted.text, drafted.citations, note)


def unfinished(evidence: Evidence) -> list[str]:
    """The ids of chunks in which a list, a table or code of the best passages may go on, or may have begun."""
    best = [layout(passage.chunk) for passage in evidence.passages[:MOST_PASSAGES]]
    beside = [layout(chunk) for chunk in evidence.beside]
    wanted: dict[str | None, None] = {}
    for here in (*best, *(one for one in beside if len(one.blocks) == 1)):
        if here.blocks and here.blocks[0].kind in _MAY_GO_ON:
            wanted[here.chunk.prev_chunk_id] = None
        if here.blocks and (here.blocks[-1].kind in _MAY_GO_ON or here.announces(len(here.units) - 1)):
            wanted[here.chunk.next_chunk_id] = None
    known = {here.chunk.id for here in (*best, *beside)}
    return [one for one in wanted if one is not None and one not in known]


def _beside(weighed: Sequence[Passage], evidence: Evidence) -> list[Passage]:
    """Chunks that were not found, in which a block of one that was found goes on: as relevant as that one."""
    found = list(weighed)
    for chunk in evidence.beside:
        of = next((one for one in found if chunk.id in (one.chunk.next_chunk_id, one.chunk.prev_chunk_id)), None)
        if of is not None:
            found.append(Passage(chunk=chunk, score=of.score, similarity=of.similarity))
    return found[len(weighed) :]


def _pieces(
    found: Sequence[Candidate], layouts: Sequence[Layout], held: Weighing, options: ExtractiveOptions
) -> list[Piece]:
    pieces: list[Piece] = []
    said: list[frozenset[int]] = []
    seen: set[str] = set()
    taken: set[Place] = set()
    words = 0
    for candidate in found:
        if len(pieces) >= options.most_pieces or words >= _MOST_WORDS:
            break
        ratio = _COMPANION_RATIO if candidate.place[0] == found[0].place[0] else _ELSEWHERE_RATIO
        if candidate.score < ratio * found[0].score:
            continue
        if candidate.place in taken or fold(candidate.text) in seen:
            continue
        if _beside_another(candidate.place, pieces, layouts, held):
            continue
        if any(_alike(candidate.ids, one) for one in said):
            continue
        places = readable(held.expansion.around(*candidate.place) | {candidate.place}, layouts)
        if is_title(layouts[candidate.place[0]], candidate.place[1]) or (
            not pieces and _repeats(places, layouts, held)
        ):
            places |= readable(held.expansion.below(*candidate.place), layouts)
        places -= taken
        length = held.expansion.words(places)
        if pieces and words + length > _MOST_WORDS:
            continue
        pieces.append(Piece(frozenset(places), candidate.place, candidate.score))
        taken |= places
        texts = [layouts[rank].text(position) for rank, position in places]
        said.extend(term_ids(text) for text in texts)
        seen.update(fold(text) for text in texts)
        words += length
    return pieces


def _decided(piece: Piece, passages: Sequence[Passage], layouts: Sequence[Layout]) -> Piece:
    """A piece may have been chosen for the words that lead to the answer; the sentence that gives it is decisive."""

    def share(place: Place) -> float:
        rank, position = place
        reading, unit = passages[rank].reading, layouts[rank].units[position]
        return seen(reading, unit, first=rank == 0) if reading is not None else 0.0

    best = max(sorted(piece.places), key=share, default=piece.decisive)
    if share(best) < _SEEN or share(best) <= share(piece.decisive):
        return piece
    return replace(piece, decisive=best)


def _repeats(places: Iterable[Place], layouts: Sequence[Layout], held: Weighing) -> bool:
    """The piece says little more than the question: it is an error message or a heading."""
    text = " ".join(layouts[rank].text(position) for rank, position in sorted(places))
    new = [term for term in query_terms(text) if not term.found_in(held.own)]
    return len(new) <= 1 and len(text.split()) <= _REPEATED


def _its_code(
    pieces: Sequence[Piece], found: Sequence[Candidate], layouts: Sequence[Layout], held: Weighing
) -> list[Piece]:
    """For steps or advice without a command: the command that the same section shows."""
    taken = frozenset[Place]().union(*(piece.places for piece in pieces))
    if not pieces or any(layouts[rank].units[position].kind == "code" for rank, position in taken):
        return []
    section = _section(layouts[pieces[0].decisive[0]])
    for one in found:
        rank, position = one.place
        here = layouts[rank]
        if here.units[position].kind != "code" or one.cover < _ITS_CODE or _section(here) != section:
            continue
        places = readable(held.expansion.around(rank, position) | {one.place}, layouts) - taken
        if held.expansion.words(places | taken) <= LONG:
            return [Piece(frozenset(places), one.place, one.score)]
    return []


def _section(here: Layout) -> tuple[str, ...]:
    return (here.chunk.source_file, *here.chunk.heading_path)


def _beside_another(place: Place, pieces: list[Piece], layouts: Sequence[Layout], held: Weighing) -> bool:
    """Two items of one list are one answer: the list. Joins them if the place is next to a piece."""
    rank, position = place
    block = layouts[rank].block(position)
    for at, piece in enumerate(pieces):
        if block.kind == "list" and any(of == rank and one in block.positions for of, one in piece.places):
            whole = readable(held.expansion.whole(rank, block), layouts) | piece.places
            if held.expansion.words(whole) <= LONG:
                pieces[at] = replace(piece, places=frozenset(whole))
            return True
    return False


def _alike(one: frozenset[int], other: frozenset[int]) -> bool:
    return len(one & other) > 0.75 * min(len(one), len(other)) if one and other else False


def _in_order(pieces: Sequence[Piece], passages: Sequence[Passage], what: Asked) -> list[Piece]:
    """In the order of the book; but what is in one place comes first, and the sides of a comparison as they were
    named."""
    if what.sides:
        return list(pieces)
    first = pieces[:1] if what.wanted in _BEST_FIRST else pieces[:0]

    def place(piece: Piece) -> tuple[object, ...]:
        return *book_order(passages[piece.decisive[0]].chunk), min(piece.places)

    return [*first, *sorted(pieces[len(first) :], key=place)]


def _nearest_block(layouts: Sequence[Layout]) -> list[Piece]:
    """Passages with nothing but code, or with nothing quotable, still answer with what they hold."""
    for kinds in (("code",), ("row", "item", "prose"), ("heading", "header")):
        for rank, here in enumerate(layouts):
            for position, unit in enumerate(here.units):
                if unit.kind in kinds:
                    return [Piece(frozenset({(rank, position)}), (rank, position))]
    return []
