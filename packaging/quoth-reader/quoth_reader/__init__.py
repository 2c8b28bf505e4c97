"""The weights of Quoth's reader (reader.safetensors) and how to read with them (reader.json), as data."""

from __future__ import annotations

from pathlib import Path

__version__ = "0.8.0"


def model_dir() -> Path:
    """The folder that holds the files. Quoth finds it without importing this package."""
    return Path(__file__).parent
