"""Passages as an answer quotes them, for every test of what readers see."""

from __future__ import annotations

from quoth.ask.blocks import layout
from quoth.ask.quotes import Piece, composed
from quoth.domain import Chunk, Markup, Passage
from samples import chunk


def shown(text: str, markup: Markup = "markdown", lead: str = "") -> str:
    """All of a passage."""
    return drafted([chunk(text, markup=markup, lead=lead)])


def drafted(chunks: list[Chunk], last: int | None = None) -> str:
    layouts = [layout(one) for one in chunks]
    places = [
        (rank, position)
        for rank, here in enumerate(layouts)
        for position, unit in enumerate(here.units)
        if unit.kind != "heading"
    ]
    passages = [Passage(chunk=one, score=1.0, similarity=1.0) for one in chunks]
    return composed([Piece(frozenset(places[:last]), places[0])], passages, layouts, 8).text
