"""`kill -9` at any moment: every page is old or new, never missing, and the next run gives the same index as a fresh
one."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Mapping
from itertools import cycle
from pathlib import Path
from types import MappingProxyType

import pytest

import commands
import ingest_process
from commands import Started
from quoth.bootstrap import bootstrap
from quoth.domain import Chunk
from quoth.errors import UnknownBook
from quoth.settings import load_settings
from quoth.testing.embedder import FakeEmbedder

KILLS = 50
HEAL_EVERY = 10
PAGES = 6

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def edition(number: int) -> dict[str, str]:
    """Two editions of a book: most pages differ, some only move, and each edition has one page of its own."""
    pages = {f"page-{page:02}.md": _page(page, number if page % 3 else 0) for page in range(PAGES)}
    pages[f"only-in-{number}.md"] = _page(99, number)
    pages[f"moved-{number}.md"] = "# Moved\n\nThis page has another name in each edition.\n"
    return pages


def _page(page: int, number: int) -> str:
    sections = "".join(
        f"\n## Section {section}\n\nPage {page}, section {section}, edition {number if section % 2 else 0}.\n"
        for section in range(3)
    )
    return f"# Page {page}\n\nIntroduction of page {page}.\n{sections}"


def write(folder: Path, pages: Mapping[str, str]) -> None:
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        path.unlink()
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")


def start(data: Path, folder: Path) -> Started:
    reads, writes = os.pipe()
    with open(reads, encoding="utf-8") as said:
        started = commands.start(ingest_process.__file__, data, folder, files=(0, writes, 2))
        os.close(writes)
        assert said.readline() == "ready\n"  # from here on it may be anywhere
    return started


class Ingests:
    """Ingesting processes, and how long the last complete one took."""

    def __init__(self) -> None:
        self.whole = 0.0

    def run(self, data: Path, folder: Path) -> None:
        started = start(data, folder)
        began = time.monotonic()
        assert started.wait() == 0
        self.whole = time.monotonic() - began

    def run_and_kill(self, data: Path, folder: Path, moment: float) -> bool:
        """Whether it was killed before its end."""
        started = start(data, folder)
        time.sleep(moment * self.whole)
        started.kill()
        ended = started.wait()
        assert ended in (0, -signal.SIGKILL)
        return ended != 0


async def stored(data: Path, environ: Mapping[str, str] = MappingProxyType({})) -> dict[str, list[Chunk]]:
    settings = load_settings(environ=environ, directory=data, data_dir=data)
    async with bootstrap(settings, embedder=FakeEmbedder(dimensions=ingest_process.DIMENSIONS)) as quoth:
        pages: dict[str, list[Chunk]] = {}
        try:
            async for chunk in quoth.index.scan(ingest_process.BOOK):
                pages.setdefault(chunk.source_file, []).append(chunk)
        except UnknownBook:
            return {}
        return pages


async def test_a_killed_ingest_leaves_whole_pages_and_the_next_one_converges(data_dir: Path) -> None:
    ingests = Ingests()
    folder, data = data_dir / "docs", data_dir / "data"
    fresh: dict[int, dict[str, list[Chunk]]] = {}
    for number in (1, 2):
        write(folder, edition(number))
        ingests.run(data_dir / f"fresh-{number}", folder)
        fresh[number] = await stored(data_dir / f"fresh-{number}")
    write(folder, edition(1))
    ingests.run(data, folder)
    always = fresh[1].keys() & fresh[2].keys()
    dice = random.Random(20261115)
    editions = cycle((2, 1))

    def until_killed() -> int:
        """The edition of a killed ingest; one that ended before the kill does not count."""
        for number in editions:
            write(folder, edition(number))
            if ingests.run_and_kill(data, folder, dice.random()):
                return number
        raise AssertionError("there is always another edition")

    for round_ in range(KILLS // HEAL_EVERY):
        for kill in range(HEAL_EVERY):
            number = until_killed()
            found = await stored(data)
            assert always <= found.keys(), f"kill {kill} of round {round_}: a page is missing"
            for name, chunks in found.items():
                known = [fresh[one][name] for one in (1, 2) if name in fresh[one]]
                assert chunks in known, f"kill {kill} of round {round_}: {name} is neither old nor new"
        ingests.run(data, folder)
        assert await stored(data) == fresh[number], f"after round {round_} the next run did not converge"
