"""PDF, EPUB and DOCX → Markdown, with Microsoft's markitdown: the only module that knows it.

An extra (`pip install 'quoth[documents]'`), because most books are folders of text. The Markdown is a rendition:
offsets of such a page point into it, not into the document. Blocking; the ingest reads in threads.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from quoth.errors import Unreadable
from quoth.models.runtime import forbid_telemetry

if TYPE_CHECKING:
    from markitdown import MarkItDown


class MarkItDownDocuments:
    """Converts one document after another. The library is loaded for the first."""

    def __init__(self) -> None:
        self._converter: MarkItDown | None = None

    def text(self, path: Path, source_file: str) -> str:
        forbid_telemetry()  # markitdown loads onnxruntime
        from markitdown import MarkItDownException

        if self._converter is None:
            self._converter = _converter()
        try:
            return str(self._converter.convert_local(path).markdown)
        except (MarkItDownException, OSError) as error:
            reason = str(error).strip().rpartition("with message: ")[2] or type(error).__name__
            raise Unreadable(
                f"{source_file} cannot be converted ({reason}).",
                hint="Check that it opens elsewhere; a protected or damaged document cannot be read.",
                details={"source_file": source_file},
            ) from error


def _converter() -> MarkItDown:
    """With these three converters and no other: the one for plain text would accept a damaged document as text."""
    from markitdown import MarkItDown
    from markitdown.converters import DocxConverter, EpubConverter, PdfConverter

    converter = MarkItDown(enable_builtins=False, enable_plugins=False)
    for known in (DocxConverter(), EpubConverter(), PdfConverter()):
        converter.register_converter(known)
    return converter


def documents() -> MarkItDownDocuments | None:
    """The converter; None where the extra is not installed."""
    wanted = ("markitdown", "mammoth", "pdfminer")
    return MarkItDownDocuments() if all(find_spec(name) for name in wanted) else None
