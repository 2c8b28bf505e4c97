from __future__ import annotations

import pytest

from quoth.chunks.cut import Cutter, Words
from splitting import TOKENS


def cut(text: str, budget: int, start: int = 0) -> list[str]:
    cutter = Cutter(text, "text", Words(TOKENS), {})
    return [text[piece.start : piece.end] for piece in cutter.anywhere(start, len(text), budget)]


@pytest.mark.parametrize(
    ("text", "budget", "pieces"),
    [
        ("one two three four five", 2, ["one two", "three four", "five"]),
        ("one two", 2, ["one two"]),
        ("one", 5, ["one"]),
        ("", 5, []),
        ("one two!three!four five", 2, ["one", "two!", "three!", "four", "five"]),  # a word that is too long by itself
    ],
)
def test_a_text_is_cut_between_its_words_from_the_first_on(text: str, budget: int, pieces: list[str]) -> None:
    assert cut(text, budget) == pieces
    assert cut(f"before {text}", budget, start=7) == pieces
