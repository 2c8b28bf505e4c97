"""What a reader sees of the directives and tables of reStructuredText.

The names are those of docutils, of Sphinx and of its common extensions. A directive that is not listed here shows its
argument and its content, which is right for most: an unknown name costs no words. MyST uses the same names.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

# Content that is shown unchanged.
CODE = frozenset(
    (
        *("code", "code-block", "sourcecode", "literalinclude", "parsed-literal", "prompt", "console", "terminal"),
        *("doctest", "testcode", "testoutput", "testsetup", "testcleanup", "ipython", "jupyter-execute", "code-cell"),
        *("math", "productionlist", "graphviz", "digraph", "graph", "mermaid", "uml", "plantuml", "plot"),
        *("command-output", "program-output", "tikz", "thebe-button", "pyscript", "exec_code"),
    )
)
# Said before the content, which may begin on the line of the directive.
SPOKEN = {
    **{name: name.capitalize() for name in ("note", "tip", "hint", "important", "warning", "caution", "danger")},
    **{name: name.capitalize() for name in ("error", "attention", "todo", "info", "success", "question", "example")},
    "seealso": "See also",
    "versionadded": "Added in version",
    "versionchanged": "Changed in version",
    "versionremoved": "Removed in version",
    "deprecated": "Deprecated since version",
    "deprecated-removed": "Deprecated since version",
}
# Their content belongs to the page as if they were not there.
TRANSPARENT = frozenset(("only", "ifconfig"))
# Nothing of them is shown in their place, or only text that is made from other pages.
INVISIBLE = frozenset(
    (
        *("toctree", "index", "meta", "contents", "local-contents", "sectnum", "section-numbering", "highlight"),
        *("default-domain", "default-role", "role", "currentmodule", "py:currentmodule", "tabularcolumns", "header"),
        *(
            "sectionauthor",
            "codeauthor",
            "moduleauthor",
            "target-notes",
            "bibliography",
            "program",
            "title",
            "js:module",
        ),
        *("py:module", "module", "js:module", "tags", "date", "unicode", "include", "footer"),
    )
)
# Arguments that name a file, a class or a condition, which a reader does not see.
SILENT_ARGUMENT = frozenset(
    (
        *("image", "figure", "container", "rst-class", "cssclass", "grid", "grid-item", "tab-set", "tabs", "hlist"),
        *("table-wrapper", "card-carousel", "button-ref", "button-link", "youtube", "video", "inheritance-diagram"),
    )
)
_READ_OPTIONS = ("caption", "title", "alt", "header", "synopsis", "subtitle")

_DIRECTIVE = re.compile(
    r"\.\.[ \t]++(?:\|(?P<sub>[^|]+)\|[ \t]++)?(?P<name>(?:(?!_)\w)+(?:[-._+:](?:(?!_)\w)+)*) ?::"
    r"(?:[ \t]++(?P<arg>.*))?$"
)
_OPTION = re.compile(r"[ \t]+:((?:[^:\\]|\\.)+?):(?:[ \t]++(.*))?$")


@dataclass(frozen=True, slots=True)
class Directive:
    name: str
    argument: str
    head: int  # how many of the lines below the first are argument or options
    lines: Sequence[str]  # all lines below the first
    options: dict[str, str] = field(default_factory=dict)
    substitution: str = ""  # `.. |this| replace:: that`
    skip: int = 0  # where the argument begins on the first line

    @property
    def caption(self) -> str:
        return next((self.options[key] for key in ("caption", "title") if key in self.options), "")

    def code(self) -> str:
        """The content unchanged except for its indentation. The first line of a formula may be the argument."""
        body = [line.expandtabs(8) for line in self.lines[self.head :]]
        cut = min((len(line) - len(line.lstrip()) for line in body if line.strip()), default=0)
        text = "\n".join(line[cut:].rstrip() for line in body).strip("\n")
        if self.name in ("math", "productionlist", "digraph", "graph", "command-output", "program-output"):
            return "\n".join(filter(None, (self.argument, text)))
        return text

    def title(self) -> str:
        """The words of the directive itself."""
        said = [] if self.name in SILENT_ARGUMENT else [self.argument]
        if self.name in SPOKEN:
            said.insert(0, SPOKEN[self.name])
        said += [self.options[key] for key in _READ_OPTIONS if key in self.options]
        return "\n".join(part for part in said if part)

    def rows(self, inline: Callable[[str], str]) -> str:
        """The words of a table that is written as lists or as comma-separated values: a line for each row."""
        text = self.code()
        if self.name == "csv-table":
            lines = [line for line in (self.options.get("header", ""), *text.split("\n")) if line.strip()]
            try:
                cells = list(csv.reader(lines, skipinitialspace=True))
            except csv.Error:
                return inline(text)
            return "\n".join(" ".join(filter(None, (inline(cell.strip()) for cell in row))) for row in cells)
        rows: list[str] = []
        for row in re.split(r"^[*+-](?=\s)", text, flags=re.M):
            cells_of = re.split(r"^[ \t]+[*+-](?=\s|$)", row, flags=re.M)
            words = (inline(" ".join(cell.split())) for cell in cells_of)
            rows.append(" ".join(word for word in words if word))
        return "\n".join(row for row in rows if row)


def read_directive(first: str, below: Sequence[str]) -> Directive | None:
    """The directive that begins with the line `first`; None when it is a comment."""
    match = _DIRECTIVE.match(first)
    if match is None:
        return None
    name = match["name"].lower()
    argument = [match["arg"].strip()] if match["arg"] and match["arg"].strip() else []
    options: dict[str, str] = {}
    head = 0
    # In a directive of SPOKEN, the lines below the first are already content.
    if name not in SPOKEN or not argument:
        head, options = _read_head(name, argument, below)
    skip = match.start("arg") if match["arg"] else match.end()
    return Directive(name, "\n".join(argument), head, below, options, match["sub"] or "", skip)


def _read_head(name: str, argument: list[str], below: Sequence[str]) -> tuple[int, dict[str, str]]:
    """How many lines belong to the head, and its options. An argument that goes on is added to `argument`."""
    options: dict[str, list[str]] = {}
    head = 0
    last: list[str] | None = None  # the lines of the option that goes on
    for line in below:
        if not line.strip():
            break
        option = _OPTION.match(line)
        if option:
            last = options[option[1].lower()] = [(option[2] or "").strip()]
        elif last is not None:
            last.append(line.strip())
        elif argument and name not in CODE:
            argument.append(line.strip())
        else:
            break
        head += 1
    return head, {key: " ".join(lines).strip() for key, lines in options.items()}


def table_words(rows: Sequence[str], inline: Callable[[str], str]) -> str:
    """The words of a drawn table, a line for each row."""
    if rows[0].startswith("="):
        return _simple_words(rows, inline)
    said: list[str] = []
    cells: list[list[str]] = []
    for row in rows:
        if row.startswith("+") and not row.strip("+-= |"):
            said.append(_joined(cells, inline))
            cells = []
            continue
        parts = [part.strip() for part in row.strip().strip("|+").split("|")]
        if cells and len(parts) != len(cells):
            said.append(_joined(cells, inline))
            cells = []
        cells = cells or [[] for _ in parts]
        for cell, part in zip(cells, parts, strict=True):
            cell.append(part if part.strip("+-=") else "")
    said.append(_joined(cells, inline))
    return "\n".join(line for line in said if line)


def _joined(cells: Sequence[Sequence[str]], inline: Callable[[str], str]) -> str:
    words = (inline(" ".join(part for part in cell if part)) for cell in cells)
    return " ".join(word for word in words if word)


def _simple_words(rows: Sequence[str], inline: Callable[[str], str]) -> str:
    starts = [match.start() for match in re.finditer(r"=+", rows[0])]
    said: list[str] = []
    for row in rows:
        if not row.strip("=- "):
            continue
        cut = [*starts, max(len(row), starts[-1])]
        parts = [inline(row[a:b].strip()) for a, b in pairwise(cut)]
        said.append(" ".join(part for part in parts if part))
    return "\n".join(line for line in said if line)
