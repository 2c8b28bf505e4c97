"""A book to be read rather than asked: its pages in reading order, the whole text of each, its table of contents.

In: what the library remembers of the pages, and the chunks of the index. Out: text. A page is put together from its
chunks, each character once, so that what is read is what is searched. Knows no transport.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from quoth.domain import Book, Chunk, PageRecord
from quoth.ports import ChunkIndex, Library

BATCH = 256  # first chunks asked for at once

_NUMBER = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class Entry:
    """A page as a table of contents names it."""

    title: str
    url: str
    section: str  # the folders above it, or its module


async def pages_of(library: Library, book_id: str) -> list[PageRecord]:
    """The pages that have text, in reading order."""
    records = await library.page_records(book_id)
    return sorted((record for record in records.values() if record.chunk_ids), key=_place)


def _place(record: PageRecord) -> tuple[int, int, list[tuple[int, str]]]:
    """By chapter and lesson where they count through the book (mdBook); where they count within a module, or there are
    none, by file as people count: 2 before 10."""
    natural = [(int(part), "") if part.isdecimal() else (-1, part) for part in _NUMBER.split(record.source_file)]
    through = (record.chapter, record.lesson) if record.module is None else (None, None)
    chapter, lesson = (-1 if number is None else number for number in through)
    return chapter, lesson, natural


async def text_of(index: ChunkIndex, record: PageRecord) -> str:
    return whole(await index.view(record.book_id).chunks(record.chunk_ids))


def whole(chunks: Sequence[Chunk]) -> str:
    """The text of a page: what two chunks share stands once, and what stands between two is nothing to read."""
    text, at = "", 0
    for chunk in sorted(chunks, key=lambda chunk: chunk.start):
        if text and chunk.start > at:
            text += "\n" if chunk.start == at + 1 else "\n\n"
        text += chunk.text[max(0, at - chunk.start) if text else 0 :]
        at = max(at, chunk.end)
    return text


async def contents(index: ChunkIndex, records: Sequence[PageRecord]) -> list[Entry]:
    entries: list[Entry] = []
    for start in range(0, len(records), BATCH):
        batch = records[start : start + BATCH]
        first = await index.view(batch[0].book_id).chunks([record.chunk_ids[0] for record in batch])
        trails = {chunk.id: trail_of(chunk) for chunk in first}
        for record in batch:
            section = " › ".join(trails.get(record.chunk_ids[0], ())) or record.module or "Pages"
            entries.append(Entry(record.title or record.source_file, record.url, section))
    return entries


def trail_of(chunk: Chunk) -> tuple[str, ...]:
    """The folders above its page: what is left of the breadcrumb without the page's title and the headings."""
    return chunk.breadcrumb[: len(chunk.breadcrumb) - 1 - len(chunk.heading_path)]


def llms_txt(book: Book, entries: Sequence[Entry], *, whole_text: str) -> str:
    """The table of contents in the format of llmstxt.org. `whole_text` is where the text of all pages is."""
    sections: dict[str, list[Entry]] = {}
    for entry in entries:
        sections.setdefault(entry.section, []).append(entry)
    published = f", published at {book.base_url}" if book.base_url else ""
    counted = f"{len(entries)} page{'' if len(entries) == 1 else 's'}"
    lines = [
        f"# {_line(book.title)}",
        "",
        f"> {_line(book.title)}{published}: {counted}. Quoth answers questions about it.",
    ]
    for section, listed in sections.items():
        lines += ["", f"## {_line(section)}", ""]
        lines += [f"- [{_label(entry.title)}]({entry.url})" for entry in listed]
    lines += ["", "## Optional", "", f"- [The text of all pages]({whole_text})", ""]
    return "\n".join(lines)


def as_document(record: PageRecord, text: str) -> str:
    """A page within the text of all: its title, unless the text begins with one, and where it is published."""
    title = "" if text.lstrip().startswith("#") else f"# {_line(record.title or record.source_file)}\n\n"
    return f"Source: {record.url or record.source_file}\n\n{title}{text.strip()}\n\n"


def _line(text: str) -> str:
    return " ".join(text.split())


def _label(text: str) -> str:
    return re.sub(r"([\[\]\\])", r"\\\1", _line(text))
