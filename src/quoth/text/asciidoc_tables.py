"""The cells of an AsciiDoc table → words, line by line, so that any piece of a table reads as the whole does."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence

from quoth.text.asciidoc_inline import as_markdown, inline
from quoth.text.asciidoc_lines import ATTRIBUTES, BULLET, CALLOUT, COMMENT, NUMBER, BlockAttributes, delimiter

_SPEC = r"(?:(?:\d+(?:\.\d*)?|(?:\d*\.)?\d+)[*+])?(?:[<^>](?:\.[<^>]?)?|(?:[<^>]?\.)?[<^>])?[a-z]?"
_BEFORE = re.compile(rf"(?:^|(?<=[ \t])){_SPEC}$")
_LONGEST_SPEC = 24
_MOST_COLUMNS = 64
_SEPARATOR = re.compile(r"(?<!\\)\|")
_SPAN = re.compile(r"(?:^|(?<=[ \t]))(\d{1,3})(?:\.\d*)?\+[<^>.a-z]*$")
_COLS = re.compile(r"\bcols=(?:\"(?P<quoted>[^\"]*)\"|(?P<bare>[^\s,\]\"]+))")
_TIMES = re.compile(r"(\d{1,3})\*")


def separator_of(opening: str, attributes: BlockAttributes) -> str:
    """The character between cells; a comma or a colon if the table is written as CSV or DSV."""
    said = attributes.get("separator")
    if said:
        return "\t" if said in ("\\t", "tab") else said[0]
    formats = {"csv": ",", "tsv": "\t", "dsv": ":"}
    return formats.get(attributes.get("format"), "" if opening[:1] not in "|,:!" else opening[0])


def table_words(lines: Sequence[str], separator: str) -> str:
    words: list[str] = []
    for line in lines:
        said = _line_words(line, separator)
        if said:
            words.append(said)
    return "\n".join(words)


def cells_of(line: str, separator: str) -> list[str]:
    """What one line says, cell by cell. A line may also continue the cell above it."""
    if separator in (",", "\t"):
        return next(iter(csv.reader([line], delimiter=separator)), [])
    parts = re.split(rf"(?<!\\){re.escape(separator)}", line)
    if len(parts) == 1:
        return parts
    cells = [_without_spec(part) for part in parts[:-1]] + [parts[-1]]
    cells = [cell.replace(f"\\{separator}", separator) for cell in cells]
    return cells if cells[0].strip() else cells[1:]


def rows_of(text: str, lines: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Where the rows of a table are. Its cells may be on lines of their own; its columns are counted by its attributes
    or by its first line. `lines` are those of the table, without blank ones."""
    columns, row, held = 0, (-1, -1), 0  # the row that is read, and how many cells it holds
    shown = [(first, last) for first, last in lines if not _is_markup(text[first:last].strip())]
    attributes = (said for first, last in lines if ATTRIBUTES.match(said := text[first:last].strip()))
    columns = next((count for said in attributes if (count := _columns(said))), 0)
    columns = columns or (_count(text[slice(*shown[0])]) if shown else 1)
    apart = _blank_before(text, shown)
    for at, (first, last) in enumerate(shown):
        count = _count(text[first:last])
        new = count and held + count > columns
        if row[0] >= 0 and (new or (at in apart and _cells_until_blank(text, shown, at, apart) == columns)):
            yield row
            row, held = (-1, -1), 0
        row = (first if row[0] < 0 else row[0], last)
        held += count
    if row[0] >= 0:
        yield row


def _is_markup(said: str) -> bool:
    return bool(delimiter(said)) or bool(ATTRIBUTES.match(said)) or bool(COMMENT.match(said))


def _columns(attributes: str) -> int:
    """How many columns `cols` names: `"1,2"`, `3*`, `"2*~,a"`; 0 without it."""
    said = _COLS.search(attributes)
    if said is None:
        return 0
    counts = (_TIMES.match(part.strip()) for part in re.split(r"[,;]", said["quoted"] or said["bare"] or ""))
    return sum(min(int(found[1]), _MOST_COLUMNS) if found else 1 for found in counts)


def _count(line: str) -> int:
    """How many cells begin on a line; a cell over several columns counts as several."""
    parts = _SEPARATOR.split(line)
    spans = (_SPAN.search(part[-_LONGEST_SPEC:]) for part in parts[:-1])
    return sum(min(int(found[1]), _MOST_COLUMNS) if found else 1 for found in spans)


def _blank_before(text: str, lines: Sequence[tuple[int, int]]) -> frozenset[int]:
    """The lines that a blank line precedes."""
    gaps = ((at, text[lines[at - 1][1] : first]) for at, (first, _) in enumerate(lines) if at)
    return frozenset(at for at, gap in gaps if gap.count("\n") > 1)


def _cells_until_blank(text: str, lines: Sequence[tuple[int, int]], at: int, apart: frozenset[int]) -> int:
    """How many cells there are up to the next blank line; more than a row has is as good as any."""
    count = 0
    for number in range(at, min(at + _MOST_COLUMNS, len(lines))):
        if number > at and number in apart:
            break
        count += _count(text[slice(*lines[number])])
    return count


def row_as_markdown(row: str, *, header: bool = False) -> str:
    """A row of a table as Markdown has it; below a header, the rule that Markdown wants."""
    written: list[str] = []
    for line in row.strip().splitlines():
        if not line.strip() or COMMENT.match(line):
            continue
        parts, found = _SEPARATOR.split(line.strip()), cells_of(line.strip(), "|")
        before = _without_spec(parts[0]) if len(parts) > 1 else parts[0]
        if written and before.strip():  # the cell above goes on
            written[-1] += f" {_without_mark(found.pop(0).strip())}"
        written += found
    cells = [as_markdown(_without_mark(cell)).replace("|", "\\|") for cell in written]
    shown = f"| {' | '.join(cells)} |"
    return f"{shown}\n|{' --- |' * len(cells)}" if header else shown


def _line_words(line: str, separator: str) -> str:
    bare = line.strip()
    if not bare or delimiter(bare) or ATTRIBUTES.match(bare) or bare == "+" or COMMENT.match(line):
        return ""
    if separator == "|" and bare.startswith("!"):
        separator = "!"  # a table in a cell
    return " ".join(filter(None, (inline(_without_mark(cell)) for cell in cells_of(line, separator))))


def _without_spec(cell: str) -> str:
    """The text before a separator, without the spec of the cell that begins there."""
    end = cell[-_LONGEST_SPEC:]
    spec = _BEFORE.search(end)
    return cell[: len(cell) - len(end) + spec.start()] if spec and spec[0] else cell


def _without_mark(cell: str) -> str:
    for mark in (BULLET, NUMBER, CALLOUT):
        if found := mark.match(cell):
            return cell[found.end() :]
    return cell
