"""A book to read rather than to ask: its pages in reading order, the whole text of each page, its table of contents.

In: the library's page records and the chunks of the index. Out: text. A page is put together from its chunks, each
character once, so readers see exactly what is searched. Knows no transport: `quoth mcp` uses it without a web server.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from quoth.domain import Book, Chunk, PageRecord
from quoth.ports import ChunkIndex, Library

_BATCH = 256  # first chunks to fetch at once

_NUMBER = re.compile(r"(\d+)")
_OPENS = re.compile(
    r"(?:index|readme|_index|intro|introduction|preface|foreword|welcome|getting[-_ ]started)\b", re.IGNORECASE
)
_CLOSES = re.compile(r"(?:glossary|appendix|changelog|references|bibliography|license)\b", re.IGNORECASE)
_Name = tuple[int, list[tuple[int, str]]]


@dataclass(frozen=True, slots=True)
class PageLink:
    """A page in the table of contents."""

    title: str
    url: str
    section: str  # the folders above the page, or its module


async def pages_of(library: Library, book_id: str) -> list[PageRecord]:
    """The pages with text, in reading order."""
    records = await library.page_records(book_id)
    return sorted((record for record in records.values() if record.chunk_ids), key=_place)


def _place(record: PageRecord) -> tuple[int, int, list[_Name]]:
    """By chapter and lesson where they count through the book (mdBook). Where they count within a module, or are
    missing, by file name as people count: 2 before 10; what opens a folder comes first in it, what closes it last."""
    natural = [_named(part) for part in record.source_file.split("/")]
    through = (record.chapter, record.lesson) if record.module is None else (None, None)
    chapter, lesson = (-1 if number is None else number for number in through)
    return chapter, lesson, natural


def _named(part: str) -> _Name:
    turn = -1 if _OPENS.match(part) else int(_CLOSES.match(part) is not None)
    return turn, [(int(piece), "") if piece.isdecimal() else (-1, piece) for piece in _NUMBER.split(part)]


async def text_of(index: ChunkIndex, record: PageRecord) -> str:
    return whole(await index.view(record.book_id).chunks(record.chunk_ids))


def whole(chunks: Sequence[Chunk]) -> str:
    """The text of a page. Overlapping text appears once; anything between two chunks is blank."""
    return placed(chunks)[0]


def placed(chunks: Sequence[Chunk]) -> tuple[str, dict[str, int]]:
    """The same, and the offset at which each chunk begins, by its id."""
    text, at = "", 0
    places: dict[str, int] = {}
    for chunk in sorted(chunks, key=lambda chunk: chunk.start):
        if text and chunk.start > at:
            text += "\n" if chunk.start == at + 1 else "\n\n"
        shared = max(0, at - chunk.start) if text else 0
        places[chunk.id] = max(0, len(text) - shared)
        text += chunk.text[shared:]
        at = max(at, chunk.end)
    return text, places


async def contents(index: ChunkIndex, records: Sequence[PageRecord]) -> list[PageLink]:
    links: list[PageLink] = []
    for start in range(0, len(records), _BATCH):
        batch = records[start : start + _BATCH]
        first = await index.view(batch[0].book_id).chunks([record.chunk_ids[0] for record in batch])
        trails = {chunk.id: trail_of(chunk) for chunk in first}
        for record in batch:
            section = " › ".join(trails.get(record.chunk_ids[0], ())) or record.module or "Pages"
            links.append(PageLink(record.title or record.source_file, record.url, section))
    return links


def trail_of(chunk: Chunk) -> tuple[str, ...]:
    """The folders above its page: the breadcrumb without the page's title and the headings."""
    return chunk.breadcrumb[: len(chunk.breadcrumb) - 1 - len(chunk.heading_path)]


def llms_txt(book: Book, links: Sequence[PageLink], *, whole_text: str) -> str:
    """The table of contents in the llmstxt.org format. `whole_text` is the address of the text of all pages."""
    sections: dict[str, list[PageLink]] = {}
    for link in links:
        sections.setdefault(link.section, []).append(link)
    published = f", published at {book.base_url}" if book.base_url else ""
    counted = f"{len(links)} page{'' if len(links) == 1 else 's'}"
    lines = [
        f"# {_line(book.title)}",
        "",
        f"> {_line(book.title)}{published}: {counted}. Quoth answers questions about it.",
    ]
    for section, listed in sections.items():
        lines += ["", f"## {_line(section)}", ""]
        lines += [f"- [{_label(link.title)}]({link.url})" for link in listed]
    lines += ["", "## Optional", "", f"- [The text of all pages]({whole_text})", ""]
    return "\n".join(lines)


def as_document(record: PageRecord, text: str) -> str:
    """A page within the text of all pages: where it is published, and its title unless the text begins with one."""
    title = "" if text.lstrip().startswith("#") else f"# {_line(record.title or record.source_file)}\n\n"
    return f"Source: {record.url or record.source_file}\n\n{title}{text.strip()}\n\n"


def _line(text: str) -> str:
    return " ".join(text.split())


def _label(text: str) -> str:
    return re.sub(r"([\[\]\\])", r"\\\1", _line(text))
