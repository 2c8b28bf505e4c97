"""The sides of a comparison → the block of the book that has both, or one excerpt for each.

In: the weighed sentences, the layouts of their passages, what is asked. Out: pieces to quote; none if a side is nowhere
in the passages. A table compares two things if each has a column or a row of its own, a paragraph if it names both. A
text holds a name only as it is written: what is *deployed* is not a *Deployment*.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from quoth.ask.asked import Asked
from quoth.ask.blocks import Block, Layout
from quoth.ask.forms import defining
from quoth.ask.quotes import Piece, Place
from quoth.ask.weigh import Candidate, Weighing, readable
from quoth.text.terms import ContentTerm, names_something, query_terms, term_ids

_BOTH = 0.75  # share of each side's words that a block needs to be a comparison

# What sets two things apart, and what only names them together ("both soft and hard limits").
_CONTRASTS = re.compile(
    r"\b(?:whereas|while|but|unlike|instead|however|rather|contrast|differ\w*|than|not|only|other|except|opposed)\b|n['’]t\b|;\s",
    re.IGNORECASE,
)
_ALIKE = re.compile(r"\bboth\b", re.IGNORECASE)

_NAMES_BOTH = 0.1
_OPENING = 6  # words of a sentence

Side = Sequence[ContentTerm]


def sides_of(found: Sequence[Candidate], layouts: Sequence[Layout], held: Weighing) -> list[Piece]:
    sides = [query_terms(side) for side in held.asked.sides]
    if not all(sides):
        return []
    both, compares = _with_both(found, layouts, held, sides)
    if both and compares:
        return [both]
    pieces, explained = _excerpts(found, layouts, held, sides)
    return [both] if both and not explained else pieces


def _excerpts(
    found: Sequence[Candidate], layouts: Sequence[Layout], held: Weighing, sides: Sequence[Side]
) -> tuple[list[Piece], bool]:
    """One excerpt for each side, and whether each says what its side is, or at least begins with it."""
    pieces: list[Piece] = []
    taken: set[Place] = set()
    explained = True
    for name, side in zip(held.asked.sides, sides, strict=True):
        best, meaning = _excerpt(name, side, found, layouts, held)
        if best is None:
            return [], False
        explained = explained and (meaning > 0 or _share(side, _opening(best.text)) == 1)
        places = readable(held.expansion.around(*best.place) | {best.place}, layouts) - taken
        if places:
            decisive = best.place if best.place in places else min(places)
            pieces.append(Piece(frozenset(places), decisive, best.score))
            taken |= places
    return pieces, explained


def _excerpt(
    name: str, side: Side, found: Sequence[Candidate], layouts: Sequence[Layout], held: Weighing
) -> tuple[Candidate | None, float]:
    """The sentence that says most about one side, above all what it is, and how much it says of that."""
    sought = replace(held.sought, asked=Asked("definition", name), subject=term_ids(name))

    def meaning(one: Candidate) -> float:
        rank, position = one.place
        return defining(sought, layouts[rank], position, one.text)

    def worth(one: Candidate) -> float:
        return _share(side, one.text) + 0.5 * one.unread + meaning(one)

    about = [one for one in found if _share(side, one.text) > 0]
    best = max(about, key=lambda one: (worth(one), -one.place[0]), default=None)
    return best, meaning(best) if best else 0.0


def _with_both(
    found: Sequence[Candidate], layouts: Sequence[Layout], held: Weighing, sides: Sequence[Side]
) -> tuple[Piece | None, bool]:
    """The block that has both sides, and whether it compares them or only names them."""
    best, compares = None, False
    of_block: dict[tuple[int, int], list[Candidate]] = {}
    for one in found:
        of_block.setdefault((one.place[0], layouts[one.place[0]].at[one.place[1]]), []).append(one)
    for rank, here in enumerate(layouts):
        for at, block in enumerate(here.blocks):
            if block.kind in ("heading", "code"):
                continue
            text = here.chunk.text[here.units[block.first].start : here.units[block.last].end]
            if block.kind == "table":
                text = "\n".join((text, here.header(block.first), *here.chunk.heading_path))
            least = min(_share(side, text) for side in sides)
            inside = of_block.get((rank, at), [])
            if least < _BOTH or not inside:
                continue
            faces = _faces_off(here, block, sides)
            score = least + inside[0].score + faces
            if best is None or score > best.score:
                places = readable(held.expansion.whole(rank, block), layouts)
                decisive = max(inside, key=lambda one: (min(_share(side, one.text) for side in sides), one.score)).place
                best, compares = Piece(frozenset(places | {decisive}), decisive, score), faces > _NAMES_BOTH
    return best, compares


def _faces_off(here: Layout, block: Block, sides: Sequence[Side]) -> float:
    """A sentence compares two things if it names both, a table if each has a column or a row of its own, and so does a
    text if each opens a sentence or an item that says more than its name."""
    if block.kind != "table":
        said = [here.text(at) for at in block.positions]
        both = [text for text in said if all(_share(side, text) >= _BOTH for side in sides)]
        if any(_CONTRASTS.search(text) and not _ALIKE.search(text) for text in both) or _in_turn(said, sides):
            return 0.25
        return _NAMES_BOTH if both else 0.0
    first_cells = [here.text(at).strip("| ").split("|")[0] for at in block.positions if here.units[at].kind == "row"]
    columns = here.header(block.first).split("\n")[0].split("|")
    for cells in (first_cells, columns):
        if all(sum(_share(side, cell) >= _BOTH for cell in cells) == 1 for side in sides):
            return 0.3
    return -0.2


def _in_turn(said: Sequence[str], sides: Sequence[Side]) -> bool:
    """Whether each side opens a sentence, without the other, that goes on to say something about it."""
    opening = [_opening(text) for text in said if len(text.split()) > _OPENING]
    ours = [[_share(side, text) >= _BOTH for side in sides] for text in opening]
    return all(any(mine[at] and sum(mine) == 1 for mine in ours) for at in range(len(sides)))


def _opening(text: str) -> str:
    return " ".join(text.split()[:_OPENING])


def _share(side: Side, text: str) -> float:
    ids = term_ids(text)
    return sum(term.found_in(ids) and _is_written(term.text, text) for term in side) / len(side)


def _is_written(word: str, text: str) -> bool:
    if not names_something(word) or not word.isalpha():
        return True
    return re.search(rf"(?<!\w){re.escape(word)}(?:e?s)?(?!\w)", text, re.IGNORECASE) is not None
