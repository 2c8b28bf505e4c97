"""Files that are not Markdown, reStructuredText or text: they are converted when a page is read.

HTML and notebooks are converted here, PDF, EPUB and DOCX by the converter that is passed in (`Documents`), if there is
one. The text of such a page is the converted text, and offsets are offsets into it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from quoth.domain import AnchorRule, Markup, Rendition
from quoth.sources.html import decode_html, page_from_html
from quoth.sources.notebooks import notebook_text

ASCIIDOC = frozenset((".adoc", ".asciidoc", ".asc"))
QUARTO = frozenset((".qmd", ".rmd"))
HTML = frozenset((".html", ".htm", ".xhtml"))
NOTEBOOKS = frozenset((".ipynb",))
DOCUMENTS = frozenset((".pdf", ".epub", ".docx"))
CONVERTED = HTML | NOTEBOOKS | DOCUMENTS
_PLACES: dict[str, AnchorRule] = {".pdf": "pdf", ".epub": "html"}  # what a citation of a document can open
INSTALL = "install it with `pip install 'quoth[documents]'`"


class Documents(Protocol):
    """Turns documents into Markdown."""

    def read(self, path: Path, source_file: str) -> Rendition:
        """Raises `Unreadable`, with the file and the reason, when the document cannot be converted."""

    def close(self) -> None:
        """Stop any work in progress, in any thread."""


@dataclass(frozen=True, slots=True)
class Converted:
    text: str
    anchors: AnchorRule
    title: str = ""
    language: str | None = None


def is_converted(path: Path) -> bool:
    return path.suffix.lower() in CONVERTED


def is_document(path: Path) -> bool:
    return path.suffix.lower() in DOCUMENTS


_REFRESH = re.compile(rb"<meta\b[^>]*http-equiv\s*=\s*[\"']?refresh", re.I)
# Tags of Jinja, Liquid and Go templates. Inside code, a page only explains them.
_TEMPLATE = re.compile(
    rb"<(?P<end>/?)(?:pre|code)\b"
    rb"|(?P<filled>\{%-?\s*(?:extends|block|include|for|if|set)\b"
    rb"|\{\{-?\s*(?:define|block|template|partial|content|page\.|site\.|\.))",
    re.I,
)
_STUB = 2_000  # bytes; a page that only redirects is not longer than this


def no_page(path: Path, data: bytes) -> str:
    """Why an HTML file is not a page for readers; empty if it is one."""
    if path.suffix.lower() not in HTML:
        return ""
    if _REFRESH.search(data[:_STUB]) and len(data) <= _STUB:
        return "it only redirects to another page"
    return "a template for pages" if _is_template(data[:100_000]) else ""


def _is_template(data: bytes) -> bool:
    depth = 0  # of nested code elements
    for mark in _TEMPLATE.finditer(data):
        if not mark["filled"]:
            depth = max(0, depth - 1) if mark["end"] else depth + 1
        elif not depth:
            return True
    return False


def convert(
    path: Path, data: bytes, source_file: str, url: str, markup: Markup, documents: Documents | None
) -> Converted:
    ending = path.suffix.lower()
    if ending in HTML:
        page = page_from_html(decode_html(data), url)
        return Converted(page.text, "html", page.title, page.language)
    if ending in NOTEBOOKS:
        return Converted(notebook_text(data, source_file), "sphinx" if markup == "myst" else "jupyter")
    made = documents.read(path, source_file) if documents else Rendition("")
    return Converted(made.text, _PLACES.get(ending, "none"), made.title)
