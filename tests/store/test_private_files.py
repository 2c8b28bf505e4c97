"""Only their owner can read the data directory and the database, whatever the umask."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from contracts.library_contract import a_turn
from quoth.bootstrap import bootstrap
from quoth.cli.chat import HISTORY
from quoth.settings import load_settings
from quoth.sources import open_source
from quoth.store.library import open_library
from quoth.testing.embedder import FakeEmbedder

pytestmark = pytest.mark.skipif(os.name != "posix", reason="only POSIX has these permissions")


@pytest.fixture(autouse=True)
def _usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "new" / "data"


def mode(path: Path) -> str:
    return f"{stat.S_IMODE(path.stat().st_mode):o}"


async def used(folder: Path) -> dict[str, str]:
    """The modes of all files while a store is open and has been written to."""
    library = await open_library(f"sqlite:///{folder / 'quoth.db'}")
    try:
        await library.add_turn(a_turn())
        return {path.name: mode(path) for path in (folder, *folder.iterdir())}
    finally:
        await library.close()


async def test_what_is_new_is_its_owners_alone(folder: Path) -> None:
    assert await used(folder) == {"data": "700", "quoth.db": "600", "quoth.db-wal": "600", "quoth.db-shm": "600"}
    assert mode(folder.parent) == "755"  # not ours to decide


async def test_what_an_older_quoth_left_open_is_closed(folder: Path) -> None:
    folder.mkdir(parents=True)
    running = sqlite3.connect(folder / "quoth.db", isolation_level=None)
    running.execute("PRAGMA journal_mode=WAL")
    running.execute("CREATE TABLE anything (one)")
    assert {mode(path) for path in folder.iterdir()} == {"644"}
    assert await used(folder) == {"data": "700", "quoth.db": "600", "quoth.db-wal": "600", "quoth.db-shm": "600"}
    running.close()


async def test_a_folder_with_other_things_in_it_is_left_as_it_is(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "index.html").touch()
    modes = await used(folder)
    assert (modes["data"], modes["index.html"], modes["quoth.db"]) == ("755", "644", "600")


async def test_a_folder_with_all_that_quoth_puts_there_counts_as_ours(tmp_path: Path) -> None:
    data, docs = tmp_path / "data", tmp_path / "docs"
    docs.mkdir()
    (docs / "page.md").write_text("# Topics\n\nA topic carries messages.\n")
    async with bootstrap(load_settings(data_dir=data), embedder=FakeEmbedder()) as quoth:
        await quoth.ingest.run(open_source(docs, book_id="book"))
    (data / HISTORY).touch()  # written by the interactive prompt
    data.chmod(0o755)
    assert {"index", "writer.lock", "quoth.db", HISTORY} == {path.name for path in data.iterdir()}
    await used(data)
    assert mode(data) == "700"


async def test_the_index_makes_the_folder_its_owners_alone_too(folder: Path, tmp_path: Path) -> None:
    settings = load_settings(data_dir=folder, database_url=f"sqlite:///{tmp_path / 'elsewhere' / 'quoth.db'}")
    async with (
        bootstrap(settings, embedder=FakeEmbedder()) as quoth,
        quoth.index.writer("book") as writer,
    ):
        await writer.publish()
    assert mode(folder) == mode(tmp_path / "elsewhere") == "700"
