"""Block rules of MyST for markdown-it: directives in fences, targets, comments.

A directive whose content is Markdown (`{note}`, `{tab-item}`, all unknown ones) is opened and closed like Docusaurus'
directives, and what stands between is parsed as ever. One that shows code stays a fence, and one that shows nothing
(`{toctree}`) is markup as a whole. The names are those of reStructuredText.
"""

from __future__ import annotations

import re

from markdown_it.rules_block import StateBlock

from quoth.rstdirectives import CODE, INVISIBLE

_OPENING = re.compile(r"(`{3,}|~{3,}|:{3,})[ \t]*\{([A-Za-z][\w:.+-]*)\}[ \t]*(.*)$")
_CLOSING = re.compile(r"(`{3,}|~{3,})[ \t]*$")
_TARGET = re.compile(r"\(([^()\n]+)\)=[ \t]*$")
_OPTION = re.compile(r":[\w-]+:(?:[ \t]|$)")
_AS_IT_STANDS = CODE | {"eval-rst", "csv-table"}


def myst_rule(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
    at = state.bMarks[line] + state.tShift[line]
    if at >= state.eMarks[line] or state.is_code_block(line):
        return False
    mark = state.src[at]
    if mark not in "`~:(%+":
        return False
    said = state.src[at : state.eMarks[line]].rstrip()
    if mark == "(":
        target = _TARGET.match(said)
        return target is not None and _claim(state, "myst_target", line, line + 1, silent, target[1])
    if mark == "%":
        return _claim(state, "mdx_markup", line, line + 1, silent)
    if mark == "+":
        return said.startswith("+++") and _claim(state, "mdx_markup", line, line + 1, silent)
    fences: list[str] = state.env.setdefault("myst", [])
    if fences and (closing := _CLOSING.match(said)) and closing[1].startswith(fences[-1]):
        if not silent:
            fences.pop()
        return _claim(state, "directive_close", line, line + 1, silent, markup=closing[1])
    opening = _OPENING.match(said)
    return opening is not None and _open(state, opening, line, end_line, silent, fences)


def _open(state: StateBlock, opening: re.Match[str], line: int, end_line: int, silent: bool, fences: list[str]) -> bool:
    fence, name = opening[1], opening[2].lower()
    if name in INVISIBLE:
        return _claim(state, "mdx_markup", line, _end_of_fence(state, fence, line + 1, end_line), silent)
    if name in _AS_IT_STANDS and fence[0] != ":":
        return False
    if not silent and fence[0] != ":":  # a line of colons closes a directive anyway
        fences.append(fence)
    end = line + 1
    while end < end_line and _OPTION.match(_line(state, end)):
        end += 1
    if end == line + 1 and end < end_line and _line(state, end) == "---":
        closing = next((n for n in range(end + 1, end_line) if _line(state, n) == "---"), -1)
        end = closing + 1 if closing > 0 else end
    return _claim(state, "directive_open", line, end, silent, markup=fence, info=name)


def _end_of_fence(state: StateBlock, fence: str, line: int, end_line: int) -> int:
    while line < end_line:
        said = _line(state, line)
        line += 1
        if said.startswith(fence) and not said.strip(fence[0]):
            break
    return line


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].rstrip()


def _claim(
    state: StateBlock, kind: str, line: int, end: int, silent: bool, info: str = "", *, markup: str = ""
) -> bool:
    if not silent:
        token = state.push(kind, "", 0)
        token.map, token.info, token.markup = [line, end], info, markup
        state.line = end
    return True
