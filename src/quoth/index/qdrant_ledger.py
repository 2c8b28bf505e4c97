"""Which generation of a book is live on a Qdrant server, and who may write the next one.

Under `adapters/qdrant.py`. A second, tiny collection without vectors, `<name>-books`, holds two points for each book:
its entry, replaced with one write that only succeeds when nobody else has replaced it, and the lease of its writer,
which expires when the writer is silent. It must not know what a generation holds.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from qdrant_client import models

from quoth.domain import Fingerprint
from quoth.errors import Conflict, IndexUnavailable, Outage
from quoth.index.qdrant_client import REBUILD, AlreadyThere, CollectionMissing, Server

FORMAT = 1
_NAMESPACE = uuid.UUID("5f6f7d0e-6a0c-5c53-9f0e-2f1d3f9a7b11")
_MANY = 1000

log = logging.getLogger(__name__)


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


class Ledger:
    def __init__(self, server: Server, wall: Callable[[], float] = time.time) -> None:
        self._server = server
        self._name = f"{server.options.collection}-books"
        self.wall = wall
        self._ready = False

    async def prepare(self) -> None:
        if self._ready:
            return
        options = self._server.options
        try:
            await self._server.ask(lambda client: client.get_collection(self._name))
        except CollectionMissing:
            with suppress(AlreadyThere):
                await self._server.ask(
                    lambda client: client.create_collection(
                        self._name,
                        vectors_config={},
                        shard_number=1,
                        replication_factor=options.replicas,
                        write_consistency_factor=options.write_consistency or options.replicas,
                    )
                )
        self._ready = True

    async def entry(self, book_id: str) -> Entry | None:
        payload = await self._read(_point("book", book_id))
        return None if payload is None else _entry(book_id, payload)

    async def books(self) -> list[str]:
        found: list[str] = []
        offset: models.ExtendedPointId | None = None
        while True:
            try:
                records, offset = await self._server.ask(
                    lambda client, offset=offset: client.scroll(  # type: ignore[misc]
                        self._name, models.Filter(must=[_is("kind", "book")]), limit=_MANY, offset=offset
                    )
                )
            except CollectionMissing:
                return []
            found.extend((record.payload or {})["book_id"] for record in records)
            if offset is None:
                return sorted(found)

    async def publish(self, entry: Entry, *, instead_of: int) -> None:
        """`Conflict` when the live generation is not the one that this one was made from."""
        payload = {
            "kind": "book",
            "book_id": entry.book_id,
            "format": FORMAT,
            "generation": entry.generation,
            "first": entry.first,
            "fingerprint": entry.fingerprint.as_dict(),
            "chunks": entry.chunks,
            "published_at": entry.published_at.isoformat(),
            "writer": entry.writer,
        }
        await self._put(_point("book", entry.book_id), payload, only_if=[_is("generation", instead_of)])
        if await self.entry(entry.book_id) != entry:
            raise Conflict(f"Another writer has published the book {entry.book_id!r}.")

    async def delete(self, book_id: str) -> None:
        await self._delete(models.PointIdsList(points=[_point("book", book_id)]))

    # --- leases ---------------------------------------------------------------------------------------------------

    async def acquire(self, book_id: str, holder: str) -> float:
        """Take the lease, or keep it, and say when it ends; `Conflict` names who has it."""
        point, now = _point("lease", book_id), self.wall()
        expires = now + self._server.options.lease
        payload = {
            "kind": "lease",
            "book_id": book_id,
            "holder": holder,
            "who": f"pid {os.getpid()} on {socket.gethostname()}",
            "expires": expires,
        }
        expired = models.FieldCondition(key="expires", range=models.Range(lt=now))
        await self._put(point, payload, only_if=[_is("holder", holder), expired])
        found = await self._read(point)
        if found is None or found["holder"] != holder:
            raise Conflict(_held(book_id, found or {}, now))
        return expires

    async def release(self, book_id: str, holder: str) -> None:
        mine = models.Filter(must=[_is("kind", "lease"), _is("book_id", book_id), _is("holder", holder)])
        await self._delete(models.FilterSelector(filter=mine))

    async def _read(self, point: str) -> dict[str, Any] | None:
        try:
            records = await self._server.ask(
                lambda client: client.retrieve(
                    self._name, [point], with_payload=True, consistency=models.ReadConsistencyType.MAJORITY
                )
            )
        except CollectionMissing:
            return None
        return records[0].payload if records else None

    async def _put(self, point: str, payload: dict[str, Any], *, only_if: list[models.Condition]) -> None:
        """Insert; or replace, but only what fulfils one of the conditions."""
        await self._server.write(
            lambda client: client.upsert(
                self._name,
                [models.PointStruct(id=point, vector={}, payload=payload)],
                ordering=models.WriteOrdering.STRONG,
                update_filter=models.Filter(should=only_if),
            )
        )

    async def _delete(self, selector: models.PointIdsList | models.FilterSelector) -> None:
        await self._server.write(
            lambda client: client.delete(self._name, selector, ordering=models.WriteOrdering.STRONG)
        )


class Lease:
    """The right to write one book, kept alive in the background for as long as the block lasts."""

    def __init__(self, ledger: Ledger, book_id: str, seconds: float, attempt: float) -> None:
        self._ledger = ledger
        self._book_id = book_id
        self.holder = str(uuid.uuid4())
        self._renew_after = seconds / 4
        # Another writer may come when the lease is over; by then the last write of ours has to be over too.
        self._margin = min(2 * attempt, seconds / 2)
        self._expires = 0.0
        self._lost: Conflict | None = None
        self._renewing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Lease:
        self._expires = await self._ledger.acquire(self._book_id, self.holder)
        self._renewing = asyncio.create_task(self._keep())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.wait([self._renewing])
        if self._lost is None:
            await self._ledger.release(self._book_id, self.holder)

    def check(self) -> None:
        """Before every write."""
        if self._lost is not None:
            raise self._lost
        if self._ledger.wall() > self._expires - self._margin:
            raise Conflict(f"The right to write the book {self._book_id!r} has run out: Qdrant did not answer.")

    async def _keep(self) -> None:
        while self._lost is None:
            await asyncio.sleep(self._renew_after)
            try:
                self._expires = await self._ledger.acquire(self._book_id, self.holder)
            except Conflict as lost:
                self._lost = lost
            except Outage as outage:
                # `check` stops the writer when this has lasted too long.
                log.warning("the lease of a book cannot be renewed", extra={"book_id": self._book_id, "fault": outage})


def _entry(book_id: str, payload: dict[str, Any]) -> Entry:
    try:
        if payload["format"] != FORMAT:
            raise IndexUnavailable(
                f"The entry of {book_id!r} has format {payload['format']}; this Quoth reads {FORMAT}.", hint=REBUILD
            )
        return Entry(
            book_id=book_id,
            generation=payload["generation"],
            first=payload["first"],
            fingerprint=Fingerprint(**payload["fingerprint"]),
            chunks=payload["chunks"],
            published_at=datetime.fromisoformat(payload["published_at"]).astimezone(UTC),
            writer=payload["writer"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise IndexUnavailable(f"The entry of {book_id!r} on the server is damaged: {error}.", hint=REBUILD) from error


def _held(book_id: str, lease: dict[str, Any], now: float) -> str:
    left = max(0.0, lease.get("expires", now) - now)
    who = lease.get("who", "another process")
    return f"Another process ({who}) is writing the book {book_id!r}; if it has died, its lease ends in {left:.0f} s."


def _point(kind: str, book_id: str) -> str:
    return str(uuid.uuid5(_NAMESPACE, f"{kind}:{book_id}"))


def _is(field: str, value: str | int) -> models.FieldCondition:
    return models.FieldCondition(key=field, match=models.MatchValue(value=value))
