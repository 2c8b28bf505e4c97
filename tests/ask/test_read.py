"""The best passages are read with the question in mind, and sorted again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.ask.calibration import Calibration, Logistic, Order
from quoth.ask.find import Retriever
from quoth.ask.fuse import Scored
from quoth.ask.judge import READ as READ_FEATURES
from quoth.ask.judge import ConfidenceOptions, features, judge
from quoth.ask.read import READ, ROOM, Remembering, asks, in_order, with_signs
from quoth.domain import Evidence, Reading, ReadingTask
from quoth.testing.embedder import FakeEmbedder
from small_index import an_index

ORDER = Order(weight=0.05, unread=-1.0)
TEXTS = {f"lidar-{number}": f"Lidar number {number} measures distance with light." for number in range(8)}


def reading(said: float) -> Reading:
    """Both heads that judge whether it is answered say the same."""
    return Reading(said, relevance=0.0, supported=0.0, margin=2 * said, start=0, end=0)


def scored(key: str, score: float) -> Scored:
    return Scored(key, None, None, None, None, cosine=0.0, words=0.0, score=score)


class ScriptedReader:
    """Finds the answer in the passage that has the number."""

    name = "scripted"

    def __init__(self, number: int) -> None:
        self.number = number
        self.tasks: list[ReadingTask] = []

    async def load(self) -> None: ...

    async def read(self, tasks: Sequence[ReadingTask]) -> list[Reading]:
        self.tasks += tasks
        return [reading(6.0 if f"number {self.number} " in task.passage else -6.0) for task in tasks]

    async def close(self) -> None: ...


def test_a_passage_that_answers_rises() -> None:
    ranked = in_order([scored("a", 0.5), scored("b", 0.4)], {"a": reading(-3.0), "b": reading(3.0)}, ORDER)
    assert [one.key for one in ranked] == ["b", "a"]


@given(st.lists(st.tuples(st.floats(0, 1), st.none() | st.floats(-50, 50)), max_size=8))
def test_what_was_read_comes_first_and_scores_fall(given_: list[tuple[float, float | None]]) -> None:
    read = [(score, said) for score, said in given_ if said is not None]
    unread = sorted((score for score, said in given_ if said is None), reverse=True)
    one_by_one = [scored(str(at), score) for at, score in enumerate([*(score for score, _ in read), *unread])]
    readings = {str(at): reading(said) for at, (_, said) in enumerate(read)}
    ranked = in_order(one_by_one, readings, ORDER)
    assert {one.key for one in ranked[: len(read)]} == set(readings)
    assert [one.score for one in ranked] == sorted((one.score for one in ranked), reverse=True)


def test_one_reading_cannot_outweigh_everything() -> None:
    assert with_signs([0.5, 0.1], [-6.0, 6.0], Order(0.02, -1.0)) == pytest.approx([0.475, 0.22])
    far, near = (
        in_order([scored("a", 0.0)], {"a": reading(1e9)}, ORDER),
        in_order([scored("a", 0.0)], {"a": reading(6.0)}, ORDER),
    )
    assert far == near


def test_readings_that_see_no_answer_anywhere_leave_the_order_as_it_was() -> None:
    found = [scored("a", 0.5), scored("b", 0.4), scored("c", 0.3)]
    none = {"a": reading(-5.0), "b": reading(-2.0), "c": reading(-1.5)}
    assert [one.key for one in in_order(found, none, Order(1.0, -6.0))] == ["a", "b", "c"]
    seen = none | {"b": reading(0.0)}
    assert [one.key for one in in_order(found, seen, Order(1.0, -6.0))] == ["b", "a", "c"]


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("What is a topic?", True),
        ("who got the first nobel prize in physics", True),
        ("the highest mountain is called what", True),
        ("Is it possible to record a bag", True),
        ("Vitamin D lowers the risk of fractures.", False),
        ("lidar distance", False),
        ("", False),
    ],
)
def test_a_question_is_told_from_a_statement(query: str, asked: bool) -> None:
    assert asks(query) is asked


async def find(reader: ScriptedReader | None, query: str = "What does lidar measure?", limit: int = 8) -> Evidence:
    embedder = FakeEmbedder()
    retriever = Retriever(await an_index(embedder, TEXTS), embedder, reader=reader)
    return await retriever.find(query, book_id="book", limit=limit)


async def test_the_best_few_are_read_with_their_heading_and_carry_what_was_read() -> None:
    reader = ScriptedReader(3)
    evidence = await find(reader)
    assert [task.question for task in reader.tasks] == ["What does lidar measure?"] * READ
    assert [task.room for task in reader.tasks] == sorted(ROOM, reverse=True)  # most of the best one
    assert [passage.reading is not None for passage in evidence.passages] == [True] * READ + [False] * 3
    assert [passage.chunk.text for passage in evidence.passages[:READ]] == [task.passage for task in reader.tasks]


async def test_passages_are_read_with_the_whole_question_of_a_follow_up() -> None:
    embedder, reader = FakeEmbedder(), ScriptedReader(3)
    retriever = Retriever(await an_index(embedder, TEXTS), embedder, reader=reader)
    await retriever.find("measure lidar", book_id="book", phrase="What does a lidar measure?")
    assert {task.question for task in reader.tasks} == {"What does a lidar measure?"}


async def test_the_order_follows_the_reading_where_numbers_were_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = Calibration(Logistic(0.0, {"score": 1.0}), Logistic(0.0), 0.2, 0.5, 0.8, order=ORDER)
    monkeypatch.setattr("quoth.ask.find.calibration_for", lambda embedder, reader="": fitted)
    last = (await find(None)).passages[READ - 1].chunk
    number = int(last.text.split()[2])
    assert (await find(ScriptedReader(number))).passages[0].chunk == last
    statement = await find(ScriptedReader(number), query="lidar distance")
    assert statement.passages[0].chunk != last


async def test_the_judge_weighs_what_was_read_only_where_something_was() -> None:
    read, unread = await find(ScriptedReader(3)), await find(None)
    assert set(READ_FEATURES) <= set(features(read))
    assert set(READ_FEATURES) - set(features(unread)) == {"read", "first_read"}
    own = Calibration(Logistic(0.0), Logistic(0.0, {"read": 1.0}), 0.2, 0.5, 0.8)
    options = ConfidenceOptions(own=own)
    bent = 5 * math.tanh(6.0 / 5)  # log odds of 6 count for less than twice those of 3
    assert judge(read, options).confidence == pytest.approx(1 / (1 + math.exp(-bent)))
    assert judge(unread, options).basis is not None
    assert "read" not in judge(unread, options).basis.weights  # type: ignore[union-attr]


async def test_the_judge_knows_the_best_reading_and_that_of_the_first_passage() -> None:
    passages = (await find(ScriptedReader(3))).passages
    low, high = (replace(passages[0], reading=reading(said)) for said in (-1.0, 2.0))
    seen = features(Evidence("What does lidar measure?", (low, high), 2))
    assert seen["first_read"] == pytest.approx(5 * math.tanh(-1.0 / 5))
    assert seen["read"] == pytest.approx(5 * math.tanh(2.0 / 5))


async def test_a_passage_that_is_remembered_is_read_once_for_a_question_and_again_for_another() -> None:
    inner = ScriptedReader(3)
    remembering = Remembering(inner)
    tasks = [ReadingTask("Which lidar?", text) for text in TEXTS.values()]
    first = await remembering.read(tasks[:4])
    second = await remembering.read([*tasks[2:], tasks[2]])
    assert inner.tasks == tasks
    assert [*first, *second[2:-1]] == await inner.read(tasks)
    assert second[-1] == second[0] == first[2]
    other = ReadingTask("What is a lidar?", tasks[0].passage)
    await remembering.read([other])
    assert inner.tasks[-1] == other


async def test_of_readings_only_the_last_hundred_are_remembered() -> None:
    inner = ScriptedReader(3)
    remembering = Remembering(inner)
    tasks = [ReadingTask("Which lidar?", f"Lidar {number}") for number in range(101)]
    for task in tasks:
        await remembering.read([task])
    await remembering.read(tasks[1:])
    assert inner.tasks == tasks
    await remembering.read(tasks[:1])
    assert inner.tasks == [*tasks, tasks[0]]


async def test_a_retriever_that_remembers_finds_the_same_and_reads_each_passage_once() -> None:
    embedder, reader = FakeEmbedder(), ScriptedReader(3)
    plain = Retriever(await an_index(embedder, TEXTS), embedder, reader=reader)
    wanted = await plain.find("lidar distance", book_id="book", limit=10)
    reader.tasks.clear()
    remembering = plain.remembering()
    for _ in range(2):
        assert await remembering.find("lidar distance", book_id="book", limit=10) == wanted
    assert len(reader.tasks) == READ
