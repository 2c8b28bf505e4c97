from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from doors import Doors, opened
from quoth.api import health
from quoth.api.schemas import HealthResponse
from quoth.bootstrap import fingerprint_of
from quoth.domain import Filters, Vector
from quoth.errors import IndexMismatch, IndexUnavailable, LibraryUnavailable, ModelFilesUnavailable
from quoth.testing.embedder import FakeEmbedder
from quoth.testing.index import MemoryIndex
from quoth.testing.library import MemoryLibrary


async def health_of(doors: Doors) -> dict[str, str]:
    response = await doors.client.get("/health")
    assert response.status_code == 200
    body = HealthResponse.model_validate(response.json())
    return {"": body.status, **{name: service.status for name, service in body.services.items()}}


async def test_all_is_well(tmp_path: Path) -> None:
    async with opened(tmp_path) as doors:
        assert await health_of(doors) == {
            "": "healthy",
            "index": "healthy",
            "database": "healthy",
            "embedder": "healthy",
        }
        assert (await doors.client.get("/readyz")).json() == {"status": "ready"}
        assert (await doors.client.get("/healthz")).json() == {"status": "alive"}


class SickIndex(MemoryIndex):
    def __init__(self) -> None:
        super().__init__(fingerprint_of(FakeEmbedder()))
        self.sick = False

    async def books(self) -> list[str]:
        if self.sick:
            raise IndexUnavailable("The index cannot be read.")
        return await super().books()


async def test_health_follows_a_part_that_fails_and_recovers(tmp_path: Path) -> None:
    index = SickIndex()
    async with opened(tmp_path, index=index) as doors:
        index.sick = True
        sick = await health_of(doors)
        assert (sick[""], sick["index"], sick["database"]) == ("unavailable", "unavailable", "healthy")
        unready = await doors.client.get("/readyz")
        assert (unready.status_code, unready.json()["error_code"]) == (503, "SERVICE_UNAVAILABLE")
        assert unready.json()["details"]["services"]["index"]["error"] == "The index cannot be read."
        assert unready.headers["retry-after"] == "5"
        index.sick = False
        assert (await health_of(doors))[""] == "healthy"
        assert (await doors.client.get("/readyz")).status_code == 200


class SickLibrary(MemoryLibrary):
    async def ping(self) -> None:
        raise LibraryUnavailable("The database does not answer.")


class SickEmbedder(FakeEmbedder):
    async def embed_query(self, text: str) -> Vector:
        raise ModelFilesUnavailable("model.safetensors is damaged.")


async def test_each_part_is_told_apart_and_the_server_starts_all_the_same(tmp_path: Path) -> None:
    async with opened(tmp_path, library=SickLibrary(), embedder=SickEmbedder()) as doors:
        state = await health_of(doors)
        assert (state["index"], state["database"], state["embedder"]) == ("healthy", "unavailable", "unavailable")
        assert (await doors.client.get("/healthz")).status_code == 200


class OddIndex(MemoryIndex):
    """Some of its books were built otherwise."""

    def __init__(self, *odd: str) -> None:
        super().__init__(fingerprint_of(FakeEmbedder()))
        self._odd = odd

    async def count(self, book_id: str, filters: Filters = Filters()) -> int:
        if book_id in self._odd:
            raise IndexMismatch(f"The index of {book_id} was built otherwise.")
        return await super().count(book_id, filters)


@pytest.mark.parametrize(
    ("odd", "status", "ready"),
    [((), "healthy", 200), (("book",), "degraded", 200), (("book", "book-2"), "unavailable", 503)],
)
async def test_an_index_is_degraded_while_some_books_can_be_asked_and_unavailable_when_none_can(
    tmp_path: Path, odd: tuple[str, ...], status: str, ready: int
) -> None:
    async with opened(tmp_path, index=OddIndex(*odd), books=2) as doors:
        state = await health_of(doors)
        assert (state[""], state["index"]) == (status, status)
        assert (await doors.client.get("/readyz")).status_code == ready


class HungLibrary(MemoryLibrary):
    async def ping(self) -> None:
        await asyncio.Event().wait()


async def test_a_part_that_hangs_counts_as_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "PATIENCE", 0.01)
    async with opened(tmp_path, library=HungLibrary()) as doors:
        assert (await health_of(doors))["database"] == "unavailable"
