"""Questions of our own about single passages of technical books (training/passages), as evaluation sets and as drafts.

    python benchmarks/passage_books.py ../shared/data        # writes .training/passages.jsonl, one group a line

Each line of training/passages/BOOK.jsonl names a passage by file and characters and has our questions: those that it
answers, with the place of the answer, and those that it only seems to answer. Whether another page answers these was
looked for in the held-out books only (training/unanswered.json). The books are those of the data folder and of
shelf.py. A set `passages_BOOK` has the answered questions, put to the whole book; `unanswered_BOOK` those that no page
answers.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

import asked_books
import corpora
import shelf
from asked_drafts import draft
from quoth.chunks.split import term_text
from quoth.domain import Chunk
from quoth.models.minilm import MiniLMEmbedder
from quoth.ports import TokenCounter
from quoth.text import terms

QUESTIONS = asked_books.QUESTIONS.parent / "passages"
UNANSWERED = asked_books.QUESTIONS.parent / "unanswered.json"  # book → questions that no page of it answers
OUT = Path(__file__).parent.parent / ".training"
TRAINED, LEFT_OUT = "passages.jsonl", "passages_left_out.jsonl"
FOUND = 4  # passages of an answered question, of which those that do not hold the answer become drafts


@dataclass(frozen=True, slots=True)
class AskedPassage:
    page: str
    text: str
    answered: list[tuple[str, int, int]]  # question, start and end of the answer in the text
    unanswered: list[str]


def passage_books() -> list[str]:
    """The books alone: passages of public sets are read in the training's environment."""
    lines = {path: path.open(encoding="utf-8").readline() for path in QUESTIONS.glob("*.jsonl")}
    return sorted(path.stem for path, first in lines.items() if "page" in json.loads(first))


def passages_of(book: str, data: Path) -> Iterator[AskedPassage]:
    folder = asked_books.unpacked(book, data)
    for line in (QUESTIONS / f"{book}.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        start, end = row["at"]
        text = (folder / row["page"]).read_bytes().decode("utf-8")[start:end]
        if crc32(text.encode()) != row["words"]:
            raise SystemExit(f"{book}: {row['page']} is another edition than the one asked about.")
        yield AskedPassage(row["page"], text, row["answered"], row["unanswered"])


def chunks_by_text(book: str, data: Path, tokens: TokenCounter) -> tuple[tuple[Chunk, ...], dict[str, Chunk]]:
    chunks = asked_books.chunks_of(book, data, tokens)
    return chunks, {chunk.text: chunk for chunk in chunks}


def loaded(book: str, data: Path, tokens: TokenCounter) -> corpora.Loaded:
    chunks, known = chunks_by_text(book, data, tokens)
    asked = []
    for passage in passages_of(book, data):
        chunk = known.get(passage.text)
        if chunk is not None:
            for question, start, end in passage.answered:
                spans = ((chunk.start + start, chunk.start + end),)
                asked.append(corpora.Asked(question, frozenset((chunk.id,)), chunk.source_file, spans))
    return list(chunks), asked


def loaded_unanswered(book: str, data: Path, tokens: TokenCounter) -> corpora.Loaded:
    chunks, known = chunks_by_text(book, data, tokens)
    kept = set(json.loads(UNANSWERED.read_text(encoding="utf-8"))[book])
    asked = [
        corpora.Asked(question, frozenset(), known[passage.text].source_file)
        for passage in passages_of(book, data)
        if passage.text in known
        for question in passage.unanswered
        if question in kept
    ]
    return list(chunks), asked


def register() -> list[str]:
    for book in passage_books():
        corpora.LOADERS[f"passages_{book}"] = partial(loaded, book)
        corpora.LOADERS[f"unanswered_{book}"] = partial(loaded_unanswered, book)
    return passage_books()


# --- drafts for training ---------------------------------------------------------------------------------------------


def groups_of(book: str, data: Path, tokens: TokenCounter) -> list[list[dict[str, Any]]]:
    """One group for each passage, then one for each answered question with other chunks that share its words. Finding
    these by words alone is quick, and embedding some seventy books is not."""
    chunks, asked = loaded(book, data, tokens)
    known = {chunk.text: chunk for chunk in chunks}
    groups = []
    for passage in passages_of(book, data):
        chunk = known.get(passage.text)
        if chunk is not None:
            group = [
                draft("passage, answered", question, chunk, span=[start, end], answerable=1, relevance=1)
                for question, start, end in passage.answered
            ]
            group += [draft("passage, not answered", question, chunk, answerable=0) for question in passage.unanswered]
            groups.append(group)
    corpus = corpora.Corpus(chunks, [term_text(chunk) for chunk in chunks], np.zeros((0, 0), dtype=np.float32))
    for one in asked:
        (key,), (span,) = one.relevant, one.spans
        chunk = chunks[corpus.at[key]]
        place = [span[0] - chunk.start, span[1] - chunk.start]
        scores = corpus.sparse(terms.query_weights(one.text))
        found = [chunks[at] for at in np.argsort(-scores)[:FOUND] if scores[at] > 0 and chunks[at].id != key]
        group = [draft("passage, answered", one.text, chunk, span=place, answerable=1, relevance=1)]
        groups.append(group + [draft("passage, other chunk", one.text, other, relevance=0) for other in found])
    return groups


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    arguments = parser.parse_args()
    tokens = MiniLMEmbedder().tokens
    OUT.mkdir(exist_ok=True)
    with (OUT / TRAINED).open("w", encoding="utf-8") as train, (OUT / LEFT_OUT).open("w", encoding="utf-8") as test:
        for book in passage_books():
            groups = groups_of(book, arguments.data, tokens)
            lines = test if book in shelf.LEFT_OUT else train
            lines.writelines(json.dumps(group, ensure_ascii=False) + "\n" for group in groups)
            print(f"{book}: {sum(map(len, groups))} drafts", flush=True)


if __name__ == "__main__":
    main()
