"""The public evaluation sets as corpora: chunks, the terms and vectors that the index would hold for them, questions.

Reads the folder named on the command line (its own README says where each set comes from); nothing in it is
committed. Vectors are kept in `--cache`, named by the embedder and the text, so that a second run is quick.
"""

from __future__ import annotations

import csv
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

from quoth.chunks.split import embedding_text, split, term_text
from quoth.chunks.weights import chunk_weights
from quoth.domain import Chunk, Page, TermWeights
from quoth.ports import Embedder, TokenCounter
from quoth.text import terms

Floats = npt.NDArray[np.float32]


@dataclass(slots=True)
class Corpus:
    """Chunks with the texts to weigh and embed. `keep` leaves some out, as if they had never been ingested."""

    chunks: list[Chunk]
    texts: list[str]  # the texts that are weighed
    vectors: Floats
    postings: dict[int, tuple[npt.NDArray[np.int64], Floats]] = field(default_factory=dict)
    at: dict[str, int] = field(default_factory=dict)  # the position of each chunk id

    def __post_init__(self) -> None:
        self.at = {chunk.id: position for position, chunk in enumerate(self.chunks)}
        gathered: dict[int, tuple[list[int], list[float]]] = {}
        for position, (chunk, text) in enumerate(zip(self.chunks, self.texts, strict=True)):
            weights = chunk_weights(chunk) if chunk.breadcrumb else terms.passage_weights(text)
            for term, weight in zip(weights.ids, weights.weights, strict=True):
                listed = gathered.setdefault(term, ([], []))
                listed[0].append(position)
                listed[1].append(weight)
        self.postings = {
            term: (np.array(where), np.array(weights, dtype=np.float32)) for term, (where, weights) in gathered.items()
        }

    def idf(self, term_ids: Sequence[int], keep: npt.NDArray[np.bool_] | None = None) -> dict[int, float]:
        total = len(self.chunks) if keep is None else int(keep.sum())
        found = {}
        for term in term_ids:
            if term not in self.postings:
                continue
            where = self.postings[term][0]
            holding = len(where) if keep is None else int(keep[where].sum())
            if holding:
                found[term] = math.log(1 + (total - holding + 0.5) / (holding + 0.5))
        return found

    def sparse(self, query: TermWeights, keep: npt.NDArray[np.bool_] | None = None) -> Floats:
        rarity = self.idf(query.ids, keep)
        scores = np.zeros(len(self.chunks), dtype=np.float32)
        for term, weight in zip(query.ids, query.weights, strict=True):
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
    spans: tuple[tuple[int, int], ...] = ()  # in the file `group`, if the set gives the exact words


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
    chunks, questions = LOADERS[name](data, embedder.tokens)
    split_by_us = bool(chunks[0].breadcrumb)
    embedded = [embedding_text(chunk) if split_by_us else chunk.text for chunk in chunks]
    texts = [term_text(chunk) if split_by_us else chunk.text for chunk in chunks]
    corpus = Corpus(chunks, texts, await vectors_of(embedded, embedder, cache))
    return EvaluationSet(name, corpus, questions, await vectors_of([q.text for q in questions], embedder, cache))


async def load_sets(names: Sequence[str], data: Path, cache: Path) -> list[EvaluationSet]:
    from quoth.models.minilm import MiniLMEmbedder

    embedder = MiniLMEmbedder()
    try:
        return [await load_set(name, data, embedder, cache) for name in names]
    finally:
        await embedder.close()


Loaded = tuple[list[Chunk], list[Asked]]


def chunk_of(key: str, text: str) -> Chunk:
    """A passage of a set as the one chunk of a page."""
    return Chunk(
        id=key,
        book_id="set",
        text=text,
        start=0,
        end=len(text),
        line=1,
        source_file=key,
        source_file_hash="",
        title="",
        url="",
        heading_path=(),
        breadcrumb=(),
        content_hash=key,
        parent_doc_id=key,
        chunk_index=0,
        total_chunks=1,
        prev_chunk_id=None,
        next_chunk_id=None,
        word_count=0,
        token_count=0,
        char_count=len(text),
    )


def squad(data: Path, tokens: TokenCounter, *, impossible: bool = False) -> Loaded:
    folder = data / "squad2_dev_half"
    passages = read_lines(folder / "passages.jsonl.gz") + read_lines(folder / "distractor_passages.jsonl.gz")
    questions = [
        Asked(q["text"], frozenset({q["passage"]}), q["passage"].rsplit("-", 1)[0])
        for q in read_lines(folder / "questions.jsonl.gz")
        if q["is_impossible"] == impossible
    ]
    return [chunk_of(p["_id"], p["text"]) for p in passages], questions


def scifact(data: Path, tokens: TokenCounter) -> Loaded:
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
    return [chunk_of(d["_id"], f"{d['title']}\n{d['text']}") for d in corpus], questions


def rust_book(data: Path, tokens: TokenCounter) -> Loaded:
    folder = data / "rust_book_quiz"
    sections = read_lines(folder / "sections.jsonl.gz")
    questions = [
        Asked(q["text"], frozenset(q["sections"]), q["file"])
        for q in read_lines(folder / "quiz.jsonl.gz")
        if q["text"].strip() and q["sections"] and not q["inventory"]
    ]
    return [chunk_of(s["_id"], f"{s['title']}\n{s['text']}") for s in sections], questions


def chunking(data: Path, tokens: TokenCounter) -> Loaded:
    """Five Markdown files as one book, split as an ingest splits them. A chunk is right if it contains a character of
    a reference."""
    folder = data / "chunking_evaluation"
    chunks: list[Chunk] = []
    for file in sorted((folder / "corpora").glob("*.md")):
        text = file.read_bytes().decode("utf-8")
        page = Page("set", file.stem, text, file_hash="", url=f"/{file.stem}", title=file.stem)
        chunks += split(page, tokens)
    questions = []
    with (folder / "questions_df.csv").open(encoding="utf-8", newline="") as rows:
        for row in csv.DictReader(rows):
            spans = tuple((one["start_index"], one["end_index"]) for one in json.loads(row["references"]))
            relevant = frozenset(
                chunk.id
                for chunk in chunks
                if chunk.source_file == row["corpus_id"]
                and any(chunk.start < end and start < chunk.end for start, end in spans)
            )
            questions.append(Asked(row["question"], relevant, row["corpus_id"], spans))
    return chunks, questions


def look_alikes(data: Path, tokens: TokenCounter) -> Loaded:
    """Questions that were written to look as if the passage held the answer, although it does not."""
    return squad(data, tokens, impossible=True)


def natural(data: Path, tokens: TokenCounter) -> Loaded:
    """Questions that people typed into a search engine, each over the paragraph that answers it."""
    return question_answering(data, "qed_nq_dev")


def medical(data: Path, tokens: TokenCounter) -> Loaded:
    """Experts' questions over long passages of papers."""
    return question_answering(data, "covidqa_passages")


def question_answering(data: Path, name: str) -> Loaded:
    """A set that the reader was not trained on, with its passages as one corpus."""
    rows = read_lines(data / "reader_train" / f"{name}.jsonl.gz")
    keys = {text: f"{name}-{at}" for at, text in enumerate(dict.fromkeys(row["context"] for row in rows))}
    questions = [
        Asked(" ".join(row["question"].split()), frozenset({keys[row["context"]]}), keys[row["context"]])
        for row in rows
        if row["answerable"] and row["answers"]
    ]
    return [chunk_of(key, text) for text, key in keys.items()], questions


LOADERS = {
    "squad2_dev_half": squad,
    "squad2_look_alikes": look_alikes,
    "scifact": scifact,
    "rust_book_quiz": rust_book,
    "chunking_evaluation": chunking,
    "qed_nq_dev": natural,
    "covidqa_passages": medical,
}
