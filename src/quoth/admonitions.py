"""Two more block rules of ours for markdown-it: what MkDocs indents (`!!! note`, `??? tip`, `=== "Tab"`), and lines of
template tags (`{% hint %}`), as GitBook and others write them.

In MkDocs the text of an admonition or a tab is indented by four; to CommonMark that is code. The rule claims the
opening line and has the indented lines below parsed as Markdown of their own. A line of nothing but template tags is
markup; titles in it are words for the reader.
"""

from __future__ import annotations

import re

from markdown_it.rules_block import StateBlock

from quoth.plaintext import labels

_OPENING = re.compile(r'(?:!!!|\?\?\?\+?)[ \t]?([\w-]+)(?:[ \t]+[\w-]+)*(?:[ \t]+"[^\n]*")?$|===[!+]*[ \t]+"[^\n]*"$')
_TAGS = re.compile(r"(?:\{%(?:[^%]|%(?!\}))*%\}[ \t]*)+$")  # with words between two tags the line is text
_INDENT = 4


def indented_rule(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
    at = state.bMarks[line] + state.tShift[line]
    if not state.src.startswith(("!!!", "???", "==="), at) or state.is_code_block(line):
        return False
    match = _OPENING.match(state.src[at : state.eMarks[line]].rstrip())
    if match is None:
        return False
    if silent:
        return True
    inner = state.sCount[line] + _INDENT
    last = following = line + 1
    while following < end_line and (state.isEmpty(following) or state.sCount[following] >= inner):
        following += 1
        last = last if state.isEmpty(following - 1) else following
    opened = state.push("admonition_open", "", 1)
    opened.map, opened.info = [line, last], match[1] or "tab"
    state.push("admonition_title", "", 0).map = [line, line + 1]
    outer = (state.blkIndent, state.lineMax, state.parentType)
    state.blkIndent, state.lineMax, state.parentType = inner, last, "admonition"
    state.md.block.tokenize(state, line + 1, last)
    state.blkIndent, state.lineMax, state.parentType = outer
    state.push("admonition_close", "", -1)
    state.line = last
    return True


def template_rule(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
    at = state.bMarks[line] + state.tShift[line]
    if not state.src.startswith("{%", at) or state.is_code_block(line):
        return False
    written = state.src[at : state.eMarks[line]].rstrip()
    if not _TAGS.match(written):
        return False
    if not silent:
        token = state.push("template_markup", "", 0)
        token.map, token.content = [line, line + 1], labels(written)
        state.line = line + 1
    return True
