from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doors import Doors, opened
from quoth.ask.calibration import shipped
from quoth.bootstrap import fingerprint_of
from quoth.domain import Vector
from quoth.errors import (
    IndexMismatch,
    IndexUnavailable,
    LibraryUnavailable,
    ModelFilesUnavailable,
    ModelUnavailable,
    QuothError,
)
from quoth.serve import health
from quoth.serve.shapes import HealthResponse
from quoth.testing.embedder import FakeEmbedder
from quoth.testing.index import MemoryIndex
from quoth.testing.library import MemoryLibrary
from quoth.testing.model import ScriptedModel
from samples import TickingClock


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

    async def asked(self, call: str, book_id: str) -> None:
        if call == "count" and book_id in self._odd:
            raise IndexMismatch(f"The index of {book_id} was built otherwise.")
        await super().asked(call, book_id)


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


class SteppedClock(TickingClock):
    """Seconds pass only when a test says so."""

    seconds = 100.0

    def monotonic(self) -> float:
        return self.seconds


class Frail:
    """A part of every kind that works, fails or hangs as it is told, and counts how often it is used."""

    def __init__(self) -> None:
        self.state = "well"
        self.asked = 0

    async def used(self, error: QuothError) -> None:
        self.asked += 1
        if self.state == "down":
            raise error
        if self.state == "hung":
            await asyncio.Event().wait()


class FrailIndex(MemoryIndex):
    def __init__(self, frail: Frail) -> None:
        super().__init__(fingerprint_of(FakeEmbedder()))
        self.frail = frail

    async def asked(self, call: str, book_id: str) -> None:
        if call == "count":
            await self.frail.used(IndexUnavailable("broken"))
        await super().asked(call, book_id)


class FrailLibrary(MemoryLibrary):
    def __init__(self, frail: Frail) -> None:
        super().__init__()
        self.frail = frail

    async def ping(self) -> None:
        await self.frail.used(LibraryUnavailable("broken"))


class FrailEmbedder(FakeEmbedder):
    def __init__(self, frail: Frail) -> None:
        super().__init__()
        self.frail = frail

    async def embed_query(self, text: str) -> Vector:
        await self.frail.used(ModelFilesUnavailable("broken"))
        return await super().embed_query(text)


class FrailModel(ScriptedModel):
    def __init__(self, frail: Frail) -> None:
        super().__init__([["ready"]])
        self.frail = frail

    async def fault(self) -> ModelUnavailable | None:
        try:
            await self.frail.used(ModelUnavailable("broken"))
        except ModelUnavailable as error:
            return error
        return None


PARTS: dict[str, Callable[[Frail], Any]] = {
    "index": FrailIndex,
    "database": FrailLibrary,
    "embedder": FrailEmbedder,
    "model": FrailModel,
}
NAMES = {"database": "library"}


@pytest.mark.parametrize("failure", ["down", "hung"])
@pytest.mark.parametrize("part", PARTS)
async def test_a_part_that_breaks_and_is_mended_is_seen_within_two_seconds(
    tmp_path: Path, part: str, failure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The longest way to the truth: somebody has just asked, and then the part does not answer at all.
    assert health.HOLDS + health.PATIENCE < 2
    monkeypatch.setattr(health, "PATIENCE", 0.05)
    frail, clock = Frail(), SteppedClock()
    async with opened(tmp_path, clock=clock, **{NAMES.get(part, part): PARTS[part](frail)}) as doors:
        clock.seconds += health.HOLDS
        assert (await health_of(doors))[part] == "healthy"
        frail.state = failure
        clock.seconds += health.HOLDS
        broken = await health_of(doors)
        bad = "degraded" if part == "model" else "unavailable"
        assert (broken[part], broken[""]) == (bad, bad)
        assert {status for name, status in broken.items() if name not in ("", part)} == {"healthy"}
        ready = await doors.client.get("/readyz")
        assert ready.status_code == (200 if bad == "degraded" else 503)
        frail.state = "well"
        clock.seconds += health.HOLDS
        assert (await health_of(doors))[""] == "healthy"
        assert (await doors.client.get("/readyz")).status_code == 200


async def test_however_many_ask_a_part_is_used_once_in_a_while(tmp_path: Path) -> None:
    frail, clock = Frail(), SteppedClock()
    async with opened(tmp_path, clock=clock, library=FrailLibrary(frail)) as doors:
        paths = ("/health", "/readyz", "/metrics") * 20
        await asyncio.gather(*(doors.client.get(path) for path in paths))
        assert frail.asked == 1
        clock.seconds += health.HOLDS / 2
        await doors.client.get("/health")
        assert frail.asked == 1
        clock.seconds += health.HOLDS
        await doors.client.get("/health")
        assert frail.asked == 2


async def test_one_who_leaves_does_not_stop_the_check_for_the_others(tmp_path: Path) -> None:
    frail, clock = Frail(), SteppedClock()
    async with opened(tmp_path, clock=clock, library=FrailLibrary(frail)) as doors:
        checks = doors.app.state.checks
        leaving, staying = asyncio.create_task(checks.states()), asyncio.create_task(checks.states())
        await asyncio.sleep(0)
        leaving.cancel()
        assert (await staying)["database"]["status"] == "healthy"


async def test_parts_are_checked_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "PATIENCE", 0.2)
    frail = Frail()
    async with opened(tmp_path, library=FrailLibrary(frail), embedder=FrailEmbedder(frail)) as doors:
        frail.state = "hung"
        response = await doors.client.get("/health")
        told = response.json()["services"]
        assert [told[name]["status"] for name in ("database", "embedder")] == ["unavailable", "unavailable"]
        assert response.json()["services"]["index"]["status"] == "healthy"


# --- what is said beside S0's shape -----------------------------------------------------------------------------------


async def answering(doors: Doors) -> dict[str, str | None]:
    told: dict[str, str | None] = (await doors.client.get("/health")).json()["answering"]
    return told


async def test_it_says_that_the_book_answers_itself_and_that_nobody_fitted_this_embedder(tmp_path: Path) -> None:
    async with opened(tmp_path) as doors:
        assert await answering(doors) == {
            "mode": "extractive",
            "model": None,
            "embedder": FakeEmbedder().name,
            "calibration": "unfitted",
        }
        assert "model" not in (await doors.client.get("/health")).json()["services"]


async def test_it_says_which_model_writes_and_that_the_confidence_is_fitted(tmp_path: Path) -> None:
    async with opened(
        tmp_path, model=ScriptedModel([["ready"]]), embedder=FakeEmbedder(name=next(iter(shipped())))
    ) as doors:
        told = await answering(doors)
        assert (told["mode"], told["model"], told["calibration"]) == ("full", "scripted", "fitted")


async def test_the_shape_is_that_of_s0_and_no_more_than_documented(tmp_path: Path) -> None:
    async with opened(tmp_path) as doors:
        body = (await doors.client.get("/health")).json()
        assert {"status", "timestamp", "services", "version"} <= set(body)
        assert all(set(service) == {"name", "status", "latency_ms", "error"} for service in body["services"].values())
        HealthResponse.model_validate(body)


class HungLibrary(MemoryLibrary):
    async def ping(self) -> None:
        await asyncio.Event().wait()


async def test_a_part_that_hangs_counts_as_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "PATIENCE", 0.01)
    async with opened(tmp_path, library=HungLibrary()) as doors:
        assert (await health_of(doors))["database"] == "unavailable"
