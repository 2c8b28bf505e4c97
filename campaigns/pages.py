"""Hostile pages in every format: each costs at most one warning, never the ingest, and stays within limits.

Pages are generated from a seed and the formats' own marks: repeated, nested, cut off, mixed with bytes that are not
text. They are ingested in batches by a child process (`python -m campaigns.pages FOLDER DATA`), with a harmless page
beside them that must be found afterwards.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from campaigns.tally import Tally
from quoth.bootstrap import bootstrap
from quoth.settings import load_settings
from quoth.sources import open_source
from quoth.testing.embedder import FakeEmbedder

COUNT = 360
BATCH = 15
SIZE = 12_000  # characters per page, approximately
SECONDS = 120  # of CPU per batch
MEGABYTES = 900
SEED = 41
GOOD = "# Good\n\nA gripper closes with a force of 40 newtons.\n"
MARKS: dict[str, tuple[str, ...]] = {
    ".md": (
        "# ",
        "> ",
        "- ",
        "  - ",
        "```",
        "~~~",
        "| a |",
        "[",
        "](",
        "![",
        "**",
        "_",
        "`",
        "<a id=",
        "<!--",
        "---\n",
    ),
    ".mdx": ("{/*", "*/}", "import x from 'y'\n", "<Tabs>", "</Tabs>", ":::note\n", ":::\n", "{", "}", "# a {#b}\n"),
    ".rst": ("====\n", ".. note::\n\n   ", "`", ":ref:`", "**a", "|x|", "* - ", "+---+\n", "   ", ".. _a:\n", "::\n\n"),
    ".html": ("<div>", "</div>", "<table><tr>", "<h1 id='", "<pre>", "&#x", "<!--", "<script>", "<p", "</"),
    ".ipynb": ('{"cells": [', '{"cell_type": "markdown", "source": [', '"\\ud800"', "9" * 500, "],", "}", "null"),
    ".txt": (".", "a.", "\u202e", "\ufeff", "\x00", "Mr. ", "1. ", "\r", "\t", "=" * 40 + "\n"),
    ".adoc": ("= ", "== ", "[source]\n", "----\n", "|===\n", "include::a.adoc[]\n", "{a}", "<<a>>", "* ", "::\n"),
}


def repeated(dice: random.Random, marks: tuple[str, ...]) -> bytes:
    mark = dice.choice(marks)
    return (mark * (SIZE // len(mark))).encode("utf-8", "surrogatepass")


def nested(dice: random.Random, marks: tuple[str, ...]) -> bytes:
    mark = dice.choice(marks)
    return "".join(f"{' ' * (2 * depth)}{mark}x\n" for depth in range(150)).encode("utf-8", "surrogatepass")


def mixed(dice: random.Random, marks: tuple[str, ...]) -> bytes:
    parts = [dice.choice((*marks, " word ", "\n", "\n\n", "Ein Satz. ")) for _ in range(SIZE // 6)]
    return "".join(parts).encode("utf-8", "surrogatepass")


def torn(dice: random.Random, marks: tuple[str, ...]) -> bytes:
    text = bytearray(mixed(dice, marks))
    for _ in range(40):
        text[dice.randrange(len(text))] = dice.randrange(256)
    return bytes(text[: dice.randrange(1, len(text))])


def headed(dice: random.Random, marks: tuple[str, ...]) -> bytes:
    """Front matter that is not valid."""
    values = (
        "[" * 200,
        "&a [*a]",
        "!!python/object:x",
        "2026-99-99",
        "1e999",
        "{a: {b: ",
        "\t",
        "'",
        "- - - -",
        "0x" + "f" * 400,
    )
    lines = "".join(
        f"{dice.choice(('title', 'module', 'chapter', 'slug', 'x'))}: {dice.choice(values)}\n" for _ in range(6)
    )
    return f"---\n{lines}---\n".encode() + mixed(dice, marks)


KINDS: tuple[Callable[[random.Random, tuple[str, ...]], bytes], ...] = (repeated, nested, mixed, torn, headed)


def pages() -> list[tuple[str, bytes]]:
    dice = random.Random(SEED)
    made = []
    for number in range(COUNT):
        suffix = list(MARKS)[number % len(MARKS)]
        kind = KINDS[number // len(MARKS) % len(KINDS)]
        made.append((f"{number:03}-{kind.__name__}{suffix}", kind(dice, MARKS[suffix])))
    return made


async def run() -> Tally:
    tally = Tally("hostile pages")
    every = pages()
    worst_cpu, worst_memory = 0.0, 0
    for start in range(0, len(every), BATCH):
        batch = every[start : start + BATCH]
        with tempfile.TemporaryDirectory(prefix="quoth-campaign-") as place:
            docs = Path(place) / "docs"
            docs.mkdir()
            (docs / "good.md").write_text(GOOD)
            for name, text in batch:
                (docs / name).write_bytes(text)
            fault, cpu, memory = await asyncio.to_thread(_ingested, docs, Path(place) / "data")
        worst_cpu, worst_memory = max(worst_cpu, cpu), max(worst_memory, memory)
        for name, _ in batch:
            tally.judge(not fault, f"{name} or a page beside it: {fault}")
    tally.figures = {
        "formats": len(MARKS),
        "CPU seconds of the slowest batch": round(worst_cpu, 1),
        "megabytes of the largest process": worst_memory,
    }
    return tally


def _ingested(docs: Path, data: Path) -> tuple[str, float, int]:
    """What went wrong, if anything; CPU seconds; megabytes."""
    child = subprocess.Popen(
        [sys.executable, "-m", "campaigns.pages", str(docs), str(data)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert child.stdout is not None
    said = child.stdout.read().decode(errors="replace")
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    cpu, memory = used.ru_utime + used.ru_stime, used.ru_maxrss // 1024
    if child.returncode != 0:
        return f"exit code {child.returncode}: {said[-300:]}", cpu, memory
    if cpu > SECONDS or memory > MEGABYTES:
        return f"{cpu:.0f} s of CPU, {memory} MB", cpu, memory
    found = json.loads(said)
    return "" if found["good"] else "the harmless page is missing", cpu, memory


async def ingest(docs: Path, data: Path) -> None:
    """Runs in the child: a whole ingest, with the fake embedder."""
    settings = load_settings(environ={}, directory=docs, data_dir=data)
    began = time.process_time()
    async with bootstrap(settings, embedder=FakeEmbedder()) as quoth:
        job = await quoth.ingest.run(open_source(docs, book_id="book"))
        found = [chunk.source_file async for chunk in quoth.index.scan("book")]
    whole = job.files_processed + job.files_skipped == job.files_discovered
    print(json.dumps({"good": whole and "good.md" in found, "cpu": time.process_time() - began}))


if __name__ == "__main__":
    asyncio.run(ingest(Path(sys.argv[1]), Path(sys.argv[2])))
