"""Quoth: ask a technical book and trust the reply."""

from quoth.versions import __version__

__all__ = ["__version__"]
