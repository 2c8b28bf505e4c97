"""What an index keeps besides the vectors: a Chunk as a dict of JSON values, and back.

Shared by the embedded index and the cluster, so both hold the same points. In: an IndexedChunk. Out: its payload (the
id is that of the point and is not repeated); from a payload, the same Chunk. The fields are those of `Chunk` and
`Labels`, by name; a new field needs no line here. Also here: which fields are worth an index, and what every index
refuses to take. Pure; knows no engine.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, fields
from datetime import datetime
from typing import Any, Literal

from quoth.domain import (
    Book,
    Chunk,
    Fingerprint,
    IndexedChunk,
    Insert,
    Labels,
    Stamps,
    StoredChunk,
    TermWeights,
    Vector,
)
from quoth.errors import IndexMismatch, IndexUnavailable, InternalError, WrongUsage
from quoth.text.offsets import end_in_file, start_in_file

# Part of the hash: a payload of another layout is rewritten by the next ingest.
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
    # beyond the specified ones
    PayloadIndex("url", "keyword", prefix=True),
    PayloadIndex("heading_path", "keyword"),
    PayloadIndex("embed_hash", "keyword"),
)

# Everything that an ingest reads of every chunk, and that putting a book in order takes.
STORED_FIELDS: tuple[str, ...] = (
    *("source_file", "payload_hash", "embed_hash", "created_at", "embedded_at", "version"),
)
ORDER_FIELDS: tuple[str, ...] = ("source_file", "chunk_index")


# A book id names a folder and a tenant, so it must be the same on every file system and need no quoting.
BOOK_ID = "[a-z0-9][a-z0-9._-]{0,63}"


def is_book_id(book_id: str) -> bool:
    return re.fullmatch(BOOK_ID, book_id) is not None


def check_book_id(book_id: str) -> None:
    if not is_book_id(book_id):
        raise WrongUsage(
            f"{book_id!r} cannot be the id of a book.",
            hint="Use 1 to 64 characters: a-z, 0-9, dot, hyphen, underscore; the first one a letter or a digit.",
        )


def is_chunk_id(text: str) -> bool:
    """An engine refuses a whole call for one id that is not a UUID; to us such an id is simply unknown."""
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False


def check_fingerprint(book_id: str, found: Fingerprint, wanted: Fingerprint) -> None:
    if found == wanted:
        return
    if (found.embedder, found.dimensions) != (wanted.embedder, wanted.dimensions):
        raise IndexMismatch(
            f"The book {book_id!r} was embedded with {found.embedder} ({found.dimensions} dimensions), "
            f"but the settings name {wanted.embedder} ({wanted.dimensions}).",
            hint="Set QUOTH_EMBEDDER and its model back, or embed the book again: `quoth ingest PATH --mode recreate`.",
        )
    raise IndexMismatch(
        f"The index of {book_id!r} was built with {found.as_dict()}, but this process uses {wanted.as_dict()}."
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
        "embedded_at": (indexed.embedded_at or indexed.created_at).isoformat(),
        "version": indexed.version,
    }


def to_record(chunk: Chunk) -> Payload:
    """A chunk with all its metadata and offsets, for `quoth export`."""
    return {"id": chunk.id, **_chunk_fields(chunk)}


def payload_hash(chunk: Chunk) -> str:
    """Over everything that follows from the book and the chunker alone. If it is equal, there is nothing to write."""
    return _hash(chunk.id, _chunk_fields(chunk))


def to_chunk(chunk_id: str, payload: Mapping[str, Any]) -> Chunk:
    try:
        values = {
            name: _FROM_JSON[name](payload[key]) if name in _FROM_JSON else payload[key] for name, key in _CHUNK_FIELDS
        }
        labels = Labels(**{name: payload[key] for name, key in _LABEL_FIELDS})
        return Chunk(id=chunk_id, labels=labels, stamps=_stamps(payload), **values)
    except KeyError as missing:
        raise _incomplete(chunk_id, missing) from missing


def _stamps(payload: Mapping[str, Any]) -> Stamps | None:
    """None if the payload does not come from an index. Indexes older than a stamp have the one that comes nearest."""
    if "created_at" not in payload:
        return None
    read, created = datetime.fromisoformat, payload["created_at"]
    return Stamps(
        created_at=read(created),
        updated_at=read(payload.get("updated_at", created)),
        embedded_at=read(payload.get("embedded_at", created)),
        version=payload.get("version", 1),
    )


def to_stored(chunk_id: str, payload: Mapping[str, Any]) -> StoredChunk:
    """From STORED_FIELDS or more."""
    try:
        return StoredChunk(
            id=chunk_id,
            source_file=payload["source_file"],
            payload_hash=payload["payload_hash"],
            embed_hash=payload["embed_hash"],
            created_at=datetime.fromisoformat(payload["created_at"]),
            embedded_at=datetime.fromisoformat(payload.get("embedded_at", payload["created_at"])),
            version=payload.get("version", 1),
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
            embedded_at=datetime.fromisoformat(payload.get("embedded_at", payload["created_at"])),
            version=payload.get("version", 1),
        )
    except KeyError as missing:
        raise _incomplete(chunk_id, missing) from missing


def to_book_record(book: Book | None) -> dict[str, str] | None:
    """What travels with a publication. Where the book came from stays on the machine that read it."""
    return None if book is None else {name: value for name, value in asdict(book).items() if name != "source"}


def of_book_record(record: Mapping[str, str] | None) -> Book | None:
    """Fields of another version of Quoth are ignored."""
    known = {field.name for field in fields(Book)}
    return None if record is None else Book(**{name: value for name, value in record.items() if name in known})


# --- the one map of a chunk's fields ----------------------------------------------------------------------------------


# `start` and `end` of a payload are offsets in the file, and its `version` counts how often the chunk was written. (In
# hashes and exports, which do not depend on any writing, it is the version of the layout.)
_APART = ("id", "labels", "stamps")
_KEYS = {"start": "shown_start", "end": "shown_end", "version": "doc_version"}
_CHUNK_FIELDS = tuple((f.name, _KEYS.get(f.name, f.name)) for f in fields(Chunk) if f.name not in _APART)
_LABEL_FIELDS = tuple((f.name, _KEYS.get(f.name, f.name)) for f in fields(Labels))
_TO_JSON: Mapping[str, Callable[[Any], JsonValue]] = {
    "heading_path": list,
    "breadcrumb": list,
    "inserts": lambda inserts: [list(astuple(insert)) for insert in inserts],
}
_FROM_JSON: Mapping[str, Callable[[Any], Any]] = {
    "heading_path": tuple,
    "breadcrumb": tuple,
    "inserts": lambda inserts: tuple(Insert(*insert) for insert in inserts),
}


def _chunk_fields(chunk: Chunk) -> Payload:
    return {
        **{
            key: _TO_JSON[name](getattr(chunk, name)) if name in _TO_JSON else getattr(chunk, name)
            for name, key in _CHUNK_FIELDS
        },
        **{key: getattr(chunk.labels, name) for name, key in _LABEL_FIELDS},
        "version": PAYLOAD_VERSION,
        "section_title": chunk.section_title,
        "start": start_in_file(chunk, chunk.start),
        "end": end_in_file(chunk, chunk.end),
        "included": chunk.included,
    }


def _hash(chunk_id: str, fields: Payload) -> str:
    canonical = json.dumps([chunk_id, fields], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def _incomplete(chunk_id: str, missing: KeyError) -> IndexUnavailable:
    return IndexUnavailable(
        f"Chunk {chunk_id} in the index has no field {missing}: the index is damaged or of another version.",
        hint="Build it again: `quoth ingest PATH --mode recreate`.",
    )
