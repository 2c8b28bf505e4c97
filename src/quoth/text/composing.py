"""What a stretch of a page says, put together from what its blocks say.

`plain` has been run on every leaf when the page was parsed; running it again on every chunk would do the same work
twice. In comes a page's text and its leaves with their token counts, out goes what `plain` would say of a stretch, and
its count. Only where that is certain: fences that open and close in their own block, and prose between blank lines
without anything that could reach across one (open comments, scripts, imports). Elsewhere the answer is None, and the
caller asks `plain`. It knows nothing of chunks.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence

from quoth.domain import Markup
from quoth.text.blocks import Block
from quoth.text.plain import is_one_fence, plain, reaches_on

# What may reach into the next line: code, links, tags.
_OPEN = re.compile(r"[`\[<]")
# Blocks whose `plain` is not what `plain` says of their lines.
_OTHERWISE = ("code", "markup", "label")

Counts = Callable[[Sequence[str]], list[int]]


class Composer:
    """The leaves of one page, in order. `tokens` holds the count of each leaf's `plain` by its start."""

    def __init__(
        self, text: str, markup: Markup, leaves: Sequence[Block], tokens: dict[int, int], counts: Counts
    ) -> None:
        self._text = text
        self._markup: Markup = markup
        self._leaves = leaves if markup in ("markdown", "mdx") and "\r" not in text else ()
        self._starts = [leaf.start for leaf in self._leaves]
        self._tokens = tokens
        self._counts = counts

    def said(self, first: int, start: int, end: int) -> tuple[str, int] | None:
        """What is said from `start` to `end`, where the leaf that begins at `first` has lost its white space."""
        at = bisect_left(self._starts, first)
        behind = bisect_left(self._starts, end, at)
        if at == behind or self._starts[at] != first or self._leaves[behind - 1].end != end:
            return None
        if self._text[first:start].strip(" \t\n"):
            return None
        parts: list[str] = []
        tokens = 0
        run = at  # the first leaf that no blank line parts from this one
        for index in range(at, behind):
            leaf = self._leaves[index]
            if leaf.kind == "fence":
                if not is_one_fence(self._text[leaf.start : leaf.end]):
                    return None
            elif reaches_on(self._text[leaf.start : leaf.end]):
                return None
            elif index + 1 < behind and not self._parted(leaf, self._leaves[index + 1]):
                continue
            words, count = self._run(run, index)
            run = index + 1
            if words:
                parts.append(words)
                tokens += count
        return "\n".join(parts), tokens

    def _parted(self, leaf: Block, following: Block) -> bool:
        return following.kind == "fence" or "\n\n" in self._text[leaf.end : following.start]

    def _run(self, first: int, last: int) -> tuple[str, int]:
        """Leaves with nothing but line ends between them."""
        if first == last:
            leaf = self._leaves[first]
            if leaf.kind not in _OTHERWISE:
                return leaf.plain, self._tokens.get(leaf.start, 0)
            return self._anew(leaf.start, leaf.end)
        start, end = self._leaves[first].start, self._leaves[last].end
        if _OPEN.search(self._text, start, self._leaves[last - 1].end):
            return self._anew(start, end)
        each = [self._run(index, index) for index in range(first, last + 1)]
        return "\n".join(words for words, _ in each if words), sum(count for _, count in each)

    def _anew(self, start: int, end: int) -> tuple[str, int]:
        words = plain(self._text[start:end], self._markup)
        return words, self._counts([words])[0] if words else 0
