"""The shipped fake index keeps the same contract as the real ones."""

from __future__ import annotations

import pytest

from contracts.index_contract import BOOK, FINGERPRINT, IndexContract, OpenIndex, a_chunk, a_query, indexed, write
from quoth.domain import Fingerprint
from quoth.errors import IndexUnavailable
from quoth.ports import ChunkIndex
from quoth.testing.index import MemoryIndex, MemoryStorage


class TestMemoryIndex(IndexContract):
    @pytest.fixture
    def open_index(self) -> OpenIndex:
        storage = MemoryStorage()

        def open_(fingerprint: Fingerprint = FINGERPRINT) -> ChunkIndex:
            return MemoryIndex(fingerprint, storage)

        return open_


async def test_an_outage_can_be_played() -> None:
    index = MemoryIndex()
    await write(index, indexed(a_chunk("one")))
    index.outage = IndexUnavailable("The index is down.")
    with pytest.raises(IndexUnavailable):
        await index.view(BOOK).search(a_query())
    with pytest.raises(IndexUnavailable):
        await index.books()
    index.outage = None
    assert (await index.view(BOOK).search(a_query())).total_found == 1
