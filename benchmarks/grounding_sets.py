"""RAGTruth QA and WiCE, sentence by sentence, as the grounding check sees them.

The docstring of benchmarks/grounding.py says what the sets are. Their files come in; sentences with the features of the
model, what the reader hears in them, and the labels that people gave go out.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from corpora import chunk_of
from known_readings import KnownReadings
from quoth.ask.check import checkable
from quoth.ask.evidence import evidence
from quoth.ask.grounds import Source, analyse
from quoth.ask.support import FEATURES, features, verbatim
from quoth.domain import ReadingTask
from quoth.evals.calibrate import Floats, Mask
from quoth.text.terms import content_terms, term_ids

FAR = 6.0  # bounds of the reader's log odds


@dataclass(frozen=True, slots=True)
class Judged:
    """One sentence, as the model sees it, and how people labelled it."""

    answer: int
    features: tuple[float, ...]
    missing: str
    verbatim: bool
    unsupported: bool
    text: str
    task: ReadingTask  # what the reader reads if words leave a doubt
    heard: float = 0.0  # its log odds


@dataclass(frozen=True, slots=True)
class Set:
    sentences: list[Judged]
    groups: list[str]  # for each answer: its question
    labels: Mask  # for each answer: does it contain anything unsupported?
    baseline: Floats  # share of the answer's content stems that are not in the passages


# --- reading ---------------------------------------------------------------------------------------------------------


def lines_of(path: Path) -> Iterator[dict[str, object]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def ragtruth(folder: Path) -> Set:
    judged: list[Judged] = []
    groups, labels, baseline = [], [], []
    read_already: dict[str, list[Source]] = {}
    for at, row in enumerate(lines_of(next(folder.glob("*.jsonl.gz")))):
        context, question, answer = str(row["context"]), str(row["question"]), str(row["response"])
        if context not in read_already:
            passages = [part for part in re.split(r"(?:\A|\n)passage \d+:", context) if part.strip()]
            read_already[context] = [analyse(chunk_of(str(n), text)) for n, text in enumerate(passages)]
        spans = [(span["start"], span["end"]) for span in row["spans"]]  # type: ignore[attr-defined]
        judged += judged_sentences(at, answer, read_already[context], question, spans)
        groups.append(str(row["source_id"]))
        labels.append(bool(row["hallucinated"]))
        baseline.append(new_share(answer, read_already[context]))
    return Set(judged, groups, np.array(labels), np.array(baseline))


def wice(path: Path) -> Set:
    judged: list[Judged] = []
    labels, baseline = [], []
    for at, row in enumerate(lines_of(path)):
        evidence: list[str] = row["evidence"]  # type: ignore[assignment]
        sources = [analyse(chunk_of("page", "\n\n".join(evidence)))]
        judged += judged_sentences(at, str(row["claim"]), sources, "", [])
        labels.append(row["label"] != "supported")
        baseline.append(new_share(str(row["claim"]), sources))
    return Set(judged, [str(at) for at in range(len(labels))], np.array(labels), np.array(baseline))


def judged_sentences(
    at: int, answer: str, sources: list[Source], question: str, spans: list[tuple[int, int]]
) -> Iterator[Judged]:
    asked = term_ids(question)
    for claim in checkable(answer):
        start = answer.index(claim.text, claim.begin)
        end = start + len(claim.text)
        inside = sum(max(0, min(end, last) - max(start, first)) for first, last in spans)
        values, missing = features(claim.words, sources, asked)
        yield Judged(
            at,
            tuple(values[name] for name in FEATURES),
            missing,
            verbatim(claim.words, sources) is not None,
            inside >= 0.3 * (end - start) or inside >= 20,
            claim.words,
            ReadingTask(claim.words, evidence(claim.words, [source.chunk.shown for source in sources])),
        )


async def with_readings(of: Set, reader: KnownReadings) -> Set:
    readings = await reader.read([one.task for one in of.sentences])
    heard = [max(-FAR, min(FAR, reading.supported)) for reading in readings]
    sentences = [replace(one, heard=value) for one, value in zip(of.sentences, heard, strict=True)]
    return replace(of, sentences=sentences)


def new_share(answer: str, sources: list[Source]) -> float:
    ids = frozenset().union(*(source.ids for source in sources))
    terms = content_terms(answer)
    return sum(not term.found_in(ids) for term in terms) / max(1, len(terms))
