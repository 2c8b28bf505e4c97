"""The fields of chunks that filters and the order of a book look at, as numbers in columns: part of `columns`.

In: payloads. Out: for filters, one truth value for each row. A column holds for each row the number of its value in a
sorted list of the values that occur, so a filter looks at each different value once and never at a payload. What a
filter means is decided by `Condition`.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quoth.chunks.payload import ORDER_FIELDS
from quoth.domain import Condition, Filters, conditions

FIELDS = (
    "url",
    "heading_path",
    "module",
    "chapter",
    "lesson",
    "hardware_tier",
    "proficiency_level",
    "layer",
    "parent_doc_id",
    *ORDER_FIELDS,
)

Value = Any  # a string, a number, or a tuple of strings; the same for all values of a field
Passing = NDArray[np.bool_]
Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Fields:
    codes: NDArray[np.uint32]  # a line for each of FIELDS, a column for each row; n means values[n - 1], 0 means none
    values: Mapping[str, Sequence[Value]]

    def passing(self, filters: Filters) -> Passing:
        """The values must be sorted."""
        passing = np.ones(self.codes.shape[1], dtype=np.bool_)
        for wanted in conditions(filters):
            passing &= _met(self.values[wanted.field], wanted)[self.codes[FIELDS.index(wanted.field)]]
        return passing

    def column(self, field: str) -> list[Value]:
        known = [None, *self.values[field]]
        return [known[code] for code in self.codes[FIELDS.index(field)].tolist()]


class FieldCodes:
    """Collects the fields of one chunk after another. Values are not sorted yet."""

    def __init__(self) -> None:
        self._codes = [array("I") for _ in FIELDS]
        self._known: list[dict[Value, int]] = [{} for _ in FIELDS]

    def add(self, payload: Mapping[str, Any]) -> None:
        for field, codes, known in zip(FIELDS, self._codes, self._known, strict=True):
            value = payload[field]
            if isinstance(value, list):
                value = tuple(value)
            codes.append(0 if value is None else known.setdefault(value, len(known) + 1))

    def fields(self) -> Fields:
        codes = np.array([np.frombuffer(column, dtype=np.uint32) for column in self._codes])
        return Fields(codes, dict(zip(FIELDS, map(list, self._known), strict=True)))


def united(parts: Sequence[tuple[Fields, Places]]) -> Fields:
    """The named rows of each part, one part after the other, with sorted values."""
    codes, values = [], {}
    for line, field in enumerate(FIELDS):
        chosen = [(part.codes[line][rows], part.values[field]) for part, rows in parts]
        values[field] = sorted({known[code - 1] for held, known in chosen for code in np.unique(held).tolist() if code})
        places = {value: place for place, value in enumerate(values[field], 1)}
        renamed = [
            np.array([0, *(places.get(value, 0) for value in known)], dtype=np.uint32)[held] for held, known in chosen
        ]
        codes.append(np.concatenate(renamed))
    return Fields(np.array(codes), values)


def _met(values: Sequence[Value], wanted: Condition) -> Passing:
    """For each code, whether its value meets the condition. There are many addresses and many pages, so these are not
    looked at one by one."""
    met = np.zeros(len(values) + 1, dtype=np.bool_)
    if wanted.prefix is not None:
        first = bisect_left(values, wanted.prefix)
        last = bisect_left(values, True, first, key=lambda value: not value.startswith(wanted.prefix))
        met[first + 1 : last + 1] = True
    elif wanted.equals is not None and not any(isinstance(value, tuple) for value in values[:1]):
        met[bisect_left(values, wanted.equals) + 1 : bisect_right(values, wanted.equals) + 1] = True
    else:
        met[1:] = [wanted.holds(value) for value in values]
    return met
