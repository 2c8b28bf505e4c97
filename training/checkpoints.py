"""Checkpoints and weights on disk, written so that a kill at any moment leaves the old or the new file, never half.

A checkpoint has everything that resuming needs; weights are the averaged ones in half precision, under the names of the
BERT files, as they will be shipped.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from .embedder import WEIGHTS, model_dir
from .model import Reader

CHECKPOINT = "checkpoint.pt"


def save_checkpoint(folder: Path, state: dict[str, Any]) -> None:
    part = folder / f"{CHECKPOINT}.part"
    with part.open("wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    part.replace(folder / CHECKPOINT)


def load_checkpoint(folder: Path) -> dict[str, Any] | None:
    path = folder / CHECKPOINT
    if not path.exists():
        return None
    state: dict[str, Any] = torch.load(path, weights_only=True)
    return state


def save_weights(path: Path, reader: Reader, averaged: dict[str, Tensor]) -> None:
    """Layers and heads, without the embeddings that are shared with the embedder."""
    whole = {name: averaged.get(name, tensor).detach() for name, tensor in reader.state_dict().items()}
    kept = {
        name: tensor.to(torch.float16).contiguous()
        for name, tensor in whole.items()
        if not name.startswith("embeddings.")
    }
    part = path.with_suffix(".part")
    save_file(kept, part)
    part.replace(path)


def load_reader(path: Path | None) -> Reader:
    """The reader with weights as they are shipped: rounded to half precision. Without a path, untrained."""
    reader = Reader.from_embedder(model_dir() / WEIGHTS)
    if path is not None:
        tensors = {name: tensor.to(torch.float32) for name, tensor in load_file(path).items()}
        missing, unexpected = reader.load_state_dict(tensors, strict=False)
        assert not unexpected
        assert all(name.startswith("embeddings.") for name in missing)
    reader.eval()
    return reader
