from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doors import Doors, a_key, opened
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
from quoth.testing.embedder import FakeEmbedder
from quoth.testing.index import MemoryIndex
from quoth.testing.library import MemoryLibrary
from quoth.testing.model import ScriptedModel
from samples import TickingClock


async def health_of(doors: Doors) -> dict[str, str]:
    response = await doors.client.get("/health")
    assert response.status_code == 200
    body = response.json()
    return {"": body["status"], **{name: service["status"] for name, service in body["services"].items()}}


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
        told = unready.json()["details"]["services"]["index"]["error"]
        assert told.startswith("The index is not available right now.")
        assert unready.headers["retry-after"] == "5"
        index.sick = False
        assert (await health_of(doors))[""] == "healthy"
        assert (await doors.client.get("/readyz")).status_code == 200


class PoorerIndex(MemoryIndex):
    """It answers, but part of it is lost."""

    async def fault(self) -> IndexUnavailable:
        return IndexUnavailable("A copy is missing.", hint="Bring it back.", inside="10.1.2.3:6333 refuses")


async def test_a_cluster_that_has_lost_a_part_is_degraded_and_only_operators_and_the_log_learn_which(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(tmp_path, index=PoorerIndex(fingerprint_of(FakeEmbedder()))) as doors:
        body = (await doors.client.get("/health")).json()
        assert (await doors.client.get("/readyz")).status_code == 200
        operator, reader = await a_key(doors, "admin"), await a_key(doors, "ask")
        for headers in (reader, {"Authorization": "Bearer nobody's"}):
            told_others = (await doors.client.get("/health", headers=headers)).json()
            assert told_others["services"]["index"]["error"] == body["services"]["index"]["error"]
        whole = (await doors.client.get("/health", headers=operator)).json()
    assert whole["services"]["index"]["error"] == "A copy is missing. Bring it back. [10.1.2.3:6333 refuses]"
    assert whole["services"]["database"]["error"] is None
    told = body["services"]["index"]
    assert (body["status"], told["status"], told["error"]) == (
        "degraded",
        "degraded",
        "A copy is missing. Bring it back.",
    )
    assert "10.1.2.3:6333" in caplog.text


async def test_health_mentions_redis_and_says_when_each_process_counts_alone(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"redis://127.0.0.1:{closed.getsockname()[1]}/0"
        async with opened(tmp_path, settings={"redis_url": url, "rate_limit": 100}) as doors:
            state = await health_of(doors)
            assert (state["redis"], state[""]) == ("degraded", "degraded")
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
    """Some of its books have another fingerprint."""

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
    """A part of every kind that works, fails or hangs as told, and counts how often it is used."""

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
    # The slowest case: a caller has just asked, and then the part does not answer at all.
    assert health.HOLDS + health.CHECK_TIMEOUT < 2
    monkeypatch.setattr(health, "CHECK_TIMEOUT", 0.5)
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
    monkeypatch.setattr(health, "CHECK_TIMEOUT", 0.5)
    frail = Frail()
    async with opened(tmp_path, library=FrailLibrary(frail), embedder=FrailEmbedder(frail)) as doors:
        frail.state = "hung"
        response = await doors.client.get("/health")
        told = response.json()["services"]
        assert [told[name]["status"] for name in ("database", "embedder")] == ["unavailable", "unavailable"]
        assert response.json()["services"]["index"]["status"] == "healthy"


# --- while it starts, and on a full disk ------------------------------------------------------------------------------


async def test_a_server_that_is_loading_its_model_is_starting_and_not_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "CHECK_TIMEOUT", 0.5)
    frail, clock = Frail(), SteppedClock()
    frail.state = "hung"
    async with opened(tmp_path, books=0, clock=clock, embedder=FrailEmbedder(frail)) as doors:
        body = (await doors.client.get("/health")).json()
        assert (body["status"], body["services"]["embedder"]["status"]) == ("degraded", "degraded")
        assert body["services"]["embedder"]["error"] == "The server is starting."
        unready = await doors.client.get("/readyz")
        assert (unready.status_code, unready.json()["error_code"]) == (503, "SERVICE_UNAVAILABLE")
        doors.app.state.checks.starting = False  # as when the model could not be loaded
        clock.seconds += health.HOLDS
        assert (await health_of(doors))["embedder"] == "unavailable"
        frail.state = "well"
        clock.seconds += health.HOLDS
        assert (await health_of(doors))[""] == "healthy"
        assert (await doors.client.get("/readyz")).status_code == 200


async def test_a_server_that_has_started_says_so_by_itself(tmp_path: Path) -> None:
    async with opened(tmp_path) as doors:
        assert doors.app.state.checks.starting is False  # the first ingest has waited for the model


@pytest.mark.parametrize(
    ("limit", "status", "ready"), [("DISK_FULL", "unavailable", 503), ("DISK_LOW", "degraded", 200)]
)
async def test_a_database_whose_disk_is_full_is_not_healthy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, status: str, ready: int
) -> None:
    monkeypatch.setattr(health, limit, 2**60)
    (tmp_path / "data").mkdir()
    async with opened(tmp_path) as doors:
        assert (await health_of(doors))["database"] == status
        assert (await doors.client.get("/readyz")).status_code == ready
    (tmp_path / "elsewhere").mkdir()
    url = {"database_url": "postgresql+asyncpg://quoth@db.example.com/quoth"}
    async with opened(tmp_path / "elsewhere", settings=url) as doors:
        assert (await health_of(doors))["database"] == "healthy"  # it has its own disk


async def test_the_reason_of_a_failure_is_logged_once_and_not_shown(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    index, clock = SickIndex(), SteppedClock()
    async with opened(tmp_path, index=index, clock=clock) as doors:
        index.sick = True
        for _ in range(3):
            clock.seconds += health.HOLDS
            for path in ("/health", "/readyz", "/metrics"):
                assert "cannot be read" not in (await doors.client.get(path)).text
        index.sick = False
        clock.seconds += health.HOLDS
        await doors.client.get("/health")
    told = [record.getMessage() for record in caplog.records if record.name == health.__name__]
    assert told == ["the index is unavailable: The index cannot be read.", "the index is healthy"]


# --- what it says about answers -----------------------------------------------------------------------------------


async def answering(doors: Doors) -> dict[str, str | None]:
    told: dict[str, str | None] = (await doors.client.get("/health")).json()["answering"]
    return told


async def test_it_says_that_the_book_answers_itself_and_that_this_embedder_is_not_fitted(tmp_path: Path) -> None:
    async with opened(tmp_path) as doors:
        assert await answering(doors) == {
            "mode": "extractive",
            "model": None,
            "embedder": FakeEmbedder().name,
            "reader": None,
            "calibration": "unfitted",
        }
        assert "model" not in (await doors.client.get("/health")).json()["services"]


async def test_it_says_which_model_writes_and_that_the_confidence_is_fitted(tmp_path: Path) -> None:
    async with opened(
        tmp_path, model=ScriptedModel([["ready"]]), embedder=FakeEmbedder(name=next(iter(shipped())))
    ) as doors:
        told = await answering(doors)
        assert (told["mode"], told["model"], told["calibration"]) == ("full", "scripted", "fitted")


async def test_it_has_the_documented_fields_and_no_more(tmp_path: Path) -> None:
    async with opened(tmp_path) as doors:
        body = (await doors.client.get("/health")).json()
        assert {"status", "timestamp", "services", "version"} <= set(body)
        assert all(set(service) == {"name", "status", "latency_ms", "error"} for service in body["services"].values())


class HungLibrary(MemoryLibrary):
    async def ping(self) -> None:
        await asyncio.Event().wait()


async def test_a_part_that_hangs_counts_as_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "CHECK_TIMEOUT", 0.01)
    async with opened(tmp_path, library=HungLibrary()) as doors:
        assert (await health_of(doors))["database"] == "unavailable"
