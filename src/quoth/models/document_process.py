"""The process that converts documents, one after another: `python -P -m quoth.models.document_process`.

In, from standard input: the path of a document in hex, one per line. Out: a line of JSON with its Markdown and title,
or with the reason why there is none. Documents come from strangers and converters from third parties, so they run in
their own process with a memory limit; `documents` starts it, watches the time, and starts another when it has died.
"""

from __future__ import annotations

import json
import os
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from quoth.models.runtime import forbid_telemetry
from quoth.text.limits import MAX_DOCUMENT_UNPACKED, MAX_PAGE_CHARACTERS

if TYPE_CHECKING:
    from markitdown import MarkItDown


def serve(memory: int) -> None:
    """Convert the documents that standard input names, until it ends."""
    _limit_memory(memory)
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # output of a library is not an answer
    forbid_telemetry()  # markitdown loads onnxruntime
    converter = _converter()
    for line in sys.stdin:
        try:
            answer = _converted(converter, Path(os.fsdecode(bytes.fromhex(line))))
        except MemoryError:
            answers.write(json.dumps({"reason": _too_large(memory)}) + "\n")
            answers.flush()
            return  # the next document gets a fresh process with all the memory
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _limit_memory(memory: int) -> None:
    try:
        import resource
    except ImportError:  # Windows: the limits on time and unpacked size remain
        return
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def _too_large(memory: int) -> str:
    return f"it needs more than {memory / 1e9:g} GB of memory"


def _converted(converter: MarkItDown, path: Path) -> dict[str, str]:
    faults = _faults()
    try:
        if reason := _refused(path):
            return {"reason": reason}
        text, title = _rendition(converter, path)
    except faults as error:
        return {"reason": str(error).strip().rpartition("with message: ")[2] or type(error).__name__}
    if len(text) > MAX_PAGE_CHARACTERS:
        return {"reason": f"it has more than {MAX_PAGE_CHARACTERS:,} characters"}
    return {"text": text, "title": title}


def _faults() -> tuple[type[Exception], ...]:
    """What the libraries below raise for a damaged document."""
    from defusedxml import DefusedXmlException
    from markitdown import MarkItDownException
    from pdfminer.pdfexceptions import PDFException
    from pdfminer.psexceptions import PSException

    converters = (MarkItDownException, PDFException, PSException, DefusedXmlException, zipfile.BadZipFile)
    return (*converters, OSError, RecursionError, SyntaxError, LookupError, StopIteration, TypeError, ValueError)


def _rendition(converter: MarkItDown, path: Path) -> tuple[str, str]:
    ending = path.suffix.lower()
    if ending == ".pdf":
        from quoth.models.document_pdf import pdf_markdown

        return pdf_markdown(path)
    from quoth.models.document_archives import docx_title, epub_markdown

    if ending == ".epub":
        return epub_markdown(path)
    return str(converter.convert_local(path).markdown), docx_title(path)


def _refused(path: Path) -> str:
    """DOCX and EPUB files are archives: 400 kB can unpack to gigabytes."""
    if not zipfile.is_zipfile(path):
        return ""
    with zipfile.ZipFile(path) as archive:
        size = sum(member.file_size for member in archive.infolist())
    return f"it unpacks to {size / 1e6:,.0f} MB" if size > MAX_DOCUMENT_UNPACKED else ""


def _converter() -> MarkItDown:
    """For DOCX only: the plain text converter would accept a damaged document as text."""
    from markitdown import MarkItDown
    from markitdown.converters import DocxConverter

    converter = MarkItDown(enable_builtins=False, enable_plugins=False)
    converter.register_converter(DocxConverter())
    return converter


if __name__ == "__main__":
    serve(int(sys.argv[1]))
