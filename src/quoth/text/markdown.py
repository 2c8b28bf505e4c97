"""The text of a page → blocks with exact offsets.

Comes in: the whole text of a file and how it is written. Goes out: a tree of Blocks whose leaves hold every character
that is not white space, each exactly once, in order. markdown-it-py finds the blocks and their lines (its inline
parser is never run); we map lines to offsets of the original text, whatever its line endings. Docusaurus' directives
and MDX are block rules of ours. This module must not know of pages, tokens or chunks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.token import Token

from quoth.domain import Markup
from quoth.text.blocks import NEWLINE, Block, BlockKind, Lines, leaves
from quoth.text.markdown_rules import directive_rule, indented_rule, mdx_rule, myst_rule, template_rule
from quoth.text.plain import ANCHOR_TAG, HEADING_ID, inline_text, plain
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
    "heading_open": "heading",
    "paragraph_open": "paragraph",
    "table_open": "table",
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
_ATX = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$")


def parse(text: str, *, markup: Markup = "markdown", start: int = 0) -> tuple[Block, ...]:
    """The blocks of `text` from `start` on; what stands before `start` (front matter) is one block of markup."""
    front = (Block("markup", 0, start),) if text[:start].strip() else ()
    if start == 0 and text.startswith("\ufeff"):
        start, front = 1, (Block("markup", 0, 1),)
    if markup == "rst":
        return front + parse_rst(text, start)
    lines = Lines(text, start)
    if markup == "text":
        return front + tuple(_Tree(lines, markup).gap(0, lines.count))
    blocks = _Tree(lines, markup).build(_block_tokens(markup, lines.source))
    return front + (tuple(labelled_myst(blocks, text)) if markup == "myst" else blocks)


def first_heading(text: str, *, start: int = 0, markup: Markup = "markdown") -> str:
    """The words of the first level-one heading, or of a heading of any level that the page opens with; found without
    parsing the page, and empty when there is none."""
    if markup == "rst":
        return first_title(text[start:])
    fence = before = opening = ""
    seen_text = False
    for line in NEWLINE.split(text[start:].removeprefix("\ufeff")):
        bare = line.strip()
        if fence:
            fence = "" if bare.startswith(fence) and not bare.strip(fence[0]) else fence
        elif bare.startswith(("```", "~~~")):
            fence = bare[: len(bare) - len(bare.lstrip(bare[0]))]
        elif (heading := _ATX.match(line)) and (heading[1] == "#" or not seen_text):
            words = inline_text(HEADING_ID.sub("", heading[2]))
            if heading[1] == "#":
                return words
            opening = words
        elif bare and not bare.strip("=") and before:
            return inline_text(HEADING_ID.sub("", before))
        before = bare
        seen_text = seen_text or bool(bare)
    return opening


def _block_tokens(markup: Markup, source: str) -> list[Token]:
    """What the block rules find; the inline parser is not run."""
    parser = _parser(markup)
    tokens: list[Token] = []
    parser.block.parse(source, parser, {}, tokens)
    return tokens


@lru_cache(maxsize=3)
def _parser(markup: Markup) -> MarkdownIt:
    """markdown-it with our rules beside its own."""
    parser = MarkdownIt("commonmark", {"maxNesting": 60}).enable("table")
    # Link definitions are told apart by their plain text (there is none); the rule would make them vanish.
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
    return parser


class _Tree:
    """Builds Blocks from markdown-it's flat tokens. Every line of a container is in one of its children: what no
    rule has claimed (the lone `>` of a quote, text nested too deep) is added as a block of its own."""

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
        open_directives: list[tuple[int, int, str]] = []  # index in `blocks`, colons, kind
        while at < len(tokens) and tokens[at].nesting >= 0:
            token = tokens[at]
            first, end = token.map or [line, line]
            if line < first:
                blocks.extend(self.gap(line, first))
            line = max(line, end)
            if token.type in _CONTAINERS:
                children, at = self._siblings(tokens, at + 1, first, end)
                blocks.append(self._container(_CONTAINERS[token.type], children, first, end, token.info))
            else:
                if token.type == "directive_open":
                    open_directives.append((len(blocks), len(token.markup), token.info))
                words = tokens[at + 1].content if token.type == "heading_open" else ""
                blocks.append(self._from_token(token, words))
                if token.type == "directive_close":
                    _close_directive(blocks, open_directives, len(token.markup))
                at = _behind(tokens, at)
        blocks.extend(self.gap(line, last))
        # A parser may see a paragraph in a lone form feed; there is nothing in it.
        blocks = [block for block in blocks if block.end > block.start]
        # An admonition that is never closed stays a lone line: swallowing the headings below it would cost citations.
        return tuple(blocks), at + 1

    def _container(self, kind: BlockKind, children: tuple[Block, ...], first: int, last: int, info: str) -> Block:
        if not children:
            start, end = self.lines.span(first, last)
            return self._leaf("paragraph", start, end)
        info = info if kind == "admonition" else ""
        return Block(kind, children[0].start, children[-1].end, info=info, children=children)

    def _from_token(self, token: Token, heading: str) -> Block:
        first, last = token.map or [0, 0]
        start, end = self.lines.span(first, last)
        kind = _LEAVES[token.type]
        if kind == "heading":
            explicit = HEADING_ID.search(heading) or ANCHOR_TAG.search(heading)
            words = inline_text(heading[: explicit.start()] if explicit else heading)
            leaf = self._leaf(kind, start, end)
            anchor = explicit[1] if explicit else ""
            return Block(leaf.kind, start, end, int(token.tag[1]), words, anchor=anchor, plain=leaf.plain)
        if kind == "fence":
            head_end = self.lines.span(first, first + 1)[1]
            # Not the parser's content: what is counted must be what a chunk of these lines will say.
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


def _behind(tokens: Sequence[Token], at: int) -> int:
    """The token after the one at `at` and everything it holds."""
    level = tokens[at].level
    opens = tokens[at].nesting == 1
    at += 1
    while opens and tokens[at].level > level:
        at += 1
    return at + opens


def _close_directive(blocks: list[Block], open_directives: list[tuple[int, int, str]], colons: int) -> None:
    """A closing line ends the outermost admonition with no more colons than it has, as remark-directive does."""
    for index, (_, needed, _kind) in enumerate(open_directives):
        if needed <= colons:
            while len(open_directives) > index:
                _wrap(blocks, *open_directives.pop())
            return


def _wrap(blocks: list[Block], first: int, _colons: int, kind: str) -> None:
    inside = tuple(blocks[first:])
    blocks[first:] = [Block("admonition", inside[0].start, inside[-1].end, info=kind, children=inside)]
