"""The sample book's golden questions on the real engine, with floors: how CI guards the quality of answers."""

from __future__ import annotations

import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from commands import BOOK, document, one_line, quoth
from quoth.evals.report import Floor, check_floors
from quoth.evals.results import from_record
from quoth.evals.terminal import fit_table
from sharing import Once

GOLDEN = BOOK.parent / "golden.yaml"

# metric: (the goal, today's floor). Refusals are guarded on both sides: every decision, and every question that had to
# be refused. Questions on absent subjects must be refused; those near the book's subjects need a reader who understands
# the passage (docs/evaluation.md). If the floor is lower, raise it as soon as the goal is reached; it leaves room of a
# question or two for other processors.
FLOORS: dict[str, tuple[float, float]] = {
    "hit@5": (0.95, 0.95),
    "answerable.hit@5": (0.95, 0.95),
    "filtered.hit@5": (0.95, 0.95),
    "decision_accuracy": (0.90, 0.90),
    "refusal_recall": (0.90, 0.83),
    "absent.refusal_recall": (0.90, 0.90),
    "near.refusal_recall": (0.90, 0.60),
    "citation_precision": (0.90, 0.90),
    "right_block": (0.90, 0.90),
    "identifier.refusal_recall": (0.95, 0.95),
    "grounding": (1.0, 1.0),
}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]  # some 370 questions, asked once


@pytest.fixture(scope="module")
def evaluated(sample_data: Path, once: Once) -> Path:
    """A folder with the one evaluation of all questions: its report, its page, and the data with the fit, if that was
    better than the shipped one."""

    def evaluate(place: Path) -> None:
        data = shutil.copytree(sample_data, place / "data")
        wanted = ("--json", "--strict", "--calibrate", "--html", place / "report.html")
        run = quoth("eval", GOLDEN, *wanted, "--data-dir", data)
        assert run.returncode == 0, run.stderr
        (place / "report.json").write_text(run.stdout, encoding="utf-8")

    return once("golden", evaluate)


@pytest.fixture(scope="module")
def report(evaluated: Path) -> dict[str, Any]:
    written: dict[str, Any] = json.loads((evaluated / "report.json").read_text(encoding="utf-8"))
    return written


def test_no_floor_is_above_what_is_wanted() -> None:
    assert all(today <= wanted for wanted, today in FLOORS.values())


@pytest.mark.parametrize("metric", FLOORS)
def test_the_sample_book_keeps_its_floor(report: dict[str, Any], metric: str) -> None:
    results = [from_record(record) for record in report["results"]]
    (row,) = check_floors([Floor(metric, FLOORS[metric][1])], results)
    assert row["holds"], row


def _questions(group: str) -> list[dict[str, Any]]:
    questions: list[dict[str, Any]] = yaml.safe_load(GOLDEN.read_text(encoding="utf-8"))[group]
    return questions


def test_every_golden_question_was_asked_and_no_label_is_stale(report: dict[str, Any]) -> None:
    assert report["stale"] == []
    assert report["questions"] == GOLDEN.read_text(encoding="utf-8").count("\n  - id: ")


def test_nothing_that_is_not_published_is_ever_quoted(report: dict[str, Any]) -> None:
    cited = [place for record in report["results"] for place in record["cited"]]
    assert cited
    assert not [place for place in cited if "securing-a-robot" in place or "instructor-notes" in place]


def test_what_is_asked_of_every_term_of_the_glossary_is_answered_by_its_entry(
    sample_data: Path, tmp_path: Path
) -> None:
    entries = re.findall(
        r"^## (.+)\n\n(.+)$", (BOOK / "docs" / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    cases = [
        {
            "id": f"term-{at}",
            "question": f"What is {term.split(' (')[0]}?",
            "page": "docs/glossary.md",
            "quote": entry.split(". ")[0],
        }
        for at, (term, entry) in enumerate(entries)
    ]
    file = tmp_path / "glossary.yaml"
    file.write_text(json.dumps({"book": BOOK.name, "answerable": cases}), encoding="utf-8")
    run = quoth("eval", file, "--json", "--strict", "--data-dir", sample_data)
    assert run.returncode == 0, run.stderr
    results = json.loads(run.stdout)["results"]
    missed = [record["question"] for record in results if record["quote_recall"] < 0.5]
    assert len(results) == len(entries) >= 49
    assert len(missed) <= 4, missed


def test_a_refit_is_told_and_written_only_if_it_is_better(evaluated: Path, report: dict[str, Any]) -> None:
    verdict = report["fit"]["verdict"]
    written = (evaluated / "data" / "index" / BOOK.name / "calibration.json").exists()
    assert ("Written to" in verdict) == written
    assert ("Nothing was written." in verdict) == (not written)
    assert report["confidence"]["source"] == "shipped"  # the questions were asked before the fit
    shown = io.StringIO()
    Console(file=shown, width=1000).print(*fit_table(report["fit"]))
    assert verdict in shown.getvalue()
    assert "<svg" in (evaluated / "report.html").read_text(encoding="utf-8")


def test_the_next_run_uses_the_fit_is_compared_with_the_first_and_fails_under_a_floor(
    evaluated: Path, report: dict[str, Any], tmp_path: Path
) -> None:
    some = tmp_path / "some.yaml"
    some.write_text(json.dumps({"book": BOOK.name, "answerable": _questions("answerable")[:5]}), encoding="utf-8")
    data = shutil.copytree(evaluated / "data", tmp_path / "data")
    written = (data / "index" / BOOK.name / "calibration.json").exists()
    again = document(quoth("eval", some, "--json", "--data-dir", data))
    assert again["confidence"]["source"] == ("fitted to this book" if written else "shipped")

    wanted = ("--compare", evaluated / "report.json", "--fail-under", "hit@5=1.1")
    run = quoth("eval", some, *wanted, "--data-dir", data)
    assert run.returncode == 1
    assert run.stderr.strip() == f"quoth: hit@5 is {again['metrics']['hit@5']}, under 1.1."
    assert "Compared over 5 " in run.stdout


def test_a_wrong_file_a_wrong_option_and_an_unknown_book_exit_with_2(sample_data: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("answerable:\n  - {id: a, qestion: x}\n", encoding="utf-8")
    for arguments, expected in (
        ((bad,), "bad.yaml:2: unknown field `qestion`. Did you mean `question`?"),
        ((GOLDEN, "--fail-under", "hit@5"), "not of the form metric=value"),
        ((GOLDEN, "--book", "nobody"), "nobody"),
        ((GOLDEN, "--compare", bad), "cannot be read"),
    ):
        run = quoth("eval", *arguments, "--data-dir", sample_data)
        assert run.returncode == 2, run.stderr
        assert expected in one_line(run)
