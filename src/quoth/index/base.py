"""A base of a book on disk: the files of its columns and its payloads. Written once, mapped by readers, never changed.

`write_base` puts the wanted rows of several parts (the previous base, and what a draft has gathered) into one folder,
in the order of ids; `Base.open` maps the folder. All files but the payloads are `.npy` or JSON, so any tool can look
into them. Files are written, not mapped for writing, so a full disk is an error and not a signal that kills the
process. Which base is live, and whether its files are undamaged, is the business of `generations`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from quoth.domain import Filters
from quoth.index.columns import Columns, Floats, Rows, TermLists, signs_of
from quoth.index.fields import Fields, Places, united
from quoth.index.generations import damaged
from quoth.index.payload_file import PayloadFile, PayloadWriter

PAYLOADS = "payloads.jsonl"
_VALUES = "values.json"
_VECTORS = "vectors"
_BLOCK = 1024  # rows that are copied at a time


class Lines(Protocol):
    def line(self, row: int) -> bytes:
        """The payload of a row, as it is written."""


@dataclass(frozen=True, slots=True)
class Part:
    """Rows for a base; only those in `wanted` go into it."""

    rows: Rows
    lines: Lines
    wanted: Places


@dataclass(frozen=True, slots=True)
class Base:
    columns: Columns
    payloads: PayloadFile

    @classmethod
    def open(cls, folder: Path) -> Base:
        try:
            fields = Fields(_mapped(folder, "codes"), _read_values(folder / _VALUES))
            rows = Rows(
                ids=_mapped(folder, "ids"),
                vectors=_mapped(folder, _VECTORS),
                starts=_mapped(folder, "row_starts"),
                terms=_mapped(folder, "row_terms"),
                weights=_mapped(folder, "row_weights"),
                fields=fields,
            )
            lists = TermLists(
                terms=_mapped(folder, "term_ids"),
                starts=_mapped(folder, "term_starts"),
                rows=_mapped(folder, "term_rows"),
                weights=_mapped(folder, "term_weights"),
            )
            payloads = PayloadFile(
                folder / PAYLOADS, _mapped(folder, "payload_starts"), _mapped(folder, "payload_sums")
            )
            return cls(Columns(rows, _mapped(folder, "signs"), lists), payloads)
        except (OSError, ValueError) as error:
            raise damaged((folder, f"cannot be read: {error}")) from error

    def part(self, without: Collection[str]) -> Part:
        left = self.columns.without(without).matching(Filters())
        return Part(self.columns.rows, self.payloads, np.array(list(left.values()), dtype=np.intp))


def write_base(folder: Path, parts: Sequence[Part]) -> None:
    ids = np.concatenate([part.rows.ids[part.wanted] for part in parts])
    order = np.argsort(ids)
    of_part = np.repeat(np.arange(len(parts)), [len(part.wanted) for part in parts])[order]
    of_row = np.concatenate([part.wanted for part in parts])[order]
    sources = [(parts[part], row) for part, row in zip(of_part.tolist(), of_row.tolist(), strict=True)]
    fields = united([(part.rows.fields, part.wanted) for part in parts])
    _write_payloads(folder, sources)
    with (folder / _VALUES).open("w", encoding="utf-8") as file:
        json.dump(fields.values, file, ensure_ascii=False, separators=(",", ":"))
    _save(folder, "codes", fields.codes[:, order])
    _save(folder, "ids", ids[order])
    _write_vectors(folder, parts, of_part, of_row)
    _write_terms(folder, sources)


def _write_payloads(folder: Path, sources: Sequence[tuple[Part, int]]) -> None:
    with (folder / PAYLOADS).open("wb") as file:
        payloads = PayloadWriter(file)
        for part, row in sources:
            payloads.add_line(part.lines.line(row))
    _save(folder, "payload_starts", payloads.starts)
    _save(folder, "payload_sums", payloads.sums)


def _write_vectors(folder: Path, parts: Sequence[Part], of_part: Places, of_row: Places) -> None:
    """Block by block: vectors are half of a base, and need not be in memory at once."""
    shape = (len(of_row), parts[0].rows.vectors.shape[1])
    signs = []
    with (folder / f"{_VECTORS}.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": shape})
        for start in range(0, max(1, len(of_row)), _BLOCK):
            block: Floats = np.empty((len(of_row[start : start + _BLOCK]), shape[1]), dtype=np.float32)
            for number, part in enumerate(parts):
                here = of_part[start : start + _BLOCK] == number
                block[here] = part.rows.vectors[of_row[start : start + _BLOCK][here]]
            file.write(block.tobytes())
            signs.append(signs_of(block))
    _save(folder, "signs", np.hstack(signs))


def _write_terms(folder: Path, sources: Sequence[tuple[Part, int]]) -> None:
    """Twice: the terms of each row, for edits and exports, and the rows of each term, for searches."""
    spans = [(part.rows, slice(*part.rows.starts[row : row + 2].tolist())) for part, row in sources]
    starts = np.array([0, *accumulate(span.stop - span.start for _, span in spans)], dtype=np.int64)
    terms = np.concatenate([np.empty(0, np.uint32), *(rows.terms[span] for rows, span in spans)])
    weights = np.concatenate([np.empty(0, np.float32), *(rows.weights[span] for rows, span in spans)])
    lists = TermLists.of(starts, terms, weights)
    for name, column in {
        "row_starts": starts,
        "row_terms": terms,
        "row_weights": weights,
        "term_ids": lists.terms,
        "term_starts": lists.starts,
        "term_rows": lists.rows,
        "term_weights": lists.weights,
    }.items():
        _save(folder, name, column)


def _read_values(file: Path) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = json.loads(file.read_text("utf-8"))
    return {
        field: [tuple(value) if isinstance(value, list) else value for value in values]
        for field, values in found.items()
    }


def _save(folder: Path, name: str, values: NDArray[Any]) -> None:
    with (folder / f"{name}.npy").open("wb") as file:
        np.save(file, values, allow_pickle=False)


def _mapped(folder: Path, name: str) -> NDArray[Any]:
    # A plain view: a memmap would spend its time making a memmap of every slice.
    column: NDArray[Any] = np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False).view(np.ndarray)
    return column
