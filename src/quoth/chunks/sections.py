"""A page → its sections: which heading each block belongs to, and the anchor that a citation of it opens.

Every heading with text of its own opens one; a heading without text joins the text that follows it. Pure: no tokens, no
chunks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from quoth.domain import Page
from quoth.text.anchors import Anchors
from quoth.text.markdown import Block, leaves, parse
from quoth.text.offsets import insert_at

_COMPILED_APART = ("docusaurus", "astro")


class Section(NamedTuple):
    path: tuple[str, ...]
    breadcrumb: tuple[str, ...]
    anchor: str
    blocks: tuple[Block, ...]

    def address(self, page: Page) -> str:
        return f"{page.url}#{self.anchor}" if self.anchor else page.url


def addresses(page: Page) -> dict[str, int]:
    """Every address under which the page may be cited, with its line in the file."""
    found: dict[str, int] = {}
    line, at = 1, 0
    for section in sections(page, parse(page.text, markup=page.markup, start=page.body_start)):
        first = next(block.start for block in section.blocks if block.kind != "markup")
        line, at = line + page.text.count("\n", at, first), first
        insert = insert_at(page.inserts, first)
        shown = line if insert is None else insert.line if first < insert.end else line - insert.lines
        found.setdefault(section.address(page), shown)
    return found


def sections(page: Page, blocks: Sequence[Block]) -> list[Section]:
    headings = [leaf for leaf in leaves(blocks) if leaf.level]
    anchor_at = {
        heading.start: anchor for heading, anchor in zip(headings, heading_anchors(page, headings), strict=True)
    }
    top = headings[0].start if headings else -1
    outline = _Outline(page)
    found: list[Section] = []
    waiting: list[Block] = []  # blocks of the section that is open
    has_text = False
    for block in blocks:
        if block.level:
            if has_text:
                found.append(outline.section(waiting))
                waiting, has_text = [], False
            page_top = block.start == top and block.level == 1
            outline.enter(block, "" if page_top else anchor_at[block.start])
        elif block.kind != "markup":
            has_text = True
        waiting.append(block)
    if any(block.kind != "markup" for block in waiting):
        found.append(outline.section(waiting))
    return found


def heading_anchors(page: Page, headings: Sequence[Block]) -> Iterator[str]:
    """The anchors of all headings of a page, in order. An imported MDX file is compiled by itself, so its headings are
    numbered apart from those of the page."""
    own = Anchors(page.anchors, (heading.anchor for heading in headings))
    imported: dict[int, Anchors] = {}
    for heading in headings:
        insert = insert_at(page.inserts, heading.start) if page.anchors in _COMPILED_APART else None
        apart = insert is not None and heading.start < insert.end
        anchors = imported.setdefault(insert.start, Anchors(page.anchors)) if insert and apart else own
        yield anchors.of(heading.text, heading.anchor, page.text[heading.start : heading.end])


class _Outline:
    """The headings above the current place in a page."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._above: list[tuple[int, str, str]] = []  # level, words, anchor

    def enter(self, heading: Block, anchor: str) -> None:
        while self._above and self._above[-1][0] >= heading.level:
            self._above.pop()
        self._above.append((heading.level, heading.text, anchor))

    def section(self, blocks: Sequence[Block]) -> Section:
        page = self._page
        path = tuple(words for _, words, _ in self._above if words)
        if path and path[0] == page.title:
            path = path[1:]
        anchor = next((anchor for _, _, anchor in reversed(self._above) if anchor), "")
        crumbs = tuple(crumb for crumb in (*page.trail, page.title, *path) if crumb)
        return Section(path, crumbs, anchor, tuple(blocks))
