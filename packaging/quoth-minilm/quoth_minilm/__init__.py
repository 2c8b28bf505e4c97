"""The files of all-MiniLM-L6-v2 (model.safetensors, tokenizer.json), as data."""

from __future__ import annotations

from pathlib import Path

__version__ = "1.0.0"


def model_dir() -> Path:
    """The folder that holds the files. Quoth finds it without importing this package."""
    return Path(__file__).parent
