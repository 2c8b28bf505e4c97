"""Where a term is to be explained, passages that explain it come before those that only use it.

In: what is asked, the ranked candidates and their chunks. Out: the candidates, best first, with something added to the
score of those in which a sentence defines the term or the heading names it (`forms.defining`). Nothing changes for
questions that ask for no definition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quoth.ask.asked import asked
from quoth.ask.blocks import layout
from quoth.ask.forms import Sought, defining
from quoth.ask.fuse import Scored
from quoth.domain import Chunk
from quoth.text.terms import ContentTerm, term_ids

_WEIGHT = 0.5  # of what the form of the best sentence says, which is seldom more than 0.6
_MOST = 0.25


def explained_first(
    question: str,
    words: Sequence[ContentTerm],
    idf: Mapping[int, float],
    ranked: Sequence[Scored],
    chunks: Mapping[str, Chunk],
) -> list[Scored]:
    what = asked(question)
    if what.wanted != "definition" or not what.subject:
        return list(ranked)
    terms = tuple((word, idf.get(word.id, 0.0)) for word in words)
    total = sum(weight for _, weight in terms) or 1.0
    sought = Sought(what, terms, total, names=(), subject=term_ids(what.subject), holds=None)
    added = [one._replace(score=one.score + _explains(sought, chunks[one.key])) for one in ranked]
    return sorted(added, key=lambda one: (-one.score, one.key))


def _explains(sought: Sought, chunk: Chunk) -> float:
    here = layout(chunk)
    said = (defining(sought, here, at) for at, unit in enumerate(here.units) if unit.kind in ("prose", "item", "row"))
    return min(_MOST, _WEIGHT * max(said, default=0.0))
