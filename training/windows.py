"""Cuts a passage into overlapping windows and writes the token ids that the reader sees for one window.

    [CLS] question [SEP] heading [SEP] passage [SEP]

Token type 0 up to and including the second [SEP], type 1 from there on, so that type 1 is the passage. A passage
without a heading has nothing between the two [SEP]. Long questions and headings are cut here; one window of a long
passage is read. Pure Python: token ids and character offsets come in from any tokenizer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

CLS, SEP, PAD = 101, 102, 0
QUESTION, HEADING = 64, 20  # tokens
Span = tuple[int, int]


def _as_shipped() -> ModuleType:
    """How the shipped reader chooses its window. Loaded by its path, because this environment cannot import Quoth."""
    path = Path(__file__).parent.parent / "src" / "quoth" / "models" / "reader_window.py"
    spec = spec_from_file_location("reader_window", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_SHIPPED = _as_shipped()
WINDOW: int = _SHIPPED.WINDOW
window_of: Callable[[Sequence[int], Sequence[int], int], Span] = _SHIPPED.window_of


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of one text: ids, and where each is in it."""

    ids: Sequence[int]
    offsets: Sequence[Span]

    def __len__(self) -> int:
        return len(self.ids)

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
