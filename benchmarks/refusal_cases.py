"""Cases for the judge: questions with known answers, put to corpora that hold them or no longer do.

The docstring of benchmarks/refusal.py says what the settings are. Sets of questions and a searcher come in, cases with
the judge's features and the truth go out.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from functools import partial
from zlib import crc32

import numpy as np

import asked_books
import shelf
from corpora import Asked, EvaluationSet
from quoth.ask.judge import features
from quoth.domain import Chunk, Evidence
from searching import Mask, Searcher

FITTED_ON = ("squad2_dev_half", "scifact", "rust_book_quiz", "qed_nq_dev", "covidqa_passages", "chunking_evaluation")
# Our own questions about books that nothing is ever fitted on (decisions 0045 and 0047). Nobody knows which other
# passages answer a question that was written about one, so many are still answered where theirs is gone.
TESTED_ON = (
    *(f"asked_{book}" for book in asked_books.HELD_OUT),
    *(f"passages_{book}" for book in sorted(shelf.LEFT_OUT)),
)
# Sets of questions that only seem to be answered, each with the set that has the ordinary ones.
ALIKE = {"squad2_look_alikes": ("squad2_dev_half", "look-alike")}
ALIKE |= {f"near_{book}": (f"asked_{book}", "near") for book in asked_books.HELD_OUT}
ALIKE |= {f"unanswered_{book}": (f"passages_{book}", "near") for book in sorted(shelf.LEFT_OUT)}
TEMPTING = ("look-alike", "near")  # settings


@dataclass(frozen=True, slots=True)
class Case:
    set_name: str
    setting: str
    answerable: bool
    held_out: bool
    seen: Mapping[str, float]  # the judge's features
    cosine: float  # the best passage's, for comparison

    @classmethod
    def of(cls, set_name: str, setting: str, answerable: bool, asked: Asked, evidence: Evidence) -> Case:
        cosine = max(passage.dense_score or 0.0 for passage in evidence.passages)
        return cls(set_name, setting, answerable, held_out(whole(asked.group)), features(evidence), cosine)


def held_out(group: str) -> bool:
    return crc32(group.encode()) % 2 == 1


def whole(group: str) -> str:
    """ch17-01-… and ch17-02-… are one chapter."""
    return group.split("-")[0] if group.endswith(".md") else group


def article_of(chunk: Chunk) -> str:
    """The article or chapter: in ready-made sets from the passage's name, in our own books from the file."""
    if chunk.breadcrumb:
        return chunk.source_file
    return chunk.id.rsplit("#" if "#" in chunk.id else "-", 1)[0]


def relevant_to(of: EvaluationSet, at: int) -> Mask:
    relevant = np.zeros(len(of.corpus.chunks), dtype=np.bool_)
    relevant[[of.corpus.at[key] for key in of.questions[at].relevant]] = True
    return relevant


def halved(of: EvaluationSet, at: int, keep: Mask) -> bool:
    """Some of its right passages are gone and some are not: nobody knows whether the rest answers it."""
    right = relevant_to(of, at)
    return bool((keep & right).any() and (~keep & right).any())


async def make_case(
    searcher: Searcher,
    of: EvaluationSet,
    at: int,
    setting: str,
    keep: Mask | None = None,
    put_to: EvaluationSet | None = None,
) -> Case:
    """The question at `at` put to its own corpus, thinned to `keep`, or to another one."""
    asked, vector = of.questions[at], of.question_vectors[at]
    answerable = put_to is None and (keep is None or bool((keep & relevant_to(of, at)).any()))
    evidence = await searcher.find((put_to or of).corpus, asked.text, vector, 5, keep)
    return Case.of(of.name, setting, answerable, asked, evidence)


async def cases(of: EvaluationSet, others: list[EvaluationSet], searcher: Searcher, most: int) -> AsyncIterator[Case]:
    chosen = np.random.default_rng(7).permutation(len(of.questions))[:most]
    keys = [chunk.id for chunk in of.corpus.chunks]
    groups = np.array([whole(article_of(chunk)) for chunk in of.corpus.chunks])
    thinned = {
        setting: np.random.default_rng(seed).random(len(keys)) >= share
        for setting, share, seed in (("half", 0.5, 1), ("tenth", 0.1, 2))
    }
    for at in chosen:
        asked = of.questions[at]
        relevant = relevant_to(of, int(at))
        case = partial(make_case, searcher, of, int(at))
        yield await case("article")
        yield await case("article", (groups != whole(asked.group)) & ~relevant)
        for setting, keep in thinned.items():
            if not halved(of, int(at), keep):
                yield await case(setting, keep)
        if at % 4 == 0:  # few lose their passages by chance
            yield await case("tenth", thinned["tenth"] & ~relevant)
        if at % 8 == 0:
            yield await case("stranger")
            for other in others:
                yield await case("stranger", put_to=other)


async def look_alikes(
    of: EvaluationSet, alike: EvaluationSet, setting: str, searcher: Searcher, most: int
) -> AsyncIterator[Case]:
    for source, answerable in ((of, True), (alike, False)):
        for at in np.random.default_rng(8).permutation(len(source.questions))[:most]:
            asked = source.questions[at]
            evidence = await searcher.find(of.corpus, asked.text, source.question_vectors[at], 5)
            yield Case.of(of.name, setting, answerable, asked, evidence)


async def gather(searcher: Searcher, sets: list[EvaluationSet], alike: list[EvaluationSet], most: int) -> list[Case]:
    known = [
        case
        for of in sets
        async for case in cases(of, [other for other in sets[:3] if other is not of], searcher, most)
    ]
    plain = {of.name: of for of in sets}
    for tempting in alike:
        name, setting = ALIKE[tempting.name]
        known += [case async for case in look_alikes(plain[name], tempting, setting, searcher, 2 * most)]
    return known
