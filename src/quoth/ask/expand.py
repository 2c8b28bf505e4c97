"""The decisive sentence → the whole piece of the book that answers, contiguous and in order.

In: the layouts of the passages, a place in them, what is asked. Out: the places of all sentences that belong to the
answer. A definition brings its paragraph, a step its list and its code, an item its list if the list is asked for, a
row its table, a sentence what it leans on. Nothing stops at a colon, and a block goes on in the next passage if a chunk
ended inside it and that passage was found too. If there are several tabs, the one that the question names is taken, or
else the first. `extract` decides on the scores.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property

from quoth.ask.asked import Asked
from quoth.ask.blocks import Block, Layout
from quoth.ask.quotes import Place
from quoth.text.terms import term_ids

LEANING = re.compile(
    r"(?:this|that|these|those|it|they|he|she|but|however|also|instead|then|here|such|both|otherwise)\b", re.IGNORECASE
)
# A paragraph that begins like this goes on with a sentence that code has interrupted.
_GOES_ON = re.compile(
    r"(?:and|or|but|which|where|while|with|for|to|then|as|in|instead|if|because|so|that|rather|when|on|at|by|from|is|are"
    r"|will|would|can|using|unless|until)\b"
)
_PLACE = r"(?:lesson|chapter|section|tutorial|guide|page|part|article|module|document)"
# A sentence about the text, not about its subject.
_ABOUT_THE_TEXT = re.compile(
    rf"\A\W*(?:(?:in|throughout)\s+)?(?:this|the\s+(?:next|previous|following|last))\s+{_PLACE}\b"
    r"|\b(?:we|you|i)(?:['’]ll|\s+will|\s+are\s+going\s+to)\s+(?:also\s+|now\s+|first\s+)?"
    r"(?:look|see|cover|discuss|learn|explore|explain|talk|dive|walk|go\s+over|describe|show|introduce)\b"
    r"|\A\W*(?:now|next|first|so|then|here)?,?\s*(?:let['’]s|let\s+us)\b",
    re.IGNORECASE,
)
_PARAGRAPH = 90  # words of a paragraph that are quoted; a longer one is quoted around its decisive sentence …
_WHOLE_PARAGRAPH = 120  # … the same where a paragraph explains what something is
LONG = 250  # words of a list; a longer one is quoted around its decisive item
_SHORT_LIST = 45  # words: shorter than this, a list is clearer whole
_SHORT_CODE = 30  # words
_MORE_STEPS = 2  # further pairs of a sentence and its code
_INTERRUPTIONS = 3  # of one sentence by code
_SAME = {
    "c++": "cpp",
    "py": "python",
    "js": "javascript",
    "ts": "typescript",
    "rs": "rust",
    "sh": "bash",
    "yml": "yaml",
}
_NAME = re.compile(r"[\w+#.]+")


class Expansion:
    """The passages of one answer. `excluded` are sentences that the reader has already seen."""

    def __init__(self, layouts: Sequence[Layout], asked: Asked, question: str, excluded: Iterable[str] = ()) -> None:
        self._layouts = layouts
        self._asked = asked
        self._named = _names(question)
        self._excluded = tuple(excluded)
        ids = {here.chunk.id: rank for rank, here in enumerate(layouts)}
        self._next = {
            rank: ids[here.chunk.next_chunk_id] for rank, here in enumerate(layouts) if here.chunk.next_chunk_id in ids
        }
        self._previous = {after: rank for rank, after in self._next.items()}

    def around(self, rank: int, position: int) -> frozenset[Place]:
        """Everything that belongs to the sentence at this place."""
        here = self._layouts[rank]
        block = here.block(position)
        if block.kind == "list":
            places = self._list(rank, block, position)
        elif block.kind == "table":
            places = self._with_introduction(rank, block, self._table(rank, block, position))
        elif block.kind == "code":
            places = self._code(rank, block)
        else:
            places = self._paragraph(rank, block, position)
        return frozenset(place for place in places if not self._had(place))

    def whole(self, rank: int, block: Block) -> frozenset[Place]:
        """A block with its introduction, what it announces, and its continuation in the next passage."""
        places = self._with_introduction(rank, block, self._continued(rank, block))
        following = self._layouts[rank].introduces(block)
        return frozenset(places | self._announced(rank, block, following) if following else places)

    def below(self, rank: int, position: int) -> frozenset[Place]:
        """The block that follows, with everything that belongs to it."""
        following = self._layouts[rank].after(self._layouts[rank].block(position))
        return self.around(rank, following.first) if following and following.kind != "heading" else frozenset()

    def _had(self, place: Place) -> bool:
        text = self._layouts[place[0]].text(place[1])
        return any(text in quote for quote in self._excluded)

    # --- kinds of blocks ---------------------------------------------------------------------------------------------

    def _list(self, rank: int, block: Block, position: int) -> set[Place]:
        wanted = self._asked.wanted in ("list", "how_to", "summary")
        if self._asked.wanted == "how_to" and self._layouts[rank].explains_terms(block):
            wanted = False  # entries for other terms are no steps
        most = LONG if wanted else _SHORT_LIST
        for places in (self._continued(rank, block), _places(rank, block.positions)):
            kept = places if self.words(places) <= most else self._first_items(places) if wanted else set()
            if (rank, position) in kept:
                return self._with_introduction(rank, block, kept)
        return self._item(rank, block, position)

    def _item(self, rank: int, block: Block, position: int) -> set[Place]:
        """The item; of one that is too long to be read at once, its first sentence and what is around this one."""
        here = self._layouts[rank]
        item = here.item(position)
        if here.words(item) <= LONG:
            return _places(rank, item)
        window = self._window(here, replace(block, first=item[0], last=item[-1]), position)
        return _places(rank, window) | {(rank, item[0])}

    def _first_items(self, places: set[Place]) -> set[Place]:
        """Of a list, as many items as are read at once: all, or the first ones."""
        if self.words(places) <= LONG:
            return places
        kept: set[Place] = set()
        for rank, position in sorted(places, key=self._in_the_book):
            here = self._layouts[rank]
            if position not in here.opens or (rank, position) in kept:
                continue
            item = _places(rank, here.item(position)) & places
            if self.words(kept) + self.words(item) > LONG:
                break
            kept |= item
        return kept

    def _in_the_book(self, place: Place) -> tuple[int, int]:
        return self._layouts[place[0]].chunk.chunk_index, place[1]

    def _table(self, rank: int, block: Block, position: int) -> set[Place]:
        if self._asked.wanted in ("list", "comparison"):
            places = self._continued(rank, block)
            if self.words(places) <= LONG:
                return places
        return {(rank, position)}

    def _code(self, rank: int, block: Block) -> set[Place]:
        here = self._layouts[rank]
        places = self._as_read(rank, block)
        before = here.before(block)
        while before and before.kind == "code":  # the same in another language, or the step before
            before = here.before(before)
        if before and before.kind == "paragraph" and before.tab in ("", block.tab):
            window = self._window(here, before, before.last)
            places |= _places(rank, window) | (self._begun(rank, before) if before.first in window else set())
        return places

    def _begun(self, rank: int, block: Block) -> set[Place]:
        """The code that interrupts a sentence, with the part of the sentence before it: "do this: … or that:"."""
        here = self._layouts[rank]
        code, found = here.before(block), set[Place]()
        for _ in range(_INTERRUPTIONS):
            said = here.before(code) if code and code.kind == "code" else None
            if code is None or said is None or not _GOES_ON.match(here.text(block.first)):
                break
            if said.kind != "paragraph" or not here.announces(said.last):
                break
            window = self._window(here, said, said.last)
            more = found | _places(rank, code.positions) | _places(rank, window)
            if self.words(more) > LONG:
                break
            found, block, code = more, said, here.before(said)
        return found

    def _paragraph(self, rank: int, block: Block, position: int) -> set[Place]:
        here = self._layouts[rank]
        places = _places(rank, self._window(here, block, position))
        following = here.introduces(block, loosely=self._asked.wanted == "list")
        if (rank, block.last) not in places and not (following and following.kind == "code" and self._asked.example):
            following = None
        if following:
            places |= _places(rank, range(position, block.last + 1)) | self._announced(rank, block, following)
        elif here.text(block.last).endswith(":") and (rank, block.last) in places:
            places |= self._first_of_next(rank, block)
        if self._asked.wanted in ("how_to", "example"):
            places |= self._steps(rank, block, places)
        return places | self._begun(rank, block) if (rank, block.first) in places else places

    def _announced(self, rank: int, block: Block, following: Block) -> set[Place]:
        """What is below the colon: the right one of several tabs, or as much of a long list as is read at once."""
        if following.kind == "code":
            return self._as_read(*self._variant(rank, following))
        if following.kind == "table":
            return self._as_read(rank, following)
        return self._first_items(self._continued(rank, following))

    def _steps(self, rank: int, block: Block, places: set[Place]) -> set[Place]:
        """The code or the list of steps beside a sentence that says how, and the steps that follow."""
        here = self._layouts[rank]
        found: set[Place] = set()
        at: Block | None = block
        for _ in range(1 + _MORE_STEPS):
            following = here.after(at) if at else None
            if at is None or following is None or following.kind == "heading":
                break
            if following.kind == "code":
                chosen = self._of_tabs(here, following)
                found |= self._as_read(*self._variant(rank, following))
                at = here.after(self._last_of_tabs(here, chosen))
            elif following.kind == "list" and following.ordered:
                found |= self._first_items(self._continued(rank, following))
                break
            elif following.group >= 0 and following.group != at.group:
                chosen = self._of_tabs(here, following)
                found |= _places(rank, chosen.positions)
                at = chosen
                continue
            else:
                break
            if at is None or here.introduces(at) is None or self.words(places | found) > _PARAGRAPH:
                break
            found |= _places(rank, at.positions)
        before = here.before(block)
        shown = any(self._layouts[of].units[one].kind == "code" for of, one in places | found)
        if before and before.kind == "code" and (not shown or here.words(before.positions) <= _SHORT_CODE):
            found |= self._code(rank, before)
        return found

    # --- parts -------------------------------------------------------------------------------------------------------

    def _window(self, here: Layout, block: Block, position: int) -> range:
        """The paragraph; of a long one, the sentence, what it leans on, and as much of what follows as fits."""
        explains = self._asked.wanted in ("definition", "simpler", "translation", "summary")
        most = _WHOLE_PARAGRAPH if explains else _PARAGRAPH
        if here.words(block.positions) <= most:
            first, last = block.first, block.last
            while first < position and about_the_text(here.text(first)):
                first += 1
            while last > position and about_the_text(here.text(last)) and not here.text(last).endswith(":"):
                last -= 1
            return range(first, last + 1)
        first = last = position
        while first > block.first and LEANING.match(here.text(first)):
            first -= 1
        while last < block.last and here.words(range(first, last + 2)) <= most:
            last += 1
        while first > block.first and here.words(range(first - 1, last + 1)) <= most:
            first -= 1
        return range(first, last + 1)

    def _with_introduction(self, rank: int, block: Block, places: set[Place]) -> set[Place]:
        if places:  # it may begin in the passage before
            rank, position = min(places, key=self._in_the_book)
            block = self._layouts[rank].block(position)
        here = self._layouts[rank]
        introduction = here.introduction(block, loosely=self._asked.wanted == "list")
        if introduction is None:
            before = self._previous.get(rank) if block.first == 0 else None
            if before is None or not self._layouts[before].blocks:
                return places
            rank, here = before, self._layouts[before]
            introduction = here.blocks[-1]
            if not here.text(introduction.last).rstrip("*_ ").endswith(":"):
                return places
        return places | _places(rank, self._window(here, introduction, introduction.last))

    def _as_read(self, rank: int, block: Block) -> set[Place]:
        """The block with its other parts; if that is more than is read at once, the block as its passage has it."""
        places = self._continued(rank, block)
        return places if self.words(places) <= LONG else _places(rank, block.positions)

    def _continued(self, rank: int, block: Block) -> set[Place]:
        """The block, with its parts in the passages before and after if a chunk ended inside it."""
        places = _places(rank, block.positions)
        at, here = rank, self._layouts[rank]
        while at in self._next and here.blocks and here.block(len(here.units) - 1).kind == block.kind:
            at = self._next[at]
            here = self._layouts[at]
            if not here.blocks or not _goes_on(here, block):
                break
            places |= _places(at, here.blocks[0].positions)
            if len(here.blocks) > 1:
                break
        at, here = rank, self._layouts[rank]
        while at in self._previous and here.blocks and here.blocks[0].kind == block.kind and _goes_on(here, block):
            if at == rank and block.first:
                break
            at = self._previous[at]
            here = self._layouts[at]
            if not here.blocks or here.blocks[-1].kind != block.kind:
                break
            places |= _places(at, here.blocks[-1].positions)
            if len(here.blocks) > 1:
                break
        return places

    def _first_of_next(self, rank: int, block: Block) -> set[Place]:
        """A chunk that ends with a colon: what it announces is in the next one."""
        here, after = self._layouts[rank], self._next.get(rank)
        if after is None or block.last != len(here.units) - 1 or not self._layouts[after].blocks:
            return set()
        first = self._layouts[after].blocks[0]
        if first.kind == "list":
            return self._first_items(self._continued(after, first))
        return self._as_read(after, first) if first.kind in ("table", "code") else set()

    def _of_tabs(self, here: Layout, block: Block) -> Block:
        """The block that the question names, among tabs side by side or code blocks below one another."""
        beside = [one for one in here.blocks if one.group == block.group] if block.group >= 0 else _stacked(here, block)
        same = [one for one in beside if one.kind == block.kind] or beside
        return max(same, key=lambda one: (self._fits(one), -one.first))

    def _variant(self, rank: int, block: Block) -> tuple[int, Block]:
        """The same, even if a chunk ended between two tabs and the one that the question names is in another chunk."""
        here = self._layouts[rank]
        chosen = self._of_tabs(here, block)
        if chosen.group < 0 or self._fits(chosen):
            return rank, chosen
        section = (here.chunk.source_file, here.chunk.heading_path)
        beside = (
            (other, one)
            for other, there in enumerate(self._layouts)
            if (there.chunk.source_file, there.chunk.heading_path) == section
            for one in there.blocks
            if one.kind == chosen.kind and one.tab and self._fits(one)
        )
        return next(beside, (rank, chosen))

    def _last_of_tabs(self, here: Layout, block: Block) -> Block:
        if block.group < 0:
            return block
        return [one for one in here.blocks if one.group == block.group][-1]

    def _fits(self, block: Block) -> int:
        return len(_names(f"{block.tab} {block.language} {block.ending}") & self._named)

    def fits(self, rank: int, position: int) -> int:
        """1 for a sentence in the variant that the question names (a tab, a language), -1 for one in another variant
        of the same page, else 0."""
        here = self._layouts[rank]
        block = here.block(position)
        if not (block.tab or block.language or block.ending):
            return 0
        if self._fits(block):
            return 1
        return -1 if here.chunk.source_file in self._fitting else 0

    @cached_property
    def _fitting(self) -> frozenset[str]:
        """The pages that have something in the variant that the question names."""
        return frozenset(here.chunk.source_file for here in self._layouts if any(map(self._fits, here.blocks)))

    def words(self, places: Iterable[Place]) -> int:
        return sum(len(self._layouts[rank].text(position).split()) for rank, position in places)


def about_the_text(text: str) -> bool:
    return _ABOUT_THE_TEXT.search(text) is not None


def _places(rank: int, positions: Iterable[int]) -> set[Place]:
    return {(rank, position) for position in positions}


def _stacked(here: Layout, block: Block) -> list[Block]:
    """Blocks of code in different languages right below one another say the same thing."""
    found = [block]
    following = here.after(block)
    while following and following.kind == "code" and following.language not in {one.language for one in found}:
        found.append(following)
        following = here.after(following)
    return found


def _goes_on(here: Layout, block: Block) -> bool:
    """Whether the passage begins inside a block of this kind: a cut table or fence repeats its head."""
    first = here.blocks[0]
    if first.kind != block.kind or here.units[0].kind == "header":
        return False
    return here.begins_inside if block.kind in ("table", "code") else True


def _names(text: str) -> frozenset[str]:
    """The words by which a variant may be named, in one spelling."""
    words = (word.strip(".").lower() for word in _NAME.findall(text))
    return frozenset(_SAME.get(word, word) for word in words if len(word) > 1 and term_ids(word))
