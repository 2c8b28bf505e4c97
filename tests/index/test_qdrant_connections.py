"""Requests to real addresses that are outrun or given up: none of their connections stays open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from qdrant_wire import Cluster, Fault, qdrant_cluster
from quoth.index.qdrant_nodes import Nodes, Request

pytestmark = pytest.mark.slow


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    with qdrant_cluster(3) as cluster:
        yield cluster


async def test_requests_that_were_outrun_or_given_up_leave_no_connection(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quoth.index.qdrant_nodes._FIRST_PAUSE", 0.0)  # the silent one is asked again and again
    silent = cluster.nodes[0]
    silent.faults = [Fault(silent=True)] * 1000
    nodes = Nodes([node.url for node in cluster.nodes], None)
    request = Request("GET", "/collections")
    for _ in range(10):
        assert (await nodes.ask(request, limit=60, wait=0.02, first=nodes.all[0])).node is not nodes.all[0]
    given_up = [asyncio.create_task(nodes.ask_one(nodes.all[0], request)) for _ in range(5)]
    await asyncio.to_thread(silent.wait_for, 15, "GET", "/collections")
    for task in given_up:
        task.cancel()
    await asyncio.gather(*given_up, return_exceptions=True)
    session = nodes._opened()
    assert session.connector is not None
    assert len(session.connector._acquired) == 0
    silent.awake.set()  # now it would write to clients that have gone
    await asyncio.to_thread(silent.wait_until_left)
    await nodes.close()
