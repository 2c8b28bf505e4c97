"""Block rules of ours for markdown-it: what Docusaurus, MDX, MyST, MkDocs and template languages add to Markdown.

Each rule claims whole lines that are not prose and may interrupt a paragraph or a list. The text between an opening
and a closing line is parsed as Markdown; `quoth.text.markdown` joins the two lines to a tree. A line that only looks
like markup stays text: losing words is worse than keeping a bracket.
"""

from __future__ import annotations

import re
from bisect import bisect_left

from markdown_it.rules_block import StateBlock

from quoth.text.plain import IMPORT, TAG, labels
from quoth.text.rst_directives import CODE, INVISIBLE

# --- Docusaurus directives (`:::note`) and MDX ---


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


# --- MyST: directives in fences, targets, comments ---


_FENCE = re.compile(r"(`{3,}|~{3,}|:{3,})[ \t]*\{([A-Za-z][\w:.+-]*)\}[ \t]*(.*)$")
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
    opening = _FENCE.match(said)
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


# --- MkDocs: indented admonitions and tabs; lines of template tags ---


_INDENTING = re.compile(r'(?:!!!|\?\?\?\+?)[ \t]?([\w-]+)(?:[ \t]+[\w-]+)*(?:[ \t]+"[^\n]*")?$|===[!+]*[ \t]+"[^\n]*"$')
_TAGS = re.compile(r"(?:\{%(?:[^%]|%(?!\}))*%\}[ \t]*)+$")  # with words between two tags the line is text
_INDENT = 4


def indented_rule(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
    at = state.bMarks[line] + state.tShift[line]
    if not state.src.startswith(("!!!", "???", "==="), at) or state.is_code_block(line):
        return False
    match = _INDENTING.match(state.src[at : state.eMarks[line]].rstrip())
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
