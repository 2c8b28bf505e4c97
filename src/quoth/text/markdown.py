"""The text of a page → blocks with exact offsets.

In: the whole text of a file and how it is written. Out: a tree of Blocks whose leaves hold every character that is not
white space, each exactly once, in order. markdown-it-py finds the blocks and their lines (its inline parser is never
run); we map lines to offsets of the original text, whatever its line endings. Docusaurus' directives and MDX have
block rules of our own. This module must not know about pages, tokens or chunks.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.token import Token

from quoth.domain import Markup
from quoth.text.asciidoc import first_asciidoc_title, parse_asciidoc
from quoth.text.blocks import NEWLINE, Block, BlockKind, Lines, check_depth, leaves
from quoth.text.limits import MAX_DEPTH
from quoth.text.markdown_dispatch import block_tokens, dispatch
from quoth.text.markdown_rules import directive_rule, indented_rule, mdx_rule, myst_rule, template_rule
from quoth.text.plain import heading_anchor, inline_text, plain
from quoth.text.rst import first_title, parse_rst
from quoth.text.rst_ids import labelled_myst

__all__ = ["Block", "BlockKind", "first_heading", "leaves", "parse", "plain"]

_CONTAINERS: dict[str, BlockKind] = {
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "list_item_open": "item",
    "blockquote_open": "quote",
    "admonition_open": "admonition",
}
_LEAVES: dict[str, BlockKind] = {
    "heading": "heading",
    "prose": "paragraph",
    "table": "table",
    "fence": "fence",
    "code_block": "code",
    "html_block": "html",
    "hr": "markup",
    "mdx_markup": "markup",
    "template_markup": "markup",
    "admonition_title": "label",
    "directive_open": "label",
    "directive_close": "markup",
    "myst_target": "markup",
}
_ATX = re.compile(r" {0,3}(#{1,6})[ \t]")


def parse(text: str, *, markup: Markup = "markdown", start: int = 0) -> tuple[Block, ...]:
    """The blocks of `text` from `start` on; the front matter before it is one block of markup. Raises `Unreadable` if
    directives are nested too deep."""
    front = (Block("markup", 0, start),) if text[:start].strip() else ()
    if start == 0 and text.startswith("\ufeff"):
        start, front = 1, (Block("markup", 0, 1),)
    if markup == "rst":
        return front + parse_rst(text, start)
    if markup == "asciidoc":
        return front + parse_asciidoc(text, start)
    lines = Lines(text, start)
    if markup == "text":
        return front + tuple(_Tree(lines, markup).gap(0, lines.count))
    blocks = _Tree(lines, markup).build(block_tokens(_parser(markup), lines.source))
    check_depth(blocks, text)
    return front + (tuple(labelled_myst(blocks, text)) if markup == "myst" else blocks)


def first_heading(text: str, *, start: int = 0, markup: Markup = "markdown") -> str:
    """The words of the first level-one heading, or of a heading of any level that opens the page; empty when there is
    none. Does not parse the page."""
    if markup == "rst":
        return first_title(text[start:])
    if markup == "asciidoc":
        return first_asciidoc_title(text[start:])
    return _first_markdown_heading(text[start:].removeprefix("\ufeff"))


def _first_markdown_heading(text: str) -> str:
    fence = before = opening = ""
    seen_text = False
    for line in NEWLINE.split(text):
        bare = line.strip()
        if fence:
            fence = "" if bare.startswith(fence) and not bare.strip(fence[0]) else fence
        elif bare.startswith(("```", "~~~")):
            fence = bare[: len(bare) - len(bare.lstrip(bare[0]))]
        elif (heading := _ATX.match(line)) and (heading[1] == "#" or not seen_text):
            words = _heading_words(line[heading.end() :])
            if heading[1] == "#":
                return words
            opening = words
        elif bare and not bare.strip("=") and before:
            return _heading_words(before)
        before = bare
        seen_text = seen_text or bool(bare)
    return opening


def _heading_words(written: str) -> str:
    """Without the hashes that may close a heading, its id, and inline marks."""
    words = written.strip(" \t")
    bare = words.rstrip("#")
    if bare.endswith((" ", "\t")):
        words = bare.rstrip(" \t")
    return inline_text(heading_anchor(words)[0])


@lru_cache(maxsize=3)
def _parser(markup: Markup) -> MarkdownIt:
    """markdown-it with our own rules added."""
    parser = MarkdownIt("commonmark", {"maxNesting": MAX_DEPTH}).enable("table")
    # A link definition is a leaf without plain text; the rule would drop its lines altogether.
    off = ["reference"]
    everywhere: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    parser.block.ruler.before("table", "directive", directive_rule, everywhere)
    parser.block.ruler.before("table", "indented", indented_rule, everywhere)
    parser.block.ruler.before("table", "template", template_rule, everywhere)
    if markup == "myst":
        parser.block.ruler.before("table", "myst", myst_rule, everywhere)
    if markup == "mdx":
        off += ["code", "html_block"]
        parser.block.ruler.before("table", "mdx", mdx_rule, everywhere)
    parser.block.ruler.disable(off)
    dispatch(parser.block.ruler)
    return parser


class _Open(NamedTuple):
    """A directive that is still open."""

    place: int  # of its opening line among its siblings
    colons: int
    kind: str


class _Tree:
    """Builds Blocks from markdown-it's flat tokens. Every line of a container is in one of its children: lines that no
    rule has claimed (the lone `>` of a quote, text nested too deep) become blocks of their own."""

    def __init__(self, lines: Lines, markup: Markup) -> None:
        self.lines = lines
        self.markup: Markup = markup

    def build(self, tokens: Sequence[Token]) -> tuple[Block, ...]:
        blocks, _ = self._siblings(tokens, 0, 0, self.lines.count)
        return blocks

    def gap(self, first: int, last: int) -> Iterator[Block]:
        """The unclaimed lines from `first` up to `last`, as one block for each run without a blank line."""
        line = first
        while line < last:
            if self.lines.blank(line):
                line += 1
                continue
            begin = line
            while line < last and not self.lines.blank(line):
                line += 1
            start, end = self.lines.span(begin, line)
            yield self._leaf("paragraph", start, end)

    def _siblings(self, tokens: Sequence[Token], at: int, line: int, last: int) -> tuple[tuple[Block, ...], int]:
        """The blocks from token `at` to the end of its container, which spans the lines from `line` to `last`."""
        blocks: list[Block] = []
        directives: _Directives | None = None
        while at < len(tokens) and (token := tokens[at]).nesting >= 0:
            first, end = token.map or [line, line]
            if line < first:
                blocks.extend(self.gap(line, first))
            line = max(line, end)
            if kind := _CONTAINERS.get(token.type):
                children, at = self._siblings(tokens, at + 1, first, end)
                blocks.append(self._container(kind, children, first, end, token.info))
                continue
            if token.type == "directive_open":
                directives = directives or _Directives()
                directives.open(_Open(len(blocks), len(token.markup), token.info))
            blocks.append(self._from_token(token))
            if directives and token.type == "directive_close":
                directives.close(blocks, len(token.markup))
            at += 1
        if line < last:
            blocks.extend(self.gap(line, last))
        # The parser may take a lone form feed for a paragraph, which is empty.
        return tuple([block for block in blocks if block.end > block.start]), at + 1

    def _container(self, kind: BlockKind, children: tuple[Block, ...], first: int, last: int, info: str) -> Block:
        if not children:
            start, end = self.lines.span(first, last)
            return self._leaf("paragraph", start, end)
        info = info if kind == "admonition" else ""
        return Block(kind, children[0].start, children[-1].end, info=info, children=children)

    def _from_token(self, token: Token) -> Block:
        first, last = token.map or [0, 0]
        start, end = self.lines.span(first, last)
        kind = _LEAVES[token.type]
        if kind == "paragraph":
            return self._leaf(kind, start, end)
        if kind == "heading":
            words, anchor = heading_anchor(token.content)
            leaf = self._leaf(kind, start, end)
            level = int(token.tag[1])
            return Block(leaf.kind, start, end, level, inline_text(words), anchor=anchor, plain=leaf.plain)
        if kind == "fence":
            head_end = self.lines.span(first, first + 1)[1]
            # Not the parser's content: a chunk gets the words of these lines from `plain`, and both must agree.
            said = plain(self.lines.text[start:end], self.markup)
            return Block(kind if said else "markup", start, end, info=token.info, head_end=head_end, plain=said)
        if kind == "table":
            return self._leaf(kind, start, end)._replace(head_end=self.lines.span(first, min(first + 2, last))[1])
        if kind == "markup":
            info = "target" if token.type == "myst_target" else ""
            return Block("label" if token.content else kind, start, end, info=info, plain=token.content)
        return self._leaf(kind, start, end)

    def _leaf(self, kind: BlockKind, start: int, end: int) -> Block:
        said = self.lines.text[start:end] if kind == "code" else plain(self.lines.text[start:end], self.markup)
        return Block(kind if said else "markup", start, end, plain=said)


class _Directives:
    """The directives that are open among siblings. A closing line ends the outermost one that has no more colons than
    the line, with everything inside it, as remark-directive does. A directive that is never closed stays a lone
    line."""

    def __init__(self) -> None:
        self._open: list[_Open] = []
        self._fewest: list[int] = []  # those with fewer colons than all before them: one of these is closed next

    def open(self, directive: _Open) -> None:
        if not self._fewest or directive.colons < self._open[self._fewest[-1]].colons:
            self._fewest.append(len(self._open))
        self._open.append(directive)

    def close(self, blocks: list[Block], colons: int) -> None:
        place = bisect_left(self._fewest, -colons, key=lambda index: -self._open[index].colons)
        if place == len(self._fewest):
            return
        outermost = self._fewest[place]
        while len(self._open) > outermost:
            _wrap(blocks, self._open.pop())
        del self._fewest[place:]


def _wrap(blocks: list[Block], directive: _Open) -> None:
    inside = tuple(blocks[directive.place :])
    blocks[directive.place :] = [
        Block("admonition", inside[0].start, inside[-1].end, info=directive.kind, children=inside)
    ]
