"""Cuts a passage into overlapping windows and writes the token ids that the reader sees for one window.

    [CLS] question [SEP] heading [SEP] passage [SEP]

Token type 0 up to and including the second [SEP], type 1 from there on, so that type 1 is the passage. A passage
without a heading has nothing between the two [SEP]. Long questions and headings are cut here; one window of a long
passage is read. Pure Python: token ids and character offsets come in from any tokenizer.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

CLS, SEP, PAD = 101, 102, 0
QUESTION, HEADING = 64, 20  # tokens
Span = tuple[int, int]


def as_shipped(module: str) -> ModuleType:
    """A module of Quoth that imports nothing of it, such as how the shipped reader chooses its window. Loaded by its
    path, because this environment cannot import Quoth."""
    path = Path(__file__).parent.parent / "src" / "quoth" / f"{module}.py"
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    loaded = module_from_spec(spec)
    sys.modules[path.stem] = loaded  # dataclasses look their module up
    spec.loader.exec_module(loaded)
    return loaded


_SHIPPED = as_shipped("models/reader_window")
WINDOW: int = _SHIPPED.WINDOW
kept: Callable[[Sequence[int]], list[int]] = _SHIPPED.kept


@cache
def _vectors() -> Any:
    """The embedder's word vectors, which the reader shares."""
    from safetensors.numpy import load_file

    from .embedder import WEIGHTS, model_dir

    return load_file(model_dir() / WEIGHTS)["embeddings.word_embeddings.weight"]


def window_of(question: Sequence[int], passage: Sequence[int], size: int) -> Span:
    found: Span = _SHIPPED.window_of(question, passage, _vectors(), size)
    return found


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of one text: ids, and where each is in it."""

    ids: Sequence[int]
    offsets: Sequence[Span]

    def __len__(self) -> int:
        return len(self.ids)

    def without_marks(self) -> Tokens:
        """As the shipped reader reads it."""
        words = kept(self.ids)
        return Tokens([self.ids[at] for at in words], [self.offsets[at] for at in words])

    def covering(self, span: Span) -> Span | None:
        """First and last token that touch these characters."""
        touched = [at for at, (start, end) in enumerate(self.offsets) if start < span[1] and span[0] < end]
        return (touched[0], touched[-1]) if touched else None


def windows(length: int, window: int, step: int) -> list[Span]:
    """Token ranges that cover a passage. The last one ends with the passage and is as long as the others."""
    if length <= window:
        return [(0, length)]
    starts = [*range(0, length - window, step), length - window]
    return [(start, start + window) for start in starts]


def head(question: Sequence[int], heading: Sequence[int]) -> list[int]:
    """Everything before the passage. A heading's path is cut at the front: its end is nearest to the text."""
    return [CLS, *question[:QUESTION], SEP, *heading[-HEADING:], SEP]


def joined(question: Sequence[int], heading: Sequence[int], passage: Sequence[int]) -> tuple[list[int], int]:
    """The ids of one window, and where its passage begins."""
    before = head(question, heading)
    return [*before, *passage, SEP], len(before)
