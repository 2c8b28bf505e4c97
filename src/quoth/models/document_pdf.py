"""A PDF → Markdown, page by page: part of the process that converts documents.

Each page begins with a heading without words, `###### {#page-7}`, so that a citation can open the page. If the file has
an outline, its entries become headings on the pages they lead to and replace the lines with the same text. Pages that
look like forms or tables are read by markitdown's rules, all others by pdfminer's.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_DEEPEST = 5  # page headings are one level below
_MOST_ENTRIES = 20_000
_WORKING_TITLE = re.compile(r"untitled|microsoft word|powerpoint|\.(?:docx?|indd|tex|dvi|pdf|qxd|pptx?)$", re.I)
_MARKS = re.compile(r"[\W_]+")


def pdf_markdown(path: Path) -> tuple[str, str]:
    """The text and the file's own title, which may be empty."""
    from pdfminer.pdfdocument import PDFDocument
    from pdfminer.pdfpage import PDFPage
    from pdfminer.pdfparser import PDFParser

    with path.open("rb") as file:
        document = PDFDocument(PDFParser(file))
        pages = list(PDFPage.create_pages(document))
        outline = _outline(document, {page.pageid: number for number, page in enumerate(pages, 1)})
        forms = _forms(path)
        parts = [
            page_markdown(number, forms.get(number) or text, outline.get(number, ()))
            for number, text in enumerate(_texts(pages), 1)
        ]
        return "\n\n".join(filter(None, parts)), _title(document)


def page_markdown(number: int, text: str, entries: tuple[tuple[int, str], ...] | list[tuple[int, str]]) -> str:
    """One page below its anchor, with the outline entries that lead to it as headings."""
    lines = text.strip().split("\n")
    if not text.strip():
        return ""
    anchor = f"{{#page-{number}}}"
    at = 0
    above: list[str] = []
    for level, title in entries:
        heading = f"{'#' * min(level + 1, _DEEPEST)} {title} {anchor}"
        found = next((line for line in range(at, len(lines)) if _bare(lines[line]) == _bare(title)), None)
        if found is None:
            above.append(heading)
        else:
            lines[found] = f"\n{heading}\n"
            at = found + 1
    return "\n\n".join([*above, "" if above else f"###### {anchor}", "\n".join(lines)]).strip()


def _bare(text: str) -> str:
    return _MARKS.sub("", text).lower()


def _texts(pages: list[Any]) -> Iterator[str]:
    from pdfminer.converter import TextConverter
    from pdfminer.layout import LAParams
    from pdfminer.pdfinterp import PDFPageInterpreter, PDFResourceManager

    resources = PDFResourceManager()
    for page in pages:
        shown = io.StringIO()
        device = TextConverter(resources, shown, laparams=LAParams())
        PDFPageInterpreter(resources, device).process_page(page)
        device.close()
        yield shown.getvalue().replace("\f", "\n")


def _forms(path: Path) -> dict[int, str]:
    """Pages with tables or forms, as Markdown."""
    import pdfplumber
    from markitdown.converters import _pdf_converter
    from pdfminer.pdfexceptions import PDFException

    read = getattr(_pdf_converter, "_extract_form_content_from_words", None)  # private, so it may move
    found: dict[int, str] = {}
    if read is None:
        return found
    try:
        with pdfplumber.open(path) as pdf:
            for number, page in enumerate(pdf.pages, 1):
                text = read(page)
                if text and text.strip():
                    found[number] = text.strip()
                page.close()
    except (PDFException, ValueError, KeyError, TypeError):
        return {}  # then all pages are read as prose
    return found


def _outline(document: Any, pages: Mapping[object, int]) -> dict[int, list[tuple[int, str]]]:
    """The entries that lead to each page, with their levels."""
    from pdfminer.pdfexceptions import PDFException

    found: dict[int, list[tuple[int, str]]] = {}
    try:
        for count, (level, title, target, action, _) in enumerate(document.get_outlines()):
            if count >= _MOST_ENTRIES:
                break
            number = _page_of(document, target, action, pages)
            words = " ".join(str(title).split())
            if number and words:
                found.setdefault(number, []).append((level, words))
    except (PDFException, ValueError, KeyError, TypeError, RecursionError):
        return found  # a damaged outline ends here
    return found


def _page_of(document: Any, target: Any, action: Any, pages: Mapping[object, int]) -> int:
    from pdfminer.pdfdocument import PDFDestinationNotFound
    from pdfminer.pdftypes import resolve1
    from pdfminer.psparser import PSLiteral

    place = resolve1(target)
    if place is None and (done := resolve1(action)):
        place = resolve1(done.get("D")) if isinstance(done, dict) else None
    try:
        if isinstance(place, PSLiteral):
            place = resolve1(document.get_dest(place.name))
        elif isinstance(place, (bytes, str)):
            place = resolve1(document.get_dest(place))
    except PDFDestinationNotFound:
        return 0
    if isinstance(place, dict):
        place = resolve1(place.get("D"))
    if not isinstance(place, list) or not place:
        return 0
    return pages.get(getattr(place[0], "objid", None), 0)


def _title(document: Any) -> str:
    from pdfminer.pdftypes import resolve1
    from pdfminer.utils import decode_text

    for info in document.info:
        said = resolve1(info.get("Title"))
        title = " ".join(decode_text(said).split()) if isinstance(said, bytes) else ""
        if title and not _WORKING_TITLE.search(title):
            return title
    return ""
