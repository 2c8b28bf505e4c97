"""Parts of a book that only its own toolchain can show, such as template tags: counted and reported together."""

from __future__ import annotations

from collections import Counter

_MOST_NAMED = 20


class LeftOut:
    """Counts by name, from the beginning of a survey."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._counts: Counter[str] = Counter()

    def begin(self) -> None:
        self._counts.clear()

    def add(self, name: str) -> None:
        self._counts[name] += 1

    def sentence(self) -> str:
        """Empty if nothing was left out."""
        if not self._counts:
            return ""
        named = [f"{name} ({count})" for name, count in self._counts.most_common(_MOST_NAMED)]
        more = len(self._counts) - len(named)
        return f"{self._what} are left out: {', '.join([*named, f'and {more} more'] if more else named)}"
