"""What reading gains: the right sentence, the right order, the right refusal, with the reader and without.

    python benchmarks/reading_comprehension.py ../shared/data

Every question is put to the whole corpus, `quoth.ask.extract` writes the answer from the five best passages, and the
set says which words are right. `first` is the decisive sentence of the first source, `answer` everything that is shown.
Then the reader is measured alone, given the right passage of SQuAD2. Writes docs/benchmarks/reading_comprehension.json
and .md; the page (reading_page.py) also includes the figures of refusal.py and grounding.py and, with --golden, the
reports of `quoth eval examples/golden.yaml --json` without the reader and with it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import asked_books
import passage_books
import shelf
from corpora import Asked, EvaluationSet, load_sets, read_lines
from quoth.ask import extract, weigh
from quoth.ask.judge import features
from quoth.ask.read import ROOM, task
from quoth.domain import Citation, Draft, Evidence, Passage, Reading, ReadingTask
from quoth.evals.metrics import auroc
from quoth.models.reader import PassageReader, find_reader_dir
from quoth.ports import Reader
from quoth.text.sentences import sentences
from reading_page import as_page
from refusal_cases import held_out, whole
from retrieval import ndcg
from searching import Searcher

REPORTS = Path(__file__).parent.parent / "docs" / "benchmarks"
SETS = ("squad2_dev_half", "scifact", "rust_book_quiz", "chunking_evaluation")
# Our own questions about books that the reader never saw.
BOOKS = (
    *(f"asked_{book}" for book in asked_books.HELD_OUT),
    *(f"passages_{book}" for book in sorted(shelf.LEFT_OUT)),
)
ONLY_FOUND = ("scifact",)  # claims: nothing to answer
SAMPLES = 400  # of the bootstrap
Spans = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    first: float  # whether the decisive sentence of the first source has right words
    answer: float  # whether any source shown does
    words: float  # number of words in the answer


def right_spans(of: EvaluationSet, data: Path) -> list[Spans]:
    """Spans in the source file of the right passage, in the order of the questions. The Rust quiz gives only sections:
    every word of a right section is right."""
    if of.name != "squad2_dev_half":
        return [asked.spans or ((0, 1_000_000),) for asked in of.questions]
    rows = read_lines(data / of.name / "questions.jsonl.gz")
    return [spans_of(row) for row in rows if not row["is_impossible"]]


def spans_of(row: dict[str, Any]) -> Spans:
    return tuple((a["start"], a["start"] + len(a["text"])) for a in row["answers"])


def touches(start: int, end: int, spans: Spans) -> bool:
    return any(start < b and a < end for a, b in spans)


def decisive(citation: Citation) -> tuple[int, int]:
    begin, end = citation.highlight or (0, len(citation.quote))
    return citation.start + begin, citation.start + end


def outcome(draft: Draft, files: set[str], spans: Spans) -> Outcome:
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
    # The half that nothing was fitted on.
    unseen = [at for at, asked in enumerate(of.questions) if held_out(whole(asked.group))] or range(len(of.questions))
    chosen = np.random.default_rng(11).permutation(list(unseen))[:most]
    outcomes, gains = [], []
    for at in chosen:
        asked = of.questions[at]
        evidence = await searcher.find(of.corpus, asked.text, of.question_vectors[at], 10)
        gains.append(ndcg([passage.chunk.id for passage in evidence.passages], asked))
        outcomes.append(outcome(extract.draft(asked.text, evidence), files_of(of, asked), spans[at]))
    ranked = {"nDCG@10": interval(gains)}
    if of.name in ONLY_FOUND:
        return ranked
    answered = {name: interval([getattr(one, name) for one in outcomes]) for name in ("first", "answer", "words")}
    return answered | ranked


def files_of(of: EvaluationSet, asked: Asked) -> set[str]:
    return {of.corpus.chunks[of.corpus.at[key]].source_file for key in asked.relevant}


# --- given the right passage -----------------------------------------------------------------------------------------


async def given_right(reader: Reader, of: EvaluationSet, data: Path, most: int) -> dict[str, dict[str, float]]:
    """The reporting half of SQuAD2: does the passage answer or only seem to, and in which sentence? `By words` is the
    share of the question's words in the nearest sentence, which the judge uses without a reader."""
    rows = [row for row in read_lines(data / of.name / "questions.jsonl.gz") if held_out(_article(row))]
    drawn = [rows[at] for at in np.random.default_rng(12).permutation(len(rows))[:most]]
    passages = [of.corpus.chunks[of.corpus.at[row["passage"]]] for row in drawn]
    labels = [not row["is_impossible"] for row in drawn]
    readings = [
        (await reader.read([ReadingTask(row["text"], chunk.text)]))[0]
        for row, chunk in zip(drawn, passages, strict=True)
    ]
    signs = [one.answerable + one.margin / 2 for one in readings]
    searcher = Searcher()
    alone = np.zeros(len(of.corpus.chunks), dtype=np.bool_)
    words, chosen = [], []
    for row, chunk, reading in zip(drawn, passages, readings, strict=True):
        alone[:] = False
        alone[of.corpus.at[chunk.id]] = True
        evidence = await searcher.find(of.corpus, row["text"], of.question_vectors[0], 1, alone)
        words.append(features(evidence)["sentence_share"])
        if row["answers"]:
            chosen.append(_chosen(row, evidence, reading))
    named = zip(("by the reader alone", "by words alone", "by both"), zip(*chosen, strict=True), strict=True)
    return {
        "look-alikes": _area(signs, labels),
        "look-alikes, by words": _area(words, labels),
        **{f"right sentence {name}": interval([float(one) for one in hits]) for name, hits in named},
    }


def _article(row: dict[str, Any]) -> str:
    return str(row["passage"]).rsplit("-", 1)[0]


def _chosen(row: dict[str, Any], evidence: Evidence, reading: Reading) -> tuple[bool, bool, bool]:
    """Whether the reader, the words, and both together choose a right sentence of the passage."""
    (passage,) = evidence.passages
    places = [(unit.start, unit.end) for unit in sentences(passage.chunk.text)]
    read = max(places, key=lambda place: reading.share(*place))

    def by_draft(with_reading: Passage) -> bool:
        drafted = extract.draft(row["text"], replace(evidence, passages=(with_reading,)))
        return any(touches(*decisive(one), spans_of(row)) for one in drafted.citations[:1])

    return touches(*read, spans_of(row)), by_draft(passage), by_draft(replace(passage, reading=reading))


def _area(scores: Sequence[float], labels: Sequence[bool]) -> dict[str, float]:
    def of(rows: Sequence[int]) -> float:
        return auroc([scores[at] for at in rows], [labels[at] for at in rows]) or 0.0

    return _with_interval(of, len(scores))


# --- figures ---------------------------------------------------------------------------------------------------------


def interval(values: Sequence[float]) -> dict[str, float]:
    return _with_interval(lambda rows: float(np.mean([values[at] for at in rows])), len(values))


def _with_interval(of: Callable[[Sequence[int]], float], size: int) -> dict[str, float]:
    chance = np.random.default_rng(5)
    low, high = np.quantile([of(chance.integers(0, size, size).tolist()) for _ in range(SAMPLES)], [0.025, 0.975])
    return {
        "mean": round(of(range(size)), 4),
        "low": round(float(low), 4),
        "high": round(float(high), 4),
        "questions": size,
    }


async def cost(reader: Reader, of: EvaluationSet, rounds: int = 30) -> dict[str, float]:
    """CPU time of reading the five best passages of a question, with the room that each is given."""
    searcher = Searcher()
    tasks = []
    for at in range(rounds):
        asked = of.questions[at]
        evidence = await searcher.find(of.corpus, asked.text, of.question_vectors[at], 5)
        tasks.append([task(asked.text, one.chunk, room) for one, room in zip(evidence.passages, ROOM, strict=True)])
    await reader.read(tasks[0])
    began = time.process_time()
    for one in tasks:
        await reader.read(one)
    return {"milliseconds of CPU for five passages": round((time.process_time() - began) / rounds * 1000, 1)}


def golden(path: Path) -> dict[str, float]:
    """What a report of `quoth eval --json` says about refusals."""
    results = json.loads(path.read_text(encoding="utf-8"))["results"]
    near = [one for one in results if one.get("subject") == "near"]
    answerable = [one for one in results if one["answerable"]]
    return {
        "near questions refused": round(1 - sum(one["answered"] for one in near) / len(near), 4),
        "answerable questions refused": round(1 - sum(one["answered"] for one in answerable) / len(answerable), 4),
    }


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "quoth-bench")
    parser.add_argument("--most", type=int, default=300, help="questions of each set")
    parser.add_argument(
        "--weight", type=float, help="weight of the reading when a sentence is chosen; default: as shipped"
    )
    parser.add_argument("--golden", type=Path, nargs=2, metavar="REPORT", help="reports of `quoth eval`: without, with")
    arguments = parser.parse_args()
    folder = find_reader_dir()
    if folder is None:
        parser.error("the reader is not installed: run `make setup`")
    if arguments.weight is not None:
        weigh.READER_WEIGHT = arguments.weight
    reader = PassageReader(folder)
    asked_books.register()
    passage_books.register()
    sets = await load_sets((*SETS, *BOOKS), arguments.data, arguments.cache)
    report: dict[str, Any] = {"sets": {}, "weight": weigh.READER_WEIGHT}
    for of in sets:
        sides = {"without": None, "with": reader}
        report["sets"][of.name] = {
            name: await measure(of, arguments.data, side, arguments.most) for name, side in sides.items()
        }
    report["given the right passage"] = await given_right(reader, sets[0], arguments.data, 2 * arguments.most)
    report["cost"] = await cost(reader, sets[0])
    await reader.close()
    if arguments.golden:
        report["sample book"] = dict(zip(("without", "with"), map(golden, arguments.golden), strict=True))
    page = as_page(report, REPORTS)
    if arguments.weight is None:
        (REPORTS / "reading_comprehension.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        (REPORTS / "reading_comprehension.md").write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    asyncio.run(main())
