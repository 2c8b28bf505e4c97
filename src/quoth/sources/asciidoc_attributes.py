"""The attributes of an AsciiDoc document while it is read from top to bottom: values, conditions, counters.

What the author sets (`:name: value`) holds from there on; the site may lock its own values against that. Conditions
(`ifdef`, `ifndef`, `ifeval`) test them. Names of characters (`{nbsp}`, `{plus}`) are not attributes here: their values
could be mistaken for marks, so `quoth.text.asciidoc_inline` reads them last.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

_REFERENCE = re.compile(
    r"\\\{[^{}\n]{1,200}+\}|`\+.{1,200}?\+`|(?<![\w+])\+[^+\s][^+\n]{0,200}?\+(?![\w+])|\+\+\+.{1,500}?\+\+\+"
    r"|\$\$.{1,500}?\$\$|\bpass:\[(?:[^\]\\]|\\.){0,500}+\]"
    r"|\{(?P<name>\w[\w-]*+)\}|\{(?P<verb>set|counter2?):(?P<rest>[^{}\n]{1,200}+)\}"
)
_PASS = re.compile(r"pass:[a-z,-]*\[(.*)\]$", re.S)
_EXPRESSION = re.compile(r"(.+?) *([=!><]=|[><]) *(.+)$")
_AUTHOR = re.compile(r"([^<>]*?)(?:[ \t]*<([^>]+)>)?$")
_REVISION = re.compile(r"(?:[^\d{]*(\S+?),)?[ \t]*(?!:)(.*?)(?:[ \t]*(?!^),?:[ \t]*(.*))?$")
_OPERATORS: dict[str, Callable[[object, object], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,  # type: ignore[dict-item]
    "<=": operator.le,  # type: ignore[dict-item]
    ">": operator.gt,  # type: ignore[dict-item]
    ">=": operator.ge,  # type: ignore[dict-item]
}
_LONGEST_VALUE = 10_000  # characters: a value may name another one twice, which names another one twice …
# What Asciidoctor sets for an article that becomes HTML.
BUILT_IN: Mapping[str, str] = {
    **dict.fromkeys(("asciidoctor", "backend-html5", "basebackend-html", "doctype-article", "filetype-html"), ""),
    **dict.fromkeys(("backend-html5-doctype-article", "basebackend-html-doctype-article", "sectids"), ""),
    **{"backend": "html5", "basebackend": "html", "doctype": "article", "filetype": "html", "outfilesuffix": ".html"},
    **{"asciidoctor-version": "2.0.23", "safe-mode-name": "safe", "safe-mode-level": "1", "safe-mode-safe": ""},
}


@dataclass(slots=True)
class Attributes:
    values: dict[str, str] = field(default_factory=lambda: dict(BUILT_IN))
    locked: frozenset[str] = frozenset()
    offset: int = 0  # leveloffset

    def set(self, name: str, value: str | None) -> None:
        """`None` unsets."""
        name = name.lower()
        if name in self.locked:
            return
        if name == "leveloffset":
            self._set_offset(value or "")
        if value is None:
            self.values.pop(name, None)
            return
        passed = _PASS.match(value)
        value = passed[1] if passed else self.filled(value)
        self.values[name] = value[:_LONGEST_VALUE]
        if name == "doctype":
            self.values = {key: kept for key, kept in self.values.items() if "doctype-" not in key}
            for key in (f"doctype-{value}", f"backend-html5-doctype-{value}", f"basebackend-html-doctype-{value}"):
                self.values[key] = ""

    def _set_offset(self, value: str) -> None:
        if re.fullmatch(r"[+-]?\d{1,3}", value):
            self.offset = self.offset + int(value) if value[0] in "+-" else int(value)
        else:
            self.offset = 0

    def filled(self, text: str) -> str:
        """The text with the attributes that it names replaced by their values."""
        parts: list[str] = []
        at = 0
        for start, end, value in self.references(text):
            parts += (text[at:start], value)
            at = end
        return "".join([*parts, text[at:]]) if parts else text

    def references(self, text: str) -> list[tuple[int, int, str]]:
        """Where the text names attributes that are set, with their values. `{set:…}` and `{counter:…}` take effect."""
        if "{" not in text:
            return []
        found: list[tuple[int, int, str]] = []
        for match in _REFERENCE.finditer(text):
            value = self._value(match)
            if value is not None:
                found.append((match.start(), match.end(), value))
        return found

    def _value(self, match: re.Match[str]) -> str | None:
        if match["name"]:
            return self.values.get(match["name"].lower())
        if not match["verb"]:
            return None  # escaped, or passed through
        name, _, value = match["rest"].partition(":")
        if match["verb"] == "set":
            self.set(name.strip("!"), None if "!" in name else value)
            return ""
        self.values[name] = _counted(self.values.get(name, ""), value)
        return "" if match["verb"] == "counter2" else self.values[name]

    def read_title(self, title: str) -> None:
        self.values.setdefault("doctitle", self.filled(title))

    def read_byline(self, line: str, number: int) -> None:
        """The lines below the title of a document: who wrote it, and which revision it is."""
        if number == 0 and (author := _AUTHOR.match(line.partition(";")[0])):
            self.values |= {"author": author[1], "email": author[2] or ""}
        elif revision := _REVISION.match(line):
            named = {"revnumber": revision[1], "revdate": revision[2], "revremark": revision[3]}
            if line[:1] == "v" and "," not in line:
                named = {"revnumber": line[1:]}
            self.values |= {name: value for name, value in named.items() if value}

    # --- conditions --------------------------------------------------------------------------------------------------

    def holds(self, keyword: str, target: str, text: str) -> bool:
        """Whether text under this condition is part of the document."""
        if keyword == "ifeval":
            return self._evaluated(text)
        names = re.split(r"[,+]", target.lower())
        known = [name in self.values for name in names]
        together = all if "+" in target else any
        return together(known) if keyword == "ifdef" else not together(known)

    def _evaluated(self, expression: str) -> bool:
        found = _EXPRESSION.match(expression.strip())
        if found is None:
            return False
        left, right = (self._operand(found[side]) for side in (1, 3))
        try:
            return _OPERATORS[found[2]](left, right)
        except TypeError:
            return False  # a word cannot be compared with a number

    def _operand(self, said: str) -> object:
        said = said.strip()
        if len(said) > 1 and said[0] == said[-1] and said[0] in "\"'":
            return self.filled(said[1:-1])
        value = self.filled(said)
        if value in ("true", "false"):
            return value == "true"
        if not value:
            return None
        return float(value) if re.fullmatch(r"-?\d{1,15}(?:\.\d{1,15})?", value) else value


def _counted(now: str, seed: str) -> str:
    if not now:
        return seed or "1"
    if now.isdecimal() and len(now) < 15:
        return str(int(now) + 1)
    return chr(ord(now[-1]) + 1) if len(now) == 1 else now
