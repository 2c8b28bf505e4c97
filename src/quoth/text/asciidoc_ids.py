"""The ids that Asciidoctor gives to the sections of a document.

An id is made from the words of the title, with `idprefix` before it and `idseparator` between words, unless something
above it in the document already has that id: then a number follows, starting with 2. Ids that the author gave to blocks
count too.
"""

from __future__ import annotations

import re
import unicodedata

_INVALID = re.compile(r"[^ \w\-.]+", re.A)


class SectionIds:
    """The ids of one document, in the order of its blocks."""

    def __init__(self) -> None:
        self.prefix = "_"
        self.separator = "_"
        self.wanted = True  # sectids
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}

    def take(self, id: str) -> None:
        """An id that the author gave."""
        self._taken.add(id)

    def of(self, words: str) -> str:
        """The id of the next section that has none of its own; empty when sections get none."""
        if not self.wanted:
            return ""
        base = self._made(words)
        id = base
        number = self._next.get(base, 2)
        while id in self._taken:
            id = f"{base}{self.separator}{number}"
            number += 1
            self._next[base] = number
        self._taken.add(id)
        return id

    def _made(self, words: str) -> str:
        id = self.prefix + _kept(words.lower())
        separator = self.separator
        if not separator:
            return id.replace(" ", "")
        squeezed = f" .-{'' if separator in '.-' else separator}"
        id = re.sub(f"[{re.escape(squeezed)}]+", lambda match: separator, id)
        id = id.removesuffix(separator)
        return id.removeprefix(separator) if not self.prefix else id


def _kept(words: str) -> str:
    if words.isascii():
        return _INVALID.sub("", words)
    return "".join(letter for letter in words if letter in " -." or _is_word(letter))


def _is_word(letter: str) -> bool:
    """As Ruby defines a word: letters, marks, decimal digits and connectors."""
    category = unicodedata.category(letter)
    return category[0] in "LM" or category in ("Nd", "Pc")
