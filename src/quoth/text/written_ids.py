"""A heading as it is written → the id that VitePress, Astro, Hugo, Jekyll or pandoc gives it, before duplicates are
numbered.

These tools see more than the words of a heading: pictures have no words for some of them, two hyphens are a dash unless
they are code, and VitePress leaves entities as they are. `quoth.text.anchors` counts the duplicates. Knows nothing of
files or URLs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import partial
from urllib.parse import quote, unquote

from quoth.domain import AnchorRule
from quoth.text.plain import heading_anchor, inline_text

_LONGEST_COMPOSED = 2_000  # letters, as in quoth.text.anchors
_ATX = re.compile(r"[ \t>]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*+#{1,6}(?:[ \t]+|$)")
_UNDERLINE = re.compile(r"\n[ \t>]*+(?:=+|-+)[ \t]*+$")
_CODE = re.compile(r"(?<!`)(`{1,3})(?!`)([^`]++)\1(?!`)")
_IMAGE = re.compile(r"!\[[^\[\]]*+\](?:\([^()\s]*+(?:\([^()]*+\)[^()\s]*+)?(?:\s+\"[^\"]*+\")?\)|\[[^\[\]]*+\])")
_EMOJI = re.compile(r"(?<![\w:`]):[a-z0-9_+-]+:(?![\w:`])")
_EXPRESSION = re.compile(r"\{[^{}]*+\}")
_DASHES = re.compile(r"-{2,}|\.{3}")
_DOUBLE = re.compile(r"(?<!-)--(?!-)")
_HIDDEN = str.maketrans({"-": "\ue001", ".": "\ue002", "&": "\ue003", ":": "\ue004", "{": "\ue005", "}": "\ue006"})
_SHOWN = str.maketrans({"\ue001": "-", "\ue002": ".", "\ue003": "&", "\ue004": ":", "\ue005": "{", "\ue006": "}"})

_VITE_MARKS = re.compile(r"[\s~`!@#$%^&*()\-_+=[\]{}|\\;:\"'“”‘’<>,.?/]+")
_VITE_LOST = re.compile(r"[\u0300-\u036f\x00-\x1f]")
_NO_LETTERS = re.compile(r"^[^a-zA-Z]+")

_CONTRACTION = re.compile(r"([A-Za-z\d])-([ts])(?=-|$)")  # "what's" is "whats"
_NO_ADDRESS = re.compile(r"[^A-Za-z\d%_]+")
# Punctuation that Mintlify drops at the end, and emoji (most of what Unicode calls pictographic).
_MINT_LOST = re.compile(
    "[?,;:!'\"()\\[\\]{}\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u231a\u231b\u23e9-\u23fa"
    "\u2600-\u27bf\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55\u200d\ufe0e\ufe0f\U0001f000-\U0001faff]"
)
_ASCII_MARKS = re.compile(r"[^a-z0-9_ -]")
# Letters that Unicode files under "symbol, other": circled, squared and negative Latin capitals.
_LETTERLIKE = ((0x24B6, 0x24E9), (0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189))


def written_id(written: str, rule: AnchorRule) -> str:
    """`written` is the heading with its marks, as in the file; empty if the tool gives it no id."""
    return _RULES[rule](_bare(written))


def is_written_rule(rule: AnchorRule) -> bool:
    return rule in _RULES


def _bare(written: str) -> str:
    """Without hashes, underline and explicit id; on one line."""
    if _ATX.match(written):
        words = _ATX.sub("", written, count=1).rstrip(" \t")
        closed = words.rstrip("#")
        words = closed if closed != words and (not closed or closed[-1] in " \t") else words
    else:
        words = " ".join(line.strip(" \t>") for line in _UNDERLINE.sub("", written).split("\n"))
    return heading_anchor(words.strip(" \t"))[0].strip(" \t")


def _words(written: str, *, images: bool, dashes: bool, entities: bool = True, double: bool = False) -> str:
    """What the tool reads of a heading. Dashes and ellipses are dropped as punctuation if `dashes`; only those of two
    hyphens if `double`."""
    written = _CODE.sub(lambda code: f"{code[1]}{code[2].translate(_HIDDEN)}{code[1]}", written)
    written = written if images else _IMAGE.sub("", written)
    written = _DASHES.sub("", written) if dashes else written
    written = _DOUBLE.sub("", written) if double else written
    written = written if entities else written.replace("&", "\ue003")
    return inline_text(written).translate(_SHOWN)


def _kept_ends(written: str, *, images: bool, dashes: bool, double: bool = False) -> str:
    """As `_words`, with the white space that a picture or dash at either end leaves."""
    marked = _words(f"\ue007{written}\ue007", images=images, dashes=dashes, double=double)
    return marked.replace("\ue007", "")


def _vitepress(written: str) -> str:
    """@mdit-vue/shared, on the text and code of the heading."""
    words = _words(_EMOJI.sub("", written), images=False, dashes=False, entities=False)
    words = unicodedata.normalize("NFKD", words) if len(words) <= _LONGEST_COMPOSED else words
    slug = _VITE_MARKS.sub("-", _VITE_LOST.sub("", words)).strip("-")
    return f"_{slug}".lower() if slug[:1].isascii() and slug[:1].isdigit() else slug.lower()


def _hugo(written: str, *, kind: str, dashes: bool) -> str:
    """Hugo's three kinds of ids."""
    words = _kept_ends(written, images=True, dashes=dashes).strip()
    if kind == "blackfriday":
        return _blackfriday(words)
    if kind == "ascii":
        words = "".join(c for c in unicodedata.normalize("NFD", words) if unicodedata.category(c) != "Mn")
        words = "".join(c for c in words if c.isascii())
    kept = (c if c in "-_" or _is_letter(c) or c.isdecimal() else "-" if c == " " else "" for c in words.lower())
    return "".join(kept) or "heading"


def _blackfriday(words: str) -> str:
    runs = "".join(c if _is_letter(c) or unicodedata.category(c)[0] == "N" else "-" for c in words.lower())
    return re.sub(r"-+", "-", runs).strip("-") or "heading"


def _is_letter(character: str) -> bool:
    return unicodedata.category(character)[0] == "L"


def _jekyll(written: str) -> str:
    """kramdown with the parser for GitHub's Markdown, as Jekyll sets it; none for a heading without letters."""
    words = _kept_ends(written, images=False, dashes=True).lower()
    return "".join("-" if c in " \t" else c if c == "-" or _is_word(c) else "" for c in words)


def _is_word(character: str) -> bool:
    """Ruby's `\\p{Word}`."""
    return character.isalpha() or unicodedata.category(character) in ("Mn", "Mc", "Me", "Nd", "Nl", "Pc")


def _kramdown(written: str) -> str:
    """kramdown's own rule, on the heading as it is written, links and marks included."""
    letters = _NO_LETTERS.sub("", written)
    kept = "".join(c for c in letters if c.isascii() and (c.isalnum() or c in " -"))
    return kept.replace(" ", "-").lower() or "section"


def _mintlify(written: str) -> str:
    """The words as they are written into an address, without punctuation and emoji."""
    words = re.sub(r"\s+", "-", _words(written, images=False, dashes=False).lower().strip())
    slug = _CONTRACTION.sub(r"\1\2", _NO_ADDRESS.sub("-", quote(words, safe="-_.!~*'()"))).strip("-")
    return _MINT_LOST.sub("", unquote(slug))


def _pandoc(written: str) -> str:
    words = _words(written, images=True, dashes=True).lower()
    kept = "-".join("".join(c for c in words if c.isalnum() or c.isspace() or c in "_-.").split())
    start = next((at for at, letter in enumerate(kept) if letter.isalpha()), len(kept))
    return kept[start:] or "section"


def _astro(written: str) -> str:
    """github-slugger, on a text in which two hyphens are a dash and three are not."""
    words = _kept_ends(written, images=False, dashes=False, double=True)
    return github_slug(_EXPRESSION.sub(_literal, words))


def _literal(expression: re.Match[str]) -> str:
    said = expression[0][1:-1].strip()
    return said[1:-1] if said[:1] in ("'", '"', "`") and said[-1:] == said[:1] else ""


def github_slug(words: str) -> str:
    if words.isascii():
        return _ASCII_MARKS.sub("", words.lower()).replace(" ", "-")
    return "".join(_github(character) for character in words.lower())


def _github(character: str) -> str:
    """github-slugger: spaces become hyphens; letters, marks, digits and connectors stay; everything else goes."""
    if character == " ":
        return "-"
    if character == "-" or character.isalpha():
        return character
    category = unicodedata.category(character)
    if category[0] == "M" or category in ("Nd", "Nl", "Pc"):
        return character
    return character if any(low <= ord(character) <= high for low, high in _LETTERLIKE) else ""


_RULES: dict[AnchorRule, Callable[[str], str]] = {
    "astro": _astro,
    "vitepress": _vitepress,
    "hugo": partial(_hugo, kind="github", dashes=True),
    "hugo-plain": partial(_hugo, kind="github", dashes=False),
    "hugo-ascii": partial(_hugo, kind="ascii", dashes=True),
    "hugo-blackfriday": partial(_hugo, kind="blackfriday", dashes=True),
    "jekyll": _jekyll,
    "kramdown": _kramdown,
    "mintlify": _mintlify,
    "pandoc": _pandoc,
}
