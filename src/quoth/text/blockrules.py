"""markdown-it's block parser, asked in a shorter way.

It tries every rule on every line. Most rules can only claim a line that starts with a mark of theirs, so the others
are not asked; what is found is the same. Its rules for text, headings, fences and tables are replaced by ones that
claim the same lines and make one token of them, because nobody asks for what stands in them. The table of line starts
is built with string methods. It knows nothing of what the other rules find.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import accumulate, count
from operator import add

from markdown_it import MarkdownIt
from markdown_it.common.utils import mdTrim
from markdown_it.parser_block import ParserBlock
from markdown_it.ruler import Ruler
from markdown_it.rules_block import StateBlock, table
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
_FENCE = re.compile(r"`{3,}|~{3,}")
_HEADING = re.compile(r"#{1,6}(?![^ \t])")


class Blocks(ParserBlock):
    """`ParserBlock` with the rules of `ruler`."""

    def __init__(self, ruler: Ruler[Rule]) -> None:
        self.ruler = ruler
        ruler.at("table", table_rule, {"alt": ["paragraph", "reference"]})
        ruler.at("fence", fence_rule, {"alt": ["paragraph", "reference", "blockquote", "list"]})
        ruler.at("heading", heading_rule, {"alt": ["paragraph", "reference", "blockquote"]})
        ruler.at("paragraph", self._text)
        ruler.disable("lheading")
        active = list(zip(ruler.get_active_rules(), ruler.getRules(""), strict=True))
        self._all = [rule for _, rule in active]
        self._others = [rule for name, rule in active if name not in _MARKS and name not in ("table", "code")]
        self._by_mark = {
            mark: [rule for name, rule in active if name not in ("table", "code") and mark in _MARKS.get(name, mark)]
            for mark in set("".join(_MARKS.values()))
        }
        may_interrupt = ruler.getRules("paragraph")
        self._interrupting = {
            mark: [rule for rule in rules if rule in may_interrupt] for mark, rules in self._by_mark.items()
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

    def _text(self, state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
        """A paragraph, or a heading that is underlined: the lines up to one that is blank or that a rule claims."""
        starts, shifts, ends, indents, source = state.bMarks, state.tShift, state.eMarks, state.sCount, state.src
        around, state.parentType = state.parentType, "paragraph"
        last, tag = line + 1, ""
        while last < end_line and (at := starts[last] + shifts[last]) < ends[last]:
            deeper = indents[last] - state.blkIndent
            if deeper < 4:  # else it goes on, whatever it looks like
                mark = source[at]
                if mark in "-=" and deeper >= 0 and not source[at : ends[last]].rstrip(" \t").strip(mark):
                    tag = "h1" if mark == "=" else "h2"
                    break
                if indents[last] >= 0 and self._interrupted(state, last, end_line, mark):
                    break
            last += 1
        if tag:
            _push(state, "heading", line, last + 1, tag).content = mdTrim(
                state.getLines(line, last, state.blkIndent, False)
            )
        else:
            _push(state, "prose", line, last)
        state.parentType = around
        return True

    def _interrupted(self, state: StateBlock, line: int, end_line: int, mark: str) -> bool:
        if mark in self._interrupting and any(rule(state, line, end_line, True) for rule in self._interrupting[mark]):
            return True
        following = state.bMarks[line + 1] + state.tShift[line + 1]
        return state.src[following : following + 1] in _TABLE_LINE and table(state, line, end_line, True)


def table_rule(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
    if not table(state, line, end_line, True):
        return False
    if silent:
        return True
    around, state.parentType = state.parentType, "table"
    others = state.md.block.ruler.getRules("blockquote")
    last = line + 2
    while last < end_line and state.sCount[last] >= state.blkIndent and not state.is_code_block(last):
        row = mdTrim(state.src[state.bMarks[last] + state.tShift[last] : state.eMarks[last]])
        if not row or (row[0] != "|" and any(rule(state, last, end_line, True) for rule in others)):
            break
        last += 1
    state.parentType = around
    _push(state, "table", line, last)
    return True


def fence_rule(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
    starts, shifts, ends, source = state.bMarks, state.tShift, state.eMarks, state.src
    opening = _FENCE.match(source, starts[line] + shifts[line], ends[line])
    if opening is None or state.is_code_block(line):
        return False
    marks, info = opening[0], source[opening.end() : ends[line]]
    if marks[0] == "`" and "`" in info:
        return False
    if silent:
        return True
    last, closed = line + 1, 0
    while last < end_line:
        at = starts[last] + shifts[last]
        if state.sCount[last] < state.blkIndent and at < ends[last]:
            break
        if source.startswith(marks, at) and not state.is_code_block(last):
            closed = not source[at : ends[last]].rstrip(" \t").strip(marks[0])
            if closed:
                break
        last += 1
    _push(state, "fence", line, last + closed).info = info
    return True


def heading_rule(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
    opening = _HEADING.match(state.src, state.bMarks[line] + state.tShift[line], state.eMarks[line])
    if opening is None or state.is_code_block(line):
        return False
    if not silent:
        words = state.src[opening.end() : state.eMarks[line]].rstrip(" \t")
        without = words.rstrip("#")
        token = _push(state, "heading", line, line + 1, f"h{len(opening[0])}")
        token.content = mdTrim(without if without.endswith((" ", "\t")) else words)
    return True


def _push(state: StateBlock, kind: str, first: int, last: int, tag: str = "") -> Token:
    """A token for the lines from `first` up to `last`, where parsing goes on."""
    token = state.push(kind, tag, 0)
    token.map = [first, last]
    state.line = last
    return token


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
    lengths = list(map(len, lines))
    starts = list(map(add, accumulate(lengths, initial=0), count()))[:-1]
    state.src = source
    state.bMarks = [*starts, len(source)]
    state.eMarks = [*map(add, starts, lengths), len(source)]
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
