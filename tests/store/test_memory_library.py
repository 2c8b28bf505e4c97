"""The shipped fake keeps the promises of the real store."""

from __future__ import annotations

import pytest

from contracts.library_contract import NOW, LibraryContract
from quoth.ports import Library
from quoth.testing.library import MemoryLibrary


class TestMemoryLibrary(LibraryContract):
    @pytest.fixture
    def library(self) -> Library:
        return MemoryLibrary(now=lambda: NOW)
