"""The public evaluation sets as corpora that can be searched: brute force over the same terms and vectors as the index.

Reads the folder named on the command line (see its own README for where each set comes from); nothing of it is
committed. Vectors are kept under `--cache`, named by the embedder and the text, so that a second run is quick.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from quoth import terms
from quoth.ports import Embedder

Floats = npt.NDArray[np.float32]


@dataclass(slots=True)
class Corpus:
    """Passages and the two ways to search them. `without` takes passages out, as if they had never been ingested."""

    keys: list[str]
    texts: list[str]
    vectors: Floats
    postings: dict[int, tuple[npt.NDArray[np.int64], Floats]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        gathered: dict[int, tuple[list[int], list[float]]] = {}
        for position, text in enumerate(self.texts):
            weights = terms.passage_weights(text)
            for term, weight in zip(weights.ids, weights.weights, strict=True):
                listed = gathered.setdefault(term, ([], []))
                listed[0].append(position)
                listed[1].append(weight)
        self.postings = {
            term: (np.array(where), np.array(weights, dtype=np.float32)) for term, (where, weights) in gathered.items()
        }

    def idf(self, term_ids: Sequence[int], keep: npt.NDArray[np.bool_] | None = None) -> dict[int, float]:
        total = len(self.keys) if keep is None else int(keep.sum())
        found = {}
        for term in term_ids:
            if term not in self.postings:
                continue
            where = self.postings[term][0]
            holding = len(where) if keep is None else int(keep[where].sum())
            if holding:
                found[term] = math.log(1 + (total - holding + 0.5) / (holding + 0.5))
        return found

    def sparse(self, query: str, keep: npt.NDArray[np.bool_] | None = None) -> Floats:
        weights = terms.query_weights(query)
        rarity = self.idf(weights.ids, keep)
        scores = np.zeros(len(self.keys), dtype=np.float32)
        for term, weight in zip(weights.ids, weights.weights, strict=True):
            if term in rarity:
                where, held = self.postings[term]
                scores[where] += weight * rarity[term] * held
        return scores


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of a set, and which passages are right for it."""

    text: str
    relevant: frozenset[str]
    group: str = ""  # article or file: what a split must not cut


@dataclass(frozen=True, slots=True)
class EvaluationSet:
    name: str
    corpus: Corpus
    questions: list[Asked]
    question_vectors: Floats


def read_lines(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def cut(text: str, embedder: Embedder) -> str:
    spans = embedder.tokens.spans(text)
    return text if len(spans) <= embedder.tokens.limit else text[: spans[embedder.tokens.limit - 1][1]]


async def vectors_of(texts: Sequence[str], embedder: Embedder, cache: Path) -> Floats:
    digest = hashlib.sha256("\0".join([embedder.name, *texts]).encode()).hexdigest()[:24]
    path = cache / f"{digest}.npy"
    if path.exists():
        stored: Floats = np.load(path)
        return stored
    made = np.array(await embedder.embed_passages([cut(text, embedder) for text in texts]), dtype=np.float32)
    cache.mkdir(parents=True, exist_ok=True)
    np.save(path, made)
    return made


async def load_set(name: str, data: Path, embedder: Embedder, cache: Path) -> EvaluationSet:
    keys, texts, questions = LOADERS[name](data)
    corpus = Corpus(keys, texts, await vectors_of(texts, embedder, cache))
    return EvaluationSet(name, corpus, questions, await vectors_of([q.text for q in questions], embedder, cache))


def load_sets(names: Sequence[str], data: Path, cache: Path) -> list[EvaluationSet]:
    from quoth.adapters.minilm import MiniLMEmbedder

    async def load() -> list[EvaluationSet]:
        embedder = MiniLMEmbedder()
        try:
            return [await load_set(name, data, embedder, cache) for name in names]
        finally:
            await embedder.close()

    return asyncio.run(load())


Loaded = tuple[list[str], list[str], list[Asked]]


def squad(data: Path) -> Loaded:
    folder = data / "squad2_dev_half"
    passages = read_lines(folder / "passages.jsonl.gz") + read_lines(folder / "distractor_passages.jsonl.gz")
    questions = [
        Asked(q["text"], frozenset({q["passage"]}), q["passage"].rsplit("-", 1)[0])
        for q in read_lines(folder / "questions.jsonl.gz")
        if not q["is_impossible"]
    ]
    return [p["_id"] for p in passages], [p["text"] for p in passages], questions


def scifact(data: Path) -> Loaded:
    folder = data / "scifact"
    corpus = read_lines(folder / "corpus.jsonl.gz")
    relevant: dict[str, set[str]] = {}
    for line in (folder / "qrels_test.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, document, score = line.split("\t")
        if int(score) > 0:
            relevant.setdefault(query, set()).add(document)
    questions = [
        Asked(q["text"], frozenset(relevant[q["_id"]]), q["_id"])
        for q in read_lines(folder / "queries_test.jsonl.gz")
        if q["_id"] in relevant
    ]
    return [d["_id"] for d in corpus], [f"{d['title']}\n{d['text']}" for d in corpus], questions


def rust_book(data: Path) -> Loaded:
    folder = data / "rust_book_quiz"
    sections = read_lines(folder / "sections.jsonl.gz")
    questions = [
        Asked(q["text"], frozenset(q["sections"]), q["file"])
        for q in read_lines(folder / "quiz.jsonl.gz")
        if q["text"].strip() and q["sections"] and not q["inventory"]
    ]
    return [s["_id"] for s in sections], [f"{s['title']}\n{s['text']}" for s in sections], questions


LOADERS = {"squad2_dev_half": squad, "scifact": scifact, "rust_book_quiz": rust_book}
