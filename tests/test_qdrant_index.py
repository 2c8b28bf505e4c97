"""The index on a server keeps the contract: over the wire with qdrant-client's local engine behind it, and on a real
server where QUOTH_TEST_QDRANT_URL names one."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from contracts.index_contract import (
    FINGERPRINT,
    IndexContract,
    OpenIndex,
)
from qdrant_wire import Wire, qdrant_wire
from quoth.adapters.qdrant import QdrantIndex
from quoth.adapters.qdrant_server import QdrantOptions
from quoth.domain import Fingerprint

SERVER = os.environ.get("QUOTH_TEST_QDRANT_URL")


@pytest.fixture
def wire() -> Iterator[Wire]:
    with qdrant_wire() as wire:
        yield wire


# A place is a server and a collection of its own on it. A real server is not skipped when there is none: it is simply
# not among the places.
@pytest.fixture(params=["wire", *(["server"] if SERVER else [])])
def place(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    if request.param == "wire":
        yield {"url": request.getfixturevalue("wire").url}
        return
    name = f"quoth-test-{uuid.uuid4()}"
    yield {"url": SERVER, "api_key": os.environ.get("QUOTH_TEST_QDRANT_API_KEY"), "collection": name}
    remove(name)


def remove(name: str) -> None:
    from qdrant_client import QdrantClient

    client = QdrantClient(SERVER, api_key=os.environ.get("QUOTH_TEST_QDRANT_API_KEY"))
    client.delete_collection(name)
    client.delete_collection(f"{name}-books")
    client.close()


@pytest.fixture
async def open_index(place: dict[str, Any]) -> AsyncIterator[OpenIndex]:
    opened: list[QdrantIndex] = []

    def open_(fingerprint: Fingerprint = FINGERPRINT, **options: Any) -> QdrantIndex:
        wall = options.pop("wall", None)
        given = QdrantOptions(**{**place, "backoff": 0.0, **options})
        opened.append(QdrantIndex(given, fingerprint, **({"wall": wall} if wall else {})))
        return opened[-1]

    yield open_
    await asyncio.gather(*(index.close() for index in opened))


class TestQdrantIndex(IndexContract):
    """`open_index` is the fixture above."""
