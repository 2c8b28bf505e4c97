"""The words of a heading → the anchor that its toolchain gives it on the published page.

Each toolchain has a rule for turning words into an id, a rule for headings that share their words, and its own view of
explicit ids. `Anchors` walks one page from top to bottom and must see every heading, including those that no chunk
uses; otherwise later duplicates would get wrong numbers. It knows nothing of files or URLs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import partial

from quoth.domain import AnchorRule
from quoth.text.accents import ascii_letters
from quoth.text.rst_ids import docutils_id
from quoth.text.written_ids import github_slug, is_written_rule, written_id

_MKDOCS = ("mkdocs", "mkdocs-unicode", "pymdownx", "pymdownx-cased")
_COUNTED_ALONE = ("jekyll", "kramdown")
_SHORTCODE = re.compile(r"(?<![\w:]):[a-z0-9_+-]+:(?![\w:])")  # an emoji or icon: a picture when the id is made
_HONKIT_MARKS = re.compile(r"[\[\]!\"'#$%&()*+,./:;<=>?@\\^_`{|}~©∑®†“”‘’∂ƒ™℠…œŒ˚ºª•∆∞♥]")
_LONGEST_COMPOSED = 2_000  # letters; nobody writes a longer heading, and composing one may take quadratic time


class Anchors:
    """The anchors of one page, in the order of its headings."""

    def __init__(self, rule: AnchorRule, explicit: Iterable[str] = ()) -> None:
        """Python-Markdown looks for explicit ids on the whole page before it gives any."""
        self._rule = rule
        self._seen: dict[str, int] = {}
        self._next: dict[str, str] = {}  # where to continue counting when an anchor is taken
        if rule in _MKDOCS:
            self._seen.update((anchor, 0) for anchor in explicit if anchor)

    def of(self, words: str, explicit: str = "", written: str = "") -> str:
        """The anchor of the next heading; empty when the toolchain gives none. `written` is the heading with its marks:
        some toolchains see more in it than its words."""
        if self._rule == "none":
            return ""
        if self._rule == "html":  # only the ids of the published page count
            return explicit
        if self._rule == "pdf":
            return explicit.replace("page-", "page=")
        if self._rule in ("jupyter", "honkit"):  # headings with the same words get the same anchor
            return explicit or _slug(words, self._rule)
        if is_written_rule(self._rule):
            return self._from_written(written or words, explicit)
        if explicit:
            # Docusaurus, mdBook and GitHub's slugger do not count explicit ids when they number later headings.
            if self._rule == "sphinx" or self._rule in _MKDOCS:
                self._seen.setdefault(explicit, 0)
            return explicit
        return self._unique(_slug(words, self._rule))

    def _from_written(self, written: str, explicit: str) -> str:
        if self._rule == "mintlify":
            deep = written.lstrip(" \t>").startswith("#####")  # headings below the fourth level get no id
            return "" if deep else self._counted(explicit or written_id(written, self._rule))
        if explicit:
            if self._rule not in _COUNTED_ALONE:
                self._seen.setdefault(explicit, 0)
            return explicit
        base = written_id(written, self._rule)
        if self._rule in _COUNTED_ALONE:  # kramdown does not check whether a number makes an id that is taken
            number = self._seen[base] = self._seen.get(base, -1) + 1
            return f"{base}-{number}" if base and number else base
        anchor = self._unique(base)
        return anchor.removesuffix("-") if self._rule == "astro" else anchor

    def _unique(self, base: str) -> str:
        if self._rule == "sphinx" and (not base or base in self._seen):
            # docutils falls back to a number that counts up on the whole page.
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

    def _counted(self, base: str) -> str:
        """Mintlify gives the second heading with the same words the number 2, explicit ids included."""
        count = self._seen[base] = self._seen.get(base, 0) + 1
        while base and count > 1 and f"{base}-{count}" in self._seen:
            count += 1
        anchor = f"{base}-{count}" if base and count > 1 else base
        self._seen.setdefault(anchor, 1)
        return anchor

    def _numbered(self, base: str) -> str:
        """Python-Markdown counts on from a number that the id ends with: after `step_1`, `step_1` is `step_2`."""
        passed: list[str] = []
        anchor = base
        while anchor in self._seen or not anchor:
            passed.append(anchor)
            anchor = self._next.get(anchor) or _counted_on(anchor)
        self._seen[anchor] = 0
        self._next.update(dict.fromkeys(passed, anchor))  # none of these is searched again
        return anchor


def _counted_on(anchor: str) -> str:
    stem, mark, number = anchor.rpartition("_")
    counted = mark and number.isascii() and number.isdigit() and len(number) <= 1000
    return f"{stem}_{int(number) + 1}" if counted else f"{anchor}_1"


def _slug(words: str, rule: AnchorRule) -> str:
    """The id of a heading before duplicates are numbered."""
    if rule in _MKDOCS and ":" in words:
        words = _SHORTCODE.sub("", words)
    return _SLUGS[rule](words)


def _mdbook_slug(words: str) -> str:
    kept = (c if c in "_-" or c.isalnum() else "-" if c.isspace() else "" for c in words.strip().lower())
    return "".join(kept) or "section"


def _mkdocs_slug(words: str) -> str:
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", words).strip().lower())


def _pymdownx_slug(words: str, *, cased: bool) -> str:
    words = " ".join(words.split())
    composed = unicodedata.normalize("NFC", words) if len(words) <= _LONGEST_COMPOSED else words
    return re.sub(r"[^\w\- ]", "", composed if cased else composed.lower()).replace(" ", "-")


def _honkit_slug(words: str) -> str:
    return _HONKIT_MARKS.sub("", words).replace(" ", "-").lower().removeprefix("-")


_SLUGS: dict[AnchorRule, Callable[[str], str]] = {
    "docusaurus": github_slug,
    "github": github_slug,
    "mdbook": _mdbook_slug,
    "mkdocs": lambda words: _mkdocs_slug(ascii_letters(words)),
    "mkdocs-unicode": _mkdocs_slug,
    "pymdownx": partial(_pymdownx_slug, cased=False),
    "pymdownx-cased": partial(_pymdownx_slug, cased=True),
    "sphinx": docutils_id,
    "honkit": _honkit_slug,
    "jupyter": lambda words: words.strip().replace(" ", "-"),
}
