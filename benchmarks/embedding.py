"""The built-in embedder against sentence-transformers on torch with the same weights: `make bench-embedding`.

Two processes, each in its own environment (torch is installed into .venv-bench only), embed the same texts in turn,
round after round, so that a busy machine slows both; the ratio within a round counts. The texts are pieces of
the sample book between 20 and 254 tokens, so neither side cuts anything. sentence-transformers runs as its
documentation advises: batches of 32, sorted by length by its own encode(), all cores. Both vectors of every text are
compared too. Writes docs/benchmarks/embedding.json and .md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import time
import venv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TypedDict

import yaml

from quoth.batching import usable_cores
from quoth.models.minilm import LIMIT, WordPieces, find_model_dir

ROOT = Path(__file__).parent.parent
BOOK = ROOT / "examples" / "robotics-book" / "docs"
GOLDEN = ROOT / "examples" / "golden.yaml"
REPORTS = ROOT / "docs" / "benchmarks"
BASELINE_ENVIRONMENT = ROOT / ".venv-bench"
BASELINE_PACKAGES = ("torch==2.13.0", "sentence-transformers==6.2.0")
SHORTEST = 20

# Each side reads one command per line and answers with seconds of wall clock and of CPU, or with vectors.
LOOP = """
import json, resource, sys, time
def cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
query("ready")
print(json.dumps({"cpu": cpu()}), flush=True)
for line in sys.stdin:
    command = json.loads(line)
    wall, busy = time.perf_counter(), cpu()
    if "passages" in command:
        vectors = passages(command["passages"])
    else:
        vectors = [query(text) for text in command["queries"]]
    answer = {"wall": time.perf_counter() - wall, "cpu": cpu() - busy}
    if command.get("vectors"):
        answer["vectors"] = [[float(number) for number in vector] for vector in vectors]
    print(json.dumps(answer), flush=True)
"""

OURS = """
import asyncio
from quoth.models.minilm import MiniLMEmbedder
embedder, loop = MiniLMEmbedder(), asyncio.new_event_loop()
def passages(texts): return loop.run_until_complete(embedder.embed_passages(texts))
def query(text): return loop.run_until_complete(embedder.embed_query(text))
"""

BASELINE = """
import os
os.environ["HF_HUB_OFFLINE"] = os.environ["TRANSFORMERS_OFFLINE"] = "1"
from sentence_transformers import SentenceTransformer
model = SentenceTransformer(os.environ["MODEL_DIR"], device="cpu")
def passages(texts): return model.encode(texts, batch_size=32, show_progress_bar=False)
def query(text): return model.encode(text, show_progress_bar=False)
"""


class Measured(TypedDict, total=False):
    wall: float
    cpu: float
    vectors: list[list[float]]
    texts: list[str]


class Side:
    """One side of the comparison, in a separate process that answers a line of JSON with a line of JSON."""

    def __init__(self, name: str, command: Sequence[str | Path], environment: Mapping[str, str]) -> None:
        self.name = name
        begun = time.perf_counter()
        self._process = subprocess.Popen(
            [str(part) for part in command],
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        answer = self._answer()
        self.ready = Measured(wall=time.perf_counter() - begun, cpu=answer["cpu"])

    def ask(self, **command: Sequence[str] | bool | int) -> Measured:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _answer(self) -> Measured:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            sys.exit(f"The process of {self.name} ended with code {self._process.wait()} instead of answering.")
        answer: Measured = json.loads(line)
        return answer


def open_ours() -> Side:
    return Side("ours", [sys.executable, "-c", OURS + LOOP], {"PYTHONPATH": str(ROOT / "src")})


def open_baseline() -> Side:
    python = BASELINE_ENVIRONMENT / "bin" / "python"
    environment = {"MODEL_DIR": str(find_model_dir()), "PYTHONPATH": ""}
    return Side("baseline", [python, "-c", BASELINE + LOOP], environment)


@contextmanager
def both_sides() -> Iterator[list[Side]]:
    sides = [open_ours(), open_baseline()]
    try:
        yield sides
    finally:
        for side in sides:
            side.close()


def install_baseline(environment: Path = BASELINE_ENVIRONMENT) -> None:
    """Runs once; the stamp is written when everything is installed."""
    if stamped(environment, ".installed", BASELINE_PACKAGES):
        return
    print(f"Installing {' and '.join(BASELINE_PACKAGES)} into {environment.name} (once, large) …")
    venv.create(environment, with_pip=True)
    for package in BASELINE_PACKAGES:
        subprocess.run([*pip_install(environment), package], check=True)
    stamp(environment, ".installed", BASELINE_PACKAGES)


def pip_install(environment: Path) -> list[str]:
    return [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet"]


def stamped(environment: Path, name: str, packages: Sequence[str]) -> bool:
    file = environment / name
    return file.exists() and file.read_text().split() == list(packages)


def stamp(environment: Path, name: str, packages: Sequence[str]) -> None:
    (environment / name).write_text("\n".join(packages))


def passages_of_the_book(tokens: WordPieces) -> list[str]:
    """Blocks of the sample book, joined to lengths that are spread evenly over the embedder's range."""
    blocks = [
        block.strip()
        for page in sorted(BOOK.rglob("*.md*"))
        for block in page.read_text(encoding="utf-8").split("\n\n")
        if block.strip()
    ]
    lengths = random.Random(20)
    texts: list[str] = []
    current, wanted = "", lengths.randint(SHORTEST, LIMIT)
    for block in blocks:
        joined = f"{current}\n\n{block}".strip()
        (count,) = tokens.counts([joined])
        if count <= wanted:
            current = joined
            continue
        texts.append(current)
        current, wanted = block, lengths.randint(SHORTEST, LIMIT)
    counts = tokens.counts(texts)
    return [text for text, count in zip(texts, counts, strict=True) if SHORTEST <= count <= LIMIT]


def questions_of_the_book() -> list[str]:
    """What readers ask: the golden questions."""
    golden = yaml.safe_load(GOLDEN.read_text(encoding="utf-8"))
    return [case["question"] for kind in ("answerable", "unanswerable") for case in golden[kind]]


def measure(rounds: int) -> dict[str, object]:
    tokens = WordPieces.load(find_model_dir())
    texts = passages_of_the_book(tokens)
    queries = questions_of_the_book()
    counts = tokens.counts(texts)
    seconds: dict[str, dict[str, list[float]]] = {
        what: {"ours": [], "baseline": [], "ours_cpu": [], "baseline_cpu": []}
        for what in ("passages", "query", "ready")
    }

    def note(what: str, sides: Sequence[Side], command: Mapping[str, Sequence[str]] | None = None) -> None:
        for side in sides:
            measured = side.ask(**command) if command else side.ready
            seconds[what][side.name].append(measured["wall"])
            seconds[what][f"{side.name}_cpu"].append(measured["cpu"])

    with both_sides() as sides:
        first = [side.ask(passages=texts, vectors=True)["vectors"] for side in sides]
        for number in range(rounds):
            print(f"round {number + 1} of {rounds} …", file=sys.stderr)
            # Each side goes first in every other round, so that neither always runs right after the other.
            turn = sides if number % 2 == 0 else sides[::-1]
            note("passages", turn, {"passages": texts})
            note("query", turn, {"queries": queries})
    for _ in range(rounds):
        with both_sides() as sides:
            note("ready", sides)
    difference = max(abs(a - b) for mine, theirs in zip(*first, strict=True) for a, b in zip(mine, theirs, strict=True))
    return {
        "texts": {
            "passages": len(texts),
            "tokens_min": min(counts),
            "tokens_mean": statistics.fmean(counts),
            "tokens_max": max(counts),
            "queries": len(queries),
            "query_tokens_mean": statistics.fmean(tokens.counts(queries)),
        },
        "largest_difference_of_a_component": difference,
        "seconds": seconds,
        **summarise(seconds, passages=len(texts), queries=len(queries)),
    }


def summarise(seconds: Mapping[str, Mapping[str, list[float]]], *, passages: int, queries: int) -> dict[str, object]:
    def median_ratio(what: str, kind: str = "") -> float:
        pairs = zip(seconds[what][f"ours{kind}"], seconds[what][f"baseline{kind}"], strict=True)
        return statistics.median(ours / baseline for ours, baseline in pairs)

    def median(what: str, side: str) -> float:
        return statistics.median(seconds[what][side])

    return {
        "passages_per_second": {side: passages / median("passages", side) for side in ("ours", "baseline")},
        "query_ms": {side: 1000 * median("query", side) / queries for side in ("ours", "baseline")},
        "ready_seconds": {side: median("ready", side) for side in ("ours", "baseline")},
        "ratios": {
            "passages_per_second": {"measured": 1 / median_ratio("passages"), "wanted": "≥ 1.1"},
            "passages_per_cpu_second": {"measured": 1 / median_ratio("passages", "_cpu"), "wanted": ""},
            "query_time": {"measured": median_ratio("query"), "wanted": "≤ 0.4"},
            "ready_time": {"measured": median_ratio("ready"), "wanted": "≤ 0.15"},
            "ready_cpu_time": {"measured": median_ratio("ready", "_cpu"), "wanted": ""},
        },
    }


def machine() -> dict[str, object]:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "cpu": models[0] if models else platform.processor(),
        "cores": usable_cores(),
        "load_before": os.getloadavg()[0],
        "python": platform.python_version(),
        "onnxruntime": version("onnxruntime"),
        "baseline": list(BASELINE_PACKAGES),
    }


def as_table(report: Mapping[str, object]) -> str:
    data = json.loads(json.dumps(report))
    where, texts, ratios = data["machine"], data["texts"], data["ratios"]

    def row(label: str, figures: Mapping[str, float], digits: int, ratio: str) -> str:
        wanted, measured = ratios[ratio]["wanted"], ratios[ratio]["measured"]
        return (
            f"| {label} | {figures['ours']:.{digits}f} | {figures['baseline']:.{digits}f} | {measured:.2f} | {wanted} |"
        )

    return "\n".join(
        [
            "# Embedding",
            "",
            "Written by `make bench-embedding`; every number is measured. Read the ratios: they are medians of ratios",
            "within one round, both sides in turn on the same machine, which may be busy with other work.",
            "",
            f"{texts['passages']} pieces of the sample book, {texts['tokens_min']}–{texts['tokens_max']} tokens (mean "
            f"{texts['tokens_mean']:.0f}); {texts['queries']} questions of {texts['query_tokens_mean']:.0f} tokens;",
            f"{data['rounds']} rounds; {where['cores']} cores of {where['cpu']}, load",
            f"{where['load_before']:.1f} before and {data['load_after']:.1f} after (the benchmark itself makes about "
            f"{where['cores']});",
            f"Python {where['python']}, onnxruntime {where['onnxruntime']} against {' with '.join(where['baseline'])}.",
            "",
            "| | Quoth | sentence-transformers | ratio | target |",
            "|---|---|---|---|---|",
            row("passages a second", data["passages_per_second"], 1, "passages_per_second"),
            row("one query, ms", data["query_ms"], 1, "query_time"),
            row("process start to first vector, s", data["ready_seconds"], 2, "ready_time"),
            "",
            f"For each second of CPU: {ratios['passages_per_cpu_second']['measured']:.2f} times the passages; ready "
            f"with {ratios['ready_cpu_time']['measured']:.2f} of the CPU time.",
            f"The two vectors of a text differ by at most {data['largest_difference_of_a_component']:.1e} "
            "in any component.",
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the embedder against sentence-transformers on torch.")
    parser.add_argument("--rounds", type=int, default=7)
    rounds: int = parser.parse_args().rounds
    install_baseline()
    report: dict[str, object] = {"machine": machine(), "rounds": rounds, **measure(rounds)}
    report["load_after"] = os.getloadavg()[0]
    REPORTS.mkdir(parents=True, exist_ok=True)
    (REPORTS / "embedding.json").write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    table = as_table(report)
    (REPORTS / "embedding.md").write_text(table, encoding="utf-8")
    print(table)


if __name__ == "__main__":
    main()
