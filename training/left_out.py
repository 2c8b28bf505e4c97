"""Measures a reader on sets that no training has seen, to choose the recipe.

Passages and questions of the left-out sets come in through `records` and `books`; figures with intervals go out:
natural and adversarial unanswerables, made look-alikes by kind, the right sentence, sections of unseen books, claims.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random

from . import records
from .book_groups import Shelf, heading_of, wrong_sections
from .book_questions import Verbs, from_headings, mined
from .lookalikes import TWINS, UNANSWERABLE, Answered, Elsewhere
from .measures import Figure, auroc_figure, mean_figure
from .mixture import stands_alone
from .reading import Asked, PassageReader, Reading
from .records import Question
from .texts import names, sentences
from .written import BOOKS, Places, answer_items, claim_items, evidence

OWN_LEFT_OUT = BOOKS.parent / "passages_left_out.jsonl"
Figures = dict[str, Figure]


def sign(reading: Reading) -> float:
    """One number for "this passage answers": both heads that can tell, with equal weight."""
    return reading.answerable + reading.margin / 2


def answerability(reader: PassageReader, rows: Sequence[Question], name: str) -> Figures:
    readings = reader.read([Asked(q.text, q.passage) for q in rows])
    labels = [q.answerable for q in rows]
    groups = [q.passage for q in rows]
    return {
        f"{name}: answerable, AUROC": auroc_figure([sign(r) for r in readings], labels, groups),
        f"{name}: answerable, head alone": auroc_figure([r.answerable for r in readings], labels, groups),
        f"{name}: answerable, span alone": auroc_figure([r.margin for r in readings], labels, groups),
    }


def sentence_hits(
    readings: Sequence[Reading], passages: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]]
) -> list[float]:
    """1 if the sentence that is chosen first contains the beginning of a right answer."""
    hits = []
    for reading, passage, right in zip(readings, passages, spans, strict=True):
        places = sentences(passage)
        scores = reading.sentence_scores(places)
        start, end = places[scores.index(max(scores))]
        hits.append(float(any(a < end and start < b for a, b in right)))
    return hits


def right_sentence(reader: PassageReader, rows: Sequence[Question], name: str) -> Figures:
    readings = reader.read([Asked(q.text, q.passage) for q in rows])
    passages = [q.passage for q in rows]
    hits = sentence_hits(readings, passages, [q.spans for q in rows])
    spans = [
        float(any(a < r.best[1] and r.best[0] < b for a, b in q.spans)) for q, r in zip(rows, readings, strict=True)
    ]
    return {
        f"{name}: right sentence": mean_figure(hits, passages),
        f"{name}: best span touches the answer": mean_figure(spans, passages),
    }


def made_look_alikes(reader: PassageReader, rows: Sequence[Question], name: str, elsewhere: Elsewhere) -> Figures:
    """Each kind of change separately, against the same questions unchanged."""
    chance = Random(5)
    asked, kinds, origin = [], [], []
    for number, q in enumerate(rows):
        of = Answered(q.text, q.passage, q.spans[0])
        changes = [c for c, _ in (*UNANSWERABLE, *TWINS)]
        made = [v for change in chance.sample(changes, 4) if (v := change(of, elsewhere, chance)) is not None]
        for variant in made[:2]:
            asked.append(Asked(variant.question, variant.passage))
            kinds.append(variant.kind)
            origin.append(number)
    plain = [sign(r) for r in reader.read([Asked(q.text, q.passage) for q in rows])]
    changed = [sign(r) for r in reader.read(asked)]
    figures = {}
    for kind in ("all", *sorted(set(kinds))):
        own = [at for at, one in enumerate(kinds) if one == kind or (kind == "all" and not one.startswith("twin"))]
        if len(own) >= 20:
            scores = plain + [changed[at] for at in own]
            labels = [True] * len(plain) + [False] * len(own)
            groups = [*range(len(plain)), *(origin[at] for at in own)]
            figures[f"{name}: made, {kind}"] = auroc_figure(scores, labels, groups)
    return figures


def unseen_books(reader: PassageReader, shelves: Sequence[Shelf], most: int) -> Figures:
    """Which of ten sections answers a heading's question, with the heading hidden; and which sentence a mined one."""
    chance = Random(6)
    first, gain, hits = [], [], []
    for shelf in shelves:
        verbs = Verbs(section.text for section in shelf.sections)
        asked = [q for q in from_headings(shelf.sections, verbs, chance) if len(q.text.split()) > 3]
        for question in chance.sample(asked, min(most, len(asked))):
            places = [question.section, *wrong_sections(shelf, question, chance, most=9)]
            parts = [shelf.sections[at] for at in places]
            readings = reader.read([Asked(question.text, s.text, heading_of(s, whole=False)) for s in parts])
            better = sum(r.relevance > readings[0].relevance for r in readings[1:])
            first.append(float(better == 0))
            gain.append(1 / (1 + better))
        rows = list(mined(shelf.sections, chance))
        for found in chance.sample(rows, min(most, len(rows))):
            section = shelf.sections[found.section]
            assert found.span is not None
            read = reader.read([Asked(found.text, section.text, heading_of(section, whole=True))])
            hits += sentence_hits(read, [section.text], [[found.span]])
    return {
        "unseen books: right section first of ten": mean_figure(first),
        "unseen books: reciprocal rank of the section": mean_figure(gain),
        "unseen books: right sentence": mean_figure(hits),
    }


def claims(reader: PassageReader, rows: Sequence[records.Claim], name: str) -> Figures:
    readings = reader.read([Asked(c.text, c.passage) for c in rows])
    labels = [c.label == "supported" for c in rows]
    return {
        f"{name}: supported, AUROC": auroc_figure([r.supported for r in readings], labels, [c.passage for c in rows])
    }


def own_passages(reader: PassageReader, path: Path, most: int) -> Figures:
    """Our own questions about passages of technical books that were left out: answered, or only seemingly."""
    groups = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rows = [row for group in groups for row in group if row["kind"] in ("passage, answered", "passage, not answered")]
    unique = list({(row["question"], row["passage"]): row for row in rows}.values())
    rows = Random(12).sample(unique, min(most, len(unique)))
    readings = reader.read([Asked(row["question"], row["passage"], row["heading"]) for row in rows])
    labels, passages = [row["answerable"] == 1 for row in rows], [row["passage"] for row in rows]
    touched = [
        float(row["span"][0] < reading.best[1] and reading.best[0] < row["span"][1])
        for row, reading in zip(rows, readings, strict=True)
        if row["answerable"] == 1
    ]
    return {
        "own questions: answered, AUROC": auroc_figure([sign(reading) for reading in readings], labels, passages),
        "own questions: best span touches the answer": mean_figure(touched),
    }


def own_claims(reader: PassageReader, data: Path, most: int) -> Figures:
    """Our own claims about passages that were left out, beside their evidence."""
    rows = [
        (claim, evidence(claim, texts), label)
        for texts, row in claim_items(Places(data), measured=True)
        for label in ("supported", "unsupported")
        for claim in row[label]
    ]
    rows = Random(13).sample(rows, min(most, len(rows)))
    readings = reader.read([Asked(claim, text) for claim, text, _ in rows])
    labels = [label == "supported" for _, _, label in rows]
    return {"own claims: supported, AUROC": auroc_figure([one.supported for one in readings], labels)}


def own_answers(reader: PassageReader, most: int) -> Figures:
    """Sentences of our own answers to questions that were left out, beside their evidence."""
    rows = [
        (text, evidence(text, passages), label)
        for passages, said in answer_items(measured=True)
        for text, label in said
    ]
    rows = Random(15).sample(rows, min(most, len(rows)))
    readings = reader.read([Asked(text, told) for text, told, _ in rows])
    labels = [label for _, _, label in rows]
    return {"own answers: supported, AUROC": auroc_figure([one.supported for one in readings], labels)}


def drawn(rows: list[Question], most: int) -> list[Question]:
    return Random(7).sample(rows, min(most, len(rows)))


def measure(reader: PassageReader, data: Path, shelves: Sequence[Shelf], elsewhere: Elsewhere, share: float) -> Figures:
    """`share` is the part of the full size: short runs are compared on less."""
    folder = data / "reader_train"

    def size(number: int) -> int:
        return max(40, int(number * share))

    def questions(name: str) -> list[Question]:
        return [q for q in records.questions(folder, name) if records.left_out(name, q.passage)]

    def of_claims(name: str, most: int) -> list[records.Claim]:
        rows = [c for c in records.claims(folder, name) if records.left_out(name, c.passage)]
        return Random(8).sample(rows, min(most, len(rows)))

    quac = [q for q in questions("quac_train") if stands_alone(q)]
    natural = drawn([q for q in quac if not q.answerable], size(800)) + drawn(
        [q for q in quac if q.answerable], size(800)
    )
    covid, qed = questions("covidqa_passages"), [q for q in questions("qed_nq_dev") if q.spans]
    figures = answerability(reader, drawn(questions("adversarialqa_answerability_ni"), size(2_600)), "AdversarialQA")
    figures |= answerability(reader, drawn(questions("doqa_answerability_ni"), size(1_800)), "DoQA")
    figures |= answerability(reader, natural, "QuAC")
    figures |= right_sentence(reader, drawn([q for q in quac if q.answerable and q.spans], size(800)), "QuAC")
    figures |= right_sentence(reader, drawn(covid, size(1_100)), "COVID-QA")
    figures |= right_sentence(reader, drawn(qed, size(1_300)), "QED")
    figures |= made_look_alikes(reader, drawn(qed, size(700)) + drawn(covid, size(300)), "QED, COVID-QA", elsewhere)
    figures |= unseen_books(reader, shelves, size(250))
    figures |= claims(reader, of_claims("foolmetwice_devtest", size(2_500)), "FoolMeTwice")
    figures |= claims(reader, of_claims("summedits", size(900)), "SummEdits")
    figures |= own_passages(reader, OWN_LEFT_OUT, size(2_400))
    figures |= own_claims(reader, data, size(2_400))
    figures |= own_answers(reader, size(2_400))
    return figures


def names_of(rows: Sequence[Question]) -> list[str]:
    return sorted({name for q in rows for name in names(q.passage)[:4]})


__all__ = ["Figures", "measure", "names_of", "sentence_hits", "sign"]
