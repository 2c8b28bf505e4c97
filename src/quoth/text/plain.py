"""Markdown without its marks: the text that is embedded and weighed, and the words of a heading.

`plain(text, markup)` keeps every word a reader would see (titles, tab labels, image descriptions, code) and drops what
only tells a renderer what to do (link targets, emphasis, tags, imports, heading hashes, fences). It works on any piece
of a page, even on one that was cut, so it looks at lines and never at a parse tree. It knows nothing of chunks.

Every pattern takes linear time on any text: quantifiers that could give back what they took are possessive, and those
that would search to the end of the text from each of many beginnings are bounded. `quoth.text.line_marks` has the
marks that fill whole lines.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from functools import lru_cache

from quoth.domain import Markup
from quoth.text.asciidoc import plain_asciidoc
from quoth.text.limits import MAX_DEPTH
from quoth.text.line_marks import (
    HEADING_ID,
    MYST_ROLE,
    SCRIPT_TAG,
    has_statement,
    in_lines,
    labels,
    role_words,
    without_comments,
    without_line_marks,
)
from quoth.text.rst import plain_rst
from quoth.text.rst_directives import CODE, INVISIBLE, SILENT_ARGUMENT, SPOKEN

_NAMED = re.compile(r"(?:\bid=|#)[\"']?([^\s\"'{}]++)")
# The anchor that GitBook writes after a heading. It is HTML, so it is an anchor on any page.
_ANCHOR_TAG = re.compile(r"<a\b([^<>]*+)></a>[ \t]*$")
_ID_ATTRIBUTE = re.compile(r"\bid=\"([\w.:-]++)\"")
# A tag of HTML or JSX. No real one has 200 attributes.
TAG = (
    r"</?(?:[A-Za-z][\w.-]*(?::[A-Za-z][\w-]*)?(?=[\s/>{])(?:[^<>\"'{}`]++|\"[^\"]*\"|'[^']*'"
    r"|\{(?:[^{}]|\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*+\})*+\})*+\})*+\}){0,200}+)?>"
)

_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}(?=[^`\n]*$)|~{3,})([^\n]*)$", re.M)
_QUOTE = re.compile(r"^[ \t]*(?:>[ \t]?)+", re.M)
_FENCE_MARKS = re.compile(r"```|~~~")
_MYST = re.compile(r"\s*\{([A-Za-z][\w:.+-]*)\}[ \t]*+(.*)$")
_MYST_OPTIONS = re.compile(r"(?:\n?[ \t]*:[\w-]+:[^\n]*)+|\n?[ \t]*---[ \t]*\n.*?\n[ \t]*---[ \t]*(?=\n|$)", re.S)
_MYST_CAPTION = re.compile(r"^[ \t]*:?(?:caption|alt|title):[ \t]*(\S.*)$", re.M)
_FENCE_TITLE = re.compile(r"\b(?:title|file|filename|caption)\s*=\s*(\"[^\"]*\"|'[^']*')")
_PREFIX = re.compile(r"\n(?=[ \t>#*+-])[ \t>]*(?:#{1,6}(?:[ \t]+|$)|[-*+][ \t]+(?:\[[ xX]\][ \t]+)?)*", re.M)
_PREFIX_MARKS = " \t>#*+-"  # what such a line begins with
_ROW = re.compile(r"\n[ \t>]*\|.*")
_GAP = re.compile(r"\n[ \t]*\n")
_SPECIAL = re.compile(r"[\\`*_\[<&~]")
# Every alternative starts with a literal character: only then does the engine skip ahead to the next candidate.
_INLINE = re.compile(
    r"`(?P<more>`*+)(?P<code>.{1,5000}?)(?<!`)`(?P=more)(?!`)"
    r"|`+"
    r"|\\(?P<escaped>[!-/:-@\[-`{-~])"
    r"|\[(?P<link>(?:[^\[\]`]|`[^`]*+`|\[(?:[^\[\]]|\[[^\[\]]*+\])*+\])*+)\]"
    r"(?:\((?:<[^<>\n]*+>|(?:[^()\s]|\((?:[^()\s]|\([^()\s]*+\))*+\))*+)(?:\s+(?:\"[^\"]*+\"|'[^']*+'))?\s*+\)"
    r"|\[[^\[\]\n]*+\])"
    r"|\[\^[^\]\s]{1,80}\]:?"
    r"|!(?=\[[^\]]{0,1000}+\][(\[])"
    r"|<(?P<tag>" + TAG[1:] + r")"
    r"|\*\*(?P<strong>[^\s*](?:[^*\n]*[^\s*])?)\*\*"
    r"|\*(?P<star>\*{0,2})(?!\*)"
    r"|_(?P<line>_{0,2})(?!_)"
    r"|~~",
    re.S,
)
_LONGEST_REMEMBERED, _MOST_REMEMBERED = 4_000, 1_000  # characters of a paragraph, and paragraphs
# Tags inside a word or sentence; all others separate words.
_WITHIN = re.compile(r"</?(?:a|abbr|b|code|em|i|kbd|mark|s|span|strong|sub|sup|u|var|Link)\b[^>]*>|</?>")


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
    """Fences and the prose between them. `depth` counts the directives around: deep inside, fences are read as
    prose."""
    if depth >= MAX_DEPTH or ("```" not in text and "~~~" not in text):
        return _prose(text)
    parts: list[str] = []
    at = 0
    while at < len(text) and (opening := _opening(text, at)):
        if at < opening.start():
            parts.append(_prose(text[at : opening.start()]))
        quoted = ">" in text[opening.start() : opening.start(1)]
        end, after = _closing(text, opening[1], opening.end(), " \t>" if quoted else " \t")
        body = text[opening.end() : end]
        parts.append(_fenced(opening[2], _QUOTE.sub("", body) if quoted else body, depth))
        at = after
    if at < len(text):
        parts.append(_prose(text[at:]))
    return "\n".join(filter(None, parts))


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
        content = without_comments(content)
    if explicit := HEADING_ID.search(content):
        ids = _NAMED.findall(explicit["list"]) if explicit["list"] else [explicit["id"]]
        return content[: explicit.start()], ids[-1] if ids else ""
    tag = _ANCHOR_TAG.search(content)
    ids = _ID_ATTRIBUTE.findall(tag[1]) if tag else []
    return (content[: tag.start()], ids[-1]) if tag and ids else (content, "")


def inline_text(text: str) -> str:
    """The words of one line of Markdown as a renderer shows them. Anchors are made from these."""
    if not _SPECIAL.search(text):
        return text.strip()
    if "}`" in text:
        text = MYST_ROLE.sub(role_words, text)
    text = _INLINE.sub(_heading_replacement, text)
    return (html.unescape(text) if "&" in text else text).strip()


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
    if "\n\n" not in text or has_statement(text) or "<!--" in text or "{/*" in text or SCRIPT_TAG.search(text):
        return _paragraph(text)
    return "\n".join(filter(None, map(_paragraph, _GAP.split(text))))


def _paragraph(text: str) -> str:
    return _remembered(text) if len(text) <= _LONGEST_REMEMBERED else _words_of(text)


def _words_of(text: str) -> str:
    text = without_line_marks(text)
    if "\n" in text or text[:1] in _PREFIX_MARKS:
        text = in_lines(_PREFIX, "\n", text)
    if "|" in text:
        text = in_lines(_ROW, _cells, text)
    if _SPECIAL.search(text):
        # Inline marks never reach across a blank line, so neither may our patterns.
        text = "\n".join(map(_spoken, _GAP.split(text))) if "\n\n" in text else _spoken(text)
    return _lines(text)


# A paragraph is needed as a block of its page, as part of a chunk, and when the chunk is embedded.
_remembered = lru_cache(_MOST_REMEMBERED)(_words_of)


def _lines(text: str) -> str:
    """Without blank lines, and without white space at either end of a line."""
    if "\n" not in text:
        return text.strip().lstrip("\ufeff")
    return "\n".join(filter(None, map(str.strip, text.split("\n")))).lstrip("\ufeff")


def _cells(match: re.Match[str]) -> str:
    return "\n" + match[0].replace("\\|", "\0").replace("|", " ").replace("\0", "|").strip()


def _spoken(text: str) -> str:
    text = _INLINE.sub(_replacement, text)
    return html.unescape(text) if "&" in text else text


def _nested(text: str, replace: Callable[[re.Match[str]], str]) -> str:
    return _INLINE.sub(replace, text) if _SPECIAL.search(text) else text


def _replacement(match: re.Match[str]) -> str:
    kind = match.lastgroup
    if kind == "code":  # the most frequent one
        return match["code"].strip()
    if kind == "tag":
        tag = match[0]
        if "=" in tag and (said := labels(tag)):
            return f" {said} "
        return "" if _WITHIN.fullmatch(tag) else " "
    return _words(match, _replacement)


def _heading_replacement(match: re.Match[str]) -> str:
    return "" if match.lastgroup == "tag" else _words(match, _heading_replacement)


def _words(match: re.Match[str], nested: Callable[[re.Match[str]], str]) -> str:
    """The words that remain of a mark other than a tag."""
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
    """Marks that open or close emphasis touch a word on one side only, unlike those of `2 * 3`, `a*b`, `snake_case`."""
    text, start, end = match.string, match.start(), match.end()
    before = text[start - 1] if start else " "
    after = text[end] if end < len(text) else " "
    opens = not (before.isalnum() or before == "_") and not after.isspace()
    closes = not before.isspace() and not (after.isalnum() or after == "_")
    return opens or closes
