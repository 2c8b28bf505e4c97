"""The marks that fill whole lines of Markdown: comments, imports, directives, table rules, heading ids.

`without_line_marks(text)` keeps the words in them that a reader would see. `quoth.text.plain` removes the marks inside
a line. Every pattern takes linear time on any text. One that starts with a literal character is tried only where that
character is. So patterns of frequent lines start with the line break before them (`in_lines`), and a lookbehind comes
after the character it looks back from.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from quoth.text.rst_inline import NUMBERED

# What an author says about an element (Python-Markdown, kramdown, mdBook): `{ #id .class key="value" }`. On a heading,
# it names the anchor: `{#id}` (Docusaurus too), `{/* #id */}` (MDX 3), `{ id="id" }`.
_ATTRIBUTE = r"(?:[#.][\w.:/-]++|data-[\w-]++(?!=)|[\w:-]++=(?:\"[^\"\n{}]*+\"|'[^'\n{}]*+'|[^\s\"'{}]++))"
ATTRIBUTES = rf"\{{:?[ \t]*+{_ATTRIBUTE}(?:[ \t]++{_ATTRIBUTE})*+[ \t]*+\}}"
HEADING_ID = re.compile(
    r"(?<![ \t])[ \t]*+(?:\{(?:/\*|:)?[ \t]*+#(?P<id>[\w.:-]++)[^{}\n]*+\}|(?P<list>" + ATTRIBUTES + r"))[ \t]*+$",
    re.M,
)
_CLOSING_BRACE = re.compile(r"\}[ \t]*+$", re.M)  # no heading has an id without one
# After a link, an image or an icon in a sentence. Elsewhere braces may be code.
_BEHIND = re.compile(
    r"\{(?<=[)\]:]\{):?[ \t]*+(?=[#.:]|(?:width|height|align|loading|target|title|rel|style|class|id|data-)\b)"
    r"[^{}\n]*+\}"
)
_COMMENT_START = re.compile(r"<!--|\{/\*")
_SCRIPT = re.compile(r"<(script|style)\b.*?(?:</\1\s*>|\Z)", re.S | re.I)
SCRIPT_TAG = re.compile(r"<(?:script|style)\b", re.I)
IMPORT = re.compile(r"^import\s(?:[^'\"`;]{0,2000}?\sfrom\s+)?(['\"])[^'\"\n]+\1[ \t]*;?[ \t]*$", re.M)
_EXPORT = re.compile(r"^export\s+(?:default|const|let|var|function|async|class|type|interface|\{|\*)[^\n]*$", re.M)
# A reference definition is a link target; a footnote (`[^1]:`) is text.
_DEFINITION = re.compile(
    r"^[ \t>]*\[(?!\^)(?:[^\[\]\n\\]|\\.)+\]:[ \t]*(?:<[^<>\n]*>|[^\s<]\S*)"
    r"(?:[ \t]+(?:\"[^\"\n]*\"|'[^'\n]*'|\([^()\n]*\)))?[ \t]*$",
    re.M,
)
_DIRECTIVE = re.compile(
    r"^[ \t>]*:{3,}[ \t]*(?:\{?([A-Za-z][\w:-]*)\}?[ \t]*(?:\[([^\n]*?)\])?[ \t]*([^\n{]*)(?:\{[^\n]*)?)?$", re.M
)
_BLOCK = re.compile(r"^[ \t>]*/{3,}[ \t]*(?:([A-Za-z][\w-]*)[ \t]*(?:\|[ \t]*([^\n]*))?)?$", re.M)  # of pymdownx
# MkDocs' admonitions and tabs, and lines of template tags.
_INDENTED = re.compile(
    r"^[ \t>]*(?:(?:!!!|\?\?\?\+?)[ \t]?([\w-]+)(?:[ \t]+[\w-]+)*(?:[ \t]+\"([^\n]*)\")?"
    r"|===[!+]*[ \t]+\"([^\n]*)\")[ \t]*$",
    re.M,
)
_TEMPLATE = re.compile(r"^[ \t>]*(?:\{%(?:[^%\n]|%(?!\}))*%\}[ \t]*)+$", re.M)
# A shortcode of Hugo in a page that Hugo does not publish; in code it is what the page explains.
_SHORTCODE = re.compile(r"(`++[^`\n]*+`++)|\{\{[<%][^\n]{0,1000}?[>%]\}\}")
_SHORTCODE_TEXT = re.compile(r"(?<![\w-])text\s*=\s*\"([^\"\n]*)\"")
# Attributes whose value is shown to the reader.
_LABEL = re.compile(r"(?<![\w-])(?:label|title|caption|alt|summary)\s*[=:]\s*+(?:\{\s*+)?([\"'`])(.*?)\1", re.S)
MYST_ROLE = re.compile(
    r"\{(?P<role>[A-Za-z][\w:.+-]*)\}`+(?P<said>(?:[^`\n]|\n(?!\s))*+)(?P<below>[ \t\n]*+<[^<>`\n]*+>)?`+"
)
_MYST_TARGET = re.compile(r"^[ \t]*\([^()\n]+\)=[ \t]*$", re.M)
_RULER = re.compile(
    r"\n[ \t>]*+(?:=++|-{2,}+|(?:-[ \t]*+){3,}+|(?:\*[ \t]*+){3,}+|(?:_[ \t]*+){3,}+"
    r"|\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?)[ \t]*+$",
    re.M,
)
_RULER_MARKS = " \t>=-*_|:"  # what such a line begins with
_STATEMENTS = ("import", "export")


def without_line_marks(text: str) -> str:
    """Without the marks that fill whole lines. Looking for a string before its pattern is many times faster."""
    braces, tags = "{" in text, "<" in text
    if braces:
        text = without_heading_id(text)
        text = MYST_ROLE.sub(role_words, text) if "}`" in text else text
    if ")=" in text:
        text = _MYST_TARGET.sub("", text)
    if (tags and "<!--" in text) or (braces and "{/*" in text):
        text = without_comments(text)
    if tags and ("<s" in text or "<S" in text):
        text = _SCRIPT.sub("", text)
    if has_statement(text):
        text = _EXPORT.sub("", IMPORT.sub("", text))
    if "]:" in text:
        text = _DEFINITION.sub("", text)
    return _without_tool_marks(text)


def _without_tool_marks(text: str) -> str:
    if ":::" in text:
        text = _DIRECTIVE.sub(_directive_title, text)
    if "///" in text:
        text = _BLOCK.sub(lambda match: match[2] or match[1] or "", text)
    if "!!!" in text or "???" in text or "===" in text:
        text = _INDENTED.sub(_indented_title, text)
    if "{" in text:
        text = _TEMPLATE.sub(lambda match: labels(match[0]), text) if "{%" in text else text
        text = _SHORTCODE.sub(_shortcode_words, text) if "{{" in text else text
    if "\n" not in text and text[:1] not in _RULER_MARKS:
        return text
    ruled = "--" in text or "==" in text or "-|" in text or "**" in text or "__" in text
    return in_lines(_RULER, "\n", text) if ruled or "- -" in text or "* *" in text else text


def without_heading_id(text: str) -> str:
    if _CLOSING_BRACE.search(text):
        text = HEADING_ID.sub("", text)
    return _BEHIND.sub("", text)


def comments(text: str) -> Iterator[tuple[int, int]]:
    """Where HTML and MDX comments begin and end. An HTML comment that is never closed reaches to the end."""
    at = 0
    closes = True  # an MDX comment that begins here may be closed
    while mark := _COMMENT_START.search(text, at):
        if mark[0] == "<!--":
            end = text.find("-->", mark.end())
            at = len(text) if end < 0 else end + 3
            yield mark.start(), at
            continue
        end = text.find("*/}", mark.end()) if closes else -1
        closes = end >= 0
        at = end + 3 if closes else mark.end()
        if closes:
            yield mark.start(), at


def without_comments(text: str) -> str:
    kept: list[str] = []
    at = 0
    for start, end in comments(text):
        kept.append(text[at:start])
        at = end
    return "".join([*kept, text[at:]])


def has_statement(text: str) -> bool:
    """Whether a line starts like an import or export of MDX."""
    return text.startswith(_STATEMENTS) or "\nimport" in text or "\nexport" in text


def in_lines(pattern: re.Pattern[str], replacement: str | Callable[[re.Match[str]], str], text: str) -> str:
    """`pattern` starts with the line break before a line; one is put before the first line."""
    return pattern.sub(replacement, f"\n{text}")[1:]


def labels(tag: str) -> str:
    """The words of a tag that a reader sees: its label, title, caption or description."""
    return " ".join(match[1].strip() for match in _LABEL.findall(tag) if match[1].strip())


def role_words(match: re.Match[str]) -> str:
    """As code, so that what looks like emphasis in it (`__init__`) is left alone."""
    said, titled = match["said"], match["below"] is not None
    target = said.rfind("<")
    if not titled and said.endswith(">") and target >= 0 and not set(said[target:-1]) & {">", "\n"}:
        said, titled = said[:target], True  # `Title <target>`
    said = said.rstrip(" \t\n") if titled else said
    said = said.rsplit(".", 1)[-1] if said.startswith("~") else said.lstrip("!")
    if not titled and said[:1].isdigit():
        said = NUMBERED.get(match["role"].lower(), "") + said
    return f"`{said}`" if said.strip() else said


def _directive_title(match: re.Match[str]) -> str:
    return match[2] or (match[3] or "").strip() or match[1] or ""


def _indented_title(match: re.Match[str]) -> str:
    title = match[2] if match[1] else match[3]
    return str(match[1]) if title is None else title


def _shortcode_words(match: re.Match[str]) -> str:
    said = _SHORTCODE_TEXT.search(match[0])
    return match[1] or (said[1] if said else labels(match[0]))
