"""How well follow-up questions are understood: on CANARD's human rewrites, and on the sample book through the pipeline.

    python benchmarks/followups.py ../shared/data

CANARD gives as history the title of an article, the title of a section, then questions and answers in turn; they are
taken in pairs as exchanges, with the titles as the first pair. A dialogue is replayed as Quoth would see it: each
question knows the last five exchanges and what was searched for them. Articles are split in two: the rules were
developed on one half, and the figures are those of the other. The answers are also a corpus to search: the right one is
the answer that followed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import yaml

from corpora import LOADERS, Corpus, chunk_of, read_lines, vectors_of
from quoth.ask.follow_up import EXCHANGES, MOST_TERMS, FollowUpOptions, rewrite
from quoth.ask.request import Search
from quoth.bootstrap import Quoth, bootstrap
from quoth.domain import PastTurn, Question, SearchQuery
from quoth.models.minilm import MiniLMEmbedder
from quoth.ports import TokenCounter
from quoth.settings import load_settings
from quoth.sources import open_source
from quoth.text.terms import query_terms, term_ids
from searching import Searcher

ROOT = Path(__file__).parent.parent
OPTIONS = FollowUpOptions()
NOTHING = "I don't know."  # CANARD's refusal


@dataclass(frozen=True, slots=True)
class Case:
    """One question of a dialogue, how a person rewrote it, and what Quoth searches."""

    history: tuple[str, ...]
    question: str
    human: str
    ours: SearchQuery
    answer: str  # the one that followed; empty if the dialogue ended or nothing was known

    @property
    def needed(self) -> bool:
        return normal(self.question) != normal(self.human)


def normal(text: str) -> str:
    return " ".join("".join(char if char.isalnum() else " " for char in text.lower()).split())


def exchanges(history: Sequence[str], searched: Mapping[int, str]) -> list[PastTurn]:
    pairs = zip(history[::2], history[1::2], strict=True)
    return [
        PastTurn(asked, "" if answered == NOTHING else answered, searched.get(at, ""))
        for at, (asked, answered) in enumerate(pairs)
    ]


def dialogues(data: Path, half: int) -> Iterator[list[dict[str, Any]]]:
    """Split by article, so that no title of one half is known from the other."""
    rows = read_lines(data / "canard_dev" / "dev.jsonl.gz")
    rows.sort(key=lambda row: (row["QuAC_dialog_id"], row["Question_no"]))
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if crc32(row["History"][0].encode()) % 2 == half:
            found.setdefault(row["QuAC_dialog_id"], []).append(row)
    yield from found.values()


def rarity_in(dialogue_list: Sequence[Sequence[Mapping[str, Any]]]) -> dict[int, float]:
    """Treats the titles and answers of this half as the book."""
    texts = [" ".join((*row["History"][:2], row["History"][-1])) for dialogue in dialogue_list for row in dialogue]
    counts = Counter(term for text in texts for term in term_ids(text))
    return {term: math.log(1 + (len(texts) - n + 0.5) / (n + 0.5)) for term, n in counts.items()}


def replay(data: Path, half: int) -> list[Case]:
    known = list(dialogues(data, half))
    rarity = rarity_in(known)
    cases = []
    for dialogue in known:
        searched: dict[int, str] = {}
        for at, row in enumerate(dialogue):
            history = exchanges(row["History"], searched)
            ours = rewrite(row["Question"], history[-EXCHANGES:], rarity)
            searched[len(history)] = ours.phrase or ours.text
            answer = dialogue[at + 1]["History"][-1] if at + 1 < len(dialogue) else NOTHING
            cases.append(
                Case(tuple(row["History"]), row["Question"], row["Rewrite"], ours, "" if answer == NOTHING else answer)
            )
    return cases


# --- against the human rewrite ---------------------------------------------------------------------------------------

WAYS: dict[str, Callable[[Case], str]] = {
    "question alone": lambda case: case.question,
    "last question and answer joined": lambda case: " ".join((*case.history[-2:], case.question)),
    "whole history joined": lambda case: " ".join((*case.history, case.question)),
    "human rewrite": lambda case: case.human,
    "quoth": lambda case: case.ours.text,
}


def recovered(cases: Sequence[Case], text: Callable[[Case], str]) -> dict[str, float]:
    """Recall of the terms that the human added, and precision and number of the terms that the text adds. Covers only
    questions to which the human added a term."""
    shares, found, wanted, extra, right = [], 0, 0, 0, 0
    for case in cases:
        own, human, held = term_ids(case.question), term_ids(case.human), term_ids(text(case))
        missing = [term for term in query_terms(case.human) if not term.found_in(own)]
        if not case.needed or not missing:
            continue
        added = [term for term in query_terms(text(case)) if not term.found_in(own)]
        hits = sum(term.found_in(held) for term in missing)
        shares.append(hits / len(missing))
        found, wanted = found + hits, wanted + len(missing)
        extra, right = extra + len(added), right + sum(term.found_in(human) for term in added)
    return {
        "recall (mean of questions)": round(float(np.mean(shares)), 4),
        "recall (of all terms)": round(found / wanted, 4),
        "terms added": round(extra / len(shares), 2),
        "precision": round(right / extra, 4) if extra else 0.0,
        "questions": len(shares),
    }


def left_alone(cases: Sequence[Case]) -> dict[str, float]:
    same = [case for case in cases if not case.needed]
    later = [case for case in same if len(case.history) > 2]
    return {
        "left alone": round(float(np.mean([case.ours.text == case.question for case in same])), 4),
        "questions": len(same),
        "left alone, not the first of a dialogue": round(
            float(np.mean([case.ours.text == case.question for case in later])), 4
        ),
        "questions, not the first of a dialogue": len(later),
    }


async def answers_found(cases: Sequence[Case], embedder: MiniLMEmbedder, cache: Path) -> dict[str, dict[str, float]]:
    """The answers of all dialogues are searched for the one that followed. As in a book, its place (the titles) is
    weighed with the words and is not in the vector."""
    asked = [case for case in cases if case.answer and len(case.history) > 2]
    chunks = [chunk_of(str(at), case.answer) for at, case in enumerate(asked)]
    weighed = [" ".join((*case.history[:2], case.answer)) for case in asked]
    corpus = Corpus(chunks, weighed, await vectors_of([case.answer for case in asked], embedder, cache))
    searcher, report = Searcher(), {}
    for way, text in WAYS.items():
        queries = [text(case) for case in asked]
        ranks = []
        for right, query, vector in zip(chunks, queries, await vectors_of(queries, embedder, cache), strict=True):
            found = [passage.chunk.id for passage in (await searcher.find(corpus, query, vector, 10)).passages]
            ranks.append(found.index(right.id) if right.id in found else None)
        report[way] = {
            "ndcg@10": round(float(np.mean([0 if rank is None else 1 / math.log2(rank + 2) for rank in ranks])), 4),
            "hit@5": round(float(np.mean([rank is not None and rank < 5 for rank in ranks])), 4),
            "questions": len(ranks),
        }
    return report


# --- questions that make sense alone ---------------------------------------------------------------------------------


def strangers(data: Path, tokens: TokenCounter) -> dict[str, dict[str, float]]:
    """Questions of the retrieval sets, each asked after the previous one: they were written to be understood alone."""
    report = {}
    for name in ("squad2_dev_half", "rust_book_quiz"):
        _, questions = LOADERS[name](data, tokens)
        pairs = list(pairwise(questions))
        kept = [rewrite(then.text, [PastTurn(first.text)]).text == then.text for first, then in pairs]
        report[name] = {"left alone": round(float(np.mean(kept)), 4), "questions": len(kept)}
    return report


# --- the sample book, through the whole pipeline ---------------------------------------------------------------------


async def sample_book() -> dict[str, dict[str, float]]:
    golden = yaml.safe_load((ROOT / "examples" / "golden.yaml").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        async with bootstrap(load_settings(data_dir=Path(folder))) as quoth:
            await quoth.ingest.run(open_source(ROOT / "examples" / golden["book"], book_id="book"))
            answerable = golden["answerable"]
            alone = [
                {**then, "first": first["question"], "then": then["question"]}
                for first, then in zip(answerable, answerable[1:] + answerable[:1], strict=True)
                if "filters" not in then
            ]
            return {
                "follow-ups": await asked_in_turn(quoth, golden["follow_ups"]),
                "questions that stand alone": await asked_in_turn(quoth, alone),
            }


async def asked_in_turn(quoth: Quoth, pairs: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    rows = []
    for number, pair in enumerate(pairs):
        session = f"00000000-0000-4000-8000-{crc32(pair['id'].encode()):012x}"
        answers = []
        for query in (pair["first"], pair["then"]):
            question = Question(query, "book", session, request_id=str(number))
            answers.append(await quoth.conversations.answer(question))
        bare, _ = await quoth.conversations.search(Search(pair["then"], "book", question.filters, 5))
        full, _ = await quoth.conversations.search(Search(answers[1].searched_query, "book", question.filters, 5))
        rows.append(
            (
                any(pair["quote"] in passage.chunk.text for passage in bare.passages),
                any(pair["quote"] in passage.chunk.text for passage in full.passages),
                any(pair["quote"] in citation.chunk.text for citation in answers[1].citations),
                answers[1].searched_query == pair["then"],
            )
        )
    names = ("hit@5 of the question alone", "hit@5 of what is searched", "answer cites the passage", "left alone")
    return {**dict(zip(names, np.mean(rows, axis=0).round(4).tolist(), strict=True)), "questions": len(rows)}


# --- report ----------------------------------------------------------------------------------------------------------


async def measured(data: Path, cache: Path) -> dict[str, Any]:
    embedder = MiniLMEmbedder()
    try:
        held_out, developed = replay(data, 1), replay(data, 0)
        return {
            "options": {"exchanges": EXCHANGES, "most_terms": MOST_TERMS, **asdict(OPTIONS)},
            "canard, half that the rules were not developed on": {
                **left_alone(held_out),
                "terms": {way: recovered(held_out, text) for way, text in WAYS.items()},
                "retrieval": await answers_found(held_out, embedder, cache),
            },
            "canard, half that the rules were developed on": {
                **left_alone(developed),
                "terms": {"quoth": recovered(developed, WAYS["quoth"])},
            },
            "stand-alone questions of other sets": strangers(data, embedder.tokens),
            "sample book": await sample_book(),
        }
    finally:
        await embedder.close()


def table(rows: Mapping[str, Mapping[str, float]]) -> list[str]:
    names = list(next(iter(rows.values())))
    return [
        f"| | {' | '.join(names)} |",
        f"|---|{'---|' * len(names)}",
        *(f"| {name} | {' | '.join(str(row[column]) for column in names)} |" for name, row in rows.items()),
    ]


def page(report: Mapping[str, Any]) -> str:
    held_out = report["canard, half that the rules were not developed on"]
    developed = report["canard, half that the rules were developed on"]
    alone = {
        name: {key: value for key, value in half.items() if not isinstance(value, dict)}
        for name, half in (("not developed on", held_out), ("developed on", developed))
    }
    return "\n".join(
        (
            "# Follow-ups",
            "",
            "Written by `make bench-followups`: `benchmarks/followups.py` says how, decision 0014 why.",
            "",
            "## Terms that a human rewrite adds (CANARD dev, articles that the rules were not developed on)",
            "",
            *table(held_out["terms"] | {"quoth, on the half it was developed on": developed["terms"]["quoth"]}),
            "",
            "## Questions that a human left unchanged",
            "",
            *table(alone),
            "",
            "Questions of other sets, each asked after the previous one:",
            "",
            *table(report["stand-alone questions of other sets"]),
            "",
            "## Effect on retrieval (the answers of the dialogues, searched for the one that followed)",
            "",
            *table(held_out["retrieval"]),
            "",
            "## The sample book through the whole pipeline",
            "",
            *table(report["sample book"]),
            "",
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "quoth-bench")
    parser.add_argument("--into", type=Path, default=ROOT / "docs" / "benchmarks")
    arguments = parser.parse_args()
    report = asyncio.run(measured(arguments.data, arguments.cache))
    written = page(report)
    (arguments.into / "followups.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    (arguments.into / "followups.md").write_text(written, encoding="utf-8")
    print(written)


if __name__ == "__main__":
    main()
