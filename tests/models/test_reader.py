"""The reader on onnxruntime: its forward pass against one written out in numpy, windows, damage, and independence."""

from __future__ import annotations

import asyncio
import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from quoth.domain import ReadingTask
from quoth.errors import InternalError, ModelFilesUnavailable
from quoth.models import reader, reader_graph
from quoth.models.minilm_graph import POSITIONS
from quoth.models.reader import MOST_HEADING, MOST_QUESTION, PassageReader, find_reader_dir
from quoth.models.reader_graph import PRODUCTS, ReaderModel, ReaderWeights, Window
from quoth.models.reader_window import FIRST_WORD, MARKS, WINDOW, kept, rarity, window_of
from reader_files import embedder_tensors, made_layers, write_reader

ROOT = Path(__file__).parents[2]
QUESTION = "Which durability keeps the last message?"
PASSAGE = "A topic carries messages. Transient local durability keeps the last message for late subscribers."
Array = NDArray[np.float64]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    return write_reader(tmp_path_factory.mktemp("reader"))


@pytest.fixture
def folder(made: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(reader, "WEIGHTS_SHA256", made[1])
    return made[0]


def norm(state: Array, weight: Array, bias: Array) -> Array:
    centred = state - state.mean(-1, keepdims=True)
    normed: Array = centred / np.sqrt(state.var(-1, keepdims=True) + 1e-12) * weight + bias
    return normed


def forward(window: Window, ranges: dict[str, Array] | None = None) -> dict[str, Array]:
    """The whole network in double precision, straight from the paper. Notes how large each channel becomes."""
    taken_by = {linear: source for source, linears in PRODUCTS.items() for linear in linears}
    w = {name: tensor.astype(np.float64) for name, tensor in {**embedder_tensors(), **made_layers()}.items()}
    ids, length = np.array(window.ids), len(window.ids)
    types = (np.arange(length) >= window.passage).astype(int)
    state = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][:length]
    state = state + w["embeddings.token_type_embeddings.weight"][types]
    state = norm(state, w["embeddings.LayerNorm.weight"], w["embeddings.LayerNorm.bias"])
    erf = np.vectorize(math.erf)

    def linear(source: Array, name: str) -> Array:
        if ranges is not None and name in taken_by:
            ranges[taken_by[name]] = np.abs(source).max(axis=0)
        product: Array = source @ w[f"{name}.weight"].T + w[f"{name}.bias"]
        return product

    for number in range(6):
        layer = f"encoder.layer.{number}"
        parts = [linear(state, f"{layer}.attention.self.{part}") for part in ("query", "key", "value")]
        query, key, value = (part.reshape(length, 12, 32).transpose(1, 0, 2) for part in parts)
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(32)
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        context = (shares / shares.sum(-1, keepdims=True)) @ value
        mixed = linear(context.transpose(1, 0, 2).reshape(length, 384), f"{layer}.attention.output.dense")
        near = f"{layer}.attention.output.LayerNorm"
        state = norm(mixed + state, w[f"{near}.weight"], w[f"{near}.bias"])
        inner = linear(state, f"{layer}.intermediate.dense")
        inner = inner * 0.5 * (1 + erf(inner / math.sqrt(2)))
        far = f"{layer}.output.LayerNorm"
        state = norm(linear(inner, f"{layer}.output.dense") + state, w[f"{far}.weight"], w[f"{far}.bias"])
    means = state[1 : window.asked].mean(axis=0), state[window.passage :].mean(axis=0)
    pooled = np.tanh(linear(np.concatenate(means), "heads.pool"))
    heads = {name: linear(pooled, f"heads.{name}") for name in ("answerable", "relevance", "support")}
    return {"span": linear(state, "heads.span"), **heads}


def a_window() -> Window:
    dice = np.random.default_rng(3)
    return Window(
        [101, *dice.integers(1000, 20000, 9).tolist(), 102, 102, *dice.integers(1000, 20000, 40).tolist(), 102], 10, 12
    )


def test_the_forward_pass_is_that_of_the_network() -> None:
    window = a_window()
    wanted = forward(window)
    heads = ReaderModel(ReaderWeights(made_layers(), embedder_tensors(), {})).read(window)
    assert np.abs(heads.span - wanted["span"]).max() < 1e-4
    assert heads.answerable == pytest.approx(float(wanted["answerable"][0]), abs=1e-4)
    assert heads.relevance == pytest.approx(float(wanted["relevance"][0]), abs=1e-4)
    assert heads.support == pytest.approx(wanted["support"].tolist(), abs=1e-4)


def test_eight_bits_say_nearly_the_same() -> None:
    window = a_window()
    seen: dict[str, Array] = {}
    forward(window, seen)
    ranges = {name: largest.astype(np.float32) for name, largest in seen.items()}
    assert set(ranges) == set(PRODUCTS)
    single = ReaderModel(ReaderWeights(made_layers(), embedder_tensors(), {})).read(window)
    rounded = ReaderModel(ReaderWeights(made_layers(), embedder_tensors(), ranges)).read(window)
    assert rounded.answerable == pytest.approx(single.answerable, abs=0.1)
    assert np.corrcoef(single.span.ravel(), rounded.span.ravel())[0, 1] > 0.98
    assert rounded.answerable != single.answerable


def test_the_committed_graphs_are_those_of_the_script() -> None:
    spec = importlib.util.spec_from_file_location("graphs", ROOT / "scripts" / "build_graphs.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    for path in (reader_graph.GRAPH, reader_graph.GRAPH8):
        assert path.read_bytes() == script.GRAPHS[path.name]().SerializeToString(deterministic=True)
        assert path.stat().st_size < 64_000


async def test_a_reading_does_not_depend_on_what_is_read_beside_it(folder: Path) -> None:
    tasks = [ReadingTask(QUESTION, PASSAGE, "Durability"), ReadingTask(QUESTION, "Nothing of this.", "Timing")]
    tasks += [ReadingTask(f"Question {number}?", f"{PASSAGE} " * number) for number in range(1, 12)]
    several = PassageReader(folder)
    together = await several.read(tasks)
    alone = [(await several.read([task]))[0] for task in tasks]
    at_once = await asyncio.gather(*(several.read([task]) for task in tasks))
    await several.close()
    assert together == alone == [readings[0] for readings in at_once]


async def test_places_are_those_of_the_passage(folder: Path) -> None:
    one = PassageReader(folder)
    (reading,) = await one.read([ReadingTask(QUESTION, PASSAGE)])
    await one.close()
    assert [PASSAGE[a:b] for a, b in reading.places[:4]] == ["A", "topic", "carries", "messages"]
    assert 0 <= reading.start < reading.end <= len(PASSAGE)
    assert reading.share(0, len(PASSAGE)) == pytest.approx(sum(reading.weights))
    assert 0 < reading.share(0, len(PASSAGE)) <= 1.01
    assert reading.share(0, 0) == 0


@pytest.mark.parametrize("before", [0, 150, 400])
async def test_of_a_long_passage_the_part_with_the_question_s_words_is_read(folder: Path, before: int) -> None:
    fill = "The river and the hill were there for all of the day. "
    long = fill * (before // 13) + PASSAGE + " " + fill * ((400 - before) // 13)
    one = PassageReader(folder)
    (reading,) = await one.read([ReadingTask(QUESTION, long, room=120)])
    (whole,) = await one.read([ReadingTask(QUESTION, long)])
    await one.close()
    seen = long[reading.places[0][0] : reading.places[-1][1]]
    assert PASSAGE in seen
    assert (len(reading.places), len(whole.places)) == (120, WINDOW)
    assert list(reading.places) == sorted(set(reading.places))
    assert reading.places[0][0] <= reading.start < reading.end <= reading.places[-1][1]


async def test_marks_are_not_read_and_places_stay_those_of_the_passage(folder: Path) -> None:
    one = PassageReader(folder)
    text = "## `Topics`\n\n.. note::\n\n   A **topic** carries 10.0 `std_msgs`_ --- [more](/a)."
    (reading,) = await one.read([ReadingTask(QUESTION, text, "`Topics`")])
    words = "Topics. note: A topic carries 10.0 std msgs more (a)."
    (plain,) = await one.read([ReadingTask(QUESTION, words, "Topics")])
    await one.close()
    said = "Topics . note : A topic carries 10 . 0 st d ms gs more ( a ) ."
    assert [text[a:b] for a, b in reading.places] == said.split()
    assert (reading.answerable, reading.margin) == (plain.answerable, plain.margin)


@given(st.lists(st.integers(999, 1_100), max_size=60))
def test_words_and_numbers_are_kept_and_marks_and_repeated_dots_are_not(tokens: list[int]) -> None:
    places = kept(tokens)
    assert places == sorted(places)
    assert [tokens[at] for at in places if tokens[at] > 1066] == [token for token in tokens if token > 1066]
    assert not MARKS & {tokens[at] for at in places}
    assert kept([tokens[at] for at in places]) == list(range(len(places)))
    assert kept([1012, 1012, 1014, 1014, 1008]) == [0, 2, 3]  # ..00*


async def test_a_long_question_leaves_less_room_for_the_passage(folder: Path) -> None:
    one = PassageReader(folder)
    question, heading = "What does the robot measure? " * 20, "A very long heading " * 10
    (reading,) = await one.read([ReadingTask(question, "The lidar measures distances. " * 100, heading)])
    await one.close()
    assert 3 + MOST_QUESTION + MOST_HEADING + len(reading.places) + 1 == POSITIONS


async def test_odd_texts_are_read_too(folder: Path) -> None:
    one = PassageReader(folder)
    readings = await one.read(
        [ReadingTask("", ""), ReadingTask("?" * 5_000, "\ud83d 🤖 多久 ۔"), ReadingTask("a", " \n")]
    )
    assert await one.read([]) == []
    await one.close()
    assert all(math.isfinite(reading.answerable) for reading in readings)
    assert (readings[0].places, readings[0].share(0, 10)) == ((), 0)


async def test_files_that_are_missing_or_damaged_are_named(folder: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    content = bytearray((folder / reader.WEIGHTS).read_bytes())
    content[-7] ^= 1
    (damaged / reader.WEIGHTS).write_bytes(content)
    for place, says in ((damaged, "damaged or from another version"), (tmp_path / "nowhere", "cannot be read")):
        one = PassageReader(place)
        with pytest.raises(ModelFilesUnavailable, match=says):
            await one.load()
        await one.close()


async def test_a_closed_reader_says_so(folder: Path) -> None:
    one = PassageReader(folder)
    await one.close()
    with pytest.raises(InternalError, match="closed"):
        await one.read([ReadingTask(QUESTION, PASSAGE)])


def test_without_the_wheel_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "find_spec", lambda name: None)
    assert find_reader_dir() is None


VECTORS = np.random.default_rng(0).normal(size=(30_522, 64)).astype(np.float32)  # no two words are alike


@given(st.lists(st.integers(999, 30_521), max_size=12), st.lists(st.integers(999, 30_521), max_size=400))
def test_one_window_is_read_and_no_other_has_more_of_the_question(question: list[int], passage: list[int]) -> None:
    start, end = window_of(question, passage, VECTORS)
    assert 0 <= start <= end <= len(passage)
    assert end - start == min(WINDOW, len(passage))
    sought = [token for token in set(question) & set(passage) if rarity(token) > 0]
    assert len(passage) <= WINDOW or not sought or set(sought) & set(passage[start:end])


def test_rare_words_say_where_the_answer_is_and_common_ones_do_not() -> None:
    the, what, robot, node = 1996, 2054, 8957, 13045
    assert rarity(node) > rarity(robot) > rarity(FIRST_WORD + 200) > rarity(what) == rarity(the) == 0
    passage = [the, what] * 100 + [node] + [the, what] * 100
    start, end = window_of([what, the, robot, node], passage, VECTORS)
    assert node in passage[start:end]
    assert abs((start + end) / 2 - passage.index(node)) <= 8


def test_a_word_like_the_one_that_is_asked_for_says_where_the_answer_is() -> None:
    the, remove, delete = 1996, 6366, 18012
    vectors = VECTORS.copy()
    vectors[delete] = vectors[remove] + 0.3 * vectors[delete]
    passage = [the] * 300 + [delete] + [the] * 100
    start, end = window_of([remove], passage, vectors)
    assert delete in passage[start:end]
    assert window_of([remove], passage, VECTORS) == (0, WINDOW)
