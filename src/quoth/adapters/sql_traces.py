"""The statements for traces: stored many at once, pruned as they are stored. Called by `sql.py`, in its threads."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, delete, select

from quoth.adapters.sql_tables import sessions, traces
from quoth.domain import Trace
from quoth.errors import NotFound


def store(connection: Connection, new: Sequence[Trace], *, keep_since: datetime, most: int) -> None:
    named = select(sessions.c.session_id).where(sessions.c.session_id.in_({trace.session_id for trace in new}))
    # Held until the end of the transaction, so that a conversation that is deleted meanwhile takes its traces along.
    alive = set(connection.scalars(named.with_for_update(read=True, key_share=True)))
    rows = [
        {
            "request_id": trace.request_id,
            "session_id": trace.session_id,
            "book_id": trace.book_id,
            "created_at": trace.created_at,
            "record": dict(trace.record),
        }
        for trace in new
        if trace.session_id in alive
    ]
    if rows:
        connection.execute(traces.insert(), rows)
    connection.execute(delete(traces).where(traces.c.created_at < keep_since))
    last = select(traces.c.id).order_by(traces.c.id.desc()).offset(most).limit(1).scalar_subquery()
    connection.execute(delete(traces).where(traces.c.id <= last))


def newest(connection: Connection, request_id: str | None) -> Trace:
    query = select(traces).order_by(traces.c.id.desc()).limit(1)
    if request_id is not None:
        query = query.where(traces.c.request_id == request_id)
    row = connection.execute(query).first()
    if row is None:
        raise no_trace(request_id)
    return Trace(row.request_id, row.session_id, row.book_id, row.created_at, row.record)


def no_trace(request_id: str | None) -> NotFound:
    what = "There is no trace yet." if request_id is None else f"There is no trace of {request_id}."
    return NotFound(
        what,
        hint="It is in the metadata of each answer; traces are kept for QUOTH_TRACE_DAYS, unless QUOTH_TRACES=false.",
    )
