"""What a retrieval from a Qdrant server costs our process, beside Qdrant's own clients; `/search`; and an edit.

There is no Qdrant server here. A server that replays answers of the tests' stand-in takes its place
(`cluster_server.py`, a separate process), so the figures are those of the client: the time of a real server comes
on top, equally for every row. The whole retrieval is that of the product, on the sample book, without embedding.
`make bench-cluster` writes docs/benchmarks/cluster.json and cluster.md.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from array import array
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import grpc
from pydantic_core import from_json, to_json
from qdrant_client import AsyncQdrantClient, models
from qdrant_client import grpc as proto
from qdrant_client.conversions.conversion import GrpcToRest, RestToGrpc

from cluster_edits import edit_costs, records
from cluster_search import ANEW, FILES, KNOWN, Asked, search_calls
from quoth.ask.find import Retriever
from quoth.bootstrap import bootstrap, fingerprint_of
from quoth.domain import Vector
from quoth.index.qdrant import QdrantIndex
from quoth.index.qdrant_points import chunk_of
from quoth.index.qdrant_server import QdrantOptions
from quoth.settings import load_settings
from quoth.sources import open_source
from quoth.testing.embedder import FakeEmbedder
from quoth.testing.library import MemoryLibrary

ROOT = Path(__file__).resolve().parents[1]
BOOK, SAMPLE = "robotics-book", ROOT / "examples" / "robotics-book"
QUESTION = "How do late subscribers get the last message that was published?"
ROUNDS, WARM = 100, 10
NEARBY = 25  # passages that a framework fetches
FUSED = "one fused query with payloads, qdrant-client, REST"
Json = dict[str, Any]
Call = Callable[[], Awaitable[object]]


class Known(FakeEmbedder):
    """Embeds a query once: only the steps after it are measured."""

    def __init__(self) -> None:
        super().__init__(dimensions=384)
        self._queries: dict[str, Vector] = {}

    async def embed_query(self, text: str) -> Vector:
        if text not in self._queries:
            self._queries[text] = await super().embed_query(text)
        return self._queries[text]


async def cost(calls: dict[str, Call]) -> dict[str, Json]:
    """Medians of one call: milliseconds of this process's CPU, and by the clock. They take turns, so that other work on
    this machine affects all of them."""
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    for turn in range(WARM + ROUNDS):
        for name, call in calls.items():
            cpu, clock = time.process_time(), time.perf_counter()
            await call()
            measured = (time.process_time() - cpu) * 1000, (time.perf_counter() - clock) * 1000
            if turn >= WARM:
                spent[name].append(measured)
    return {
        name: {
            "cpu_ms": round(statistics.median(cpu for cpu, _ in times), 2),
            "clock_ms": round(statistics.median(clock for _, clock in times), 2),
        }
        for name, times in spent.items()
    }


# --- ours ---------------------------------------------------------------------------------------------------------


async def ingest(url: str, embedder: Known, folder: Path) -> int:
    index = QdrantIndex(QdrantOptions(urls=(url,)), fingerprint_of(embedder))
    settings = load_settings(environ={"QUOTH_DATA_DIR": str(folder)}, directory=folder)
    async with bootstrap(settings, embedder=embedder, index=index, library=MemoryLibrary()) as quoth:
        source = open_source(SAMPLE, book_id=BOOK)
        await quoth.ingest.run(source)
        return (await index.status(BOOK)).chunks


class Exchange:
    """The three requests of one retrieval, as they were sent, for clients that only send them."""

    def __init__(self, bodies: dict[str, Json]) -> None:
        self.ledger = next(body for path, body in bodies.items() if path.endswith("-books/points"))
        self.search = next(body for path, body in bodies.items() if path.endswith("/query/batch"))
        self.texts = next(body for path, body in bodies.items() if path.endswith("quoth/points"))
        dense, sparse = self.search["searches"]
        both = {"filter": dense["filter"]}
        legs = [{**{key: leg[key] for key in ("query", "using")}, **both, "limit": NEARBY} for leg in (dense, sparse)]
        self.fused: Json = {"prefetch": legs, "query": {"fusion": "rrf"}, "limit": NEARBY, "with_payload": True}


def recorded(index: QdrantIndex) -> list[tuple[str, Json]]:
    """Path and body of everything the index sends from now on."""
    bodies: list[tuple[str, Json]] = []
    nodes = index._server.nodes
    ask_one = nodes.ask_one

    async def listen(node: Any, request: Any) -> Any:
        bodies.append((request.path.partition("?")[0], from_json(request.body) if request.body else {}))
        return await ask_one(node, request)

    nodes.ask_one = listen  # type: ignore[method-assign]
    return bodies


# --- the others ---------------------------------------------------------------------------------------------------


def rest_calls(url: str, session: aiohttp.ClientSession, exchange: Exchange) -> dict[str, Call]:
    async def ask(path: str, body: Json) -> Any:
        headers = {"Content-Type": "application/json"}
        async with session.post(f"{url}/collections/{path}", data=to_json(body), headers=headers) as response:
            return from_json(await response.read())["result"]

    async def three() -> object:
        await asyncio.gather(
            ask("quoth-books/points", exchange.ledger), ask("quoth/points/query/batch", exchange.search)
        )
        records = await ask("quoth/points", exchange.texts)
        return [(chunk_of(record), array("f", record["vector"]["dense-384"])) for record in records]

    async def fused() -> object:
        return await ask("quoth/points/query/batch", {"searches": [exchange.fused]})

    return {
        "three requests, aiohttp and JSON alone": three,
        "one fused query with payloads, aiohttp and JSON alone": fused,
    }


def client_calls(client: AsyncQdrantClient, exchange: Exchange) -> Call:
    searches = models.QueryRequestBatch.model_validate(exchange.search).searches
    texts = models.PointRequest.model_validate(exchange.texts)
    ledger = models.PointRequest.model_validate(exchange.ledger)

    async def three() -> object:
        await asyncio.gather(client.retrieve("quoth-books", ledger.ids), client.query_batch_points("quoth", searches))
        return await client.retrieve("quoth", texts.ids, with_payload=True, with_vectors=["dense-384"])

    return three


def fused_call(client: AsyncQdrantClient, exchange: Exchange) -> Call:
    """Does what the retriever of a framework does."""
    fused = [models.QueryRequest.model_validate(exchange.fused)]
    return lambda: client.query_batch_points("quoth", fused)


class Stub:
    """gRPC's messages without a client around them."""

    def __init__(self, exchange: Exchange) -> None:
        searches = models.QueryRequestBatch.model_validate(exchange.search).searches
        self.search = proto.QueryBatchPoints(
            collection_name="quoth", query_points=[RestToGrpc.convert_query_request(one, "quoth") for one in searches]
        )
        texts = models.PointRequest.model_validate(exchange.texts)
        self.get = proto.GetPoints(
            collection_name="quoth",
            ids=[proto.PointId(uuid=str(one)) for one in texts.ids],
            with_payload=RestToGrpc.convert_with_payload_interface(True),
            with_vectors=RestToGrpc.convert_with_vectors(["dense-384"]),
        )

    @staticmethod
    def answers(batch: list[Json], records: list[Json]) -> dict[str, str]:
        """The REST answers, as messages."""
        hits = [[models.ScoredPoint.model_validate({"version": 0, **hit}) for hit in one["points"]] for one in batch]
        results = [proto.BatchResult(result=map(RestToGrpc.convert_scored_point, one)) for one in hits]
        found = proto.QueryBatchResponse(result=results, time=0.0)
        read = map(RestToGrpc.convert_record, map(models.Record.model_validate, records))
        messages: dict[str, Any] = {
            "/qdrant.Points/QueryBatch": found,
            "/qdrant.Points/Get": proto.GetResponse(result=read, time=0.0),
        }
        return {name: base64.b64encode(message.SerializeToString()).decode() for name, message in messages.items()}

    def calls(self, channel: grpc.aio.Channel) -> dict[str, Call]:
        stub = proto.PointsStub(channel)  # type: ignore[no-untyped-call]

        async def three() -> object:
            # The ledger's answer is one small point; the same message stands in for it.
            found, _ = await asyncio.gather(stub.QueryBatch(self.search), stub.QueryBatch(self.search))
            hits = [(hit.payload["chunk_id"].string_value, hit.score) for one in found.result for hit in one.result]
            records = (await stub.Get(self.get)).result
            read = [GrpcToRest.convert_record(record).model_dump() for record in records]
            return hits, [(chunk_of(record), array("f", record["vector"]["dense-384"])) for record in read]

        return {"three requests, gRPC's messages alone": three}


# --- the run ------------------------------------------------------------------------------------------------------


async def measured(stand_in: str, repeating: str, grpc_port: Callable[[dict[str, str]], int], folder: Path) -> Json:
    embedder = Known()
    chunks = await ingest(stand_in, Known(), folder)
    index = QdrantIndex(QdrantOptions(urls=(repeating,)), fingerprint_of(embedder))
    retriever = Retriever(index, embedder)

    async def ours() -> None:
        assert (await retriever.find(QUESTION, book_id=BOOK)).passages

    async def ours_anew() -> None:
        index.stored_points._kept.clear()
        await ours()

    await ours()
    bodies = recorded(index)
    await ours_anew()
    exchange = Exchange(dict(bodies))
    stub = Stub(exchange)
    async with aiohttp.ClientSession() as session:
        lean = rest_calls(repeating, session, exchange)
        async with session.post(f"{repeating}/collections/quoth/points/query/batch", json=exchange.search) as response:
            batch = (await response.json())["result"]
        async with session.post(f"{repeating}/collections/quoth/points", json=exchange.texts) as response:
            texts = (await response.json())["result"]
        port = grpc_port(Stub.answers(batch, texts))
        channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}")
        rest = AsyncQdrantClient(repeating, check_compatibility=False, timeout=60)
        over_grpc = AsyncQdrantClient(
            repeating, prefer_grpc=True, grpc_port=port, check_compatibility=False, timeout=60
        )
        calls = {
            "whole retrieval, no passage known": ours_anew,
            "whole retrieval, passages known": ours,
            **lean,
            **stub.calls(channel),
            "three requests, qdrant-client, REST": client_calls(rest, exchange),
            "three requests, qdrant-client, gRPC": client_calls(over_grpc, exchange),
            FUSED: fused_call(rest, exchange),
        }
        found = await cost(calls)
        await rest.close()
        await over_grpc.close()
        await channel.close()
    await index.close()
    async with search_calls(repeating, embedder, folder, Asked(SAMPLE, BOOK, QUESTION)) as doors:
        searches = await cost(doors)
    edits = await edit_costs(stand_in, embedder, BOOK, (1_000, 10_000, 100_000), recorded)
    return {"cores": os.cpu_count(), "chunks": chunks, "retrieval": found, "search": searches, "edit": edits}


PAGE = """# A retrieval from a Qdrant server: what it costs our process

Written by `make bench-cluster`. **Not measured on a Qdrant server**: a server that only replays recorded answers takes
its place, in a separate process, so these are the costs of the clients. {chunks} chunks of the sample book, medians of
{rounds} calls in turns, {cores} cores. The embedding is left out.

| call | CPU, ms | by the clock, ms |
|---|---|---|
{rows}

The whole retrieval (three requests in two rounds, parsing, fusion, the judge's terms) takes {cpu} ms of CPU (target:
10) and {times:.1f} times as long as one fused query with payloads through qdrant-client (target: 3). With a real server
both also wait for it, so this shows what our side adds.

## /search

The whole door, from the request as the app gets it to the answer in JSON, on the same book in files and on the server;
again without the time of a Qdrant server. A request takes {anew_times:.1f} times as much of our CPU as one from files
if no passage is known, and {known_times:.1f} times if they are. The target is half the rate of the files on the same
two cores: so on these cores Qdrant may spend {left:.1f} ms of CPU on a request, or {left_known:.1f} ms if the passages
are known. How much it does spend was not measured here.

| call | CPU, ms | by the clock, ms |
|---|---|---|
{searches}

## An edit

One page of four chunks, against the tests' stand-in, whose own time is not counted. So this does not show that an
edit of 100,000 chunks takes less than a second (the target). It shows what we send and how much of that second is ours.

| chunks in the book | CPU of our process, ms | requests | chunks written |
|---|---|---|---|
{edits}

In a book of 100,000 chunks, an edit reads {files_kB} kB about its files ({files_ms} ms), and a new reader {terms_kB} kB
about its words ({terms_ms} ms), once per publication.
"""


def rows(found: dict[str, Json]) -> str:
    return "\n".join(f"| {name} | {one['cpu_ms']} | {one['clock_ms']} |" for name, one in found.items())


def search_words(cpu: dict[str, float]) -> Json:
    return {
        "anew_times": cpu[ANEW] / cpu[FILES],
        "known_times": cpu[KNOWN] / cpu[FILES],
        "left": 2 * cpu[FILES] - cpu[ANEW],
        "left_known": 2 * cpu[FILES] - cpu[KNOWN],
    }


def page(figures: Json) -> str:
    found = figures["retrieval"]
    whole, fused = found["whole retrieval, no passage known"], found[FUSED]
    return PAGE.format(
        chunks=figures["chunks"],
        rounds=ROUNDS,
        cores=figures["cores"],
        rows=rows(found),
        searches=rows(figures["search"]),
        **search_words({name: one["cpu_ms"] for name, one in figures["search"].items()}),
        cpu=whole["cpu_ms"],
        times=whole["clock_ms"] / fused["clock_ms"],
        edits="\n".join(
            f"| {size} | {one['cpu_ms']} | {one['requests']} | {one['written']} |"
            for size, one in figures["edit"].items()
        ),
        **figures["records of 100,000 chunks"],
    )


def main() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])}
    server = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("cluster_server.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    into, out_of = server.stdin, server.stdout
    try:
        stand_in, repeating = out_of.readline().split()
        with tempfile.TemporaryDirectory() as folder:

            def grpc_port(answers: dict[str, str]) -> int:
                told = Path(folder) / "answers.json"
                told.write_text(json.dumps(answers))
                print(told, file=into, flush=True)
                return int(out_of.readline())

            figures = asyncio.run(measured(stand_in, repeating, grpc_port, Path(folder)))
    finally:
        server.kill()
        server.wait()
    figures["records of 100,000 chunks"] = records(100_000)
    out = ROOT / "docs" / "benchmarks"
    (out / "cluster.json").write_text(json.dumps(figures, indent=2) + "\n")
    (out / "cluster.md").write_text(page(figures))
    print((out / "cluster.md").read_text())


if __name__ == "__main__":
    main()
