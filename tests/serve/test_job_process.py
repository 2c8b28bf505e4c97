"""The process that works on a server's job: real but small processes."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from quoth.serve.job_process import Command, IngestProcess, ingest_command, is_checkout, pull_command
from quoth.serve.jobs import IngestOrder
from quoth.settings import load_settings


def python(program: str, timeout: float | None = None) -> Command:
    return Command([sys.executable, "-c", program], dict(os.environ), timeout)


async def run(*commands: Command) -> str:
    return await asyncio.wait_for(IngestProcess(commands).wait(), timeout=60)


def test_the_command_takes_over_the_job_with_the_servers_own_settings(tmp_path: Path) -> None:
    settings = load_settings(
        environ={}, directory=tmp_path, data_dir=tmp_path / "data", database_url="sqlite:///with:secret.db"
    )
    order = IngestOrder("book", "/books/-odd", base_url="https://b.example", mode="full", dry_run=True)
    command = ingest_command(settings, order, 7)
    assert command.arguments[:4] == [sys.executable, "-m", "quoth", "ingest"]
    assert command.arguments[-2:] == ["--", "/books/-odd"]  # a name can never be taken for an option
    options = " ".join(command.arguments[4:-2])
    assert options == "--book book --mode full --base-url https://b.example --dry-run --job-id 7"
    assert command.environment["QUOTH_DATA_DIR"] == str(tmp_path / "data")
    assert command.environment["QUOTH_DATABASE_URL"] == "sqlite:///with:secret.db"
    assert "QUOTH_MODEL_DIR" not in command.environment


async def test_a_process_that_ends_well_says_nothing() -> None:
    assert await run(python("import sys; sys.stderr.write('note: all is well\\n')")) == ""


async def test_the_last_line_of_a_failure_is_kept() -> None:
    program = (
        "import sys; sys.stderr.write('x' * 100_000 + '\\nquoth: The disk is full. Free some.\\n\\n'); sys.exit(1)"
    )
    assert await run(python(program)) == "The disk is full. Free some."


async def test_a_failure_without_a_word_tells_its_exit_code() -> None:
    assert await run(python("import sys; sys.exit(3)")) == "its process ended with exit code 3"


async def test_a_process_that_was_killed_tells_the_signal() -> None:
    program = "import os, signal, sys; sys.stderr.write('so far\\n'); sys.stderr.flush(); os.kill(os.getpid(), 9)"
    assert await run(python(program)) == "its process was ended by SIGKILL; its last line was: so far"


async def test_a_program_that_is_not_there_is_named() -> None:
    words = await run(Command(["/no/such/program", "at", "all"], {}))
    assert words.startswith("`program at all` could not be started: ")


async def test_a_command_that_fails_is_the_last_one(tmp_path: Path) -> None:
    touch = python(f"open({str(tmp_path / 'touched')!r}, 'w')")
    assert "exit code 1" in await run(python("raise SystemExit(1)"), touch)
    assert not (tmp_path / "touched").exists()
    assert await run(python("pass"), touch) == ""
    assert (tmp_path / "touched").exists()


async def test_a_command_that_never_ends_is_ended() -> None:
    words = await run(python("import time; time.sleep(600)", timeout=0.2))
    assert words.endswith("did not end within 0.2 s.")


@pytest.mark.parametrize("way", ["stop", "kill"])
async def test_it_is_stopped_at_once_and_starts_nothing_more(way: str, tmp_path: Path) -> None:
    started, touched = tmp_path / "started", tmp_path / "touched"
    program = f"import time; open({str(started)!r}, 'w').close(); time.sleep(600)"
    process = IngestProcess([python(program), python(f"open({str(touched)!r}, 'w')")])
    waiting = asyncio.create_task(process.wait())
    while not started.exists():  # noqa: ASYNC110 - another process says so
        await asyncio.sleep(0.01)
    getattr(process, way)()
    assert "its process was ended by SIG" in await asyncio.wait_for(waiting, timeout=30)
    assert not touched.exists()


async def test_what_it_left_behind_is_not_waited_for() -> None:
    program = (
        "import subprocess, sys; sys.stderr.write('done\\n'); sys.stderr.flush()\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(20)'])\n"
        "sys.exit(1)"
    )
    assert await asyncio.wait_for(IngestProcess([python(program)]).wait(), timeout=60) != ""


SECRETS = [
    "QUOTH_GITHUB_WEBHOOK_SECRET",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "DATABASE_URL",
    "QDRANT_API_KEY",
    "REDIS_URL",
    "AWS_SECRET_ACCESS_KEY",
    "SOME_TOKEN_OF_ANOTHER_PROGRAM",
]


def git(*arguments: str, cwd: Path) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *identity, *arguments], cwd=cwd, check=True, capture_output=True)


async def test_a_pull_brings_what_was_pushed_and_a_broken_one_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in SECRETS:
        monkeypatch.setenv(name, "not for hooks")
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    origin, book = tmp_path / "origin", tmp_path / "book"
    origin.mkdir()
    git("init", cwd=origin)
    (origin / "a.md").write_text("# A\n")
    git("add", ".", cwd=origin)
    git("commit", "-m", "a", cwd=origin)
    git("clone", str(origin), str(book), cwd=tmp_path)
    (origin / "b.md").write_text("# B\n")
    git("add", ".", cwd=origin)
    git("commit", "-m", "b", cwd=origin)

    assert is_checkout(book)
    assert not is_checkout(tmp_path)
    command = pull_command(str(book))
    assert "not for hooks" not in command.environment.values()
    assert (command.environment["PATH"], command.environment["https_proxy"]) == (
        os.environ["PATH"],
        "http://proxy.example:3128",
    )
    hook = book / ".git" / "hooks" / "post-merge"
    hook.write_text(f"#!/bin/sh\nenv > {tmp_path / 'seen'}\n")
    hook.chmod(0o755)
    assert await run(command) == ""
    assert (book / "b.md").exists()
    assert "not for hooks" not in (tmp_path / "seen").read_text()
    origin.rename(tmp_path / "gone")
    assert await run(command) != ""
