"""The words of a heading → the anchor that its toolchain gives it on the published page.

Each toolchain has a rule for turning words into an id, a rule for headings that share their words, and its own view
of explicit ids. `Anchors` walks one page from top to bottom and must be shown every heading, also those that no chunk
uses, or later duplicates would be numbered wrongly. It knows nothing of files or URLs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from quoth.domain import AnchorRule
from quoth.text.rst_ids import docutils_id

_MKDOCS = ("mkdocs", "mkdocs-unicode", "pymdownx", "pymdownx-cased")
_SHORTCODE = re.compile(r"(?<![\w:]):[a-z0-9_+-]+:(?![\w:])")  # an emoji or icon, a picture when the id is made
_HONKIT_MARKS = re.compile(r"[\[\]!\"'#$%&()*+,./:;<=>?@\\^_`{|}~©∑®†“”‘’∂ƒ™℠…œŒ˚ºª•∆∞♥]")
_ASCII_MARKS = re.compile(r"[^a-z0-9_ -]")
# Letters that Unicode files under "symbol, other": circled, squared and negative Latin capitals.
_LETTERLIKE = ((0x24B6, 0x24E9), (0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189))


class Anchors:
    """The anchors of one page, in the order of its headings."""

    def __init__(self, rule: AnchorRule, explicit: Iterable[str] = ()) -> None:
        """Python-Markdown looks for explicit ids on the whole page before it gives any."""
        self._rule = rule
        self._seen: dict[str, int] = {}
        self._given: dict[str, str] = {}  # the last anchor for these words: counting goes on from there
        if rule in _MKDOCS:
            self._seen.update((anchor, 0) for anchor in explicit if anchor)

    def of(self, words: str, explicit: str = "") -> str:
        """The anchor of the next heading; empty when the toolchain gives none."""
        if self._rule == "none":
            return ""
        if self._rule == "html":  # the published page has the ids that it has
            return explicit
        if self._rule in ("jupyter", "honkit"):  # which do not tell headings of the same words apart
            return explicit or slug(words, self._rule)
        if explicit:
            # Docusaurus, mdBook and GitHub's slugger never learn of explicit ids: those do not number later headings.
            if self._rule == "sphinx" or self._rule in _MKDOCS:
                self._seen.setdefault(explicit, 0)
            return explicit
        return self._unique(slug(words, self._rule))

    def _unique(self, base: str) -> str:
        if self._rule == "sphinx" and (not base or base in self._seen):
            # docutils falls back to a running number for the whole page.
            number = self._seen.get("", 0) + 1
            self._seen[""] = number
            return f"id{number}"
        if self._rule in _MKDOCS:
            return self._numbered(base)
        anchor = base
        while anchor in self._seen:
            self._seen[base] += 1
            anchor = f"{base}-{self._seen[base]}"
        self._seen[anchor] = 0
        return anchor

    def _numbered(self, base: str) -> str:
        """Python-Markdown counts on from a number that the id ends with: after `step_1`, `step_1` is `step_2`."""
        anchor = self._given.get(base, base)
        while anchor in self._seen or not anchor:
            stem, mark, number = anchor.rpartition("_")
            counted = mark and number.isascii() and number.isdigit()
            anchor = f"{stem}_{int(number) + 1}" if counted else f"{anchor}_1"
        self._seen[anchor] = 0
        self._given[base] = anchor
        return anchor


def slug(words: str, rule: AnchorRule) -> str:
    """The id of a heading before duplicates are told apart."""
    if rule in _MKDOCS and ":" in words:
        words = _SHORTCODE.sub("", words)
    if rule in ("docusaurus", "github"):
        if words.isascii():
            return _ASCII_MARKS.sub("", words.lower()).replace(" ", "-")
        return "".join(_github(character) for character in words.lower())
    if rule == "mdbook":
        kept = (c if c in "_-" or c.isalnum() else "-" if c.isspace() else "" for c in words.strip().lower())
        return "".join(kept) or "section"
    if rule == "mkdocs-unicode":
        return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", words).strip().lower())
    if rule in ("pymdownx", "pymdownx-cased"):
        composed = unicodedata.normalize("NFC", " ".join(words.split()))
        return re.sub(r"[^\w\- ]", "", composed if rule == "pymdownx-cased" else composed.lower()).replace(" ", "-")
    if rule == "sphinx":
        return docutils_id(words)
    if rule == "honkit":
        return _HONKIT_MARKS.sub("", words).replace(" ", "-").lower().removeprefix("-")
    if rule == "jupyter":
        return words.strip().replace(" ", "-")
    ascii_words = unicodedata.normalize("NFKD", words).encode("ascii", "ignore").decode("ascii")
    if rule == "mkdocs":
        return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_words).strip().lower())
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
