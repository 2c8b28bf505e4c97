"""reStructuredText and AsciiDoc → the stretches of a text that are prose, an item, a row, code or a heading.

`quoth.text.sentences` cuts prose and items into sentences; the rest is quoted as it is. In: the raw text of a chunk,
and the opening lines that a cut block repeats before it. Out: exact offsets, without the marks of lists and directives.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache

from quoth.domain import Markup
from quoth.text.asciidoc import parse_asciidoc
from quoth.text.asciidoc_lines import ATTRIBUTES, BULLET, CALLOUT, NUMBER, TITLE, delimiter
from quoth.text.asciidoc_tables import rows_of as asciidoc_rows
from quoth.text.blocks import Block, Stretch, UnitKind, leaves
from quoth.text.entries import described, describes, lost_margin
from quoth.text.rst import parse_rst
from quoth.text.rst_directives import SILENT_ARGUMENT, SPOKEN
from quoth.text.rst_tables import Row, lost_borders, table_rows

_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n|\Z)")
# The marks before the words of a list item, a field or a directive on their first line.
_RST_OPENING = r"(?:\||\.\.[ \t]+(?:\[[^\]\n]+\]|(?:\|[^|\n]+\|[ \t]+)?[\w:.+-]+::))[ \t]+"
_RST_MARKS = {
    "prose": re.compile(f"(?:{_RST_OPENING})*"),
    "item": re.compile(rf"(?:(?:[-+*•‣⁃]|\(?(?:\d+|#|[A-Za-z])[.)]|:[^:\n]+:)[ \t]+|{_RST_OPENING})*"),
}
_RST_TEMPLATE = re.compile(r"\s*(?:\{%[^\r\n]*?%\}\s*)*")
_RST_BETWEEN = re.compile(
    r"^[ \t]*(?:(?P<rule>([=\-`:.'\"~^_*+#])\2{3,})|\{%[^\r\n]*%\}"
    r"|\.\.[ \t]+[\w:+-]+::(?:[ \t][^\r\n]*)?(?:\r?\n[ \t]+:[\w-]+:[^\r\n]*)*)[ \t]*$",
    re.M,
)
_RST_NAME = re.compile(r"\.\.[ \t]+(\|)?(?:(?<!\|)([\w:+-]+)::[ \t]*([^\r\n]*))?")
_ENDED = re.compile(r"[.!?:…]\W*\Z")
_RST_OPTIONS = re.compile(r"(?:\r\n?|\n)[ \t]+:[\w-]+:(?:[ \t][^\r\n]*)?(?=\r|\n|\Z)")
# A statement, a call, a comment, a prompt, a tag or a bracket; not a sentence, a directive or a field.
_CODE_LINE = re.compile(
    r"^(?!\s*(?:\.\. |:\w+:|[-*+] |\w+\.\s))\s*(?:[#$>]|//|@\w|<[/!\w]|[)\]}]|['\"]{1,3}\s*$"
    r"|(?:return|import|raise|print)\b.*(?<![.?!])$|from \S+ import "
    r"|(?:def|class|if|elif|for|while|with|try|else)\b.*:$"
    r"|[\w.\[\]'\"]+(?: [+*/-]?= |\().*(?<![.?!])$)"
)
_ASCIIDOC_COMMENT = re.compile(r"^//(?!/)[^\r\n]*", re.M)
# A directive that shows code: its line and its options are not code.
_RST_HEAD = re.compile(r"\.\.[ \t][^\r\n]*(?:\r\n?|\n)(?:[ \t]+:[\w-]+:[^\r\n]*(?:\r\n?|\n))*(?:[ \t]*(?:\r\n?|\n))*")


def stretches(text: str, lead: str, markup: Markup) -> Iterator[Stretch]:
    rst = markup == "rst"
    leaf = _rst_leaf if rst else _asciidoc_leaf
    inside = 0 if lead or not rst else _cut_code(text)
    if inside:
        yield 0, len(text[:inside].rstrip()), "code"
        yield from ((inside + first, inside + last, kind) for first, last, kind in stretches(text[inside:], "", markup))
        return
    shown, before = _completed(text, lead) if rst else (f"{lead}\n{text}", len(lead) + 1) if lead else (text, 0)
    for block in parse_rst(shown, whole=False) if rst else parse_asciidoc(shown, whole=False):
        for first, last, kind in _of(shown, block, leaf, "prose"):
            start, end = max(first - before, 0), min(last - before, len(text))
            if end > start:
                yield start, end, kind


@lru_cache(maxsize=256)  # the rows of one table are shown one by one
def rst_tables(text: str, lead: str) -> tuple[tuple[Row, ...], ...]:
    """The tables of a chunk, with offsets in its text; those of what it repeats from before are negative."""
    shown, before = _completed(text, lead)
    found = []
    for block in leaves(parse_rst(shown, whole=False)):
        if block.kind == "table":
            rows = table_rows(shown, block.start, block.end)
            found.append(tuple(replace(row, start=row.start - before, end=row.end - before) for row in rows))
    return tuple(found)


def _cut_code(text: str) -> int:
    """Where code ends that began in the chunk before: a literal block has no opening line to repeat. Its lines are
    indented, apart from the first one, and most of them look like code."""
    first, _, rest = text.partition("\n")
    if not _CODE_LINE.search(first) or not rest[:1].isspace():
        return 0
    end, lines = len(first) + 1, [first]
    for line in rest.splitlines(keepends=True):
        if line.strip() and not line[0].isspace():
            break
        end += len(line)
        lines += [line] if line.strip() else []
    return end if 2 * sum(_CODE_LINE.search(line) is not None for line in lines) > len(lines) > 1 else 0


def _completed(text: str, lead: str) -> tuple[str, int]:
    """The text below its lead, with what it lost where it was cut: the margin of its first line and the borders of its
    tables. And where it begins."""
    above = f"{lead}\n" if lead else lost_margin(text)
    shown, at = above + text, len(above)
    if "==" not in shown and "-+" not in shown:
        return shown, at
    before, after = lost_borders(shown)
    if before:
        shown, at = f"{before}\n{shown}", at + len(before) + 1
    return (f"{shown}\n{after}" if after else shown), at


def _of(
    text: str,
    block: Block,
    leaf: Callable[[str, Block, int, UnitKind], Iterator[Stretch]],
    kind: UnitKind,
    behind: int = 0,
) -> Iterator[Stretch]:
    """The stretches of a block behind an offset. A term and the paragraph that explains it are one."""
    inside: UnitKind = "item" if block.kind == "item" else kind
    if term := described(block):
        body = _first(block.children[1])
        start, behind = _first_word(text, term), (body if body.kind == "paragraph" else term).end
        yield from _rst_words(text, start, behind, inside)
    for child in block.children:
        yield from _of(text, child, leaf, inside, behind)
    if not block.children and block.kind not in ("markup", "label") and block.start >= behind:
        source = text[block.start : block.end]
        yield from leaf(text, block, block.start + len(source) - len(source.lstrip()), kind)


def _first(block: Block) -> Block:
    """What a block begins with. Where a margin was lost, what a term means may be taken for a quote."""
    while block.kind == "quote" and block.children:
        block = block.children[0]
    return block


def _first_word(text: str, label: Block) -> int:
    """Where a term begins, behind the mark of its directive."""
    source = text[label.start : label.end]
    start = label.start + len(source) - len(source.lstrip())
    mark = _RST_MARKS["prose"].match(text, start, label.end)
    return mark.end() if mark else start


def _rst_leaf(text: str, block: Block, start: int, kind: UnitKind) -> Iterator[Stretch]:
    if block.kind in ("code", "fence", "heading"):
        head = _RST_HEAD.match(text, start, block.end)
        yield head.end() if head else start, block.end, "heading" if block.kind == "heading" else "code"
    elif block.kind == "html" or _says_nothing(_RST_NAME.match(text, start, block.end)):
        return  # `.. raw:: html`: nobody reads tags
    elif block.kind == "table":
        for number, row in enumerate(table_rows(text, block.start, block.end)):
            yield row.start, row.end, "header" if row.header and not number else "row"
    elif bare := _bare(text, start, block.end):
        yield bare
    else:
        mark = _RST_MARKS[kind].match(text, start, block.end)
        options = _RST_OPTIONS.search(text, start, block.end) if text.startswith("..", start) else None
        yield from _rst_words(text, mark.end() if mark else start, options.start() if options else block.end, kind)


def _says_nothing(directive: re.Match[str] | None) -> bool:
    """Its argument names a file, a style, or code from which Sphinx writes text that is not here (`automodule`); or it
    only says what another text will be replaced with."""
    if directive is None:
        return False
    name, argument = directive[2] or "", directive[3] or ""
    silent = name.startswith("auto") or name in SILENT_ARGUMENT or (name == "class" and not describes(name, argument))
    return silent or directive[1] is not None


def _bare(text: str, start: int, end: int) -> Stretch | None:
    """The argument of a directive with nothing below it: like a heading, it only names something."""
    directive = _RST_NAME.match(text, start, end)
    if directive is None or (directive[2] or "") in ("", *SPOKEN) or _ENDED.search(directive[3]):
        return None
    return directive.start(3), directive.end(3), "heading"


def _rst_words(text: str, start: int, end: int, kind: UnitKind) -> Iterator[Stretch]:
    """A paragraph without the lines in it that are markup: a directive that no blank line precedes, a tag of a
    template. A line that is underlined is a heading, although it is not at the top of the page."""
    for mark in _RST_BETWEEN.finditer(text, text.find("\n", start, end) + 1 or end, end):
        above = text[start : mark.start()]
        yield start, mark.start(), "heading" if mark["rule"] and above.count("\n") == 1 else kind
        start = mark.end()
    if not _RST_TEMPLATE.fullmatch(text, start, end):
        yield start, end, kind


def _asciidoc_leaf(text: str, block: Block, start: int, kind: UnitKind) -> Iterator[Stretch]:
    if block.kind in ("code", "fence"):
        first, last = _inside(text, block.start, block.end)
        yield first, last, "code"
    elif block.kind == "heading":
        yield start, block.end, "heading"
    elif block.kind == "table":
        rows = asciidoc_rows(text, list(_lines(text, block.start, block.end)))
        yield from ((first, last, "header" if first < block.head_end else "row") for first, last in rows)
    else:
        for mark in (BULLET, NUMBER, CALLOUT) if kind == "item" else ():
            if found := mark.match(text, start, block.end):
                start = found.end()
                break
        yield from _without_comments(text, start, block.end, kind)


def _without_comments(text: str, start: int, end: int, kind: UnitKind) -> Iterator[Stretch]:
    for comment in _ASCIIDOC_COMMENT.finditer(text, start, end):
        if comment.start() > start:
            yield start, comment.start(), kind
        start = comment.end()
    if end > start:
        yield start, end, kind


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for line in _LINE.finditer(text, start, end):
        if line[0].strip():
            yield line.start(), line.start() + len(line[0].rstrip("\r\n"))


def _inside(text: str, start: int, end: int) -> tuple[int, int]:
    """Code without the lines that open and close it."""
    lines = list(_lines(text, start, end))
    first, last, closing = 0, len(lines), ""
    while first < last and not closing:
        said = text[slice(*lines[first])].rstrip()
        closing = delimiter(said)
        if not closing and not ATTRIBUTES.match(said) and not TITLE.match(said):
            break
        first += 1
    if closing and first < last and text[slice(*lines[-1])].rstrip() == closing:
        last -= 1
    return (lines[first][0], lines[last - 1][1]) if first < last else (end, end)
