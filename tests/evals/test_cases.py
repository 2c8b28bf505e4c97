"""Golden questions are read strictly: mistakes are named with file and line before anything is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from quoth.domain import Filters
from quoth.errors import WrongUsage
from quoth.evals.cases import Label, read_cases

GOOD = """book: my-book
answerable:
  - {id: a, question: What is a topic, page: docs/topics.md, quote: A topic carries messages}
unanswerable:
  - {id: no, question: Who won, why: nobody says}
  - {id: far, question: Will it rain, subject: absent}
filtered:
  - id: f
    question: What is volatile?
    page: docs/topics.md
    quote: Volatile durability keeps nothing.
    filters: {module: ros2, proficiency_levels: [A1, A2]}
  - {id: out, question: What is volatile here, filters: {chapter_min: 9}, why: shut out}
selected_text:
  - {id: s, question: What is kept, selected_text: "It keeps\\n  the last message.", quote: keeps the last}
  - {id: t, question: Who pays, selected_text: It keeps the last message., why: not said}
follow_ups:
  - {id: then, first: What is a topic, then: And a node, page: docs/nodes.md, quote: A node publishes}
"""


def read(folder: Path, text: str) -> None:
    path = folder / "golden.yaml"
    path.write_text(text, encoding="utf-8")
    read_cases(path)


def complaint(folder: Path, text: str) -> str:
    with pytest.raises(WrongUsage) as caught:
        read(folder, text)
    assert caught.value.exit_code == 2
    assert caught.value.hint
    return str(caught.value)


def test_every_kind_of_question_is_read(tmp_path: Path) -> None:
    path = tmp_path / "golden.yaml"
    path.write_text(GOOD, encoding="utf-8")
    golden = read_cases(path)
    assert (golden.name, golden.book_id) == ("golden.yaml", "my-book")
    cases = {case.id: case for case in golden.cases}
    assert [case.kind for case in golden.cases] == [
        "answerable", "unanswerable", "unanswerable", "filtered", "filtered", "selected_text", "selected_text",
        "follow_up",
    ]  # fmt: skip
    assert cases["a"].label == Label("docs/topics.md", "A topic carries messages")
    assert cases["no"].label is None
    assert cases["no"].why == "nobody says"
    assert (cases["no"].subject, cases["far"].subject) == ("", "absent")
    assert cases["f"].filters == Filters(module="ros2", proficiency_levels=("A1", "A2"))
    assert cases["out"].label is None
    assert cases["s"].label == Label("", "keeps the last")
    assert cases["t"].label is None
    assert (cases["then"].first, cases["then"].question) == ("What is a topic", "And a node")
    assert cases["f"].line == 8


def test_an_id_that_yaml_takes_for_a_truth_value_stays_what_was_typed(tmp_path: Path) -> None:
    path = tmp_path / "golden.yaml"
    path.write_text("unanswerable:\n  - {id: no, question: Why}\n  - {id: 007, question: Who}\n", encoding="utf-8")
    assert [case.id for case in read_cases(path).cases] == ["no", "007"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("answerable:\n  - {id: a, question: Why, page: p.md, qoute: x}", "golden.yaml:2: unknown field `qoute`. Did"),
        ("answerable:\n  - {id: a, question: x, page: p, quote: q, asks: y}", "golden.yaml:2: `asks: y` is not"),
        ("answerables: []", "golden.yaml:1: unknown field `answerables`. Did you mean `answerable`?"),
        ("answerable:\n  - {id: a, question: Why, page: p.md}", "golden.yaml:2: a question under `answerable` has no"),
        ("answerable:\n\n  - {id: a, question: , page: p, quote: q}", "golden.yaml:3: `question` is empty."),
        ("answerable:\n  - {id: a, question: [x], page: p, quote: q}", "golden.yaml:2: `question` must be text."),
        ("answerable:\n  - {id: a, id: b, question: x, page: p, quote: q}", "golden.yaml:2: `id` is given twice."),
        ("unanswerable:\n  - {id: a, question: x}\n  - {id: a, question: y}", "golden.yaml:3: the id `a` is already"),
        ("filtered:\n  - {id: a, question: x, filters: {modul: y}, why: z}", "golden.yaml:2: Unknown field `filters"),
        ("filtered:\n  - {id: a, question: x, filters: {lesson: two}, why: z}", "golden.yaml:2: The filter `lesson`"),
        ("filtered:\n  - {id: a, question: x, filters: {lesson: 2}}", "golden.yaml:2: `a` must have either `page` and"),
        ("filtered:\n  - {id: a, question: x, filters: {}, page: p, why: z}", "golden.yaml:2: `a` must have either"),
        ("selected_text:\n  - {id: a, question: x, selected_text: y, quote: z}", "golden.yaml:2: the quote of `a`"),
        ("unanswerable:\n  - {id: a, question: x, subject: far}", "golden.yaml:2: `subject: far` is not one of"),
        ("unanswerable: {id: a}", "golden.yaml:1: `unanswerable` must be a list"),
        ("unanswerable:\n  - just words", "golden.yaml:2: this must be a mapping with"),
        ("unanswerable:\n  - {id: a\n  - b", "golden.yaml:3: this is not YAML"),
        ("unanswerable:\n  - {id: a, question: " + "x" * 32_001 + "}", "golden.yaml:2: The question is longer than"),
        ("- a", "golden.yaml:1: this must be a mapping with"),
        ("book: x", "golden.yaml has no questions"),
        ("", "golden.yaml has no questions"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in complaint(tmp_path, text)


def test_a_file_that_is_not_there_or_not_text_is_named(tmp_path: Path) -> None:
    with pytest.raises(WrongUsage, match="cannot be read"):
        read_cases(tmp_path / "none.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(WrongUsage, match="cannot be read"):
        read_cases(tmp_path / "binary.yaml")
