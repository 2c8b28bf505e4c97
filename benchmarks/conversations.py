"""Whole conversations, with Quoth's own answers in the history: how many later turns are answered?

    python benchmarks/conversations.py ../shared/data

QuAC's dialogues (`reader_train/quac_train`) are put turn by turn to a book made from their passages. The pages have no
headings and meaningless file names, so only the conversation can tell what a question is about. Each question is
QuAC's; each answer in the history is the one that Quoth gave. A later turn is answerable if QuAC's answerer found
something. The dialogues are split in two by passage: the rules were developed on one half, and the figures are those of
the other. A reader that was trained on these questions must not be scored with them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

from corpora import read_lines
from quoth.bootstrap import Quoth, bootstrap
from quoth.domain import Answer, Question
from quoth.settings import load_settings
from quoth.sources import open_source
from quoth.text.terms import content_terms, term_ids

ROOT = Path(__file__).parent.parent
PAGES = 80  # of each half
DIALOGUES = 40  # of each half that are asked


@dataclass(frozen=True, slots=True)
class Turn:
    question: str
    gold: tuple[str, ...]  # people's answers; empty if the passage does not say


@dataclass(frozen=True, slots=True)
class Dialogue:
    page: str
    context: str
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """One later turn and its result."""

    dialogue: Dialogue
    turn: Turn
    answer: Answer
    first_answered: bool

    @property
    def answered(self) -> bool:
        return self.answer.verdict.should_answer

    @property
    def right_page(self) -> bool:
        return self.answered and any(one.chunk.source_file == self.dialogue.page for one in self.answer.citations)

    @property
    def gold_share(self) -> float:
        """The share of the words of the nearest gold answer that are in the answer."""
        said = term_ids(self.answer.text or "") if self.answered else frozenset()
        golds = [content_terms(gold) for gold in self.turn.gold]
        return max((sum(term.found_in(said) for term in gold) / len(gold) for gold in golds if gold), default=0.0)


def dialogues(data: Path, half: int) -> Iterator[Dialogue]:
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in read_lines(data / "reader_train" / "quac_train.jsonl.gz"):
        if crc32(row["context"].encode()) % 2 == half:
            rows.setdefault(row["id"].rsplit("-", 1)[0], []).append(row)
    seen: set[str] = set()
    for key, turns in rows.items():
        context = turns[0]["context"]
        if context in seen or len(turns) < 4 or not turns[0]["answerable"]:
            continue
        seen.add(context)
        asked = tuple(Turn(row["question"], tuple(one["text"] for one in row["answers"])) for row in turns)
        yield Dialogue(f"p{crc32(key.encode()):08x}.md", context, asked)
        if len(seen) == PAGES:
            return


async def asked_in_turn(quoth: Quoth, dialogue: Dialogue) -> list[Asked]:
    session = str(uuid.uuid4())
    found: list[Asked] = []
    first_answered = False
    for number, turn in enumerate(dialogue.turns):
        question = Question(turn.question, "book", session, request_id=f"{dialogue.page}-{number}")
        answer = await quoth.conversations.answer(question)
        one = Asked(dialogue, turn, answer, first_answered)
        if number == 0:
            first_answered = one.right_page
        else:
            found.append(one)
    return found


def write_book(folder: Path, of: Sequence[Dialogue]) -> None:
    for dialogue in of:
        (folder / dialogue.page).write_text(dialogue.context + "\n", encoding="utf-8")


async def measured(data: Path, cache: Path, half: int, *, show: int = 0) -> dict[str, float]:
    """The book is kept in `cache`, and only changed pages are read again."""
    of = list(dialogues(data, half))
    book = cache / f"quac-{half}"
    book.mkdir(parents=True, exist_ok=True)
    write_book(book, of)
    async with bootstrap(load_settings(data_dir=cache / f"quac-{half}-data")) as quoth:
        await quoth.ingest.run(open_source(book, book_id="book"))
        turns = [one for dialogue in of[:DIALOGUES] for one in await asked_in_turn(quoth, dialogue)]
    if show:
        print_turns(turns, show)
    return figures(turns)


def figures(turns: Sequence[Asked]) -> dict[str, float]:
    answerable = [one for one in turns if one.turn.gold]
    on_subject = [one for one in answerable if one.first_answered]
    rest = [one for one in turns if not one.turn.gold]
    return {
        "answerable later turns": len(answerable),
        "answered": share(one.answered for one in answerable),
        "answered from the right page": share(one.right_page for one in answerable),
        "gold words in the answer": mean(one.gold_share for one in answerable),
        "answerable later turns after a first that was answered": len(on_subject),
        "of these answered": share(one.answered for one in on_subject),
        "of these answered from the right page": share(one.right_page for one in on_subject),
        "later turns that the passage does not answer": len(rest),
        "of these refused": share(not one.answered for one in rest),
    }


def share(of: Iterator[bool] | Any) -> float:
    return mean(float(one) for one in of)


def mean(of: Iterator[float] | Any) -> float:
    values = list(of)
    return round(sum(values) / len(values), 4) if values else 0.0


def print_turns(turns: Sequence[Asked], most: int) -> None:
    for one in turns[:most]:
        mark = "right" if one.right_page else "elsewhere" if one.answered else "refused"
        gold = one.turn.gold[0][:60] if one.turn.gold else "(not in the passage)"
        print(
            f"{mark:9} {one.answer.verdict.confidence:.2f} {one.turn.question!r} | {one.answer.searched_query!r}"
            f" | {gold}"
        )


def page(report: dict[str, dict[str, float]]) -> str:
    lines = [
        "# Conversations",
        "",
        "Written by `make bench-conversations`: `benchmarks/conversations.py` says how, decision 0030 why.",
        "",
    ]
    names = list(report)
    lines += [f"| | {' | '.join(names)} |", f"|---|{'---|' * len(names)}"]
    for figure in report[names[0]]:
        lines.append(f"| {figure} | {' | '.join(f'{report[name][figure]:g}' for name in names)} |")
    return "\n".join(lines) + "\n"


async def all_figures(data: Path, cache: Path, show: int, halves: Sequence[int]) -> dict[str, dict[str, float]]:
    names = {1: "half that the rules were not developed on", 0: "half that the rules were developed on"}
    return {names[half]: await measured(data, cache, half, show=0 if half else show) for half in halves}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--show", type=int, default=0, help="also print this many turns of the development half")
    parser.add_argument("--half", type=int, action="append", help="only this half; 0 is the development half")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "quoth-bench")
    parser.add_argument("--into", type=Path, default=ROOT / "docs" / "benchmarks")
    arguments = parser.parse_args()
    report = asyncio.run(all_figures(arguments.data, arguments.cache, arguments.show, arguments.half or (1, 0)))
    (arguments.into / "conversations.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    (arguments.into / "conversations.md").write_text(page(report), encoding="utf-8")
    print(page(report))


if __name__ == "__main__":
    main()
