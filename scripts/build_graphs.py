"""Write the graphs of src/quoth/models: the embedder's and the reader's, a few kilobytes each and without weights.

Both are BERT encoders with six layers. Initializers carry the names of the files' tensors and no data; adapters attach
those files when they load (`quoth.models.minilm_graph`, `quoth.models.reader_graph`). The operators are the fused ones
of onnxruntime's CPU provider if those are faster.

minilm.onnx   texts are laid end to end, without padding: `positions` counts each from its own first token, `apart` is
              what attention adds between two tokens (zero, or a number so low that no attention is left), `shares` is
              how much each token counts in the mean of each text. Pooling and normalisation are inside.
reader.onnx   one window at a time; `types` distinguishes the passage from the question, `shares` is how much each token
              counts in the mean of the question and in that of the passage. The heads are inside.
reader8.onnx  the same with products of 8-bit numbers. Activations have fixed scales, so the result depends only on the
              window itself.

Run it to write the committed files, or with a folder to write elsewhere. Needs `onnx`, which the running program does
not.
"""

from __future__ import annotations

import sys
from pathlib import Path

from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

TARGET = Path(__file__).parent.parent / "src" / "quoth" / "models"

VOCABULARY, HIDDEN, HEADS, INNER, LAYERS, POSITIONS = 30522, 384, 12, 1536, 6, 256
EPSILON = 1e-12
FUSED = "com.microsoft"
FUSED_OPERATORS = {"FusedMatMul", "MultiHeadAttention", "BiasGelu", "MatMulIntegerToFloat"}
INT8, UINT8, INT32, FLOAT = TensorProto.INT8, TensorProto.UINT8, TensorProto.INT32, TensorProto.FLOAT
SUPPORT_CLASSES = 3
ZERO = 128  # activations are centred on zero


class Graph:
    """Collects nodes and named, empty initializers in the order in which they are used."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.initializers: list[TensorProto] = []

    def weight(self, name: str, *shape: int, kind: int = FLOAT) -> str:
        tensor = TensorProto(name=name, data_type=kind, dims=shape)
        tensor.data_location = TensorProto.EXTERNAL
        # A location must be named for the tensor to count as external; nothing is ever read from it.
        tensor.external_data.add(key="location", value="model.safetensors")
        self.initializers.append(tensor)
        return name

    def node(self, operator: str, inputs: list[str], output: str, **attributes: float | int) -> str:
        domain = FUSED if operator in FUSED_OPERATORS else ""
        node = helper.make_node(operator, inputs, [output], name=output, domain=domain)
        node.attribute.extend(helper.make_attribute(key, value) for key, value in sorted(attributes.items()))
        self.nodes.append(node)
        return output

    def constant(self, name: str, kind: int, value: float) -> str:
        self.initializers.append(helper.make_tensor(name, kind, [], [value]))
        return name

    def embed(self, ids: str, positions: str, types: str | None = None) -> str:
        """The sum of the three embeddings, normalised. If no types are given, all are of type 0, which is added into
        the position table; otherwise the table of types is separate."""
        table = self.weight("embeddings.positions", POSITIONS, HIDDEN)
        scale, shift = (self.weight(f"embeddings.LayerNorm.{part}", HIDDEN) for part in ("weight", "bias"))
        kinds = "" if types is None else self.weight("embeddings.types", 2, HIDDEN)
        output = "embeddings.output"
        self.nodes.append(
            helper.make_node(
                "EmbedLayerNormalization",
                [ids, types or "", "word_embeddings", table, kinds, scale, shift, "", positions],
                [output, ""],
                name=output,
                domain=FUSED,
                epsilon=EPSILON,
            )
        )
        return output

    def products(self, source: str, layers: list[str], rows: int, columns: int) -> list[str]:
        """source × weightᵀ for each layer, as torch stores a linear layer: transposing here saves a copy at every
        start."""
        made = []
        for layer in layers:
            weight = self.weight(f"{layer}.weight", rows, columns)
            made.append(self.node("FusedMatMul", [source, weight], f"{layer}.product", transB=1))
        return made

    def attention(self, parts: list[str], bias: str, name: str) -> str:
        return self.node("MultiHeadAttention", [*parts, bias, "", "apart"], name, num_heads=HEADS)

    def add_and_norm(self, source: str, skip: str, linear: str, norm: str) -> str:
        # SkipLayerNormalization would be one node, but the CPU provider runs it four times slower than these three.
        biased = self.node("Add", [source, self.weight(f"{linear}.bias", HIDDEN)], f"{linear}.output")
        total = self.node("Add", [biased, skip], f"{norm}.input")
        scale, shift = self.weight(f"{norm}.weight", HIDDEN), self.weight(f"{norm}.bias", HIDDEN)
        return self.node("LayerNormalization", [total, scale, shift], f"{norm}.output", axis=-1, epsilon=EPSILON)

    def encoder_layer(self, source: str, prefix: str) -> str:
        attention = f"{prefix}.attention"
        parts = self.products(
            source, [f"{attention}.self.{part}" for part in ("query", "key", "value")], HIDDEN, HIDDEN
        )
        bias = self.weight(f"{attention}.self.bias", 3 * HIDDEN)
        context = self.attention(parts, bias, f"{attention}.self.output")

        dense = f"{attention}.output.dense"
        (product,) = self.products(context, [dense], HIDDEN, HIDDEN)
        attended = self.add_and_norm(product, source, dense, f"{attention}.output.LayerNorm")

        inner = f"{prefix}.intermediate.dense"
        (product,) = self.products(attended, [inner], INNER, HIDDEN)
        # BiasGelu is the exact erf form that the model was trained with; FastGelu is the tanh approximation.
        active = self.node("BiasGelu", [product, self.weight(f"{inner}.bias", INNER)], f"{inner}.output")

        dense = f"{prefix}.output.dense"
        (product,) = self.products(active, [dense], HIDDEN, INNER)
        return self.add_and_norm(product, attended, dense, f"{prefix}.output.LayerNorm")

    def encoder(self, state: str) -> str:
        for number in range(LAYERS):
            state = self.encoder_layer(state, f"encoder.layer.{number}")
        return state


class ReaderGraph(Graph):
    """One window at a time, so attention needs no mask: with a mask onnxruntime takes a slower path, and padding costs
    more than sharing a pass saves."""

    def attention(self, parts: list[str], bias: str, name: str) -> str:
        return self.node("MultiHeadAttention", [*parts, bias], name, num_heads=HEADS)

    def head(self, source: str, name: str, width: int, read: int = HIDDEN) -> str:
        (product,) = Graph.products(self, source, [f"heads.{name}"], width, read)
        return self.node("Add", [product, self.weight(f"heads.{name}.bias", width)], name)


class Reader8Graph(ReaderGraph):
    """Products of 8-bit numbers. The input of a product is rounded once, each channel with a scale that was measured
    before; the scales are multiplied into the weights."""

    def products(self, source: str, layers: list[str], rows: int, columns: int) -> list[str]:
        # QuantizeLinear also accepts a scale per channel, but then takes three times as long as the whole product.
        even = self.node("Mul", [source, self.weight(f"{source}.scales", columns)], f"{source}.even")
        rounded = self.node("QuantizeLinear", [even, "one", "zero"], f"{source}.rounded")
        made = []
        for layer in layers:
            weight = self.weight(f"{layer}.weight8", columns, rows, kind=INT8)
            each = self.weight(f"{layer}.scale8", rows)
            made.append(self.node("MatMulIntegerToFloat", [rounded, weight, "one", each, "zero"], f"{layer}.product"))
        return made


def value(name: str, kind: int, *shape: int | str) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, list(shape))


# This is half of the weights, and a text touches only a few rows. As an initializer, onnxruntime would copy it into
# memory; as an input, it stays in the mapped file.
WORDS = ("word_embeddings", FLOAT, VOCABULARY, HIDDEN)


def model_of(graph: Graph, name: str, inputs: list[ValueInfoProto], outputs: list[ValueInfoProto]) -> ModelProto:
    proto = helper.make_graph(graph.nodes, name, inputs, outputs, initializer=graph.initializers)
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid(FUSED, 1)]
    return helper.make_model(proto, opset_imports=opsets, ir_version=10, producer_name="quoth")


def build_minilm() -> ModelProto:
    graph = Graph()
    state = graph.encoder(graph.embed("input_ids", "positions"))
    mean = graph.node("MatMul", ["shares", state], "mean")
    graph.node("LpNormalization", [mean], "embedding", axis=-1, p=2)
    inputs = [
        value("input_ids", INT32, 1, "tokens"),
        value("positions", INT32, 1, "tokens"),
        value("apart", FLOAT, 1, 1, "tokens", "tokens"),
        value("shares", FLOAT, "texts", "tokens"),
        value(*WORDS),
    ]
    return model_of(graph, "all-MiniLM-L6-v2", inputs, [value("embedding", FLOAT, 1, "texts", HIDDEN)])


def build_reader(graph: ReaderGraph) -> ModelProto:
    state = graph.encoder(graph.embed("input_ids", "positions", "types"))
    graph.head(state, "span", 2)
    means = graph.node("MatMul", ["shares", state], "means")
    both = graph.node("Flatten", [means], "means.both", axis=1)
    pooled = graph.node("Tanh", [graph.head(both, "pool", HIDDEN, 2 * HIDDEN)], "pooled")
    graph.head(pooled, "answerable", 1)
    graph.head(pooled, "relevance", 1)
    graph.head(pooled, "support", SUPPORT_CLASSES)
    inputs = [
        *(value(name, INT32, 1, "tokens") for name in ("input_ids", "positions", "types")),
        value("shares", FLOAT, 1, 2, "tokens"),
        value(*WORDS),
    ]
    outputs = [
        value("span", FLOAT, 1, "tokens", 2),
        value("answerable", FLOAT, 1, 1),
        value("relevance", FLOAT, 1, 1),
        value("support", FLOAT, 1, SUPPORT_CLASSES),
    ]
    return model_of(graph, "quoth-reader", inputs, outputs)


def build_reader8() -> ModelProto:
    graph = Reader8Graph()
    graph.constant("one", FLOAT, 1.0)
    graph.constant("zero", UINT8, ZERO)
    return build_reader(graph)


GRAPHS = {
    "minilm.onnx": build_minilm,
    "reader.onnx": lambda: build_reader(ReaderGraph()),
    "reader8.onnx": build_reader8,
}


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    for name, build in GRAPHS.items():
        target = folder / name
        target.write_bytes(build().SerializeToString(deterministic=True))
        print(f"{name}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
