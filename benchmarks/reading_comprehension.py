"""What reading gains: the right sentence, the right order, the right refusal, with the reader and without.

    python benchmarks/reading_comprehension.py ../shared/data

Every question is put to the whole corpus, `quoth.ask.extract` writes the answer from the five best passages, and the
set says which words are right. `first` is the decisive sentence of the first source, `answer` all that is shown.
Writes docs/benchmarks/reading_comprehension.json and .md; the page also takes over what refusal.py and
training/evaluate.py have measured.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from corpora import EvaluationSet, load_sets
from quoth.ask import extract
from quoth.domain import Citation, Draft, ReadingTask
from quoth.models.reader import PassageReader, find_reader_dir
from quoth.ports import Reader
from refusal import held_out, whole
from searching import Searcher

REPORTS = Path(__file__).parent.parent / "docs" / "benchmarks"
SETS = ("squad2_dev_half", "chunking_evaluation")
SAMPLES = 400  # of the bootstrap


@dataclass(frozen=True, slots=True)
class Outcome:
    first: float  # the decisive sentence of the first source holds right words
    answer: float  # some source shown does
    words: float  # of the answer


def right_spans(of: EvaluationSet, data: Path) -> list[tuple[tuple[int, int], ...]]:
    """In the source file of the right passage, in the order of the questions."""
    if of.name != "squad2_dev_half":
        return [asked.spans for asked in of.questions]
    with gzip.open(data / of.name / "questions.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if not row["is_impossible"]]
    return [tuple((a["start"], a["start"] + len(a["text"])) for a in row["answers"]) for row in rows]


def touches(start: int, end: int, spans: tuple[tuple[int, int], ...]) -> bool:
    return any(start < b and a < end for a, b in spans)


def decisive(citation: Citation) -> tuple[int, int]:
    begin, end = citation.highlight or (0, len(citation.quote))
    return citation.start + begin, citation.start + end


def outcome(draft: Draft, files: set[str], spans: tuple[tuple[int, int], ...]) -> Outcome:
    def right(citation: Citation, place: tuple[int, int]) -> bool:
        return citation.chunk.source_file in files and touches(*place, spans)

    first = draft.citations[0] if draft.citations else None
    return Outcome(
        first=float(first is not None and right(first, decisive(first))),
        answer=float(any(right(one, (one.start, one.end)) for one in draft.citations)),
        words=float(len(draft.text.split())),
    )


async def measure(of: EvaluationSet, data: Path, reader: Reader | None, most: int) -> dict[str, Any]:
    searcher, spans = Searcher(reader), right_spans(of, data)
    # The half that no number was fitted on.
    unseen = [at for at, asked in enumerate(of.questions) if held_out(whole(asked.group))] or range(len(of.questions))
    chosen = np.random.default_rng(11).permutation(list(unseen))[:most]
    outcomes = []
    for at in chosen:
        asked = of.questions[at]
        evidence = await searcher.find(of.corpus, asked.text, of.question_vectors[at], 5)
        files = {of.corpus.chunks[of.corpus.at[key]].source_file for key in asked.relevant}
        outcomes.append(outcome(extract.draft(asked.text, evidence), files, spans[at]))
    return {name: interval([getattr(one, name) for one in outcomes]) for name in ("first", "answer", "words")}


def interval(values: list[float]) -> dict[str, float]:
    chance = np.random.default_rng(5)
    means = [float(np.mean(chance.choice(values, len(values)))) for _ in range(SAMPLES)]
    low, high = np.quantile(means, [0.025, 0.975])
    return {
        "mean": round(float(np.mean(values)), 4),
        "low": round(float(low), 4),
        "high": round(float(high), 4),
        "questions": len(values),
    }


async def cost(reader: Reader, of: EvaluationSet, rounds: int = 30) -> dict[str, float]:
    """CPU time of reading the five best passages of a question."""
    searcher = Searcher()
    tasks = []
    for at in range(rounds):
        asked = of.questions[at]
        evidence = await searcher.find(of.corpus, asked.text, of.question_vectors[at], 5)
        tasks.append([ReadingTask(asked.text, one.chunk.text) for one in evidence.passages])
    await reader.read(tasks[0])
    began = time.process_time()
    for one in tasks:
        await reader.read(one)
    return {"milliseconds of CPU for five passages": round((time.process_time() - began) / rounds * 1000, 1)}


def as_page(report: dict[str, Any]) -> str:
    lines = [
        "# Reading comprehension",
        "",
        "Written by `make bench-comprehension`. Questions of the half of each set that nothing was fitted on, put to",
        "the whole corpus; answers without a language model. *First*: the decisive sentence of the first source holds",
        "right words; *answer*: some source shown does. Intervals: 95 %, bootstrapped.",
        "",
        "| set | | without the reader | with it |",
        "|---|---|---|---|",
    ]
    for name, row in report["sets"].items():
        for what in ("first", "answer", "words"):
            before, after = (_shown(row[side][what]) for side in ("without", "with"))
            lines.append(f"| {name} | {what} | {before} | {after} |")
    spent = report["cost"]["milliseconds of CPU for five passages"]
    lines += ["", f"Reading five passages of SQuAD costs {spent} ms of CPU (8 bits, one core at a time)."]
    return "\n".join(lines) + "\n"


def _shown(figure: dict[str, float]) -> str:
    return f"{figure['mean']:.3f} [{figure['low']:.3f}, {figure['high']:.3f}]"


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "quoth-bench")
    parser.add_argument("--most", type=int, default=300, help="questions of each set")
    parser.add_argument("--weight", type=float, help="of what was read, in choosing a sentence; default: as shipped")
    arguments = parser.parse_args()
    folder = find_reader_dir()
    if folder is None:
        parser.error("the reader is not installed: run `make setup`")
    if arguments.weight is not None:
        extract.READER_WEIGHT = arguments.weight
    reader = PassageReader(folder)
    sets = await load_sets(SETS, arguments.data, arguments.cache)
    report: dict[str, Any] = {"sets": {}, "weight": extract.READER_WEIGHT}
    for of in sets:
        sides = {"without": None, "with": reader}
        report["sets"][of.name] = {
            name: await measure(of, arguments.data, side, arguments.most) for name, side in sides.items()
        }
    report["cost"] = await cost(reader, replace(sets[0]))
    await reader.close()
    page = as_page(report)
    if arguments.weight is None:
        (REPORTS / "reading_comprehension.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        (REPORTS / "reading_comprehension.md").write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    asyncio.run(main())
