"""Block rules of ours for markdown-it: Docusaurus' directives (`:::note`) and MDX (tags, comments, import and export).

They claim whole lines that are no prose and may interrupt a paragraph or a list. What stands between an
opening and a closing line is parsed as Markdown as ever; `quoth.markdown` joins the two lines to a tree. Lines that
only look like MDX stay text: losing words would be worse than keeping a bracket.
"""

from __future__ import annotations

import re
from bisect import bisect_left

from markdown_it.rules_block import StateBlock

from quoth.plaintext import IMPORT, TAG, labels

_DIRECTIVE = re.compile(r"(:{3,})[ \t]*(?:([A-Za-z][\w-]*)(?:[ \t\[{].*)?)?$")
_TAG = re.compile(TAG)
_LONG_TAG = re.compile(r"</?[A-Za-z][\w.-]*(?::[A-Za-z][\w-]*)?(?=[\s/>{])")
_EXPORT = re.compile(r"export\s+(?:default|const|let|var|function|async|class|type|interface|\{|\*)(?![\w-])")
_STRING = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`|//[^\n]*|/\*.*?\*/", re.S)
_BRACKET = re.compile(r"[\[\](){}]")


def directive_rule(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
    at = state.bMarks[line] + state.tShift[line]
    if not state.src.startswith(":::", at) or state.is_code_block(line):
        return False
    match = _DIRECTIVE.match(state.src[at : state.eMarks[line]].rstrip())
    if match is None:
        return False
    if not silent:
        token = state.push("directive_open" if match[2] else "directive_close", "", 0)
        token.markup, token.info, token.map = match[1], match[2] or "", [line, line + 1]
        state.line = line + 1
    return True


def mdx_rule(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
    at = state.bMarks[line] + state.tShift[line]
    if at >= state.eMarks[line]:
        return False
    mark = state.src[at]
    limit = state.eMarks[end_line - 1]
    if mark == "<" or mark == "{":
        end = _end_of_tags(state.src, at, limit)
    elif mark in "ie" and not silent and state.tShift[line] == 0 and state.level == 0:
        end = _end_of_module_code(state.src, at, limit)
    else:
        return False
    if end < 0:
        return False
    if not silent:
        last = bisect_left(state.eMarks, end, line)
        token = state.push("mdx_markup", "", 0)
        token.map = [line, last + 1]
        token.content = labels(state.src[at:end]) if mark == "<" else ""
        state.line = last + 1
    return True


def _end_of_tags(source: str, at: int, limit: int) -> int:
    """Where a run of tags and comments ends that fills its lines; -1 when there is text among them."""
    while True:
        if source.startswith("<!--", at):
            end = source.find("-->", at, limit) + 3
        elif source.startswith("{/*", at):
            end = source.find("*/}", at, limit) + 3
        elif source.startswith("<", at):
            end = _end_of_tag(source, at, limit)
        else:
            return -1
        if end < 3:
            return -1
        at = end
        while at < limit and source[at] in " \t":
            at += 1
        if at >= limit or source[at] == "\n":
            return end


def _end_of_tag(source: str, at: int, limit: int) -> int:
    match = _TAG.match(source, at, limit)
    if match:
        return match.end()
    # Attributes with deeper braces, template strings or arrow functions: count brackets outside of strings.
    opening = _LONG_TAG.match(source, at, limit)
    if opening is None:
        return -1
    depth = 0
    at = opening.end()
    limit = min(limit, at + 20_000)
    while at < limit:
        mark = source[at]
        if mark in "\"'`" and (string := _STRING.match(source, at, limit)):
            at = string.end()
            continue
        depth += (mark == "{") - (mark == "}")
        at += 1
        if mark == ">" and depth == 0:
            return at
        if mark == "\n" and depth == 0 and source.startswith("\n", at):
            return -1
    return -1


def _end_of_module_code(source: str, at: int, limit: int) -> int:
    """Where an import or export statement ends; -1 when the line is prose."""
    statement = IMPORT.match(source, at, limit)
    if statement:
        return statement.end()
    if not _EXPORT.match(source, at, limit):
        return -1
    depth = 0
    while at < limit:
        string = _STRING.match(source, at, limit) if source[at] in "\"'`/" else None
        if string:
            at = string.end()
            continue
        if source[at] == "\n" and depth <= 0:
            return at
        if _BRACKET.match(source, at):
            depth += 1 if source[at] in "[({" else -1
        at += 1
    if depth <= 0:
        return limit
    # Brackets that never close: give up at the first blank line rather than swallow the page.
    return limit
