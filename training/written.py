"""Our own questions and claims about single passages, and our own answers, as groups of drafts.

`training/passages` and `training/claims` hold our words and the places of passages: characters of a book's file, or of
a passage of a public set, which is named by its checksum. Passages of books come as drafts from
benchmarks/passage_books.py, because cutting a book into chunks needs Quoth; the rest is read here. Some claims come
twice, with both labels: a supported one whose sentences were taken out, an unsupported one that was put in.
`training/answers` holds whole questions with their passages and answers, all of it our own writing, each sentence of an
answer with its label: 1 if the passages say it, else 0.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

from .drafts import NO, UNKNOWN, YES, Draft, Group
from .mixture import near_passages, shared
from .records import left_out, read_lines
from .windows import as_shipped
from .wording import biases

_SHIPPED = as_shipped("ask/evidence")
chosen_units, evidence, units_of = _SHIPPED.chosen_units, _SHIPPED.evidence, _SHIPPED.units_of

HERE = Path(__file__).parent
BOOKS = HERE.parent / ".training" / "books"
TAKEN_OUT, PUT_IN = 0.4, 0.25
ASKED_BIAS = 0.7  # how much of what the wording of a question says is taken off; of that of a claim, all
LOOKED_AT, SEARCHED = 60, 3  # passages drawn for a claim; times
MEASURED = 6  # of this many items with claims, one is never trained on


class Places:
    """The texts that rows name, each checked."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._sets: dict[str, dict[int, str]] = {}
        self._files: dict[Path, str] = {}

    def left_out(self, book: str, row: dict[str, Any]) -> bool:
        """Passages of public sets that recipes are chosen by."""
        return "key" in row and left_out(book, self._of_set(book)[row["key"]])

    def text(self, book: str, row: dict[str, Any]) -> str:
        whole = self._of_set(book)[row["key"]] if "key" in row else self._of_book(book, row["page"])
        start, end = row["at"]
        text = whole[start:end]
        if crc32(text.encode()) != row["words"]:
            raise SystemExit(f"{book}: a passage is not the one that was asked about: {row}")
        return text

    def _of_set(self, name: str) -> dict[int, str]:
        if name not in self._sets:
            rows = read_lines(self._data / "reader_train" / f"{name}.jsonl.gz")
            texts = {row.get("context") or row["passage"] for row in rows}
            self._sets[name] = {crc32(text.encode()): text for text in texts}
        return self._sets[name]

    def _of_book(self, book: str, page: str) -> str:
        path = BOOKS / book / page
        if path not in self._files:
            self._files[path] = path.read_bytes().decode("utf-8")
        return self._files[path]


def _rows(folder: str, *, of_sets: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    for path in sorted((HERE / folder).glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if of_sets or "page" not in row:
                yield path.stem, row


def with_biases(groups: list[Group]) -> list[Group]:
    """Every draft knows what its wording says about its label."""
    flat = [(number, draft) for number, group in enumerate(groups) for draft in group]
    asked = [(number, draft) for number, draft in flat if draft.answerable != UNKNOWN]
    claimed = [(number, draft) for number, draft in flat if draft.support]
    known: dict[int, float] = {}
    for part, labels, share in (
        (asked, [draft.answerable == YES for _, draft in asked], ASKED_BIAS),
        (claimed, [draft.support == "supported" for _, draft in claimed], 1.0),
    ):
        if part:
            odds = biases([draft.question for _, draft in part], labels, [_fold(draft) for _, draft in part])
            known |= {id(draft): share * value for (_, draft), value in zip(part, odds, strict=True)}
    return [[replace(draft, bias=known.get(id(draft), 0.0)) for draft in group] for group in groups]


def _fold(draft: Draft) -> int:
    """Equal for all questions about a passage that begins alike."""
    return crc32(draft.passage[:60].encode())


# --- questions -------------------------------------------------------------------------------------------------------


def public_passages(places: Places) -> Iterator[Group]:
    for name, row in _rows("passages", of_sets=False):
        if places.left_out(name, row):
            continue
        text = places.text(name, row)
        group = [
            Draft(f"own: {name}", question, text, "", (start, end), YES, YES)
            for question, start, end in row["answered"]
        ]
        group += [Draft(f"own look-alike: {name}", question, text, "", None, NO) for question in row["unanswered"]]
        yield group


# --- claims ----------------------------------------------------------------------------------------------------------


def claim_items(places: Places, *, measured: bool) -> Iterator[tuple[list[str], dict[str, Any]]]:
    """Passages and the claims about them; a part is only measured on."""
    for _, row in _rows("claims", of_sets=True):
        texts = [places.text(one["book"], one).strip() for one in row["passages"]]
        held = any(places.left_out(one["book"], one) for one in row["passages"])
        if (held or row["passages"][0]["words"] % MEASURED == 0) is measured:
            yield texts, row


def claim_groups(places: Places, chance: Random) -> Iterator[Group]:
    """All claims about the same passages are one group."""
    for texts, row in claim_items(places, measured=False):
        group: Group = []
        for claim in row["supported"]:
            group.append(_claim("own claim", claim, evidence(claim, texts), "supported"))
            if chance.random() < TAKEN_OUT:
                group.append(_claim("own claim, taken out", claim, without(claim, texts), "unsupported"))
        for claim in row["unsupported"]:
            group.append(_claim("own claim", claim, evidence(claim, texts), "unsupported"))
            if chance.random() < PUT_IN:
                group.append(_claim("own claim, put in", claim, with_claim(claim, texts, chance), "supported"))
        yield group


def claim_searches(places: Places, chance: Random) -> Iterator[Group]:
    """Claims as queries: the passage that a claim is about, and others of its book that share its words."""
    of_books: dict[str, list[tuple[list[str], dict[str, Any]]]] = {}
    for texts, row in claim_items(places, measured=False):
        of_books.setdefault(row["passages"][0]["book"], []).append((texts, row))
    for items in of_books.values():
        every = [text for texts, _ in items for text in texts]
        for texts, row in items:
            claim = chance.choice([*row["supported"], *row["unsupported"]])
            right = max(texts, key=lambda text: shared(claim, text))
            near = {near_passages(every, claim, chance, LOOKED_AT) for _ in range(SEARCHED)} - set(texts)
            found = [Draft("claim, other passage", claim, text, relevance=NO) for text in sorted(near)]
            yield [Draft("claim as a query", claim, right, relevance=YES), *found]


def answer_items(*, measured: bool) -> Iterator[tuple[list[str], list[tuple[str, bool]]]]:
    """Passages, and the sentences of answers from them with their labels; a part is only measured on."""
    for path in sorted((HERE / "answers").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if (crc32(row["question"].encode()) % MEASURED == 0) is measured:
                said = {text: bool(label) for answer in row["answers"] for text, label in answer}
                yield row["passages"], list(said.items())


def answer_groups() -> Iterator[Group]:
    for passages, said in answer_items(measured=False):
        yield [
            _claim("own answer", text, evidence(text, passages), "supported" if label else "unsupported")
            for text, label in said
        ]


def _claim(kind: str, claim: str, text: str, label: str) -> Draft:
    return Draft(kind, claim, text, "", None, support=label)


def without(claim: str, passages: list[str]) -> str:
    """What the passages say beside the sentences that hold most of the claim."""
    units = units_of(passages)
    gone = chosen_units(claim, units)[:2]
    rest = [unit for unit in units if unit not in gone]
    chosen = chosen_units(claim, rest)
    return " ".join(unit.text for unit in rest if unit in chosen) or " ".join(unit.text for unit in rest[:4])


def with_claim(claim: str, passages: list[str], chance: Random) -> str:
    """The evidence with the claim somewhere in it."""
    said = [unit.text for unit in units_of([evidence(claim, passages)])]
    said.insert(chance.randint(0, len(said)), claim)
    return " ".join(said)
