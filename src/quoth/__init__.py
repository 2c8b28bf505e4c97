"""Quoth: ask a technical book and trust the reply. docs/python.md shows this API.

import quoth

async with quoth.open("data-dir") as q:
    answer = await q.ask("How do late subscribers get the last message?")
"""

from quoth.domain import (
    Answer,
    AnswerEvent,
    Book,
    Chunk,
    Citation,
    CitedSource,
    Delta,
    Done,
    Grounded,
    Grounding,
    IngestJob,
    Notice,
    Passage,
    Retrieved,
    Sourced,
    Status,
    Turn,
    Verdict,
)
from quoth.errors import (
    BadConfiguration,
    Conflict,
    IndexMismatch,
    IndexUnavailable,
    NotFound,
    Outage,
    QuothError,
    UnknownBook,
    Unreadable,
    WrongUsage,
)
from quoth.public import Quoth, SearchResult, open
from quoth.versions import __version__

__all__ = [
    "Answer",
    "AnswerEvent",
    "BadConfiguration",
    "Book",
    "Chunk",
    "Citation",
    "CitedSource",
    "Conflict",
    "Delta",
    "Done",
    "Grounded",
    "Grounding",
    "IndexMismatch",
    "IndexUnavailable",
    "IngestJob",
    "NotFound",
    "Notice",
    "Outage",
    "Passage",
    "Quoth",
    "QuothError",
    "Retrieved",
    "SearchResult",
    "Sourced",
    "Status",
    "Turn",
    "UnknownBook",
    "Unreadable",
    "Verdict",
    "WrongUsage",
    "__version__",
    "open",
]
