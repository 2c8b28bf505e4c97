"""What a line of AsciiDoc may be: the patterns that the parser and the reader of includes share.

The patterns are Asciidoctor's. `BlockAttributes` is what the lines above a block say about it. No offsets here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

SECTION = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*?)(?:[ \t]+\1)?$")
UNDERLINES = {"=": 0, "-": 1, "~": 2, "^": 3, "+": 4}
_TITLED = re.compile(r"(?!\.).*?[^\W_]")
ENTRY = re.compile(r":(!?\w[^:]*):(?:[ \t]+(.*))?$")
ATTRIBUTES = re.compile(r"\[(?:|[\w.#%{,\"'].*|\[(?:|[^\W\d][\w:.-]*(?:,[ ]*.+)?|[_:][\w:.-]*(?:,[ ]*.+)?)\])\]$")
TITLE = re.compile(r"\.(\.?[^ \t.].*)$")
ADMONITIONS = {name: name.capitalize() for name in ("NOTE", "TIP", "IMPORTANT", "WARNING", "CAUTION")}
BULLET = re.compile(r"[ \t]*(-|\*+|\u2022)[ \t]+(?=\S)")
NUMBER = re.compile(r"[ \t]*(\.+|\d+\.|[a-zA-Z]\.|[IVXivx]+\))[ \t]+(?=\S)")
TERM = re.compile(r"(?!//[^/])[ \t]*(\S(?:(?!(?::{2,4}|;;)(?:[ \t]|$)).)*)(:{2,4}|;;)(?:[ \t]+|$)")
CALLOUT = re.compile(r"<(\d+|\.)>[ \t]+(?=\S)")
BREAK = re.compile(r"(?:'{3,}|<{3,}|([-*_])( *)\1\2\1)$")
MACRO = re.compile(r"(\w[\w-]*)::(\S*|\S.*?\S)\[(.*)\]$")
COMMENT = re.compile(r"//(?!/)")
FENCE = re.compile(r"(```+)(?:[\w+#.-]*)(?:,.*)?$")
_DELIMITER = re.compile(r"(?:-{4,}|={4,}|\*{4,}|_{4,}|\.{4,}|\+{4,}|/{4,}|--|[|,:!]={3,})$")
_SPEC = re.compile(r"[#.%]")
_PART = re.compile(
    r"""[ \t]*(?:(?P<key>[\w-]+)[ \t]*=[ \t]*)?(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>[^,]*))[^,]*"""
)

VERBATIM = frozenset("-.+/`")  # first characters of delimiters around text that is shown as it is, or not at all
VERBATIM_STYLES = frozenset(("source", "listing", "literal", "pass", "stem", "latexmath", "asciimath", "comment"))


def delimiter(line: str) -> str:
    """The line that closes the block that this line opens; empty when it opens none."""
    if len(line) < 2 or line[0] not in "-=*_.+/|,:!`":
        return ""
    if line[0] == "`":
        fence = FENCE.match(line)
        return fence[1] if fence else ""
    return line if _DELIMITER.match(line) else ""


def underlined(line: str, below: str) -> int | None:
    """The level of the section title that two lines make, or None."""
    level = UNDERLINES.get(below[:1])
    if level is None or below != below[0] * len(below) or abs(len(line) - len(below)) > 1:
        return None
    return level if len(below) > 1 and _TITLED.match(line) else None


@dataclass(frozen=True, slots=True)
class BlockAttributes:
    """What the lines above a block say about it."""

    style: str = ""
    id: str = ""
    language: str = ""
    options: str = ""
    words: str = ""  # who said it, for a quote
    title: str = ""
    named: tuple[tuple[str, str], ...] = ()

    def get(self, key: str) -> str:
        return next((value for name, value in self.named if name == key), "")

    def with_line(self, line: str) -> BlockAttributes:
        """The same, with what one more `[…]` line says."""
        inside = line[1:-1]
        if inside.startswith("["):
            id = inside[1:-1].partition(",")[0]
            return replace(self, id=id or self.id)
        positional, named = _parts(inside)
        spec, language = (*positional, "", "")[:2]
        style, id, options = _shorthand(spec)
        values = dict(named)
        options = ",".join(filter(None, (self.options, options, values.get("options", ""), values.get("opts", ""))))
        language = language.strip()
        return replace(
            self,
            style=values.get("style") or style or ("source" if language and not spec else self.style),
            id=values.get("id") or id or self.id,
            language=values.get("language") or language or self.language,
            options=options,
            words=", ".join(part.strip() for part in positional[1:] if part.strip()),
            title=values.get("title") or self.title,
            named=(*self.named, *named),
        )


def _parts(inside: str) -> tuple[list[str], list[tuple[str, str]]]:
    positional: list[str] = []
    named: list[tuple[str, str]] = []
    at = 0
    while at <= len(inside):
        part = _PART.match(inside, at)
        if part is None:
            break
        value = part["double"] if part["double"] is not None else part["single"]
        value = part["bare"].strip() if value is None else value
        if part["key"]:
            named.append((part["key"], value))
        else:
            positional.append(value)
        at = part.end() + 1
    return positional, named


def _shorthand(spec: str) -> tuple[str, str, str]:
    """`style#id.role%option` → style, id and options."""
    marks = [match.start() for match in _SPEC.finditer(spec)]
    if not marks:
        return spec.strip(), "", ""
    style, id, options = spec[: marks[0]].strip(), "", []
    for start, end in zip(marks, [*marks[1:], len(spec)], strict=True):
        value = spec[start + 1 : end]
        if spec[start] == "#":
            id = value
        elif spec[start] == "%":
            options.append(value)
    return style, id, ",".join(options)
