"""The rows of a reStructuredText table, drawn or written as a directive, and their cells.

In: a text and where a table is in it. Out: its rows at their exact offsets, which of them are headers, and the words of
each cell. `units` quotes rows as they are written; `row_as_markdown` shows one as a reader of a page would see it.
Cells that span several columns or rows are shown in the first one.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from quoth.text.rst_inline import as_markdown

_COLUMN = re.compile(r"=+")
_OPTION = re.compile(r"[ \t]+:([\w-]+):[ \t]*(.*)")
_APART = re.compile(r"[ \t]{2,}")
_SHORT = 3  # marks of a border that the lead of a chunk had no room for
_SIMPLE_BORDER = re.compile(r"[ \t]*=+(?:[ \t]+=+)+[ \t\r]*$")
_GRID_BORDER = re.compile(r"\+(?:[-=]+\+)+\s*$")
_CELL_CODE = re.compile(r"(?:\.\. (?:code-block|code|sourcecode)::(?: \w+)?|::) (?P<code>.+)", re.S)
_CELL_DIRECTIVE = re.compile(
    r"(?:^|(?<= ))\.\. (?:(?:image|figure|class|rst-class)::(?: [^\s:]\S*)?(?: :\w+: \S+)*|[\w:-]+::)"
)
_LINE_MARK = re.compile(r"\A\|(?:[ \t]+|\Z)")
_ROW_MARK = re.compile(r"[*+-](?=\s|$)")


@dataclass(frozen=True, slots=True)
class Row:
    start: int
    end: int
    cells: tuple[str, ...]
    header: bool = False


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    end: int
    text: str  # with the margin before it, so that columns are in their place

    @property
    def indent(self) -> int:
        return len(self.text) - len(self.text.lstrip())


def table_rows(text: str, start: int, end: int) -> list[Row]:
    lines = list(_lines(text, start, end))
    first = lines[0].text.lstrip() if lines else ""
    if first.startswith(".. "):
        return list(_csv_rows(lines) if first.startswith(".. csv-table") else _list_rows(lines))
    if first.startswith("="):
        return list(_simple_rows(lines))
    if first.startswith("+"):
        return list(_grid_rows(lines))
    return [Row(line.start, line.end, (line.text.strip(),)) for line in lines if line.text.strip()]


def lost_borders(text: str) -> tuple[str, str]:
    """The lines before and after a piece of a page with which the drawn tables in it are whole again: copies of a
    border that a table still has where it was cut. Empty where nothing is lost."""
    lines = text.split("\n")
    before = _grid_border(lines)
    top, borders = "", 0  # of the simple table that is open
    for at, line in enumerate(lines):
        if not _SIMPLE_BORDER.match(line) or (top and len(line.strip()) != len(top.strip())):
            continue
        ends = not any(below.strip() for below in lines[at + 1 : at + 2])
        if not top and ends and at and lines[at - 1].strip() and not before:
            before = line
        elif not top:
            top, borders = line, 1
        else:
            borders += 1
            top = "" if ends or borders > 2 else top
    return before, top


def _grid_border(lines: Sequence[str]) -> str:
    """The next border of a grid table, if the piece begins between two of them."""
    for line in lines:
        said = line.strip()
        if said.startswith("+"):
            return line.replace("=", "-") if line != lines[0] and _GRID_BORDER.match(said) else ""
        if not said.startswith("|"):
            return ""
    return ""


def _cell_words(cell: str) -> str:
    """A cell without the marks of directives: a picture has no words, code is code."""
    if "::" not in cell:
        return cell
    if (code := _CELL_CODE.match(cell)) and "`" not in code["code"]:
        return f"``{code['code'].strip()}``"
    return " ".join(_CELL_DIRECTIVE.sub("", cell).split())


def row_as_markdown(cells: Sequence[str], columns: int) -> str:
    said = [as_markdown(_cell_words(" ".join(cell.split()))).replace("|", "\\|") for cell in cells]
    return f"| {' | '.join((*said, *[''] * (columns - len(said))))} |"


def rule(columns: int) -> str:
    """What Markdown wants below the header."""
    return f"|{' --- |' * columns}"


def _lines(text: str, start: int, end: int) -> Iterator[_Line]:
    at = start
    while at < end:
        stop = text.find("\n", at, end)
        stop = end if stop < 0 else stop
        margin = text.rfind("\n", 0, at) + 1
        yield _Line(at, at + len(text[at:stop].rstrip()), text[margin:stop].rstrip().expandtabs(8))
        at = stop + 1


# --- drawn -----------------------------------------------------------------------------------------------------------


def _simple_rows(lines: Sequence[_Line]) -> Iterator[Row]:
    """A row begins where the first column has text; other lines go on in the columns that have some."""
    starts = [column.start() for column in _COLUMN.finditer(lines[0].text)]
    ends = [column.end() for column in _COLUMN.finditer(lines[0].text)]
    borders = [at for at, line in enumerate(lines) if not line.text.strip("= ") and "=" in line.text]
    head = borders[1] if len(borders) > 2 else 0
    gathered: list[tuple[_Line, bool]] = []
    for at, line in enumerate(lines):
        if not line.text.strip("=- "):
            continue
        begins = bool(line.text[: (*starts, len(line.text))[1]].strip())
        if begins and gathered:
            yield _columns(gathered, starts, ends)
            gathered = []
        gathered.append((line, at < head))
    if gathered:
        yield _columns(gathered, starts, ends)


def _columns(gathered: Sequence[tuple[_Line, bool]], starts: Sequence[int], ends: Sequence[int]) -> Row:
    first = gathered[0][0].text
    shortened = all(b - a == _SHORT for a, b in zip(starts, ends, strict=True))
    if shortened and any(first[a:b].strip() for a, b in zip(ends, starts[1:], strict=False)):
        apart = _APART.split(first.strip(), maxsplit=len(starts) - 1)
        return Row(gathered[0][0].start, gathered[-1][0].end, tuple(apart), gathered[0][1])
    cells = [
        " ".join(_cell_line(line.text[a:b]) for line, _ in gathered).strip() for a, b in pairwise((*starts, 1_000_000))
    ]
    return Row(gathered[0][0].start, gathered[-1][0].end, tuple(cells), gathered[0][1])


def _grid_rows(lines: Sequence[_Line]) -> Iterator[Row]:
    head = next((at for at, line in enumerate(lines) if set(line.text.strip()) <= set("+=") and "=" in line.text), 0)
    gathered: list[_Line] = []
    for at, line in enumerate(lines):
        if not line.text.lstrip().startswith("+"):
            gathered += [line] if line.text.strip() else []
        elif gathered:
            yield _cells_of(gathered, header=at <= head)
            gathered = []
    if gathered:
        yield _cells_of(gathered, header=False)


def _cell_line(said: str) -> str:
    """Without the mark of a line block."""
    return _LINE_MARK.sub("", said.strip())


def _cells_of(gathered: Sequence[_Line], *, header: bool) -> Row:
    parts = [[cell.strip() for cell in line.text.strip().strip("|").split("|")] for line in gathered]
    most = max(map(len, parts))
    cells = (" ".join(part[at] for part in parts if at < len(part)).strip() for at in range(most))
    return Row(gathered[0].start, gathered[-1].end, tuple(cells), header)


# --- directives ------------------------------------------------------------------------------------------------------


def _head(lines: Sequence[_Line]) -> tuple[dict[str, tuple[str, _Line]], Sequence[_Line]]:
    """The options, each with its line, and the lines of the content."""
    options: dict[str, tuple[str, _Line]] = {}
    at = 1
    while at < len(lines) and lines[at].text.strip():
        option = _OPTION.match(lines[at].text)
        if option:
            options[option[1]] = option[2], lines[at]
        at += 1
    return options, [line for line in lines[at:] if line.text.strip()]


def _csv_rows(lines: Sequence[_Line]) -> Iterator[Row]:
    options, content = _head(lines)
    heads = _number(options)
    if "header" in options:
        words, line = options["header"]
        yield Row(line.start, line.end, _csv_cells(words), header=True)
    for at, line in enumerate(content):
        yield Row(line.start, line.end, _csv_cells(line.text.strip()), header=at < heads)


def _csv_cells(line: str) -> tuple[str, ...]:
    try:
        return tuple(next(csv.reader([line], skipinitialspace=True), []))
    except csv.Error:
        return (line,)


def _list_rows(lines: Sequence[_Line]) -> Iterator[Row]:
    options, content = _head(lines)
    heads = _number(options)
    base = content[0].indent if content else 0
    begins = [at for at, line in enumerate(content) if line.indent == base and _ROW_MARK.match(line.text.strip())]
    for number, (first, last) in enumerate(pairwise((*begins, len(content)))):
        row = content[first:last]
        yield Row(row[0].start, row[-1].end, tuple(_list_cells(row)), header=number < heads)


def _list_cells(row: Sequence[_Line]) -> Iterator[str]:
    """The items of the row's own list: the mark of the first one tells their column."""
    text = " " * row[0].indent + " " + row[0].text.strip()[1:]
    column = len(text) - len(text.lstrip())
    cell: list[str] = []
    for line in (text, *(line.text for line in row[1:])):
        said = line.strip()
        if len(line) - len(line.lstrip()) == column and _ROW_MARK.match(said):
            if cell:
                yield " ".join(cell).strip()
            cell = [_cell_line(said[1:])]
        else:
            cell.append(_cell_line(said))
    if cell:
        yield " ".join(cell).strip()


def _number(options: dict[str, tuple[str, _Line]]) -> int:
    said = options.get("header-rows", ("0", None))[0].strip()
    return int(said) if said.isdigit() else 0
