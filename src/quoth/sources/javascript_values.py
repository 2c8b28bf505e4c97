"""JavaScript values that are known without running the program, and what its operators make of them.

In: plain values, `Unknown` for a value that only a run would reveal, `Call` for the arguments of a function. Out: the
same. Knows nothing of tokens and modules.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

_MOST_CALLS = 60  # nested


class Unknown(NamedTuple):
    """A value that only running the program would reveal; `said` is how it is written, if it is a name."""

    said: str = ""


UNKNOWN: Final = Unknown()
SPREADS: Final = "..."  # the member of an object that holds its unknown spreads


class Call(NamedTuple):
    """`name(…)`: the result is not known, but the arguments may be."""

    name: str
    arguments: tuple[object, ...]


def first_object(value: object) -> Mapping[str, object]:
    """The object itself, or the first one inside calls, as in `withMermaid(defineConfig({…}))`; empty if there is
    none."""
    for _ in range(_MOST_CALLS):
        if isinstance(value, dict):
            return value
        if not isinstance(value, Call):
            break
        value = next((given for given in value.arguments if isinstance(given, (dict, Call))), None)
    return {}


def is_known(value: object) -> bool:
    return not isinstance(value, (Unknown, Call))


def unknown_spread(value: object, into: Mapping[str, object]) -> dict[str, object]:
    known = into.get(SPREADS, ())
    if is_known(value) or value == UNKNOWN:
        return {}
    return {SPREADS: (*(known if isinstance(known, tuple) else ()), value)}


def called(value: object) -> object:
    """The result of a call. A function of the file that only returns something is already that value."""
    return value if isinstance(value, (dict, list, str)) else UNKNOWN


def member(value: object, key: object) -> object:
    if isinstance(value, dict):
        return value.get(str(key))
    if isinstance(value, list) and isinstance(key, int) and 0 <= key < len(value):
        return value[key]
    return Unknown(f"{value.said}.{key}" if isinstance(value, Unknown) and value.said else "")


def signed(mark: str, value: object) -> object:
    if mark == "!":
        return not value if is_known(value) else UNKNOWN
    if not isinstance(value, (int, float)):
        return UNKNOWN
    return -value if mark == "-" else value


def joined(mark: str, left: object, right: object) -> object:
    if mark in ("||", "??"):
        missing = left is None if mark == "??" else not left
        return right if not is_known(left) or missing else left
    if mark == "&&" and is_known(left):
        return right if left else left
    if not is_known(left) or not is_known(right):
        return UNKNOWN
    if mark in ("===", "=="):
        return left == right
    if mark in ("!==", "!="):
        return left != right
    texts = isinstance(left, str) and isinstance(right, (str, int))
    return f"{left}{right}" if mark == "+" and texts else UNKNOWN
