"""reStructuredText without its inline marks: the words of a paragraph or a title as a reader sees them.

The marks of roles, references, emphasis, literals, substitutions and escapes go; their text stays. `targets` also names
what a paragraph defines, because docutils gives ids to that too. Knows lines of text, not blocks.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator

PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_SPECIAL = re.compile(r"[`*|\\\[]|_(?!\w)")
# What may follow a closing mark.
_AFTER = r"(?=$|[\s'\")\]}>/\\:.,;!?’”»…–—-])"
# Every alternative starts with a literal character: only then does the engine skip ahead to the next candidate. Lengths
# are bounded; otherwise each of many opening marks would be followed to the end of the text.
_INLINE = re.compile(
    r"\\(?P<escaped>.|\n)"
    r"|``(?<![\w`]``)(?P<literal>\S|\S.{0,1000}?\S)``" + _AFTER + r"|:(?<![\w:]:)(?P<role>[A-Za-z][\w.+:-]{0,100}):"
    r"`(?P<roled>(?:\\.|[^`\\])+)`"
    r"|`(?<!\w`)(?P<phrase>(?:[^`\s\\]|\\[^\s`])(?:\\.|[^`\\])*)`(?::(?P<suffix>[A-Za-z][\w.+:-]*):|_{1,2}(?!\w))?"
    r"|_`(?<!\w_`)(?P<target>[^`\s\\](?:\\.|[^`\\])*)`"
    r"|\*\*(?<![\w*]\*\*)(?P<strong>[^\s*]|[^\s].{0,1000}?\S)\*\*(?!\w)"
    r"|\*(?<![\w*]\*)(?P<emphasis>[^\s*]|[^\s*](?:[^*]|\\\*)*?[^\s*])\*(?![\w*])"
    r"|\|(?<![\w|]\|)(?P<substitution>[^\s|]|[^\s|][^|\n]*[^\s|])\|_{0,2}(?!\w)"
    r"|\[(?P<note>\d+|\#[\w.-]*|\*|[A-Za-z][\w.-]*)\]_(?!\w)"
    r"|_(?<=[A-Za-z0-9]_)(?P<reference>_?)" + _AFTER,
    re.S,
)
# The name before a `_` that makes a link of it. It begins a word, so there is none in `__init__`.
_NAME = re.compile(r"(?<![^\s'\"(\[{<\-/:‘“’«¡¿–—])(?:(?!_)\w)+(?:[-._+:](?:(?!_)\w)+)*$")
_ESCAPE = re.compile(r"\\(.|\n|\Z)", re.S)
NUMBERED = {"pep": "PEP ", "rfc": "RFC ", "cve": "CVE-", "cwe": "CWE-"}
# What Markdown would take for marks of its own in a name, and a name with such marks in a sentence.
_LIKE_MARKS = re.compile(r"__|\*|\b_|_\b|[<{]")
_DUNDER = re.compile(
    r"`[^`]*`|\$[^$\n]{1,500}\$"
    r"|(?<![\w.*])(?P<name>[\w.]{0,80}?__(?=[^\W_])\w{1,80}?__(?!\w)(?:\.\w{1,40})?(?:\(\))?)"
)
_FORMULA = re.compile(r"\\[A-Za-z]+(?=.*[{^_])", re.S)  # where the default role is that of formulas
# Roles of Python's names: a dot before the name says only where it is looked for.
_PYTHON = frozenset(("attr", "class", "const", "data", "deco", "exc", "func", "meth", "mod", "obj", "property", "type"))
# Roles whose text may begin with `~` (only the last part is shown) or `!` (no link).
_TILDE = re.compile(r"[~!.]+")


def inline(text: str) -> str:
    """The readable words of one paragraph or title."""
    if not _SPECIAL.search(text):
        return text.strip()
    return _INLINE.sub(_words, text).strip()


def as_markdown(text: str) -> str:
    """The same words with the marks that Markdown shares: emphasis stays, literals become code, formulas are between
    dollar signs, other roles and references go."""
    shown = _INLINE.sub(_marked, text) if _SPECIAL.search(text) else text
    if "__" in shown:
        shown = _DUNDER.sub(lambda match: f"`{match[0]}`" if match["name"] else match[0], shown)
    return announcing(shown.strip())


def announcing(text: str) -> str:
    """`Example::` announces a literal block; readers see one colon, and none after a space."""
    if not text.endswith("::"):
        return text
    said = text.removesuffix("::")
    return f"{said.rstrip(':')}:" if said == said.rstrip() != "" else said.rstrip()


def as_code(name: str) -> str:
    """A name as code if Markdown would take a part of it for a mark: `__init__`, `*args`, `{% if %}`."""
    marked = _LIKE_MARKS.search(name) if " " not in name else set(name) & {"<", "{"}
    return f"`{name}`" if marked and "`" not in name else name


def _marked(match: re.Match[str]) -> str:
    kind = match.lastgroup
    if kind == "literal":
        return f"`{match['literal']}`" if "`" not in match["literal"] else f"`` {match['literal']} ``"
    if kind == "roled" and match["role"].lower() == "math" and "$" not in match["roled"]:
        return f"${match['roled'].strip()}$"
    if kind in ("strong", "emphasis"):  # a role inside is none to docutils, and a slip of the author
        mark = match[0][: match.start(kind) - match.start()]
        return f"{mark}{inline(match[kind])}{mark}" if ":`" in match[0] else match[0]
    if kind == "phrase" and match[0].endswith("`") and "$" not in match["phrase"] and _FORMULA.search(match["phrase"]):
        return f"${match['phrase'].strip()}$"
    return as_code(_words(match)) if kind in ("roled", "suffix", "phrase") else _words(match)


def targets(text: str) -> Iterator[str]:
    """The names that a paragraph defines, in order: those of links with their target inside and of inline targets, and
    an empty name for every reference to a footnote."""
    if "]_" not in text and "`_" not in text and "_`" not in text:
        return
    for match in _INLINE.finditer(text):
        if match.lastgroup == "note":
            yield ""
        elif match.lastgroup == "target":
            yield _unescaped(match["target"])
        elif match.lastgroup == "phrase" and match[0].endswith("`_"):
            titled = _titled(match["phrase"])
            if titled:
                yield _unescaped(titled[0] or titled[1])


def _titled(said: str) -> tuple[str, str] | None:
    """Title and target of `title <target>`; None if there is no target."""
    bare = said.rstrip()
    opening = bare.rfind("<")
    if opening < 0 or not bare.endswith(">") or ">" in bare[opening:-1] or bare[:opening].endswith("\\"):
        return None
    return bare[:opening].rstrip(), bare[opening + 1 : -1]


def _words(match: re.Match[str]) -> str:
    kind = match.lastgroup or ""
    return _READ[kind](match, match[kind])


def _escaped(match: re.Match[str], said: str) -> str:
    return "" if said.isspace() else said


def _phrase(match: re.Match[str], said: str) -> str:
    titled = _titled(said)
    return _unescaped((titled[0] or titled[1]) if titled else said)


def _note(match: re.Match[str], said: str) -> str:
    return "" if said[0].isdigit() or said[0] in "#*" else f"[{said}]"


def _reference(match: re.Match[str], said: str) -> str:
    start = match.start()
    return "" if _NAME.search(match.string, max(0, start - 200), start) else match[0]


def _emphasised(match: re.Match[str], said: str) -> str:
    return inline(said)


# What is left of each kind of mark, by the name of its group in `_INLINE`.
_READ: dict[str, Callable[[re.Match[str], str], str]] = {
    "escaped": _escaped,
    "literal": lambda match, said: said,
    "roled": lambda match, said: _role(match["role"], said),
    "suffix": lambda match, said: _role(said, match["phrase"]),
    "target": lambda match, said: _unescaped(said),
    "phrase": _phrase,
    "note": _note,
    "reference": _reference,
    "strong": _emphasised,
    "emphasis": _emphasised,
    "substitution": lambda match, said: said,
}


def _role(role: str, said: str) -> str:
    name = role.rsplit(":", 1)[-1].lower()
    titled = _titled(said)
    if titled and titled[0] and name != "math":
        return _unescaped(titled[0])
    text = said if name == "math" else _unescaped(titled[1] if titled else said)
    if name in NUMBERED and text[:1].isdigit():
        return f"{NUMBERED[name]}{text}"
    if name == "menuselection":
        return text.replace("-->", "→")
    if text.startswith("~"):
        return re.split(r"[.:/]", _TILDE.sub("", text, count=1))[-1]
    text = text[1:] if text.startswith("!") else text
    return text.lstrip(".") if name in _PYTHON else text


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
