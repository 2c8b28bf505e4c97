"""What one node of a Qdrant server holds, for tests: collections in parts (shards), each in a local engine of
qdrant-client, which is not ours.

In: a REST call of Qdrant, whose body has to be one that Qdrant's own description allows, with no field beyond it. Out:
what a server answers. A part knows only its own points, so whatever a server counts in each shard by itself (an IDF)
differs here too. Where the local engine differs from a server it is simpler: it
searches exactly and keeps no payload index (this file only remembers that they were asked for).
"""

from __future__ import annotations

import json
import uuid
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, TypeAdapter
from qdrant_client import QdrantClient, models

Body = dict[str, Any]
DONE = {"operation_id": 0, "status": "completed"}
READS = ("/points", "/points/scroll", "/points/count", "/points/query/batch")


@dataclass
class Copy:
    """By collection, its parts."""

    parts: dict[str, list[QdrantClient]] = field(default_factory=dict)
    made: dict[str, Body] = field(default_factory=dict)  # what each collection was made with
    indexes: dict[str, dict[str, Any]] = field(default_factory=dict)

    def answer(self, method: str, name: str, rest: str, body: Body) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the local engine: what it does not need
            return plain(self._answer(method, name, rest, body))

    def _answer(self, method: str, name: str, rest: str, body: Body) -> Any:
        if (method, rest) == ("PUT", ""):
            return self._create(name, body)
        if name not in self.parts:
            raise ValueError(f"Not found: Collection `{name}` doesn't exist!")
        if rest == "" and method == "DELETE":
            self.indexes.pop(name, None)
            return bool(self.parts.pop(name))
        if rest == "" and method == "PATCH":
            models.UpdateCollection.model_validate(body)
            return True
        if rest == "":
            return self._describe(name)
        if rest == "/index":
            models.CreateFieldIndex.model_validate(body)
            self.indexes.setdefault(name, {})[body["field_name"]] = body["field_schema"]
            return DONE
        parts = self.parts[name]
        if bare := fields_named(body) - self.indexes.get(name, {}).keys():
            raise ValueError(f"Bad request: Index required but not found for {sorted(bare)}")
        if rest.startswith("/vectors/"):
            for part in parts:
                part.create_vector_name(name, rest.removeprefix("/vectors/"), model(models.VectorNameConfig, body))
            return DONE
        if method == "POST" and rest in READS:
            return ANSWERS[rest]([MERGED[rest](part, name, body) for part in parts], body)
        for number, part in enumerate(parts):
            WRITES[method, rest](part, name, share_of(body, number, len(parts)))
        return DONE

    def points(self, name: str) -> dict[str, Any]:
        """All that is held, for comparisons."""
        return {
            str(record.id): plain(record)
            for part in self.parts[name]
            for record in part.scroll(name, limit=1_000_000, with_payload=True, with_vectors=True)[0]
        }

    def take_over(self, other: Copy) -> None:
        """What another copy holds instead of what was held before."""
        for name, body in other.made.items():
            if name in self.parts:
                del self.parts[name]
            self._create(name, body)
            self.indexes = {name: dict(fields) for name, fields in other.indexes.items()}
            for mine, theirs in zip(self.parts[name], other.parts[name], strict=True):
                records, _ = theirs.scroll(name, limit=1_000_000, with_payload=True, with_vectors=True)
                points = [models.PointStruct.model_validate(plain(one)) for one in records]
                if points:
                    mine.upsert(name, points)

    def _create(self, name: str, body: Body) -> bool:
        if name in self.parts:
            raise ValueError(f"Wrong input: Collection `{name}` already exists!")
        wanted = models.CreateCollection.model_validate(body)
        vectors = wanted.vectors if wanted.vectors is not None else {}
        self.parts[name] = [QdrantClient(":memory:") for _ in range(body.get("shard_number", 1))]
        self.made[name] = body
        for part in self.parts[name]:
            part.create_collection(name, vectors_config=vectors, sparse_vectors_config=wanted.sparse_vectors)
        return True

    def _describe(self, name: str) -> Body:
        found: Body = plain(self.parts[name][0].get_collection(name))
        found["points_count"] = sum(part.count(name).count for part in self.parts[name])
        fields = self.indexes.get(name, {})
        found["payload_schema"] = {
            field: {"data_type": params["type"], "points": 0} for field, params in fields.items()
        }
        return found


def fields_named(body: Any) -> set[str]:
    """By the filters of a body. Qdrant's cloud refuses those that have no index."""
    if isinstance(body, list):
        return {name for item in body for name in fields_named(item)}
    if not isinstance(body, dict):
        return set()
    named = {body["key"]} if body.keys() & {"match", "range"} else set()
    inner = (item for field, item in body.items() if field not in ("payload", "vector"))
    return named.union(*map(fields_named, inner))


def share_of(body: Body, number: int, parts: int) -> Body:
    """Of points that are written or named by id, those of one part."""
    if parts == 1 or not isinstance(body.get("points"), list):
        return body
    ids = [(point["id"] if isinstance(point, dict) else point, point) for point in body["points"]]
    return {**body, "points": [point for id, point in ids if uuid.UUID(id).int % parts == number]}


def _retrieve(engine: QdrantClient, name: str, body: Body) -> Any:
    wanted = models.PointRequest.model_validate(body)
    payload = wanted.with_payload if wanted.with_payload is not None else True
    return engine.retrieve(name, wanted.ids, with_payload=payload, with_vectors=wanted.with_vector or False)


def _scroll(engine: QdrantClient, name: str, body: Body) -> Any:
    wanted = models.ScrollRequest.model_validate(body)
    return engine.scroll(
        name,
        wanted.filter,
        limit=wanted.limit or 10,
        offset=wanted.offset,
        with_payload=wanted.with_payload if wanted.with_payload is not None else True,
        with_vectors=wanted.with_vector or False,
    )


MERGED: dict[str, Callable[[QdrantClient, str, Body], Any]] = {
    "/points": _retrieve,
    "/points/scroll": _scroll,
    "/points/count": lambda engine, name, body: engine.count(
        name, models.CountRequest.model_validate(body).filter, exact=body.get("exact", True)
    ),
    "/points/query/batch": lambda engine, name, body: engine.query_batch_points(
        name, models.QueryRequestBatch.model_validate(body).searches
    ),
}


def _all_scrolled(found: list[Any], body: Body) -> Body:
    records = sorted((record for page, _ in found for record in page), key=lambda record: str(record.id))
    limit = body.get("limit") or 10
    further = [str(offset) for _, offset in found if offset is not None] + [str(one.id) for one in records[limit:]]
    return {"points": records[:limit], "next_page_offset": min(further, default=None)}


def _all_ranked(found: list[Any], body: Body) -> list[Body]:
    return [
        {
            "points": sorted((hit for part in found for hit in part[place].points), key=lambda hit: -hit.score)[
                : search.get("limit", 10)
            ]
        }
        for place, search in enumerate(body["searches"])
    ]


ANSWERS: dict[str, Callable[[list[Any], Body], Any]] = {
    "/points": lambda found, body: [record for part in found for record in part],
    "/points/scroll": _all_scrolled,
    "/points/count": lambda found, body: {"count": sum(part.count for part in found)},
    "/points/query/batch": _all_ranked,
}


def _upsert(engine: QdrantClient, name: str, body: Body) -> None:
    if not body["points"]:
        return
    wanted = models.PointsList.model_validate(body)
    engine.upsert(name, wanted.points, update_filter=wanted.update_filter, update_mode=wanted.update_mode)


def _delete(engine: QdrantClient, name: str, body: Body) -> None:
    if "filter" in body or body["points"]:
        engine.delete(name, model(models.PointsSelector, body))


def _set_payload(engine: QdrantClient, name: str, body: Body) -> None:
    wanted = models.SetPayload.model_validate(body)
    engine.set_payload(name, wanted.payload, model(models.FilterSelector, {"filter": wanted.filter}))


def _delete_payload(engine: QdrantClient, name: str, body: Body) -> None:
    wanted = models.DeletePayload.model_validate(body)
    engine.delete_payload(name, wanted.keys, model(models.FilterSelector, {"filter": wanted.filter}))


WRITES: dict[tuple[str, str], Callable[[QdrantClient, str, Body], Any]] = {
    ("PUT", "/points"): _upsert,
    ("POST", "/points/delete"): _delete,
    ("POST", "/points/payload"): _set_payload,
    ("POST", "/points/payload/delete"): _delete_payload,
}


def model(kind: Any, body: Any) -> Any:
    return TypeAdapter(kind).validate_python(body)


def plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_none=True)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def agreed(found: list[Any], rest: str, wanted: int) -> Any:
    """The points that enough copies hold alike."""
    assert rest == "/points", f"only points by id are read from several copies, not {rest}"
    votes = [json.dumps(record, sort_keys=True) for answer in found for record in answer]
    least = wanted if len(found) == wanted else wanted // 2 + 1
    return [json.loads(vote) for vote in dict.fromkeys(votes) if votes.count(vote) >= least]


def described(kind: type[BaseModel], found: Body) -> Body:
    """The answer, if Qdrant's own description allows it."""
    kind.model_validate(found)
    return found
