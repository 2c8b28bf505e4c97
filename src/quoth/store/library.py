"""The relational store in SQLAlchemy Core statements: books, what was ingested, jobs, recorded questions, traces.

In and out: domain values, through the `Library` port. Each method hands one function with its statements to the
database (`database.py`), which runs it off the event loop in a transaction. Conversations are in `conversations.py`,
keys in `keys.py`, the tables in `tables.py`. Nothing above knows that SQL exists.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, fields, replace
from datetime import UTC, datetime
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, Table, and_, bindparam, delete, func, select, update
from sqlalchemy import exc as sa
from sqlalchemy.dialects.sqlite import Insert
from sqlalchemy.engine import URL, make_url

from quoth.domain import Book, Coverage, IngestJob, IngestTimes, Notice, PageRecord, RecordedQuestion, Share, Trace
from quoth.errors import BadConfiguration, Conflict, NotFound, QuothError, UnknownBook
from quoth.store.conversations import SqlConversations, session_mark
from quoth.store.database import Database, TimedDatabase, delete_from, storable, upsert
from quoth.store.keys import SqlKeys
from quoth.store.sqlite import SqliteDatabase
from quoth.store.tables import ACTIVE, books, ingestion_jobs, page_records, recorded_questions, sessions, traces

# --- traces: stored many at once, pruned as they are stored ----------------------------------------------------------


# Built once, because building one costs more than running it. The sessions stay locked until the end of the
# transaction, so a session that is deleted meanwhile also takes what is being stored for it.
_ALIVE = (
    select(sessions.c.session_id)
    .where(sessions.c.session_id.in_(bindparam("named", expanding=True)))
    .with_for_update(read=True, key_share=True)
)
_ADD = traces.insert()
_TOO_OLD = delete(traces).where(traces.c.created_at < bindparam("since", type_=traces.c.created_at.type))
# By number: counting them would take longer the more there are.
_TOO_MANY = delete(traces).where(traces.c.id <= select(func.max(traces.c.id)).scalar_subquery() - bindparam("most"))


def _store_traces(connection: Connection, new: Sequence[Trace], *, keep_since: datetime, most: int) -> None:
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


def _newest_trace(connection: Connection, request_id: str | None) -> Trace:
    query = select(traces).order_by(traces.c.id.desc()).limit(1)
    if request_id is not None:
        query = query.where(traces.c.request_id == request_id)
    row = connection.execute(query).first()
    if row is None:
        raise _no_trace(request_id)
    return Trace(row.request_id, row.session_id, row.book_id, row.created_at, row.record)


def _no_trace(request_id: str | None) -> NotFound:
    what = "There is no trace yet." if request_id is None else f"There is no trace of {request_id}."
    return NotFound(
        what,
        hint="Its id is in the metadata of an answer. With QUOTH_TRACES on, traces are kept for QUOTH_TRACE_DAYS days.",
    )


# --- the library -----------------------------------------------------------------------------------------------------


_SECONDS = 5.0  # how long a caller waits for the database

# Databases limit the number of values in one statement (SQLite 32,766, PostgreSQL 32,767).
_VALUES_AT_ONCE = 10_000

_LARGEST_ID = 2**63 - 1


async def open_library(
    url: str,
    *,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    seconds: float = _SECONDS,
    pool_size: int = 5,
) -> SqlLibrary:
    """Connect, bring the tables up to date if they are not, and hand out the store."""
    database = TimedDatabase(database_at(url, seconds=seconds, pool_size=pool_size), seconds)
    try:
        await database.open()
    except QuothError:
        await database.close()
        raise
    return SqlLibrary(database, now)


def database_at(url: str, *, pool_size: int = 5, seconds: float = _SECONDS) -> Database:
    """`pool_size` (connections at most) and `seconds` (for one statement) are for a server."""
    try:
        parsed = make_url(url)
    except (sa.ArgumentError, ValueError) as fault:
        # The text may hold a password, so it is not repeated.
        raise BadConfiguration("The database URL cannot be read.", hint=_URLS) from fault
    if parsed.drivername in ("postgresql", "postgres", "postgresql+asyncpg"):
        return _postgres(parsed, pool_size, seconds)
    if parsed.drivername != "sqlite":
        raise BadConfiguration(f"Quoth cannot use a {parsed.drivername!r} database.", hint=_URLS)
    if not parsed.database or parsed.database == ":memory:":
        raise BadConfiguration("A SQLite database without a file would forget everything.", hint=_URLS)
    return SqliteDatabase(Path(parsed.database).expanduser())


_URLS = "Use sqlite:///path/to/quoth.db or postgresql+asyncpg://user:password@host/database."


def _postgres(url: URL, pool_size: int, seconds: float) -> Database:
    if find_spec("asyncpg") is None or find_spec("greenlet") is None:
        raise BadConfiguration(
            "DATABASE_URL names a PostgreSQL server, but its driver is not installed.",
            hint="Install it: pip install 'quoth[postgres]'. Without DATABASE_URL a file is used.",
        )
    from quoth.store.postgres import PostgresDatabase

    return PostgresDatabase(url, pool_size=pool_size, seconds=seconds)


class SqlLibrary(SqlConversations):
    """`ports.Library` on a relational database."""

    def __init__(self, database: Database, now: Callable[[], datetime]) -> None:
        self._database = database
        self._now = now
        self._keys = SqlKeys(database)

    @property
    def keys(self) -> SqlKeys:
        return self._keys

    # --- books and what was ingested of them ---

    async def put_book(self, book: Book) -> None:
        await self._database.write(lambda connection: connection.execute(_put(connection, books), asdict(book)))

    async def book(self, book_id: str) -> Book:
        query = select(books).where(books.c.book_id == book_id)
        row = await self._database.read(lambda connection: connection.execute(query).first())
        if row is None:
            raise _no_book(book_id)
        return Book(**row._mapping)

    async def books(self) -> list[Book]:
        rows = await self._database.read(lambda connection: connection.execute(select(books)).all())
        # Sorted here, because databases sort by the language they were made for.
        return sorted((Book(**row._mapping) for row in rows), key=lambda book: book.book_id)

    async def delete_book(self, book_id: str) -> None:
        def work(connection: Connection) -> None:
            tables = (books, page_records, ingestion_jobs, recorded_questions)
            if not sum(delete_from(connection, table, table.c.book_id == book_id) for table in tables):
                raise _no_book(book_id)

        await self._database.write(work, erases=True)

    async def page_records(self, book_id: str) -> dict[str, PageRecord]:
        query = select(page_records).where(page_records.c.book_id == book_id)
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        return {row.source_file: _page_record(row) for row in rows}

    async def put_page_records(self, records: Sequence[PageRecord]) -> None:
        if not records:
            return
        rows = [_page_record_row(record) for record in records]
        await self._database.write(lambda connection: connection.execute(_put(connection, page_records), rows))

    async def drop_page_records(self, book_id: str, source_files: Sequence[str]) -> None:
        def work(connection: Connection) -> None:
            for start in range(0, len(source_files), _VALUES_AT_ONCE):
                named = page_records.c.source_file.in_(source_files[start : start + _VALUES_AT_ONCE])
                delete_from(connection, page_records, page_records.c.book_id == book_id, named)

        if source_files:
            await self._database.write(work)

    # --- jobs ---

    async def start_job(self, job: IngestJob) -> IngestJob:
        statement = ingestion_jobs.insert().returning(ingestion_jobs.c.job_id)
        async with self._conflicts(job.book_id):
            job_id = await self._database.write(
                lambda connection: connection.execute(statement, _job_row(job)).scalar_one()
            )
        return replace(job, job_id=job_id)

    async def save_job(self, job: IngestJob) -> None:
        statement = update(ingestion_jobs).where(ingestion_jobs.c.job_id == job.job_id).values(_job_row(job))
        async with self._conflicts(job.book_id):
            if not await self._database.write(lambda connection: connection.execute(statement).rowcount):
                raise _no_job(job.job_id)

    async def job(self, job_id: int) -> IngestJob:
        if job_id > _LARGEST_ID:  # a caller may ask for any number
            raise _no_job(job_id)
        query = select(ingestion_jobs).where(ingestion_jobs.c.job_id == job_id)
        row = await self._database.read(lambda connection: connection.execute(query).first())
        if row is None:
            raise _no_job(job_id)
        return _job(row)

    async def jobs(self, book_id: str | None = None, *, limit: int = 50, active: bool = False) -> list[IngestJob]:
        query = select(ingestion_jobs).order_by(ingestion_jobs.c.job_id.desc()).limit(limit)
        if book_id is not None:
            query = query.where(ingestion_jobs.c.book_id == book_id)
        if active:
            query = query.where(ingestion_jobs.c.status.in_(ACTIVE))
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        return [_job(row) for row in rows]

    async def ingest_times(self, book_id: str) -> IngestTimes:
        jobs = ingestion_jobs.c
        first, last = (pick(jobs.completed_at, type_=jobs.completed_at.type) for pick in (func.min, func.max))
        done = and_(jobs.book_id == book_id, jobs.status == "completed", jobs.dry_run.is_(False))
        query = select(jobs.mode, first, last).where(done, jobs.completed_at.is_not(None)).group_by(jobs.mode)
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        return IngestTimes.of({mode: (start, end) for mode, start, end in rows})

    async def fail_running_jobs(self, book_id: str, reason: str) -> int:
        statement = (
            update(ingestion_jobs)
            .where(ingestion_jobs.c.book_id == book_id, ingestion_jobs.c.status.in_(ACTIVE))
            # `duration_seconds` stays empty: nobody knows when the process died.
            .values(status="failed", error_message=storable(reason), completed_at=self._now())
        )
        return await self._database.write(lambda connection: connection.execute(statement).rowcount)

    @asynccontextmanager
    async def _conflicts(self, book_id: str) -> AsyncIterator[None]:
        """The index `one_active_job_per_book` refuses a second job; name the first."""
        try:
            yield
        except sa.IntegrityError as fault:
            query = select(ingestion_jobs.c.job_id, ingestion_jobs.c.status).where(
                ingestion_jobs.c.book_id == book_id, ingestion_jobs.c.status.in_(ACTIVE)
            )
            row = await self._database.read(lambda connection: connection.execute(query).first())
            which = f"job {row.job_id} is {row.status}" if row else "its job has just ended"
            raise Conflict(f"Book {book_id!r} is being ingested: {which}.") from fault

    # --- questions for the author ---

    async def record_question(self, question: RecordedQuestion, *, session_id: str, keep_since: datetime) -> None:
        row = {**_question_row(question), "session_mark": session_mark(session_id)}

        def work(connection: Connection) -> None:
            if connection.scalars(_ALIVE, {"named": [session_id]}).first() is not None:
                connection.execute(recorded_questions.insert(), row)
            delete_from(connection, recorded_questions, recorded_questions.c.asked_at < keep_since)

        await self._database.write(work)

    async def recorded_questions(
        self, book_id: str | None = None, *, since: datetime, limit: int = 1000
    ) -> list[RecordedQuestion]:
        query = select(recorded_questions).where(recorded_questions.c.asked_at >= since).limit(limit)
        query = query.order_by(recorded_questions.c.asked_at.desc(), recorded_questions.c.id.desc())
        if book_id is not None:
            query = query.where(recorded_questions.c.book_id == book_id)
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        return [_question(row) for row in rows]

    async def forget_questions(self, *, before: datetime) -> int:
        return await self._database.write(
            lambda connection: delete_from(connection, recorded_questions, recorded_questions.c.asked_at < before),
            erases=True,
        )

    # --- traces ---

    async def put_traces(self, traces: Sequence[Trace], *, keep_since: datetime, most: int) -> None:
        await self._database.write(
            lambda connection: _store_traces(connection, traces, keep_since=keep_since, most=most)
        )

    async def trace(self, request_id: str | None = None) -> Trace:
        return await self._database.read(lambda connection: _newest_trace(connection, request_id))

    # --- the store itself ---

    async def ping(self) -> None:
        await self._database.read(lambda connection: connection.execute(select(1)).scalar_one())

    async def close(self) -> None:
        await self._database.close()


# --- statements, built once: building one costs more than running it ---


@cache
def _replace_all(dialect: str, table: Table) -> Insert:
    statement = upsert(dialect, table)
    keys = [column.name for column in table.primary_key]
    rest = {column.name: statement.excluded[column.name] for column in table.c if column.name not in keys}
    return statement.on_conflict_do_update(index_elements=keys, set_=rest)


def _put(connection: Connection, table: Table) -> Insert:
    """Insert or replace by primary key."""
    return _replace_all(connection.dialect.name, table)


# --- rows ---


def _page_record_row(record: PageRecord) -> dict[str, Any]:
    return {**_values(record), "chunk_ids": list(record.chunk_ids)}


def _page_record(row: Row[*tuple[Any, ...]]) -> PageRecord:
    return PageRecord(**{**row._mapping, "chunk_ids": tuple(row.chunk_ids)})


def _job_row(job: IngestJob) -> dict[str, Any]:
    row = _values(job)
    del row["job_id"]
    row["notices"] = [asdict(notice) for notice in job.notices]
    row["coverage"] = None if job.coverage is None else asdict(job.coverage)
    row["error_message"] = None if job.error_message is None else storable(job.error_message)
    return row


def _job(row: Row[*tuple[Any, ...]]) -> IngestJob:
    notices = tuple(Notice(**notice) for notice in row.notices)
    return IngestJob(**{**row._mapping, "notices": notices, "coverage": _coverage(row.coverage)})


def _coverage(stored: dict[str, Any] | None) -> Coverage | None:
    if stored is None:
        return None
    shares = {side: tuple(Share(**share) for share in stored[side]) for side in ("taken", "left")}
    return Coverage(**{**stored, **shares})


def _question_row(question: RecordedQuestion) -> dict[str, Any]:
    texts = {"question": storable(question.question), "searched": storable(question.searched)}
    lists = {
        "missing_terms": [storable(term) for term in question.missing_terms],
        "nearest": list(question.nearest),
    }
    return {**_values(question), **texts, **lists}


def _question(row: Row[*tuple[Any, ...]]) -> RecordedQuestion:
    values = {name: value for name, value in row._mapping.items() if name not in ("id", "session_mark")}
    return RecordedQuestion(**{**values, "missing_terms": tuple(row.missing_terms), "nearest": tuple(row.nearest)})


def _values(record: PageRecord | IngestJob | RecordedQuestion) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}


def _no_book(book_id: str) -> UnknownBook:
    return UnknownBook(f"There is no book {book_id!r}.")


def _no_job(job_id: int) -> NotFound:
    return NotFound(f"There is no ingestion job {job_id}.", hint="`quoth status` lists the last ones.")
