"""Our own block rules for markdown-it: what Docusaurus, MDX, MyST, MkDocs and template languages add to Markdown.

Each rule claims whole lines that are not prose and may interrupt a paragraph or a list. The text between an opening and
a closing line is parsed as Markdown; `quoth.text.markdown` makes a container of the two. A line that only looks like
markup stays text: losing words is worse than keeping a bracket.
"""

from __future__ import annotations

import re
from bisect import bisect_left

from markdown_it.rules_block import StateBlock

from quoth.text.line_marks import IMPORT, labels
from quoth.text.plain import TAG
from quoth.text.rst_directives import CODE, INVISIBLE

# --- directives of Docusaurus (`:::note`) and pymdownx (`/// note`), and MDX ---


_DIRECTIVE = re.compile(r"(:{3,})[ \t]*(?:([A-Za-z][\w-]*)(?:[ \t\[{].*)?)?$")
_BLOCK = re.compile(r"(/{3,})[ \t]*(?:([A-Za-z][\w-]*)[ \t]*(?:\|.*)?)?$")  # the same for pymdownx
_TAG = re.compile(TAG)
_LONGEST_TAG = 20_000  # characters
_LONG_TAG = re.compile(r"</?[A-Za-z][\w.-]*(?::[A-Za-z][\w-]*)?(?=[\s/>{])")
_EXPORT = re.compile(r"export\s+(?:default|const|let|var|function|async|class|type|interface|\{|\*)(?![\w-])")
_STRING = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`|//[^\n]*|/\*.*?\*/", re.S)
# How much text may be searched for the ends of tags and comments, in lengths of the page. Without this limit, each of
# many lines that open one and never close it would be searched to the end of the page.
_SEARCHES = 20


def directive_rule(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
    at = state.bMarks[line] + state.tShift[line]
    if not state.src.startswith((":::", "///"), at) or state.is_code_block(line):
        return False
    opening = _DIRECTIVE if state.src[at] == ":" else _BLOCK
    match = opening.match(state.src[at : state.eMarks[line]].rstrip())
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
        end = _TagReader(state).end_of_tags(at, limit)
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


class _TagReader:
    """Finds the ends of tags and comments, as long as the page has searches left. All methods return -1 for "none"."""

    def __init__(self, state: StateBlock) -> None:
        self._source = state.src
        self._env = state.env
        self._env.setdefault("left to search", _SEARCHES * (len(state.src) + 1000))

    def end_of_tags(self, at: int, limit: int) -> int:
        """Where a run of tags and comments that fills its lines ends; none if there is text among them."""
        source = self._source
        while True:
            if source.startswith("<!--", at):
                end = self._find("-->", at, limit)
            elif source.startswith("{/*", at):
                end = self._find("*/}", at, limit)
            elif source.startswith("<", at):
                end = self._end_of_tag(at, limit)
            else:
                return -1
            if end < 0:
                return -1
            at = end
            while at < limit and source[at] in " \t":
                at += 1
            if at >= limit or source[at] == "\n":
                return end

    def _may_search(self, length: int) -> bool:
        self._env["left to search"] -= length
        return bool(self._env["left to search"] > 0)

    def _find(self, closing: str, at: int, limit: int) -> int:
        if not self._may_search(0):
            return -1
        found = self._source.find(closing, at, limit)
        self._may_search((limit if found < 0 else found) - at)
        return found + len(closing) if found >= 0 else -1

    def _end_of_tag(self, at: int, limit: int) -> int:
        match = _TAG.match(self._source, at, limit)
        if match:
            return match.end()
        # Attributes with deeper braces, template strings or arrow functions: count brackets outside strings.
        opening = _LONG_TAG.match(self._source, at, limit)
        if opening is None or not self._may_search(0):
            return -1
        end = self._long_tag_end(opening.end(), min(limit, opening.end() + _LONGEST_TAG))
        self._may_search((end if end >= 0 else min(limit, at + _LONGEST_TAG)) - at)
        return end

    def _long_tag_end(self, at: int, limit: int) -> int:
        strings = _Strings(self._source, limit)
        depth = 0
        while at < limit:
            mark = self._source[at]
            if mark in "\"'`" and (end := strings.end(at)) > 0:
                at = end
                continue
            depth += (mark == "{") - (mark == "}")
            at += 1
            if mark == ">" and depth == 0:
                return at
            if mark == "\n" and depth == 0 and self._source.startswith("\n", at):
                return -1
        return -1


class _Strings:
    """Where strings and comments of JavaScript end. If one is not closed, no later one of its kind is closed either:
    for quotes up to the end of the line, for the others anywhere."""

    def __init__(self, source: str, limit: int) -> None:
        self._source = source
        self._limit = limit
        self._open_until: dict[str, int] = {}

    def end(self, at: int) -> int:
        """-1 if none begins here, or if it is not closed."""
        kind = "/*" if self._source.startswith("/*", at) else self._source[at]
        if at < self._open_until.get(kind, 0):
            return -1
        if found := _STRING.match(self._source, at, self._limit):
            return found.end()
        if kind in ("`", "/*"):
            self._open_until[kind] = self._limit
        elif kind != "/":
            line_end = self._source.find("\n", at, self._limit)
            self._open_until[kind] = self._limit if line_end < 0 else line_end
        return -1


def _end_of_module_code(source: str, at: int, limit: int) -> int:
    """Where an import or export statement ends; -1 when the line is prose. If its brackets never close, it reaches to
    the end of the page."""
    statement = IMPORT.match(source, at, limit)
    if statement:
        return statement.end()
    if not _EXPORT.match(source, at, limit):
        return -1
    strings = _Strings(source, limit)
    depth = 0
    while at < limit:
        if source[at] in "\"'`/" and (end := strings.end(at)) > 0:
            at = end
            continue
        if source[at] == "\n" and depth <= 0:
            return at
        depth += (source[at] in "[({") - (source[at] in "])}")
        at += 1
    return limit


# --- MyST: directives in fences, targets, comments ---


_FENCE = re.compile(r"(`{3,}|~{3,}|:{3,})[ \t]*\{([A-Za-z][\w:.+-]*)\}[ \t]*(.*)$")
_CLOSING = re.compile(r"(`{3,}|~{3,})[ \t]*$")
_TARGET = re.compile(r"\(([^()\n]+)\)=[ \t]*$")
_OPTION = re.compile(r":[\w-]+:(?:[ \t]|$)")
_UNCHANGED = CODE | {"eval-rst", "csv-table"}


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
    if name in _UNCHANGED and fence[0] != ":":
        return False
    if not silent and fence[0] != ":":  # a line of colons closes a directive in any case
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
_TAGS = re.compile(r"(?:\{%(?:[^%]|%(?!\}))*%\}[ \t]*)+$")  # a line with words between two tags is text
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
