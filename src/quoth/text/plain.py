"""Markdown without its marks: what is embedded and termed, and the words of a heading.

`plain(text, markup)` keeps every word a reader would see (titles, tab labels, image descriptions, code) and lets go of
what only tells a renderer what to do (link targets, emphasis, tags, imports, heading hashes, fences). It works on any
piece of a page, also on one that was cut, so it looks at lines and never at a parse tree. It knows nothing of chunks.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable

from quoth.domain import Markup
from quoth.text.rst import plain_rst
from quoth.text.rst_directives import CODE, INVISIBLE, SILENT_ARGUMENT, SPOKEN
from quoth.text.rst_inline import NUMBERED

# A heading's own anchor: `{#id}` (Docusaurus, mdBook), `{/* #id */}` (MDX 3), `{: #id }` (Python-Markdown).
HEADING_ID = re.compile(r"[ \t]*\{(?:/\*|:)?[ \t]*#([\w.:-]+)[^{}\n]*\}[ \t]*$", re.M)
# The anchor that GitBook writes behind a heading; as HTML it is one on any page.
ANCHOR_TAG = re.compile(r"<a\b[^<>]*\bid=\"([\w.:-]+)\"[^<>]*></a>[ \t]*$")
COMMENT = re.compile(r"<!--.*?(?:-->|\Z)|\{/\*.*?\*/\}", re.S)
SCRIPT = re.compile(r"<(script|style)\b.*?(?:</\1\s*>|\Z)", re.S | re.I)
IMPORT = re.compile(r"^import\s(?:[^'\"`;]{0,2000}?\sfrom\s+)?(['\"])[^'\"\n]+\1[ \t]*;?[ \t]*$", re.M)
EXPORT = re.compile(r"^export\s+(?:default|const|let|var|function|async|class|type|interface|\{|\*)[^\n]*$", re.M)
# A reference definition is a link target; a footnote (`[^1]:`) is text.
DEFINITION = re.compile(
    r"^[ \t>]*\[(?!\^)(?:[^\[\]\n\\]|\\.)+\]:[ \t]*(?:<[^<>\n]*>|[^\s<]\S*)"
    r"(?:[ \t]+(?:\"[^\"\n]*\"|'[^'\n]*'|\([^()\n]*\)))?[ \t]*$",
    re.M,
)
DIRECTIVE = re.compile(
    r"^[ \t>]*:{3,}[ \t]*(?:\{?([A-Za-z][\w:-]*)\}?[ \t]*(?:\[([^\n]*?)\])?[ \t]*([^\n{]*)(?:\{[^\n]*)?)?$", re.M
)
# MkDocs' admonitions and tabs, and lines of template tags.
INDENTED = re.compile(
    r"^[ \t>]*(?:(?:!!!|\?\?\?\+?)[ \t]?([\w-]+)(?:[ \t]+[\w-]+)*(?:[ \t]+\"([^\n]*)\")?"
    r"|===[!+]*[ \t]+\"([^\n]*)\")[ \t]*$",
    re.M,
)
TEMPLATE = re.compile(r"^[ \t>]*(?:\{%(?:[^%\n]|%(?!\}))*%\}[ \t]*)+$", re.M)
# Attributes whose value is shown to the reader.
LABEL = re.compile(r"(?<![\w-])(?:label|title|caption|alt|summary)\s*[=:]\s*\{?\s*([\"'`])(.*?)\1", re.S)
TAG = (
    r"</?(?:[A-Za-z][\w.-]*(?::[A-Za-z][\w-]*)?(?=[\s/>{])(?:[^<>\"'{}`]|\"[^\"]*\"|'[^']*'"
    r"|\{(?:[^{}]|\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*+\})*+\})*+\})*+\})*+)?>"
)

_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}(?=[^`\n]*$)|~{3,})([^\n]*)$", re.M)
_QUOTE = re.compile(r"^[ \t]*(?:>[ \t]?)+", re.M)
_MYST = re.compile(r"\s*\{([A-Za-z][\w:.+-]*)\}[ \t]*(.*)$")
_MYST_OPTIONS = re.compile(r"(?:\n?[ \t]*:[\w-]+:[^\n]*)+|\n?[ \t]*---[ \t]*\n.*?\n[ \t]*---[ \t]*(?=\n|$)", re.S)
_MYST_CAPTION = re.compile(r"^[ \t]*:?(?:caption|alt|title):[ \t]*(\S.*)$", re.M)
_MYST_ROLE = re.compile(
    r"\{([A-Za-z][\w:.+-]*)\}`+(?:((?:[^`\n]|\n(?!\s))*?)[ \t\n]*<[^<>`\n]*>|((?:[^`\n]|\n(?!\s))*))`+"
)
_MYST_TARGET = re.compile(r"^[ \t]*\([^()\n]+\)=[ \t]*$", re.M)
_FENCE_TITLE = re.compile(r"\b(?:title|file|filename|caption)\s*=\s*(\"[^\"]*\"|'[^']*')")
_PREFIX = re.compile(r"^(?=[ \t>#*+-])[ \t>]*(?:#{1,6}(?:[ \t]+|$)|[-*+][ \t]+(?:\[[ xX]\][ \t]+)?)*", re.M)
_PREFIX_MARKS = " \t>#*+-"
_PREFIXED = re.compile(r"\n[ \t>#*+-]")
_RULER = re.compile(
    r"^[ \t>]*(?:=+|-{2,}|(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}"
    r"|\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?)[ \t]*$",
    re.M,
)
_ROW = re.compile(r"^[ \t>]*\|.*$", re.M)
_GAP = re.compile(r"\n[ \t]*\n")
_SPECIAL = re.compile(r"[\\`*_\[<&~]")
# Every alternative starts with a literal character: only then does the engine skip ahead to the next candidate.
_INLINE = re.compile(
    r"`(?P<more>`*+)(?P<code>.+?)(?<!`)`(?P=more)(?!`)"
    r"|`+"
    r"|\\(?P<escaped>[!-/:-@\[-`{-~])"
    r"|\[(?P<link>(?:[^\[\]`]|`[^`]*+`|\[(?:[^\[\]]|\[[^\[\]]*+\])*+\])*+)\]"
    r"(?:\((?:<[^<>\n]*+>|(?:[^()\s]|\((?:[^()\s]|\([^()\s]*+\))*+\))*+)(?:\s+(?:\"[^\"]*+\"|'[^']*+'))?\s*+\)"
    r"|\[[^\[\]\n]*+\])"
    r"|\[\^[^\]\s]{1,80}\]:?"
    r"|!(?=\[[^\]]*\][(\[])"
    r"|<(?P<tag>" + TAG[1:] + r")"
    r"|\*\*(?P<strong>[^\s*](?:[^*\n]*[^\s*])?)\*\*"
    r"|\*(?P<star>\*{0,2})(?!\*)"
    r"|_(?P<line>_{0,2})(?!_)"
    r"|~~",
    re.S,
)
# Tags that stand inside a word or sentence; all others separate words.
_WITHIN = re.compile(r"</?(?:a|abbr|b|code|em|i|kbd|mark|s|span|strong|sub|sup|u|var|Link)\b[^>]*>|</?>")


def plain(text: str, markup: Markup = "markdown") -> str:
    """The readable words of `text`, without markup. Deterministic, and empty when there is nothing to read."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if markup == "rst":
        return plain_rst(text)
    if markup == "text":
        return _lines(text)
    if "```" not in text and "~~~" not in text:
        return _prose(text)
    parts: list[str] = []
    at = 0
    while at < len(text) and (opening := _opening(text, at)):
        parts.append(_prose(text[at : opening.start()]))
        quoted = ">" in text[opening.start() : opening.start(1)]
        end, after = _closing(text, opening[1], opening.end(), " \t>" if quoted else " \t")
        body = text[opening.end() : end]
        parts.append(_fenced(opening[2], _QUOTE.sub("", body) if quoted else body))
        at = after
    parts.append(_prose(text[at:]))
    return "\n".join(part for part in parts if part)


def _fenced(info: str, body: str) -> str:
    """The words of a fence: its title and its code as it stands."""
    if info.strip() == "mdx-code-block":  # Docusaurus renders what such a fence holds
        return _prose(body)
    if info.lstrip().startswith("{") and (directive := _MYST.match(info)):
        return _directive_words(directive[1].lower(), directive[2], body)
    title = _FENCE_TITLE.search(info)
    code = body.strip("\n").rstrip()
    return f"{title[1][1:-1]}\n{code}" if title else code


def _directive_words(name: str, title: str, body: str) -> str:
    """What a directive of MyST says: its title or kind, and its content without options."""
    options = _MYST_OPTIONS.match(body)
    said = [match[1] for match in _MYST_CAPTION.finditer(options[0])] if options else []
    rest = body[options.end() :] if options else body
    if name in CODE or name in ("eval-rst", "csv-table"):
        code = rest.strip("\n").rstrip()
        return "\n".join(filter(None, (*said, title if name == "math" else "", code)))
    head = [SPOKEN[name]] if name in SPOKEN else []
    if name not in INVISIBLE:
        head += ["" if name in SILENT_ARGUMENT else inline_text(title), *said, plain(rest)]
    return "\n".join(part for part in head if part)


def inline_text(text: str) -> str:
    """The words of one line of Markdown as a renderer's text nodes hold them: what anchors are made from."""
    if not _SPECIAL.search(text):
        return text.strip()
    if "}`" in text:
        text = _MYST_ROLE.sub(_role_words, text)
    text = _INLINE.sub(_heading_replacement, text)
    return (html.unescape(text) if "&" in text else text).strip()


def labels(tag: str) -> str:
    """What a tag says to the reader: its label, title, caption or description."""
    return " ".join(match[1].strip() for match in LABEL.findall(tag) if match[1].strip())


def _opening(text: str, at: int) -> re.Match[str] | None:
    """The next line that opens a fence. Looks for the marks first: a pattern would stop at every line."""
    if at == 0 and (match := _FENCE.match(text)):  # as in most blocks that hold a fence
        return match
    while True:
        found = min((place for place in (text.find("```", at), text.find("~~~", at)) if place >= 0), default=-1)
        if found < 0:
            return None
        start = max(text.rfind("\n", 0, found) + 1, at)
        match = _FENCE.match(text, start)
        if match:
            return match
        end = text.find("\n", found)
        if end < 0:
            return None
        at = end + 1


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
    if not text:
        return text
    text = _without_blocks(text)
    if text[:1] in _PREFIX_MARKS or _PREFIXED.search(text):
        text = _PREFIX.sub("", text)
    if "|" in text:
        text = _ROW.sub(_cells, text)
    if _SPECIAL.search(text):
        # Inline marks never reach across a blank line, so neither may our patterns.
        text = "\n".join(_spoken(part) for part in _GAP.split(text)) if "\n\n" in text else _spoken(text)
    return _lines(text)


def _lines(text: str) -> str:
    """Without blank lines, and without white space at either end of a line."""
    if "\n" not in text:
        return text.strip().lstrip("\ufeff")
    return "\n".join(filter(None, map(str.strip, text.split("\n")))).lstrip("\ufeff")


def _without_blocks(text: str) -> str:
    """Lets go of the marks that fill whole lines. The tests before the patterns are there for speed."""
    if "{" in text:
        if "#" in text:
            text = HEADING_ID.sub("", text)
        if "}`" in text:
            text = _MYST_ROLE.sub(_role_words, text)
    if ")=" in text:
        text = _MYST_TARGET.sub("", text)
    if "<!--" in text or "{/*" in text:
        text = COMMENT.sub("", text)
    if "<s" in text or "<S" in text:
        text = SCRIPT.sub("", text)
    if "import" in text:
        text = IMPORT.sub("", text)
    if "export" in text:
        text = EXPORT.sub("", text)
    if "]:" in text:
        text = DEFINITION.sub("", text)
    if ":::" in text:
        text = DIRECTIVE.sub(_directive_title, text)
    if "!!!" in text or "???" in text or "===" in text:
        text = INDENTED.sub(_indented_title, text)
    if "{%" in text:
        text = TEMPLATE.sub(lambda match: labels(match[0]), text)
    if "--" in text or "==" in text or "-|" in text or "**" in text or "__" in text or "- -" in text or "* *" in text:
        text = _RULER.sub("", text)
    return text


def _role_words(match: re.Match[str]) -> str:
    """As code, so that what looks like emphasis in it (`__init__`) is left alone."""
    said = match[2] or match[3] or ""
    said = said.rsplit(".", 1)[-1] if said.startswith("~") else said.lstrip("!")
    if match[2] is None and said[:1].isdigit():
        said = NUMBERED.get(match[1].lower(), "") + said
    return f"`{said}`" if said.strip() else said


def _directive_title(match: re.Match[str]) -> str:
    return match[2] or (match[3] or "").strip() or match[1] or ""


def _indented_title(match: re.Match[str]) -> str:
    title = match[2] if match[1] else match[3]
    return str(match[1]) if title is None else title


def _cells(match: re.Match[str]) -> str:
    return match[0].replace("\\|", "\0").replace("|", " ").replace("\0", "|").strip()


def _spoken(text: str) -> str:
    text = _INLINE.sub(_replacement, text)
    return html.unescape(text) if "&" in text else text


def _nested(text: str, replace: Callable[[re.Match[str]], str]) -> str:
    return _INLINE.sub(replace, text) if _SPECIAL.search(text) else text


def _replacement(match: re.Match[str]) -> str:
    kind = match.lastgroup
    if kind == "tag":
        tag = match[0]
        if "=" in tag and (said := labels(tag)):
            return f" {said} "
        return "" if _WITHIN.fullmatch(tag) else " "
    return _words(match, _replacement)


def _heading_replacement(match: re.Match[str]) -> str:
    return "" if match.lastgroup == "tag" else _words(match, _heading_replacement)


def _words(match: re.Match[str], nested: Callable[[re.Match[str]], str]) -> str:
    """What is left of a mark that is no tag."""
    kind = match.lastgroup
    if kind == "code":
        return match["code"].strip()
    if kind == "link" or kind == "strong":
        return _nested(match[kind], nested)
    if kind == "escaped":
        return match["escaped"]
    if kind == "star" or kind == "line":
        return "" if _is_emphasis(match) else match[0]
    return ""


def _is_emphasis(match: re.Match[str]) -> bool:
    """Marks that open or close emphasis touch a word on one side only: `2 * 3`, `a*b` and `snake_case` have none."""
    text, start, end = match.string, match.start(), match.end()
    before = text[start - 1] if start else " "
    after = text[end] if end < len(text) else " "
    opens = not (before.isalnum() or before == "_") and not after.isspace()
    closes = not before.isspace() and not (after.isalnum() or after == "_")
    return opens or closes
