"""Markdown without its marks: the text that is embedded and weighed, and the words of a heading.

`plain(text, markup)` keeps every word a reader would see (titles, tab labels, image descriptions, code) and drops what
only tells a renderer what to do (link targets, emphasis, tags, imports, heading hashes, fences). It works on any piece
of a page, also on one that was cut, so it looks at lines and never at a parse tree. It knows nothing of chunks.

Every pattern takes linear time on any text: quantifiers that could give back what they took are possessive, and those
that would search to the end of the text from each of many beginnings are bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from quoth.domain import Markup
from quoth.text.asciidoc import plain_asciidoc
from quoth.text.limits import MAX_DEPTH
from quoth.text.markdown_inline import SPECIAL, inline_text, labels, spoken, without_roles
from quoth.text.rst import plain_rst
from quoth.text.rst_directives import CODE, INVISIBLE, SILENT_ARGUMENT, SPOKEN

# What an author says about an element (Python-Markdown, kramdown, mdBook): `{ #id .class key="value" }`. On a heading,
# it names the anchor: `{#id}` (Docusaurus too), `{/* #id */}` (MDX 3), `{ id="id" }`.
_ATTRIBUTE = r"(?:[#.][\w.:/-]++|data-[\w-]++(?!=)|[\w:-]++=(?:\"[^\"\n{}]*+\"|'[^'\n{}]*+'|[^\s\"'{}]++))"
ATTRIBUTES = rf"\{{:?[ \t]*+{_ATTRIBUTE}(?:[ \t]++{_ATTRIBUTE})*+[ \t]*+\}}"
_HEADING_ID = re.compile(
    r"(?<![ \t])[ \t]*+(?:\{(?:/\*|:)?[ \t]*+#(?P<id>[\w.:-]++)[^{}\n]*+\}|(?P<list>" + ATTRIBUTES + r"))[ \t]*+$",
    re.M,
)
_NAMED = re.compile(r"(?:\bid=|#)[\"']?([^\s\"'{}]++)")
# After a link, an image or an icon in a sentence. Elsewhere braces may be code.
_BEHIND = re.compile(
    r"(?<=[)\]:]){:?[ \t]*+(?=[#.:]|(?:width|height|align|loading|target|title|rel|style|class|id|data-)\b)"
    r"[^{}\n]*+\}"
)
# The anchor that GitBook writes after a heading; written as HTML, it is an anchor on any page.
_ANCHOR_TAG = re.compile(r"<a\b([^<>]*+)></a>[ \t]*$")
_ID_ATTRIBUTE = re.compile(r"\bid=\"([\w.:-]++)\"")
_COMMENT_START = re.compile(r"<!--|\{/\*")
_SCRIPT = re.compile(r"<(script|style)\b.*?(?:</\1\s*>|\Z)", re.S | re.I)
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
_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}(?=[^`\n]*$)|~{3,})([^\n]*)$", re.M)
_QUOTE = re.compile(r"^[ \t]*(?:>[ \t]?)+", re.M)
_FENCE_MARKS = re.compile(r"```|~~~")
_MYST = re.compile(r"\s*\{([A-Za-z][\w:.+-]*)\}[ \t]*+(.*)$")
_MYST_OPTIONS = re.compile(r"(?:\n?[ \t]*:[\w-]+:[^\n]*)+|\n?[ \t]*---[ \t]*\n.*?\n[ \t]*---[ \t]*(?=\n|$)", re.S)
_MYST_CAPTION = re.compile(r"^[ \t]*:?(?:caption|alt|title):[ \t]*(\S.*)$", re.M)
_MYST_TARGET = re.compile(r"^[ \t]*\([^()\n]+\)=[ \t]*$", re.M)
_FENCE_TITLE = re.compile(r"\b(?:title|file|filename|caption)\s*=\s*(\"[^\"]*\"|'[^']*')")
_PREFIX = re.compile(r"^(?=[ \t>#*+-])[ \t>]*(?:#{1,6}(?:[ \t]+|$)|[-*+][ \t]+(?:\[[ xX]\][ \t]+)?)*", re.M)
_PREFIX_MARKS = " \t>#*+-"
_PREFIXED = re.compile(r"\n[ \t>#*+-]")
_RULER = re.compile(
    r"^[ \t>]*+(?:=++|-{2,}+|(?:-[ \t]*+){3,}+|(?:\*[ \t]*+){3,}+|(?:_[ \t]*+){3,}+"
    r"|\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?)[ \t]*+$",
    re.M,
)
_RULED = ("--", "==", "-|", "**", "__", "- -", "* *")
_ROW = re.compile(r"^[ \t>]*\|.*$", re.M)
_GAP = re.compile(r"\n[ \t]*\n")
_REACHING = ("<!--", "{/*", "<s", "<S", "import", "export")  # what may reach across a blank line
_LONGEST_REMEMBERED, _MOST_REMEMBERED = 4_000, 1_000  # characters of a paragraph, and paragraphs


def plain(text: str, markup: Markup = "markdown") -> str:
    """The readable words of `text`, without markup. Deterministic, and empty when there is nothing to read."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if markup == "rst":
        return plain_rst(text)
    if markup == "asciidoc":
        return plain_asciidoc(text)
    if markup == "text":
        return _lines(text)
    return _plain(text, 0)


def _plain(text: str, depth: int) -> str:
    """Fences and the prose between them. `depth` counts the directives around: far inside, fences are read as prose."""
    if depth >= MAX_DEPTH or ("```" not in text and "~~~" not in text):
        return _prose(text)
    parts: list[str] = []
    at = 0
    while at < len(text) and (opening := _opening(text, at)):
        parts.append(_prose(text[at : opening.start()]))
        quoted = ">" in text[opening.start() : opening.start(1)]
        end, after = _closing(text, opening[1], opening.end(), " \t>" if quoted else " \t")
        body = text[opening.end() : end]
        parts.append(_fenced(opening[2], _QUOTE.sub("", body) if quoted else body, depth))
        at = after
    parts.append(_prose(text[at:]))
    return "\n".join(part for part in parts if part)


def _fenced(info: str, body: str, depth: int) -> str:
    """The words of a fence: its title, and its code unchanged."""
    if info.strip() == "mdx-code-block":  # Docusaurus renders the content of such a fence
        return _prose(body)
    if info.lstrip().startswith("{") and (directive := _MYST.match(info)):
        return _directive_words(directive[1].lower(), directive[2], body, depth)
    title = _FENCE_TITLE.search(info)
    code = body.strip("\n").rstrip()
    return f"{title[1][1:-1]}\n{code}" if title else code


def _directive_words(name: str, title: str, body: str, depth: int) -> str:
    """The words of a MyST directive: its title or kind, and its content without options."""
    options = _MYST_OPTIONS.match(body)
    said = [match[1] for match in _MYST_CAPTION.finditer(options[0])] if options else []
    rest = body[options.end() :] if options else body
    if name in CODE or name in ("eval-rst", "csv-table"):
        code = rest.strip("\n").rstrip()
        return "\n".join(filter(None, (*said, title if name == "math" else "", code)))
    head = [SPOKEN[name]] if name in SPOKEN else []
    if name not in INVISIBLE:
        head += ["" if name in SILENT_ARGUMENT else inline_text(title), *said, _plain(rest, depth + 1)]
    return "\n".join(part for part in head if part)


def heading_anchor(content: str) -> tuple[str, str]:
    """The words of a heading without its explicit anchor, and the anchor; empty when it has none."""
    if "<!--" in content:
        content = _without_comments(content)
    if explicit := _HEADING_ID.search(content):
        ids = _NAMED.findall(explicit["list"]) if explicit["list"] else [explicit["id"]]
        return content[: explicit.start()], ids[-1] if ids else ""
    tag = _ANCHOR_TAG.search(content)
    ids = _ID_ATTRIBUTE.findall(tag[1]) if tag else []
    return (content[: tag.start()], ids[-1]) if tag and ids else (content, "")


def without_heading_id(text: str) -> str:
    return _BEHIND.sub("", _HEADING_ID.sub("", text))


def comments(text: str) -> Iterator[tuple[int, int]]:
    """Where comments of HTML and of MDX begin and end. One of HTML that is never closed reaches to the end."""
    at = 0
    closes = True  # a comment of MDX that begins here may be closed
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


def _opening(text: str, at: int) -> re.Match[str] | None:
    """The next line that opens a fence. Looks for the marks first: a pattern would stop at every line."""
    if at == 0 and (match := _FENCE.match(text)):  # as in most blocks that hold a fence
        return match
    while marks := _FENCE_MARKS.search(text, at):
        start = max(text.rfind("\n", 0, marks.start()) + 1, at)
        match = _FENCE.match(text, start)
        if match:
            return match
        end = text.find("\n", marks.start())
        if end < 0:
            return None
        at = end + 1
    return None


def _closing(text: str, marks: str, at: int, margin: str) -> tuple[int, int]:
    """Where the closing line of a fence starts and ends; the end of the text when it is not closed."""
    while (found := text.find(marks, at)) >= 0:
        start = text.rfind("\n", 0, found) + 1
        end = text.find("\n", found)
        end = len(text) if end < 0 else end
        line = text[start:end].strip(margin)
        if start >= at and len(line) >= len(marks) and not line.strip(marks[0]):
            return start, end
        at = end
    return len(text), len(text)


def _prose(text: str) -> str:
    """Paragraph by paragraph, unless something in it may reach across a blank line."""
    if "\n\n" not in text or any(map(text.__contains__, _REACHING)):
        return _paragraph(text)
    return "\n".join(filter(None, map(_paragraph, _GAP.split(text))))


def _paragraph(text: str) -> str:
    return _remembered(text) if len(text) <= _LONGEST_REMEMBERED else _words_of(text)


def _words_of(text: str) -> str:
    text = _without_line_marks(text)
    if text[:1] in _PREFIX_MARKS or _PREFIXED.search(text):
        text = _PREFIX.sub("", text)
    if "|" in text:
        text = _ROW.sub(_cells, text)
    if SPECIAL.search(text):
        # Inline marks never reach across a blank line, so neither may our patterns.
        text = "\n".join(map(spoken, _GAP.split(text))) if "\n\n" in text else spoken(text)
    return _lines(text)


# A paragraph is asked for as a block of its page, as part of a chunk, and when the chunk is embedded.
_remembered = lru_cache(_MOST_REMEMBERED)(_words_of)


def _lines(text: str) -> str:
    """Without blank lines, and without white space at either end of a line."""
    if "\n" not in text:
        return text.strip().lstrip("\ufeff")
    return "\n".join(filter(None, map(str.strip, text.split("\n")))).lstrip("\ufeff")


def _without_comments(text: str) -> str:
    kept: list[str] = []
    at = 0
    for start, end in comments(text):
        kept.append(text[at:start])
        at = end
    return "".join([*kept, text[at:]])


def _directive_title(match: re.Match[str]) -> str:
    return match[2] or (match[3] or "").strip() or match[1] or ""


def _indented_title(match: re.Match[str]) -> str:
    title = match[2] if match[1] else match[3]
    return str(match[1]) if title is None else title


def _shortcode_words(match: re.Match[str]) -> str:
    said = _SHORTCODE_TEXT.search(match[0])
    return match[1] or (said[1] if said else labels(match[0]))


def _without_line_marks(text: str) -> str:
    """Without the marks that fill whole lines. Looking for a string before its pattern is many times faster."""
    if "{" in text:
        text = without_roles(without_heading_id(text))
    if ")=" in text:
        text = _MYST_TARGET.sub("", text)
    if "<!--" in text or "{/*" in text:
        text = _without_comments(text)
    if "<s" in text or "<S" in text:
        text = _SCRIPT.sub("", text)
    if "port" in text:
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
    if "{%" in text:
        text = _TEMPLATE.sub(lambda match: labels(match[0]), text)
    if "{{" in text:
        text = _SHORTCODE.sub(_shortcode_words, text)
    return _RULER.sub("", text) if any(map(text.__contains__, _RULED)) else text


def _cells(match: re.Match[str]) -> str:
    return match[0].replace("\\|", "\0").replace("|", " ").replace("\0", "|").strip()
