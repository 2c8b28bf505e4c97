"""What is published of each book on a Qdrant server: which generation is live, and what is known about it as a whole.

Under `qdrant` and `qdrant_writer`. A second, tiny collection without vectors, `<name>-books`, holds for each book its
entry, replaced with one write that only succeeds when nobody else has replaced it; the records that the entry names
(`qdrant_records`); and the lease of its writer (`qdrant_lease`). A reader asks one copy and never goes back behind what
this process has seen; a writer asks a majority. It must not know what a generation holds.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from quoth.chunks.payload import of_book_record, to_book_record
from quoth.domain import Book, Fingerprint
from quoth.errors import Conflict, IndexMismatch, IndexUnavailable, Outage
from quoth.index.qdrant_collection import add_indexes, make_collection
from quoth.index.qdrant_filters import between, is_
from quoth.index.qdrant_nodes import Node
from quoth.index.qdrant_server import REBUILD, CollectionMissing, Json, Server

FORMAT = 2
_NAMESPACE = uuid.UUID("5f6f7d0e-6a0c-5c53-9f0e-2f1d3f9a7b11")
_MANY = 1000
_PIECE = 4_000_000  # characters of a record in one point: a server takes 32 MB in one request
# The fields that filters name.
_INDEXES: dict[str, Json] = {
    **{field: {"type": "keyword"} for field in ("kind", "book_id", "holder")},
    "generation": {"type": "integer"},
    "expires": {"type": "float"},
}
# Seconds between two looks at copies that disagree: a write is on its way.
_PAUSES = (0.05, 0.2, 0.8)

RecordPart = Literal["terms", "files"]
Points = tuple[str, ...]  # ids of the points that hold one record


@dataclass(frozen=True, slots=True)
class Entry:
    """One publication of one book."""

    book_id: str
    generation: int
    first: int  # the oldest generation whose points count: the one of the last recreation
    fingerprint: Fingerprint
    chunks: int
    published_at: datetime
    writer: str
    lineage: str  # the same from the first publication until the book is deleted
    records: tuple[Points, ...] = ()  # whose sum holds for this publication
    book: Book | None = None
    format: int = FORMAT

    @property
    def readable(self) -> bool:
        return self.format == FORMAT


class Ledger:
    def __init__(self, server: Server) -> None:
        self.server = server
        self._path = f"/collections/{server.options.collection}-books"
        self._ready = False
        self._seen: dict[str, Entry] = {}

    async def prepare(self) -> None:
        if self._ready:
            return
        try:
            found = await self.server.read(self._path)
        except CollectionMissing:
            wanted = {"vectors": {}, "shard_number": 1, **self.server.options.copies}
            await make_collection(self.server, self._path, wanted)
            found = await self.server.read(self._path)
        await add_indexes(self.server, self._path, _INDEXES, found)
        self._ready = True

    # --- entries --------------------------------------------------------------------------------------------------

    def seen(self, book_id: str) -> Entry | None:
        """The newest publication that this process knows of."""
        return self._seen.get(book_id)

    async def entry(self, book_id: str, at: Node | None = None) -> tuple[Entry | None, Node | None]:
        """The live entry, and a node whose copy shows it, so that what was published is there too. `at`: the node to
        ask first. A node that is behind what was seen before is skipped; if all are behind, what was seen holds. A book
        that was seen is gone when no node shows it, and is another one when a majority says so."""
        point, seen = _point("book", book_id), self._seen.get(book_id)
        for _ in self.server.nodes.all:
            payload, node = await self._shown(point, at)
            found = _entry_of(book_id, payload)
            if seen is None or found == seen:
                return self._remember(book_id, found), node
            if found is not None and found.lineage != seen.lineage:
                return await self._another(book_id, seen), None
            if found is not None and found.generation >= seen.generation:
                return self._remember(book_id, found), node
            if found is None and not await self._is_shown(point, seen):
                return self._remember(book_id, None), None
            self.server.nodes.behind(node)
            at = None
        return seen, None

    async def _another(self, book_id: str, seen: Entry) -> Entry:
        try:
            return await self.sure_entry(book_id) or seen
        except Outage:
            return seen

    async def _is_shown(self, point: str, seen: Entry) -> bool:
        shown = [_entry_of(seen.book_id, payload) for payload in await self._at_each_node(point)]
        return any(one and one.lineage == seen.lineage for one in shown)

    async def sure_entry(self, book_id: str, least: Entry | None = None) -> Entry | None:
        """What a majority of the copies says. A node that is cut off may take itself for the majority: if it shows less
        than was seen, or than `least`, the next one is asked. What all of them say holds."""
        least, found = least or self._seen.get(book_id), None
        for _ in self.server.nodes.all:
            payload, node = await self._sure(_point("book", book_id))
            found = _entry_of(book_id, payload)
            if not (found and least and found.lineage == least.lineage and found.generation < least.generation):
                break
            self.server.nodes.behind(node)
        return self._remember(book_id, found)

    async def books(self) -> list[str]:
        """Sorted by id. A book that was seen is there until no node shows it: a copy that is behind may leave it
        out."""
        listed = await self._listed()
        missing = [book_id for book_id in self._seen if book_id not in listed]
        return sorted({*listed, *[book_id for book_id in missing if (await self.entry(book_id))[0] is not None]})

    async def _listed(self) -> set[str]:
        found: set[str] = set()
        body: Json = {"filter": {"must": [is_("kind", "book")]}, "limit": _MANY, "with_payload": ["book_id"]}
        while True:
            try:
                page = await self.server.question(f"{self._path}/points/scroll", body)
            except CollectionMissing:
                return set()
            found.update(record["payload"]["book_id"] for record in page["points"])
            if (offset := page.get("next_page_offset")) is None:
                return found
            body = {**body, "offset": offset}

    async def publish(self, entry: Entry, *, instead_of: int) -> None:
        """Raises `Conflict` if the live generation is not the one that this one was made from."""
        point = _point("book", entry.book_id)
        try:
            await self.put(point, _payload(entry), only_if=[is_("generation", instead_of)])
        except Outage:
            # It may be stored, although no answer came in time.
            if await self.sure_entry(entry.book_id, entry) != entry:
                raise
        else:
            if await self.sure_entry(entry.book_id, entry) != entry:
                raise Conflict(f"Another writer has published the book {entry.book_id!r}.")

    async def delete(self, book_id: str) -> None:
        """The entry first, so that no reader finds half a book."""
        await self.remove({"points": [_point("book", book_id)]})
        await self.remove({"filter": {"must": [is_("kind", "record"), is_("book_id", book_id)]}})
        self._seen.pop(book_id, None)

    # --- records --------------------------------------------------------------------------------------------------

    async def put_record(self, book_id: str, generation: int, writer: str, terms: str, files: str) -> Points:
        ids = []
        for start in range(0, max(1, len(terms), len(files)), _PIECE):
            part = slice(start, start + _PIECE)
            ids.append(_point("record", f"{book_id}:{writer}:{generation}:{start}"))
            payload = {
                "kind": "record",
                "book_id": book_id,
                "generation": generation,
                "terms": terms[part],
                "files": files[part],
            }
            await self.put(ids[-1], payload)
        return tuple(ids)

    async def records(self, records: Sequence[Points], part: RecordPart) -> list[str]:
        """The named part of each record. A missing one is asked for again, from a majority."""
        ids = [point for record in records for point in record]
        if not ids:
            return []
        body = {"ids": ids, "with_payload": [part]}
        for query in (None, {"consistency": "quorum"}):
            found = await self.server.question(f"{self._path}/points", body, query=query)
            texts = {record["id"]: record["payload"][part] for record in found}
            if len(texts) == len(ids):
                return ["".join(texts[point] for point in record) for record in records]
        raise IndexUnavailable("The records of a published book are missing.", hint=REBUILD)

    async def forget_records(self, book_id: str, *, before: int | None = None, since: int | None = None) -> None:
        """Forget those that no publication in use needs: all before a generation, or what a killed writer left
        since."""
        limits = between("generation", since, None if before is None else before - 1)
        await self.remove({"filter": {"must": [is_("kind", "record"), is_("book_id", book_id), limits]}})

    # --- points of the collection ---------------------------------------------------------------------------------

    async def _shown(
        self, point: str, at: Node | None, query: Mapping[str, str] | None = None
    ) -> tuple[Json | None, Node]:
        """What the nearest copy of a node holds, unless the query asks for more copies."""
        at = at or self.server.nodes.next()
        try:
            found, node = await self.server.question_and_node(
                f"{self._path}/points", {"ids": [point], "with_payload": True}, query=query, at=at
            )
        except CollectionMissing:
            return None, at
        return (found[0]["payload"] if found else None), node

    async def read(self, point: str) -> Json | None:
        return (await self._shown(point, None))[0]

    async def sure(self, point: str) -> Json | None:
        """What a majority of the copies holds."""
        return (await self._sure(point))[0]

    async def _sure(self, point: str) -> tuple[Json | None, Node]:
        """The same, and the node that says so. Copies that disagree seem to hold nothing, so an empty answer is asked
        twice."""
        for pause in (*_PAUSES, None):
            found, node = await self._shown(point, None, {"consistency": "quorum"})
            if found is not None or pause is None or not any(await self._at_each_node(point)):
                break
            await asyncio.sleep(pause)
        return found, node

    async def _at_each_node(self, point: str) -> list[Json]:
        """What the copy at each node that answers holds, if it holds something."""
        body = {"ids": [point], "with_payload": True}
        return [found[0]["payload"] for found in await self.server.of_each(f"{self._path}/points", body) if found]

    async def put(self, point: str, payload: Json, *, only_if: Sequence[Json] = (), update_only: bool = False) -> None:
        """Insert, or replace only what fulfils one of the conditions. All writers go through one node: the order in
        which it gets two writes is the order on every copy."""
        body: Json = {"points": [{"id": point, "vector": {}, "payload": payload}]}
        if only_if:
            body["update_filter"] = {"should": list(only_if)}
        if update_only:
            body["update_mode"] = "update_only"
        await self.server.write(f"{self._path}/points", body, method="PUT", ordering="medium")

    async def remove(self, selector: Json) -> None:
        await self.server.write(f"{self._path}/points/delete", selector, ordering="medium")

    def _remember(self, book_id: str, entry: Entry | None) -> Entry | None:
        if entry is None:
            self._seen.pop(book_id, None)
        else:
            self._seen[book_id] = entry
        return entry


def check_format(entry: Entry) -> None:
    if not entry.readable:
        when = "an earlier" if entry.format < FORMAT else "a later"
        raise IndexMismatch(
            f"The index of {entry.book_id!r} was built by {when} Quoth (format {entry.format}, not {FORMAT})."
        )


def lease_point(book_id: str) -> str:
    return _point("lease", book_id)


def _point(kind: str, name: str) -> str:
    return str(uuid.uuid5(_NAMESPACE, f"{kind}:{name}"))


def _payload(entry: Entry) -> Json:
    return {
        "kind": "book",
        "book_id": entry.book_id,
        "format": entry.format,
        "generation": entry.generation,
        "first": entry.first,
        "fingerprint": entry.fingerprint.as_dict(),
        "chunks": entry.chunks,
        "published_at": entry.published_at.isoformat(),
        "writer": entry.writer,
        "lineage": entry.lineage,
        "records": [list(points) for points in entry.records],
        "book": to_book_record(entry.book),
    }


def _entry_of(book_id: str, payload: dict[str, Any] | None) -> Entry | None:
    if payload is None:
        return None
    try:
        return Entry(
            book_id=book_id,
            generation=payload["generation"],
            first=payload["first"],
            fingerprint=Fingerprint(**payload["fingerprint"]),
            chunks=payload["chunks"],
            published_at=datetime.fromisoformat(payload["published_at"]).astimezone(UTC),
            writer=payload["writer"],
            lineage=payload.get("lineage", ""),
            records=tuple(map(tuple, payload.get("records", ()))),
            book=of_book_record(payload.get("book")),
            format=payload["format"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise IndexUnavailable(
            f"The record of what is published of {book_id!r} is damaged.", hint=REBUILD, inside=f"the entry: {error!r}"
        ) from error
