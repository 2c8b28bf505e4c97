"""What goes over the wire to a Qdrant server, and what happens when something goes wrong there."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from contracts.index_contract import BOOK, FINGERPRINT, OpenIndex, a_chunk, a_query, all_ids, hand_idf, indexed, write
from qdrant_wire import Fault, Wire, qdrant_wire
from quoth.domain import Filters
from quoth.errors import BadConfiguration, IndexUnavailable, QuothError
from quoth.index.qdrant import QdrantIndex
from quoth.index.qdrant_server import QdrantOptions

pytestmark = pytest.mark.slow

PUBLISH = "PUT /collections/quoth-books/points"
GARBAGE = b"<html>It works!</html>"


@pytest.fixture
def wire() -> Iterator[Wire]:
    with qdrant_wire() as wire:
        yield wire


@pytest.fixture
async def open_index(wire: Wire) -> AsyncIterator[OpenIndex]:
    opened: list[QdrantIndex] = []

    def open_(**options: Any) -> QdrantIndex:
        opened.append(QdrantIndex(QdrantOptions(**{"urls": (wire.url,), "backoff": 0.0, **options}), FINGERPRINT))
        return opened[-1]

    yield open_
    for index in opened:
        await index.close()


@pytest.fixture
async def index(open_index: OpenIndex, wire: Wire) -> QdrantIndex:
    """With one book, and the requests so far forgotten."""
    index = open_index()
    await write(index, indexed(a_chunk("one")))
    wire.asked.clear()
    assert isinstance(index, QdrantIndex)
    return index


# --- what is sent ----------------------------------------------------------------------------------------------------


async def test_nothing_is_made_twice(index: QdrantIndex, open_index: OpenIndex, wire: Wire) -> None:
    await write(open_index(), indexed(a_chunk("two")))
    assert wire.calls("PUT", "/collections/quoth") == wire.calls("PUT", "/collections/quoth/index") == []


async def test_writes_come_in_batches_and_wait(open_index: OpenIndex, wire: Wire) -> None:
    await write(open_index(batch=10), *(indexed(a_chunk(f"{n}")) for n in range(25)))
    written = wire.calls("PUT", "/collections/quoth/points")
    assert [len(call.body["points"]) for call in written] == [10, 10, 5]
    assert {call.query["wait"] for call in written} == {"true"}


async def test_a_point_is_the_same_as_in_the_embedded_index_but_for_its_version(
    open_index: OpenIndex, wire: Wire
) -> None:
    from quoth.chunks.payload import to_payload

    point = indexed(a_chunk("one", module="ros2", chapter=2), (0.0, 1.0, 0.0, 0.0), {3: 0.5, 9: 2.0})
    await write(open_index(), point)
    [call] = wire.calls("PUT", "/collections/quoth/points")
    [sent] = call.body["points"]
    assert sent["payload"] == {**to_payload(point), "chunk_id": point.chunk.id, "born": 1}
    assert sent["vector"] == {
        "dense-4": [0.0, 1.0, 0.0, 0.0],
        "terms": {"indices": [3, 9], "values": [0.5, 2.0]},
    }
    assert sent["id"] != point.chunk.id


async def test_a_search_is_one_batch_within_the_live_generation_of_one_book(index: QdrantIndex, wire: Wire) -> None:
    await index.view(BOOK).search(a_query(terms={1: 2.0}, filters=Filters(module="ros2", chapter_max=3), limit=7))
    view = {
        "must": [
            {"key": "book_id", "match": {"value": BOOK}},
            {"key": "born", "range": {"gte": 1, "lte": 1}},
        ],
        "must_not": [{"key": "gone", "range": {"lte": 1}}],
    }
    among = {
        **view,
        "must": [
            *view["must"],
            {"key": "module", "match": {"value": "ros2"}},
            {"key": "chapter", "range": {"lte": 3}},
        ],
    }
    [asked] = wire.calls("POST", "/collections/quoth/points/query/batch")
    both = {"filter": among, "limit": 8, "with_payload": ["chunk_id"]}
    assert asked.body == {
        "searches": [
            {**both, "query": {"nearest": [1.0, 0.0, 0.0, 0.0]}, "using": "dense-4", "params": {"exact": True}},
            {
                **both,
                "query": {"nearest": {"indices": [1], "values": [pytest.approx(2 * hand_idf(1, 1))]}},
                "using": "terms",
            },
        ]
    }
    [counted] = wire.calls("POST", "/collections/quoth/points/count")
    assert counted.body == {"filter": among, "exact": True}


def books_named(body: Any) -> list[str]:
    """The books to which the filters of a body are limited."""
    if isinstance(body, list):
        return [name for item in body for name in books_named(item)]
    if not isinstance(body, dict):
        return []
    found = [
        item["match"]["value"]
        for item in body.get("must", [])
        if item.get("key") == "book_id" and "value" in item["match"]
    ]
    return found + [name for item in body.values() for name in books_named(item)]


async def test_no_call_on_chunks_ever_leaves_the_book_out(index: QdrantIndex, wire: Wire) -> None:
    chunk = a_chunk("one")
    await index.view(BOOK).search(a_query())
    await index.view(BOOK).idf([1, 2])
    await index.view(BOOK).count(Filters(layer="L1"))
    await index.view(BOOK).chunks([chunk.id])
    await index.view(BOOK).dense_vectors([chunk.id])
    await index.view(BOOK).page(chunk.parent_doc_id)
    await all_ids(index)
    async with index.writer(BOOK) as writer:
        await writer.stored()
        await writer.vectors(["e"])
        await writer.put([indexed(a_chunk("two"))])
        await writer.drop([chunk.id])
        await writer.publish()
    await index.delete_book(BOOK)
    # Points fetched by id were found by a filter of the book, and points written by id name their book.
    by_id = [*wire.calls("POST", "/collections/quoth/points"), *wire.calls("PUT", "/collections/quoth/points")]
    asked = [call for call in wire.asked if call.path.startswith("/collections/quoth/points") and call not in by_id]
    assert len(asked) > 12
    for call in asked:
        assert set(books_named(call.body)) == {BOOK}, call
        searches = call.body.get("searches", [call.body])
        assert len(books_named([search["filter"] for search in searches])) == len(searches)


async def test_a_deleted_book_goes_by_one_filter(index: QdrantIndex, wire: Wire) -> None:
    await index.delete_book(BOOK)
    [deleted] = wire.calls("POST", "/collections/quoth/points/delete")
    assert deleted.body == {"filter": {"must": [{"key": "book_id", "match": {"value": BOOK}}]}}
    assert deleted.query["wait"] == "true"


async def test_a_large_book_is_searched_through_its_graph(
    index: QdrantIndex, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quoth.index.qdrant_points._EXACT_UP_TO", 0)
    await index.view(BOOK).search(a_query(limit=100))
    [asked] = wire.calls("POST", "/collections/quoth/points/query/batch")
    assert asked.body["searches"][0]["params"] == {
        "hnsw_ef": 400,
        "quantization": {"rescore": True, "oversampling": 2.0},
    }


# --- what comes back -------------------------------------------------------------------------------------------------


async def failing(index: QdrantIndex, wire: Wire, fault: Fault) -> tuple[QuothError, int]:
    """A search while every call meets this fault: the error, and how many attempts were made."""
    wire.faults = [fault] * 100
    with pytest.raises(QuothError) as caught:
        await index.view(BOOK).search(a_query())
    wire.faults = []
    return caught.value, len(wire.asked)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
async def test_a_server_in_trouble_is_asked_three_times_and_is_then_an_outage(
    index: QdrantIndex, wire: Wire, status: int
) -> None:
    error, attempts = await failing(index, wire, Fault(status))
    assert isinstance(error, IndexUnavailable)
    assert (error.code, error.retryable, attempts) == ("QDRANT_UNAVAILABLE", True, 3)
    assert f"out of luck ({status})" in error.inside
    assert wire.url.removeprefix("http://") in error.inside


async def test_silence_and_closed_connections_too(open_index: OpenIndex, index: QdrantIndex, wire: Wire) -> None:
    error, attempts = await failing(index, wire, Fault(closed=True))
    assert (type(error), attempts) == (IndexUnavailable, 3)
    hasty = open_index(timeout=0.2)
    assert isinstance(hasty, QdrantIndex)
    wire.asked.clear()
    error, attempts = await failing(hasty, wire, Fault(silent=True))
    assert (type(error), attempts) == (IndexUnavailable, 3)
    assert "no answer within 0.2 s" in error.inside


@pytest.mark.parametrize("fault", [Fault(503), Fault(closed=True), Fault(429, headers={"Retry-After": "0"})])
async def test_a_passing_trouble_is_not_noticed(index: QdrantIndex, wire: Wire, fault: Fault) -> None:
    wire.faults = [fault, fault]
    assert (await index.view(BOOK).search(a_query())).total_found == 1


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between attempts, which are recorded instead of made."""
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr("quoth.retrying.asyncio.sleep", sleep)
    return pauses


async def test_a_server_that_says_when_to_come_again_is_obeyed(
    index: QdrantIndex, wire: Wire, slept: list[float]
) -> None:
    wire.faults = [Fault(429, headers={"Retry-After": "3"}), Fault(429, headers={"Retry-After": "5"})]
    await index.view(BOOK).count()
    assert slept == [3, 5]
    wire.faults = [Fault(429, headers={"Retry-After": "3600"})]
    with pytest.raises(IndexUnavailable) as caught:
        await index.view(BOOK).count()
    assert "429" in caught.value.inside
    assert slept == [3, 5]


async def test_attempts_are_further_and_further_apart(open_index: OpenIndex, wire: Wire, slept: list[float]) -> None:
    wire.faults = [Fault(500)] * 100
    with pytest.raises(IndexUnavailable):
        await open_index(backoff=1.0).books()
    assert len(slept) == 2
    for turn, seconds in enumerate(slept):
        assert 2**turn <= seconds <= 1.5 * 2**turn


async def test_what_would_not_get_better_is_not_repeated(index: QdrantIndex, wire: Wire) -> None:
    body = b'{"status":{"error":"Wrong input: Index required but not found"},"time":0.0}'
    error, attempts = await failing(index, wire, Fault(400, body))
    assert (type(error), attempts) == (IndexUnavailable, 1)
    assert "Index required but not found" in error.inside


@pytest.mark.parametrize("fault", [Fault(200, GARBAGE), Fault(200, b"{}"), Fault(404, GARBAGE), Fault(302, GARBAGE)])
async def test_what_is_no_qdrant_is_said_and_never_taken_for_an_empty_index(
    index: QdrantIndex, wire: Wire, fault: Fault
) -> None:
    error, attempts = await failing(index, wire, fault)
    assert (type(error), attempts) == (IndexUnavailable, 1)
    assert "does not answer like Qdrant" in error.message
    wire.faults = [fault]
    with pytest.raises(IndexUnavailable):
        await index.books()


async def test_nobody_at_home_is_an_outage(open_index: OpenIndex) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        with pytest.raises(IndexUnavailable, match="QDRANT_URL"):
            await open_index(urls=(url,)).view(BOOK).search(a_query())
        with pytest.raises(IndexUnavailable):
            async with open_index(urls=(url,)).writer(BOOK):
                pass


async def test_a_search_that_fails_does_not_go_on_counting(
    index: QdrantIndex, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object, **__: object) -> None:
        await asyncio.to_thread(wire.wait_for, 1, "POST", "/collections/quoth/points/count")
        raise IndexUnavailable("No node answers.")

    monkeypatch.setattr(index.stored_points, "search", fail)
    wire.strikes, wire.faults = "/points/count", [Fault(silent=True)]
    before = asyncio.all_tasks()
    with pytest.raises(IndexUnavailable):
        await index.view(BOOK).search(a_query(filters=Filters(module="ros2")))
    assert asyncio.all_tasks() == before


async def test_a_wrong_key_is_a_wrong_setting_and_is_not_repeated(open_index: OpenIndex, wire: Wire) -> None:
    wire.api_key = "right"
    with pytest.raises(BadConfiguration, match="refuses the API key") as caught:
        await open_index(api_key="wrong-and-secret").books()
    assert "QDRANT_API_KEY" in caught.value.hint
    assert "wrong-and-secret" not in f"{caught.value} {QdrantOptions(urls=(), api_key='wrong-and-secret')!r}"
    assert len(wire.asked) == 1
    assert await open_index(api_key="right").books() == []


@pytest.mark.parametrize("version", ["1.18.2", "0.11.0"])
async def test_a_server_that_is_too_old_is_refused(open_index: OpenIndex, wire: Wire, version: str) -> None:
    wire.version = version
    with pytest.raises(BadConfiguration, match=rf"{version}; Quoth needs 1.19"):
        await open_index().books()


async def test_another_server_with_a_version_is_refused(open_index: OpenIndex, wire: Wire) -> None:
    wire.title = "weather service"
    with pytest.raises(IndexUnavailable, match="like Qdrant"):
        await open_index().books()


async def test_two_that_create_at_once_are_no_error(open_index: OpenIndex, wire: Wire) -> None:
    """The answer to the creation is lost, so it is requested again and already exists."""
    wire.strikes, wire.faults = "PUT /collections/quoth(-books)?$", [Fault(after=True), Fault(after=True)]
    await write(open_index(), indexed(a_chunk("one")))
    assert wire.faults == []
    assert await open_index().view(BOOK).count() == 1


async def test_a_publication_whose_answer_is_lost_counts_once(index: QdrantIndex, wire: Wire) -> None:
    async with index.writer(BOOK) as writer:
        await writer.put([indexed(a_chunk("two"))])
        wire.strikes, wire.faults = PUBLISH, [Fault(after=True), Fault(closed=True, after=True)]
        await writer.publish()
    assert wire.faults == []
    status = await index.status(BOOK)
    assert (status.generation, status.chunks) == (2, 2)


async def test_an_outage_in_the_middle_of_a_write_leaves_the_old_book(index: QdrantIndex, wire: Wire) -> None:
    calls = ["PUT /collections/quoth/points", "POST /collections/quoth/points/payload$", PUBLISH]
    for strikes in calls:
        async with index.writer(BOOK) as writer:
            wire.strikes, wire.faults = strikes, [Fault(500)] * 8
            with pytest.raises(IndexUnavailable):
                await put_and_publish(writer)
        assert wire.faults == []
        assert await index.view(BOOK).chunks([a_chunk("one").id]) == [a_chunk("one")]
        assert await index.view(BOOK).count() == 1
    await write(index, indexed(a_chunk("two")))
    assert await index.view(BOOK).count() == 2


async def put_and_publish(writer: Any) -> None:
    await writer.put([indexed(a_chunk("one", title="Other")), indexed(a_chunk("two"))])
    await writer.publish()


async def test_a_write_that_is_only_promised_is_not_done(index: QdrantIndex, wire: Wire) -> None:
    promised = b'{"result":{"operation_id":7,"status":"acknowledged"},"status":"ok","time":0.0}'
    async with index.writer(BOOK) as writer:
        wire.strikes, wire.faults = "PUT /collections/quoth/points", [Fault(200, promised)]
        with pytest.raises(IndexUnavailable, match="does not answer properly"):
            await writer.put([indexed(a_chunk("two"))])
