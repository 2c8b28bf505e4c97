"""Questions to begin with: those that the headings and the glossary of a book suggest and the book itself answers.

Each costs a search, so they are found once for each published state of a book, told as they are found, and kept in a
small file beside its index: a server that is started again knows them at once. In: a book. Out: questions, and whether
these are all. The file is a memory and nothing more: without it, or when it is damaged, they are looked for again.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from pathlib import Path

from quoth.ask.request import SearchRequest
from quoth.bootstrap import Quoth
from quoth.chunks.payload import is_book_id
from quoth.domain import Book
from quoth.domain.versions import __version__
from quoth.index import status_of
from quoth.serve.book_text import pages_of
from quoth.serve.outline import PAGES_LOOKED_AT, questions, spread

NAME = "questions.json"
_MOST = 6
_PATIENCE = 1.0  # seconds that a request waits for further questions


class Proposals:
    """Of one published state of a book."""

    def __init__(self, quoth: Quoth, book: Book) -> None:
        self._answered: list[str] = []  # grows
        self._grown = asyncio.Event()
        self._search = asyncio.create_task(self._find(quoth, book))

    @property
    def failed(self) -> bool:
        return self._search.done() and (self._search.cancelled() or self._search.exception() is not None)

    async def more(self, known: int | None) -> tuple[list[str], bool]:
        """What there is, and whether these are all: at once when there are more than the `known` ones, else after a
        short wait. None waits for all of them, as long."""
        if known is None or len(self._answered) <= known:
            grown = asyncio.create_task(self._grown.wait())
            waited = {self._search} if known is None else {self._search, grown}
            await asyncio.wait(waited, timeout=_PATIENCE, return_when=asyncio.FIRST_COMPLETED)
            grown.cancel()
        complete = self._search.done()
        if complete:
            self._search.result()  # raises what went wrong
        return list(self._answered), complete

    async def _find(self, quoth: Quoth, book: Book) -> None:
        view = quoth.index.view(book.book_id)
        records = spread(await pages_of(quoth.library, book.book_id), PAGES_LOOKED_AT)
        candidates = questions([await view.chunks(record.chunk_ids) for record in records])
        memory = _Memory(quoth.settings.data_dir, book.book_id, await _state(quoth, book, candidates))
        kept = await asyncio.to_thread(memory.read)
        for question in dict.fromkeys([*spread(candidates, _MOST), *candidates]) if kept is None else kept:
            if len(self._answered) < _MOST and (kept is not None or await _is_answered(quoth, book, question)):
                self._answered.append(question)
                self._grown.set()
                self._grown = asyncio.Event()
        if kept is None:
            await asyncio.to_thread(memory.write, self._answered)


async def _is_answered(quoth: Quoth, book: Book, question: str) -> bool:
    """A question that the book itself proposes must not be refused."""
    query = SearchRequest.model_validate({"query": question}).to_search(book=book, similarity_threshold=0.0)
    _, verdict = await quoth.conversations.search(query)
    return verdict.should_answer and verdict.level != "low"


async def _state(quoth: Quoth, book: Book, candidates: list[str]) -> str:
    """What the answers depend on, in short: another Quoth, another index or other texts answer other questions."""
    status = await status_of(quoth.index, book.book_id)
    built = None if status is None else [status.generation, status.fingerprint.as_dict()]
    return hashlib.sha256(json.dumps([__version__, built, candidates]).encode()).hexdigest()


class _Memory:
    def __init__(self, data_dir: Path, book_id: str, state: str) -> None:
        self._folder = data_dir / "index" / book_id if is_book_id(book_id) else None
        self._state = state

    def read(self) -> list[str] | None:
        if self._folder is None:
            return None
        try:
            found = json.loads((self._folder / NAME).read_text("utf-8"))
            kept = [str(question) for question in found["questions"]]
            return kept if found["state"] == self._state else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, answered: list[str]) -> None:
        """Only where the book has a folder; on a Qdrant server it has none."""
        if self._folder is None or not self._folder.is_dir():
            return
        new = self._folder / f"{NAME}.{os.getpid()}.new"
        document = {"state": self._state, "questions": answered}
        try:
            new.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", "utf-8")
            new.replace(self._folder / NAME)
        except OSError:
            new.unlink(missing_ok=True)  # a full or read-only disk: they are looked for again next time
