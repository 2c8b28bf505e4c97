"""Ingestion against LlamaIndex and LangChain, after edits, and as books grow: `make bench-ingestion BOOK=…`.

Three processes (`ingesting.py`) ingest the same pages in turn with the same MiniLM weights; the ratio
within a round counts, because a busy machine slows all of them. The pages are those of the book with their includes
resolved, so that all three read the same text. Then single pages are edited, and each process applies the edit in its
own incremental way: first inside the running process, then as a command, from its start until everything is stored.
It also measures a re-ingest of the whole, unchanged book by the command line, and memory at growing sizes
(`memory.py`).
Each part keeps its last figures in docs/benchmarks/ingestion.json until it is run again; ingestion.md shows them all.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import memory
from embedding import (
    BASELINE_ENVIRONMENT,
    REPORTS,
    ROOT,
    Measured,
    Side,
    install_baseline,
    machine,
    pip_install,
    stamp,
    stamped,
)
from ingestion_page import as_page
from quoth.models.minilm import LIMIT, WordPieces, find_model_dir
from quoth.sources import open_source

SAMPLE = ROOT / "examples" / "robotics-book"
FRAMEWORKS = (
    "llama-index-core==0.14.25",
    "llama-index-embeddings-huggingface==0.8.0",
    "langchain-core==1.7.2",
    "langchain-text-splitters==1.1.3",
)
# It asks for an older huggingface-hub than sentence-transformers installs, for functions that are not used here.
WITHOUT_DEPENDENCIES = ("langchain-huggingface==1.2.3",)
BATCHES = (16, 32, 64)
SIZES = (10_000, 50_000, 100_000)
OURS, *OTHERS = NAMES = ("ours", "llamaindex", "langchain")
EDITED = "round-0"  # the ingest of the first round
PROGRAM = Path(__file__).with_name("ingesting.py")
PARTS = ("compare", "unchanged", "memory")

Seconds = dict[str, list[float]]
T = TypeVar("T")


def install_frameworks(environment: Path) -> None:
    install_baseline(environment)
    packages = (*FRAMEWORKS, *WITHOUT_DEPENDENCIES)
    if stamped(environment, ".installed-frameworks", packages):
        return
    print(f"Installing {', '.join(packages)} into {environment.name} (once) …")
    freeze = [str(environment / "bin" / "python"), "-m", "pip", "freeze"]
    present = subprocess.run(freeze, check=True, capture_output=True, text=True).stdout
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as constraints:
        # Packages that the embedding benchmark measures must not change, torch above all.
        constraints.write(present)
        constraints.flush()
        subprocess.run([*pip_install(environment), "-c", constraints.name, *FRAMEWORKS], check=True)
    subprocess.run([*pip_install(environment), "--no-deps", *WITHOUT_DEPENDENCIES], check=True)
    stamp(environment, ".installed-frameworks", packages)


def stage(book: Path, folder: Path, most: int | None) -> list[Path]:
    """The first pages of the book as a plain folder: resolved text, no front matter, the same for every side."""
    source = open_source(str(book), book_id="staged")
    pages = []
    for file in list(source.files())[:most]:
        page = source.read(file)
        target = (folder / file.source_file).with_suffix(".md")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(page.text[page.body_start :], encoding="utf-8")
        pages.append(target)
    return pages


def python_of(name: str, environment: Path) -> Path:
    return Path(sys.executable) if name == OURS else environment / "bin" / "python"


def variables(name: str, data_dir: Path) -> dict[str, str]:
    if name == OURS:
        return {"PYTHONPATH": str(ROOT / "src"), "BENCH_DATA_DIR": str(data_dir)}
    return {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "MODEL_DIR": str(find_model_dir())}


def as_command(name: str, environment: Path, pages: Path, data_dir: Path) -> Measured:
    """From the start of a new process to its end, when everything is stored."""
    command = [python_of(name, environment), PROGRAM, name, pages, data_dir.parent / name]
    if name == OURS:
        command = [python_of(name, environment), "-m", "quoth", "ingest", pages]
        command += ["--book", EDITED, "--data-dir", data_dir, "--json"]
    before, begun = children_cpu(), time.perf_counter()
    environ = {**os.environ, **variables(name, data_dir)}
    subprocess.run([str(part) for part in command], check=True, capture_output=True, env=environ)
    return Measured(wall=time.perf_counter() - begun, cpu=children_cpu() - before)


def children_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@contextmanager
def all_sides(environment: Path, data_dir: Path) -> Iterator[list[Side]]:
    sides: list[Side] = []
    try:
        for name in NAMES:
            sides.append(Side(name, [python_of(name, environment), PROGRAM, name], variables(name, data_dir)))
        yield sides
    finally:
        for side in sides:
            side.close()


def fastest_batches(sides: Sequence[Side], pages: Sequence[Path], folder: Path) -> dict[str, int]:
    """The best batch size for each of the others, tried on a few pages; the first try only warms up."""
    for page in pages[:: max(1, len(pages) // 3)][:3]:
        (folder / page.name).write_bytes(page.read_bytes())
    chosen = {}
    for side in sides:
        side.ask(ingest=str(folder), name="warming-up")
        if side.name == OURS:
            continue
        spent = {}
        for size in BATCHES:
            side.ask(batch=size)
            spent[size] = side.ask(ingest=str(folder), name=f"batch-{size}")["cpu"]
        chosen[side.name] = min(spent, key=lambda size: spent[size])
        side.ask(batch=chosen[side.name])
    return chosen


def edit(page: Path, number: int) -> None:
    """One more sentence at the end of a line of prose, near the middle of the page."""
    lines = page.read_text(encoding="utf-8").split("\n")
    fenced, prose = False, []
    for place, line in enumerate(lines):
        fenced ^= line.lstrip().startswith("```")
        if not fenced and line[:1].isalpha():
            prose.append(place)
    chosen = min(prose, key=lambda place: abs(place - len(lines) // 2), default=len(lines) - 1)
    lines[chosen] += f" This sentence, number {number}, came in with an edit."
    page.write_text("\n".join(lines), encoding="utf-8")


def pages_to_edit(pages: Sequence[Path], count: int) -> list[Path]:
    """Pages of all sizes except the smallest and the largest quarter."""
    by_size = sorted(pages, key=lambda page: page.stat().st_size)
    middle = by_size[len(pages) // 4 : -(len(pages) // 4) or None]
    return [middle[number * len(middle) // count] for number in range(min(count, len(middle)))]


def turns(sides: Sequence[T], number: int) -> list[T]:
    """Everyone goes first, second and last equally often."""
    start = number % len(sides)
    return [*sides[start:], *sides[:start]]


def compare(book: Path, environment: Path, most: int | None, rounds: int, edits: int) -> dict[str, object]:
    seconds: dict[str, Seconds] = {
        what: {f"{name}{kind}": [] for name in NAMES for kind in ("", "_cpu")}
        for what in ("full", "edit", "command", "unchanged", "ready", "cold")
    }

    def note(what: str, name: str, measured: Measured) -> None:
        seconds[what][name].append(measured["wall"])
        seconds[what][f"{name}_cpu"].append(measured["cpu"])
        print(f"{what} {name}: {measured['wall']:.2f} s, {measured['cpu']:.2f} s CPU", file=sys.stderr)

    with tempfile.TemporaryDirectory() as folder:
        pages_dir, few, data_dir = Path(folder) / "pages", Path(folder) / "few", Path(folder) / "data"
        few.mkdir()
        pages = stage(book, pages_dir, most)
        with all_sides(environment, data_dir) as sides:
            for side in sides:
                note("ready", side.name, side.ready)
            batches = fastest_batches(sides, pages, few)
            for number in range(rounds):
                for side in turns(sides, number):
                    note("full", side.name, side.ask(ingest=str(pages_dir), name=f"round-{number}"))
            texts = {side.name: described(side.ask(texts=EDITED)["texts"]) for side in sides}
            chosen = pages_to_edit(pages, 2 * edits)
            for number, page in enumerate(chosen[::2]):
                edit(page, number)
                for what in ("edit", "unchanged"):
                    for side in turns(sides, number):
                        note(what, side.name, side.ask(ingest=str(pages_dir), name=EDITED))
            for side in sides:
                side.ask(save=str(Path(folder) / side.name), name=EDITED)
        for number, page in enumerate(chosen[1::2]):
            edit(page, number)
            for name in turns(NAMES, number):
                note("command", name, as_command(name, environment, pages_dir, data_dir))
    for name in NAMES:
        for kind in ("", "_cpu"):
            seconds["cold"][f"{name}{kind}"] = [
                seconds["ready"][f"{name}{kind}"][0] + seconds["full"][f"{name}{kind}"][0]
            ]
    return {
        "machine": machine(),
        "load_after": os.getloadavg()[0],
        "frameworks": [*FRAMEWORKS, *WITHOUT_DEPENDENCIES],
        "book": {"name": book.name, "pages": len(pages), "rounds": rounds, "edits": len(seconds["edit"][OURS])},
        "batch_sizes": batches,
        "texts": texts,
        "seconds": seconds,
        "times_faster": {
            kind: {other: times_faster(seconds, other, cpu) for other in OTHERS}
            for kind, cpu in (("wall", ""), ("cpu", "_cpu"))
        },
    }


def described(texts: Sequence[str]) -> dict[str, int]:
    counts = WordPieces.load(find_model_dir()).counts(texts)
    if max(counts) > LIMIT:
        sys.exit(
            f"A text has {max(counts)} tokens; the model would cut it at {LIMIT}, so the comparison would be unfair."
        )
    return {"chunks": len(texts), "tokens": sum(counts), "longest": max(counts), "characters": sum(map(len, texts))}


def times_faster(seconds: Mapping[str, Seconds], other: str, cpu: str) -> dict[str, float]:
    """Medians of the ratios within a round: how many times longer the other one takes."""

    def ratio(theirs: Sequence[float], ours: Sequence[float]) -> float:
        return statistics.median(a / b for a, b in zip(theirs, ours, strict=True))

    found = {what: ratio(of[f"{other}{cpu}"], of[f"{OURS}{cpu}"]) for what, of in seconds.items()}
    # Without their bookkeeping, a user ingests the book again after an edit.
    for edited, whole in (("edit", "full"), ("command", "cold")):
        again = statistics.median(seconds[whole][f"{other}{cpu}"])
        ours = statistics.median(seconds[edited][f"{OURS}{cpu}"])
        found[f"{edited}_against_all_again"] = again / ours
    return found


def unchanged(book: Path, times: int) -> dict[str, object]:
    """The command line as a user runs it: a new process each time."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "quoth", "ingest", str(book), "--book", "unchanged", "--json"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        spent, jobs = [], []
        for _ in range(times + 1):
            begun = time.perf_counter()
            done = subprocess.run(
                [*command, "--data-dir", folder], check=True, capture_output=True, text=True, env=environment
            )
            spent.append(time.perf_counter() - begun)
            jobs.append(json.loads(done.stdout))
            print(f"command line: {spent[-1]:.2f} s", file=sys.stderr)
    return {
        "machine": machine(),
        "book": {"name": book.name, "pages": jobs[0]["files_discovered"], "chunks": jobs[0]["chunks_created"]},
        "first_seconds": spent[0],
        "again_seconds": spent[1:],
        "again_median": statistics.median(spent[1:]),
        "again_embedded": sum(job["chunks_embedded"] for job in jobs[1:]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure ingestion against LlamaIndex and LangChain, and its memory.")
    parser.add_argument("book", type=Path, nargs="?", default=SAMPLE, help="a book's folder; default: the sample book")
    parser.add_argument("--pages", type=int, help="compare on this many pages from the start; default: all")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--edits", type=int, default=6)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--environment", type=Path, default=BASELINE_ENVIRONMENT, help="where torch is installed")
    asked = parser.parse_args()
    file = REPORTS / "ingestion.json"
    report: dict[str, object] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    if "memory" in asked.parts:
        report["memory"] = {"machine": machine(), **memory.measure(SIZES)}
    if "unchanged" in asked.parts:
        report["unchanged"] = unchanged(asked.book, times=7)
    if "compare" in asked.parts:
        install_frameworks(asked.environment)
        report["compare"] = compare(asked.book, asked.environment, asked.pages, asked.rounds, asked.edits)
    REPORTS.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    (REPORTS / "ingestion.md").write_text(as_page(report), encoding="utf-8")
    print(as_page(report))


if __name__ == "__main__":
    main()
