"""markdown-it's block rules, tried only where they can apply.

markdown-it tries every rule on every line. Most rules can only claim a line that starts with one of their marks; one
rule before all others tries just these, so the result is the same in half the time. Our own rules claim text, headings,
fences and tables: the same lines, as one token, because nothing needs what is in them. A token has only the fields that
are read. The table of line starts is built with string methods. Only public names of the library are used, and its own
loop and containers are left as they are. `quoth.text.markdown` turns the tokens into blocks.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import accumulate, count
from operator import add
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.common.utils import mdTrim
from markdown_it.ruler import Ruler
from markdown_it.rules_block import StateBlock, table
from markdown_it.token import Token

Rule = Callable[[StateBlock, int, int, bool], bool]

# The marks that a line must start with for a rule to claim it. Rules that are not named here are always tried.
_MARKS = {
    "directive": ":/",
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
_RARE = ("table", "code")  # they look at the next line, or at the indent
_TABLE_LINE = "|-:"  # what the second line of a table starts with
_FENCE = re.compile(r"`{3,}|~{3,}")
_HEADING = re.compile(r"#{1,6}(?![^ \t])")


def dispatch(ruler: Ruler[Rule]) -> None:
    """Adds the dispatching rule before the existing ones. Call it once, after all others have been added."""
    ruler.at("table", _table_rule, {"alt": ["paragraph", "reference"]})
    ruler.at("fence", _fence_rule, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    ruler.at("heading", _heading_rule, {"alt": ["paragraph", "reference", "blockquote"]})
    ruler.disable("lheading")  # an underlined heading is found where its text ends
    chosen = _Dispatch(ruler)
    ruler.at("paragraph", chosen.text)
    ruler.before(ruler.get_active_rules()[0], "dispatch", chosen.first)


class _Dispatch:
    def __init__(self, ruler: Ruler[Rule]) -> None:
        named = zip(ruler.get_active_rules(), ruler.getRules(""), strict=True)
        active = [(name, rule) for name, rule in named if name != "paragraph"]
        interrupting = ruler.getRules("paragraph")
        self._all = [rule for _, rule in active]
        self._by_mark = {
            mark: [rule for name, rule in active if name not in _RARE and mark in _MARKS.get(name, mark)]
            for mark in set("".join(_MARKS.values()))
        }
        self._others = [rule for name, rule in active if name not in _MARKS and name not in _RARE]
        self._interrupting = {
            mark: [rule for rule in rules if rule in interrupting] for mark, rules in self._by_mark.items()
        }

    def first(self, state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
        """Claims every line, by the first rule that can."""
        starts, shifts, source = state.bMarks, state.tShift, state.src
        following = starts[line + 1] + shifts[line + 1]
        if state.is_code_block(line) or (line + 1 < end_line and source[following : following + 1] in _TABLE_LINE):
            rules = self._all
        else:
            rules = self._by_mark.get(source[starts[line] + shifts[line]], self._others)
        for rule in rules:
            if rule(state, line, end_line, silent):
                return True
        return self.text(state, line, end_line, silent)

    def text(self, state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
        """A paragraph, or a heading that is underlined: the lines up to one that is blank or that a rule claims."""
        starts, shifts, ends, indents, source = state.bMarks, state.tShift, state.eMarks, state.sCount, state.src
        around, state.parentType = state.parentType, "paragraph"
        last, tag = line + 1, ""
        while last < end_line and (at := starts[last] + shifts[last]) < ends[last]:
            deeper = indents[last] - state.blkIndent
            if deeper < 4:  # otherwise the paragraph goes on, whatever the line looks like
                mark = source[at]
                if mark in "-=" and deeper >= 0 and not source[at : ends[last]].rstrip(" \t").strip(mark):
                    tag = "h1" if mark == "=" else "h2"
                    break
                if indents[last] >= 0 and self._interrupted(state, last, end_line, mark):
                    break
            last += 1
        if tag:
            words = state.getLines(line, last, state.blkIndent, False)
            _push(state, "heading", line, last + 1, tag).content = mdTrim(words)
        else:
            _push(state, "prose", line, last)
        state.parentType = around
        return True

    def _interrupted(self, state: StateBlock, line: int, end_line: int, mark: str) -> bool:
        if mark in self._interrupting and any(rule(state, line, end_line, True) for rule in self._interrupting[mark]):
            return True
        following = state.bMarks[line + 1] + state.tShift[line + 1]
        return state.src[following : following + 1] in _TABLE_LINE and table(state, line, end_line, True)


def _table_rule(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
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


def _fence_rule(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
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


def _heading_rule(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
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


class _Token(Token):
    """Without attributes, children and other fields of a renderer, which take longer to make than the rest."""

    __slots__ = ()

    def __init__(self, kind: str, tag: str, nesting: Literal[-1, 0, 1], level: int) -> None:
        self.type = kind
        self.tag = tag
        self.nesting = nesting
        self.level = level
        self.map = None
        self.content = self.markup = self.info = ""


class _State(StateBlock):
    def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
        if nesting < 0:
            self.level -= 1
        token = _Token(ttype, tag, nesting, self.level)
        if nesting > 0:
            self.level += 1
        self.tokens.append(token)
        return token


def block_tokens(parser: MarkdownIt, source: str) -> list[Token]:
    """The tokens of `source`, whose lines end in line feeds; the inline parser is not run."""
    tokens: list[Token] = []
    if source:
        state = _state(parser, source, tokens)
        parser.block.tokenize(state, 0, state.lineMax)
    return tokens


def _state(parser: MarkdownIt, source: str, tokens: list[Token]) -> StateBlock:
    """Like `StateBlock(source, …)`, which would look at each line character by character."""
    state = _State("", parser, {}, tokens)
    lines = source.split("\n")
    if not lines[-1].strip(" \t"):
        lines.pop()  # nothing after the last line end
    lengths = list(map(len, lines))
    starts = list(map(add, accumulate(lengths, initial=0), count()))[:-1]
    shifts = [len(line) - len(line.lstrip(" \t")) if line[:1] in " \t" else 0 for line in lines]
    state.src = source
    state.bMarks = [*starts, len(source)]
    state.eMarks = [*map(add, starts, lengths), len(source)]
    state.tShift = [*shifts, 0]
    state.sCount = [*shifts, 0]
    if "\t" in source:
        for number, (line, shift) in enumerate(zip(lines, shifts, strict=True)):
            if shift and "\t" in line[:shift]:
                state.sCount[number] = len(line[:shift].expandtabs(4))
    state.bsCount = [0] * len(state.bMarks)
    state.lineMax = len(lines)
    return state
