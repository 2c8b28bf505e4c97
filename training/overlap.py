"""Keeps evaluation texts out of the training data: no passage or question may share runs of ten words with them.

A text overlaps when it shares three runs or three tenths of its runs with any evaluation text, or when it is one of
their questions. The folder of the evaluation sets and the sample book come in; `Evaluated.holds` says whether a text
must go. Pure Python.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path

from .books import sections
from .records import read_lines

RUN = 10
MOST_RUNS, MOST_SHARE = 2, 0.3
_WORDS = re.compile(r"\w+")


def words(text: str) -> list[str]:
    return _WORDS.findall(text.lower())


def runs(text: str) -> set[int]:
    found = words(text)
    return {hash(tuple(found[at : at + RUN])) for at in range(len(found) - RUN + 1)}


class Evaluated:
    def __init__(self, texts: Iterator[str]) -> None:
        self._runs: set[int] = set()
        self._short: set[str] = set()
        for text in texts:
            self._runs |= runs(text)
            if len(words(text)) < 40:
                self._short.add(" ".join(words(text)))

    def holds(self, text: str) -> bool:
        if " ".join(words(text)) in self._short:
            return True
        own = runs(text)
        shared = len(own & self._runs)
        return shared > MOST_RUNS or (shared > 0 and shared >= MOST_SHARE * len(own))


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _strings(part)
    elif isinstance(value, list):
        # Sentences of one document belong together: a run may begin in one and end in the next.
        if value and all(isinstance(part, str) for part in value):
            yield " ".join(value)
        for part in value:
            yield from _strings(part)


def evaluation_texts(data: Path, sample_book: Path) -> Iterator[str]:
    """Every string of every evaluation set, the Rust book and the sample book with its golden questions."""
    for path in sorted(data.rglob("*.jsonl.gz")):
        if path.parent.name != "reader_train":
            for row in read_lines(path):
                yield from _strings(row)
    for path in sorted((data / "chunking_evaluation" / "corpora").glob("*.md")):
        yield path.read_text(encoding="utf-8")
    with (data / "chunking_evaluation" / "questions_df.csv").open(encoding="utf-8", newline="") as rows:
        for row in csv.DictReader(rows):
            yield row["question"]
            yield from _strings(json.loads(row["references"]))
    for section in sections(data / "books" / "mdbook_rust_book.tar.gz"):
        yield section.text
    for path in sorted(sample_book.rglob("*")):
        if path.suffix in {".md", ".mdx", ".yaml"}:
            yield path.read_text(encoding="utf-8")
    # The golden questions one by one: within the file they are too short to share a run.
    for match in re.finditer(
        r"question:\s*[\"']?(.+?)[\"']?\s*$", (sample_book / "golden.yaml").read_text("utf-8"), re.M
    ):
        yield match.group(1)
