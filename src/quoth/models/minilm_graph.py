"""MiniLM's forward pass on onnxruntime. In: token ids of texts. Out: a unit vector for each text.

The graph is the committed minilm.onnx, which holds no weights (scripts/build_graphs.py). They are attached from the
mapped file that `minilm` has checked. The texts of a batch are laid end to end; each counts positions from its own
first token and sees no other text. So nothing is padded, whatever their lengths, and one pass over the weights serves
all. Knows nothing about tokenizers and threads.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quoth.domain import Vector
from quoth.models.runtime import load_onnxruntime

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

GRAPH = Path(__file__).with_name("minilm.onnx")
# The model was made for 256 word pieces; [CLS] and [SEP] take two.
POSITIONS = 256
LAYERS = 6
SPIN_MICROSECONDS = "100"
# Added to the attention between tokens of different texts; the exponential makes it zero.
APART = -10_000.0


_KINDS = {"F32": "<f4", "F16": "<f2"}


def read_tensors(mapped: mmap.mmap | bytes) -> dict[str, Floats]:
    """Views into the mapped file, by name. The format: the header's length, a JSON header, then the numbers."""
    import numpy as np

    start = 8 + int.from_bytes(mapped[:8], "little")
    header = json.loads(mapped[8:start])
    tensors: dict[str, Floats] = {}
    for name, entry in header.items():
        if (kind := _KINDS.get(entry.get("dtype"))) is not None:
            begin, end = entry["data_offsets"]
            count = (end - begin) // np.dtype(kind).itemsize
            tensors[name] = np.frombuffer(mapped, dtype=kind, count=count, offset=start + begin).reshape(entry["shape"])
    return tensors


def _initializers(tensors: Mapping[str, Floats]) -> dict[str, Floats]:
    """The graph's inputs by name: the file's tensors unchanged, and two kinds that combine several of them."""
    import numpy as np

    positions = tensors["embeddings.position_embeddings.weight"][:POSITIONS]
    made = {"embeddings.positions": positions + tensors["embeddings.token_type_embeddings.weight"][0]}
    for number in range(LAYERS):
        attention = f"encoder.layer.{number}.attention.self"
        made[f"{attention}.bias"] = np.concatenate(
            [tensors[f"{attention}.{part}.bias"] for part in ("query", "key", "value")]
        )
    replaced = ("embeddings.position", "embeddings.token_type", "embeddings.word", "pooler.")
    parts = tuple(f"{part}.bias" for part in ("self.query", "self.key", "self.value"))
    kept = {name: t for name, t in tensors.items() if not name.startswith(replaced) and not name.endswith(parts)}
    return kept | made


class Weights:
    """The mapped file as values that a session can point into."""

    def __init__(self, mapped: mmap.mmap) -> None:
        ort = load_onnxruntime()
        tensors = read_tensors(mapped)
        self.initializers: dict[str, Any] = {
            name: ort.OrtValue.ortvalue_from_numpy(tensor) for name, tensor in _initializers(tensors).items()
        }
        self.words: Any = ort.OrtValue.ortvalue_from_numpy(tensors["embeddings.word_embeddings.weight"])
        self._mapped = mapped

    def let_pages_go(self) -> None:
        """Free the pages. A session keeps a packed copy of what it read, and the file can be read again if needed."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._mapped.madvise(mmap.MADV_DONTNEED)


class Model:
    """A session and everything it points into: dropping one of the values too early is a segfault.

    The session is the first attribute because attributes are released in this order.
    """

    def __init__(self, weights: Weights, threads: int) -> None:
        self._session = _open_session(weights, threads)
        self._weights = weights
        weights.let_pages_go()

    def vectors(self, texts: Sequence[Sequence[int]]) -> list[Vector]:
        """The vectors of all texts at once. How many there are changes a vector in its last digits at most."""
        ort = load_onnxruntime()
        inputs = {name: ort.OrtValue.ortvalue_from_numpy(value) for name, value in _end_to_end(texts).items()}
        (output,) = self._session.run_with_ort_values(["embedding"], inputs | {"word_embeddings": self._weights.words})
        return [tuple(vector) for vector in output.numpy()[0].tolist()]


def _end_to_end(texts: Sequence[Sequence[int]]) -> dict[str, NDArray[np.int32] | Floats]:
    import numpy as np

    lengths = [len(text) for text in texts]
    text_of = np.repeat(np.arange(len(texts)), lengths)
    apart = np.multiply(text_of[:, np.newaxis] != text_of, APART, dtype=np.float32)
    shares = np.divide(text_of == np.arange(len(texts))[:, np.newaxis], np.array(lengths)[:, np.newaxis])
    return {
        "input_ids": np.concatenate(texts, dtype=np.int32)[np.newaxis],
        "positions": np.concatenate([np.arange(length, dtype=np.int32) for length in lengths])[np.newaxis],
        "apart": apart[np.newaxis, np.newaxis],
        "shares": shares.astype(np.float32),
    }


def _open_session(weights: Weights, threads: int) -> Any:
    ort = load_onnxruntime()
    options = session_options(threads)
    options.add_external_initializers(list(weights.initializers), list(weights.initializers.values()))
    return ort.InferenceSession(GRAPH.read_bytes(), options, providers=["CPUExecutionProvider"])


def session_options(threads: int) -> Any:
    ort = load_onnxruntime()
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Threads that wait for the next operator may spin, but so briefly that an idle server sleeps and a busy machine
    # loses nothing. Without this limit, a query next to other work took twice as long as on one thread.
    options.add_session_config_entry("session.intra_op.allow_spinning", "1" if threads > 1 else "0")
    options.add_session_config_entry("session.intra_op.spin_duration_us", SPIN_MICROSECONDS)
    # The graph is already fused: there is nothing left to optimise.
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    # It would remember a plan for each length of text, which costs memory and gains nothing here.
    options.enable_mem_pattern = False
    return options
