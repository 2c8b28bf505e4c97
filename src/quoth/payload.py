"""What stands beside the vectors in an index: a Chunk as S3's QdrantPayload, and back.

Pure, and shared by the embedded index and the cluster, so that both hold the same points. In comes an IndexedChunk,
out goes a dict of JSON values (the id is that of the point, so it is not repeated); in comes such a dict, out goes
the same Chunk. This module must not know an engine: which fields are worth an index is a table here, how one is
made is the adapter's business.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from quoth.domain import Chunk, IndexedChunk, StoredChunk, TermWeights, Vector
from quoth.errors import IndexUnavailable, WrongUsage

# S3's `version`. Part of the hash: a payload of another layout is rewritten by the next ingest.
PAYLOAD_VERSION = 1

JsonValue = str | int | None | list[str]
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
            start=payload["start"] + payload["shift"],
            end=payload["end"] + payload["shift"],
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
            included=payload["included"],
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
        "start": chunk.start - chunk.shift,  # in the file; where includes have added nothing, that is the slice
        "end": chunk.end - chunk.shift,
        "shift": chunk.shift,
        "included": chunk.included,
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
