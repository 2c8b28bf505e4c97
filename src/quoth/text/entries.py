"""Entries of a list of definitions, in any markup: a term, and below or beside it what it means.

In: the raw text of a chunk and where a sentence of it is. Out: whether the sentence begins an entry, and its term and
its meaning apart, so that an answer can say `term: meaning`. An option, a function or a setting that Sphinx describes
with a directive is such an entry too. Also the names of fields (`:param speed:`). Knows lines, not blocks.
"""

from __future__ import annotations

import re
from itertools import takewhile

from quoth.domain import Markup
from quoth.text.blocks import Block
from quoth.text.rst_directives import SILENT_ARGUMENT, SPOKEN

_MARKDOWN = re.compile(r"([^\n]{1,80})\n(?:[ \t]*\n)?[ \t]{0,3}:[ \t]+(?=\S)")
_ASCIIDOC = re.compile(r"(?!//)(\S(?:(?!:{2,4}(?:\s|\Z)|;;(?:\s|\Z))[^\n])*)(?::{2,4}|;;)(?=\s|\Z)\s*+")
_RST = re.compile(
    r"([^\n]*)\n(?:[ \t]*+\n)*+(?:[ \t]+:[\w-]+:[^\n]*\n)*+(?:[ \t]*+\n)*+"
    r"(?P<margin>[ \t]+)(?=\S)(?!:[\w-]+:[ \t]*(?:\n|\Z))"
)
_OPTIONS = re.compile(r"\n[ \t]+:[\w-]+:[^\n]*")
_DIRECTIVE = re.compile(r"\.\.[ \t]+(?P<name>[\w:.+-]+)::[ \t]*")
_FIELD = re.compile(r":(?P<said>[^:\n]{1,80}):[ \t]*")
_OF_A_PARAMETER = re.compile(r"(?:param|parameter|arg|argument|key|keyword|kwarg|option)[ \t]+(?:\S+[ \t]+)*?(\S+)\Z")
_PARAGRAPH_LINE = re.compile(r"(?!\.\. |[-+*•|:] |\(?(?:\d+|[A-Za-z#])[.)] )\S.{38,}[^\s.:)`]\s*$")
_TABLE_LINE = re.compile(r"[|+=]")
_CLASS = re.compile(r"[(.A-Z_]")
_LIKE_CODE = re.compile(r"[(*_<{]|\A-")
_CLOSED = re.compile(r"[.:;!?—–-][*_`]*\Z")


def lost_margin(text: str) -> str:
    """The white space that a piece of a page has lost before its first line. Without it, the first line of an indented
    paragraph looks like a term, and the lines below like its definition. A term is short."""
    first, _, rest = text.partition("\n")
    below = rest.partition("\n")[0]
    margin = below[: len(below) - len(below.lstrip())] if below.strip() else ""
    if not margin or not (_PARAGRAPH_LINE.match(first) or _TABLE_LINE.match(first)):
        return ""
    together = takewhile(str.strip, rest.split("\n"))
    return margin if all(line.startswith(margin) for line in together) else ""


def is_entry(text: str, start: int, end: int, markup: Markup) -> bool:
    """Whether the sentence begins an entry of a list; what a directive describes is on its own."""
    before = text[text.rfind("\n", 0, start) + 1 : start]
    if markup == "asciidoc":
        return not before.strip() and _ASCIIDOC.match(text, start, end) is not None
    if markup != "rst":
        return _MARKDOWN.match(text, start, end) is not None
    found = _RST.match(text, start, end) if not before.strip() else None
    if found is None or (start == 0 and lost_margin(text)):
        return False
    return len(found["margin"].expandtabs(8)) > len(before.expandtabs(8)) - len(before.expandtabs(8).lstrip())


def parts_of(mark: str, said: str, markup: Markup) -> tuple[str, str]:
    """The term and the meaning of an entry or of a field, as they are written, by what precedes it on its line."""
    directive = _DIRECTIVE.fullmatch(mark) if markup == "rst" else None
    if directive and directive["name"] in SPOKEN:
        return _version(SPOKEN[directive["name"]], said)
    if mark and not directive:
        return field_name(mark), said
    found = {"rst": _RST, "asciidoc": _ASCIIDOC}.get(markup, _MARKDOWN).match(said)
    if found is None:
        without = _OPTIONS.sub("", said)  # they come between the term and its meaning
        return (_as_code(without), "") if without != said else ("", said)
    term = found[1].strip()
    return field_name(term) or (_as_code(term) if directive else term), said[found.end() :]


def described(block: Block) -> Block | None:
    """The term that a list of definitions or a directive gives the blocks in it: its label."""
    label = block.children[0] if len(block.children) > 1 else None
    if label is None or label.kind != "label" or not label.plain:
        return None
    if block.kind == "item":
        return label if block.info != "footnote" else None
    return label if block.kind == "admonition" and describes(block.info, label.plain.partition("\n")[0]) else None


def describes(name: str, argument: str) -> bool:
    """Whether a directive explains what it names. Others set their content apart, or name a tab or a style."""
    if name in SPOKEN or name in SILENT_ARGUMENT or name.startswith("auto") or "tab" in name:
        return False
    return name != "class" or _CLASS.search(argument) is not None


def field_name(mark: str) -> str:
    """What a field is called, without what kind of field it is where that goes without saying; else empty."""
    field = _FIELD.fullmatch(mark)
    if field is None:
        return ""
    parameter = _OF_A_PARAMETER.match(field["said"])
    return parameter[1] if parameter else field["said"].strip()


def _version(words: str, said: str) -> tuple[str, str]:
    """`Changed in version 3.0` and what has changed; a note or a warning is shown without its name."""
    if not words.endswith("version"):
        return "", said
    version, *rest = said.split(maxsplit=1)
    return f"{words} {version.rstrip(':')}", "".join(rest)


def _as_code(term: str) -> str:
    """A signature or an option as code, lest a part of it is taken for a mark."""
    return f"``{term}``" if "`" not in term and _LIKE_CODE.search(term) else term


def joined(term: str, meaning: str) -> str:
    """`term: meaning`, with the colon only where the term does not end with a mark of its own."""
    if not term or not meaning:
        return term or meaning
    return f"{term} {meaning}" if _CLOSED.search(term) else f"{term}: {meaning}"
