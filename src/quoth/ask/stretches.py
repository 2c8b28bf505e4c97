"""What was asked about, as it was typed: the few stretches of earlier questions that hold most of what is meant. Pure.

In: texts in which it was asked, newest first, and the words that are meant, the most meant first. Out: one phrase or
two, with the small words between them. A reader of passages reads with them in mind.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from quoth.text.terms import term_ids

_TOKEN = re.compile(r"[^\W_][\w'’.+#/-]*[\w+#]|\w")
_STOPS = re.compile(r"[.,;:?!]")
_MOST = 2


def stretches(texts: Iterable[str], words: Sequence[str]) -> str:
    worth = {term: 1 / (1 + rank) for rank, word in enumerate(words) for term in term_ids(word)}
    runs = [(run, term_ids(run)) for text in texts for run in _runs(text, frozenset(worth))]
    chosen: list[str] = []
    while len(chosen) < _MOST:
        run, ids = max(runs, key=lambda one: sum(worth.get(term, 0.0) for term in one[1]), default=("", frozenset()))
        if not any(term in worth for term in ids):
            break
        chosen.append(run)
        worth = {term: value for term, value in worth.items() if term not in ids}
    return ", ".join(chosen)


def _runs(text: str, wanted: frozenset[int]) -> list[str]:
    """Stretches of the text that begin and end with a wanted word and have only small words between them."""
    runs: list[str] = []
    begin = end = -1
    for found in _TOKEN.finditer(text):
        ids = term_ids(found[0])
        if begin >= 0 and (_STOPS.search(text[end : found.start()]) or (ids and not ids & wanted)):
            runs.append(text[begin:end])
            begin = -1
        if ids & wanted:
            begin, end = (found.start() if begin < 0 else begin), found.end()
    if begin >= 0:
        runs.append(text[begin:end])
    return runs
