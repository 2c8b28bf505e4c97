"""What Quoth asks of chunks, in the words of qdrant-client: a View of a book, conditions on payloads, payload indexes.

Under `adapters/qdrant_points.py`; pure. The embedded engine has the same words in other classes
(`adapters/edge_shard.py`); what is asked stands once, in `payload.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from qdrant_client import models

from quoth.chunks.payload import PAYLOAD_INDEXES, PayloadIndex
from quoth.domain import Condition

CHUNK_ID, BORN, GONE = "chunk_id", "born", "gone"
INDEXES = (
    *PAYLOAD_INDEXES,
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

    def filter(self, *more: models.Condition) -> models.Filter:
        return models.Filter(
            must=[book(self.book_id), between(BORN, self.first, self.last), *more],
            must_not=[between(GONE, None, self.last)],
        )


def each(view: View, field: str, values: Iterable[str]) -> Iterator[models.Filter]:
    """The view's points whose field is one of many values, in as many filters as it takes."""
    every = list(values)
    for start in range(0, len(every), PAGE):
        yield view.filter(condition(Condition(field, any_of=tuple(every[start : start + PAGE]))))


def condition(wanted: Condition) -> models.FieldCondition:
    match: models.Match
    if wanted.prefix is not None:
        match = models.MatchPrefix(prefix=wanted.prefix)
    elif wanted.any_of:
        match = models.MatchAny(any=list(wanted.any_of))
    elif wanted.equals is not None:
        match = models.MatchValue(value=wanted.equals)
    else:
        return between(wanted.field, wanted.least, wanted.most)
    return models.FieldCondition(key=wanted.field, match=match)


def between(field: str, least: int | None, most: int | None) -> models.FieldCondition:
    return models.FieldCondition(key=field, range=models.Range(gte=least, lte=most))


def book(book_id: str) -> models.FieldCondition:
    return models.FieldCondition(key="book_id", match=models.MatchValue(value=book_id))


def index_params(index: PayloadIndex) -> models.KeywordIndexParams | models.IntegerIndexParams:
    if index.kind == "integer":
        return models.IntegerIndexParams(type=models.IntegerIndexType.INTEGER, lookup=True, range=True)
    return models.KeywordIndexParams(
        type=models.KeywordIndexType.KEYWORD, is_tenant=index.tenant or None, prefix=index.prefix or None
    )
