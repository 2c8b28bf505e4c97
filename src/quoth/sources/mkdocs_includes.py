"""What MkDocs sites insert into pages: `{! file !}` (mdx_include, markdown-include) and `{* file *}` (samples with
variants). Text that mkdocstrings would write is left out. `--8<--` is in `quoth.sources.directives`.

`mkdocs_includes` combines those that the configuration enables into one `Dialect`. It opens no file; it only checks
which of several exists.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path

from quoth.sources.directives import outside_of_fences, snippets
from quoth.sources.includes import Dialect, Directive, bounded, first_existing

# Bounded: otherwise each of many openings without an end would be followed to the end of the page.
_INCLUDE = re.compile(
    r"(?P<escape>\\)?\{!(?P<recursive>[+-])?(?P<indent>>?)[ \t]*(?P<file>[^\[\]|!{}\n]{1,500}?)[ \t]*"
    r"(?:\[ln:(?P<lines>[\d.,-]{1,200})\][ \t]*)?(?:\|[^!\n]{1,40})?!(?:lines=(?P<older>[\d ,-]{1,200})!)?\}"
)
_SAMPLE = re.compile(r"\{\*[ \t]*(?P<file>\S{1,500})[ \t]*(?P<options>[^\n*]{0,1000})\*\}[ \t]*\r?$", re.M)
_OPTION = re.compile(r"(\w+)\[([^\]]+)\]")
_GENERATED = re.compile(r"^::: [ \t]*[\w.]+[ \t]*\r?\n?(?:(?:[ \t]+[^\n]*)?\n?)*?(?=^\S|\Z)", re.M)
_LANGUAGES = {"py": "python", "js": "javascript", "ts": "typescript", "yml": "yaml", "sh": "bash", "rs": "rust"}

Spans = Sequence[tuple[int, int | None]]


def mkdocs_includes(
    bases: Sequence[Path], extensions: Collection[str], *, generated: Callable[[Path], None] | None = None
) -> Dialect:
    """Files are looked for below each of `bases`, in order. `generated` is called with each page that mkdocstrings
    would partly write, if the site uses it."""
    dialects: list[Dialect] = [snippets(bases)]
    if any(name.startswith(("mdx_include", "markdown_include")) for name in extensions):
        dialects.append(lambda text, path, start: _includes(text, start, bases))
    if any(name.startswith("markdown_include_variants") for name in extensions):
        dialects.append(lambda text, path, start: _samples(text, start, bases))
    if generated is not None:
        dialects.append(lambda text, path, start: _left_out(text, path, start, generated))
    return lambda text, path, start: _in_order(dialect(text, path, start) for dialect in dialects)


def _in_order(found: Iterable[Iterable[Directive]]) -> Iterator[Directive]:
    """Sorted by position; of two that overlap, only the first."""
    end = 0
    for directive in sorted((one for each in found for one in each), key=lambda one: one.start):
        if directive.start >= end:
            end = directive.end
            yield directive


def _includes(text: str, start: int, bases: Sequence[Path]) -> Iterator[Directive]:
    if "{!" not in text:
        return
    for match in _INCLUDE.finditer(text, start):
        if match["escape"]:
            yield Directive(match.start(), match.start() + 1)
            continue
        file, spans = match["file"], _spans(match["lines"] or (match["older"] or "").replace(" ", ","))
        line = text.rfind("\n", 0, match.start()) + 1
        space = text[line : match.start()]
        yield Directive(
            match.start(),
            match.end(),
            target=first_existing(base / file for base in bases),
            take=lambda text, spans=spans: _taken(text, spans),  # type: ignore[misc]
            finish=lambda text: text.removesuffix("\n"),
            said=file if not spans else f"{file} {match['lines'] or match['older']}",
            indent=space if match["indent"] and not space.strip() else "",
        )


def _samples(text: str, start: int, bases: Sequence[Path]) -> Iterator[Directive]:
    """A file of code as a fence, on a line of its own. Its variants for other versions are not repeated."""
    if "{*" not in text:
        return
    for begin, line in outside_of_fences(text, start):
        match = _SAMPLE.match(line) if line.startswith("{*") else None
        if match is None:
            continue
        options = dict(_OPTION.findall(match["options"]))
        spans = _spans(options.get("ln", ""))
        shown = [] if spans == [(0, 0)] else spans  # `ln[0]` only shows a preview of the whole file
        yield Directive(
            begin,
            begin + match.end(),
            target=first_existing(base / match["file"] for base in bases),
            take=lambda text, spans=shown: _taken(text, spans),  # type: ignore[misc]
            finish=_fence(match["file"], options.get("title", "").strip('"')),
            said=match["file"],
        )


def _left_out(text: str, path: Path, start: int, tell: Callable[[Path], None]) -> Iterator[Directive]:
    if "\n::: " not in text and not text.startswith("::: "):
        return
    for match in _GENERATED.finditer(text, start):
        tell(path)
        yield Directive(match.start(), match.end())


def _fence(file: str, title: str) -> Callable[[str], str]:
    suffix = Path(file).suffix.removeprefix(".")
    head = _LANGUAGES.get(suffix, suffix) + (f' title="{title}"' if title else "")

    def finish(code: str) -> str:
        marks = max((len(run) for run in re.findall(r"`{3,}", code)), default=2) + 1
        fence = "`" * max(3, marks)
        return f"{fence}{head}\n{code.rstrip()}\n{fence}"

    return finish


def _spans(said: str) -> list[tuple[int, int | None]]:
    """`3-5,8` and `3:5,8`; columns (`3.7`) are ignored."""
    spans: list[tuple[int, int | None]] = []
    for part in filter(None, said.split(",")):
        first, dash, last = part.strip().replace(":", "-").partition("-")
        begin = _number(first) or 0
        spans.append((begin, _number(last) if dash else begin))
    return spans


def _number(said: str) -> int | None:
    whole = said.split(".")[0].strip()
    return int(whole[:9]) if whole.isdecimal() else None


def _taken(text: str, spans: Spans) -> str | None:
    if not spans:
        return text
    lines = text.split("\n")
    return "\n".join(bounded(line for begin, end in spans for line in lines[max(0, begin - 1) : end]))
