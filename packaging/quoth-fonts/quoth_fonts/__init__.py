"""The letters of Quoth's page (WOFF2) and the style sheet that names them (fonts.css), as data."""

from __future__ import annotations

from pathlib import Path

__version__ = "1.0.0"


def fonts_dir() -> Path:
    """The folder that holds the files. Quoth finds it without importing this package."""
    return Path(__file__).parent
