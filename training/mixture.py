"""Assembles the training groups from all sources, with caps and shares that keep any one set from dominating.

Records, sections and generated variants come in; groups of drafts go out, shuffled, in an order that only the seed
decides. A group has a question with its right passage, often a look-alike (the same passage, a changed question) and
wrong passages that search would also find. Pure Python.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from random import Random

from . import records
from .drafts import NO, UNKNOWN, YES, Draft, Group
from .lookalikes import TWINS, UNANSWERABLE, Answered, Elsewhere, make
from .made_claims import MadeClaim, from_passage, from_question
from .overlap import words
from .records import Question
from .texts import names, sentences

# A question in a dialogue that means nothing on its own.
_BOUND = re.compile(
    r"\b(else|other|others|another|this|that|these|those|it|more|also|then|anything|there|same)\b", re.I
)


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a set of answerable questions is used."""

    most: int  # questions, over all passes
    per_passage: int = 1000
    passes: int = 1
    look_alike: float = 0.6  # share of questions with a changed twin that the passage does not answer
    twin: float = 0.12  # share whose change keeps them answerable
    elsewhere: float = 0.5  # share with a window or passage that does not contain the answer
    claim: float = 0.0  # share that also become a claim


RECIPES: Mapping[str, Recipe] = {
    "squad1_train_du_test44": Recipe(24_000, passes=2, look_alike=1.0, twin=0.2, elsewhere=0.5, claim=0.3),
    "quac_train": Recipe(22_000, look_alike=0.4, twin=0.1, elsewhere=0.8, claim=0.1),
    "narrativeqa_summary_spans": Recipe(6_000, elsewhere=0.7),
    "qamr_devtest": Recipe(8_000, per_passage=30, look_alike=0.8, claim=0.2),
    "policyqa_devtest": Recipe(4_000, look_alike=0.4, elsewhere=0.4),
    "tweetqa_spans_ni": Recipe(3_000, look_alike=0.5, elsewhere=0.3),
    "iirc_spans_ni": Recipe(2_700, look_alike=0.5, elsewhere=0.2),
    "friendsqa_devtest": Recipe(1_800, look_alike=0.4, elsewhere=0.7),
    "qasper_spans_ni": Recipe(1_000, look_alike=0.6, elsewhere=0.4),
}
NATURAL = {"quac_train": 12_000, "doqa_answerability_ni": 1_800, "iirc_spans_ni": 1_200}
HUMAN_LOOK_ALIKES = 4  # passes over the few that people wrote
BOOLEAN, MEDICAL, CLAIMS_OF_PASSAGES, CLOZES = 5_000, 8_000, 16_000, 5_000
HEADING_SHARE = 0.5  # share of the passages with a title that are read with it


class Pool:
    """Everything that generated examples draw from."""

    def __init__(self, folder: Path, neighbours: Mapping[str, Sequence[str]], seed: int) -> None:
        self.folder = folder
        self.chance = Random(seed)
        self.neighbours = neighbours
        self.by_set = {name: self._kept(name) for name in records.QUESTION_SETS}
        self.passages = {name: list(dict.fromkeys(q.passage for q in rows)) for name, rows in self.by_set.items()}
        found = {n for texts in self.passages.values() for text in texts[:1500] for n in names(text)[:6]}
        # Sorted: the order of a set of strings differs from run to run.
        self.names = sorted(name for name in found if 3 < len(name) < 30)
        self.elsewhere = Elsewhere(self.names, neighbours)

    def _kept(self, name: str) -> list[Question]:
        return [q for q in records.questions(self.folder, name) if not records.left_out(name, q.passage)]

    def heading(self, title: str) -> str:
        return title if title and self.chance.random() < HEADING_SHARE else ""


def stands_alone(question: Question) -> bool:
    """A first turn, or a later one whose words do not refer back."""
    if question.turn == 0:
        return True
    return len(question.text.split()) >= 4 and _BOUND.search(question.text) is None


@lru_cache(maxsize=50_000)
def long_words(text: str) -> frozenset[str]:
    return frozenset(word for word in words(text) if len(word) > 3)


def shared(question: str, passage: str) -> int:
    return len(long_words(question) & long_words(passage))


def near_passages(passages: Sequence[str], question: str, chance: Random, looked_at: int = 40) -> str:
    """Of a few random passages, the one that shares most words with the question."""
    drawn = chance.sample(passages, min(looked_at, len(passages)))
    return max(drawn, key=lambda passage: shared(question, passage))


# --- answerable questions --------------------------------------------------------------------------------------------


def answerable_groups(pool: Pool, name: str, recipe: Recipe, hard: Mapping[str, str]) -> Iterator[Group]:
    rows = [q for q in pool.by_set[name] if q.answerable and q.spans and stands_alone(q)]
    for _ in range(recipe.passes):
        seen: dict[str, int] = defaultdict(int)
        made = 0
        for question in pool.chance.sample(rows, len(rows)):
            seen[question.passage] += 1
            if seen[question.passage] <= recipe.per_passage and made < recipe.most // recipe.passes:
                made += 1
                yield question_group(pool, question, recipe, hard.get(question.key))


def question_group(pool: Pool, question: Question, recipe: Recipe, hard: str | None) -> Group:
    chance = pool.chance
    heading = pool.heading(question.title)
    of = Answered(question.text, question.passage, chance.choice(question.spans))
    right = Draft(question.set_name, of.question, of.passage, heading, of.span, YES, YES)
    group = [right]
    if chance.random() < recipe.twin:
        twin = make(of, pool.elsewhere, chance, TWINS, tried=1)
        if twin is not None:
            group[0] = replace(right, kind=twin.kind, question=twin.question, passage=twin.passage, span=twin.span)
    if chance.random() < recipe.look_alike:
        made = make(of, pool.elsewhere, chance, UNANSWERABLE)
        if made is not None:
            anchor = min(of.span[0], len(made.passage) - 1)
            group.append(Draft(made.kind, made.question, made.passage, heading, None, NO, UNKNOWN, anchor=anchor))
    if chance.random() < recipe.elsewhere:
        group += _elsewhere(pool, question, hard, heading)
    if chance.random() < recipe.claim:
        claim = from_question(of, chance)
        if claim is not None:
            group.append(claim_draft(claim, heading))
    return group


def _elsewhere(pool: Pool, question: Question, hard: str | None, heading: str) -> Group:
    """Another passage of the document, another part of a long passage, or a similar passage of the set."""
    if hard is not None:
        return [Draft("passage of the document", question.text, hard, heading, None, NO, NO)]
    part = _other_part(question, pool.chance)
    if part is not None:
        return [Draft("other part of the passage", question.text, part, heading, None, NO, NO)]
    other = near_passages(pool.passages[question.set_name], question.text, pool.chance)
    if other == question.passage:
        return []
    return [Draft("near passage of the set", question.text, other, "", None, NO, NO)]


def _other_part(question: Question, chance: Random, least: int = 500) -> str | None:
    """The part of a long passage before its first or after its last answer, whichever is long enough."""
    first, last = min(a for a, _ in question.spans), max(b for _, b in question.spans)
    margin = 120
    parts = [question.passage[: max(0, first - margin)], question.passage[last + margin :]]
    long = [part for part in parts if len(part) >= least]
    if not long:
        return None
    part = chance.choice(long)
    return part[part.find(" ") + 1 :]


# --- other questions -------------------------------------------------------------------------------------------------


def natural_groups(pool: Pool) -> Iterator[Group]:
    """Questions that people asked about a text that does not answer them."""
    for name, most in NATURAL.items():
        rows = [q for q in pool.by_set[name] if not q.answerable and (name != "quac_train" or stands_alone(q))]
        for question in pool.chance.sample(rows, min(most, len(rows))):
            anchor = _most_shared(question, pool.chance) if len(question.passage) > 800 else None
            yield [Draft(f"natural: {name}", question.text, question.passage, "", None, NO, UNKNOWN, anchor=anchor)]
    rows = [q for q in pool.by_set["doqa_answerability_ni"] if q.answerable]
    for question in rows:
        # The place of the answer is known for a few only; the passages are short.
        if len(question.passage) < 700:
            yield [Draft("doqa", question.text, question.passage, "", None, YES, YES)]


def _most_shared(question: Question, chance: Random) -> int | None:
    if chance.random() < 0.5:
        return None
    step = 400
    starts = range(0, len(question.passage), step)
    return max(starts, key=lambda at: shared(question.text, question.passage[at : at + 2 * step]))


def human_look_alikes(pool: Pool) -> Iterator[Group]:
    for _ in range(HUMAN_LOOK_ALIKES):
        for q in pool.by_set["squad2_train_10articles"]:
            yield [Draft("human look-alike", q.text, q.passage, pool.heading(q.title), None, NO, UNKNOWN)]


def boolean_groups(pool: Pool) -> Iterator[Group]:
    rows = pool.by_set["boolq_train_dev"]
    passages = pool.passages["boolq_train_dev"]
    for question in pool.chance.sample(rows, BOOLEAN):
        if len(question.passage) > 900:
            continue
        group = [Draft("boolq", question.text, question.passage, pool.heading(question.title), None, YES, YES)]
        other = near_passages(passages, question.text, pool.chance)
        if other != question.passage and pool.chance.random() < 0.7:
            group.append(Draft("near passage of the set", question.text, other, "", None, NO, NO))
        yield group


def medical_groups(pool: Pool) -> Iterator[Group]:
    rows = list(records.ranked(pool.folder))
    for row in pool.chance.sample(rows, min(MEDICAL, len(rows))):
        right = pool.chance.choice(row.right)
        wrong = pool.chance.sample(row.wrong, min(2, len(row.wrong)))
        group = [Draft("medquad", row.query, right, "", None, YES, YES, anchor=0)]
        group += [Draft("medquad, other section", row.query, text, "", None, NO, NO, anchor=0) for text in wrong]
        yield group


def cloze_groups(pool: Pool) -> Iterator[Group]:
    """A sentence as a query for the passage that it was removed from: people search with statements too."""
    passages = [text for name in ("squad1_train_du_test44", "quac_train") for text in pool.passages[name]]
    for passage in pool.chance.sample(passages, min(CLOZES, len(passages))):
        places = [(a, b) for a, b in sentences(passage) if 8 <= len(passage[a:b].split()) <= 30]
        if len(places) < 3:
            continue
        start, end = pool.chance.choice(places)
        query, rest = passage[start:end].strip(), f"{passage[:start].rstrip()} {passage[end:].lstrip()}".strip()
        other = near_passages(passages, query, pool.chance)
        if other != passage:
            right = Draft("cloze", query, rest, "", None, UNKNOWN, YES, anchor=min(start, len(rest) - 1))
            yield [right, Draft("cloze, near passage", query, other, "", None, UNKNOWN, NO)]


# --- claims ----------------------------------------------------------------------------------------------------------


def claim_draft(claim: MadeClaim, heading: str = "") -> Draft:
    return Draft(claim.kind, claim.text, claim.passage, heading, None, support=claim.label, anchor=claim.anchor)


def claim_groups(pool: Pool) -> Iterator[Group]:
    for name in records.CLAIM_SETS:
        for claim in records.claims(pool.folder, name):
            if not records.left_out(name, claim.passage):
                yield from _claim_of_set(claim)
    passages = [text for name in ("squad1_train_du_test44", "quac_train", "covidqa_passages", "boolq_train_dev")
                for text in pool.passages[name]]  # fmt: skip
    for passage in pool.chance.sample(passages, min(CLAIMS_OF_PASSAGES, len(passages))):
        made = from_passage(passage, pool.elsewhere, pool.chance)
        if made is not None:
            yield [claim_draft(made)]


def _claim_of_set(claim: records.Claim) -> Iterator[Group]:
    anchor = None
    passage = claim.passage
    if len(passage) > 900:
        # From a long document, only the part most similar to the claim is read, and only if it is similar enough.
        step = 400
        anchor = max(range(0, len(passage), step), key=lambda at: shared(claim.text, passage[at : at + 2 * step]))
        near = shared(claim.text, passage[anchor : anchor + 2 * step])
        asked = len(long_words(claim.text))
        if near < 0.55 * asked:
            return
    yield [Draft(claim.set_name, claim.text, passage, "", None, support=claim.label, anchor=anchor)]


def hard_passages(pool: Pool) -> dict[str, str]:
    """By question: the nearest other passage of its document, as the set gives it."""
    return {q.key.rsplit("-hn", 1)[0]: q.passage for q in pool.by_set["hardneg_same_document"]}


def public_groups(pool: Pool) -> Iterator[Group]:
    hard = hard_passages(pool)
    for name, recipe in RECIPES.items():
        yield from answerable_groups(pool, name, recipe, hard)
    for source in (natural_groups, human_look_alikes, boolean_groups, medical_groups, cloze_groups, claim_groups):
        yield from source(pool)
