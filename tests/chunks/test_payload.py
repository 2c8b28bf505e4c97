"""Chunk → payload → JSON → Chunk is the identity, and the hash sees every change that matters and no other."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.index_contract import a_chunk, chunk_id, indexed
from quoth.chunks.payload import (
    PAYLOAD_INDEXES,
    STORED_FIELDS,
    check_book_id,
    payload_hash,
    to_chunk,
    to_indexed,
    to_payload,
    to_stored,
)
from quoth.domain import Chunk, IndexedChunk, Insert, Labels, TermWeights
from quoth.errors import IndexUnavailable, WrongUsage

# The fields of a chunk that docs/contract.md promises.
S3_FIELDS = {
    "book_id",
    "module",
    "chapter",
    "lesson",
    "hardware_tier",
    "proficiency_level",
    "layer",
    "parent_doc_id",
    "content_hash",
    "source_file_hash",
    "text",
    "section_title",
    "source_file",
    "chunk_index",
    "total_chunks",
    "prev_chunk_id",
    "next_chunk_id",
    "word_count",
    "token_count",
    "version",
    "created_at",
    "updated_at",
}
S3_INDEXES = {
    "book_id": "keyword",
    "module": "keyword",
    "chapter": "integer",
    "lesson": "integer",
    "hardware_tier": "integer",
    "proficiency_level": "keyword",
    "layer": "keyword",
    "parent_doc_id": "keyword",
    "content_hash": "keyword",
    "source_file_hash": "keyword",
}

texts = st.text(max_size=30)
positions = st.integers(0, 2**40)
labels = st.lists(texts, max_size=4).map(tuple)
chunks = st.builds(
    Chunk,
    id=st.uuids().map(str),
    book_id=texts,
    text=st.text(max_size=200),
    start=positions,
    end=positions,
    line=positions,
    source_file=texts,
    source_file_hash=texts,
    title=texts,
    url=texts,
    heading_path=labels,
    breadcrumb=labels,
    content_hash=texts,
    parent_doc_id=st.uuids().map(str),
    chunk_index=positions,
    total_chunks=positions,
    prev_chunk_id=st.none() | st.uuids().map(str),
    next_chunk_id=st.none() | st.uuids().map(str),
    word_count=positions,
    token_count=positions,
    char_count=positions,
    lead=texts,
    shift=st.integers(-1000, 1000),
    line_shift=st.integers(-1000, 1000),
    inserts=st.lists(st.builds(Insert, *[positions] * 7), max_size=3).map(tuple),
    labels=st.builds(
        Labels,
        module=st.none() | texts,
        chapter=st.none() | positions,
        lesson=st.none() | positions,
        hardware_tier=st.integers(1, 4),
        proficiency_level=st.sampled_from(["A1", "A2", "B1", "B2", "C1", "C2"]),
        layer=st.sampled_from(["L1", "L2", "L3", "L4"]),
        language=st.none() | texts,
        version=st.none() | texts,
    ),
)
moments = st.datetimes(timezones=st.just(UTC))
points = st.builds(
    IndexedChunk,
    chunk=chunks,
    dense=st.just((1.0, 0.0)),
    sparse=st.just(TermWeights(ids=(3,), weights=(0.5,))),
    embed_hash=texts,
    created_at=moments,
    updated_at=moments,
    embedded_at=moments,
    version=st.integers(1, 9),
)


@given(points)
def test_a_point_survives_json_and_comes_back_equal(point: IndexedChunk) -> None:
    payload = json.loads(json.dumps(to_payload(point)))
    assert to_chunk(point.chunk.id, payload) == point.chunk
    assert to_chunk(point.chunk.id, payload).stamps == point.stamps
    assert to_indexed(point.chunk.id, payload, point.dense, point.sparse) == point
    stored = to_stored(point.chunk.id, {name: payload[name] for name in STORED_FIELDS})
    assert (stored.payload_hash, stored.embed_hash) == (payload_hash(point.chunk), point.embed_hash)
    assert (stored.id, stored.source_file, stored.created_at) == (
        point.chunk.id,
        point.chunk.source_file,
        point.created_at,
    )
    assert (stored.embedded_at, stored.version) == (point.embedded_at, point.version)


def test_a_payload_from_before_the_stamps_has_the_nearest_ones() -> None:
    payload = to_payload(indexed(a_chunk("one")))
    del payload["embedded_at"]
    stamps = to_chunk("one", payload).stamps
    assert stamps is not None
    assert stamps.embedded_at == stamps.created_at
    assert to_stored("one", payload).embedded_at == stamps.created_at


@given(chunks, chunks)
def test_the_hash_is_equal_exactly_when_the_chunk_is(one: Chunk, other: Chunk) -> None:
    assert payload_hash(one) == payload_hash(replace(one))
    for field in fields(Chunk):
        mixed = replace(one, **{field.name: getattr(other, field.name)})
        assert (payload_hash(mixed) == payload_hash(one)) == (mixed == one)


def test_the_hash_sees_neither_vectors_nor_timestamps() -> None:
    chunk = a_chunk("one")
    later = replace(indexed(chunk, (0.0, 1.0, 0.0, 0.0)), updated_at=datetime.now(UTC) + timedelta(days=1))
    assert to_payload(later)["payload_hash"] == to_payload(indexed(chunk))["payload_hash"]


def test_the_hash_is_the_same_on_every_machine() -> None:
    chunk = a_chunk("one", text="Größe", heading_path=("A", "B"))
    assert payload_hash(chunk) == "06749c0c698225093c53cfda52b95f1d35e7514b085d4d26cb880b501085b40c"


def test_the_payload_holds_every_field_of_s3_and_every_index() -> None:
    payload = to_payload(indexed(a_chunk("one", heading_path=("Part", "Section"))))
    assert set(payload) >= S3_FIELDS
    assert payload["section_title"] == "Section"
    assert {index.field: index.kind for index in PAYLOAD_INDEXES}.items() >= S3_INDEXES.items()
    assert {index.field for index in PAYLOAD_INDEXES} <= set(payload)
    assert [index.field for index in PAYLOAD_INDEXES if index.tenant] == ["book_id"]


def test_a_payload_with_a_field_missing_is_a_damaged_index_not_a_crash() -> None:
    payload = to_payload(indexed(a_chunk("one")))
    del payload["text"], payload["updated_at"], payload["created_at"]
    with pytest.raises(IndexUnavailable, match=r"'text'.*recreate"):
        to_chunk(chunk_id("one"), payload)
    with pytest.raises(IndexUnavailable, match="'created_at'"):
        to_stored(chunk_id("one"), payload)
    with pytest.raises(IndexUnavailable, match="'created_at'"):
        to_indexed(chunk_id("one"), {**payload, "text": ""}, (1.0,), TermWeights((), ()))


@pytest.mark.parametrize("book_id", ["a", "physical-ai-robotics", "rust_book.v2", "0", "x" * 64])
def test_good_book_ids_pass(book_id: str) -> None:
    check_book_id(book_id)


@pytest.mark.parametrize("book_id", ["", "A", "a b", "a/b", "..", ".a", "-a", "ä", "a\n", "x" * 65])
def test_bad_book_ids_are_wrong_usage_that_says_what_is_allowed(book_id: str) -> None:
    with pytest.raises(WrongUsage, match="a-z"):
        check_book_id(book_id)
