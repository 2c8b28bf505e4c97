"""A cluster of three nodes: any one of them may go away, hang, be slow, be cut off or lag behind, and readers notice
nothing. Writers need a majority. The cluster is the stand-in of `qdrant_wire`."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from contracts.index_contract import (
    BOOK,
    FINGERPRINT,
    a_chunk,
    a_query,
    all_ids,
    indexed,
    unit,
    write,
)
from qdrant_wire import Cluster, Fault, Wire, qdrant_cluster, qdrant_wire
from quoth.domain import Filters, IndexedChunk, IndexHits
from quoth.errors import Conflict, IndexUnavailable, UnknownBook
from quoth.index.qdrant import QdrantIndex
from quoth.index.qdrant_ledger import Entry
from quoth.index.qdrant_server import QdrantOptions, Server
from quoth.ports import BookView

pytestmark = pytest.mark.slow

MISSING = b'{"status":{"error":"Not found: Collection `quoth` doesn\'t exist!"},"time":0.0}'

OpenCluster = Callable[..., QdrantIndex]


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with qdrant_cluster(3) as cluster:
        yield cluster


@pytest.fixture
async def open_index(cluster: Cluster) -> AsyncIterator[OpenCluster]:
    opened: list[QdrantIndex] = []

    def open_(*nodes: Wire, **options: Any) -> QdrantIndex:
        """Through these nodes, or through all of them."""
        urls = tuple(node.url for node in nodes or cluster.nodes)
        given = {"urls": urls, "replicas": 3, "backoff": 0.01, **options}
        opened.append(QdrantIndex(QdrantOptions(**given), FINGERPRINT))
        return opened[-1]

    yield open_
    await asyncio.gather(*(index.close() for index in opened))


def a_book(count: int, seed: int = 1, **fields: Any) -> list[IndexedChunk]:
    dice = random.Random(seed)
    return [
        indexed(
            a_chunk(f"page-{n}", **fields),
            unit(*(dice.random() for _ in range(4))),
            {term: dice.random() for term in dice.sample(range(1, 30), 6)},
        )
        for n in range(count)
    ]


FAULTS: dict[str, Callable[[Wire], None]] = {
    "gone": Wire.go_away,
    "hangs": Wire.hang,
    "slow": lambda node: setattr(node, "delay", 20.0),
    "cut off": lambda node: setattr(node, "state", "cut off"),
    "broken": lambda node: node.faults.extend([Fault(500)] * 1000),
}


# --- reading ---------------------------------------------------------------------------------------------------------


async def everything(index: QdrantIndex) -> tuple[object, ...]:
    """Everything that a question asks."""
    view = index.view(BOOK)
    hits = await view.search(a_query(unit(1, 2, 3, 4), {1: 1.0, 2: 0.5, 7: 2.0}))
    ids = [hit.chunk_id for hit in (*hits.dense, *hits.sparse)]
    page = await view.page(a_chunk("page-3").parent_doc_id)
    beside = await index.view(BOOK).chunks(ids)
    found = hits, await view.chunks(ids), await view.dense_vectors(ids), await view.idf([1, 2, 40]), page, beside
    return *found, await index.books(), await index.status(BOOK), await view.count()


@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize("fault", list(FAULTS))
async def test_with_any_one_node_lost_every_question_has_the_same_answer(
    cluster: Cluster, open_index: OpenCluster, which: int, fault: str
) -> None:
    index = open_index(timeout=600.0)
    await write(index, *a_book(12))
    before = await everything(index)
    FAULTS[fault](cluster.nodes[which])
    async with asyncio.timeout(60):  # a question that waits for the lost node never ends
        for reader in (index, index, open_index(timeout=600.0)):
            assert await everything(reader) == before


async def test_a_node_that_hangs_in_the_middle_of_a_question_is_not_waited_for(
    cluster: Cluster, open_index: OpenCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quoth.index.qdrant_server._LONG_READ_WAIT", 1000.0)  # applies to ingests, not to questions
    monkeypatch.setattr("quoth.index.qdrant_nodes._FIRST_PAUSE", 0.0)  # and the node is not known to hang
    index, chunk = open_index(timeout=600.0), a_chunk("page-3")
    await write(index, *a_book(12))
    asks: list[Callable[[BookView], Awaitable[object]]] = [
        lambda view: view.chunks([chunk.id]),
        lambda view: view.dense_vectors([chunk.id]),
        lambda view: view.page(chunk.parent_doc_id),
        lambda view: view.count(Filters(chapter_min=0)),
        lambda view: view.search(a_query()),
    ]
    for ask in asks:
        view = index.view(BOOK)
        expected = await ask(view)
        assert view._at is not None
        hanging = next(node for node in cluster.nodes if node.url == view._at.url)
        hanging.hang()
        async with asyncio.timeout(15):
            assert await ask(view) == expected
            assert [await index.books() for _ in cluster.nodes] == [[BOOK]] * 3
        hanging.come_back()


async def test_a_node_that_failed_is_left_alone_for_a_while_and_then_tried_again(
    cluster: Cluster, open_index: OpenCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quoth.index.qdrant_nodes._FIRST_PAUSE", 10_000.0)
    monkeypatch.setattr("quoth.index.qdrant_nodes._LONGEST_PAUSE", 10_000.0)
    for wait in ("_SHORTEST_WAIT", "_LONGEST_WAIT"):  # a busy machine must not make a node seem silent
        monkeypatch.setattr(f"quoth.index.qdrant_nodes.{wait}", 600.0)
    index, lost = open_index(timeout=600.0), cluster.nodes[1]
    await write(index, *a_book(3))
    lost.faults = [Fault(503)] * 1000
    for _ in range(6):
        await everything(index)
    asked = len(lost.asked)
    for _ in range(6):
        await everything(index)
    assert len(lost.asked) == asked
    lost.faults = []
    monkeypatch.setattr("quoth.index.qdrant_nodes._now", lambda: 10**9)
    for _ in range(6):
        await everything(index)
    assert len(lost.asked) > asked


async def test_a_process_never_goes_back_behind_a_publication_that_it_has_seen(
    cluster: Cluster, open_index: OpenCluster
) -> None:
    ahead, _, behind = cluster.nodes
    index = open_index(ahead)
    await write(index, indexed(a_chunk("one", title="First")))
    reader, stranger = open_index(ahead, behind), open_index(behind)
    async with index.writer(BOOK) as writer:
        await writer.put([indexed(a_chunk("one", title="Second"))])
        behind.lag()
        await writer.publish()

    async def title(of: QdrantIndex) -> str:
        return (await of.view(BOOK).chunks([a_chunk("one").id]))[0].title

    for _ in range(3):  # nodes take turns, so it reaches the copy that is ahead
        await reader.status(BOOK)
    ahead.go_away()
    assert [await title(reader) for _ in range(4)] == ["Second"] * 4
    assert await title(stranger) == "First"  # harmless: what that generation held is still there
    behind.catch_up()
    assert await title(stranger) == "Second"


@pytest.mark.parametrize("which", [0, 1, 2])
async def test_a_node_that_has_missed_a_publication_is_not_asked_for_it(
    cluster: Cluster, open_index: OpenCluster, which: int
) -> None:
    """It answers readers, but not its peers, so it does not know that its copy is dead."""
    book, lost = a_book(12), cluster.nodes[which]
    others = [node for node in cluster.nodes if node is not lost]
    writer, reader = open_index(*others), open_index(lost, *others)
    await write(writer, *book)
    before = await everything(reader)
    lost.state = "cut off"
    await write(writer, *a_book(6, seed=9, title="Second"))
    after = await everything(open_index(*others))
    async with asyncio.timeout(60):
        while await everything(reader) == before:
            pass
    for _ in range(9):
        assert await everything(reader) == after != before
        assert [chunk.title async for chunk in reader.scan(BOOK)].count("Second") == 6
    # A writer that has seen it does not take the rest for lost.
    async with reader.writer(BOOK) as another:
        await another.put([indexed(a_chunk("third"))])
        await another.publish()
    assert await all_ids(reader) == await all_ids(open_index(*others))
    assert (await reader.status(BOOK)).chunks == 13


@pytest.mark.parametrize("turn", [0, 1, 2])
async def test_a_writer_does_not_go_back_behind_what_it_has_seen(
    cluster: Cluster, open_index: OpenCluster, turn: int
) -> None:
    """A node that is cut off takes itself for the majority, and shows what was live before."""
    lost, *others = cluster.nodes
    await write(open_index(), *a_book(3))
    lost.state = "cut off"
    await write(open_index(*others), *a_book(3, seed=9))
    index, live = open_index(), await newest(open_index(*others))
    async with asyncio.timeout(60):
        while (await index.ledger.entry(BOOK))[0] != live:
            pass
    nodes_are_well(index, turn)
    assert await index.ledger.sure_entry(BOOK) == live


@pytest.mark.parametrize("turn", [0, 1, 2])
async def test_a_publication_is_no_conflict_because_a_node_has_missed_it(
    cluster: Cluster, open_index: OpenCluster, turn: int
) -> None:
    lost, *others = cluster.nodes
    index = open_index()
    await write(index, *a_book(3))
    async with index.writer(BOOK) as writer:
        await writer.put(a_book(3, seed=9))
        lost.state = "cut off"
        nodes_are_well(index, turn)
        await writer.publish()
    assert (await newest(open_index(*others))).generation == 2


def nodes_are_well(index: QdrantIndex, turn: int) -> None:
    """As far as the index knows; and one of them is next."""
    nodes = index.ledger.server.nodes
    for node in nodes.all:
        node.pause = node.quiet_until = node.behind_until = 0.0
    nodes._turn = turn


async def newest(index: QdrantIndex) -> Entry:
    entry = await index.ledger.sure_entry(BOOK)
    assert entry is not None
    return entry


async def test_a_book_that_was_seen_is_only_gone_when_no_node_shows_it(
    cluster: Cluster, open_index: OpenCluster
) -> None:
    reader, behind = open_index(), cluster.nodes[0]
    await write(reader, *a_book(2))
    before = await everything(reader)
    entries = behind.copy.points("quoth-books")
    behind.copy.answer("POST", "quoth-books", "/points/delete", {"points": list(entries)})
    for _ in cluster.nodes:
        assert await everything(reader) == before
    await open_index(*cluster.nodes[1:]).delete_book(BOOK)
    with pytest.raises(UnknownBook):
        await everything(reader)


async def test_a_node_that_has_not_heard_of_a_collection_yet_is_not_believed(
    cluster: Cluster, open_index: OpenCluster
) -> None:
    await write(open_index(), *a_book(3))
    index = open_index()
    before = await everything(index)
    for node in cluster.nodes:
        node.strikes, node.faults = "/collections/quoth", [Fault(404, MISSING)]
        assert await everything(index) == before
        node.faults = []


async def test_with_every_node_lost_it_is_an_outage(cluster: Cluster, open_index: OpenCluster) -> None:
    index = open_index()
    await write(index, *a_book(3))
    for node in cluster.nodes:
        node.go_away()
    with pytest.raises(IndexUnavailable) as caught:
        await everything(index)
    hosts = [node.url.removeprefix("http://") for node in cluster.nodes]
    assert all(host in caught.value.inside and host not in str(caught.value) for host in hosts)


async def test_strong_reads_answer_as_a_real_cluster_does(cluster: Cluster) -> None:
    """What the other tests rely on: `majority` fails with one copy gone, `quorum` does not."""
    server = Server(QdrantOptions(urls=(cluster.nodes[0].url,), backoff=0.0))
    made = {"vectors": {}, "write_consistency_factor": 2}
    await server.make("/collections/c", made)
    point = "00000000-0000-0000-0000-000000000001"
    put = {"points": [{"id": point, "vector": {}, "payload": {"a": 1}}]}
    await server.write("/collections/c/points", put, method="PUT")
    wanted = {"ids": [point], "with_payload": True}

    async def read(consistency: str) -> Any:
        return await server.question("/collections/c/points", wanted, query={"consistency": consistency})

    assert len(await read("majority")) == len(await read("quorum")) == 1
    cluster.nodes[2].go_away()
    assert len(await read("quorum")) == 1
    with pytest.raises(IndexUnavailable) as caught:
        await read("majority")
    assert "1 of 3 read operations failed" in caught.value.inside
    await server.close()


# --- health ----------------------------------------------------------------------------------------------------------


async def test_health_says_which_node_is_missing_and_which_copy(
    cluster: Cluster, open_index: OpenCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quoth.index.qdrant_health._SECONDS", 30.0)  # this machine may be slower than a real node
    index, lost = open_index(), cluster.nodes[2]
    await write(index, *a_book(3))
    assert await index.fault() is None
    lost.go_away()
    fault = await index.fault()
    assert fault is not None
    assert lost.url.removeprefix("http://") in fault.inside
    assert lost.url.removeprefix("http://") not in str(fault)
    await write(index, indexed(a_chunk("new")))
    fault = await index.fault()
    assert fault is not None
    assert "is Dead" in fault.inside
    cluster.recover(lost)
    assert await index.fault() is None


async def test_health_is_not_held_up_by_a_node_that_hangs(
    cluster: Cluster, open_index: OpenCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quoth.index.qdrant_server._LONG_READ_WAIT", 1000.0)
    monkeypatch.setattr("quoth.index.qdrant_health._SECONDS", 5.0)
    index, lost = open_index(), cluster.nodes[0]
    await write(index, *a_book(3))
    lost.hang()
    async with asyncio.timeout(30):
        fault = await index.fault()
    assert fault is not None
    assert f"{lost.url.removeprefix('http://')} does not answer" in fault.inside


async def test_health_with_no_node_left_is_an_outage(cluster: Cluster, open_index: OpenCluster) -> None:
    index = open_index()
    await write(index, *a_book(3))
    for node in cluster.nodes:
        node.go_away()
    with pytest.raises(IndexUnavailable):
        await index.fault()


# --- writing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize("fault", ["gone", "hangs"])
async def test_a_node_lost_during_an_ingest_costs_retries_not_the_ingest(
    cluster: Cluster, open_index: OpenCluster, which: int, fault: str
) -> None:
    index, lost, book = open_index(batch=4), cluster.nodes[which], a_book(12)
    async with index.writer(BOOK) as writer:
        await writer.put(book[:4])
        FAULTS[fault](lost)
        await writer.put(book[4:])
        await writer.publish()
    others = [node for node in cluster.nodes if node is not lost]
    expected = {one.chunk.id for one in book}
    assert await all_ids(open_index(*others)) == expected
    assert lost.copy_state == "Dead"
    cluster.recover(lost)
    for node in cluster.nodes:
        reader = open_index(node)
        assert await all_ids(reader) == expected
        assert await everything(reader) == await everything(index)


async def test_with_a_node_lost_before_it_a_book_is_written_and_rewritten(
    cluster: Cluster, open_index: OpenCluster
) -> None:
    cluster.nodes[0].go_away()
    for title in ("First", "Second"):
        index = open_index()
        await write(index, *(indexed(one.chunk, one.dense) for one in a_book(3, title=title)))
        assert {chunk.title async for chunk in index.scan(BOOK)} == {title}


async def test_with_a_majority_lost_a_write_is_an_outage_and_the_book_is_as_it_was(
    cluster: Cluster, open_index: OpenCluster
) -> None:
    index = open_index()
    await write(index, *a_book(3))
    before = await everything(index)
    for node in cluster.nodes[1:]:
        node.go_away()
    with pytest.raises(IndexUnavailable):
        await write(index, indexed(a_chunk("new")))
    assert await everything(index) == before


async def test_a_writer_that_demands_every_copy_waits_for_every_copy(cluster: Cluster, open_index: OpenCluster) -> None:
    index = open_index(write_consistency=3)
    await write(index, *a_book(3))
    cluster.nodes[1].go_away()
    with pytest.raises(IndexUnavailable):
        await write(index, indexed(a_chunk("new")))


async def test_two_writers_at_two_nodes_are_a_conflict(cluster: Cluster, open_index: OpenCluster) -> None:
    one, other, _ = cluster.nodes
    async with open_index(one).writer(BOOK):
        with pytest.raises(Conflict):
            async with open_index(other).writer(BOOK):
                pass


def test_a_book_whose_writer_was_killed_is_free_within_twenty_seconds() -> None:
    assert QdrantOptions(urls=("http://a:6333",)).lease <= 20


# --- shards ----------------------------------------------------------------------------------------------------------


async def test_lists_are_the_same_with_one_shard_and_with_three_for_any_number_of_books() -> None:
    with ExitStack() as stack:
        wires = {shards: stack.enter_context(qdrant_wire()) for shards in (1, 3)}
        found: dict[int, list[IndexHits]] = {}
        for shards, wire in wires.items():
            index = QdrantIndex(QdrantOptions(urls=(wire.url,), shards=shards), FINGERPRINT)
            for number, book_id in enumerate((BOOK, "cooking")):
                await write(index, *a_book(40, seed=number, book_id=book_id), book_id=book_id)
            found[shards] = [
                await index.view(book_id).search(a_query(unit(1, seed, 2, 3), {seed: 1.0, seed + 5: 0.5}, limit=limit))
                for book_id in (BOOK, "cooking")
                for seed in range(1, 20)
                for limit in (5, 50)
            ]
            await index.close()
        assert len(wires[3].copy.parts["quoth"]) == 3
        assert all(part.count("quoth").count for part in wires[3].copy.parts["quoth"])
    assert found[3] == found[1]


# --- what it costs ---------------------------------------------------------------------------------------------------


async def test_an_edit_asks_as_much_of_a_large_book_as_of_a_small_one(
    cluster: Cluster, open_index: OpenCluster
) -> None:
    node, asked = cluster.nodes[0], {}
    for count in (10, 400):
        index = open_index(node, collection=f"of-{count}", lease=600.0)
        await write(index, *a_book(count))
        node.asked.clear()
        async with index.writer(BOOK) as writer:
            await writer.files()
            await writer.stored(files=["page-3.md"], ids=[a_chunk("page-3").id])
            await writer.vectors(["e"])
            await writer.put([indexed(a_chunk("page-3", title="New"))])
            await writer.publish()
        asked[count] = [(call.method, call.path.replace(f"of-{count}", "c")) for call in node.asked]
        await index.close()
    assert asked[400] == asked[10]
    assert len(asked[10]) < 25
