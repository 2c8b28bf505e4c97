"""Log lines on stderr: text for people, or one JSON object per line for machines.

Every module logs with the standard library: `logging.getLogger(__name__).info("ingested", extra={"pages": 3})`. The
program calls `set_up_logging` once. Every line carries the `request_id` of its request. A reader's question goes only
into `extra={"question": …}`, and is dropped here unless the operator allows it.
"""

from __future__ import annotations

import json
import logging
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Literal, TextIO

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)

# The fields that the logging module itself puts on a record; all others came through `extra`.
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}


def set_up_logging(
    level: str = "warning",
    *,
    format: Literal["text", "json"] = "text",
    log_questions: bool = False,
    stream: TextIO | None = None,
) -> None:
    """Send all log lines to stderr or `stream`: ours from `level` up, those of libraries from warning up."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(_JsonLines(log_questions) if format == "json" else _TextLines(log_questions))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("quoth").setLevel(level.upper())


class _Lines(logging.Formatter):
    def __init__(self, log_questions: bool) -> None:
        super().__init__()
        self._hidden = frozenset() if log_questions else frozenset({"question"})

    def fields(self, record: logging.LogRecord) -> dict[str, object]:
        extra = {
            name: value
            for name, value in vars(record).items()
            if name not in _STANDARD and name not in self._hidden and not name.startswith("_")
        }
        current = request_id.get()
        return extra if current is None else {"request_id": current} | extra


class _TextLines(_Lines):
    """`[INFO] 12:00:00 quoth.ingest: ingested pages=3`. Values are quoted where needed, so each record is one line."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created).strftime("%H:%M:%S")
        message = record.getMessage().replace("\r", "\\r").replace("\n", "\\n")
        fields = "".join(f" {name}={_plain(value)}" for name, value in self.fields(record).items())
        line = f"[{record.levelname}] {time} {record.name}: {message}{fields}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class _JsonLines(_Lines):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: value for name, value in self.fields(record).items() if name not in line}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def _plain(value: object) -> str:
    text = str(value)
    return text if text and text.isprintable() and not set(text) & set(' "=') else json.dumps(text)
