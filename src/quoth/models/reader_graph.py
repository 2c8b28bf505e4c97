"""The reader's forward pass on onnxruntime. In: token ids of windows. Out: the output of each head.

The graph is the committed reader8.onnx (reader.onnx in single precision), which holds no weights
(scripts/build_graphs.py). The six layers and the heads come from the reader's own file, in half precision; word,
position and type embeddings come from the embedder's mapped file and never change. A window runs alone: without padding
and mask it costs less than in a batch, and reading several at a time fills the cores. Knows nothing about tokenizers
and passages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from quoth.models.minilm_graph import LAYERS, POSITIONS, session_options
from quoth.models.runtime import load_onnxruntime

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Tensors = Mapping[str, NDArray[np.float32]]

GRAPH = Path(__file__).with_name("reader.onnx")
GRAPH8 = Path(__file__).with_name("reader8.onnx")
HEADS = ("span", "answerable", "relevance", "support")


class Window(NamedTuple):
    """What the reader sees at once: the question's tokens run from 1 up to `asked`; the passage's begin at `passage`
    and are of type 1."""

    ids: Sequence[int]
    asked: int
    passage: int


@dataclass(frozen=True, slots=True)
class Heads:
    """Logits for one window. `span` is (tokens, 2): start and end; its first row means "not here"."""

    span: Floats
    answerable: float
    relevance: float
    support: tuple[float, float, float]  # supported, neutral, contradicted


class ReaderWeights:
    """Everything a session points into. `ranges` holds the largest value of each channel that goes into a product; with
    it, this is the 8-bit graph."""

    def __init__(self, layers: Tensors, embedder: Tensors, ranges: Tensors) -> None:
        ort = load_onnxruntime()

        single = {**_embeddings(embedder), **_single(layers)}
        tensors = _rounded(single, ranges) if ranges else single
        self.initializers: dict[str, Any] = {
            name: ort.OrtValue.ortvalue_from_numpy(tensor) for name, tensor in tensors.items()
        }
        self.word_vectors = embedder["embeddings.word_embeddings.weight"]
        self.words: Any = ort.OrtValue.ortvalue_from_numpy(self.word_vectors)
        self.graph = GRAPH8 if ranges else GRAPH


def _embeddings(embedder: Tensors) -> dict[str, Any]:
    return {
        "embeddings.positions": embedder["embeddings.position_embeddings.weight"][:POSITIONS],
        "embeddings.types": embedder["embeddings.token_type_embeddings.weight"],
        **{f"embeddings.LayerNorm.{part}": embedder[f"embeddings.LayerNorm.{part}"] for part in ("weight", "bias")},
    }


def _single(layers: Tensors) -> dict[str, Any]:
    """In single precision, with the three attention biases of a layer in a row."""
    import numpy as np

    made = {name: tensor.astype(np.float32) for name, tensor in layers.items()}
    for number in range(LAYERS):
        attention = f"encoder.layer.{number}.attention.self"
        parts = [made.pop(f"{attention}.{part}.bias") for part in ("query", "key", "value")]
        made[f"{attention}.bias"] = np.concatenate(parts)
    return made


# --- 8 bits ----------------------------------------------------------------------------------------------------------

# Sums of two products must fit into 16 bits on processors without a better instruction: with 7-bit weights they do.
LARGEST_WEIGHT = 63
LARGEST_ACTIVATION = 127
EVEN = 0.85  # how much of the channels' unevenness moves from the activations into the weights


def products_of(number: int) -> dict[str, tuple[str, ...]]:
    """The inputs of a layer's products → the linear parts that take them."""
    layer, before = f"encoder.layer.{number}", f"encoder.layer.{number - 1}.output.LayerNorm.output"
    attention = f"{layer}.attention"
    return {
        before if number else "embeddings.output": tuple(f"{attention}.self.{p}" for p in ("query", "key", "value")),
        f"{attention}.self.output": (f"{attention}.output.dense",),
        f"{attention}.output.LayerNorm.output": (f"{layer}.intermediate.dense",),
        f"{layer}.intermediate.dense.output": (f"{layer}.output.dense",),
    }


PRODUCTS: Mapping[str, tuple[str, ...]] = {k: v for number in range(LAYERS) for k, v in products_of(number).items()}


def _rounded(single: dict[str, Any], ranges: Tensors) -> dict[str, Any]:
    """Weights of the six layers as 8-bit numbers. A few channels are much larger than the rest and would take up all
    eight bits, so each channel has its own scale, which is multiplied into its weights."""
    import numpy as np

    made = dict(single)
    for source, linears in PRODUCTS.items():
        weights = {linear: made.pop(f"{linear}.weight") for linear in linears}
        largest = np.maximum(np.max([np.abs(weight).max(axis=0) for weight in weights.values()], axis=0), 1e-6)
        channels = np.maximum(ranges[source].astype(np.float32), 1e-6)
        scales = channels**EVEN / largest ** (1 - EVEN)
        scales *= (channels / scales).max() / LARGEST_ACTIVATION
        made[f"{source}.scales"] = (1 / scales).astype(np.float32)
        for linear, weight in weights.items():
            scaled = weight * scales
            each = np.maximum(np.abs(scaled).max(axis=1), 1e-12) / LARGEST_WEIGHT
            made[f"{linear}.weight8"] = np.ascontiguousarray(np.rint(scaled / each[:, np.newaxis]).astype(np.int8).T)
            made[f"{linear}.scale8"] = each.astype(np.float32)
    return made


def _shares(window: Window) -> Floats:
    """How much each token counts in the mean of the question, and in the mean of the passage with its final [SEP]."""
    import numpy as np

    shares = np.zeros((2, len(window.ids)), dtype=np.float32)
    shares[0, 1 : window.asked] = 1 / max(1, window.asked - 1)
    shares[1, window.passage :] = 1 / (len(window.ids) - window.passage)
    return shares


# --- running ---------------------------------------------------------------------------------------------------------


class ReaderModel:
    """A session and everything it points into: dropping one of the values too early is a segfault.

    The session is the first attribute because attributes are released in this order.
    """

    def __init__(self, weights: ReaderWeights) -> None:
        ort = load_onnxruntime()

        options = session_options(1)
        options.add_external_initializers(list(weights.initializers), list(weights.initializers.values()))
        self._session = ort.InferenceSession(weights.graph.read_bytes(), options, providers=["CPUExecutionProvider"])
        self._weights = weights

    @property
    def words(self) -> Floats:
        """One vector for each token of the vocabulary."""
        return self._weights.word_vectors

    def read(self, window: Window) -> Heads:
        """May be called from several threads."""
        import numpy as np

        ort = load_onnxruntime()

        length = len(window.ids)
        places = np.arange(length, dtype=np.int32)
        inputs = {
            "input_ids": np.array([window.ids], dtype=np.int32),
            "positions": places[np.newaxis],
            "types": (places >= window.passage).astype(np.int32)[np.newaxis],
            "shares": _shares(window)[np.newaxis],
        }
        values = {name: ort.OrtValue.ortvalue_from_numpy(value) for name, value in inputs.items()}
        values["word_embeddings"] = self._weights.words
        outputs = self._session.run_with_ort_values(list(HEADS), values)
        span, answerable, relevance, support = (output.numpy()[0] for output in outputs)
        return Heads(span, float(answerable[0]), float(relevance[0]), tuple(support.tolist()))
