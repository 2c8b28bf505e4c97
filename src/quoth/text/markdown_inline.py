"""Markdown as a site's toolchain extends it → Markdown that every reader of an answer can read.

In: a sentence or a table row as its author wrote it. Out: the same words without roles, tags, shortcodes, comments,
footnote marks, attribute lists and icons; a link whose target is defined elsewhere on the page becomes its words.
Emphasis, code and links stay, and code is never changed. Knows lines of text, not blocks.
"""

from __future__ import annotations

import html
import re
from functools import lru_cache

from quoth.text.line_marks import ATTRIBUTES
from quoth.text.rst_inline import NUMBERED, announcing, as_code

_CODE = r"(?P<code>`+[^`]*`+)"
_SAID = r"\[(?P<said>(?:[^\[\]`]|`[^`]*`)+)\]"
_ROLE = re.compile(r"\{(?P<role>[A-Za-z][\w:.+-]*)\}(?P<ticks>`+)(?P<said>[^`\n]+)(?P=ticks)")
_ROLE_TARGET = re.compile(r"\s*<[^<>]*>\Z")
# [the chapter on types][types], [`run`][]: the target is defined elsewhere on the page
_REFERENCE = re.compile(_CODE + r"|!?" + _SAID + r"\[[^\[\]\n]{0,200}\]")
_SHORT_REFERENCE = re.compile(_CODE + r"|!?" + _SAID + r"(?![\[(:])")
_DEFINED = re.compile(r"^[ \t>]*\[([^\[\]\n]+)\]:[ \t]*\S", re.M)
_UNNAMED_LINK = re.compile(_CODE + r"|\[\s*\]\((?P<target>[^()\s]+)\)")  # a renderer shows the title of the target
_TAGGED_CODE = re.compile(_CODE + r"|<code>(?P<said>[^<>`]+)</code>")
# Lengths are bounded; otherwise each of many opening marks would be followed to the end of the text.
_HIDDEN = re.compile(
    _CODE + r"|\{\{[<%#].{0,300}?\}\}|\{%.{0,300}?%\}|<!--.{0,300}?-->|\{/\*.{0,300}?\*/\}"
    r"|(?P<apart></?(?:br|dd|div|dt|hr|li|ol|p|td|tr|ul)\b[^<>]*>)"
    r"|</?[A-Za-z][\w.:-]*(?:\s[^<>]*)?/?>"
    r"|(?:(?<!\s)\s+)?\{:?\s*#[\w.:-]+[^{}\n]*\}|(?:(?<=[)\]:])|(?<!\s)\s+(?=\{[^{}\n]+\}\s*\Z))" + ATTRIBUTES,
    re.DOTALL,
)
_FOOTNOTE = re.compile(_CODE + r"|\[\^[^\]\s]{1,80}\](?!:)|(?<=\S)\[\^[^\]\s]{1,80}\]")
_ENTITY = re.compile(_CODE + r"|&(?:[A-Za-z][A-Za-z0-9]{1,30}|#\d{1,7}|#[xX][0-9A-Fa-f]{1,6});")
# Icons of Material for MkDocs. As the words of a link they are named; a tick and a cross mean something on their own.
_ICON = re.compile(
    _CODE + r"|(?P<open>\[?)(?<![\w:]):(?:fontawesome|lucide|material|octicons|phosphor|simple)-"
    r"(?P<name>[a-z0-9][a-z0-9-]{0,80}):"
)
_TICKS = {"check": "✓", "check-all": "✓", "check-circle": "✓", "close": "✗", "close-circle": "✗"}
_MARKED = re.compile(_CODE + r"|(?<![\w^=])(?P<mark>\^\^|==)(?=[^\s^=])(?P<said>[^\n^=]{1,300})(?P=mark)(?![\w^=])")
_SPACES = re.compile(r"[ \t]{2,}")
_SPACE_BEFORE = re.compile(r" +(?=[.,;:!?](?:\s|\Z))")
_DELIMITER_ROW = re.compile(r"[\s|:>-]+\Z")


def as_markdown(text: str, page: str = "") -> str:
    """One line. `page` is the text around it, which may define the targets of its links."""
    shown = _ROLE.sub(_role, text) if "}`" in text else text
    if "<" in shown or "{" in shown:
        shown = _TAGGED_CODE.sub(lambda match: match["code"] or f"`{html.unescape(match['said'].strip())}`", shown)
        shown = _HIDDEN.sub(lambda match: match["code"] or (" " if match["apart"] else ""), shown)
    if "[^" in shown:
        shown = _FOOTNOTE.sub(lambda match: match["code"] or "", shown)
    if "[" in shown:
        shown = _without_references(shown, page)
    if ":" in shown:
        shown = announcing(_ICON.sub(_icon, shown))
    if "^^" in shown or "==" in shown:
        shown = _MARKED.sub(lambda match: match["code"] or match["said"], shown)
    if "&" in shown:
        shown = _ENTITY.sub(_character, shown)
    return shown if shown == text else _SPACE_BEFORE.sub("", _SPACES.sub(" ", shown)).strip()


def row_as_markdown(row: str, page: str = "") -> str:
    """A row, or a header with the line below it, without the marks of a quote around the table."""
    lines = (line.strip("> \t") for line in row.splitlines())
    return "\n".join(line if _DELIMITER_ROW.match(line) else as_markdown(line, page) for line in lines)


def _without_references(text: str, page: str) -> str:
    if "][" in text:
        text = _REFERENCE.sub(lambda match: match["code"] or match["said"].strip(), text)
    if "](" in text:
        text = _UNNAMED_LINK.sub(lambda match: match["code"] or _target_words(match["target"]), text)
    names = _definitions(page) if "]:" in page else frozenset()
    if not names:
        return text
    return _SHORT_REFERENCE.sub(
        lambda match: match["code"] or (match["said"] if match["said"].lower() in names else match[0]), text
    )


@lru_cache(maxsize=64)  # the sentences of one passage are shown one by one
def _definitions(page: str) -> frozenset[str]:
    return frozenset(name.lower() for name in _DEFINED.findall(page))


def _target_words(target: str) -> str:
    """`./install-guide.md` and `#install-guide` are shown as "install guide", a name of the code as code."""
    name = target.rsplit("#", 1)[-1].rstrip("/").rsplit("/", 1)[-1]
    name = re.sub(r"\.(?:md|mdx|rst|html?|ipynb)\Z", "", name)
    return as_code(name) if "." in name or "-" not in name else name.replace("-", " ")


def _role(match: re.Match[str]) -> str:
    said, role = match["said"], match["role"].rsplit(":", 1)[-1].lower()
    if role == "math" and "$" not in said:
        return f"${said.strip()}$"
    if titled := _ROLE_TARGET.search(said):
        return said[: titled.start()] or said.strip("<> ")
    if role in NUMBERED and said[:1].isdigit():
        return NUMBERED[role] + said
    return as_code(said.rsplit(".", 1)[-1].lstrip("~!") if said.startswith("~") else said.lstrip("!"))


def _icon(match: re.Match[str]) -> str:
    if match["code"]:
        return match["code"]
    name = match["name"]
    if match["open"] and match.end() < len(match.string) and match.string[match.end()] == "]":
        return match["open"] + name.replace("-", " ")
    return match["open"] + _TICKS.get(name, "")


def _character(match: re.Match[str]) -> str:
    if match["code"]:
        return match["code"]
    said = html.unescape(match[0]).replace("\xa0", " ").replace("\xad", "")
    return said.replace("|", "\\|")
