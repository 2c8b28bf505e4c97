"""The collections that hold all books on a Qdrant server: how the first writer makes them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from contracts.index_contract import FINGERPRINT, OpenIndex, a_chunk, indexed, write
from qdrant_wire import Wire, qdrant_wire
from quoth.errors import BadConfiguration
from quoth.index.qdrant import QdrantIndex
from quoth.index.qdrant_server import QdrantOptions
from quoth.providers import qdrant_options
from quoth.settings import load_settings

pytestmark = pytest.mark.slow


@pytest.fixture
def wire() -> Iterator[Wire]:
    with qdrant_wire() as wire:
        yield wire


@pytest.fixture
async def open_index(wire: Wire) -> AsyncIterator[OpenIndex]:
    opened: list[QdrantIndex] = []

    def open_(**options: Any) -> QdrantIndex:
        opened.append(QdrantIndex(QdrantOptions(**{"urls": (wire.url,), **options}), FINGERPRINT))
        return opened[-1]

    yield open_
    for index in opened:
        await index.close()


async def test_the_first_write_makes_both_collections_and_all_payload_indexes(
    open_index: OpenIndex, wire: Wire
) -> None:
    await write(open_index(collection="docs", replicas=3, shards=2), indexed(a_chunk("one")))
    [made] = wire.calls("PUT", "/collections/docs")
    assert made.body == {
        "vectors": {"dense-4": {"size": 4, "distance": "Cosine"}},
        "sparse_vectors": {"terms": {}},
        "hnsw_config": {"m": 0, "payload_m": 16},
        "shard_number": 2,
        "replication_factor": 3,
        "write_consistency_factor": 2,
    }
    [ledger] = wire.calls("PUT", "/collections/docs-books")
    assert ledger.body == {
        "vectors": {},
        "shard_number": 1,
        "replication_factor": 3,
        "write_consistency_factor": 2,
    }
    keyword, integer = {"type": "keyword"}, {"type": "integer", "lookup": True, "range": True}
    assert {
        call.body["field_name"]: call.body["field_schema"] for call in wire.calls("PUT", "/collections/docs/index")
    } == {
        "book_id": {**keyword, "is_tenant": True},
        "url": {**keyword, "prefix": True},
        **dict.fromkeys(("chapter", "lesson", "hardware_tier", "born", "gone"), integer),
        **dict.fromkeys(
            (
                "module",
                "proficiency_level",
                "layer",
                "parent_doc_id",
                "content_hash",
                "source_file_hash",
                "heading_path",
                "embed_hash",
                "source_file",
                "chunk_id",
            ),
            keyword,
        ),
    }
    assert {call.query["wait"] for call in wire.calls("PUT", "/collections/docs/index")} == {"true"}
    named = {call.body["field_name"] for call in wire.calls("PUT", "/collections/docs-books/index")}
    assert named == {"kind", "book_id", "holder", "generation", "expires"}


async def test_a_large_one_compares_bytes_in_memory_and_leaves_the_vectors_on_disk(wire: Wire, tmp_path: Path) -> None:
    environment = {"QDRANT_URL": wire.url, "QUOTH_QDRANT_INT8": "1", "QUOTH_QDRANT_ON_DISK": "1"}
    options = qdrant_options(load_settings(environ=environment, directory=tmp_path))
    index = QdrantIndex(options, FINGERPRINT)
    await write(index, indexed(a_chunk("one")))
    await index.close()
    [made] = wire.calls("PUT", "/collections/quoth")
    assert made.body["quantization_config"] == {"scalar": {"type": "int8", "always_ram": True}}
    assert made.body["vectors"]["dense-4"] == {"size": 4, "distance": "Cosine", "on_disk": True}


async def test_what_a_kill_left_out_of_a_new_collection_is_made_by_the_next_writer(
    open_index: OpenIndex, wire: Wire
) -> None:
    await write(open_index(), indexed(a_chunk("one")))
    wire.asked.clear()
    del wire.copy.indexes["quoth"]["url"]
    await write(open_index(), indexed(a_chunk("two")))
    [made] = wire.calls("PUT", "/collections/quoth/index")
    assert made.body["field_name"] == "url"


async def test_a_collection_of_somebody_else_is_not_written_to(open_index: OpenIndex, wire: Wire) -> None:
    wire.copy.answer("PUT", "quoth", "", {"vectors": {}})
    with pytest.raises(BadConfiguration, match="not made by Quoth"):
        await write(open_index(), indexed(a_chunk("one")))
