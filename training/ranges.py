"""Measures how large the inputs of each product in the network become, for its 8-bit graph.

Weights and prepared examples come in; the largest value of each channel of each product's input goes out, under the
name that the input has in the graph.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from .batches import Examples
from .model import LAYERS, Reader

EXAMPLES = 1_500


def products_of(number: int) -> dict[str, str]:
    """A part of a layer → the name of the input of its products."""
    layer = f"encoder.layer.{number}"
    return {
        f"{layer}.attention.self": f"encoder.layer.{number - 1}.output.LayerNorm.output"
        if number
        else "embeddings.output",
        f"{layer}.attention.output.dense": f"{layer}.attention.self.output",
        f"{layer}.intermediate.dense": f"{layer}.attention.output.LayerNorm.output",
        f"{layer}.output.dense": f"{layer}.intermediate.dense.output",
    }


def measured(reader: Reader, examples: Path, seed: int) -> dict[str, Tensor]:
    """As tensors of the reader's file."""
    found: dict[str, Tensor] = {}

    def noting(name: str) -> Callable[[Any, tuple[Tensor, ...]], None]:
        def note(_: Any, inputs: tuple[Tensor, ...]) -> None:
            largest = inputs[0].detach().abs().amax(dim=(0, 1))
            found[name] = torch.maximum(found[name], largest) if name in found else largest

        return note

    parts = dict(reader.named_modules())
    names = {part: source for number in range(LAYERS) for part, source in products_of(number).items()}
    hooks = [parts[part].register_forward_pre_hook(noting(source)) for part, source in names.items()]
    rows = Examples(examples)
    with torch.inference_mode():
        for groups in rows.order(seed, 5_000, EXAMPLES):
            batch = rows.batch(groups)
            reader(batch.ids, batch.types, batch.mask)
    for hook in hooks:
        hook.remove()
    return {f"ranges.{name}": largest.to(torch.float16).contiguous() for name, largest in found.items()}
