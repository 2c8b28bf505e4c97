"""Small domain values for tests: everything has a default, a test names only what it is about."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any

from quoth.domain import Chunk, Labels, Question


def chunk(text: str = "A node publishes messages.", *, id: str = "", **fields: Any) -> Chunk:
    digest = hashlib.sha256(text.encode()).hexdigest()
    start = fields.pop("start", 0)
    labels = Labels(**{name: fields.pop(name) for name in Labels.__slots__ if name in fields})
    values: dict[str, Any] = {
        "id": id or f"{digest[:8]}-0000-5000-8000-000000000000",
        "book_id": "book",
        "text": text,
        "start": start,
        "end": start + len(text),
        "line": 1,
        "source_file": "docs/page.md",
        "source_file_hash": "f" * 64,
        "title": "Page",
        "url": "/docs/page",
        "heading_path": (),
        "breadcrumb": ("Page",),
        "content_hash": digest,
        "parent_doc_id": "parent",
        "chunk_index": 0,
        "total_chunks": 1,
        "prev_chunk_id": None,
        "next_chunk_id": None,
        "word_count": len(text.split()),
        "token_count": len(text.split()),
        "char_count": len(text),
        "labels": labels,
    }
    return Chunk(**{**values, **fields})


def question(query: str = "What does a node publish?", **fields: Any) -> Question:
    values: dict[str, Any] = {
        "book_id": "book",
        "session_id": "6a1f7a9e-2f7e-4c3e-9d57-0d5a3d7b6f10",
        "request_id": "0b8a1f0e-5a53-4f86-9a40-2f4be1b5a111",
    }
    return Question(query=query, **{**values, **fields})


class StillClock:
    """A clock that moves only when told to."""

    def __init__(self) -> None:
        self._now = datetime(2026, 1, 1, tzinfo=UTC)

    def pass_by(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._now.timestamp()


class TickingClock:
    """A clock that moves one second at each look."""

    def __init__(self) -> None:
        self._now = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        self._now += timedelta(seconds=1)
        return self._now

    def monotonic(self) -> float:
        return self.now().timestamp()
