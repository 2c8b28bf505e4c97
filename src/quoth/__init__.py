"""Quoth: ask a technical book and trust the reply."""

__version__ = "0.1.0"
