"""Patterns for file names, as configurations write them (`drafts/*`, `**/_*`), matched in bounded time.

A regular expression is fast for the patterns that people write. With many wildcards it could take years, and a book may
come from anybody. So a pattern with more than two wildcards is matched by a table of all positions in pattern and name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_MOST_WILDCARDS = 2  # more than these are not left to a regular expression

# Pieces of a pattern, as regular expressions. All others stand for one letter.
ANYTHING = "(?s:.)*"  # `**`
_IN_FOLDER = "[^/]*"  # `*`
FOLDERS = "(?:(?s:.)*/)?"  # any folders, or none
OR_BELOW = "(?:/(?s:.)*)?"  # at the end: the name itself, or anything below it
BELOW = "/(?s:.)*"  # at the end: only what is below it


class Glob:
    """A sequence of pieces that has to match a whole name."""

    def __init__(self, pieces: Sequence[str]) -> None:
        self._pieces = pieces
        wildcards = sum(piece in (ANYTHING, _IN_FOLDER) for piece in pieces)
        self._regex = re.compile("".join(pieces)) if wildcards <= _MOST_WILDCARDS else None

    def matches(self, name: str) -> bool:
        if self._regex is not None:
            return self._regex.fullmatch(name) is not None
        rest = [False] * len(name) + [True]  # for each letter: whether the later pieces match the name from there on
        for piece in reversed(self._pieces):
            rest = _from_each_letter(piece, name, rest)
        return rest[0]


def _from_each_letter(piece: str, name: str, rest: Sequence[bool]) -> list[bool]:
    """For each letter of the name: whether this piece and the later ones match from there on."""
    if piece in (BELOW, OR_BELOW):
        return [*(letter == "/" for letter in name), piece == OR_BELOW]
    found = [False] * len(name) + [piece in (ANYTHING, _IN_FOLDER) and rest[-1]]
    if piece == FOLDERS:
        return _through_folders(name, rest)
    if piece in (ANYTHING, _IN_FOLDER):
        for at in range(len(name) - 1, -1, -1):
            found[at] = rest[at] or (found[at + 1] and (piece == ANYTHING or name[at] != "/"))
    else:
        accepts = re.compile(piece, re.S).fullmatch
        for at, letter in enumerate(name):
            found[at] = rest[at + 1] and accepts(letter) is not None
    return found


def _through_folders(name: str, rest: Sequence[bool]) -> list[bool]:
    found = list(rest)
    below = False  # whether the rest matches after some slash further on
    for at in range(len(name) - 1, -1, -1):
        below = below or (name[at] == "/" and rest[at + 1])
        found[at] = rest[at] or below
    return found


def pieces_of(pattern: str, *, folders: bool) -> list[str]:
    """`*` and `?` stay in a folder, `**` does not. With `folders`, `**/` also matches nothing."""
    known = {
        "**/": (FOLDERS,) if folders else (ANYTHING, "/"),
        "**": (ANYTHING,),
        "*": (_IN_FOLDER,),
        "?": ("[^/]",),
    }
    pieces: list[str] = []
    for part in re.findall(r"\*\*/|\*\*|[*?]|\[[^\]]{0,200}\]|.", pattern, re.S):
        if part in known:
            pieces += known[part]
        elif len(part) > 1 and _is_class(part.replace("[!", "[^")):
            pieces.append(part.replace("[!", "[^"))
        else:
            pieces += map(re.escape, part)
    return pieces


_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_MOST_ALTERNATIVES = 100


def alternatives(pattern: str) -> list[str]:
    """`*.{md,mdx}` is `*.md` and `*.mdx`. At most a hundred alternatives; the rest are dropped."""
    done: list[str] = []
    waiting = [pattern]
    while waiting and len(done) < _MOST_ALTERNATIVES:
        one = waiting.pop()
        braces = _BRACES.search(one)
        if braces is None or len(waiting) > _MOST_ALTERNATIVES:
            done.append(one)
        else:
            waiting += [one[: braces.start()] + part + one[braces.end() :] for part in reversed(braces[1].split(","))]
    return done


def _is_class(part: str) -> bool:
    """Whether it is a valid class. `[b-a]` and `[]` are not; they are read letter by letter."""
    try:
        re.compile(part)
    except re.error:
        return False
    return True
