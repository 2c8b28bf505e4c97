"""Results of golden questions for tests: everything has a default, a test names only what it is about."""

from __future__ import annotations

from typing import Any

from doors import ASKED, UNKNOWN
from quoth.domain import Filters
from quoth.evals.cases import Case, Label
from quoth.evals.results import Result

QUOTE = "Transient local durability keeps the last message for late subscribers."
ANSWERABLE = Case("late", "answerable", ASKED, Label("topics.md", QUOTE), line=1)
UNANSWERABLE = Case("cup", "unanswerable", UNKNOWN, None, line=2)
SHUT_OUT = Case("out", "filtered", ASKED, None, line=3, filters=Filters(module="gazebo"))
SELECTED = Case(
    "sel", "selected_text", "What does volatile durability keep?", Label("", "Volatile durability keeps nothing."),
    line=4, selected_text="Durability matters. Volatile durability keeps nothing.",
)  # fmt: skip


def result(id: str = "q", **fields: Any) -> Result:
    answerable = fields.get("answerable", True)
    values: dict[str, Any] = {
        "id": id,
        "kind": "answerable",
        "question": f"What is {id}?",
        "searched": f"What is {id}?",
        "page": "docs/page.md" if answerable else "",
        "quote": "A node publishes." if answerable else "",
        "answerable": True,
        "answered": True,
        "mode": "extractive",
        "confidence": 0.5,
        "level": "medium",
        "searches": True,
        "seen": 5,
        "right_ranks": (),
        "right_passages": int(answerable),
        "quote_recall": 0.0,
        "citations": 0,
        "right_citations": 0,
        "sentences": 1,
        "supported": 1,
        "answer": "A node publishes. [1]",
        "cited": ("docs/page.md:1",),
        "total_ms": 10.0,
        "stage_ms": {"retrieve": 8.0},
    }
    return Result(**{**values, **fields})
