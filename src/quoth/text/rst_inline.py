"""reStructuredText without its inline marks: the words of a paragraph or a title as a reader sees them.

Roles, references, emphasis, literals, substitutions and escapes go; their text stays. Also names what a paragraph
defines on the way (`targets`), because docutils gives ids to those too. Knows lines of text, not blocks.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_SPECIAL = re.compile(r"[`*|\\\[]|_(?!\w)")
# What may stand behind a closing mark.
_AFTER = r"(?=$|[\s'\")\]}>/\\:.,;!?’”»…–—-])"
# Every alternative starts with a literal character: only then does the engine skip ahead to the next candidate.
_INLINE = re.compile(
    r"\\(?P<escaped>.|\n)"
    r"|``(?<![\w`]``)(?P<literal>\S|\S.*?\S)``" + _AFTER + r"|:(?<![\w:]:)(?P<role>[A-Za-z][\w.+:-]*):"
    r"`(?P<roled>(?:\\.|[^`\\])+)`"
    r"|`(?<!\w`)(?P<phrase>[^`\s\\](?:\\.|[^`\\])*)`(?::(?P<suffix>[A-Za-z][\w.+:-]*):|_{1,2}(?!\w))?"
    r"|_`(?<!\w_`)(?P<target>[^`\s\\](?:\\.|[^`\\])*)`"
    r"|\*\*(?<![\w*]\*\*)(?P<strong>[^\s*]|[^\s].*?\S)\*\*(?!\w)"
    r"|\*(?<![\w*]\*)(?P<emphasis>[^\s*]|[^\s*](?:[^*]|\\\*)*?[^\s*])\*(?![\w*])"
    r"|\|(?<![\w|]\|)(?P<substitution>[^\s|]|[^\s|][^|\n]*[^\s|])\|_{0,2}(?!\w)"
    r"|\[(?P<note>\d+|\#[\w.-]*|\*|[A-Za-z][\w.-]*)\]_(?!\w)"
    r"|_(?<=[A-Za-z0-9]_)(?P<reference>_?)" + _AFTER,
    re.S,
)
_TITLED = re.compile(r"(.*?)\s*(?<!\\)<([^<>]*)>\s*\Z", re.S)
# The name before a `_` that makes a link of it: it begins a word, so `__init__` is none.
_NAME = re.compile(r"(?<![^\s'\"(\[{<\-/:‘“’«¡¿–—])(?:(?!_)\w)+(?:[-._+:](?:(?!_)\w)+)*$")
_ESCAPE = re.compile(r"\\(.|\n|\Z)", re.S)
NUMBERED = {"pep": "PEP ", "rfc": "RFC ", "cve": "CVE-", "cwe": "CWE-"}
# Roles whose text may begin with `~` (only the last part is shown) or `!` (no link).
_TILDE = re.compile(r"[~!.]+")


def inline(text: str) -> str:
    """The readable words of one paragraph or title."""
    if not _SPECIAL.search(text):
        return text.strip()
    return _INLINE.sub(_words, text).strip()


def as_markdown(text: str) -> str:
    """The same words with the marks that Markdown shares: emphasis stays, literals become code, roles and references
    go."""
    if not _SPECIAL.search(text):
        return text.strip()
    return _INLINE.sub(_marked, text).strip()


def _marked(match: re.Match[str]) -> str:
    kind = match.lastgroup
    if kind == "literal":
        return f"`{match['literal']}`" if "`" not in match["literal"] else match["literal"]
    return match[0] if kind in ("strong", "emphasis") else _words(match)


def targets(text: str) -> Iterator[str]:
    """The names that a paragraph defines, in order: of links with their target inside, of inline targets; an empty
    name for every footnote that is referred to."""
    if "]_" not in text and "`_" not in text and "_`" not in text:
        return
    for match in _INLINE.finditer(text):
        if match.lastgroup == "note":
            yield ""
        elif match.lastgroup == "target":
            yield _unescaped(match["target"])
        elif match.lastgroup == "phrase" and match[0].endswith("`_"):
            titled = _TITLED.match(match["phrase"])
            if titled:
                yield _unescaped(titled[1] or titled[2])


def _words(match: re.Match[str]) -> str:
    kind = match.lastgroup or ""
    said = match[kind]
    if kind == "escaped":
        return "" if said.isspace() else said
    if kind == "literal":
        return said
    if kind == "roled":
        return _role(match["role"], said)
    if kind == "suffix":
        return _role(said, match["phrase"])
    if kind == "target":
        return _unescaped(said)
    if kind == "phrase":
        titled = _TITLED.match(said)
        return _unescaped((titled[1] or titled[2]) if titled else said)
    if kind == "note":
        return "" if said[0].isdigit() or said[0] in "#*" else f"[{said}]"
    if kind == "reference":
        start = match.start()
        return "" if _NAME.search(match.string, max(0, start - 200), start) else match[0]
    return inline(said) if kind == "strong" or kind == "emphasis" else said


def _role(role: str, said: str) -> str:
    name = role.rsplit(":", 1)[-1].lower()
    titled = _TITLED.match(said)
    if titled and titled[1] and name != "math":
        return _unescaped(titled[1])
    text = said if name == "math" else _unescaped(titled[2] if titled else said)
    if name in NUMBERED and text[:1].isdigit():
        return f"{NUMBERED[name]}{text}"
    if text.startswith("~"):
        return re.split(r"[.:/]", _TILDE.sub("", text, count=1))[-1]
    return text[1:] if text.startswith("!") else text


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda match: "" if match[1].isspace() else match[1], text) if "\\" in text else text


def is_adornment(line: str) -> bool:
    return line[0] in PUNCTUATION and line == line[0] * len(line)


def is_rule(line: str) -> bool:
    return len(line) >= 4 and line[0] in PUNCTUATION and line == line[0] * len(line)


def width(text: str) -> int:
    """Columns, as an underline has to cover them."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else unicodedata.combining(c) == 0 for c in text)
