"""Reads the training sets: question answering, claims, and queries with passages, with one record type for each.

A folder of gzipped JSON lines comes in (its README names sources and licences); plain records go out, in file order.
Sets that are held out to choose the recipe are named here and nowhere else. Pure Python, no torch.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

Span = tuple[int, int]

# Held out completely: nothing is trained on them, and they choose the recipe.
LEFT_OUT = frozenset({"covidqa_passages", "qed_nq_dev", "adversarialqa_answerability_ni", "foolmetwice_devtest"})
# Held out in part, by passage: a tenth of QuAC, half of DoQA.
LEFT_OUT_SHARES = {"quac_train": 10, "doqa_answerability_ni": 2, "summedits": 5}

QUESTION_SETS = (
    "adversarialqa_answerability_ni",
    "boolq_train_dev",
    "covidqa_passages",
    "doqa_answerability_ni",
    "friendsqa_devtest",
    "hardneg_same_document",
    "iirc_spans_ni",
    "narrativeqa_summary_spans",
    "policyqa_devtest",
    "qamr_devtest",
    "qasper_spans_ni",
    "qed_nq_dev",
    "quac_train",
    "squad1_train_du_test44",
    "squad2_train_10articles",
    "tweetqa_spans_ni",
)
CLAIM_SETS = ("begin", "fever_athnlp", "foolmetwice_devtest", "mnli_ni", "scitail_ni", "summedits")

# Labels of the claim sets in our three words, and "unsupported" if a set does not say which of the two.
CLAIM_LABELS = {
    "supported": "supported",
    "entailment": "supported",
    "neutral": "neutral",
    "contradiction": "contradicted",
    "not_supported": "unsupported",
    "not_entailment": "unsupported",
    "generic": "unsupported",
}


@dataclass(frozen=True, slots=True)
class Question:
    set_name: str
    key: str
    title: str
    passage: str
    text: str
    spans: tuple[Span, ...]
    answerable: bool
    turn: int = 0  # in a dialogue; 0 is the first
    yes_no: bool = False


@dataclass(frozen=True, slots=True)
class Claim:
    set_name: str
    passage: str
    text: str
    label: str  # supported, neutral, contradicted or unsupported


@dataclass(frozen=True, slots=True)
class Ranked:
    """A query with the passages that answer it and others of the same document that do not."""

    set_name: str
    query: str
    right: tuple[str, ...]
    wrong: tuple[str, ...]


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def left_out(set_name: str, passage: str) -> bool:
    if set_name in LEFT_OUT:
        return True
    share = LEFT_OUT_SHARES.get(set_name)
    return share is not None and crc32(passage.encode()) % share == 0


def questions(folder: Path, name: str) -> Iterator[Question]:
    for row in read_lines(folder / f"{name}.jsonl.gz"):
        passage = row["context"]
        if name == "iirc_spans_ni":
            # The set's authors left this mark of unanswerable questions in the text.
            passage = passage.removesuffix(" none")
        spans = tuple(
            (a["start"], a["start"] + len(a["text"])) for a in row["answers"] if a["text"].strip() and a["start"] >= 0
        )
        history = row.get("history") or []
        yield Question(
            set_name=name,
            key=str(row["id"]),
            title=row["title"].replace("_", " "),
            passage=passage,
            text=asked(row["question"]),
            spans=spans,
            answerable=bool(row["answerable"]),
            turn=len(history) // 2,
            yes_no="yesno" in row,
        )


def asked(text: str) -> str:
    """On one line, without the space that some sets put before a question mark."""
    return re.sub(r"\s+([?.,!])", r"\1", " ".join(text.split()))


def claims(folder: Path, name: str) -> Iterator[Claim]:
    for row in read_lines(folder / f"{name}.jsonl.gz"):
        passage, text = row["premise"].strip(), " ".join(row["hypothesis"].split())
        if passage and text:
            yield Claim(name, passage, text, CLAIM_LABELS[row["label"]])


def ranked(folder: Path) -> Iterator[Ranked]:
    """MedQuAD. Its template "What is (are) X?" becomes what a person would write."""
    gathered: dict[str, tuple[list[str], list[str]]] = {}
    for row in read_lines(folder / "medquad_ranking.jsonl.gz"):
        query = re.sub(r"\bis \(are\)", "is", row["query"])
        gathered.setdefault(query, ([], []))[0 if row["relevant"] else 1].append(row["passage"])
    for query, (right, wrong) in gathered.items():
        if right and wrong:
            yield Ranked("medquad", query, tuple(right), tuple(wrong))
