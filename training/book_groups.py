"""Training groups from technical books: a question, the section that answers it, and sections that do not.

Sections and mined questions come in, groups of drafts go out. Wrong sections are the neighbours on the page and the
sections of the book that share most words with the question, as a search would find them. A heading that became the
question is mostly removed from the section's path, because it would give the answer away. Pure Python.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

from .book_questions import Mined, Verbs, from_headings, mined
from .books import LEFT_OUT, Section, books, sections
from .drafts import NO, UNKNOWN, YES, Draft, Group
from .lookalikes import UNANSWERABLE, Answered, Elsewhere, make
from .made_claims import from_passage
from .mixture import claim_draft
from .overlap import Evaluated, words

PASSES = 2
HEADING_KEPT = 0.35
LOOK_ALIKE, CLAIM = 0.7, 0.25


class Shelf:
    """The sections of one book, and which of them share words with a question."""

    def __init__(self, found: list[Section]) -> None:
        self.sections = found
        self._holding: dict[str, list[int]] = defaultdict(list)
        for at, section in enumerate(found):
            for word in set(words(" ".join(section.path[-2:]) + " " + section.text)):
                self._holding[word].append(at)
        self.pages: dict[str, list[int]] = defaultdict(list)
        for at, section in enumerate(found):
            self.pages[section.page].append(at)

    def nearest(self, question: str, most: int) -> list[int]:
        scores: Counter[int] = Counter()
        for word in set(words(question)):
            held = self._holding.get(word, [])
            if 0 < len(held) < len(self.sections) / 3:
                weight = math.log(len(self.sections) / len(held))
                for at in held:
                    scores[at] += weight / math.sqrt(30 + len(self.sections[at].text) / 6)  # type: ignore[assignment]
        return [at for at, _ in scores.most_common(most)]


def read_shelves(folder: Path, evaluated: Evaluated, *, left_out: bool) -> list[Shelf]:
    shelves = []
    for path in books(folder):
        if (path.name.removesuffix(".tar.gz") in LEFT_OUT) is left_out:
            shelves.append(Shelf([section for section in sections(path) if not evaluated.holds(section.text)]))
    return shelves


def wrong_sections(shelf: Shelf, question: Mined, chance: Random, most: int = 2) -> list[int]:
    own = shelf.sections[question.section]
    same = own.path[-1].lower()
    page = [at for at in shelf.pages[own.page] if at != question.section]
    near = [at for at in shelf.nearest(question.text, 6) if at != question.section]
    drawn = chance.sample(page, min(1, len(page))) + chance.sample(near, min(most, len(near)))
    # A copy of the page under another name is not a wrong section.
    fitting = [at for at in dict.fromkeys(drawn) if shelf.sections[at].path[-1].lower() != same]
    return fitting[:most]


def heading_of(section: Section, *, whole: bool) -> str:
    return " > ".join(section.path if whole else section.path[:-1])


def section_group(shelf: Shelf, question: Mined, elsewhere: Elsewhere, chance: Random) -> Group:
    own = shelf.sections[question.section]
    from_heading = question.span is None
    whole = not from_heading or chance.random() < HEADING_KEPT
    kind = "book heading" if from_heading else "book sentence"
    heading = heading_of(own, whole=whole)
    group = [Draft(kind, question.text, own.text, heading, question.span, YES, YES, anchor=0)]
    for at in wrong_sections(shelf, question, chance):
        other = shelf.sections[at]
        # A near section may hold an answer too: it ranks lower, but only a neighbour is certain not to answer.
        sure = other.page == own.page or from_heading
        answerable = NO if sure else UNKNOWN
        wrong = heading_of(other, whole=whole)
        group.append(Draft(f"{kind}, other section", question.text, other.text, wrong, None, answerable, NO, anchor=0))
    if question.span is not None and chance.random() < LOOK_ALIKE:
        made = make(Answered(question.text, own.text, question.span), elsewhere, chance, UNANSWERABLE)
        if made is not None:
            anchor = min(question.span[0], len(made.passage) - 1)
            look = Draft(f"book: {made.kind}", made.question, made.passage, heading, None, NO, UNKNOWN, anchor=anchor)
            group.append(look)
    return group


def terms_of(shelf: Shelf) -> list[str]:
    """Short headings: the names of things in this book."""
    return sorted({s.path[-1].strip("`") for s in shelf.sections if 1 <= len(s.path[-1].split()) <= 3})


def book_groups(shelves: list[Shelf], elsewhere: Elsewhere, chance: Random) -> Iterator[Group]:
    verbs = Verbs(section.text for shelf in shelves for section in shelf.sections)
    for _ in range(PASSES):
        for shelf in shelves:
            own = Elsewhere(terms_of(shelf), elsewhere.neighbours)
            questions = [*from_headings(shelf.sections, verbs, chance), *mined(shelf.sections, chance)]
            for question in questions:
                group = section_group(shelf, question, own, chance)
                made = from_passage(shelf.sections[question.section].text, own, chance)
                if made is not None and chance.random() < CLAIM:
                    draft = claim_draft(made, heading_of(shelf.sections[question.section], whole=True))
                    group.append(replace(draft, kind=f"book: {made.kind}"))
                yield group
