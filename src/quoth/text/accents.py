"""Letters without their accents and typographic variants, in linear time.

`unicodedata.normalize` sorts the marks of a letter one by one, so a text of nothing but marks costs it quadratic time.
Here each character is decomposed by itself and its marks are dropped, which leaves nothing to sort.
"""

from __future__ import annotations

import unicodedata

_REMEMBERED = 4096  # characters; a book uses a few hundred


class _Decomposed(dict[int, str]):
    """A table for `str.translate` that fills itself."""

    def __missing__(self, code: int) -> str:
        parts = unicodedata.normalize("NFKD", chr(code))
        bare = "".join(part for part in parts if not unicodedata.combining(part))
        if len(self) < _REMEMBERED:
            self[code] = bare
        return bare


_DECOMPOSED = _Decomposed()


def without_accents(text: str) -> str:
    return text if text.isascii() else text.translate(_DECOMPOSED)


def ascii_letters(text: str) -> str:
    """What is left of a text in ASCII: `é` is `e`, `日` is nothing."""
    return without_accents(text).encode("ascii", "ignore").decode("ascii")
