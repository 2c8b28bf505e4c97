"""Quoth: ask a technical book and trust the reply. docs/python.md shows this API.

import quoth

async with quoth.open("data-dir") as q:
    answer = await q.ask("How do late subscribers get the last message?")
"""

from quoth.ask.tools import format_tool_response
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
    Message,
    Notice,
    Passage,
    Retrieved,
    Sourced,
    Status,
    ToolCall,
    ToolUse,
    Turn,
    Verdict,
)
from quoth.domain.versions import __version__
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
from quoth.public import Conversation, Quoth, SearchResult, execute_retrieval_tool, open, retrieval_tool

__all__ = [
    "Answer",
    "AnswerEvent",
    "BadConfiguration",
    "Book",
    "Chunk",
    "Citation",
    "CitedSource",
    "Conflict",
    "Conversation",
    "Delta",
    "Done",
    "Grounded",
    "Grounding",
    "IndexMismatch",
    "IndexUnavailable",
    "IngestJob",
    "Message",
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
    "ToolCall",
    "ToolUse",
    "Turn",
    "UnknownBook",
    "Unreadable",
    "Verdict",
    "WrongUsage",
    "__version__",
    "execute_retrieval_tool",
    "format_tool_response",
    "open",
    "retrieval_tool",
]
