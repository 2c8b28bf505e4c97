"""How reStructuredText and MyST include: `include`, `literalinclude`, and tables from a file.

A `Dialect` of `quoth.sources.includes`: it finds the directives of a text and says which file each names and what of it
is shown. Code comes as the code block that the reader sees. A directive that stands in a literal block is an example
and stays. No file is opened here.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from textwrap import dedent, indent

from quoth.sources.includes import Dialect, Directive
from quoth.text.blocks import Block, leaves
from quoth.text.markdown import parse

_RST = re.compile(
    r"^(?P<space>[ \t]*)\.\.[ \t]+(?P<name>include|literalinclude|csv-table)::(?:[ \t]+(?P<said>[^\r\n]*?))?[ \t]*\r?$"
    r"(?P<options>(?:\n(?P=space)[ \t]+:[\w-]+:[^\n]*)*)",
    re.M,
)
_MYST = re.compile(
    r"^(?P<space>[ \t]*)(?P<fence>`{3,}|~{3,}|:{3,})\{(?P<name>include|literalinclude)\}"
    r"[ \t]+(?P<said>[^\r\n]+?)[ \t]*\r?$"
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
Options = Mapping[str, str]


def sphinx_includes(source: Path) -> Dialect:
    """Paths that begin with a slash are looked for below `source`."""

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
    """Options of MyST are YAML, those of reStructuredText are what they are."""
    return value[1:-1] if not rst and len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value


class _Literal:
    """Where a page shows text as it stands."""

    def __init__(self, text: str, start: int, *, rst: bool) -> None:
        blocks = leaves(parse(text, markup="rst" if rst else "myst", start=start))
        shown = [block for block in blocks if block.kind in ("code", "fence") and not _includes(block, text)]
        self._starts = [block.start for block in shown]
        self._ends = [block.end for block in shown]

    def holds(self, offset: int) -> bool:
        index = bisect_right(self._starts, offset) - 1
        return index >= 0 and offset < self._ends[index]


def _includes(block: Block, text: str) -> bool:
    """A literalinclude is a fence itself."""
    if block.kind != "fence":
        return False
    opening = text[block.start : block.end].lstrip()
    return bool(_RST.match(opening) or re.match(r"[`~:]{3,}\{(?:literal)?include\}", opening))


def _directive(match: re.Match[str], options: Options, folder: Path, source: Path, rst: bool) -> Directive | None:
    said = options.get("file", "") if match["name"] == "csv-table" else match["said"] or ""
    if not said:
        return None
    space = match["space"]
    begin = match.start() + len(space)
    if said.startswith("<"):  # definitions that come with docutils
        return Directive(begin, match.end())
    target = source / said.lstrip("/") if said.startswith("/") else folder / said
    return Directive(begin, match.end(), target=target, take=_take(match, options, rst), said=said, indent=space)


def _take(match: re.Match[str], options: Options, rst: bool) -> Callable[[str], str | None]:
    name, said = match["name"], match["said"] or ""
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


def _between(text: str, options: Options) -> str | None:
    """What `include` takes: by lines, and then by words that stand anywhere in it, as docutils does."""
    first, last = (_integer(options.get(key)) for key in ("start-line", "end-line"))
    if first is not None or last is not None:
        text = "\n".join(text.split("\n")[first:last])
    if options.get("start-after"):  # docutils takes one without words for none
        _, found, text = text.partition(options["start-after"])
        if not found:
            return None
    if options.get("end-before"):
        text, found, _ = text.partition(options["end-before"])
        if not found:
            return None
    return text


def _part(text: str, options: Options) -> str | None:
    """What `literalinclude` takes, whole lines; None when the file has no such part."""
    if "pyobject" in options:
        return _python_object(text, options["pyobject"])
    lines = text.splitlines()
    if "lines" in options:
        lines = [lines[number] for number in _numbers(options["lines"], len(lines))]
    for key, inclusive in (("start-at", True), ("start-after", False)):
        if key in options:
            found = next((n for n, line in enumerate(lines) if options[key] in line), -1)
            if found < 0:
                return None
            lines = lines[found if inclusive else found + 1 :]
    for key, inclusive in (("end-at", True), ("end-before", False)):
        if key in options:
            skip = 1 if "start-at" in options else 0  # the line that starts the part does not end it
            found = next((n for n, line in enumerate(lines) if n >= skip and options[key] in line), -1)
            if found < 0:
                return None
            lines = lines[: found + 1 if inclusive else found]
    return "\n".join(lines) + "\n"


def _integer(value: str | None) -> int | None:
    return int(value) if value and re.fullmatch(r"-?\d+", value) else None


def _numbers(spec: str, count: int) -> Iterator[int]:
    """`1-3, 5, 8-` as indices, those that the file does not have left out."""
    for part in spec.split(","):
        first, dash, last = (piece.strip() for piece in part.partition("-"))
        begin = int(first) if first.isdecimal() else 1
        end = int(last) if last.isdecimal() else count if dash else begin
        yield from (number - 1 for number in range(max(begin, 1), min(end, count) + 1))


def _python_object(text: str, name: str) -> str | None:
    try:
        body: list[ast.stmt] = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError):
        return None
    found: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | None = None
    for part in name.split("."):
        found = next(
            (
                n
                for n in body
                if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and n.name == part
            ),
            None,
        )
        if found is None:
            return None
        body = found.body
    if found is None:
        return None
    first = min([found.lineno, *(decorator.lineno for decorator in found.decorator_list)])
    return "\n".join(text.splitlines()[first - 1 : found.end_lineno]) + "\n"
