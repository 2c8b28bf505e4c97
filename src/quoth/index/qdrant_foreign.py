"""Reads a collection that Quoth did not make, so that its texts can be imported.

Beside `qdrant`. In: the server and the name of a collection. Out: the payloads of its points; vectors are not read, and
nothing is written. It must not know what a payload means.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any
from urllib.parse import quote

from quoth.errors import NotFound
from quoth.index.qdrant_server import CollectionMissing, Json, QdrantOptions, Server

_AT_ONCE = 256


async def foreign_payloads(options: QdrantOptions, name: str) -> AsyncIterator[Mapping[str, Any]]:
    """Raises `NotFound` if the server has no such collection."""
    server = Server(options)
    body: Json = {"limit": _AT_ONCE, "with_payload": True, "with_vector": False}
    try:
        while True:
            found = await server.read(f"/collections/{quote(name, safe='')}/points/scroll", body)
            for record in found["points"]:
                yield record.get("payload") or {}
            if (offset := found.get("next_page_offset")) is None:
                return
            body = {**body, "offset": offset}
    except CollectionMissing as missing:
        raise NotFound(
            f"The Qdrant server has no collection {name!r}.", hint="Check the name, and QDRANT_URL."
        ) from missing
    finally:
        await server.close()
