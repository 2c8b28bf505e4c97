"""The marks inside a line of AsciiDoc → the words that a reader sees.

`inline` drops what only tells a converter what to do: emphasis, roles, link targets, anchors, index terms, escapes. Its
rules are those of Asciidoctor, in one pass instead of its many, so that nothing inside a link is taken for
emphasis. `as_markdown` keeps the marks that Markdown shares. Every pattern is bounded, so that time grows with the
length of the text and not faster.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable

_INSIDE = r"(?:[^\]\\]|\\.){0,1000}+"  # brackets, which `\]` does not close
_LONG = r"{0,500}?"
_ROLE = r"(?:\[[^\]\[\n]{1,100}+\])?"


def _constrained(mark: str, name: str, *, before: str = r"\w;:}", after: str = r"\w") -> str:
    end = rf"{mark}(?![{after}])"
    ends = rf"(?={end}|.{{0,499}}?\S{end})"  # cheaper than the search for the end, which is most often in vain
    return rf"(?<![{before}]){_ROLE}{mark}(?=\S){ends}(?P<{name}>(?:(?!\n[ \t]*\n).){_LONG}(?<=\S)){end}"


# What any of the patterns below begins with: without it, all of them are tried at every letter.
_BEGINS = (
    r"[\\+$`\"'\[<(*_#^~{]|--|->|=>|\.\.\.|[ \t]\+|footnote|\b(?:pass|anchor|kbd|btn|menu|image|icon|link|mailto"
    r"|xref|https?|ftp|irc|indexterm2?|stem|latexmath|asciimath):"
)
_INLINE = re.compile(
    rf"(?={_BEGINS})(?:"
    r"\\(?P<escaped>(?:\\?(?:\*\*|__|``|##|\+\+\+?|\$\$)|[*_`#^~+\[{<'\"(.\\-]|(?=[a-z]{3,11}:)))"
    r"|\+\+\+(?P<raw>.{1,1000}?)\+\+\+"
    r"|\$\$(?P<dollars>.{1,1000}?)\$\$"
    r"|(?<!\+)\+\+(?P<plus>[^+](?:.{0,500}?[^+])?)\+\+(?!\+)"
    rf"|\bpass:[a-z,-]{{0,40}}+\[(?P<passed>{_INSIDE})\]"
    r"|`\+(?P<literal>.{1,500}?)\+`"
    r"|\"`(?P<double>(?=\S).{1,500}?(?<=\S))`\"(?!\w)"
    r"|'`(?P<single>(?=\S).{1,500}?(?<=\S))`'(?!\w)"
    rf"|(?=[\[`+])(?:{_ROLE}``(?P<code>.{{1,500}}?)``"
    rf"|{_constrained('`', 'mono', before=chr(92) + 'w;:}`', after=chr(92) + 'w`')}"
    rf"|{_constrained(chr(92) + '+', 'bare')})"
    r"|\[\[\[(?P<biblio>[^\]\[,\n]{1,200}+)(?:,[^\]\n]{0,200}+)?\]\]\]"
    r"|(?P<anchor>\[\[[\w:][^\]\[\n]{0,200}+\]\]|\banchor:[\w:.-]{1,200}+\[[^\]\n]{0,200}+\])"
    rf"|footnote(?:ref)?:(?P<noteid>[\w-]{{0,80}}+)\[(?P<note>{_INSIDE})\]"
    rf"|\b(?:kbd|btn):\[(?P<key>{_INSIDE})\]"
    rf"|\bmenu:(?P<menu>[^\s\[\]][^\[\]\n]{{0,200}}+)\[(?P<entry>{_INSIDE})\]"
    rf"|\b(?P<picture>image|icon):(?P<file>[^:\s\[][^\s\[]{{0,1000}}+)\[(?P<alt>{_INSIDE})\]"
    rf"|\b(?:link|mailto):(?P<href>[^\s\[]{{0,1000}}+)\[(?P<linked>{_INSIDE})\]"
    rf"|\bxref:(?P<target>[^\s\[]{{1,1000}}+)\[(?P<xref>{_INSIDE})\]"
    r"|<<(?P<to>[\w#/.:{][^<>,\n]{0,500}+)(?:,[ \t\n]*(?P<said>[^<>]{0,500}+))?>>"
    rf"|<?(?P<url>\b(?:https?|ftp|irc)://[^\s\[\]<>]{{1,2000}}+)(?:\[(?P<named>{_INSIDE})\]|>)?"
    rf"|\bindexterm:\[(?P<hidden>{_INSIDE})\]|\bindexterm2:\[(?P<term>{_INSIDE})\]"
    r"|\(\(\((?P<terms>[^()]{1,500}+)\)\)\)|\(\((?P<flow>[^()]{1,500}+)\)\)"
    rf"|\b(?:stem|latexmath|asciimath):[a-z,]{{0,40}}+\[(?P<math>{_INSIDE})\]"
    rf"|(?=[\[*_#^~])(?:{_ROLE}\*\*(?P<strongs>.{{1,500}}?)\*\*"
    rf"|{_constrained(chr(92) + '*', 'strong')}"
    rf"|{_ROLE}__(?P<ems>.{{1,500}}?)__"
    rf"|{_constrained('_', 'em')}"
    rf"|{_ROLE}##(?P<marks>.{{1,500}}?)##"
    rf"|{_constrained('#', 'mark', before=chr(92) + 'w&;:}')}"
    rf"|{_ROLE}\^(?P<sup>[^\s^]{{1,200}}+)\^|{_ROLE}~(?P<sub>[^\s~]{{1,200}}+)~)"
    r"|\{(?P<character>[a-z][a-z-]{1,14}+)\}"
    r"|(?P<dash>(?:(?<=\s)|^)--(?=\s|$))|(?<=\w)(?P<bar>--)(?=\w)|(?P<dots>\.\.\.)"
    r"|(?P<apostrophe>`'(?!`))"
    r"|(?P<sign>\((?:C|R|TM)\)|-(?=>)>|=>|<-|<=)"
    r"|(?P<break>[ \t]\+$))",
    re.S | re.M,
)
_SPECIAL = re.compile(r"[\\*_`#^~+\[{<(&:]|--|\.\.\.|=>|->")
_CHARACTERS = {
    **{"startsb": "[", "endsb": "]", "vbar": "|", "caret": "^", "asterisk": "*", "tilde": "~", "plus": "+"},
    **{"backslash": "\\", "backtick": "`", "blank": "", "empty": "", "sp": " ", "two-colons": "::"},
    **{"two-semicolons": ";;", "nbsp": "\u00a0", "deg": "°", "zwsp": "", "quot": '"', "apos": "'", "lsquo": "‘"},
    **{"rsquo": "’", "ldquo": "“", "rdquo": "”", "wj": "", "brvbar": "¦", "pp": "++", "cpp": "C++", "amp": "&"},
    **{"lt": "<", "gt": ">"},
}
_SIGNS = {"(C)": "©", "(R)": "®", "(TM)": "™", "->": "→", "=>": "⇒", "<-": "←", "<=": "⇐"}
_ATTRIBUTES = re.compile(r"(?:^|,)[ \t]*[\w-]+=.*$", re.S)
_SPACES = re.compile(r"[ \t]{2,}")
_TAGS = re.compile(r"<[^<>]{1,500}+>")
_DASH = re.compile("[ \t]?\ue000[ \t]?")  # a dash absorbs the spaces around it
_ENTITY = re.compile(r"&(?:[a-zA-Z]{2,30}\d{0,2}|#\d{2,6}|#x[\da-fA-F]{2,5});")


def inline(text: str) -> str:
    """The words of a paragraph, a title or a cell."""
    if not _SPECIAL.search(text):
        return text.strip()
    shown = _INLINE.sub(_words, text)
    return _SPACES.sub(" ", html.unescape(shown) if "&" in shown else shown).strip()


def title_for_id(text: str) -> str:
    """The words of a section title from which Asciidoctor makes its id: without pictures, and without characters that
    were written as entities."""
    if not _SPECIAL.search(text):
        return text.strip()
    return _DASH.sub("", _INLINE.sub(_title_words, _ENTITY.sub("", text))).strip()


def as_markdown(text: str) -> str:
    """The same words with the marks that Markdown shares."""
    if not _SPECIAL.search(text):
        return text.strip()
    shown = _INLINE.sub(_marked, text)
    return _SPACES.sub(" ", html.unescape(shown) if "&" in shown else shown).strip()


def _unescaped(text: str) -> str:
    return text.replace("\\]", "]")


def _nested(text: str) -> str:
    return _INLINE.sub(_words, text) if _SPECIAL.search(text) else text


def _words(match: re.Match[str]) -> str:
    kind = _kind(match)
    return _READ[kind](match, match[kind])


def _kind(match: re.Match[str]) -> str:
    """The group that says what was found. Some constructs have two groups; the second may be missing."""
    last = match.lastgroup or ""
    return _FIRST.get(last, last)


_FIRST = {"noteid": "note", "file": "alt", "picture": "alt", "href": "linked", "target": "xref", "said": "to"}
_FIRST |= {"named": "url", "menu": "entry"}


def _label(said: str) -> str:
    """The text of a link, without attributes and the sign for a new window."""
    said = _unescaped(said)
    if "=" in said and not said.startswith('"'):
        said = _ATTRIBUTES.sub("", said)
    elif said.startswith('"') and said.find('"', 1) > 0:
        said = said[1 : said.index('"', 1)]
    return _nested(said.removesuffix("^")).strip()


def _target_words(target: str) -> str:
    """A reference without a text of its own: the name of what it leads to, as words."""
    page, _, anchor = target.partition("#")
    name = anchor or re.split(r"[/:$@]", page)[-1]
    name = re.sub(r"\.(?:adoc|asciidoc|asc|html)$", "", name)
    return re.sub(r"[_-]+", " ", name).strip()


def _note(match: re.Match[str], said: str) -> str:
    _, comma, text = said.partition(",")
    said = text if match[0].startswith("footnoteref") and comma else said
    return f" ({_nested(_unescaped(said)).strip()})" if said.strip() else ""


def _alt(match: re.Match[str], said: str) -> str:
    return _label(said.partition(",")[0] if "=" not in said.partition(",")[0] else "")


def _url(match: re.Match[str], url: str) -> str:
    named = match["named"]
    if named is None:
        return url
    return _label(named) or url


def _menu(match: re.Match[str], entry: str) -> str:
    return " > ".join(part.strip() for part in (match["menu"], *entry.split(">")) if part.strip())


_READ: dict[str, Callable[[re.Match[str], str], str]] = {
    "escaped": lambda match, said: said.removeprefix("\\"),
    "raw": lambda match, said: _TAGS.sub("", said),
    "dollars": lambda match, said: said,
    "plus": lambda match, said: said,
    "passed": lambda match, said: _TAGS.sub("", _unescaped(said)),
    "literal": lambda match, said: said,
    "code": lambda match, said: _nested(said),
    "double": lambda match, said: f"“{_nested(said)}”",
    "single": lambda match, said: f"‘{_nested(said)}’",
    "mono": lambda match, said: _nested(said),
    "bare": lambda match, said: said,
    "biblio": lambda match, said: f"[{said}]",
    "anchor": lambda match, said: "",
    "note": _note,
    "key": lambda match, said: _unescaped(said),
    "entry": _menu,
    "alt": _alt,
    "linked": lambda match, said: _label(said) or match["href"],
    "xref": lambda match, said: _label(said) or _target_words(match["target"]),
    "to": lambda match, said: _label(match["said"] or "") or _target_words(said),
    "url": _url,
    "hidden": lambda match, said: "",
    "term": lambda match, said: _nested(said),
    "terms": lambda match, said: "",
    "flow": lambda match, said: _nested(said),
    "math": lambda match, said: _unescaped(said),
    "strongs": lambda match, said: _nested(said),
    "strong": lambda match, said: _nested(said),
    "ems": lambda match, said: _nested(said),
    "em": lambda match, said: _nested(said),
    "marks": lambda match, said: _nested(said),
    "mark": lambda match, said: _nested(said),
    "sup": lambda match, said: _nested(said),
    "sub": lambda match, said: _nested(said),
    "character": lambda match, said: _CHARACTERS.get(said, match[0]),
    "dash": lambda match, said: "—",
    "bar": lambda match, said: "—",
    "apostrophe": lambda match, said: "’",
    "dots": lambda match, said: "…",
    "sign": lambda match, said: _SIGNS[said],
    "break": lambda match, said: "",
}


def _title_words(match: re.Match[str]) -> str:
    kind = _kind(match)
    if kind in ("alt", "dash"):
        return "\ue000" if kind == "dash" else ""
    return _READ[kind](match, match[kind])


def _marked(match: re.Match[str]) -> str:
    kind = _kind(match)
    words = _READ[kind](match, match[kind])
    if kind in ("code", "mono", "literal") and "`" not in words:
        return f"`{words}`"
    if kind in ("strong", "strongs") and words:
        return f"**{words}**"
    return f"*{words}*" if kind in ("em", "ems") and words else words
