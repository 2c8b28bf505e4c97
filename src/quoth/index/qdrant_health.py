"""Whether a Qdrant cluster has lost something although it answers: a node, or a copy of what it holds.

Under `qdrant`. In: the server. Out: the fault to show in /health, or None. Every node is asked for its own state, and
the cluster for the peers that it cannot reach and the copies that are not in use.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from quoth.errors import IndexUnavailable, Outage
from quoth.index.qdrant_nodes import Node
from quoth.index.qdrant_server import CollectionMissing, Json, Server
from quoth.together import together

_SECONDS = 0.6  # for one node to answer: less than a health check may take
_IN_USE = ("Active", "ActiveRead")


async def cluster_fault(server: Server) -> IndexUnavailable | None:
    """Raises a fault that makes the index unusable; returns one that only weakens it."""
    name = server.options.collection
    told = await together(
        *(_told_by(server, node) for node in server.nodes.all),
        *(_told_of(server, collection) for collection in (name, f"{name}-books")),
    )
    lost = [fault for faults in told for fault in faults]
    if not lost:
        return None
    return IndexUnavailable(
        "Part of the Qdrant cluster is missing. Questions are still answered.",
        hint="Start its missing nodes again; their copies catch up by themselves.",
        inside="; ".join(dict.fromkeys(lost)),
    )


async def _told_by(server: Server, node: Node) -> list[str]:
    """Each node is asked, because only the leader knows which others it cannot reach."""
    if len(server.nodes.all) == 1:
        return list(_told(await server.state("/cluster")))
    try:
        async with asyncio.timeout(_SECONDS):
            return list(_told(await server.of_one(node, "/cluster")))
    except TimeoutError:
        return [f"{node.name} does not answer"]
    except Outage as outage:
        return [outage.inside]


async def _told_of(server: Server, collection: str) -> list[str]:
    try:
        return list(_told(await server.state(f"/collections/{collection}/cluster")))
    except CollectionMissing:
        if await _has_books(server):
            raise
        return []


async def _has_books(server: Server) -> bool:
    """Before the first book, no collection is missing."""
    try:
        return bool((await server.state(f"/collections/{server.options.collection}-books"))["points_count"])
    except CollectionMissing:
        return False


def _told(status: Json) -> Iterable[str]:
    """For the peers: those that cannot be reached. For a collection: copies that are not in use."""
    for address, failures in (status.get("message_send_failures") or {}).items():
        yield f"peer {address} cannot be reached ({failures.get('latest_error') or 'no reason given'})"
    for shard in (*status.get("local_shards", ()), *status.get("remote_shards", ())):
        if shard["state"] not in _IN_USE:
            yield f"a copy of shard {shard['shard_id']} on peer {shard.get('peer_id', 'here')} is {shard['state']}"
