"""A book that another program put into a Qdrant collection → pages, so that its texts can be ingested like any other.

In: the payloads of its points, whatever that program called their fields. Out: a `BookSource` with a page for each file
or address, made of its pieces in order. The vectors are not used: every text is split and embedded again. Offsets refer
to the joined text, because the files themselves are not there. Knows no server.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, get_args

from quoth.domain import Book, Coverage, Labels, Layer, Notice, Page, ProficiencyLevel, SourceFile
from quoth.errors import Unreadable

# What other programs call these fields; the first name that has a value wins.
TEXT = ("text", "content", "chunk_text", "page_content", "document", "body")
URL = ("source_url", "url", "link", "source")
TITLE = ("title", "page_title", "chapter_title", "name")
SECTION = ("section_title", "section", "heading")
ORDER = ("chunk_index", "chunk_position", "position", "index")
FILE = ("source_file", "file_path", "file", "path")
_HEADING = re.compile(r"#{1,6} ")


class CollectionSource:
    toolchain = "qdrant"

    def __init__(self, name: str, payloads: Iterable[Mapping[str, Any]], *, book_id: str, title: str = "") -> None:
        self._pages = _pages(payloads, book_id)
        self._digests = {file: _digest(page) for file, page in self._pages.items()}
        self.book = Book(book_id, title or name, source=f"qdrant:{name}", toolchain=self.toolchain)
        self.skipped: list[Notice] = []
        self.notices: list[Notice] = []
        self.coverage = Coverage(self.toolchain)
        if not self._pages:
            raise Unreadable(
                f"The collection {name!r} has no texts.",
                hint=f"Its points need a payload with one of the fields {', '.join(TEXT)}.",
            )

    def files(self) -> list[SourceFile]:
        return [SourceFile(file, self._digests[file]) for file in sorted(self._pages)]

    def read(self, file: SourceFile) -> Page:
        return self._pages[file.source_file]

    def close(self) -> None:
        pass


def _pages(payloads: Iterable[Mapping[str, Any]], book_id: str) -> dict[str, Page]:
    pieces: dict[str, list[tuple[float, int, Mapping[str, Any]]]] = {}
    for number, payload in enumerate(payloads):
        nested = payload.get("metadata")  # LangChain keeps everything but the text there
        fields = {**nested, **payload} if isinstance(nested, Mapping) else payload
        if _text(fields, TEXT):
            place = _text(fields, FILE) or _text(fields, URL).partition("#")[0] or _text(fields, TITLE) or "page"
            pieces.setdefault(place, []).append((_order(fields), number, fields))
    pages = {
        place: _page(place, [piece for *_, piece in sorted(found, key=lambda one: one[:2])], book_id)
        for place, found in pieces.items()
    }
    # Ids are made of module, chapter and lesson: pages that claim the same ones lose their lesson.
    claimed = Counter(_lesson(page.labels) for page in pages.values())
    return {
        place: page if claimed[_lesson(page.labels)] == 1 else replace(page, labels=replace(page.labels, lesson=None))
        for place, page in pages.items()
    }


def _page(place: str, pieces: list[Mapping[str, Any]], book_id: str) -> Page:
    first = pieces[0]
    title = _text(first, TITLE) or place.rstrip("/").rpartition("/")[2] or place
    parts, section = [f"# {title}"], ""
    for piece in pieces:
        text, heading = _text(piece, TEXT), _text(piece, SECTION)
        if heading not in ("", section, title) and not _HEADING.match(text):
            parts.append(f"## {heading}")
        section = heading or section
        parts.append(text)
    text = "\n\n".join(parts) + "\n"
    url = _text(first, URL).partition("#")[0]
    return Page(
        book_id=book_id,
        source_file=place,
        text=text,
        file_hash=hashlib.sha256(text.encode("utf-8", "replace")).hexdigest(),
        url=url if url.startswith(("http://", "https://", "/")) else "",
        title=title,
        labels=_labels(first),
    )


def _labels(fields: Mapping[str, Any]) -> Labels:
    """The labels that are present and valid; a chapter must be a number."""
    known: dict[str, Any] = {
        "module": _text(fields, ("module",)) or None,
        "chapter": _number(fields, "chapter"),
        "lesson": _number(fields, "lesson"),
    }
    allowed = {"hardware_tier": (1, 2, 3, 4), "proficiency_level": get_args(ProficiencyLevel), "layer": get_args(Layer)}
    known |= {name: fields[name] for name, values in allowed.items() if fields.get(name) in values}
    return Labels(**known)


def _lesson(labels: Labels) -> tuple[str | None, int | None, int | None] | object:
    known = (labels.module, labels.chapter, labels.lesson)
    return object() if None in known else known  # an unknown lesson differs from every other


def _text(fields: Mapping[str, Any], names: Iterable[str]) -> str:
    found = (fields.get(name) for name in names)
    return next((value.strip() for value in found if isinstance(value, str) and value.strip()), "")


def _number(fields: Mapping[str, Any], name: str) -> int | None:
    value = fields.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None


def _order(fields: Mapping[str, Any]) -> float:
    found = (fields.get(name) for name in ORDER)
    return next((float(value) for value in found if isinstance(value, int | float)), 0.0)


def _digest(page: Page) -> str:
    return hashlib.sha256(
        repr((page.file_hash, page.url, page.title, page.labels)).encode("utf-8", "replace")
    ).hexdigest()
