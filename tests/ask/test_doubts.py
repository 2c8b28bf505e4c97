"""Sentences that words leave in doubt: they alone are read, before a gate decides on them and before the last check."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest

from quoth.ask.check import GroundingPolicy
from quoth.ask.doubts import Doubts
from quoth.ask.evidence import MOST, evidence
from quoth.ask.grounds import Source, analyse
from quoth.ask.support import fitted, support
from quoth.ask.writing import Writing
from quoth.domain import Passage, Reading, ReadingTask
from samples import chunk

SAID = "Whenever nobody listens, messages wait in the bridge until a subscriber asks for translating them."
PAGES = (
    "The bridge connects two middlewares. It translates each message when somebody subscribes.",
    "Translating costs time. A lazy bridge saves work while nobody listens.",
)
CLEAR = "The bridge connects two middlewares."
INVENTED = "Bananas cost 17 dollars in warm countries."


class Reader:
    """Believes or disbelieves everything, and notes what it was given."""

    def __init__(self, supported: float, name: str = "") -> None:
        self.tasks: list[ReadingTask] = []
        self.name = name or fitted().reader
        self._supported = supported

    async def load(self) -> None: ...

    async def read(self, tasks: Sequence[ReadingTask]) -> list[Reading]:
        self.tasks += tasks
        return [Reading(0.0, 0.0, self._supported, 0.0, 0, 0) for _ in tasks]

    async def close(self) -> None: ...


def held() -> list[Source]:
    return [analyse(chunk(page)) for page in PAGES]


def passages() -> tuple[Passage, ...]:
    return tuple(Passage(chunk(page, start=200 * n), score=0.5, similarity=0.5) for n, page in enumerate(PAGES))


def test_what_words_prove_or_disprove_is_not_asked_about() -> None:
    doubts = Doubts()
    asked: list[str] = []

    def said(claim: str, of: Sequence[Source]) -> float | None:
        asked.append(claim)
        return doubts.said(claim, of)

    for claim in (CLEAR, "The bridge connects 17 middlewares.", SAID):
        support(claim, held(), said=said)
    assert asked == [SAID]


async def test_a_reading_decides_where_words_leave_a_doubt() -> None:
    found = {}
    for odds in (-6.0, 6.0):
        doubts = Doubts()
        assert not support(SAID, held(), said=doubts.said).read
        await doubts.settle(Reader(odds))
        found[odds] = support(SAID, held(), said=doubts.said)
    assert all(one.read for one in found.values())
    assert found[-6.0].score < found[6.0].score
    assert (found[-6.0].is_enough, found[6.0].is_enough) == (False, True)


async def test_a_reader_that_the_numbers_were_not_fitted_to_is_not_asked() -> None:
    doubts, reader = Doubts(), Reader(6.0, "another")
    support(SAID, held(), said=doubts.said)
    await doubts.settle(reader)
    assert reader.tasks == []
    assert not support(SAID, held(), said=doubts.said).read


async def test_nothing_is_read_twice() -> None:
    doubts, reader = Doubts(), Reader(6.0)
    for _ in range(3):
        support(SAID, held(), said=doubts.said)
        await doubts.settle(reader)
    assert len(reader.tasks) == 1


async def written(reader: Reader | None, policy: GroundingPolicy, cuts: Sequence[int]) -> tuple[str, Writing]:
    text = f"{CLEAR} [1] {SAID} [1][2] {INVENTED} [2]"
    writing = Writing(passages(), "When does the bridge translate?", policy)
    out = []
    for start, end in pairwise([0, *cuts, len(text)]):
        await writing.look_ahead(text[start:end], reader)
        out.append(writing.feed(text[start:end]))
    await writing.look_ahead("", reader, last=True)
    out.append(writing.finish())
    await writing.settle(reader)
    return "".join(out), writing


@pytest.mark.parametrize("cuts", [(), (20, 60, 90, 140), tuple(range(5, 150, 5))])
async def test_strict_keeps_or_drops_a_sentence_as_it_was_read(cuts: Sequence[int]) -> None:
    believed, _ = await written(Reader(6.0), "strict", cuts)
    doubted, _ = await written(Reader(-6.0), "strict", cuts)
    assert SAID in believed
    assert SAID not in doubted
    assert CLEAR in doubted
    assert INVENTED not in believed + doubted


@pytest.mark.parametrize(("odds", "supported"), [(6.0, True), (-6.0, False)])
async def test_the_last_check_knows_what_was_read(odds: float, supported: bool) -> None:
    reader = Reader(odds)
    text, writing = await written(reader, "mark", ())
    _, grounding = writing.so_far()
    by_text = {one.text.split(" [")[0]: one.supported for one in grounding.sentences}
    assert by_text == {CLEAR: True, SAID: supported, INVENTED: False}
    assert SAID in text
    assert SAID in [task.question for task in reader.tasks]


async def test_without_a_reader_words_decide() -> None:
    _, writing = await written(None, "mark", ())
    _, grounding = writing.so_far()
    assert [one.supported for one in grounding.sentences][0::2] == [True, False]


def test_evidence_holds_the_sentences_of_several_passages_in_their_order() -> None:
    said = "A lazy bridge saves work and translates when somebody subscribes."
    filler = [f"Chapter {n} is about something else entirely, with many words of its own." for n in range(40)]
    text = evidence(said, [" ".join([*filler, PAGES[0]]), " ".join([PAGES[1], *filler])])
    assert "translates each message when somebody subscribes" in text
    assert "A lazy bridge saves work" in text
    assert text.index("somebody subscribes") < text.index("A lazy bridge")
    assert len(text.split()) <= MOST


def test_evidence_of_a_claim_that_shares_nothing_is_the_first_passage() -> None:
    assert evidence("Xylophones", list(PAGES)) == PAGES[0]
    assert evidence("Xylophones", []) == ""
