from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from itertools import pairwise
from pathlib import Path

import pytest

from commands import quoth
from quoth.bootstrap import Quoth, bootstrap, fingerprint_of
from quoth.cli.watch import follow_edits
from quoth.domain import IngestJob
from quoth.settings import load_settings
from quoth.sources import BookSource, open_source
from quoth.sources.watching import Look, WatchOptions, changes, look_at
from quoth.testing.embedder import FakeEmbedder
from quoth.testing.index import MemoryIndex
from quoth.testing.library import MemoryLibrary
from samples import TickingClock

NODES = "# Nodes\n\nA node is a process that computes.\n"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


# --- looking ---


def test_a_look_sees_what_is_written_added_moved_and_deleted(tmp_path: Path) -> None:
    page = write(tmp_path / "docs" / "a.md", NODES)
    looks = [look_at(tmp_path)]
    page.write_text(NODES + "More.\n")
    looks.append(look_at(tmp_path))
    write(tmp_path / "docs" / "b.md", NODES)
    looks.append(look_at(tmp_path))
    page.rename(tmp_path / "c.md")
    looks.append(look_at(tmp_path))
    (tmp_path / "c.md").unlink()
    looks.append(look_at(tmp_path))
    assert all(before != after for before, after in pairwise(looks))
    assert looks[-1] == look_at(tmp_path)


def test_a_replacement_of_the_same_size_and_time_is_seen(tmp_path: Path) -> None:
    page = write(tmp_path / "a.md", "one")
    stat = page.stat()
    before = look_at(tmp_path)
    other = write(tmp_path / "other", "two")
    os.utime(other, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    other.replace(page)
    assert look_at(tmp_path) != before


def test_hidden_folders_dependencies_and_our_own_data_are_not_looked_at(tmp_path: Path) -> None:
    write(tmp_path / "a.md", NODES)
    before = look_at(tmp_path, [tmp_path / "data"])
    for folder in (".git", "node_modules/x", "data/index"):
        write(tmp_path / folder / "file.md", "x")
    assert look_at(tmp_path, [tmp_path / "data"]) == before


def test_a_missing_folder_has_no_files(tmp_path: Path) -> None:
    assert look_at(tmp_path / "gone") == {}


class Film:
    """Looks that the test gives in advance; records the pauses."""

    def __init__(self, *looks: int) -> None:
        self._looks = list(looks)
        self.slept: list[float] = []

    async def look(self) -> Look:
        if not self._looks:
            raise EOFError
        return {"a.md": (self._looks.pop(0), 0, 0)}

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


async def moments(film: Film, options: WatchOptions = WatchOptions()) -> int:
    count = 0
    async with aclosing(changes(film.look, film.sleep, TickingClock(), options)) as found:
        with suppress(EOFError):  # the film is over
            async for _ in found:
                count += 1
    return count


@pytest.mark.parametrize(
    ("looks", "expected"),
    [
        ([1], 1),  # the beginning
        ([1, 1, 1, 1], 1),
        ([1, 2, 2], 2),
        ([1, 2, 2, 2, 2], 2),
        ([1, 2, 3, 4, 4], 2),  # an editor that writes three times is one change
        ([1, 2, 2, 3, 3], 3),
        ([1, 2, 1, 1], 2),  # and back again: an ingest finds nothing to do
    ],
)
async def test_a_change_is_reported_once_the_folder_has_come_to_rest(looks: list[int], expected: int) -> None:
    assert await moments(Film(*looks)) == expected


async def test_a_folder_that_never_rests_is_reported_all_the_same() -> None:
    assert await moments(Film(*range(1, 40)), WatchOptions(still=3)) > 4


async def test_no_more_than_its_share_of_the_time_is_spent_looking() -> None:
    film = Film(1, 1, 1)
    await moments(film, WatchOptions(pause=0.5, share=0.05))
    assert film.slept == [20.0, 20.0]  # a look takes one second of this clock


# --- following ---


class Stage:
    """A folder that is watched, and a pause that ends when the test says so."""

    def __init__(self, folder: Path, quoth: Quoth) -> None:
        self.folder = folder
        self.quoth = quoth
        self.lines: list[str] = []
        self._asleep = asyncio.Semaphore(0)
        self._awake = asyncio.Semaphore(0)

    async def sleep(self, seconds: float) -> None:
        self._asleep.release()
        await self._awake.acquire()

    async def resting(self) -> None:
        """Until the watcher has nothing to do; then let it look again, as often as a change needs."""
        for _ in range(4):
            await asyncio.wait_for(self._asleep.acquire(), timeout=30)
            self._awake.release()

    def reopen(self) -> BookSource:
        return open_source(self.folder, book_id="book")

    async def first(self) -> IngestJob:
        return await self.quoth.ingest.run(self.reopen())

    async def text(self) -> str:
        return "\n".join([chunk.text async for chunk in self.quoth.index.scan("book")])


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    write(tmp_path / "docs" / "nodes.md", NODES)
    embedder = FakeEmbedder()
    index = MemoryIndex(fingerprint_of(embedder))
    settings = load_settings(environ={}, directory=tmp_path, data_dir=tmp_path / "docs" / "data")
    parts = {"clock": TickingClock(), "embedder": embedder, "index": index, "library": MemoryLibrary()}
    async with bootstrap(settings, **parts) as quoth:  # type: ignore[arg-type]
        there = Stage(tmp_path / "docs", quoth)
        task = asyncio.create_task(
            follow_edits(quoth, there.folder, there.first, there.reopen, say=there.lines.append, sleep=there.sleep)
        )
        await there.resting()
        yield there
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()


async def test_an_edit_reaches_the_book_and_is_reported_in_one_line(stage: Stage) -> None:
    assert stage.lines == [f"Watching {stage.folder}; press Ctrl-C to stop."]
    write(stage.folder / "nodes.md", NODES + "\nEvery node has a name.\n")
    await stage.resting()
    assert "Every node has a name." in await stage.text()
    assert len(stage.lines) == 2
    assert stage.lines[1].startswith("nodes.md: 1 chunk added, 1 dropped, 1 embedded in ")


async def test_new_and_deleted_pages_are_reported_by_name(stage: Stage) -> None:
    write(stage.folder / "topics.md", "# Topics\n\nA topic carries messages.\n")
    await stage.resting()
    (stage.folder / "topics.md").unlink()
    await stage.resting()
    assert stage.lines[1].startswith("+topics.md: 1 chunk added")
    assert stage.lines[2].startswith("-topics.md: 0 chunks added, 1 dropped")


async def test_a_file_that_is_not_a_page_is_not_reported(stage: Stage) -> None:
    write(stage.folder / "picture.svg", "<svg/>")
    await stage.resting()
    assert len(stage.lines) == 1


async def test_our_own_data_inside_the_folder_is_not_an_edit(stage: Stage) -> None:
    jobs = len(await stage.quoth.library.jobs())
    write(stage.folder / "data" / "quoth.db", "x")
    await stage.resting()
    assert len(await stage.quoth.library.jobs()) == jobs


async def test_another_writer_is_waited_for_and_reported_once(stage: Stage) -> None:
    async with stage.quoth.index.writer("other"):
        write(stage.folder / "nodes.md", NODES + "\nLate.\n")
        await stage.resting()
        await stage.resting()
        assert len(stage.lines) == 2
        assert "Another writer" in stage.lines[1]
        assert "Late." not in await stage.text()
    await stage.resting()
    assert "Late." in await stage.text()


async def test_a_folder_that_went_away_and_came_back_is_still_followed(stage: Stage) -> None:
    elsewhere = stage.folder.with_name("elsewhere")
    stage.folder.rename(elsewhere)
    await stage.resting()
    assert "does not exist" in stage.lines[1]
    assert NODES.split("\n")[2] in await stage.text()  # the book itself is not given up
    elsewhere.rename(stage.folder)
    write(stage.folder / "nodes.md", NODES + "\nBack.\n")
    await stage.resting()
    assert "Back." in await stage.text()


async def test_the_right_to_write_is_held_only_while_something_is_written(stage: Stage) -> None:
    async with stage.quoth.index.writer("book"):
        pass


# --- the command ---


@pytest.mark.slow
def test_the_command_follows_an_edit_and_ctrl_c_leaves_with_exit_code_0(tmp_path: Path) -> None:
    page = write(tmp_path / "docs" / "nodes.md", NODES)
    command = [sys.executable, "-m", "quoth", "ingest", str(page.parent), "--watch", "--data-dir", str(tmp_path / "d")]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as watcher:
        try:
            assert watcher.stdout is not None
            assert watcher.stderr is not None
            assert watcher.stdout.readline().startswith("Ingested docs: 1 page ")
            assert watcher.stdout.readline().startswith("Watching ")
            page.write_text(NODES + "\n## Names\n\nEvery node has a name.\n")
            assert watcher.stdout.readline().startswith("nodes.md: 1 chunk added")
            watcher.send_signal(signal.SIGINT)
            assert watcher.wait(timeout=60) == 0
            assert "Traceback" not in watcher.stderr.read()
        finally:
            watcher.kill()


@pytest.mark.slow
@pytest.mark.parametrize("other", ["--json", "--dry-run"])
def test_watching_cannot_be_combined_with_options_that_end(tmp_path: Path, other: str) -> None:
    write(tmp_path / "docs" / "nodes.md", NODES)
    run = quoth("ingest", "docs", "--watch", other, cwd=tmp_path)
    assert run.returncode == 2
    assert f"--watch and {other} cannot be combined" in run.stdout + run.stderr
