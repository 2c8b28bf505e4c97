"""Token counts for embedders whose tokenizer we do not have: a cautious guess that prefers too many to too few.

In: texts. Out: `ports.TokenCounter` for the chunker, so that its chunks fit the embedder. A word counts by its short
runs of letters of one case or of digits, a mark as one, a letter of another script by its bytes: byte-pair tokenizers
seldom need more. For English the count is a fifth above theirs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

# White space is free. A run never crosses a mark or a space, so the counts of words add up.
_STRETCH = re.compile(r"[A-Z]?[a-z]{1,4}|[A-Z]{1,2}|[0-9]{1,2}|[^\s]", re.ASCII)
_OTHER_SPACE = re.compile(r"\s")


@dataclass(frozen=True, slots=True)
class RoughTokens:
    limit: int

    def spans(self, text: str) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        for match in _STRETCH.finditer(text):
            found += [match.span()] * _weight(match[0])
        return found

    def counts(self, texts: Sequence[str]) -> list[int]:
        return [
            sum(_weight(stretch) for stretch in _STRETCH.findall(text)) if not text.isascii() else _plain(text)
            for text in texts
        ]


def _plain(text: str) -> int:
    return len(_STRETCH.findall(text))


def _weight(stretch: str) -> int:
    """1 for ASCII and two-byte letters, more for characters of three or four bytes."""
    if stretch.isascii():
        return 1
    return 0 if _OTHER_SPACE.match(stretch) else max(1, len(stretch.encode("utf-8", "surrogatepass")) - 1)
