"""markdown-it's block parser, asked in a shorter way.

It tries every rule on every line. Most rules can only claim a line that starts with a mark of theirs, so the others
are not asked; what is found is the same. The table of line starts is built with string methods. It knows nothing of
what the rules find.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate

from markdown_it import MarkdownIt
from markdown_it.parser_block import ParserBlock
from markdown_it.ruler import Ruler
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

Rule = Callable[[StateBlock, int, int, bool], bool]

# The marks that a line must start with for a rule to claim it. Rules that are not named here are always asked.
_MARKS = {
    "directive": ":",
    "indented": "!?=",
    "template": "{",
    "mdx": "<{ie",
    "myst": "`~:(%+",
    "fence": "`~",
    "blockquote": ">",
    "hr": "*-_",
    "list": "*-+0123456789",
    "html_block": "<",
    "heading": "#",
}
_TABLE_LINE = "|-:"  # what the second line of a table starts with


class Blocks(ParserBlock):
    """`ParserBlock` with the rules of `ruler`."""

    def __init__(self, ruler: Ruler[Rule]) -> None:
        self.ruler = ruler
        active = list(zip(ruler.get_active_rules(), ruler.getRules(""), strict=True))
        self._all = [rule for _, rule in active]
        self._others = [rule for name, rule in active if name not in _MARKS and name not in ("table", "code")]
        self._by_mark = {
            mark: [rule for name, rule in active if name not in ("table", "code") and mark in _MARKS.get(name, mark)]
            for mark in set("".join(_MARKS.values()))
        }

    def tokenize(self, state: StateBlock, startLine: int, endLine: int) -> None:
        line, nesting = startLine, state.md.options.maxNesting
        empty_lines = False
        starts, shifts, ends, indents, source = state.bMarks, state.tShift, state.eMarks, state.sCount, state.src
        while line < endLine:
            state.line = line = state.skipEmptyLines(line)
            if line >= endLine or indents[line] < state.blkIndent:
                break
            if state.level >= nesting:
                state.line = endLine
                break
            following = starts[line + 1] + shifts[line + 1]
            if indents[line] - state.blkIndent >= 4 or (
                line + 1 < endLine and source[following : following + 1] in _TABLE_LINE
            ):
                rules = self._all
            else:
                rules = self._by_mark.get(source[starts[line] + shifts[line]], self._others)
            for rule in rules:
                if rule(state, line, endLine, False):
                    break
            state.tight = not empty_lines
            line = state.line
            if line - 1 < endLine and starts[line - 1] + shifts[line - 1] >= ends[line - 1]:
                empty_lines = True
            if line < endLine and starts[line] + shifts[line] >= ends[line]:
                empty_lines = True
                line += 1
                state.line = line


def block_tokens(parser: MarkdownIt, source: str) -> list[Token]:
    """The tokens of `source`, whose lines end in line feeds."""
    tokens: list[Token] = []
    if source:
        state = _state(parser, source, tokens)
        parser.block.tokenize(state, 0, state.lineMax)
    return tokens


def _state(parser: MarkdownIt, source: str, tokens: list[Token]) -> StateBlock:
    """`StateBlock(source, …)`, which looks at each line character by character."""
    state = StateBlock("", parser, {}, tokens)
    lines = source.split("\n")
    if not lines[-1].strip(" \t"):
        lines.pop()  # nothing behind the last line end
    lengths = [len(line) for line in lines]
    starts = [0, *accumulate(length + 1 for length in lengths)]
    starts.pop()
    state.src = source
    state.bMarks = [*starts, len(source)]
    state.eMarks = [*(start + length for start, length in zip(starts, lengths, strict=True)), len(source)]
    shifts = [len(line) - len(line.lstrip(" \t")) if line[:1] in " \t" else 0 for line in lines]
    state.tShift = [*shifts, 0]
    state.sCount = [*shifts, 0]
    if "\t" in source:
        for number, (line, shift) in enumerate(zip(lines, shifts, strict=True)):
            if shift and "\t" in line[:shift]:
                state.sCount[number] = len(line[:shift].expandtabs(4))
    state.bsCount = [0] * len(state.bMarks)
    state.lineMax = len(lines)
    return state
