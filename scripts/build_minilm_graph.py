"""Write src/quoth/models/minilm.onnx: all-MiniLM-L6-v2 as a graph of about twenty kilobytes, without weights.

Texts that are embedded together are laid end to end, without padding. `positions` counts the tokens of each text from
0, `apart` is what attention adds between two tokens (0 within a text, a large negative number between texts), `shares`
is the weight of each token in the mean of each text. Where onnxruntime's CPU provider has a faster fused operator, it
is used; pooling and normalisation are part of the graph. Initializers have the names of model.safetensors and no data:
the adapter attaches that file when it loads (`quoth.models.minilm`), as it is on disk. It derives two of them: the
position table with the one token type added, and the three attention biases of each layer, concatenated.

Without an argument it writes the committed file, with a path it writes there. Needs `onnx`, which the program itself
does not.
"""

from __future__ import annotations

import sys
from pathlib import Path

from onnx import ModelProto, NodeProto, TensorProto, helper

TARGET = Path(__file__).parent.parent / "src" / "quoth" / "models" / "minilm.onnx"

VOCABULARY, HIDDEN, HEADS, INNER, LAYERS, POSITIONS = 30522, 384, 12, 1536, 6, 256
EPSILON = 1e-12
FUSED = "com.microsoft"


class Graph:
    """Collects nodes and named, empty initializers in the order of their use."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.initializers: list[TensorProto] = []

    def weight(self, name: str, *shape: int) -> str:
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape)
        tensor.data_location = TensorProto.EXTERNAL
        # An external tensor must name a location; nothing is ever read from it.
        tensor.external_data.add(key="location", value="model.safetensors")
        self.initializers.append(tensor)
        return name

    def node(self, operator: str, inputs: list[str], output: str, **attributes: float | int) -> str:
        domain = FUSED if operator in {"FusedMatMul", "MultiHeadAttention", "BiasGelu"} else ""
        node = helper.make_node(operator, inputs, [output], name=output, domain=domain)
        node.attribute.extend(helper.make_attribute(key, value) for key, value in sorted(attributes.items()))
        self.nodes.append(node)
        return output

    def product(self, source: str, layer: str, rows: int, columns: int) -> str:
        """source × weightᵀ, as torch stores a linear layer. Transposing here saves a copy at every start."""
        weight = self.weight(f"{layer}.weight", rows, columns)
        return self.node("FusedMatMul", [source, weight], f"{layer}.product", transB=1)

    def add_and_norm(self, source: str, skip: str, linear: str, norm: str) -> str:
        # SkipLayerNormalization would be one node, but on the CPU it is four times slower than these three.
        biased = self.node("Add", [source, self.weight(f"{linear}.bias", HIDDEN)], f"{linear}.output")
        total = self.node("Add", [biased, skip], f"{norm}.input")
        scale, shift = self.weight(f"{norm}.weight", HIDDEN), self.weight(f"{norm}.bias", HIDDEN)
        return self.node("LayerNormalization", [total, scale, shift], f"{norm}.output", axis=-1, epsilon=EPSILON)


def encoder_layer(graph: Graph, source: str, prefix: str) -> str:
    attention = f"{prefix}.attention"
    parts = [graph.product(source, f"{attention}.self.{part}", HIDDEN, HIDDEN) for part in ("query", "key", "value")]
    bias = graph.weight(f"{attention}.self.bias", 3 * HIDDEN)
    context = graph.node("MultiHeadAttention", [*parts, bias, "", "apart"], f"{attention}.self.output", num_heads=HEADS)

    dense = f"{attention}.output.dense"
    product = graph.product(context, dense, HIDDEN, HIDDEN)
    attended = graph.add_and_norm(product, source, dense, f"{attention}.output.LayerNorm")

    inner = f"{prefix}.intermediate.dense"
    product = graph.product(attended, inner, INNER, HIDDEN)
    # BiasGelu is the exact erf form that the model was trained with; FastGelu is the tanh approximation.
    active = graph.node("BiasGelu", [product, graph.weight(f"{inner}.bias", INNER)], f"{inner}.output")

    dense = f"{prefix}.output.dense"
    product = graph.product(active, dense, HIDDEN, INNER)
    return graph.add_and_norm(product, attended, dense, f"{prefix}.output.LayerNorm")


def build() -> ModelProto:
    graph = Graph()
    positions = graph.weight("embeddings.positions", POSITIONS, HIDDEN)
    scale, shift = (graph.weight(f"embeddings.LayerNorm.{part}", HIDDEN) for part in ("weight", "bias"))
    state = "embeddings.output"
    graph.nodes.append(
        helper.make_node(
            "EmbedLayerNormalization",
            ["input_ids", "", "word_embeddings", positions, "", scale, shift, "", "positions"],
            [state, ""],
            name=state,
            domain=FUSED,
            epsilon=EPSILON,
        )
    )
    for number in range(LAYERS):
        state = encoder_layer(graph, state, f"encoder.layer.{number}")
    mean = graph.node("MatMul", ["shares", state], "mean")
    graph.node("LpNormalization", [mean], "embedding", axis=-1, p=2)

    proto = helper.make_graph(
        graph.nodes,
        "all-MiniLM-L6-v2",
        inputs=[
            helper.make_tensor_value_info("input_ids", TensorProto.INT32, [1, "tokens"]),
            helper.make_tensor_value_info("positions", TensorProto.INT32, [1, "tokens"]),
            helper.make_tensor_value_info("apart", TensorProto.FLOAT, [1, 1, "tokens", "tokens"]),
            helper.make_tensor_value_info("shares", TensorProto.FLOAT, ["texts", "tokens"]),
            # Half of the weights, and a text needs only a few rows. onnxruntime would copy an initializer into memory;
            # an input stays in the mapped file.
            helper.make_tensor_value_info("word_embeddings", TensorProto.FLOAT, [VOCABULARY, HIDDEN]),
        ],
        outputs=[helper.make_tensor_value_info("embedding", TensorProto.FLOAT, [1, "texts", HIDDEN])],
        initializer=graph.initializers,
    )
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid(FUSED, 1)]
    return helper.make_model(proto, opset_imports=opsets, ir_version=10, producer_name="quoth")


def main() -> None:
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    target.write_bytes(build().SerializeToString(deterministic=True))
    print(f"{target}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
