"""The outputs of a run: the document, the comparison, floors, tables and the page all say the same."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console, RenderableType

from eval_results import result
from quoth.errors import WrongUsage
from quoth.evals.cases import Case, GoldenSet
from quoth.evals.html import html_page
from quoth.evals.labels import Stale
from quoth.evals.report import Document, Floor, check_floors, compare, failures, floor, read_report, report, verdict_on
from quoth.evals.results import Result, from_record, to_record
from quoth.evals.run import Outcome, Run
from quoth.evals.terminal import comparison_table, tables

GOLDEN = GoldenSet("golden.yaml", "0" * 64, "book", ())
ABOUT = {"book_id": "book", "at": "2026-01-01T00:00:00.000Z", "confidence": {"source": "shipped", "note": ""}}
STALE = Stale("old", 7, "docs/old.md", "Words that are gone.", "the quote is no longer in the page")
RIGHT = result("right", right_ranks=(1,), quote_recall=1.0, citations=1, right_citations=1, confidence=0.9)
WRONG = result("wrong", right_ranks=(2,), confidence=0.6, question="Is <b>this</b> & that safe?")
REFUSED = result("shy", answered=False, confidence=0.1)
INVENTED = result("bold", kind="unanswerable", answerable=False, confidence=0.8)
SELECTED = result("sel", kind="selected_text", searches=False, answered=False, confidence=0.4, page="")
RESULTS = [RIGHT, WRONG, REFUSED, INVENTED, SELECTED]


def document(*results: Result, stale: tuple[Stale, ...] = ()) -> Document:
    # Only results and stale labels are reported; what the judge saw is not.
    outcomes: Any = tuple(Outcome(Case(one.id, one.kind, one.question, None, 1), one, None) for one in results)  # type: ignore[arg-type]
    return report(GOLDEN, Run(outcomes, stale), ABOUT)


def printed(shown: Any) -> str:
    console = Console(file=StringIO(), width=120, color_system=None)
    pieces: list[RenderableType] = list(shown)
    for piece in pieces:
        console.print(piece)
    file = console.file
    assert isinstance(file, StringIO)
    return file.getvalue()


def test_the_document_is_json_and_its_results_can_be_read_back() -> None:
    again = json.loads(json.dumps(document(*RESULTS)))
    assert again["questions"] == 5
    assert again["metrics"]["hit@1"] == pytest.approx(1 / 3, abs=1e-4)
    assert [from_record(record) for record in again["results"]] == RESULTS


def test_the_operating_point_is_that_of_the_judges_threshold() -> None:
    assert document(*RESULTS)["operating_point"] == {
        "threshold": 0.6,
        "coverage": 0.75,
        "risk": pytest.approx(1 / 3, abs=1e-4),
    }
    assert document(REFUSED)["operating_point"] is None


# --- floors ----------------------------------------------------------------------------------------------------------


def test_a_floor_holds_at_its_own_value_and_never_for_what_was_not_measured() -> None:
    assert Floor("hit@5", 0.5).holds(0.5)
    assert not Floor("hit@5", 0.5).holds(0.49)
    assert Floor("aurc", 0.5, at_most=True).holds(0.5)
    assert not Floor("aurc", 0.5, at_most=True).holds(0.51)
    assert not Floor("hit@5", 0.0).holds(None)


def test_floors_are_checked_against_the_run() -> None:
    rows = check_floors([floor("hit@1=0.5", at_most=False), floor("latency_ms.total.p95=99", at_most=True)], RESULTS)
    assert [(row["metric"], row["holds"]) for row in rows] == [("hit@1", False), ("latency_ms.total.p95", True)]


@pytest.mark.parametrize(
    ("text", "at_most", "expected"),
    [
        ("hit@5", False, "not of the form metric=value"),
        ("hit@5=high", False, "not of the form metric=value"),
        ("aurc=0.1", False, "Use --fail-over aurc=0.1"),
        ("hit@5=0.9", True, "Use --fail-under hit@5=0.9"),
        ("answerable.calibration_error=0.9", False, "Use --fail-over"),
    ],
)
def test_a_floor_that_makes_no_sense_is_wrong_usage(text: str, at_most: bool, expected: str) -> None:
    with pytest.raises(WrongUsage) as caught:
        floor(text, at_most=at_most)
    assert expected in str(caught.value)


def test_a_floor_under_an_unknown_metric_is_wrong_usage() -> None:
    with pytest.raises(WrongUsage, match="no metric 'hits'"):
        check_floors([Floor("hits", 0.5)], RESULTS)


# --- comparing -------------------------------------------------------------------------------------------------------


def test_runs_are_compared_over_the_questions_of_both() -> None:
    old = document(result("right"), result("gone", right_ranks=(1,)), WRONG)
    now = [RIGHT, result("wrong"), result("new")]
    comparison = compare(old, now)
    assert (comparison["questions"], comparison["only_old"], comparison["only_new"]) == (2, ["gone"], ["new"])
    assert comparison["metrics"]["hit@1"] == {"old": 0.0, "new": 0.5}
    assert comparison["newly_right"] == ["right"]
    assert comparison["newly_wrong"] == []
    text = printed(comparison_table(comparison))
    assert "Compared over 2 questions" in text
    assert "+0.500" in text


def test_a_report_that_cannot_be_used_for_comparison_says_why(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    with pytest.raises(WrongUsage, match=r"old\.json cannot be read"):
        read_report(path)
    path.write_text("[]", encoding="utf-8")
    with pytest.raises(WrongUsage, match="not a report"):
        read_report(path)
    with pytest.raises(WrongUsage, match="not written by this version"):
        compare({"results": [{"id": "right"}]}, [RIGHT])
    with pytest.raises(WrongUsage, match="no question in common"):
        compare(document(RIGHT), [WRONG])


# --- what people see -------------------------------------------------------------------------------------------------


def test_each_failure_says_what_happened() -> None:
    said = {record["id"]: verdict_on(record) for record in failures(document(*RESULTS))}
    assert said == {
        "wrong": "quoted something else; its passage was found at rank 2",
        "shy": "refused with confidence 0.10; its passage was not among the first ten",
        "bold": "answered with confidence 0.80, but had to be refused",
        "sel": "refused with confidence 0.40; the selected text has it",
    }


def test_the_tables_show_figures_failures_and_stale_labels() -> None:
    text = printed(tables(document(*RESULTS, stale=(STALE,))))
    for expected in (
        "golden.yaml: 5 questions to book", "By kind of question", "retrieve", "Risk-coverage", "4 wrong",
        "wrong: Is <b>this</b>", "line 7, old: the quote is no longer in the page",
    ):  # fmt: skip
        assert expected in text, expected


class Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.addresses += [name for name, _ in attrs if name in ("src", "href")]


def test_the_page_needs_nothing_else_and_shows_every_failure() -> None:
    full = {**document(*RESULTS, stale=(STALE,)), "floors": check_floors([Floor("hit@1", 0.9)], RESULTS)}
    page = html_page(full)
    elements = Elements()
    elements.feed(page)
    assert elements.addresses == []
    assert not {"script", "link", "b"} & set(elements.seen)
    assert elements.seen.count("article") == 5
    assert {"svg", "polyline", "circle"} <= set(elements.seen)
    for expected in (
        "Is &lt;b&gt;this&lt;/b&gt; &amp; that safe?", "A node publishes.", "Words that are gone.",
        "hit@1 is 0.333; wanted at least 0.9",
    ):  # fmt: skip
        assert expected in page, expected


def test_records_keep_whether_the_result_was_right() -> None:
    assert to_record(RIGHT)["right"]
    assert not to_record(WRONG)["right"]
