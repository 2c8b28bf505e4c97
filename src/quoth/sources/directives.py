"""How four toolchains write an include: mdBook's `{{#include}}`, pymdownx's `--8<--`, MDX's imported partials, and
GitBook's `{% include %}`.

Each function is a `Dialect` of `quoth.sources.includes` (or makes one): it finds the directives in a text and says
which file each one names and which part of it is shown. It opens no file; it only checks which of several exists.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from quoth.sources.files import front_matter
from quoth.sources.includes import Dialect, Directive, bounded, first_existing
from quoth.text.line_marks import IMPORT

# --- mdBook --------------------------------------------------------------------------------------------------------

# Bounded: otherwise each of many openings without an end would be followed to the end of the page.
_MDBOOK = re.compile(r"\\\{\{#.{0,1000}?\}\}|\{\{\s{0,100}+#(\w+)\s{1,100}+([^}]{1,1000}+)\}\}")
_QUOTED = re.compile(r'\s*"((?:[^"\\]|\\.)*)"\s*:?(.*)', re.S)
_ANCHOR = re.compile(r"ANCHOR:\s*([\w-]+)")
_ANCHOR_END = re.compile(r"ANCHOR_END:\s*([\w-]+)")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_HIDDEN = re.compile(r"\s*#(?: |$)")

_Take = Callable[[str], str | None]


def mdbook_includes(text: str, path: Path, start: int) -> Iterator[Directive]:
    if "{{" not in text:
        return
    for match in _MDBOOK.finditer(text, start):
        kind = match[1]
        if kind is None:
            yield Directive(match.start(), match.end(), match[0][1:])
        elif kind == "title":
            yield Directive(match.start(), match.end())
        elif kind in ("include", "rustdoc_include", "playground", "playpen"):
            yield _mdbook_directive(match, kind, path.parent)


def _mdbook_directive(match: re.Match[str], kind: str, folder: Path) -> Directive:
    quoted = _QUOTED.fullmatch(match[2])
    if quoted:
        file, rest = re.sub(r"\\(.)", r"\1", quoted[1]), quoted[2].split()
    else:
        file, *rest = match[2].split()
        if not kind.startswith("play"):
            file, _, part = file.partition(":")
            rest = [part] if part else []
    part = rest[0] if rest and not kind.startswith("play") else ""
    take = _playground(rest) if kind.startswith("play") else _lines_or_anchor(part, hide=kind == "rustdoc_include")
    line = match.string.rfind("\n", 0, match.start()) + 1
    return Directive(
        match.start(),
        match.end(),
        target=folder / file,
        take=take,
        finish=lambda text: text.removesuffix("\n"),
        said=f"{file}:{part}" if part else file,
        indent=match.string[line : match.start()],
    )


def _playground(attributes: Sequence[str]) -> _Take:
    info = ",".join(["rust", *attributes])
    return lambda text: f"```{info}\n{text if text.endswith(chr(10)) else text + chr(10)}```"


def _lines_or_anchor(part: str, *, hide: bool) -> _Take:
    first, _, rest = part.partition(":")
    if first and not first.isdecimal():
        return lambda text: _anchored(_lines(text), first, repeated=hide)
    begin = max(0, int(first) - 1) if first else 0
    end: int | None = None
    last = rest.split(":")[0]
    if ":" in part:
        end = int(last) if last.isdecimal() else None
    elif first:
        end = begin + 1

    def take(text: str) -> str | None:
        lines = _lines(text)
        if begin and begin >= len(lines):
            return None
        return "\n".join(line for line in lines[begin:end] if not (hide and _HIDDEN.match(line)))

    return take


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n")


def _anchored(lines: Sequence[str], name: str, *, repeated: bool) -> str | None:
    """The lines between the comments of the anchor, without the comments of other anchors. `rustdoc_include` shows
    every part with that name, `include` only the first."""
    kept: list[str] = []
    inside = found = False
    for line in lines:
        opening, closing = _ANCHOR.search(line), _ANCHOR_END.search(line)
        if inside and closing and closing[1] == name:
            inside = False
            if not repeated:
                break
        elif opening and opening[1] == name:
            inside = found = True
        elif inside and not opening and not closing:
            kept.append(line)
    return "\n".join(kept) if found else None


# --- MkDocs: pymdownx.snippets -------------------------------------------------------------------------------------

_SCISSORS = re.compile(
    r"^(?P<space>[ \t]*)(?P<escape>;*)-+8<-+"
    r"(?:[ \t]+(?P<quote>[\"'])(?P<file>[^\"'\n]+)(?P=quote)|(?P<block>))[ \t]*\r?$",
    re.M,
)
_SECTION = re.compile(r"(?<=-)(?<!;-)8<-++[ \t]++\[[ \t]*+(start|end)[ \t]*+:[ \t]*+([\w-]++)[ \t]*+\]", re.I)
_LONGEST_SPEC = 1_000  # characters of a file name with its line numbers


def snippets(bases: Sequence[Path]) -> Dialect:
    """Snippets are looked for below each of `bases`, in order."""

    def find(text: str, path: Path, start: int) -> Iterator[Directive]:
        if "8<" not in text:
            return
        block = False  # inside a block, each line names a file
        for begin, end in _line_spans(text, start):
            line = text[begin:end].rstrip("\r\n")
            mark = _SCISSORS.match(line)
            if mark is None and not block:
                if _SECTION.search(line):
                    yield Directive(begin, end)
            elif mark and mark["escape"]:
                at = begin + mark.start("escape")
                yield Directive(at, at + 1)
            elif mark and mark["block"] is not None:
                block = not block
                yield Directive(begin, end)
            elif line.strip():
                yield _named_snippet(line, begin, end, mark, block, bases)

    return find


def _named_snippet(
    line: str, begin: int, end: int, mark: re.Match[str] | None, block: bool, bases: Sequence[Path]
) -> Directive:
    spec = line.strip() if mark is None else mark["file"].strip()
    if (mark is not None and block) or spec.startswith(";"):
        return Directive(begin, end)
    space = line[: len(line) - len(line.lstrip())]
    return _snippet(spec, begin + len(space), begin + len(line), space, bases)


def _snippet(spec: str, start: int, end: int, space: str, bases: Sequence[Path]) -> Directive:
    file, section, spans = _parts(spec)
    return Directive(
        start,
        end,
        target=first_existing(base / file for base in bases),
        take=(lambda text: _section(text, section)) if section else (lambda text: _spans(text, spans)),
        finish=lambda text: text.removesuffix("\n"),
        said=spec,
        indent=space,
    )


def _parts(spec: str) -> tuple[str, str, list[tuple[int, int | None]]]:
    """`file`, `file:section` or `file:3:5,8:9`."""
    if len(spec) > _LONGEST_SPEC:
        return spec[:_LONGEST_SPEC], "", []
    named = re.fullmatch(r"(.+?):([A-Za-z][\w-]*)", spec)
    if named and not spec.lower().startswith(("http:", "https:")):
        return named[1], named[2], []
    numbered = re.fullmatch(r"(.+?)((?::-?\d*){1,2}(?:,-?\d*(?::-?\d*)?)*)", spec)
    if not numbered:
        return spec, "", []
    return numbered[1], "", [_span(part) for part in numbered[2][1:].split(",")]


def _span(part: str) -> tuple[int, int | None]:
    first, _, last = part.partition(":")
    return int(first) if first.strip("-") else 0, int(last) if last.strip("-") else None


def _spans(text: str, spans: Sequence[tuple[int, int | None]]) -> str | None:
    if not spans:
        return text
    lines = text.split("\n")
    count = len(lines)

    def taken() -> Iterator[str]:
        for begin, end in spans:
            first = max(0, count + begin) if begin < 0 else max(0, begin - 1)
            last = max(0, count + 1 + end) if end is not None and end < 0 else end
            yield from lines[first:last]

    return "\n".join(bounded(taken()))


def _section(text: str, name: str) -> str | None:
    kept: list[str] = []
    inside = found = False
    for line in text.split("\n"):
        mark = _SECTION.search(line)
        if mark and mark[2] == name:
            if inside and mark[1].lower() == "end":
                break
            inside = found = True
        elif inside and not mark:
            kept.append(line)
    return "\n".join(kept) if found else None


# --- MDX -----------------------------------------------------------------------------------------------------------

_PARTIAL = re.compile(
    r"^import\s+([A-Za-z_$][\w$]*)(?:\s*,\s*\{[^{}'\"]*\})?\s+from\s+(['\"])([^'\"\n]+\.mdx?)\2[ \t]*;?[ \t]*\r?$", re.M
)
_PROP = re.compile(r"(?<=\s)([A-Za-z_$][\w$-]*)=(?:\{\s*)?(?:\"([^\"]*)\"|'([^']*)'|`([^`$]*)`)")
_PROP_USE = re.compile(r"\{\s*(?:props\.)?([A-Za-z_$][\w$]*)\s*\}")
_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})")
_USE = re.compile(r"([ \t]*)<([A-Za-z_$][\w$]*)(?:\s(?:[^<>{}]|\{[^{}]*\})*)?(?:/>|>[ \t]*</\2[ \t]*>)[ \t]*")


def mdx_partials(site: Path, *, rooted: bool = False) -> Dialect:
    """`<Name />` on a line of its own, where Name is imported from a Markdown file. Props that are plain text are shown
    where the partial names them; computed ones stay as they are written. With `rooted`, a path with a leading slash
    starts at the site."""

    def find(text: str, path: Path, start: int) -> Iterator[Directive]:
        imported = {match[1]: match[3] for match in _PARTIAL.finditer(text, start)} if "import" in text else {}
        if not imported:
            return
        for begin, line in outside_of_fences(text, start):
            if (use := _USE.fullmatch(line)) and use[2] in imported:
                said = imported[use[2]]
                target = site / said[6:] if said.startswith("@site/") else path.parent / said
                target = site / said[1:] if rooted and said.startswith("/") else target
                yield Directive(
                    begin + len(use[1]),
                    begin + len(line),
                    target=target,
                    take=_with_props(use[0]),
                    finish=lambda text: IMPORT.sub("", text).strip("\n"),
                    said=said,
                    indent=use[1],
                )

    return find


def _with_props(tag: str) -> _Take:
    props = {match[1]: match[2] or match[3] or match[4] or "" for match in _PROP.finditer(tag)}

    def take(text: str) -> str:
        body = text[front_matter(text).body_start :]
        return _PROP_USE.sub(lambda match: props.get(match[1], match[0]), body) if props else body

    return take


# --- GitBook -------------------------------------------------------------------------------------------------------

_INCLUDE = re.compile(r"([ \t]*)\{%-?[ \t]*include[ \t]+([\"'])([^\"'\n]+\.md)\2[ \t]*-?%\}[ \t]*")


def gitbook_includes(text: str, path: Path, start: int) -> Iterator[Directive]:
    """Content that several pages share: a tag on a line of its own, with the path of the file relative to the page."""
    if "include" not in text:
        return
    for begin, line in outside_of_fences(text, start):
        if tag := _INCLUDE.fullmatch(line):
            yield Directive(
                begin + len(tag[1]),
                begin + len(line),
                target=path.parent / tag[3],
                take=lambda text: text[front_matter(text).body_start :],
                finish=lambda text: text.strip("\n"),
                said=tag[3],
                indent=tag[1],
            )


def outside_of_fences(text: str, start: int) -> Iterator[tuple[int, str]]:
    """The lines outside code, each with its offset."""
    fence = ""
    for begin, end in _line_spans(text, start):
        line = text[begin:end].rstrip("\r\n")
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) and not line[mark.end() :].strip() else fence
        elif mark:
            fence = mark[1]
        else:
            yield begin, line


def _line_spans(text: str, start: int) -> Iterator[tuple[int, int]]:
    """Every line from `start` on with its line break."""
    return (match.span() for match in _LINE.finditer(text, start))
