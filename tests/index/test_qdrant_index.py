"""The index on a server keeps the contract: over the wire with qdrant-client's local engine behind it, through three
nodes of a cluster, and on a real server or cluster if QUOTH_TEST_QDRANT_URL names one (several addresses, separated by
commas)."""

from __future__ import annotations

import asyncio
import os
import random
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from contracts.index_contract import (
    BOOK,
    FINGERPRINT,
    IndexContract,
    OpenIndex,
    a_chunk,
    a_query,
    all_ids,
    hand_idf,
    indexed,
    unit,
    write,
)
from doors import opened
from qdrant_wire import Fault, Wire, qdrant_wire
from quoth.bootstrap import fingerprint_of
from quoth.domain import Fingerprint
from quoth.errors import Conflict, IndexUnavailable
from quoth.index.qdrant import QdrantIndex
from quoth.index.qdrant_server import CollectionMissing, QdrantOptions, Server
from quoth.ports import ChunkIndex
from quoth.testing.embedder import FakeEmbedder
from quoth.testing.index import MemoryIndex

LEASES = "/collections/quoth-books/points"

pytestmark = pytest.mark.slow  # JSON there and back, and a local engine in pure Python

SERVER = tuple(filter(None, os.environ.get("QUOTH_TEST_QDRANT_URL", "").split(",")))


@pytest.fixture
def wire() -> Iterator[Wire]:
    with qdrant_wire() as wire:
        yield wire


# A place is a server with a collection of its own on it. Without a real server nothing is skipped: it is simply not
# among the places.
@pytest.fixture(params=["wire", *(["server"] if SERVER else [])])
def place(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    if request.param == "wire":
        yield {"urls": (request.getfixturevalue("wire").url,)}
        return
    name = f"quoth-test-{uuid.uuid4()}"
    place: dict[str, Any] = {"urls": SERVER, "api_key": os.environ.get("QUOTH_TEST_QDRANT_API_KEY"), "collection": name}
    yield {**place, "replicas": len(SERVER)}
    asyncio.run(remove(QdrantOptions(**place)))


async def remove(options: QdrantOptions) -> None:
    server = Server(options)
    for name in (options.collection, f"{options.collection}-books"):
        with suppress(CollectionMissing):
            await server.make(f"/collections/{name}", {}, method="DELETE")
    await server.close()


class Beside:
    """Somebody else who talks to the same server."""

    def __init__(self, options: QdrantOptions) -> None:
        self._server = Server(options)
        self._chunks = f"/collections/{options.collection}"

    async def count(self, *, of_ledger: bool = False) -> int:
        where = f"{self._chunks}{'-books' if of_ledger else ''}/points/count"
        return int((await self._server.read(where, {"exact": True}))["count"])

    async def delete_collection(self) -> None:
        await self._server.make(self._chunks, {}, method="DELETE")

    async def delete_one(self) -> None:
        found = await self._server.read(f"{self._chunks}/points/scroll", {"limit": 1})
        await self._server.write(f"{self._chunks}/points/delete", {"points": [found["points"][0]["id"]]})

    async def close(self) -> None:
        await self._server.close()


@pytest.fixture
async def beside(place: dict[str, Any]) -> AsyncIterator[Beside]:
    beside = Beside(QdrantOptions(**place))
    yield beside
    await beside.close()


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


# --- writers ---------------------------------------------------------------------------------------------------------


class Wall:
    """A wall clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


async def abandon(index: ChunkIndex, *, put: tuple[str, ...] = (), drop: tuple[str, ...] = (), **how: bool) -> None:
    """Write and die: nothing is published and the lease is never given back."""
    async with AsyncExitStack() as stack:
        writer = await stack.enter_async_context(index.writer(BOOK, **how))
        await writer.put([indexed(a_chunk(name)) for name in put])
        await writer.drop([a_chunk(name).id for name in drop])
        lease = writer._lease  # type: ignore[attr-defined]
        lease._lost = Conflict("dead")  # so that leaving does not give it back


async def test_books_can_be_written_side_by_side(open_index: OpenIndex) -> None:
    index = open_index()
    async with index.writer(BOOK) as one, open_index().writer("cooking") as other:
        await one.put([indexed(a_chunk("one"))])
        await other.put([indexed(a_chunk("page", book_id="cooking"))])
        await one.publish()
        await other.publish()
    assert await index.books() == ["cooking", BOOK]


async def test_a_writer_that_died_holds_the_book_until_its_lease_ends(open_index: OpenIndex) -> None:
    wall = Wall()
    index = open_index(wall=wall, lease=60.0)
    await write(index, indexed(a_chunk("one")))
    await abandon(index, put=("two",), drop=("one",))
    wall.now += 59
    with pytest.raises(Conflict, match=rf"pid {os.getpid()} on .*{BOOK}.* ends in 1 s"):
        await write(index, indexed(a_chunk("three")))
    wall.now += 2
    await write(index, indexed(a_chunk("three")))
    assert await all_ids(index) == {a_chunk("one").id, a_chunk("three").id}


@pytest.mark.parametrize("recreate", [False, True])
async def test_what_a_killed_writer_left_is_never_seen_and_the_next_one_removes_it(
    open_index: OpenIndex, recreate: bool
) -> None:
    wall = Wall()
    index = open_index(wall=wall)
    kept = [a_chunk(name) for name in ("one", "two")]
    await write(index, *map(indexed, kept))
    await abandon(index, put=("two", "three"), drop=("one",), recreate=recreate)
    assert await all_ids(index) == {chunk.id for chunk in kept}
    assert (await index.view(BOOK).search(a_query())).total_found == 2
    assert await index.view(BOOK).idf([1]) == pytest.approx({1: hand_idf(2, 2)}, rel=1e-4)
    wall.now += 100
    async with index.writer(BOOK) as writer:
        assert set(await writer.stored()) == {chunk.id for chunk in kept}
        await writer.put([indexed(a_chunk("four"))])
        await writer.publish()
    assert await all_ids(index) == {chunk.id for chunk in [*kept, a_chunk("four")]}


async def test_a_writer_whose_lease_another_has_taken_can_neither_write_nor_publish(open_index: OpenIndex) -> None:
    wall = Wall()
    slow, quick = open_index(wall=wall), open_index(wall=wall)
    await write(quick, indexed(a_chunk("one")))
    async with slow.writer(BOOK) as late:
        await late.put([indexed(a_chunk("late"))])
        wall.now += 100
        async with quick.writer(BOOK) as writer:
            with pytest.raises(Conflict, match="has taken over"):
                await late.put([indexed(a_chunk("later"))])
            with pytest.raises(Conflict):
                await late.publish()
            await writer.put([indexed(a_chunk("two"))])
            await writer.publish()
    assert await all_ids(quick) == {a_chunk("one").id, a_chunk("two").id}


async def test_a_publication_over_another_ones_is_a_conflict(open_index: OpenIndex) -> None:
    """Two clocks that disagree let two writers in; only one of them can publish."""
    wall = Wall()
    slow, quick = open_index(wall=wall), open_index(wall=lambda: wall.now + 100)
    await write(quick, indexed(a_chunk("one")))
    wall.now += 200
    async with slow.writer(BOOK) as late:
        await late.put([indexed(a_chunk("late"))])
        await write(quick, indexed(a_chunk("two")))
        with pytest.raises(Conflict, match=BOOK):
            await late.publish()


async def test_a_lease_is_renewed_while_its_writer_works_and_before_it_runs_out(wire: Wire) -> None:
    wall = Wall()
    index = QdrantIndex(QdrantOptions(urls=(wire.url,), lease=60.0), FINGERPRINT, wall=wall)
    async with index.writer(BOOK) as writer:
        renewals = len(wire.calls("PUT", LEASES))
        wall.now += 39
        await writer.put([indexed(a_chunk("one"))])
        assert len(wire.calls("PUT", LEASES)) == renewals
        wall.now += 2
        await writer.put([indexed(a_chunk("two"))])
        assert len(wire.calls("PUT", LEASES)) == renewals + 1
        await writer.publish()
    assert await index.view(BOOK).count() == 2
    await index.close()


async def test_a_lease_is_renewed_in_the_background(wire: Wire) -> None:
    index = QdrantIndex(QdrantOptions(urls=(wire.url,), lease=0.4), FINGERPRINT)
    async with index.writer(BOOK):
        renewals = len(wire.calls("PUT", LEASES))
        await asyncio.to_thread(wire.wait_for, renewals + 3, "PUT", LEASES)
    await index.close()


async def test_a_writer_that_cannot_renew_writes_nothing_more(wire: Wire) -> None:
    wall = Wall()
    options = QdrantOptions(urls=(wire.url,), timeout=0.2, lease=0.4, backoff=0.0)
    index = QdrantIndex(options, FINGERPRINT, wall=wall)
    async with index.writer(BOOK) as writer:
        wall.now += 1
        wire.strikes, wire.faults = f"PUT {LEASES}", [Fault(503)] * 10_000
        wire.asked.clear()
        with pytest.raises(Conflict, match="does not answer"):
            await writer.put([indexed(a_chunk("one"))])
        wire.faults = []
        assert wire.calls("PUT", "/collections/quoth/points") == []
    await index.close()


async def test_it_keeps_what_the_fake_keeps_whatever_is_written(open_index: OpenIndex) -> None:
    """Random puts, drops, publications, recreations and departures, in step with the fake."""
    dice = random.Random(5)
    ours, fake = open_index(), MemoryIndex(FINGERPRINT)
    await write(ours)
    await write(fake)
    for _ in range(12):
        recreate = dice.random() < 0.2
        async with ours.writer(BOOK, recreate=recreate) as one, fake.writer(BOOK, recreate=recreate) as other:
            for _ in range(dice.randrange(4)):
                names = [f"c{dice.randrange(9)}" for _ in range(dice.randrange(5))]
                title = f"T{dice.randrange(3)}"
                points = [indexed(a_chunk(name, title=title), unit(1, len(title), 0, 0)) for name in set(names)]
                gone = [a_chunk(f"c{dice.randrange(9)}").id for _ in range(dice.randrange(3))]
                publish = dice.random() < 0.4
                for writer in (one, other):
                    await writer.put(points)
                    await writer.drop(gone)
                assert await one.stored() == await other.stored()
                if publish:
                    await one.publish()
                    await other.publish()
                assert [chunk async for chunk in ours.scan(BOOK)] == [chunk async for chunk in fake.scan(BOOK)]
        assert await ours.view(BOOK).count() == await fake.view(BOOK).count()
        assert (await ours.status(BOOK)).generation == (await fake.status(BOOK)).generation


# --- the server's side -----------------------------------------------------------------------------------------------


async def test_only_this_generation_and_the_one_before_are_kept(beside: Beside, open_index: OpenIndex) -> None:
    index = open_index()
    for turn in range(5):
        await write(index, indexed(a_chunk("one", title=f"Turn {turn}")), indexed(a_chunk("two")))
    assert await beside.count() == 4
    await write(index, indexed(a_chunk("three")), recreate=True)
    await write(index, indexed(a_chunk("three")), recreate=True)
    assert await beside.count() == 2


async def test_of_a_deleted_book_nothing_is_left(beside: Beside, open_index: OpenIndex) -> None:
    index = open_index()
    await write(index, indexed(a_chunk("one")))
    await index.delete_book(BOOK)
    assert (await beside.count(), await beside.count(of_ledger=True)) == (0, 0)


async def test_a_collection_that_somebody_deleted_is_an_outage_and_the_next_writer_makes_it_anew(
    beside: Beside, open_index: OpenIndex
) -> None:
    await write(open_index(), indexed(a_chunk("one")))
    await beside.delete_collection()
    with pytest.raises(IndexUnavailable, match="is not on the Qdrant server") as caught:
        await open_index().view(BOOK).search(a_query())
    assert "quoth ingest" in caught.value.hint
    await write(open_index(), indexed(a_chunk("one")))
    assert await open_index().view(BOOK).count() == 1


async def test_lost_chunks_are_noticed(beside: Beside, open_index: OpenIndex) -> None:
    index = open_index()
    await write(index, indexed(a_chunk("one")), indexed(a_chunk("two")))
    await beside.delete_one()
    with pytest.raises(IndexUnavailable, match="1 chunks instead of 2"):
        await index.view(BOOK).count()


async def test_a_scan_never_leaves_out_what_vanishes_under_it(open_index: OpenIndex) -> None:
    index = open_index()
    await write(index, *(indexed(a_chunk(f"{n:03}")) for n in range(300)))
    scan = index.scan(BOOK)
    await anext(scan)
    for _ in range(2):
        await write(index, indexed(a_chunk("new")), recreate=True)
    with pytest.raises(IndexUnavailable, match="published twice"):
        async for _ in scan:
            pass


async def test_a_question_is_three_requests_through_every_door(wire: Wire, tmp_path: Path) -> None:
    """The ledger and the search at once, then the texts: no count that the ledger knows, no second look at it."""
    index = QdrantIndex(QdrantOptions(urls=(wire.url,)), fingerprint_of(FakeEmbedder()))
    first = {("POST", "/collections/quoth-books/points"), ("POST", "/collections/quoth/points/query/batch")}
    texts, count = ("POST", "/collections/quoth/points"), ("POST", "/collections/quoth/points/count")
    filters = {"source_url_prefix": "https://book.example.com"}
    async with opened(tmp_path, index=index) as doors:

        async def asked(path: str, **fields: object) -> list[tuple[str, str]]:
            index.stored_points._kept.clear()
            wire.asked.clear()
            response = await doors.client.post(
                path, json={"query": "Which durability keeps the last?", "book_id": "book", **fields}
            )
            assert response.status_code == 200
            return [(call.method, call.path) for call in wire.asked]

        await asked("/search")
        for path in ("/search", "/chat"):
            found = await asked(path)
            assert (set(found[:2]), found[2:]) == (first, [texts]), path
        found = await asked("/search", **filters)  # it shows how many pass
        assert (set(found[:3]), found[3:]) == ({*first, count}, [texts])
        assert count not in await asked("/chat", filters=filters)
    await index.close()


async def test_health_tells_the_truth_about_the_server(wire: Wire, tmp_path: Path) -> None:
    index = QdrantIndex(QdrantOptions(urls=(wire.url,), backoff=0.0), fingerprint_of(FakeEmbedder()))
    async with opened(tmp_path, index=index) as doors:

        async def part() -> tuple[str, str | None]:
            service = (await doors.client.get("/health")).json()["services"]["index"]
            return service["status"], service["error"]

        assert await part() == ("healthy", None)
        wire.faults = [Fault(503)] * 100
        status, error = await part()
        assert (status, "Qdrant does not answer" in str(error)) == ("unavailable", True)
        wire.faults = []
        assert (await part())[0] == "healthy"
        wire.faults = [Fault(503)] * 100
        asked = await doors.client.post("/chat", json={"query": "Which durability keeps the last message?"})
        assert (asked.status_code, asked.json()["error_code"]) == (503, "QDRANT_UNAVAILABLE")
        wire.faults = []
        wire.copy.answer("DELETE", "quoth", "", {})
        assert (await part())[0] == "unavailable"
    await index.close()
