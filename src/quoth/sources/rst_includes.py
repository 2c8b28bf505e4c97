"""How reStructuredText and MyST include: `include`, `literalinclude`, and tables from a file.

A `Dialect` of `quoth.sources.includes`: it finds the directives in a text and says which file each one names and which
part of it is shown. Code becomes the code block that the reader sees. A directive inside a literal block is an example
and stays as it is. No file is opened here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import dedent, indent

from quoth.sources.includes import Dialect, Directive, bounded
from quoth.text.blocks import Block, leaves
from quoth.text.markdown import parse
from quoth.text.offsets import Stretches

_RST = re.compile(
    r"^(?P<space>[ \t]*)\.\.[ \t]+(?P<name>include|literalinclude|csv-table)::(?:[ \t]++(?P<said>[^\r\n]*+))?\r?$"
    r"(?P<options>(?:\n(?P=space)[ \t]+:[\w-]+:[^\n]*)*)",
    re.M,
)
_MYST = re.compile(
    r"^(?P<space>[ \t]*)(?P<fence>`{3,}|~{3,}|:{3,})\{(?P<name>include|literalinclude)\}"
    r"[ \t]++(?P<said>[^\r\n]++)\r?$"
    r"(?P<options>(?:\n[ \t]*:[\w-]+:[^\n]*)*|\n[ \t]*---[ \t]*\r?\n(?:[ \t]*[\w-]+:[^\n]*\n)*?[ \t]*---[ \t]*\r?$)"
    r"\s*^[ \t]*(?P=fence)[ \t]*\r?$",
    re.M,
)
_OPTION = re.compile(r"^[ \t]*:?([\w-]+):[ \t]*([^\r\n]*)", re.M)  # MyST also takes a block of YAML
_LANGUAGES = {
    "py": "python",
    "rs": "rust",
    "js": "javascript",
    "ts": "typescript",
    "sh": "bash",
    "yml": "yaml",
    "txt": "",
}
_Options = Mapping[str, str]
_LONGEST_PYTHON = 500_000  # characters of a file that is searched for an object: its tree takes a hundred times that


def sphinx_includes(source: Path) -> Dialect:
    """Paths with a leading slash start at `source`."""

    def find(text: str, path: Path, start: int) -> Iterator[Directive]:
        if "include" not in text and ":file:" not in text:
            return
        rst = path.suffix.lower() not in (".md", ".markdown")
        matches = list((_RST if rst else _MYST).finditer(text, start))
        if not matches:
            return
        literal = _Literal(text, start, rst=rst)
        for match in matches:
            options = {key: _unquoted(value.strip(), rst) for key, value in _OPTION.findall(match["options"])}
            directive = _directive(match, options, path.parent, source, rst)
            if directive is not None and not literal.holds(match.start("name")):
                yield directive

    return find


def _unquoted(value: str, rst: bool) -> str:
    """Options of MyST are YAML and may be quoted; those of reStructuredText are not."""
    return value[1:-1] if not rst and len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value


class _Literal:
    """The parts of a page that show text unchanged."""

    def __init__(self, text: str, start: int, *, rst: bool) -> None:
        blocks = leaves(parse(text, markup="rst" if rst else "myst", start=start))
        shown = [block for block in blocks if block.kind in ("code", "fence") and not _includes(block, text)]
        self._shown = Stretches((block.start, block.end) for block in shown)

    def holds(self, offset: int) -> bool:
        return self._shown.holding(offset) is not None


def _includes(block: Block, text: str) -> bool:
    """Whether the block is itself an include: a literalinclude is a fence."""
    if block.kind != "fence":
        return False
    opening = text[block.start : block.end].lstrip()
    return bool(_RST.match(opening) or re.match(r"[`~:]{3,}\{(?:literal)?include\}", opening))


def _directive(match: re.Match[str], options: _Options, folder: Path, source: Path, rst: bool) -> Directive | None:
    said = options.get("file", "") if match["name"] == "csv-table" else _said(match)
    if not said:
        return None
    space = match["space"]
    begin = match.start() + len(space)
    if said.startswith("<"):  # a file of definitions that comes with docutils
        return Directive(begin, match.end())
    target = source / said.lstrip("/") if said.startswith("/") else folder / said
    return Directive(begin, match.end(), target=target, take=_take(match, options, rst), said=said, indent=space)


def _said(match: re.Match[str]) -> str:
    return (match["said"] or "").rstrip(" \t")


def _take(match: re.Match[str], options: _Options, rst: bool) -> Callable[[str], str | None]:
    name, said = match["name"], _said(match)
    if name == "csv-table":
        head = match[0].strip()
        return lambda text: f"{head}\n\n{indent(text.rstrip(), '   ')}\n"
    literal = name == "literalinclude" or "literal" in options or "code" in options
    language = (
        options.get("language")
        or options.get("code")
        or _LANGUAGES.get(said.rsplit(".", 1)[-1], said.rsplit(".", 1)[-1])
    )

    def take(text: str) -> str | None:
        part = _part(text, options) if name == "literalinclude" else _between(text, options)
        if part is None or not literal:
            return None if part is None else part.rstrip("\n")
        code = dedent(part) if "dedent" in options else part
        code = "\n".join(filter(None, (options.get("prepend"), code.strip("\n").rstrip(), options.get("append"))))
        caption = options.get("caption", "")
        if not rst:
            fence = "`" * (max((len(run) for run in re.findall(r"`{3,}", code)), default=2) + 1)
            return f"{fence}{language}{f' title={chr(34)}{caption}{chr(34)}' if caption else ''}\n{code}\n{fence}"
        head = f".. code-block:: {language}".rstrip() + (f"\n   :caption: {caption}" if caption else "")
        return f"{head}\n\n{indent(code, '   ')}\n"

    return take


def _between(text: str, options: _Options) -> str | None:
    """The part that `include` takes: by lines, and then by words anywhere in it, as docutils does."""
    first, last = (_integer(options.get(key)) for key in ("start-line", "end-line"))
    if first is not None or last is not None:
        text = "\n".join(text.split("\n")[first:last])
    if options.get("start-after"):  # docutils ignores an empty one
        _, found, text = text.partition(options["start-after"])
        if not found:
            return None
    if options.get("end-before"):
        text, found, _ = text.partition(options["end-before"])
        if not found:
            return None
    return text


def _part(text: str, options: _Options) -> str | None:
    """The part that `literalinclude` takes, in whole lines; None when the file has no such part."""
    if "pyobject" in options:
        return _python_object(text, options["pyobject"])
    lines = text.splitlines()
    if "lines" in options:
        lines = bounded(map(lines.__getitem__, _numbers(options["lines"], len(lines))))
    for key, skipped in (("start-at", 0), ("start-after", 1)):
        if key in options:
            found = _line_with(options[key], lines)
            if found is None:
                return None
            lines = lines[found + skipped :]
    for key, kept in (("end-at", 1), ("end-before", 0)):
        if key in options:
            # The line that starts the part does not end it.
            found = _line_with(options[key], lines, 1 if "start-at" in options else 0)
            if found is None:
                return None
            lines = lines[: found + kept]
    return "\n".join(lines) + "\n"


def _line_with(words: str, lines: Sequence[str], first: int = 0) -> int | None:
    return next((number for number in range(first, len(lines)) if words in lines[number]), None)


def _integer(value: str | None) -> int | None:
    return int(value) if value and re.fullmatch(r"-?\d{1,9}", value) else None


def _numbers(spec: str, count: int) -> Iterator[int]:
    """`1-3, 5, 8-` as indices, without those that the file does not have."""
    for part in spec.split(","):
        first, dash, last = (piece.strip() for piece in part.partition("-"))
        begin = int(first[:10]) if first.isdecimal() else 1
        end = int(last[:10]) if last.isdecimal() else count if dash else begin
        yield from (number - 1 for number in range(max(begin, 1), min(end, count) + 1))


def _python_object(text: str, name: str) -> str | None:
    if len(text) > _LONGEST_PYTHON:
        return None
    try:
        body: list[ast.stmt] = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | None = None
    for part in name.split("."):
        defined = (n for n in body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)))
        found = next((n for n in defined if n.name == part), None)
        if found is None:
            return None
        body = found.body
    if found is None:
        return None
    first = min([found.lineno, *(decorator.lineno for decorator in found.decorator_list)])
    return "\n".join(text.splitlines()[first - 1 : found.end_lineno]) + "\n"
