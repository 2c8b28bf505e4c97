from __future__ import annotations

import pytest

from quoth.chunks import cut as cutting
from quoth.chunks.cut import Cutter, Piece, Words
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


def test_a_piece_that_is_too_long_in_its_place_is_cut_down_to_single_words() -> None:
    cutter = Cutter("one two three", "text", Words(TOKENS), {})
    for end, tokens, pieces in ((13, 3, ["one", "two", "three"]), (7, 2, ["one", "two"]), (3, 1, ["one"])):
        smaller = cutter.smaller(Piece(0, end, tokens))
        assert ["one two three"[piece.start : piece.end] for piece in smaller] == pieces


def test_words_are_remembered_up_to_a_limit_and_counted_rightly_beyond_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutting, "_MEMO_WORDS", 10)
    words = Words(TOKENS)
    for number in range(100):
        assert words.counts([f"word{number} the end", "the start"]) == [3, 2]
    assert len(words._memo) <= 10 + 4
