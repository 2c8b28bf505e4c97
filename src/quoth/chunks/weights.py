"""Chunk → what the index knows of its words: how often each occurs, and what is explained there.

The place of the chunk in the book is weighed too. What is explained has ids of its own (`text/definitions.py`), which
only a question about a meaning looks up. If the same chunk gives other ids, raise `TERMS_VERSION`. Pure.
"""

from __future__ import annotations

from quoth.chunks.split import embedding_text, term_text
from quoth.domain import Chunk, TermWeights
from quoth.text.definitions import explained_in
from quoth.text.sentences import fold
from quoth.text.terms import passage_weights, with_marks

_BEFORE_HEADING = 80  # characters: labels and the line above an underlined title


def chunk_weights(chunk: Chunk) -> TermWeights:
    heading = chunk.heading_path[-1] if chunk.heading_path else chunk.title
    opens = heading if heading and _is_in(heading, chunk) else ""
    marks = explained_in(embedding_text(chunk), chunk.text, opens, " ".join(chunk.breadcrumb))
    return with_marks(passage_weights(term_text(chunk)), marks)


def _is_in(heading: str, chunk: Chunk) -> bool:
    """A section that was cut has its heading in its first chunk only."""
    return fold(heading) in fold(chunk.text[: 3 * len(heading) + _BEFORE_HEADING])
