"""What Quoth asks of chunks, in the JSON of Qdrant: a View of a book, conditions on payloads, payload indexes.

Under `qdrant_points`; pure. The embedded index asks the same of its columns (`fields`); what can be asked is defined
once, in `domain/filters.py` and `chunks/payload.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from quoth.chunks.payload import PAYLOAD_INDEXES, PayloadIndex
from quoth.domain import Condition
from quoth.index.qdrant_nodes import Node
from quoth.index.qdrant_server import Json

CHUNK_ID, BORN, GONE = "chunk_id", "born", "gone"
INDEXES = (
    *PAYLOAD_INDEXES,
    PayloadIndex("source_file", "keyword"),
    PayloadIndex(CHUNK_ID, "keyword"),
    PayloadIndex(BORN, "integer"),
    PayloadIndex(GONE, "integer"),
)
PAGE = 1024


@dataclass(frozen=True, slots=True)
class View:
    """Points of the book born in `first` … `last` and not gone by `last`."""

    book_id: str
    first: int
    last: int
    at: Node | None = field(default=None, compare=False)  # a node whose copy is known to hold it; it is asked first

    def filter(self, *more: Json) -> Json:
        return {
            "must": [is_(("book_id"), self.book_id), between(BORN, self.first, self.last), *more],
            "must_not": [between(GONE, None, self.last)],
        }


def each(view: View, field: str, values: Iterable[str]) -> Iterator[Json]:
    """The view's points whose field is one of many values, in as many filters as it takes."""
    every = list(values)
    for start in range(0, len(every), PAGE):
        yield view.filter(condition(Condition(field, any_of=tuple(every[start : start + PAGE]))))


def condition(wanted: Condition) -> Json:
    if wanted.prefix is not None:
        return {"key": wanted.field, "match": {"prefix": wanted.prefix}}
    if wanted.any_of:
        return {"key": wanted.field, "match": {"any": list(wanted.any_of)}}
    if wanted.equals is not None:
        return is_(wanted.field, wanted.equals)
    return between(wanted.field, wanted.least, wanted.most)


def is_(field: str, value: str | int) -> Json:
    return {"key": field, "match": {"value": value}}


def between(field: str, least: int | None, most: int | None) -> Json:
    limits = {"gte": least, "lte": most}
    return {"key": field, "range": {name: limit for name, limit in limits.items() if limit is not None}}


def index_params(index: PayloadIndex) -> Json:
    if index.kind == "integer":
        return {"type": "integer", "lookup": True, "range": True}
    wanted = {"is_tenant": index.tenant, "prefix": index.prefix}
    return {"type": "keyword", **{name: True for name, asked in wanted.items() if asked}}
