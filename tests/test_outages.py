"""An outage is never a refusal: every part is broken in turn, behind every door, and repaired again.

Whatever fails, readers get an error that says so, or (if only the language model is down) the passages; but never the
sentence that means "the book does not hold it", neither on the wire nor in the store.
"""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest

import quoth.cli
from doors import ASKED, PAGE, REFUSAL, SESSION, UNKNOWN, Doors, frames, opened
from quoth.bootstrap import bootstrap, fingerprint_of
from quoth.domain import Chunk, ToolCall
from quoth.errors import (
    IndexMismatch,
    IndexUnavailable,
    LibraryUnavailable,
    ModelFilesUnavailable,
    ModelRejected,
    ModelUnavailable,
    QuothError,
    SessionNotFound,
)
from quoth.settings import load_settings
from quoth.sources import open_source
from quoth.testing.embedder import FakeEmbedder
from quoth.testing.index import MemoryIndex, MemoryStorage, MemoryView
from quoth.testing.library import MemoryLibrary
from quoth.testing.model import Line, ScriptedModel
from samples import TickingClock, question

pytestmark = pytest.mark.slow

DOORS = ["/chat", "/chat/stream", "/chat/run"]
# With a filter, the index has to count too.
FIELDS = {"book_id": "book", "session_id": SESSION, "filters": {"section": "Durability"}}
ANSWER = "Transient local durability keeps the last message for late subscribers."


class Breakable:
    """A part whose single calls can be made to fail, at once or after some that still work."""

    def __init__(self, real: Any) -> None:
        self._real = real
        self._broken: dict[str, QuothError] = {}
        self._working = 0
        self.met = 0  # calls that failed

    def break_(self, call: str, error: QuothError, *, after: int = 0) -> None:
        self._broken[call] = error
        self._working = after

    def mend(self) -> None:
        self._broken.clear()

    async def close(self) -> None:
        """Stays open for the next command."""

    def __getattr__(self, name: str) -> Any:
        if name == "view":  # a book is read through it, so the same calls fail there
            return lambda book_id: BreakableView(self, self._real.view(book_id))
        return self.of(self._real, name)

    def of(self, real: Any, name: str) -> Any:
        if name not in self._broken:
            return getattr(real, name)

        async def call(*given: Any, **named: Any) -> Any:
            if self._working:
                self._working -= 1
                return await getattr(real, name)(*given, **named)
            self.met += 1
            raise self._broken[name]

        return call


class BreakableView:
    def __init__(self, owner: Breakable, real: Any) -> None:
        self._owner = owner
        self._view = real

    def __getattr__(self, name: str) -> Any:
        return self._owner.of(self._view, name)


@dataclass
class Parts:
    index: Breakable = field(default_factory=lambda: Breakable(MemoryIndex(fingerprint_of(FakeEmbedder()))))
    library: Breakable = field(default_factory=lambda: Breakable(MemoryLibrary()))
    embedder: Breakable = field(default_factory=lambda: Breakable(FakeEmbedder()))

    def mend(self) -> None:
        for part in (self.index, self.library, self.embedder):
            part.mend()


@asynccontextmanager
async def breakable(folder: Path, **more: Any) -> AsyncIterator[tuple[Doors, Parts]]:
    parts = Parts()
    async with opened(folder, **vars(parts), **more) as doors:
        yield doors, parts


DISK = IndexUnavailable("The index cannot be read.")
BUILT = IndexMismatch("The index was built otherwise.")
DATABASE = LibraryUnavailable("The database does not answer.")
WEIGHTS = ModelFilesUnavailable("The weights are gone.")
BEFORE_THE_VERDICT = [
    ("index", "search", DISK),
    ("index", "search", BUILT),
    ("index", "idf", DISK),
    ("index", "chunks", DISK),
    ("index", "dense_vectors", DISK),
    ("embedder", "embed_query", WEIGHTS),
    ("library", "book", DATABASE),
    ("library", "recent_turns", DATABASE),
]
STORING = ("library", "add_turn", DATABASE)


def problem_of(response: httpx2.Response) -> dict[str, Any]:
    """The error, whether it came instead of an answer or as the last event of a stream."""
    if response.headers["content-type"].startswith("text/event-stream"):
        name, problem = frames(response.text)[-1]
        assert name == "error"
        return problem
    assert response.status_code == response.json()["status"]
    body: dict[str, Any] = response.json()
    return body


async def nothing_is_stored(doors: Doors) -> None:
    with pytest.raises(SessionNotFound):
        await doors.quoth.library.turns(SESSION)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("query", [ASKED, UNKNOWN])
@pytest.mark.parametrize(("part", "call", "error"), BEFORE_THE_VERDICT)
async def test_a_part_that_fails_before_the_verdict_is_an_error_whatever_was_asked(
    tmp_path: Path, door: str, query: str, part: str, call: str, error: QuothError
) -> None:
    async with breakable(tmp_path) as (doors, parts):
        broken: Breakable = getattr(parts, part)
        broken.break_(call, error)
        response = await doors.client.post(door, json={"query": query, **FIELDS})
        parts.mend()

        assert broken.met
        assert REFUSAL not in response.text
        assert (problem_of(response)["error_code"], problem_of(response)["status"]) == (error.code, 503)
        await nothing_is_stored(doors)
        assert ANSWER in (await doors.ask(ASKED, **FIELDS))["answer"]


@pytest.mark.parametrize("door", DOORS)
async def test_a_database_that_fails_when_the_turn_is_stored_is_an_error(tmp_path: Path, door: str) -> None:
    async with breakable(tmp_path) as (doors, parts):
        parts.library.break_("add_turn", DATABASE)
        response = await doors.client.post(door, json={"query": ASKED, **FIELDS})
        parts.mend()

        assert parts.library.met
        assert REFUSAL not in response.text
        assert problem_of(response)["error_code"] == "SERVICE_UNAVAILABLE"
        await nothing_is_stored(doors)
        assert ANSWER in (await doors.ask(ASKED, **FIELDS))["answer"]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("call", "query"),
    [("idf", "and what about volatile?"), ("chunks", "Tell me more about the first source")],
)
async def test_a_follow_up_whose_reference_cannot_be_looked_up_is_an_error(
    tmp_path: Path, door: str, call: str, query: str
) -> None:
    async with breakable(tmp_path) as (doors, parts):
        await doors.ask(ASKED, session_id=SESSION)
        parts.index.break_(call, DISK)
        response = await doors.client.post(door, json={"query": query, "session_id": SESSION})
        parts.mend()

        assert parts.index.met == 1
        assert REFUSAL not in response.text
        assert problem_of(response)["error_code"] == "QDRANT_UNAVAILABLE"
        assert (await doors.quoth.library.turns(SESSION))[1] == 1
        assert (await doors.ask(query, session_id=SESSION))["should_answer"]


# --- a book that goes away while it is being read ---------------------------------------------------------------------


class Elusive(MemoryIndex):
    """Found passages are gone before they can be read."""

    gone = False

    def view(self, book_id: str) -> MemoryView:
        return Emptied(self, book_id) if self.gone else super().view(book_id)


class Emptied(MemoryView):
    async def chunks(self, ids: Sequence[str]) -> list[Chunk]:
        return []


class Deleted(MemoryIndex):
    """The book is deleted between finding and reading."""

    def __init__(self, storage: MemoryStorage) -> None:
        super().__init__(fingerprint_of(FakeEmbedder()), storage)
        self.gone = False

    def view(self, book_id: str) -> MemoryView:
        return Emptied(self, book_id) if self.gone else super().view(book_id)

    async def asked(self, call: str, book_id: str) -> None:
        if self.gone and call == "idf":  # after the search
            self._kept = self._storage.books.pop(book_id)
        await super().asked(call, book_id)

    def restore(self) -> None:
        self.gone = False
        self._storage.books["book"] = self._kept


@pytest.mark.parametrize("door", DOORS)
async def test_a_book_that_changes_faster_than_it_is_read_is_an_outage(tmp_path: Path, door: str) -> None:
    index = Elusive(fingerprint_of(FakeEmbedder()))
    async with opened(tmp_path, index=index) as doors:
        index.gone = True
        response = await doors.client.post(door, json={"query": ASKED, **FIELDS})
        index.gone = False

        assert REFUSAL not in response.text
        assert problem_of(response)["error_code"] == "QDRANT_UNAVAILABLE"
        await nothing_is_stored(doors)
        assert ANSWER in (await doors.ask(ASKED, **FIELDS))["answer"]


@pytest.mark.parametrize("door", DOORS)
async def test_a_book_that_is_deleted_while_it_is_read_is_an_unknown_book(tmp_path: Path, door: str) -> None:
    index = Deleted(MemoryStorage())
    async with opened(tmp_path, index=index) as doors:
        index.gone = True
        response = await doors.client.post(door, json={"query": ASKED, **FIELDS})
        index.restore()

        assert REFUSAL not in response.text
        assert problem_of(response)["error_code"] == "UNKNOWN_BOOK"
        await nothing_is_stored(doors)
        assert ANSWER in (await doors.ask(ASKED, **FIELDS))["answer"]


# --- the language model -----------------------------------------------------------------------------------------------


AWAY = ModelUnavailable("The model does not answer.")
FAILING: list[list[Line]] = [
    [AWAY],
    [ModelRejected("The key is wrong.")],
    [REFUSAL[:25], AWAY],
    [REFUSAL, AWAY],
]


@pytest.mark.parametrize("script", FAILING)
async def test_without_its_model_the_passages_are_given(tmp_path: Path, script: list[Line]) -> None:
    model = ScriptedModel([script])
    async with opened(tmp_path, model=model) as doors:
        response = await doors.client.post("/chat", json={"query": ASKED, **FIELDS})
        body = response.json()
        [turn], _ = await doors.quoth.library.turns(SESSION)
        model.script = [[f"{ANSWER} [1]"]]
        again = await doors.ask(ASKED, **FIELDS)

    assert (body["metadata"]["mode"], body["answer"], body["should_answer"]) == ("retrieval_only", None, True)
    assert body["sources"]
    assert REFUSAL not in response.text
    assert (turn.response, turn.mode) == ("", "retrieval_only")
    assert (again["metadata"]["mode"], again["answer"]) == ("full", f"{ANSWER} [1]")


@pytest.mark.parametrize("script", FAILING)
async def test_a_stream_whose_model_fails_never_ends_in_a_refusal(tmp_path: Path, script: list[Line]) -> None:
    model = ScriptedModel([script])
    async with opened(tmp_path, model=model) as doors:
        response = await doors.client.post("/chat/stream", json={"query": ASKED, **FIELDS})
        [turn], _ = await doors.quoth.library.turns(SESSION)
        model.script = [[f"{ANSWER} [1]"]]
        again = dict(await doors.stream(ASKED, **FIELDS))["done"]

    done = dict(frames(response.text))["done"]
    assert REFUSAL not in response.text
    assert done["should_answer"] is True
    assert done["metadata"]["mode"] != "no_results"
    assert done["fallback_message"]
    assert turn.mode == done["metadata"]["mode"]
    assert again["answer"] == f"{ANSWER} [1]"


SEARCHES = ToolCall("1", "search_book_content", json.dumps({"query": "volatile durability"}))


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("part", "call", "after", "error"),
    [("index", "search", 1, DISK), ("embedder", "embed_query", 1, WEIGHTS), ("library", "book", 1, DATABASE)],
)
async def test_a_part_that_fails_while_the_model_searches_again_is_an_error(
    tmp_path: Path, door: str, part: str, call: str, after: int, error: QuothError
) -> None:
    model = ScriptedModel([[SEARCHES], [REFUSAL]])
    async with breakable(tmp_path, model=model) as (doors, parts):
        broken: Breakable = getattr(parts, part)
        broken.break_(call, error, after=after)
        response = await doors.client.post(door, json={"query": ASKED, **FIELDS})
        parts.mend()

        assert broken.met == 1
        assert REFUSAL not in response.text
        assert problem_of(response)["error_code"] == error.code
        await nothing_is_stored(doors)
        model.script = [[f"{ANSWER} [1]"]]
        assert (await doors.ask(ASKED, **FIELDS))["answer"] == f"{ANSWER} [1]"


# --- the terminal -----------------------------------------------------------------------------------------------------


Ask = Callable[..., tuple[int, str]]


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> tuple[Parts, Ask]:
    """`quoth ask` as a person calls it, in this process and over breakable parts."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "topics.md").write_text(PAGE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # a command sets up its own
    parts = Parts()
    fakes: dict[str, Any] = {"clock": TickingClock(), **vars(parts)}

    async def ingest() -> None:
        async with bootstrap(load_settings(data_dir=tmp_path / "data"), **fakes) as joined:
            await joined.ingest.run(open_source(docs, book_id="book"))

    asyncio.run(ingest())

    def ask(*more: str, model: ScriptedModel | None = None) -> tuple[int, str]:
        arguments = ["ask", ASKED, "--section", "Durability", "--book", "book", "--session", SESSION, *more]
        monkeypatch.setattr(sys, "argv", ["quoth", *arguments, "--data-dir", str(tmp_path / "data")])
        monkeypatch.setattr(sys.modules["quoth.cli.app"], "bootstrap", partial(bootstrap, model=model, **fakes))
        monkeypatch.setattr("quoth.cli.leave", lambda code: sys.exit(code or 0))
        with pytest.raises(SystemExit) as left:
            quoth.cli.main()
        said = capsys.readouterr()
        return int(str(left.value.code)), said.out + said.err

    return parts, ask


@pytest.mark.parametrize("more", [(), ("--json",)])
@pytest.mark.parametrize(("part", "call", "error"), [*BEFORE_THE_VERDICT, STORING])
def test_in_the_terminal_an_outage_is_one_line_and_an_exit_code(
    terminal: tuple[Parts, Ask], more: tuple[str, ...], part: str, call: str, error: QuothError
) -> None:
    parts, ask = terminal
    getattr(parts, part).break_(call, error)
    code, said = ask(*more)
    parts.mend()

    assert (code, REFUSAL in said) == (error.exit_code, False)
    assert error.message in said
    code, said = ask()
    assert code == 0
    assert ANSWER in said


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_in_the_terminal_a_model_that_is_away_leaves_the_passages(
    terminal: tuple[Parts, Ask], more: tuple[str, ...]
) -> None:
    _, ask = terminal
    code, said = ask(*more, model=ScriptedModel([[REFUSAL, AWAY]]))
    assert (code, REFUSAL in said) == (0, False)
    assert "The language model gave no answer" in said
    assert "durability" in said


# --- the real index and the real database -----------------------------------------------------------------------------


def damage(folder: Path) -> None:
    """Overwrite every file below it, as a failing disk would."""
    for path in folder.rglob("*"):
        if path.is_file():
            path.write_bytes(b"\x00garbage\x00" * 16)


def damage_database(folder: Path) -> None:
    for path in folder.glob("quoth.db*"):
        path.write_bytes(b"no database " * 512)


DAMAGES: list[Callable[[Path], None]] = [
    lambda data: damage(data / "index"),
    lambda data: shutil.rmtree(data / "index"),
    damage_database,
]


@pytest.mark.slow
@pytest.mark.parametrize("broken", DAMAGES, ids=["index damaged", "index gone", "database damaged"])
async def test_files_that_are_damaged_are_an_error_and_the_backup_answers_again(
    tmp_path: Path, broken: Callable[[Path], None]
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "topics.md").write_text(PAGE, encoding="utf-8")
    data = tmp_path / "data"

    async def ask() -> str | None:
        async with bootstrap(load_settings(data_dir=data), embedder=FakeEmbedder()) as joined:
            return (await joined.conversations.answer(question(ASKED))).text

    async with bootstrap(load_settings(data_dir=data), embedder=FakeEmbedder()) as joined:
        await joined.ingest.run(open_source(docs, book_id="book"))
    shutil.copytree(data, tmp_path / "backup")

    broken(data)
    with pytest.raises(QuothError) as caught:
        await ask()
    assert REFUSAL not in str(caught.value)
    assert caught.value.code != "INTERNAL_ERROR"

    shutil.rmtree(data)
    shutil.copytree(tmp_path / "backup", data)
    assert ANSWER in (await ask() or "")
