"""What Quarto and pandoc add to Markdown → the words that a reader sees: a `Dialect` of `quoth.sources.includes`.

Code cells become fences without their options, or are dropped if they are not shown. Callouts become admonitions, tabs
get their names, and cross references say what they refer to. Attributes, citations and values that only a run knows are
dropped. It opens no file.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from quoth.sources.files import FrontMatter, front_matter
from quoth.sources.includes import Directive
from quoth.sources.marked_lines import MarkedLine, found_outside, marked_lines

_CELL = re.compile(r"([ \t>]*(?:`{3,}|~{3,}))[ \t]*\{(=?)\.?([A-Za-z][\w+-]*)([^{}]*)\}[ \t]*")
_OPTION = re.compile(r"[ \t>]*(?:#|//|--|%%?)\|[ \t]*([\w.-]+)[ \t]*+:[ \t]*+(.*)")
_CAPTIONS = ("fig-cap", "tbl-cap", "lst-cap", "code-summary")
_HIDES = re.compile(r"\b(?:echo|include)\s*=\s*F(?:ALSE)?\b")
_DIV = re.compile(r"[ \t>]*+:{3,}+[ \t]*+(\{[^{}]*+\}|[\w.-]++)[ \t]*+:*+[ \t]*+")
_DIV_END = re.compile(r"[ \t>]*:{3,}[ \t]*")
_CALLOUT = re.compile(r"callout-(\w+)")
_TITLE = re.compile(r"\btitle\s*=\s*\"([^\"]*)\"")
_HEADING = re.compile(
    r"[ \t]{0,3}(#{1,6})[ \t]++((?:[^{\s]|\s++(?=[^{\s])|\{(?![^{}]*+\}\s*+$))*+)\s*+(?:\{([^{}]*+)\}\s*+)?"
)
_ID = re.compile(r"(?:^|\s)#([\w:.-]+)")
_SHORTCODE = re.compile(r"\{\{<\s*+(\w++)([^<>\n]{0,500}+)>\}\}")
_INLINE = re.compile(
    r"\[(?P<span>[^\[\]\n]+)\]\{[^{}\n]*\}"
    r"|(?<=[)`])\{[^{}\n]*\}"
    r"|\^\[(?P<note>[^\[\]\n]*)\]"
    r"|\[(?P<cited>-?@[^\[\]\n]+|[^\[\]@\n]{0,100}@[\w:{][^\[\]\n]*)\](?!\()"
    r"|(?<![\w@/.\\])-?@(?P<key>[A-Za-z_][\w-]*(?:[:.][\w-]+)*)"
)
_VALUE = re.compile(r"`(?:\{?r\}?|\{\w+\})[ ][^`\n]+`")
_KINDS = {"sec": "Section", "fig": "Figure", "tbl": "Table", "eq": "Equation", "lst": "Listing", "thm": "Theorem"}
_REFERENCE = re.compile(rf"({'|'.join(_KINDS)})-[\w-]+")


@dataclass(slots=True)
class _Open:
    """A div that is not closed yet."""

    kind: str  # "callout", "tabs" or ""
    level: int = 0  # of the headings that name its tabs


@dataclass(slots=True)
class QuartoMarks:
    """The dialect of one project."""

    echo: bool
    variables: Mapping[str, object]

    def __call__(self, text: str, path: Path, start: int) -> Iterator[Directive]:
        front = front_matter(text) if start else FrontMatter()
        execute = front.values.get("execute")
        shown = self.echo if not isinstance(execute, dict) else execute.get("echo", self.echo) is not False
        lines = list(marked_lines(text, start))
        titles = _titles(lines)
        stack: list[_Open] = []
        at = 0
        while at < len(lines):
            line = lines[at]
            if line.kind == "opening" and (cell := _CELL.fullmatch(line.text)):
                end = next((n for n in range(at + 1, len(lines)) if lines[n].kind != "code"), len(lines))
                yield from _cell(lines, at, end, cell, shown)
                at = end
                continue
            if line.kind == "prose" and line.text:
                taken = yield from self._prose(lines, at, path, front, stack, titles)
                at += taken
            at += 1

    def _prose(
        self,
        lines: Sequence[MarkedLine],
        at: int,
        path: Path,
        front: FrontMatter,
        stack: list[_Open],
        titles: Mapping[str, str],
    ) -> Generator[Directive, None, int]:
        """Returns how many further lines were consumed."""
        line = lines[at]
        if ":::" in line.text and (opening := _DIV.fullmatch(line.text)):
            return (yield from _div(lines, at, opening[1], stack))
        if ":::" in line.text and _DIV_END.fullmatch(line.text):
            closed = stack.pop() if stack else _Open("")
            yield Directive(line.start, line.end, ":::" if closed.kind == "callout" else "")
        elif line.text.lstrip()[:1] == "#" and (heading := _HEADING.fullmatch(line.text)):
            yield from _heading(line, heading, stack)
        else:
            for shortcode in _SHORTCODE.finditer(line.text) if "{{<" in line.text else ():
                yield self._shortcode(line, shortcode, path, front)
            if "{{<" not in line.text:
                yield from _inline(line, titles)
        return 0

    def _shortcode(self, line: MarkedLine, match: re.Match[str], path: Path, front: FrontMatter) -> Directive:
        first, last = line.start + match.start(), line.start + match.end()
        name, said = match[1], match[2].strip(" \t\"'")
        if name == "include":
            return Directive(
                first,
                last,
                target=path.parent / said.lstrip("/"),
                take=lambda text: text[front_matter(text).body_start :],
                finish=lambda text: text.strip("\n"),
                said=said,
            )
        if name == "meta":
            return Directive(first, last, front.text(said))
        found: object = self.variables if name == "var" else None
        for part in said.split(".") if name == "var" else ():
            found = found.get(part) if isinstance(found, dict) else None
        return Directive(first, last, str(found) if isinstance(found, (str, int, float)) else "")


def _titles(lines: Sequence[MarkedLine]) -> dict[str, str]:
    """The words of each heading with an explicit id, for references on the same page."""
    found: dict[str, str] = {}
    for line in lines:
        if line.kind == "prose" and "{" in line.text and (heading := _HEADING.fullmatch(line.text)):
            named = _ID.search(heading[3] or "")
            if named:
                found[named[1]] = heading[2]
    return found


def _cell(lines: Sequence[MarkedLine], at: int, end: int, cell: re.Match[str], shown: bool) -> Iterator[Directive]:
    """A cell without its options; its caption becomes its title. A hidden cell leaves only its caption."""
    opening = lines[at]
    options: dict[str, str] = {}
    first = at + 1
    while first < end and (option := _OPTION.fullmatch(lines[first].text)):
        options[option[1]] = option[2].strip(" \t\"'")
        first += 1
    caption = next((options[key] for key in _CAPTIONS if options.get(key)), "")
    if cell[2] or _is_hidden(options, cell[4], shown):
        visible = caption if not cell[2] and options.get("include") != "false" else ""
        yield Directive(opening.start, lines[end - 1].end, visible)
        return
    title = f' title="{caption}"' if caption and '"' not in caption else ""
    fence = f"{cell[1]}{cell[3].lower()}{title}"
    if not options:
        yield Directive(opening.start, opening.end, fence)
        return
    yield Directive(opening.start, lines[first].start if first < len(lines) else opening.end, f"{fence}\n")


def _is_hidden(options: Mapping[str, str], said: str, shown: bool) -> bool:
    """Whether a cell's own options hide it, or else the book's, which are in `shown`."""
    echo = options.get("echo")
    if "false" in (echo, options.get("include")) or _HIDES.search(said):
        return True
    return not shown and echo not in ("true", "fenced")


def _div(lines: Sequence[MarkedLine], at: int, said: str, stack: list[_Open]) -> Generator[Directive, None, int]:
    line = lines[at]
    callout = _CALLOUT.search(said)
    if callout is None:
        stack.append(_Open("tabs" if "panel-tabset" in said else ""))
        yield Directive(line.start, line.end)
        return 0
    stack.append(_Open("callout"))
    title = _TITLE.search(said)
    words, taken = title[1] if title else "", 0
    following = next((n for n in range(at + 1, min(at + 4, len(lines))) if lines[n].text.strip()), at)
    heading = _HEADING.fullmatch(lines[following].text) if following > at and lines[following].kind == "prose" else None
    if not words and heading:  # the title of a callout, not of a section
        words, taken = heading[2], following - at
    end = lines[at + taken].end
    yield Directive(line.start, end, f":::{callout[1]}[{words}]" if words else f":::{callout[1]}")
    return taken


def _heading(line: MarkedLine, heading: re.Match[str], stack: Sequence[_Open]) -> Iterator[Directive]:
    if stack and stack[-1].kind == "tabs":
        stack[-1].level = stack[-1].level or len(heading[1])
        if len(heading[1]) == stack[-1].level:  # the name of a tab, not of a section
            yield Directive(line.start, line.end, f"**{heading[2]}**")
            return
    words = _INLINE.sub(lambda match: match["span"] or match["key"] or "", heading[2])
    named = _ID.search(heading[3] or "")
    attributes = f" {{#{named[1]}}}" if named else ""
    whole = f"{heading[1]} {words}{attributes}"
    if whole != line.text.strip():
        yield Directive(line.start, line.end, whole)


def _inline(line: MarkedLine, titles: Mapping[str, str]) -> Iterator[Directive]:
    found: list[Directive] = []
    if "`" in line.text:
        values = _VALUE.finditer(line.text)
        found += [Directive(line.start + match.start(), line.start + match.end()) for match in values]
    if "@" in line.text or "{" in line.text or "^[" in line.text:
        for match in found_outside(_INLINE, line.text):
            found.append(Directive(line.start + match.start(), line.start + match.end(), _spoken(match, titles)))
    at = 0
    for directive in sorted(found, key=lambda item: item.start):
        if directive.start >= at:
            yield directive
            at = directive.end


def _spoken(match: re.Match[str], titles: Mapping[str, str]) -> str:
    if match["span"]:
        return match["span"]
    if match["note"] is not None:
        return f" ({match['note']})"
    key = match["key"] or ""
    cited = match["cited"] or ""
    if cited:
        key = cited.lstrip("-@").split(";")[0].split(",")[0].strip()
    if reference := _REFERENCE.fullmatch(key):
        return f"{_KINDS[reference[1]]} “{titles[key]}”" if key in titles else _KINDS[reference[1]]
    return "" if cited else key
