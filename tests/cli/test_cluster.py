"""The command line with QDRANT_URL: real processes against Qdrant's REST calls on loopback."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from commands import quoth
from qdrant_wire import Wire, qdrant_wire

pytestmark = pytest.mark.slow

PAGE = """# Topics

A topic carries messages from publishers to subscribers.

## Durability

Transient local durability keeps the last message for late subscribers. Volatile durability keeps nothing.
"""


@pytest.fixture
def wire() -> Iterator[Wire]:
    with qdrant_wire() as wire:
        yield wire


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "topics.md").write_text(PAGE)
    (folder / "nodes.md").write_text("# Nodes\n\nA node is a process that publishes and subscribes.\n")
    return folder


class Shell:
    def __init__(self, data: Path) -> None:
        self.data = data

    def run(self, *arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        return quoth(*arguments, "--data-dir", self.data, cwd=self.data.parent, **environment)

    def json(self, *arguments: str | Path, **environment: str) -> Any:
        run = self.run(*arguments, "--json", **environment)
        assert run.returncode == 0, run.stderr
        assert run.stderr == ""
        return json.loads(run.stdout)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path / "data")


@pytest.mark.timeout(300)
def test_a_book_moves_to_the_server_and_back_and_every_command_works_there(
    shell: Shell, docs: Path, wire: Wire, tmp_path: Path
) -> None:
    cluster = {"QDRANT_URL": wire.url}
    chunks = shell.json("ingest", docs)["chunks_created"]
    embedded = shell.run("export").stdout
    planned = shell.json("migrate-index", "--to", "cluster", "--dry-run", **cluster)
    assert planned["books"] == [{"book_id": "docs", "chunks": chunks, "written": chunks, "dropped": 0, "dry_run": True}]
    moved = shell.run("migrate-index", "--to", "cluster", **cluster)
    assert (moved.returncode, moved.stderr) == (0, "")
    assert f"{chunks} of {chunks} chunks written, 0 dropped, none embedded" in moved.stdout

    assert shell.run("export", **cluster).stdout == embedded
    again = shell.json("ingest", docs, **cluster)
    assert (again["files_skipped"], again["chunks_embedded"]) == (2, 0)
    answer = shell.json("ask", "Which durability keeps the last message for late subscribers?", **cluster)
    assert "Transient local durability" in answer["answer"]

    # A page changes on the server; it goes back, and only the change is written.
    (docs / "nodes.md").write_text("# Nodes\n\nA node is a process. Nodes have names.\n")
    shell.json("ingest", docs, **cluster)
    newer = shell.run("export", **cluster).stdout
    refused = shell.run("migrate-index", "--to", "cluster", **cluster)
    assert refused.returncode == 1
    assert "newer" in refused.stderr
    back = shell.json("migrate-index", "--to", "embedded", **cluster)
    assert (back["books"][0]["written"], back["books"][0]["dropped"]) == (1, 1)
    assert shell.run("export").stdout == newer != embedded
    assert shell.json("ingest", docs)["files_skipped"] == 2


def test_a_server_that_is_down_and_a_wrong_key_are_one_line_each(shell: Shell, docs: Path, wire: Wire) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        down = shell.run("ingest", docs, QDRANT_URL=f"http://127.0.0.1:{closed.getsockname()[1]}")
    assert (down.returncode, len(down.stderr.splitlines())) == (1, 1)
    assert "QDRANT_URL" in down.stderr
    wire.api_key = "right"
    refused = shell.run("ingest", docs, QDRANT_URL=wire.url, QDRANT_API_KEY="wrong", QUOTH_LOG_LEVEL="error")
    assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1)
    assert "QDRANT_API_KEY" in refused.stderr


def test_moving_needs_a_server_to_move_to(shell: Shell) -> None:
    unnamed = shell.run("migrate-index", "--to", "cluster")
    assert unnamed.returncode == 2
    assert "QDRANT_URL" in unnamed.stderr
    wrong = shell.run("migrate-index", "--to", "moon")
    assert wrong.returncode == 2
    assert "cluster, embedded" in wrong.stderr


WATCH_NUMPY = """
import sys, threading


class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy" and threading.current_thread() is not threading.main_thread():
            sys.stderr.write("numpy is imported beside the main thread\\n")


sys.meta_path.insert(0, Watch())
"""


@pytest.mark.timeout(600)
def test_forty_commands_all_start(shell: Shell, docs: Path, wire: Wire, tmp_path: Path) -> None:
    """Numpy cannot be imported in two threads at once: one command in six failed. The watch sees it in every one."""
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "sitecustomize.py").write_text(WATCH_NUMPY)
    shell.json("ingest", docs, QDRANT_URL=wire.url)
    paths = os.pathsep.join([str(hooks), os.environ.get("PYTHONPATH", "")])

    def ask(number: int) -> subprocess.CompletedProcess[str]:
        command = ("ask", "Which durability keeps the last message?") if number % 2 else ("search", "durability")
        return subprocess.run(
            [sys.executable, "-m", "quoth", *command, "--data-dir", str(shell.data)],
            capture_output=True,
            text=True,
            timeout=200,
            env={**os.environ, "QDRANT_URL": wire.url, "PYTHONPATH": paths},
        )

    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(ask, range(40)))
    assert [(run.returncode, run.stderr) for run in runs] == [(0, "")] * 40
    assert all("Transient local durability" in run.stdout for run in runs)


@pytest.mark.timeout(300)
def test_a_second_machine_answers_from_a_book_that_it_finds_in_the_index(
    shell: Shell, docs: Path, wire: Wire, tmp_path: Path
) -> None:
    cluster = {"QDRANT_URL": wire.url}
    shell.json("ingest", docs, "--base-url", "https://robots.example", **cluster)
    second = Shell(tmp_path / "second")
    answer = second.json("ask", "Which durability keeps the last message for late subscribers?", **cluster)
    assert "Transient local durability" in answer["answer"]
    assert answer["sources"][0]["source_url"].startswith("https://robots.example/")
    assert named(second.json("books", **cluster)) == named(shell.json("books", **cluster)) != []
    # An adopted book is as good as one ingested there: nothing is embedded again.
    again = second.json("ingest", docs, **cluster)
    assert (again["chunks_embedded"], again["chunks_created"], again["chunks_deleted"]) == (0, 0, 0)


@pytest.mark.timeout(300)
def test_a_book_moves_from_the_server_into_an_empty_directory_and_every_command_works_there(
    shell: Shell, docs: Path, wire: Wire, tmp_path: Path
) -> None:
    shell.json("ingest", docs, QDRANT_URL=wire.url)
    empty = Shell(tmp_path / "empty")
    moved = empty.run("migrate-index", "--to", "embedded", QDRANT_URL=wire.url)
    assert (moved.returncode, moved.stderr) == (0, "")
    answer = empty.json("ask", "Which durability keeps the last message for late subscribers?")
    assert "Transient local durability" in answer["answer"]
    assert named(empty.json("books")) == named(shell.json("books", QDRANT_URL=wire.url)) != []
    assert chunks_in(empty.run("export").stdout) == chunks_in(shell.run("export", QDRANT_URL=wire.url).stdout) != []


def named(found: dict[str, Any]) -> list[tuple[str, str]]:
    return [(book["book_id"], book["title"]) for book in found["books"]]


def chunks_in(exported: str) -> list[dict[str, Any]]:
    """The chunks without the digest of the page's file, which only an ingest knows."""
    return [{**json.loads(line), "page_digest": None} for line in exported.splitlines()]
