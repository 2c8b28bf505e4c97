"""Results of golden questions for tests: everything has a default, a test names only what it is about."""

from __future__ import annotations

from typing import Any

from quoth.evals.results import Result


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
