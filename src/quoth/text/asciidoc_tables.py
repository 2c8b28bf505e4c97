"""The cells of an AsciiDoc table → words, line by line, so that any piece of a table reads as the whole does."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence

from quoth.text.asciidoc_inline import as_markdown, inline
from quoth.text.asciidoc_lines import ATTRIBUTES, BULLET, CALLOUT, COMMENT, NUMBER, BlockAttributes, delimiter

_SPEC = r"(?:(?:\d+(?:\.\d*)?|(?:\d*\.)?\d+)[*+])?(?:[<^>](?:\.[<^>]?)?|(?:[<^>]?\.)?[<^>])?[a-z]?"
_BEFORE = re.compile(rf"(?:^|(?<=[ \t])){_SPEC}$")
_LONGEST_SPEC = 24


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


def row_as_markdown(line: str, *, header: bool = False) -> str:
    """One line of a table as a row of a table in Markdown; below a header, the rule that Markdown wants."""
    cells = [as_markdown(_without_mark(cell)).replace("|", "\\|") for cell in cells_of(line.strip(), "|")]
    row = f"| {' | '.join(cells)} |"
    return f"{row}\n|{' --- |' * len(cells)}" if header else row


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
