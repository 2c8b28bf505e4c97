"""The embedded index keeps the contract."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from contracts.index_contract import FINGERPRINT, IndexContract, OpenIndex
from quoth.adapters.edge import EdgeIndex
from quoth.domain import Fingerprint


@pytest.fixture
def data_dir(tmp_path: Path) -> Iterator[Path]:
    """In memory where the system has such a place: the engine syncs every file, which is not what is tested here."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory, prefix="quoth-test-") as folder:
        yield Path(folder)


class TestEdgeIndex(IndexContract):
    @pytest.fixture
    async def open_index(self, data_dir: Path) -> AsyncIterator[OpenIndex]:
        opened: list[EdgeIndex] = []

        def open_(fingerprint: Fingerprint = FINGERPRINT) -> EdgeIndex:
            opened.append(EdgeIndex(data_dir, fingerprint))
            return opened[-1]

        yield open_
        await asyncio.gather(*(index.close() for index in opened))
