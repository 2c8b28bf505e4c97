"""VitePress's additions to Markdown → the words that a reader sees: a `Dialect` of `quoth.sources.includes`.

`<<< file#region` shows code, `<!--@include: file{1,5}-->` another page. Labels of code groups become titles of their
fences. Vue expressions whose value only a running page knows are left out. It opens no file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from quoth.sources.files import FrontMatter, front_matter
from quoth.sources.includes import Dialect, Directive
from quoth.sources.marked_lines import MarkedLine, fenced, found_outside, marked_lines

_INCLUDE = re.compile(r"<!--\s*@include:\s*([^\s>][^>\n]{0,300}?)\s{0,10}-->")
_PART = re.compile(r"^(?P<file>.*?)(?P<region>#[\w-]+)?(?P<range>\{\d*,\d*\})?$")
_SNIPPET = re.compile(r"([ \t]*)<<<[ \t]*+(\S.{0,500})")
_SNIPPET_PARTS = re.compile(
    r"(?P<file>[^\s{\[#]+|[^{\[#]+?)(?P<region>#[\w-]+)?(?:[ ]?\{(?P<options>[^{}]*)\})?[ ]?(?:\[(?P<title>.+)\])?"
)
_LANGUAGE = re.compile(r"(?<![\w,-])([A-Za-z][\w+-]*)(?::\S*)?")
_REGION = re.compile(
    r"\s*(?://|/\*|<!--|#|::|--|;)?\s*#?(?:pragma\s+)?(end\s?)?region\s+([\w*-]+)\s*(?:\*/|-->)?\s*", re.I
)
_LABEL = re.compile(r"\s*\[([^\[\]\n]+)\]")
_SILENT = re.compile(r"[ \t]*:{3,}[ \t]*(?:code-group|raw|v-pre)\b.*")
_LITERAL = re.compile(r"[ \t]*:{3,}[ \t]*v-pre\b")
_CLOSING = re.compile(r"[ \t]*:{3,}[ \t]*")
_CONTENTS = re.compile(r"[ \t]*\[\[toc\]\][ \t]*", re.I)
_ALERT = re.compile(r"([ \t]*(?:>[ \t]*)+)\[!(\w+)\][ \t]*([^\n]*)")
_EXPRESSION = re.compile(r"\{\{(?P<said>(?:[^{}]|\{[^{}]*\})*)\}\}")
_STRING = re.compile(r"\s*(['\"`])([^'\"`$]*)\1\s*")
_FRONT = re.compile(r"\s*\$?frontmatter\.(\w+)\s*")


def vitepress_includes(docs: Path) -> Dialect:
    """A leading `@` in a name stands for `docs`, the folder of all pages."""

    def find(text: str, path: Path, start: int) -> Iterator[Directive]:
        front = front_matter(text) if start and "frontmatter." in text else FrontMatter()
        literal = False
        for line in marked_lines(text, start):
            if "@include:" in line.text:
                yield from _includes(line, path, docs)
            elif line.kind == "opening" and "[" in line.text:
                yield from _label(line)
            elif line.kind == "prose" and line.text:
                literal = bool(_LITERAL.match(line.text)) or (literal and not _CLOSING.fullmatch(line.text))
                yield from _prose(line, path, docs, front, literal)

    return find


def _includes(line: MarkedLine, path: Path, docs: Path) -> Iterator[Directive]:
    for match in _INCLUDE.finditer(line.text):
        parts = _PART.fullmatch(match[1])
        if parts:
            region, span = (parts["region"] or "")[1:], parts["range"] or ""
            yield Directive(
                line.start + match.start(),
                line.start + match.end(),
                target=_place(parts["file"], path, docs),
                take=lambda text, region=region, span=span: _page_part(text, region, span),  # type: ignore[misc]
                said=match[1],
            )


def _place(said: str, path: Path, docs: Path) -> Path:
    return docs / said[1:].lstrip("/") if said.startswith("@") else path.parent / said.strip()


def _page_part(text: str, region: str, span: str) -> str | None:
    if region:
        found = _region(text, region)
        if found is None:
            return None
        text = found
    if span:
        first, _, last = span[1:-1].partition(",")
        text = "\n".join(text.split("\n")[int(first or 1) - 1 if first != "0" else 0 : int(last) if last else None])
    return text if region or span else text[front_matter(text).body_start :].lstrip("\n")


def _region(text: str, name: str) -> str | None:
    kept: list[str] = []
    inside = False
    for line in text.split("\n"):
        mark = _REGION.fullmatch(line) if "region" in line.lower() else None
        if mark and mark[2] == name:
            if inside and mark[1]:
                return "\n".join(kept)
            inside = inside or not mark[1]
        elif inside:
            kept.append(line)
    return "\n".join(kept) if inside else None


def _label(line: MarkedLine) -> Iterator[Directive]:
    """The name of a tab in a code group."""
    label = _LABEL.search(line.text)
    if label and "title=" not in line.text and '"' not in label[1]:
        words = label[1].split("~", 1)[0]
        yield Directive(line.start + label.start(), line.start + label.end(), f' title="{words}"')


def _prose(line: MarkedLine, path: Path, docs: Path, front: FrontMatter, literal: bool) -> Iterator[Directive]:
    text = line.text
    if (
        "<<<" in text
        and (snippet := _SNIPPET.fullmatch(text))
        and (parts := _SNIPPET_PARTS.fullmatch(snippet[2].rstrip()))
    ):
        yield _snippet(line, snippet, parts, path, docs)
    elif (":::" in text and _SILENT.fullmatch(text)) or ("[[" in text and _CONTENTS.fullmatch(text)):
        yield Directive(line.start, line.end)
    elif "[!" in text and (alert := _ALERT.fullmatch(text)):
        words = alert[3] or alert[2].capitalize()
        yield Directive(line.start + alert.end(1), line.end, f"**{words}**")
    elif "{{" in text and not literal and "v-pre" not in text:
        for match in found_outside(_EXPRESSION, text):
            said = _spoken(match["said"], front)
            yield Directive(line.start + match.start(), line.start + match.end(), said)


def _snippet(line: MarkedLine, snippet: re.Match[str], parts: re.Match[str], path: Path, docs: Path) -> Directive:
    file, region, title = parts["file"].strip(), (parts["region"] or "")[1:], parts["title"] or ""
    language = _LANGUAGE.search(parts["options"] or "")
    spoken = language[1] if language else file.rsplit(".", 1)[-1] if "." in file else ""

    def take(text: str) -> str | None:
        code = _region(text, region) if region else text
        return None if code is None else fenced(_dedented(code), spoken, title)

    return Directive(
        line.start + len(snippet[1]),
        line.end,
        target=_place(file, path, docs),
        take=take,
        said=file + (f"#{region}" if region else ""),
        indent=snippet[1],
    )


def _dedented(code: str) -> str:
    lines = code.split("\n")
    margin = min((len(line) - len(line.lstrip(" \t")) for line in lines if line.strip()), default=0)
    return "\n".join(line[margin:] for line in lines)


def _spoken(expression: str, front: FrontMatter) -> str:
    """What is known of an expression without running it: a literal text, or a value from the page's front matter."""
    if string := _STRING.fullmatch(expression):
        return string[2]
    named = _FRONT.fullmatch(expression)
    return front.text(named[1]) if named else ""
