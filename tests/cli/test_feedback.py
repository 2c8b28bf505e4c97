"""`quoth questions --feedback`: what readers thought of answers, as the author reads it."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from contracts.library_contract import a_turn
from doors import SESSION
from quoth.cli.app import app
from quoth.domain import Book, CitedSource, Feedback
from quoth.ports import Library
from quoth.store.library import open_library

NOW = datetime.now(UTC)


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # a command sets up its own

    def run(*arguments: str) -> str:
        done = CliRunner().invoke(app, ["questions", "--feedback", "--data-dir", str(tmp_path), *arguments])
        assert done.exit_code == 0, done.output
        return done.output

    return run


async def judge(library: Library, at: int, question: str, feedback: Feedback, *, days: int = 0) -> None:
    source = CitedSource(index=1, quote="", start=0, end=0, breadcrumb=("Topics", "Durability"), url="https://b/#d")
    turn = replace(
        a_turn(at, SESSION),
        request_id=f"{at}",
        book_id="robots",
        query=question,
        timestamp=NOW - timedelta(days=days, hours=at),
    )
    await library.add_turn(replace(turn, sources=(source,)))
    await library.put_feedback(SESSION, f"{at}", feedback)


def with_library(folder: Path, work: Callable[[Library], Awaitable[None]]) -> None:
    async def opened() -> None:
        library = await open_library(f"sqlite:///{folder / 'quoth.db'}")
        await library.put_book(Book("robots", "Robots"))
        await work(library)
        await library.close()

    asyncio.run(opened())


def test_an_author_reads_what_was_judged_how_and_why_and_no_address_of_a_reader(
    tmp_path: Path, command: Callable[..., str]
) -> None:
    async def work(library: Library) -> None:
        await judge(
            library, 0, "Which policy, I am ann@example.com?", Feedback("down", "Not complete, ann@example.com")
        )
        await judge(library, 1, "What is a topic?", Feedback("up"))
        await judge(library, 2, "Too old?", Feedback("down"), days=400)

    with_library(tmp_path, work)
    told = command()
    assert "↓ Not complete, [email]" in told
    assert "Which policy, I am [email]?" in told
    assert "answered from: Topics › Durability  https://b/#d" in told
    assert told.index("Which policy") < told.index("What is a topic?")
    assert "2 answers rated in the last 90 days: ↑ 1, ↓ 1." in told
    assert "ann@" not in told + command("--json")
    assert SESSION not in told + command("--json")
    body = json.loads(command("--book", "robots", "--json"))
    assert (body["up"], body["down"], [row["rating"] for row in body["feedback"]]) == (1, 1, ["down", "up"])


def test_what_a_reader_erases_is_gone_from_the_list_too(tmp_path: Path, command: Callable[..., str]) -> None:
    async def work(library: Library) -> None:
        await judge(library, 0, "What is a topic?", Feedback("down", "Wrong"))
        await library.delete_conversation(SESSION)

    with_library(tmp_path, work)
    assert command() == "0 answers rated in the last 90 days: ↑ 0, ↓ 0.\n"
