"""The questions of training/asked: our own words, and places in books that are not here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

BOOKS = sorted((Path(__file__).parent.parent / "training" / "asked").glob("*.jsonl"))
KINDS = {"definition", "how_to", "comparison", "value", "list", "why", "yes_no", "identifier", "troubleshooting"}


@pytest.mark.parametrize("path", BOOKS, ids=[path.stem for path in BOOKS])
def test_every_question_has_a_label_and_a_place_and_none_of_the_books_text(path: Path) -> None:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert {tuple(sorted(row)) for row in rows} == {("answerable", "asks", "at", "page", "question", "words")}
    assert {row["asks"] for row in rows} <= KINDS
    assert all(isinstance(row["answerable"], bool) and row["at"][0] < row["at"][1] for row in rows)
    assert len({row["question"].lower() for row in rows}) == len(rows)


@pytest.mark.parametrize("path", BOOKS, ids=[path.stem for path in BOOKS])
def test_both_labels_are_frequent(path: Path) -> None:
    labels = [json.loads(line)["answerable"] for line in path.read_text(encoding="utf-8").splitlines()]
    assert 0.4 < sum(labels) / len(labels) < 0.7


def test_nine_books_are_asked_about() -> None:
    assert len(BOOKS) == 9
