"""What readers and books wrote cannot steer the operator's terminal, on the screen or through a pipe."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from contracts.library_contract import a_question, a_trace, a_turn
from doors import SESSION
from quoth.cli.app import app, print_json, report
from quoth.cli.output import harmless, print_passages
from quoth.domain import Book, Passage
from quoth.errors import QuothError
from quoth.store.library import open_library
from samples import chunk

EVIL = "a\x1b[31mred\x1b]0;owned\x07\x9b2Jb\rc"
TAME = "a[31mred]0;owned2Jbc"
NOW = datetime.now(UTC)
MAIL = "bob.smith@example.org"

# As Quoth wrote them before traces were redacted.
OLD: dict[str, Any] = {
    "version": 1,
    "question": {"text": f"{EVIL} {MAIL}", "selected_text": None, "filters": {"chapter": EVIL}, "top_k": 5},
    "query": {
        "searched": f"{EVIL} {MAIL}",
        "rules": ["short"],
        "carried": [MAIL],
        "terms": [{"text": MAIL, "idf": 1.0, "in_book": False}, {"text": EVIL, "idf": 1.0, "in_book": True}],
        "chunks": 1,
    },
    "dense": [{"rank": 1, "chunk_id": "c" * 8, "score": 0.5, "place": f"Book › {EVIL}"}],
    "sparse": [],
    "fused": [],
    "verdict": {"confidence": 0.1, "level": "insufficient", "should_answer": False, "threshold": None},
    "answer": {
        "mode": "full",
        "characters": 9,
        "fallback_message": EVIL,
        "model": EVIL,
        "prompt_version": "1",
        "tokens": 2,
        "prompt_tokens": 1,
        "rounds": 1,
        "tools": [{"name": EVIL, "arguments": f"{EVIL} {MAIL}"}],
    },
    "grounding": {
        "supported": 0,
        "total": 1,
        "removed": 0,
        "sentences": [{"text": f"{EVIL} {MAIL}", "supported": False, "score": 0.1, "sources": [1], "reason": EVIL}],
    },
    "times": {"stages": {}, "first_word": None, "total": 1.0},
}


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Runs a command on a library that holds what a hostile reader asked."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # a command sets up its own

    async def fill() -> None:
        library = await open_library(f"sqlite:///{tmp_path / 'quoth.db'}")
        await library.put_book(Book("robots", f"Robots {EVIL}"))
        await library.add_turn(a_turn(session_id=SESSION, book_id="robots"))
        kept = NOW - timedelta(days=1)
        asked = a_question(question=EVIL, searched=f"{EVIL} twice", missing_terms=(EVIL,), nearest=(EVIL,))
        asked = replace(asked, asked_at=NOW, nearest_url=f"https://b/{EVIL}")
        await library.record_question(asked, session_id=SESSION, keep_since=kept)
        await library.put_traces([a_trace(session_id=SESSION, created_at=NOW, record=OLD)], keep_since=kept, most=9)
        await library.close()

    asyncio.run(fill())

    def run(*arguments: str) -> str:
        done = CliRunner().invoke(app, [*arguments, "--data-dir", str(tmp_path)])
        assert done.exit_code == 0, done.output
        return done.output

    return run


def tame(text: str) -> bool:
    return harmless(text) == text


@pytest.mark.parametrize("name", ["questions", "explain", "books", "status"])
def test_nothing_that_others_wrote_steers_the_terminal(command: Callable[..., str], name: str) -> None:
    said = command(name)
    assert "[31mred]0;owned" in said
    assert tame(said)
    assert tame(command(name, "--json"))


def test_explain_shows_no_address_even_of_an_old_trace(command: Callable[..., str]) -> None:
    assert MAIL not in command("explain")
    shown = command("explain", "--json")
    assert MAIL not in shown
    assert json.loads(shown)["query"]["carried"] == ["[hidden]"]


def test_search_results_are_tame(capsys: pytest.CaptureFixture[str]) -> None:
    found = chunk(f"Text {EVIL} of a book.", source_file=f"docs/{EVIL}.md", breadcrumb=(EVIL,), url=f"https://b/{EVIL}")
    print_passages([Passage(found, 0.5, 0.5)], 1, explain=True)
    said = capsys.readouterr().out
    assert said.count(TAME) == 3
    assert "Text a[31mred" in said
    assert tame(said)


def test_an_error_is_tame(capsys: pytest.CaptureFixture[str]) -> None:
    report(QuothError(f"{EVIL} cannot be read"), as_json=False)
    assert tame(capsys.readouterr().err)


def test_json_keeps_every_sign_and_escapes_what_steers(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"text": f"{EVIL} ü 😀"})
    said = capsys.readouterr().out
    assert tame(said)
    assert "ü 😀" in said
    assert json.loads(said) == {"text": f"{EVIL} ü 😀"}
