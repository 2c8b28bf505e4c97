"""A passage → its blocks: paragraphs, lists with their items, tables, code, each as a run of its sentences.

In: a chunk. Out: a `Layout`: the sentences of the chunk, which of them belong together, what introduces a block, and
which tab (a language, a system, a version) a block is in. `extract` uses it to quote whole blocks. Works on any piece
of a page, in any markup, by the lines around a sentence. Knows nothing of questions or scores.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from quoth.domain import Chunk
from quoth.text.entries import field_name, is_entry
from quoth.text.sentences import Sentence, sentences

BlockKind = Literal["paragraph", "list", "table", "code", "heading"]

_BLANK_LINE = re.compile(r"\n[ \t>]*\n")
_MARK = re.compile(r"(?:[-+*•‣⁃]|\(?(?:\d{1,9}|#|[A-Za-z])[.)]|:[^:\n]+:)[ \t]+(?:\[[ xX]\][ \t]+)?")
_ANNOUNCES = re.compile(
    r"[:：][*_ ]*\Z|\b(?:these|those|following|below|two|three|four|five|six|seven|eight|nine|ten)\b(?=[^.]*\.?\Z)",
    re.I,
)
_COLON = re.compile(r"(?:[:：]|\b(?:e\.g|i\.e)\.,?|\b(?:for (?:example|instance)|as follows)[.,]?)[*_ ]*\Z", re.I)
_BREAKS_OFF = re.compile(r"[^\W\d_][*_`)”’\"']*\Z")
_ORDERED = re.compile(r"\(?(?:\d{1,9}|#)[.)]")
_TAB = re.compile(
    r"<Tab(?:Item|)\b[^<>]*?\b(?:label|title|name)=\{?[\"'](?P<tag>[^\"'<>]+)[\"'][^<>]*>"  # Docusaurus, Starlight
    r"|^(?P<margin>[ \t]*)"
    r"(?:===[!+]*[ \t]+\"(?P<mkdocs>[^\"\n]+)\"|\.\.[ \t]+(?:tab-item|group-tab|tab)::(?P<rst>[^\n]+))[ \t]*$"
    r"|^[ \t]*:{3,}[ \t]*\{tab-item\}(?P<myst>[^\n]+)$"
    r"|\{\{[<%][ \t]*tab[ \t]+(?:\w+=)?\"(?P<hugo>[^\"\n]+)\"[^\n]*?[>%]\}\}",
    re.MULTILINE,
)
_TAB_END = re.compile(r"</Tab(?:Item|)>|\{\{[<%][ \t]*/[ \t]*tab\b|^[ \t]*:{3,}[ \t]*$", re.MULTILINE)
_MARKUP = re.compile(r"<[^<>]*>|\{\{[^{}]*\}\}|^[ \t>]*:{3,}[^\n]*$|^[ \t]*\.\.[^\n]*$", re.MULTILINE)
_FENCE_LANGUAGE = re.compile(r"[ \t>]*(?:`{3,}|~{3,})[ \t]*\{?([\w+#-]+)")
_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})")
_FENCE_FILE = re.compile(r"[ \t>]*(?:`{3,}+|~{3,}+)[^\n]*[\w/]\.(\w{1,12})\b")


@dataclass(frozen=True, slots=True)
class Block:
    kind: BlockKind
    first: int  # positions among the sentences of the chunk
    last: int
    tab: str = ""  # the label of the tab that it is in
    group: int = -1  # tabs side by side share a number
    language: str = ""  # of code, as its fence names it
    ending: str = ""  # file name ending of titled code: `sdf` for title="world.sdf"
    cut: bool = False  # the chunk has only a part of this code
    ordered: bool = False  # of a list

    @property
    def positions(self) -> range:
        return range(self.first, self.last + 1)


@dataclass(frozen=True, slots=True)
class Layout:
    chunk: Chunk
    units: Sequence[Sentence]
    blocks: Sequence[Block]
    at: Sequence[int]  # the block of each sentence
    opens: frozenset[int]  # sentences that open an item of a list
    order: Sequence[int]  # the same, in order

    def text(self, position: int) -> str:
        unit = self.units[position]
        return self.chunk.text[unit.start : unit.end]

    def words(self, positions: Sequence[int] | range) -> int:
        return sum(len(self.text(position).split()) for position in positions)

    @property
    def heading(self) -> Block | None:
        """The heading that the chunk begins with."""
        return self.blocks[0] if self.blocks and self.blocks[0].kind == "heading" else None

    def block(self, position: int) -> Block:
        return self.blocks[self.at[position]]

    @property
    def begins_inside(self) -> bool:
        """Whether the chunk begins inside a block of code: it repeats the opening line, or there is none to repeat."""
        first = self.units[0] if self.units else None
        if first is None or first.kind != "code" or self.chunk.lead:
            return bool(self.chunk.lead)
        return self.chunk.markup == "rst" and first.start == 0 and not self.chunk.text.startswith(">>>")

    def before(self, block: Block) -> Block | None:
        at = self.at[block.first]
        return self.blocks[at - 1] if at else None

    def after(self, block: Block) -> Block | None:
        at = self.at[block.first]
        return self.blocks[at + 1] if at + 1 < len(self.blocks) else None

    def introduces(self, block: Block, *, loosely: bool = False) -> Block | None:
        """What a paragraph announces: a list, a table or code below it. With `loosely` it is enough that a list or a
        table follows."""
        following = self.after(block)
        if following is None or block.kind not in ("paragraph", "list"):
            return None
        if following.kind in ("list", "table") and (loosely or _ANNOUNCES.search(self.text(block.last))):
            return following
        return following if following.kind == "code" and self.announces(block.last) else None

    def announces(self, position: int) -> bool:
        """Whether the sentence says that something comes right below it, or breaks off where code goes on."""
        text, below = self.text(position), position + 1
        before_code = below < len(self.units) and self.units[below].kind == "code"
        return bool(_COLON.search(text) or (before_code and _BREAKS_OFF.search(text)))

    def introduction(self, block: Block, *, loosely: bool = False) -> Block | None:
        """The paragraph that announces a list, a table or code."""
        before = self.before(block)
        return before if before and self.introduces(before, loosely=loosely) == block else None

    def beside_code(self, position: int) -> bool:
        """Whether code comes right below the sentence."""
        block, following = self.block(position), self.after(self.block(position))
        if block.kind == "list":
            return position + 1 < len(self.units) and self.units[position + 1].kind == "code"
        below = following is not None and following.kind == "code"
        return block.kind == "paragraph" and position == block.last and below

    def header(self, position: int) -> str:
        """The header of the table that a row is in; a table that was cut repeats it before the text."""
        block = self.block(position)
        if block.kind != "table":
            return ""
        return self.text(block.first) if self.units[block.first].kind == "header" else self.chunk.lead

    def item(self, position: int) -> range:
        """The sentences of a list item, with everything nested in it."""
        block = self.block(position)
        at = bisect_right(self.order, position)
        first = max(block.first, self.order[at - 1]) if at else block.first
        column = self._column_of_item(first)
        for one in (self.order[later] for later in range(at, len(self.order))):
            if one > block.last or self.column(one) <= column:
                return range(first, min(one, block.last + 1))
        return range(first, block.last + 1)

    def explains_terms(self, block: Block) -> bool:
        """Whether it is a list of definitions or of fields: its items begin with a term instead of a mark."""
        return block.kind == "list" and (
            self._is_entry(block.first) or bool(field_name(self.mark(block.first).strip()))
        )

    def _is_entry(self, position: int) -> bool:
        return position in self.opens and not self.mark(position)

    def mark(self, position: int) -> str:
        """The mark of a list item: what precedes the sentence on its line, stripped."""
        return self._margin(position).lstrip(" \t>")

    def column(self, position: int) -> int:
        margin = self._margin(position)
        return len(margin) - len(margin.lstrip(" \t>"))

    def _column_of_item(self, first: int) -> int:
        """An entry that opens a chunk has lost its margin: the next one is beside it, not within it."""
        lost = self.units[first].start == 0 and self.chunk.prev_chunk_id is not None and self._is_entry(first)
        following = next((one for one in self.order if one > first), None) if lost else None
        beside = following is not None and self._is_entry(following)
        return self.column(following if beside and following is not None else first)

    def _margin(self, position: int) -> str:
        start = self.units[position].start
        return self.chunk.text[self.chunk.text.rfind("\n", 0, start) + 1 : start]


@lru_cache(maxsize=512)  # the same few passages are weighed, then quoted
def layout(chunk: Chunk) -> Layout:
    text = chunk.text.replace("\r\n", " \n")  # the same offsets, whichever way its lines end
    units = sentences(chunk.text, lead=chunk.lead, markup=chunk.markup)
    opens = frozenset(
        at
        for at, unit in enumerate(units)
        if (unit.kind == "item" and _opens_item(text, unit))
        or (unit.kind in ("item", "prose") and is_entry(text, unit.start, unit.end, chunk.markup))
    )
    tabs = list(_tabs(text))
    blocks: list[Block] = []
    at: list[int] = []
    for position in range(len(units)):
        kind = _kind(text, units, position, blocks[-1] if blocks else None, opens=position in opens)
        if kind is None:
            last = blocks[-1]
            blocks[-1] = _block(last.kind, last.first, position, text, units, tabs, chunk.lead)
        else:
            blocks.append(_block(kind, position, position, text, units, tabs, chunk.lead))
        at.append(len(blocks) - 1)
    return Layout(chunk, units, tuple(blocks), tuple(at), opens, sorted(opens))


def _kind(text: str, units: Sequence[Sentence], position: int, block: Block | None, *, opens: bool) -> BlockKind | None:
    """The kind of block that the sentence begins; None if it continues the block before it."""
    unit = units[position]
    kinds: dict[str, BlockKind] = {"item": "list", "row": "table", "header": "table", "prose": "paragraph"}
    kind: BlockKind = kinds.get(unit.kind) or ("code" if unit.kind == "code" else "heading")
    kind = "list" if opens else kind
    if block is None:
        return kind
    if units[position - 1].kind == "header" and unit.kind == "row":  # a blank line may follow the header of a directive
        return None
    return None if _goes_on(text, units, position, kind, block) else kind


def _goes_on(text: str, units: Sequence[Sentence], position: int, kind: BlockKind, block: Block) -> bool:
    """Whether the sentence belongs to the block before it."""
    unit, gap = units[position], text[units[position - 1].end : units[position].start]
    if block.kind == "table":  # in AsciiDoc, blank lines are usual between its rows
        return unit.kind == "row" and (not gap.strip() or not _BLANK_LINE.search(gap))
    if _MARKUP.search(gap):
        return False
    if block.kind == "list" and (
        kind == "list" or _indent(text, unit) >= max(2, 1 + _indent(text, units[block.first]))
    ):
        return True
    # the next sentence of an item, or of a paragraph
    return block.kind in ("list", "paragraph") and kind == "paragraph" and not _BLANK_LINE.search(gap)


def _block(
    kind: BlockKind,
    first: int,
    last: int,
    text: str,
    units: Sequence[Sentence],
    tabs: Sequence[tuple[int, int, str, int]],
    lead: str,
) -> Block:
    start = units[first].start
    tab, group = _tab_at(start, tabs)
    before = text[text.rfind("\n", 0, start) + 1 : start].lstrip(" \t>")
    block = Block(kind, first, last, tab, group, ordered=kind == "list" and bool(_ORDERED.match(before)))
    return _as_code(block, text[start : units[last].end], lead if start == 0 else "") if kind == "code" else block


def _tab_at(start: int, tabs: Sequence[tuple[int, int, str, int]]) -> tuple[str, int]:
    """The label and the number of the group of the tab at an offset. Tabs are in order and do not overlap."""
    before = bisect_right(tabs, start, key=lambda tab: tab[0])
    _, end, label, group = tabs[before - 1] if before else (0, 0, "", -1)
    return (label, group) if start < end else ("", -1)


def _as_code(block: Block, code: str, lead: str) -> Block:
    """What its fence says about it. Cut code has its opening line in the chunk's lead, or lacks its closing line."""
    opening = code if _FENCE.match(code) else lead
    language, file = _FENCE_LANGUAGE.match(opening), _FENCE_FILE.match(opening)
    fence = _FENCE.match(opening)
    closed = fence is None or (len(code.splitlines()) > 1 and code.splitlines()[-1].lstrip(" \t>").startswith(fence[1]))
    return replace(
        block,
        language=language[1].lower() if language else "",
        ending=file[1].lower() if file else "",
        cut=bool(lead) or not closed,
    )


def _opens_item(text: str, unit: Sentence) -> bool:
    return bool(_MARK.fullmatch(text[text.rfind("\n", 0, unit.start) + 1 : unit.start].lstrip(" \t>")))


def _indent(text: str, unit: Sentence) -> int:
    line = text[text.rfind("\n", 0, unit.start) + 1 : unit.start + 1]
    return len(line) - len(line.lstrip(" \t"))


def _tabs(text: str) -> Iterator[tuple[int, int, str, int]]:
    """Where each tab begins and ends, its label, and the number of its group."""
    openings = list(_TAB.finditer(text)) if "ab" in text or "===" in text else []
    group, end = 0, -1
    for at, opening in enumerate(openings):
        if end >= 0 and any(char.isalnum() for char in _MARKUP.sub("", text[end : opening.start()])):
            group += 1
        until = openings[at + 1].start() if at + 1 < len(openings) else len(text)
        end = _end_of_tab(text, opening.end(), until, opening["margin"])
        yield opening.end(), end, opening[opening.lastgroup or 0].strip(), group


def _end_of_tab(text: str, start: int, until: int, margin: str | None) -> int:
    if margin is None:
        closing = _TAB_END.search(text, start, until)
        return closing.start() if closing else until
    at = text.find("\n", start) + 1
    while 0 < at < until:
        line = text[at : text.find("\n", at) if text.find("\n", at) >= 0 else len(text)]
        if line.strip() and not line.startswith(f"{margin} ") and not line.startswith(f"{margin}\t"):
            return at
        at = text.find("\n", at) + 1
    return until
