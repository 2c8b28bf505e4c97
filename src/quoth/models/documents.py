"""PDF, EPUB and DOCX → Markdown, with Microsoft's markitdown and its libraries in a separate process
(`document_process`).

An extra (`pip install 'quoth[documents]'`), because most books are folders of text. The Markdown is a rendition: a
page's offsets point into it, not into the document. A document that takes too long or too much memory, or crashes its
converter, is one `Unreadable`, and the next one gets a new process. Blocking; the ingest reads in threads.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from threading import Timer

from quoth.domain import Rendition
from quoth.errors import Unreadable
from quoth.text.limits import MAX_DOCUMENT_BYTES, MAX_DOCUMENT_SECONDS

# A converter needs no keys and no database.
_VARIABLES = ("PATH", "HOME", "LANG", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "LD_LIBRARY_PATH", "VIRTUAL_ENV")


class MarkItDownDocuments:
    """Converts one document after another. The process starts with the first document."""

    def __init__(self, seconds: float = MAX_DOCUMENT_SECONDS, memory: int = MAX_DOCUMENT_BYTES) -> None:
        self._seconds = seconds
        self._memory = memory
        self._process: subprocess.Popen[str] | None = None

    def read(self, path: Path, source_file: str) -> Rendition:
        answer = self._ask(path)
        if "text" in answer:
            return Rendition(answer["text"], answer["title"])
        raise Unreadable(
            f"{source_file} cannot be converted ({answer['reason']}).",
            hint="Check that it opens in another program; protected or damaged documents cannot be read.",
            details={"source_file": source_file},
        )

    def close(self) -> None:
        """End the process, even if another thread is in the middle of a document."""
        process, self._process = self._process, None
        if process is not None:
            _end(process)

    def _ask(self, path: Path) -> dict[str, str]:
        process = self._running()
        late: list[bool] = []

        def stop() -> None:
            late.append(True)
            process.kill()

        timer = Timer(self._seconds, stop)
        timer.start()
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            with suppress(BrokenPipeError):  # it has died and will not answer
                process.stdin.write(os.fsencode(path).hex() + "\n")
                process.stdin.flush()
            line = process.stdout.readline()
        finally:
            timer.cancel()
        if line.endswith("\n"):
            answer: dict[str, str] = json.loads(line)
            return answer
        self.close()
        if late:
            return {"reason": f"it takes more than {self._seconds:g} seconds"}
        return {"reason": f"its converter ended with code {process.returncode}"}

    def _running(self) -> subprocess.Popen[str]:
        if self._process is not None and self._process.poll() is not None:
            self.close()
        if self._process is None:
            self._process = subprocess.Popen(
                # -P: do not import modules from the working directory, which may be a book's folder.
                [sys.executable, "-P", "-m", "quoth.models.document_process", str(self._memory)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                encoding="ascii",
                env={name: value for name, value in os.environ.items() if _is_needed(name)},
                start_new_session=True,  # Ctrl-C is for us; we end the process
            )
        return self._process


def _is_needed(name: str) -> bool:
    return name in _VARIABLES or name.startswith(("LC_", "PYTHON", "ORT_"))


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(BrokenPipeError):
                pipe.close()


def documents() -> MarkItDownDocuments | None:
    """The converter; None if the extra is not installed."""
    wanted = ("markitdown", "mammoth", "pdfminer")
    return MarkItDownDocuments() if all(find_spec(name) for name in wanted) else None
