"""The statements for traces: stored many at once, pruned as they are stored. Called by `sql.py`, in its threads."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, bindparam, delete, func, select

from quoth.adapters.sql_tables import sessions, traces
from quoth.domain import Trace
from quoth.errors import NotFound

# Built once, because building one costs more than running it. The conversations are held until the end of the
# transaction, so that one which is deleted meanwhile takes its traces along.
_ALIVE = (
    select(sessions.c.session_id)
    .where(sessions.c.session_id.in_(bindparam("named", expanding=True)))
    .with_for_update(read=True, key_share=True)
)
_ADD = traces.insert()
_TOO_OLD = delete(traces).where(traces.c.created_at < bindparam("since", type_=traces.c.created_at.type))
# By number, and not by counting them, which takes longer the more there are.
_TOO_MANY = delete(traces).where(traces.c.id <= select(func.max(traces.c.id)).scalar_subquery() - bindparam("most"))


def store(connection: Connection, new: Sequence[Trace], *, keep_since: datetime, most: int) -> None:
    alive = set(connection.scalars(_ALIVE, {"named": list({trace.session_id for trace in new})}))
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
        connection.execute(_ADD, rows)
    connection.execute(_TOO_OLD, {"since": keep_since})
    connection.execute(_TOO_MANY, {"most": most})


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
