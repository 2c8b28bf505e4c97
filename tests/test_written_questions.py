"""The questions and claims of training/passages and training/claims: our own words, and places of texts not here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TRAINING = Path(__file__).parent.parent / "training"


def rows_of(folder: str) -> list[dict[str, Any]]:
    files = sorted((TRAINING / folder).glob("*.jsonl"))
    return [json.loads(line) for path in files for line in path.read_text(encoding="utf-8").splitlines()]


def test_every_passage_has_a_place_and_questions_and_none_of_its_text() -> None:
    rows = rows_of("passages")
    columns = {"answered", "at", "unanswered", "words"}
    assert {frozenset(row) for row in rows} == {frozenset({*columns, place}) for place in ("key", "page")}
    assert all(row["at"][0] < row["at"][1] for row in rows)


def test_every_answer_is_a_place_inside_its_passage() -> None:
    for row in rows_of("passages"):
        length = row["at"][1] - row["at"][0]
        assert all(0 <= start < end <= length for _, start, end in row["answered"]), row


def test_answered_and_unanswered_questions_are_both_frequent() -> None:
    rows = rows_of("passages")
    answered, unanswered = (sum(len(row[name]) for row in rows) for name in ("answered", "unanswered"))
    assert answered > 10_000
    assert 0.4 < answered / (answered + unanswered) < 0.6


def test_no_question_about_a_book_has_both_labels() -> None:
    for path in sorted((TRAINING / "passages").glob("*.jsonl")):
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        answered = {question.lower() for row in rows for question, _, _ in row["answered"]}
        unanswered = {question.lower() for row in rows for question in row["unanswered"]}
        assert not answered & unanswered, path.stem


def test_claims_come_with_both_labels_and_the_places_of_their_passages() -> None:
    rows = rows_of("claims")
    assert all(one["at"][0] < one["at"][1] for row in rows for one in row["passages"])
    supported, unsupported = (sum(len(row[name]) for row in rows) for name in ("supported", "unsupported"))
    assert supported > 10_000
    assert 0.45 < supported / (supported + unsupported) < 0.7


def test_every_book_on_the_shelf_names_an_archive_and_its_checksum() -> None:
    shelf = json.loads((TRAINING / "shelf.json").read_text(encoding="utf-8"))
    asked = {path.stem for path in (TRAINING / "passages").glob("*.jsonl")}
    assert shelf.keys() <= asked
    assert all(len(book["sha256"]) == 64 and book["version"] in book["file"] for book in shelf.values())
    assert {book["from"] for book in shelf.values()} == {"pypi", "npm"}
