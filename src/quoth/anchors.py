"""The words of a heading → the anchor that its toolchain gives it on the published page.

Each toolchain has a rule for turning words into an id, a rule for headings that share their words, and its own view
of explicit ids. `Anchors` walks one page from top to bottom and must be shown every heading, also those that no chunk
uses, or later duplicates would be numbered wrongly. It knows nothing of files or URLs.
"""

from __future__ import annotations

import re
import unicodedata

from quoth.domain import AnchorRule

_ASCII_MARKS = re.compile(r"[^a-z0-9_ -]")
# Letters that Unicode files under "symbol, other": circled, squared and negative Latin capitals.
_LETTERLIKE = ((0x24B6, 0x24E9), (0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189))


class Anchors:
    """The anchors of one page, in the order of its headings."""

    def __init__(self, rule: AnchorRule) -> None:
        self._rule = rule
        self._seen: dict[str, int] = {}

    def of(self, words: str, explicit: str = "") -> str:
        """The anchor of the next heading; empty when the toolchain gives none."""
        if self._rule == "none":
            return ""
        if explicit:
            # Docusaurus and GitHub's slugger never learn of explicit ids, so those do not number later headings.
            if self._rule in ("mdbook", "mkdocs", "sphinx"):
                self._seen.setdefault(explicit, 0)
            return explicit
        return self._unique(slug(words, self._rule))

    def _unique(self, base: str) -> str:
        if self._rule == "sphinx" and (not base or base in self._seen):
            # docutils falls back to a running number for the whole page.
            number = self._seen.get("", 0) + 1
            self._seen[""] = number
            return f"id{number}"
        joint = "_" if self._rule == "mkdocs" else "-"
        if self._rule == "mkdocs" and not base:
            base = "_1" if "_1" not in self._seen else base
        anchor = base
        while anchor in self._seen:
            self._seen[base] += 1
            anchor = f"{base}{joint}{self._seen[base]}"
        self._seen[anchor] = 0
        return anchor


def slug(words: str, rule: AnchorRule) -> str:
    """The id of a heading before duplicates are told apart."""
    if rule in ("docusaurus", "github"):
        if words.isascii():
            return _ASCII_MARKS.sub("", words.lower()).replace(" ", "-")
        return "".join(_github(character) for character in words.lower())
    if rule == "mdbook":
        kept = (c if c in "_-" or c.isalnum() else "-" if c.isspace() else "" for c in words.strip().lower())
        return "".join(kept)
    ascii_words = unicodedata.normalize("NFKD", words).encode("ascii", "ignore").decode("ascii")
    if rule == "mkdocs":
        return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_words).strip().lower())
    if rule == "sphinx":
        return re.sub(r"^[-0-9]+|-+$", "", re.sub(r"[^a-z0-9]+", "-", ascii_words.lower()))
    return ""


def _github(character: str) -> str:
    """github-slugger: spaces become hyphens; letters, marks, digits and connectors stay; all else goes."""
    if character == " ":
        return "-"
    if character == "-" or character.isalpha():
        return character
    category = unicodedata.category(character)
    if category[0] == "M" or category in ("Nd", "Nl", "Pc"):
        return character
    return character if any(low <= ord(character) <= high for low, high in _LETTERLIKE) else ""
