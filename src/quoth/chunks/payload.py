"""What stands beside the vectors in an index: a Chunk as S3's QdrantPayload, and back.

Pure, and shared by the embedded index and the cluster, so that both hold the same points. In comes an IndexedChunk,
out goes a dict of JSON values (the id is that of the point, so it is not repeated); in comes such a dict, out goes
the same Chunk. This module must not know an engine: which fields are worth an index is a table here and which
conditions a filter means is a list of plain values; how an engine says either is the adapter's business. What every
index refuses to take, in the same words, stands here too.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from datetime import datetime
from typing import Any, Literal

from quoth.domain import Chunk, Filters, Fingerprint, IndexedChunk, Insert, StoredChunk, TermWeights, Vector
from quoth.errors import IndexMismatch, IndexUnavailable, InternalError, WrongUsage
from quoth.text.offsets import end_in_file, start_in_file

# S3's `version`. Part of the hash: a payload of another layout is rewritten by the next ingest.
PAYLOAD_VERSION = 1

JsonValue = str | int | None | list[str] | list[list[int]]
Payload = dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class PayloadIndex:
    """A field that queries filter on. `tenant` keeps a book's points together, `prefix` allows starts-with."""

    field: str
    kind: Literal["keyword", "integer"]
    tenant: bool = False
    prefix: bool = False


PAYLOAD_INDEXES: tuple[PayloadIndex, ...] = (
    PayloadIndex("book_id", "keyword", tenant=True),
    PayloadIndex("module", "keyword"),
    PayloadIndex("chapter", "integer"),
    PayloadIndex("lesson", "integer"),
    PayloadIndex("hardware_tier", "integer"),
    PayloadIndex("proficiency_level", "keyword"),
    PayloadIndex("layer", "keyword"),
    PayloadIndex("parent_doc_id", "keyword"),
    PayloadIndex("content_hash", "keyword"),
    PayloadIndex("source_file_hash", "keyword"),
    # ours, over S3's
    PayloadIndex("url", "keyword", prefix=True),
    PayloadIndex("heading_path", "keyword"),
    PayloadIndex("embed_hash", "keyword"),
)

# All that an ingest reads of every chunk, and all that ordering a book takes.
STORED_FIELDS: tuple[str, ...] = ("source_file", "payload_hash", "embed_hash", "created_at")
ORDER_FIELDS: tuple[str, ...] = ("source_file", "chunk_index")


@dataclass(frozen=True, slots=True)
class Condition:
    """What must hold of one field: it equals, is one of, begins with, or lies between (both ends included)."""

    field: str
    equals: str | int | None = None
    any_of: tuple[str, ...] = ()
    prefix: str | None = None
    least: int | None = None
    most: int | None = None


def conditions(filters: Filters) -> Iterator[Condition]:
    """All of them must hold. None at all for filters that let everything pass."""
    if filters.source_url_prefix:
        yield Condition("url", prefix=filters.source_url_prefix)
    if filters.section is not None:
        yield Condition("heading_path", equals=filters.section)
    if filters.module is not None:
        yield Condition("module", equals=filters.module)
    if filters.chapter_min is not None or filters.chapter_max is not None:
        yield Condition("chapter", least=filters.chapter_min, most=filters.chapter_max)
    if filters.lesson is not None:
        yield Condition("lesson", equals=filters.lesson)
    if filters.hardware_tier is not None:
        yield Condition("hardware_tier", most=filters.hardware_tier)
    if filters.proficiency_levels:
        yield Condition("proficiency_level", any_of=filters.proficiency_levels)
    if filters.layer is not None:
        yield Condition("layer", equals=filters.layer)
    if filters.parent_doc_id is not None:
        yield Condition("parent_doc_id", equals=filters.parent_doc_id)


def holds(wanted: Condition, payload: Mapping[str, Any]) -> bool:
    """Of a payload at hand; a list holds what one of its values does."""
    found = payload[wanted.field]
    return any(_meets(wanted, value) for value in (found if isinstance(found, list) else [found]))


def _meets(wanted: Condition, value: Any) -> bool:
    if value is None:
        return False
    if wanted.prefix is not None:
        return str(value).startswith(wanted.prefix)
    if wanted.any_of or wanted.equals is not None:
        return value in (wanted.any_of or (wanted.equals,))
    return (wanted.least is None or value >= wanted.least) and (wanted.most is None or value <= wanted.most)


def passes(chunk: Chunk, filters: Filters) -> bool:
    """What the index does with filters, for a chunk that is at hand already."""
    return all(_each(chunk, filters))


def _each(chunk: Chunk, filters: Filters) -> Iterator[bool]:
    if filters.source_url_prefix is not None:
        yield chunk.url.startswith(filters.source_url_prefix)
    if filters.section is not None:
        yield filters.section in chunk.heading_path
    if filters.module is not None:
        yield chunk.module == filters.module
    if filters.chapter_min is not None:
        yield chunk.chapter is not None and chunk.chapter >= filters.chapter_min
    if filters.chapter_max is not None:
        yield chunk.chapter is not None and chunk.chapter <= filters.chapter_max
    if filters.lesson is not None:
        yield chunk.lesson == filters.lesson
    if filters.hardware_tier is not None:
        yield chunk.hardware_tier <= filters.hardware_tier
    if filters.proficiency_levels:
        yield chunk.proficiency_level in filters.proficiency_levels
    if filters.layer is not None:
        yield chunk.layer == filters.layer
    if filters.parent_doc_id is not None:
        yield chunk.parent_doc_id == filters.parent_doc_id


# A book id names a folder and a tenant, so it is the same thing on every file system and needs no quoting.
_BOOK_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


def is_book_id(book_id: str) -> bool:
    return _BOOK_ID.fullmatch(book_id) is not None


def check_book_id(book_id: str) -> None:
    if not is_book_id(book_id):
        raise WrongUsage(
            f"{book_id!r} cannot be the id of a book.",
            hint="Use 1 to 64 of a-z, 0-9, dot, hyphen and underscore, and begin with a letter or a digit.",
        )


def is_chunk_id(text: str) -> bool:
    """An engine refuses a whole call for one id that is no UUID; to us that is simply an unknown id."""
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False


def check_fingerprint(book_id: str, found: Fingerprint, wanted: Fingerprint) -> None:
    if found != wanted:
        raise IndexMismatch(
            f"The index of {book_id!r} was built with {found.as_dict()}, "
            f"but this process works with {wanted.as_dict()}."
        )


def check_dimensions(fingerprint: Fingerprint, vectors: Iterable[Vector]) -> None:
    for vector in vectors:
        if len(vector) != fingerprint.dimensions:
            raise InternalError(f"A vector has {len(vector)} dimensions; the index has {fingerprint.dimensions}.")


def check_put(book_id: str, fingerprint: Fingerprint, chunks: Sequence[IndexedChunk]) -> None:
    check_dimensions(fingerprint, [indexed.dense for indexed in chunks])
    for indexed in chunks:
        if indexed.chunk.book_id != book_id:
            raise InternalError(f"A chunk of {indexed.chunk.book_id!r} was put into the book {book_id!r}.")


def to_payload(indexed: IndexedChunk) -> Payload:
    fields = _chunk_fields(indexed.chunk)
    return {
        **fields,
        "payload_hash": _hash(indexed.chunk.id, fields),
        "embed_hash": indexed.embed_hash,
        "created_at": indexed.created_at.isoformat(),
        "updated_at": indexed.updated_at.isoformat(),
    }


def to_record(chunk: Chunk) -> Payload:
    """A chunk with all its metadata and offsets, for `quoth export`."""
    return {"id": chunk.id, **_chunk_fields(chunk)}


def payload_hash(chunk: Chunk) -> str:
    """Over all that follows from the book and the chunker alone. Equal means that there is nothing to write."""
    return _hash(chunk.id, _chunk_fields(chunk))


def to_chunk(chunk_id: str, payload: Mapping[str, Any]) -> Chunk:
    try:
        return Chunk(
            id=chunk_id,
            book_id=payload["book_id"],
            text=payload["text"],
            start=payload["shown_start"],
            end=payload["shown_end"],
            line=payload["line"],
            source_file=payload["source_file"],
            source_file_hash=payload["source_file_hash"],
            title=payload["title"],
            url=payload["url"],
            heading_path=tuple(payload["heading_path"]),
            breadcrumb=tuple(payload["breadcrumb"]),
            content_hash=payload["content_hash"],
            parent_doc_id=payload["parent_doc_id"],
            chunk_index=payload["chunk_index"],
            total_chunks=payload["total_chunks"],
            prev_chunk_id=payload["prev_chunk_id"],
            next_chunk_id=payload["next_chunk_id"],
            word_count=payload["word_count"],
            token_count=payload["token_count"],
            char_count=payload["char_count"],
            markup=payload["markup"],
            lead=payload["lead"],
            shift=payload["shift"],
            line_shift=payload["line_shift"],
            inserts=tuple(Insert(*insert) for insert in payload["inserts"]),
            module=payload["module"],
            chapter=payload["chapter"],
            lesson=payload["lesson"],
            hardware_tier=payload["hardware_tier"],
            proficiency_level=payload["proficiency_level"],
            layer=payload["layer"],
            language=payload["language"],
            version=payload["doc_version"],
        )
    except KeyError as missing:
        raise _incomplete(chunk_id, missing) from missing


def to_stored(chunk_id: str, payload: Mapping[str, Any]) -> StoredChunk:
    """From STORED_FIELDS or more."""
    try:
        return StoredChunk(
            id=chunk_id,
            source_file=payload["source_file"],
            payload_hash=payload["payload_hash"],
            embed_hash=payload["embed_hash"],
            created_at=datetime.fromisoformat(payload["created_at"]),
        )
    except KeyError as missing:
        raise _incomplete(chunk_id, missing) from missing


def to_indexed(chunk_id: str, payload: Mapping[str, Any], dense: Vector, sparse: TermWeights) -> IndexedChunk:
    chunk = to_chunk(chunk_id, payload)
    try:
        return IndexedChunk(
            chunk=chunk,
            dense=dense,
            sparse=sparse,
            embed_hash=payload["embed_hash"],
            created_at=datetime.fromisoformat(payload["created_at"]),
            updated_at=datetime.fromisoformat(payload["updated_at"]),
        )
    except KeyError as missing:
        raise _incomplete(chunk_id, missing) from missing


def _chunk_fields(chunk: Chunk) -> Payload:
    return {
        "version": PAYLOAD_VERSION,
        "book_id": chunk.book_id,
        "module": chunk.module,
        "chapter": chunk.chapter,
        "lesson": chunk.lesson,
        "hardware_tier": chunk.hardware_tier,
        "proficiency_level": chunk.proficiency_level,
        "layer": chunk.layer,
        "parent_doc_id": chunk.parent_doc_id,
        "content_hash": chunk.content_hash,
        "source_file_hash": chunk.source_file_hash,
        "text": chunk.text,
        "section_title": chunk.section_title,
        "source_file": chunk.source_file,
        "chunk_index": chunk.chunk_index,
        "total_chunks": chunk.total_chunks,
        "prev_chunk_id": chunk.prev_chunk_id,
        "next_chunk_id": chunk.next_chunk_id,
        "word_count": chunk.word_count,
        "token_count": chunk.token_count,
        "char_count": chunk.char_count,
        # ours, over S3's
        "start": start_in_file(chunk, chunk.start),  # in the file: the slice, unless text is included
        "end": end_in_file(chunk, chunk.end),
        "included": chunk.included,
        "shown_start": chunk.start,  # in the text with its includes: always the slice
        "shown_end": chunk.end,
        "shift": chunk.shift,
        "line_shift": chunk.line_shift,
        "inserts": [list(astuple(insert)) for insert in chunk.inserts],
        "line": chunk.line,
        "title": chunk.title,
        "url": chunk.url,
        "heading_path": list(chunk.heading_path),
        "breadcrumb": list(chunk.breadcrumb),
        "markup": chunk.markup,
        "lead": chunk.lead,
        "language": chunk.language,
        "doc_version": chunk.version,
    }


def _hash(chunk_id: str, fields: Payload) -> str:
    canonical = json.dumps([chunk_id, fields], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def _incomplete(chunk_id: str, missing: KeyError) -> IndexUnavailable:
    return IndexUnavailable(
        f"Chunk {chunk_id} in the index has no field {missing}: the index is damaged or of another version.",
        hint="Build it again: `quoth ingest PATH --mode recreate`.",
    )
