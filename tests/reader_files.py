"""An untrained reader's file: the embedder's own layers and random heads. For tests of running it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quoth.models import reader
from quoth.models.minilm import WEIGHTS, find_model_dir
from quoth.models.minilm_graph import read_tensors

Array = NDArray[np.float32]
HEADS = {"span": 2, "pool": 384, "answerable": 1, "relevance": 1, "support": 3}
READ = {"pool": 2 * 384}  # input size of a head, if it is not one state


def embedder_tensors() -> dict[str, Array]:
    return read_tensors((find_model_dir() / WEIGHTS).read_bytes())


def made_layers() -> dict[str, Array]:
    dice = np.random.default_rng(5)
    layers = {name: tensor for name, tensor in embedder_tensors().items() if name.startswith("encoder.")}
    for name, width in HEADS.items():
        layers[f"heads.{name}.weight"] = dice.normal(0, 0.05, (width, READ.get(name, 384))).astype(np.float32)
        layers[f"heads.{name}.bias"] = dice.normal(0, 0.05, width).astype(np.float32)
    return {name: tensor.astype(np.float16).astype(np.float32) for name, tensor in layers.items()}


def write_tensors(path: Path, tensors: dict[str, Array]) -> str:
    """In half precision, as safetensors lays them out. Returns the SHA-256."""
    header: dict[str, object] = {}
    at = 0
    for name, tensor in tensors.items():
        size = tensor.size * 2
        header[name] = {"dtype": "F16", "shape": list(tensor.shape), "data_offsets": [at, at + size]}
        at += size
    words = json.dumps(header).encode()
    body = b"".join(tensor.astype("<f2").tobytes() for tensor in tensors.values())
    path.write_bytes(len(words).to_bytes(8, "little") + words + body)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_reader(folder: Path, extra: dict[str, Array] | None = None) -> tuple[Path, str]:
    folder.mkdir(parents=True, exist_ok=True)
    return folder, write_tensors(folder / reader.WEIGHTS, {**made_layers(), **(extra or {})})
