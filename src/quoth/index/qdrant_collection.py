"""The collection that holds the chunks of all books on a Qdrant server: made by the first writer, repaired by any.

Under `qdrant`. In: how to keep it. Out: a collection with a vector for every size of embedding, one for terms,
and the payload indexes that queries need. It must not know a chunk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from quoth.errors import BadConfiguration, IndexUnavailable
from quoth.index.qdrant_filters import INDEXES, index_params
from quoth.index.qdrant_nodes import Node
from quoth.index.qdrant_points import TERMS, dense_name
from quoth.index.qdrant_server import AlreadyThere, CollectionMissing, Json, Server

# Times the usual timeout: an index over a whole collection takes long to build.
_PATIENCE = 12.0
# Milliseconds that a node waits for another copy before it asks one more.
_FAN_OUT_DELAY = 200
_APPEARS = 5.0  # seconds for every node to hear of a new collection
_EARLIER_TERMS = "sparse"  # of an earlier Quoth, whose books are built again


class Collection:
    def __init__(self, server: Server, dimensions: int) -> None:
        self._server = server
        self._path = f"/collections/{server.options.collection}"
        self._dense = dense_name(dimensions)
        self._dimensions = dimensions
        self._ready = False

    async def prepare(self) -> None:
        """Make the collection and its indexes, or whatever is missing."""
        if self._ready:
            return
        try:
            found = await self._server.read(self._path)
        except CollectionMissing:
            await make_collection(self._server, self._path, self._wanted())
            found = await self._server.read(self._path)
        params = found["config"]["params"]
        terms = params.get("sparse_vectors") or {}
        if not {TERMS, _EARLIER_TERMS} & terms.keys():
            raise BadConfiguration(
                f"The collection {self._server.options.collection!r} was not made by Quoth.",
                hint="Set QDRANT_COLLECTION_NAME to another name. `quoth migrate-index --from-collection "
                f"{self._server.options.collection}` then imports its texts.",
            )
        if TERMS not in terms:
            await self._add_vector(TERMS, {"sparse": {}})
        if self._dense not in (params.get("vectors") or {}):
            await self._add_vector(self._dense, {"dense": {"size": self._dimensions, "distance": "Cosine"}})
        await add_indexes(self._server, self._path, {index.field: index_params(index) for index in INDEXES}, found)
        self._ready = True

    async def _add_vector(self, name: str, config: Json) -> None:
        await self._server.write(f"{self._path}/vectors/{name}", config, method="PUT")

    def _wanted(self) -> Json:
        options = self._server.options
        dense: Json = {"size": self._dimensions, "distance": "Cosine"}
        wanted: Json = {
            "vectors": {self._dense: {**dense, "on_disk": True} if options.on_disk else dense},
            "sparse_vectors": {TERMS: {}},
            # One graph for each book, none over all of them.
            "hnsw_config": {"m": 0, "payload_m": 16},
            "shard_number": options.shards,
            **options.copies,
        }
        if options.int8:
            wanted["quantization_config"] = {"scalar": {"type": "int8", "always_ram": True}}
        return wanted


async def make_collection(server: Server, path: str, wanted: Json) -> None:
    """Returns when every node that answers has heard of it."""
    with suppress(AlreadyThere):
        await server.make(path, wanted, patience=_PATIENCE)
    if server.options.replicas > 1:
        delay = {"params": {"read_fan_out_delay_ms": _FAN_OUT_DELAY}}
        await server.make(path, delay, method="PATCH", patience=_PATIENCE)
    await asyncio.gather(*(_appears(server, node, path) for node in server.nodes.all))


async def add_indexes(server: Server, path: str, wanted: Mapping[str, Json], found: Json) -> None:
    """Add the indexes that the collection, as it was `found`, does not have. Every field that a filter names needs one:
    Qdrant's cloud refuses other filters."""
    for field, schema in wanted.items():
        if field not in found["payload_schema"]:
            body = {"field_name": field, "field_schema": schema}
            await server.write(f"{path}/index", body, method="PUT", patience=_PATIENCE)


async def _appears(server: Server, node: Node, path: str) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(_APPEARS):
            while True:
                try:
                    await server.of_one(node, path)
                except CollectionMissing:
                    await asyncio.sleep(0.05)
                except IndexUnavailable:
                    return  # it is down, and learns of it when it is back
                else:
                    return
