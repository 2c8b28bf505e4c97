"""A book as JSON Lines and back: what `quoth export` writes and `quoth import` reads.

Out: one line for each chunk, with its metadata, its offsets and the facts about its book and page. In: such lines, all
checked before anything changes. An import writes the same chunks with the same ids, embedded unless the lines or the
index have their vectors, and the page records, so the next ingest of the same files has nothing to do. Ids depend on
the book's id, so an import never renames a book. Lines are read twice instead of being held in memory.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
from array import array
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, BinaryIO

from quoth.chunks.payload import check_book_id, is_chunk_id, payload_hash, to_chunk, to_record
from quoth.chunks.plan import WantedChunk, plan_page
from quoth.chunks.split import embedding_text
from quoth.domain import Book, Chunk, PageRecord, StoredChunk, Vector
from quoth.domain.versions import CHUNKER_VERSION
from quoth.errors import IndexMismatch, QuothError, TextTooLong, UnknownBook, Unreadable
from quoth.index import status_of
from quoth.ingest import embed_hash, indexed
from quoth.ports import ChunkIndex, Clock, Embedder, IndexWriter, Library, TellSteps

if TYPE_CHECKING:
    from pydantic import TypeAdapter

BATCH = 64  # chunks that are embedded and written together; progress is reported after each batch
LARGEST = 2**53  # the largest whole number that every reader of JSON understands

Record = dict[str, Any]
# What a line holds besides its chunk. `vector` and `embedder` only with `--vectors`.
BOOK, DIGEST, CHUNKER, VECTOR, EMBEDDER = "book", "page_digest", "chunker", "vector", "embedder"


# --- out --------------------------------------------------------------------------------------------------------------


def line_of(chunk: Chunk, book: Book, page: PageRecord | None, vector: Vector | None = None, embedder: str = "") -> str:
    """The book's folder is left out: it means nothing on another machine."""
    record: Record = {
        **to_record(chunk),
        BOOK: {"title": book.title, "base_url": book.base_url, "toolchain": book.toolchain},
        DIGEST: page.digest if page else None,
        CHUNKER: CHUNKER_VERSION,
    }
    if vector is not None:
        record |= {EMBEDDER: embedder, VECTOR: b64encode(array("f", vector).tobytes()).decode("ascii")}
    return json.dumps(record, ensure_ascii=False)


# --- in ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Imported:
    book_id: str
    title: str
    pages: int
    chunks: int  # in the file
    written: int  # new or different in the index
    dropped: int  # in the index, but not in the file
    embedded: int  # written chunks whose vector neither file nor index had


@dataclass(slots=True)
class Contents:
    """The contents of a whole file, without the texts."""

    book: Book
    ids: set[str] = field(default_factory=set)
    pages: dict[str, Record] = field(default_factory=dict)  # by source file: the line of its first chunk
    chunk_ids: dict[str, list[str]] = field(default_factory=dict)  # by source file, in order


def read_contents(file: BinaryIO) -> Contents:
    """Check every line. `Unreadable` names the first wrong one and why."""
    contents: Contents | None = None
    for number, record in records_of(file):
        chunk = chunk_of(record, number)
        book = _book_of(record, number)
        contents = contents or Contents(book)
        if book != contents.book:
            raise _wrong(number, f"it belongs to another book than the lines before it: {book.book_id}")
        if chunk.id in contents.ids:
            raise _wrong(number, f"the chunk {chunk.id} appears twice")
        contents.ids.add(chunk.id)
        ids = contents.chunk_ids.setdefault(chunk.source_file, [])
        if chunk.chunk_index != len(ids):
            raise _wrong(number, f"chunk {len(ids)} of {chunk.source_file} is missing")
        ids.append(chunk.id)
        first = contents.pages.setdefault(chunk.source_file, _page_fields(record))
        if _page_fields(record) != first:
            raise _wrong(number, f"it contradicts earlier lines about {chunk.source_file}")
    if contents is None:
        raise Unreadable("The file has no chunks.", hint="Give a file that `quoth export` wrote.")
    for source_file, ids in contents.chunk_ids.items():
        if (wanted := contents.pages[source_file]["total_chunks"]) != len(ids):
            raise Unreadable(
                f"{source_file} has {len(ids)} of {wanted} chunks: the file is incomplete.", hint="Export it again."
            )
    return contents


def records_of(file: BinaryIO) -> Iterator[tuple[int, Record]]:
    file.seek(0)
    for number, line in enumerate(file, start=1):
        try:
            record = json.loads(line.decode("utf-8"))
            if b"\\ud" in line:  # the escape may be half of a surrogate pair, which cannot be stored
                json.dumps(record, ensure_ascii=False).encode()
        except UnicodeError:
            raise _wrong(number, "it is not UTF-8, or has half of a surrogate pair") from None
        except (ValueError, RecursionError):
            raise _wrong(number, "it is not JSON") from None
        if not isinstance(record, dict):
            raise _wrong(number, "it is not an object")
        yield number, record


def chunk_of(record: Record, number: int) -> Chunk:
    """The chunk in a line. Every field must be as an export writes it."""
    known = {"id", *_fields(), BOOK, DIGEST, CHUNKER}
    given = record.keys() - {VECTOR, EMBEDDER}
    if given != known:
        strange = sorted(known - given) or sorted(given - known)
        raise _wrong(number, f"{'it lacks the' if known - given else 'it has an unknown'} field `{strange[0]}`")
    if record[CHUNKER] != CHUNKER_VERSION:
        raise IndexMismatch(
            f"Its chunks come from version {record[CHUNKER]!r} of the splitter; this Quoth has {CHUNKER_VERSION!r}.",
            hint="Ingest the book from its files.",
        )
    chunk = _typed(record, number)
    for name, value in to_record(chunk).items():
        if record[name] != value:
            raise _wrong(number, f"`{name}` contradicts the other fields")
        if isinstance(value, int) and abs(value) > LARGEST:
            raise _wrong(number, f"`{name}` is too large")
    if hashlib.sha256(chunk.text.encode()).hexdigest() != chunk.content_hash:
        raise _wrong(number, "`text` does not match `content_hash`")
    if chunk.end - chunk.start != len(chunk.text):
        raise _wrong(number, "`text` is not as long as `start` and `end` say")
    if not is_chunk_id(chunk.id):
        raise _wrong(number, "`id` is not a UUID")
    return chunk


def _typed(record: Record, number: int) -> Chunk:
    from pydantic import ValidationError

    try:
        chunk = to_chunk(record["id"], record)
        return _adapter().validate_json(json.dumps(asdict(chunk)), strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"] if part != "labels")  # a record does not nest those
        raise _wrong(number, f"`{place}`: {first['msg']}") from None
    except (QuothError, TypeError, ValueError) as error:
        raise _wrong(number, str(error)) from None


@cache
def _adapter() -> TypeAdapter[Chunk]:
    from pydantic import TypeAdapter

    return TypeAdapter(Chunk)


@cache
def _fields() -> frozenset[str]:
    """The fields that an export has for every chunk."""
    return frozenset(to_record(Chunk(id="", book_id="", text=""))) - {"id"}


def _book_of(record: Record, number: int) -> Book:
    told, digest = record[BOOK], record[DIGEST]
    names = ("title", "base_url", "toolchain")
    if not isinstance(told, dict) or set(told) != set(names) or not all(isinstance(told[name], str) for name in names):
        raise _wrong(number, f"`{BOOK}` must hold {', '.join(names)}, each a text")
    if digest is not None and not isinstance(digest, str):
        raise _wrong(number, f"`{DIGEST}` must be a text or null")
    try:
        check_book_id(record["book_id"])
    except QuothError as error:
        raise _wrong(number, str(error)) from None
    return Book(book_id=record["book_id"], **told)


def _page_fields(record: Record) -> Record:
    """The fields that all chunks of a page have in common."""
    names = ("parent_doc_id", "source_file_hash", "title", "total_chunks", "module", "chapter", "lesson", DIGEST)
    return {name: record[name] for name in names} | {"url": record["url"].partition("#")[0]}


def _vector_of(record: Record, number: int, embedder: Embedder) -> Vector | None:
    """The vector in the line, if this embedder made it."""
    if record.get(EMBEDDER) != embedder.name or VECTOR not in record:
        return None
    try:
        vector = array("f", b64decode(record[VECTOR], validate=True))
    except (TypeError, ValueError):
        raise _wrong(number, f"`{VECTOR}` is not base64 of 32-bit numbers") from None
    if len(vector) != embedder.dimensions or not 0.99 < sum(value * value for value in vector) < 1.01:
        raise _wrong(number, f"`{VECTOR}` is not a vector of {embedder.dimensions} numbers and length 1")
    return tuple(vector)


def _wrong(number: int, why: str) -> Unreadable:
    return Unreadable(
        f"Line {number} is not a chunk of an export: {why}.",
        hint="Nothing was changed. Give a file that `quoth export` wrote.",
        details={"line": number},
    )


class Importer:
    def __init__(self, index: ChunkIndex, library: Library, embedder: Embedder, clock: Clock) -> None:
        self._index = index
        self._library = library
        self._embedder = embedder
        self._clock = clock

    async def run(self, file: BinaryIO, *, tell: TellSteps = lambda done, total: None) -> Imported:
        """Replace the book with the one in the file. Index first, library second, as in an ingest."""
        contents = await asyncio.to_thread(read_contents, file)
        book = contents.book
        before = await status_of(self._index, book.book_id)
        rebuilt = before is not None and before.fingerprint != self._index.fingerprint
        written = embedded = 0
        async with self._index.writer(book.book_id, recreate=rebuilt) as writer:
            stored = await writer.stored()
            records, done = records_of(file), 0
            while batch := await asyncio.to_thread(_next, records, self._embedder):
                made, put = await self._put(batch, stored, writer)
                written, embedded, done = written + put, embedded + made, done + len(batch)
                tell(done, len(contents.ids))
            gone = sorted(stored.keys() - contents.ids)
            await writer.drop(gone)
            await writer.publish(book)
            await self._tell_library(contents)
        return Imported(
            book_id=book.book_id,
            title=book.title,
            pages=len(contents.pages),
            chunks=len(contents.ids),
            written=written,
            dropped=len(gone),
            embedded=embedded,
        )

    async def _put(
        self, batch: Sequence[tuple[WantedChunk, Vector | None]], stored: Mapping[str, StoredChunk], writer: IndexWriter
    ) -> tuple[int, int]:
        """How many were embedded and how many were written."""
        put = set(plan_page([item for item, _ in batch], stored, ()).put)
        new = [(item, vector) for item, vector in batch if item.chunk.id in put]
        if not new:
            return 0, 0
        vectors = {item.embed_hash: vector for item, vector in new if vector is not None}
        vectors |= await writer.vectors({item.embed_hash for item, _ in new} - vectors.keys())
        texts = {item.embed_hash: embedding_text(item.chunk) for item, _ in new if item.embed_hash not in vectors}
        vectors.update(zip(texts, await self._embed(list(texts.values())), strict=True))
        now = self._clock.now()
        await writer.put([indexed(item, vectors[item.embed_hash], stored.get(item.chunk.id), now) for item, _ in new])
        return len(texts), len(new)

    async def _embed(self, texts: Sequence[str]) -> list[Vector]:
        try:
            return await self._embedder.embed_passages(texts)
        except TextTooLong as error:
            raise Unreadable(
                f"The file has a chunk that is too long for {self._embedder.name}.",
                hint="Ingest the book from its files.",
            ) from error

    async def _tell_library(self, contents: Contents) -> None:
        """Unchanged records stay as they are, with their date and the folder they came from."""
        book_id = contents.book.book_id
        known = await self._library.page_records(book_id)
        now = self._clock.now()
        wanted = [_page_record(contents, source_file, now) for source_file in contents.pages]
        new = [record for record in wanted if record.digest and not _same(known.get(record.source_file), record)]
        await self._library.put_page_records(new)
        # A page without text has a record but no line; it stays.
        held = {record.source_file for record in known.values() if record.chunk_ids}
        await self._library.drop_page_records(book_id, sorted(held - {one.source_file for one in wanted if one.digest}))
        try:
            source = (await self._library.book(book_id)).source
        except UnknownBook:
            source = ""
        await self._library.put_book(replace(contents.book, source=source))


def _next(records: Iterator[tuple[int, Record]], embedder: Embedder) -> list[tuple[WantedChunk, Vector | None]]:
    batch = []
    for number, record in itertools.islice(records, BATCH):
        chunk = chunk_of(record, number)
        wanted = WantedChunk(chunk, payload_hash(chunk), embed_hash(chunk))
        batch.append((wanted, _vector_of(record, number, embedder)))
    return batch


def _page_record(contents: Contents, source_file: str, now: datetime) -> PageRecord:
    page = contents.pages[source_file]
    return PageRecord(
        book_id=contents.book.book_id,
        source_file=source_file,
        digest=page[DIGEST] or "",
        file_hash=page["source_file_hash"],
        chunk_ids=tuple(contents.chunk_ids[source_file]),
        ingested_at=now,
        title=page["title"],
        url=page["url"],
        module=page["module"],
        chapter=page["chapter"],
        lesson=page["lesson"],
    )


def _same(known: PageRecord | None, wanted: PageRecord) -> bool:
    return known is not None and replace(known, ingested_at=wanted.ingested_at) == wanted
