"""Log lines: one line each, with their request id, without readers' questions."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest

from quoth.logs import request_id, set_up_logging


@pytest.fixture(autouse=True)
def _restore_logging() -> Iterator[None]:
    root, ours = logging.getLogger(), logging.getLogger("quoth")
    before = root.handlers[:], root.level, ours.level
    yield
    root.handlers[:], root.level, ours.level = before[0], before[1], before[2]


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


log = logging.getLogger("quoth.ingest")


def test_a_text_line_opens_with_its_level_and_ends_with_its_fields(stream: io.StringIO) -> None:
    set_up_logging("info", stream=stream)
    log.info("ingested %s", "robots", extra={"pages": 3, "title": "two words"})
    line = stream.getvalue()
    assert line.startswith("[INFO] ")
    assert line.endswith('quoth.ingest: ingested robots pages=3 title="two words"\n')


def test_a_line_break_in_a_value_cannot_forge_a_line(stream: io.StringIO) -> None:
    set_up_logging("info", stream=stream)
    log.info("a\n[ERROR] forged", extra={"file": "b\n[ERROR] forged"})
    assert stream.getvalue().count("\n") == 1


def test_a_json_line_is_one_object_with_its_fields(stream: io.StringIO) -> None:
    set_up_logging("info", format="json", stream=stream)
    log.info("ingested", extra={"pages": 3, "file": object})
    line = json.loads(stream.getvalue())
    assert {name: line[name] for name in ("level", "logger", "message", "pages")} == {
        "level": "info",
        "logger": "quoth.ingest",
        "message": "ingested",
        "pages": 3,
    }
    assert line["timestamp"].endswith("+00:00")


@pytest.mark.parametrize("format", ["text", "json"])
def test_every_line_carries_its_request(stream: io.StringIO, format: str) -> None:
    set_up_logging("info", format="json" if format == "json" else "text", stream=stream)
    token = request_id.set("r-1")
    log.info("asked")
    request_id.reset(token)
    log.info("idle")
    first, second = stream.getvalue().splitlines()
    assert "r-1" in first
    assert "request_id" not in second


@pytest.mark.parametrize("format", ["text", "json"])
@pytest.mark.parametrize("allowed", [True, False])
def test_a_question_is_logged_only_where_that_is_allowed(stream: io.StringIO, format: str, allowed: bool) -> None:
    set_up_logging("info", format="json" if format == "json" else "text", log_questions=allowed, stream=stream)
    log.info("asked", extra={"question": "am-I-ill"})
    assert ("am-I-ill" in stream.getvalue()) is allowed


def test_lines_below_the_level_and_chatter_of_libraries_are_left_out(stream: io.StringIO) -> None:
    set_up_logging("debug", stream=stream)
    logging.getLogger("somebody.else").info("chatter")
    log.debug("ours")
    set_up_logging("error", stream=stream)
    log.warning("too quiet")
    assert "ours" in stream.getvalue()
    assert "chatter" not in stream.getvalue()
    assert "too quiet" not in stream.getvalue()


@pytest.mark.parametrize("format", ["text", "json"])
def test_a_fault_comes_with_its_traceback(stream: io.StringIO, format: str) -> None:
    set_up_logging(format="json" if format == "json" else "text", stream=stream)
    try:
        raise ValueError("broken")
    except ValueError:
        log.exception("failed")
    assert "ValueError: broken" in stream.getvalue()
