"""Questions of our own about the technical books of ../shared/data/books, as evaluation sets and as training material.

training/asked/BOOK.jsonl has one question a line: our wording, whether the book answers it, and the place of the words
that answer it (or of those that only seem to) as characters of a file of the book. The books are not ours: they are
unpacked from the data folder; `words` is a checksum of that place, so that another edition of a book is noticed.
A set is named `asked_BOOK`; `near_BOOK` has the questions that the book does not answer, over the same chunks.
"""

from __future__ import annotations

import json
import tarfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from zlib import crc32

import corpora
import shelf
from quoth.chunks.split import split
from quoth.domain import Chunk
from quoth.ports import TokenCounter
from quoth.sources import open_source

QUESTIONS = Path(__file__).parent.parent / "training" / "asked"
UNPACKED = Path(__file__).parent.parent / ".training" / "books"
# Never in the reader's training (`training.books.LEFT_OUT`), so the judge may be fitted and measured on them.
HELD_OUT = ("mkdocs_starlette", "vitepress_vite")
# Pages that repeat the book in other words, or are no part of it.
_APART = ("release-notes", "changelog", "/blog/")


@dataclass(frozen=True, slots=True)
class BookQuestion:
    text: str
    asks: str
    answerable: bool
    page: str
    quote: str  # the words that answer; of an unanswerable question, those that tempt


def asked_books() -> list[str]:
    return sorted(path.stem for path in QUESTIONS.glob("*.jsonl"))


def unpacked(book: str, data: Path) -> Path:
    """The folder of a book of the data folder, or of one that another project publishes (shelf.py)."""
    if book in shelf.shelf():
        return shelf.unpacked(book)
    folder = UNPACKED / book
    if not folder.exists():
        part = folder.with_suffix(".part")
        with tarfile.open(data / "books" / f"{book}.tar.gz") as archive:
            archive.extractall(part, filter="data")
        part.rename(folder)
    return folder


def questions_of(book: str, data: Path) -> list[BookQuestion]:
    folder = unpacked(book, data)
    found = []
    for line in (QUESTIONS / f"{book}.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        start, end = row["at"]
        quote = (folder / row["page"]).read_bytes().decode("utf-8")[start:end]
        if crc32(quote.encode()) != row["words"]:
            raise SystemExit(f"{book}: {row['page']} is another edition than the one asked about.")
        found.append(BookQuestion(row["question"], row["asks"], row["answerable"], row["page"], quote))
    return found


_SPLIT: dict[str, tuple[Chunk, ...]] = {}


def chunks_of(book: str, data: Path, tokens: TokenCounter) -> tuple[Chunk, ...]:
    """The whole book as an ingest would split it; a book is split once."""
    if book not in _SPLIT:
        _SPLIT[book] = tuple(_split(book, data, tokens))
    return _SPLIT[book]


def _split(book: str, data: Path, tokens: TokenCounter) -> list[Chunk]:
    source = open_source(_root(unpacked(book, data)), book_id="set")
    chunks: list[Chunk] = []
    for file in source.files():
        if not any(part in f"/{file.source_file}" for part in _APART):
            chunks += split(source.read(file), tokens)
    source.close()
    return chunks


def _root(folder: Path) -> Path:
    """The only folder in an archive is the book itself."""
    inside = [one for one in folder.iterdir() if not one.name.startswith(".")]
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else folder


def right_chunks(question: BookQuestion, chunks: tuple[Chunk, ...]) -> dict[str, tuple[int, int]]:
    """The chunks that hold the words, and where in their text. Chunks keep the page's own characters."""
    found = {}
    for chunk in chunks:
        if not question.page.endswith(chunk.source_file):
            continue
        at = chunk.text.find(question.quote)
        if at >= 0:
            found[chunk.id] = (at, at + len(question.quote))
    return found


# --- as evaluation sets ----------------------------------------------------------------------------------------------


def loaded(book: str, data: Path, tokens: TokenCounter, *, answerable: bool) -> corpora.Loaded:
    """The whole book, and the questions that it answers or does not. Of an unanswerable one no passage is right; its
    group is the page that tempts."""
    chunks = chunks_of(book, data, tokens)
    known = {chunk.id: chunk for chunk in chunks}
    asked = []
    for question in questions_of(book, data):
        right = right_chunks(question, chunks)
        if question.answerable is not answerable or not right:
            continue
        spans = tuple((known[key].start + a, known[key].start + b) for key, (a, b) in right.items())
        group = known[next(iter(right))].source_file
        asked.append(corpora.Asked(question.text, frozenset(right if answerable else ()), group, spans))
    return list(chunks), asked


def register() -> list[str]:
    """Makes the sets known to `corpora.load_sets`; the names of the books."""
    for book in asked_books():
        corpora.LOADERS[f"asked_{book}"] = partial(loaded, book, answerable=True)
        corpora.LOADERS[f"near_{book}"] = partial(loaded, book, answerable=False)
    return asked_books()
