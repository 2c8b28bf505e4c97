"""The marks within a line of Markdown: emphasis, links, code, tags, roles; and the words that are left of them.

In: the text of a line or paragraph. Out: its words. `plain` removes the marks of whole lines and fences; this module
knows nothing of lines. Anchors are made from `inline_text`, what is embedded from `spoken`.

Every pattern takes linear time on any text, as in `plain`.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable

from quoth.text.rst_inline import NUMBERED

# Attributes whose value is shown to the reader.
_LABEL = re.compile(r"(?<![\w-])(?:label|title|caption|alt|summary)\s*[=:]\s*+(?:\{\s*+)?([\"'`])(.*?)\1", re.S)
# A tag of HTML or JSX. No real one has 200 attributes.
TAG = (
    r"</?(?:[A-Za-z][\w.-]*(?::[A-Za-z][\w-]*)?(?=[\s/>{])(?:[^<>\"'{}`]++|\"[^\"]*\"|'[^']*'"
    r"|\{(?:[^{}]|\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*+\})*+\})*+\})*+\}){0,200}+)?>"
)
_MYST_ROLE = re.compile(
    r"\{(?P<role>[A-Za-z][\w:.+-]*)\}`+(?P<said>(?:[^`\n]|\n(?!\s))*+)(?P<below>[ \t\n]*+<[^<>`\n]*+>)?`+"
)
SPECIAL = re.compile(r"[\\`*_\[<&~]")
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
# Tags inside a word or sentence; all others separate words.
_WITHIN = re.compile(r"</?(?:a|abbr|b|code|em|i|kbd|mark|s|span|strong|sub|sup|u|var|Link)\b[^>]*>|</?>")


def inline_text(text: str) -> str:
    """The words of one line of Markdown as a renderer shows them. Anchors are made from these."""
    if not SPECIAL.search(text):
        return text.strip()
    text = _INLINE.sub(_heading_replacement, without_roles(text))
    return (html.unescape(text) if "&" in text else text).strip()


def without_roles(text: str) -> str:
    """A role of MyST becomes its words, as code."""
    return _MYST_ROLE.sub(_role_words, text) if "}`" in text else text


def labels(tag: str) -> str:
    """The words of a tag that a reader sees: its label, title, caption or description."""
    return " ".join(match[1].strip() for match in _LABEL.findall(tag) if match[1].strip())


def spoken(text: str) -> str:
    """The words of a paragraph, with those that a tag shows."""
    text = _INLINE.sub(_replacement, text)
    return html.unescape(text) if "&" in text else text


def _nested(text: str, replace: Callable[[re.Match[str]], str]) -> str:
    return _INLINE.sub(replace, text) if SPECIAL.search(text) else text


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
    """The words that are left of a mark other than a tag."""
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


def _role_words(match: re.Match[str]) -> str:
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
