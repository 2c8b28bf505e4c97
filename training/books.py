"""Technical books as sections: heading path and text, from Markdown, MDX and AsciiDoc.

Tar files of the books come in, sections in reading order go out. The text stays as the author wrote it, code and lists
included, but without front matter, imports, comments and tags; links and emphasis are removed from half of the pages
too, so that the reader learns both the raw and the plain form. The Rust book is never read: an evaluation set is built
on it. Pure Python.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

EVALUATED = frozenset({"mdbook_rust_book"})
# Held out completely, to choose the recipe.
LEFT_OUT = frozenset({"mkdocs_starlette", "vitepress_vite"})
_FOREIGN = re.compile(r"/docs/(?:da|de|es|fa|fr|hi|id|it|ja|ko|pt-br|pt-pt|ru|tr|uk|zh-cn|zh|tr)/")
_HEADING = re.compile(r"^(#{1,6}|={1,6})[ \t]+(.+?)[ \t]*#*$")
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,}|-{4,}$)")
_FRONT = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
_TITLE = re.compile(r"^title:[ \t]*[\"']?(.+?)[\"']?[ \t]*$", re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?-->|\{/\*.*?\*/\}", re.DOTALL)
_TAG = re.compile(r"</?[A-Za-z][\w.-]*(?:\s[^<>]*)?/?>")
_DIRECTIVE = re.compile(r"\{\{[<%].*?[>%]\}\}|\{%.*?%\}|^:[\w-]+:.*$|^\[[\w,.=#\"% -]*\]$", re.MULTILINE)
_IMPORT = re.compile(r"^(?:import|export)\s.*$", re.MULTILINE)
_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)|^image::.*$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]+)\]\([^)\s]*(?:\s[^)]*)?\)")
_XREF = re.compile(r"(?:xref:|link:|https?://)[^\s\[]+\[([^\]]*)\]")
_ANCHOR = re.compile(r"\s*\{\s*/?\*?\s*[#:.][^}]*\}|\s*\[\[[^\]]*\]\]")
_BLANK = re.compile(r"\n{3,}")


@dataclass(frozen=True, slots=True)
class Section:
    book: str
    page: str
    path: tuple[str, ...]  # title and headings; the last is the section's own
    text: str


def books(folder: Path) -> list[Path]:
    """The books that may be trained on, and those held out to choose the recipe."""
    return [path for path in sorted(folder.glob("*.tar.gz")) if path.name.removesuffix(".tar.gz") not in EVALUATED]


def sections(archive: Path) -> Iterator[Section]:
    book = archive.name.removesuffix(".tar.gz")
    with tarfile.open(archive) as tar:
        members = sorted((m for m in tar.getmembers() if m.isfile()), key=lambda m: m.name)
        for member in members:
            wanted = member.name.endswith((".md", ".mdx", ".adoc")) and not _FOREIGN.search(member.name)
            content = tar.extractfile(member) if wanted else None
            if content is not None:
                text = content.read().decode("utf-8", errors="replace")
                yield from page_sections(book, member.name, text)


def page_sections(book: str, page: str, text: str) -> Iterator[Section]:
    front = _FRONT.match(text)
    title = _TITLE.search(front.group(1)) if front else None
    path: dict[int, str] = {0: clean(title.group(1))} if title else {}
    lines: list[str] = []
    plain = crc32(page.encode()) % 2 == 0
    body = text[front.end() :] if front else text
    for is_heading, level, line in _lines(body):
        if not is_heading:
            lines.append(line)
            continue
        yield from _section(book, page, path, lines, plain)
        lines = []
        # A title that is in the front matter and again as a heading counts once.
        path = {at: name for at, name in path.items() if at < level and name != line} | {level: line}
    yield from _section(book, page, path, lines, plain)


def _lines(text: str) -> Iterator[tuple[bool, int, str]]:
    fence = ""
    for line in _COMMENT.sub("", text).splitlines():
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark.group(1)[:3]
        elif mark and mark.group(1).startswith(fence):
            fence = ""
        heading = None if fence or mark else _HEADING.match(line)
        if heading:
            yield True, len(heading.group(1)), clean(heading.group(2))
        else:
            yield False, 0, line


def _section(book: str, page: str, path: dict[int, str], lines: list[str], plain: bool) -> Iterator[Section]:
    text = prose("\n".join(lines), plain)
    if path and len(text.split()) >= 12:
        yield Section(book, page, tuple(path[at] for at in sorted(path)), text)


def prose(text: str, plain: bool) -> str:
    """A section without the parts that only its toolchain reads."""
    for pattern in (_IMPORT, _IMAGE, _DIRECTIVE, _TAG):
        text = pattern.sub("", text)
    text = _XREF.sub(r"\1", text)
    if plain:
        text = _LINK.sub(r"\1", text)
        text = re.sub(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1", r"\2", text)
    return _BLANK.sub("\n\n", text).strip()


def clean(heading: str) -> str:
    """A heading as a reader sees it."""
    heading = _ANCHOR.sub("", _TAG.sub("", heading))
    heading = _LINK.sub(r"\1", _XREF.sub(r"\1", heading))
    return " ".join(re.sub(r"\*\*|__|\\", "", heading).split())
