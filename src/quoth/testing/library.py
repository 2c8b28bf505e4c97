"""A library in memory, with its keys, for tests. It passes the same contract suite as the real one."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime

from quoth.domain import (
    Book,
    Conversation,
    Feedback,
    IngestJob,
    IngestMode,
    IngestTimes,
    Key,
    PageRecord,
    RecordedQuestion,
    Trace,
    Turn,
)
from quoth.errors import Conflict, NotFound, SessionNotFound, UnknownBook

# --- keys ------------------------------------------------------------------------------------------------------------


class MemoryKeys:
    def __init__(self) -> None:
        self._keys: dict[str, Key] = {}
        self._spent: dict[tuple[str, date], int] = {}

    async def add(self, key: Key) -> None:
        self._keys[key.key_id] = key

    async def find(self, key_id: str) -> Key | None:
        return self._keys.get(key_id)

    async def all(self) -> list[Key]:
        return sorted(self._keys.values(), key=lambda key: (key.created_at, key.key_id))

    async def any(self) -> bool:
        return bool(self._keys)

    async def revoke(self, key_id: str, *, at: datetime) -> Key:
        if key_id not in self._keys:
            raise NotFound(f"There is no key {key_id!r}.", hint="`quoth keys list` shows their ids.")
        key = self._keys[key_id]
        self._keys[key_id] = replace(key, revoked_at=key.revoked_at or at)
        return self._keys[key_id]

    async def spend(self, key_id: str, *, day: date, most: int) -> bool:
        spent = self._spent.get((key_id, day), 0)
        if spent >= most:
            return False
        self._spent[key_id, day] = spent + 1
        return True


# --- the library -----------------------------------------------------------------------------------------------------


_ACTIVE = ("queued", "running")


class MemoryLibrary:
    """`ports.Library` without a database. Forgets everything when its process ends."""

    def __init__(self, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._now = now
        self._books: dict[str, Book] = {}
        self._pages: dict[tuple[str, str], PageRecord] = {}
        self._jobs: dict[int, IngestJob] = {}
        self._conversations: dict[str, Conversation] = {}
        self._turns: dict[str, list[Turn]] = {}
        self._questions: list[tuple[str, RecordedQuestion]] = []  # with the sessions they were asked in
        self._traces: list[Trace] = []
        self._numbered_jobs = 0
        self._numbered_turns = 0
        self._keys = MemoryKeys()

    @property
    def keys(self) -> MemoryKeys:
        return self._keys

    async def put_book(self, book: Book) -> None:
        self._books[book.book_id] = book

    async def book(self, book_id: str) -> Book:
        if book_id not in self._books:
            raise UnknownBook(f"There is no book {book_id!r}.")
        return self._books[book_id]

    async def books(self) -> list[Book]:
        return [self._books[book_id] for book_id in sorted(self._books)]

    async def delete_book(self, book_id: str) -> None:
        pages = [key for key in self._pages if key[0] == book_id]
        jobs = [job.job_id for job in self._jobs.values() if job.book_id == book_id]
        others = [(session, one) for session, one in self._questions if one.book_id != book_id]
        if book_id not in self._books and not pages and not jobs and len(others) == len(self._questions):
            raise UnknownBook(f"There is no book {book_id!r}.")
        self._questions = others
        self._books.pop(book_id, None)
        for key in pages:
            del self._pages[key]
        for job_id in jobs:
            del self._jobs[job_id]

    async def page_records(self, book_id: str) -> dict[str, PageRecord]:
        return {record.source_file: record for record in self._pages.values() if record.book_id == book_id}

    async def put_page_records(self, records: Sequence[PageRecord]) -> None:
        self._pages.update({(record.book_id, record.source_file): record for record in records})

    async def drop_page_records(self, book_id: str, source_files: Sequence[str]) -> None:
        for source_file in source_files:
            self._pages.pop((book_id, source_file), None)

    async def start_job(self, job: IngestJob) -> IngestJob:
        self._refuse_second(job)
        self._numbered_jobs += 1
        job = replace(job, job_id=self._numbered_jobs)
        self._jobs[job.job_id] = job
        return job

    async def save_job(self, job: IngestJob) -> None:
        if job.job_id not in self._jobs:
            raise NotFound(f"There is no ingestion job {job.job_id}.")
        self._refuse_second(job)
        self._jobs[job.job_id] = job

    async def job(self, job_id: int) -> IngestJob:
        if job_id not in self._jobs:
            raise NotFound(f"There is no ingestion job {job_id}.")
        return self._jobs[job_id]

    async def jobs(self, book_id: str | None = None, *, limit: int = 50, active: bool = False) -> list[IngestJob]:
        newest_first = sorted(self._jobs.values(), key=lambda job: -job.job_id)
        of_book = (job for job in newest_first if book_id in (None, job.book_id))
        return [job for job in of_book if not active or job.status in _ACTIVE][:limit]

    async def ingest_times(self, book_id: str) -> IngestTimes:
        done = [job for job in self._jobs.values() if job.book_id == book_id and job.status == "completed"]
        ended: dict[IngestMode, tuple[datetime, datetime]] = {}
        for when, mode in sorted((job.completed_at, job.mode) for job in done if job.completed_at and not job.dry_run):
            ended[mode] = (ended.get(mode, (when, when))[0], when)
        return IngestTimes.of(ended)

    async def fail_running_jobs(self, book_id: str, reason: str) -> int:
        dead = [job for job in self._jobs.values() if job.book_id == book_id and job.status in _ACTIVE]
        for job in dead:
            self._jobs[job.job_id] = replace(job, status="failed", error_message=reason, completed_at=self._now())
        return len(dead)

    async def add_turn(self, turn: Turn) -> Turn:
        known = self._conversations.get(turn.session_id)
        if known is None:
            known = Conversation(turn.session_id, turn.timestamp, turn.timestamp, turn.owner)
        elif known.owner != turn.owner:
            raise _no_session(turn.session_id)
        self._numbered_turns += 1
        turn = replace(turn, turn_id=self._numbered_turns)
        self._turns.setdefault(turn.session_id, []).append(turn)
        self._conversations[turn.session_id] = replace(
            known, last_active=max(known.last_active, turn.timestamp), turns=len(self._turns[turn.session_id])
        )
        return turn

    async def recent_turns(self, session_id: str, *, owner: str = "", limit: int = 5) -> list[Turn]:
        if session_id not in self._conversations:
            return []
        return (await self.turns(session_id, owner=owner, limit=limit))[0]

    async def conversation(self, session_id: str, *, owner: str = "") -> Conversation:
        known = self._conversations.get(session_id)
        if known is None or known.owner != owner:
            raise _no_session(session_id)
        return known

    async def turns(
        self, session_id: str, *, owner: str = "", limit: int = 50, offset: int = 0
    ) -> tuple[list[Turn], int]:
        await self.conversation(session_id, owner=owner)
        turns = self._turns[session_id]
        end = max(0, len(turns) - offset)
        return turns[max(0, end - limit) : end], len(turns)

    async def put_feedback(
        self, session_id: str, request_id: str, feedback: Feedback | None, *, owner: str = ""
    ) -> None:
        await self._change(session_id, request_id, owner, lambda turn: replace(turn, feedback=feedback))

    async def rated_turns(self, book_id: str | None = None, *, since: datetime, limit: int = 1000) -> list[Turn]:
        rated = [turn for turns in self._turns.values() for turn in turns if turn.feedback is not None]
        found = [turn for turn in rated if turn.timestamp >= since and book_id in (None, turn.book_id)]
        return sorted(found, key=lambda turn: (turn.timestamp, turn.turn_id))[::-1][:limit]

    async def share_turn(self, session_id: str, request_id: str, secret: str, *, owner: str = "") -> Turn:
        return await self._change(session_id, request_id, owner, lambda turn: replace(turn, share=turn.share or secret))

    async def shared_turn(self, turn_id: int, secret: str) -> Turn:
        for turn in (turn for turns in self._turns.values() for turn in turns):
            if turn.turn_id == turn_id and turn.share and turn.share == secret:
                return turn
        raise NotFound("No answer is shared under this address.")

    async def _change(self, session_id: str, request_id: str, owner: str, change: Callable[[Turn], Turn]) -> Turn:
        await self.conversation(session_id, owner=owner)
        turns = self._turns[session_id]
        for at in reversed(range(len(turns))):
            if turns[at].request_id == request_id:
                turns[at] = change(turns[at])
                return turns[at]
        raise SessionNotFound(f"There is no session {session_id}.")

    async def put_topic_summary(self, session_id: str, text: str, *, owner: str = "") -> None:
        known = self._conversations.get(session_id)
        if known is not None and known.owner == owner:
            self._conversations[session_id] = replace(known, topic_summary=text)

    async def put_tags(self, session_id: str, tags: Sequence[str], *, owner: str = "") -> None:
        known = await self.conversation(session_id, owner=owner)
        self._conversations[session_id] = replace(known, tags=tuple(tags))

    async def delete_conversation(self, session_id: str, *, owner: str = "") -> None:
        await self.conversation(session_id, owner=owner)
        del self._conversations[session_id], self._turns[session_id]
        self._traces = [trace for trace in self._traces if trace.session_id != session_id]
        self._questions = [(session, one) for session, one in self._questions if session != session_id]

    async def record_question(self, question: RecordedQuestion, *, session_id: str, keep_since: datetime) -> None:
        if session_id in self._conversations:
            self._questions.append((session_id, question))
        await self.forget_questions(before=keep_since)

    async def recorded_questions(
        self, book_id: str | None = None, *, since: datetime, limit: int = 1000
    ) -> list[RecordedQuestion]:
        found = [one for _, one in self._questions if book_id in (None, one.book_id) and one.asked_at >= since]
        return sorted(found, key=lambda one: one.asked_at)[::-1][:limit]

    async def forget_questions(self, *, before: datetime) -> int:
        kept = [(session, one) for session, one in self._questions if one.asked_at >= before]
        gone = len(self._questions) - len(kept)
        self._questions = kept
        return gone

    async def put_traces(self, traces: Sequence[Trace], *, keep_since: datetime, most: int) -> None:
        for trace in traces:
            if trace.session_id in self._conversations:
                self._traces.append(replace(trace, record=json.loads(json.dumps(dict(trace.record)))))
        kept = [trace for trace in self._traces if trace.created_at >= keep_since]
        self._traces = kept[max(0, len(kept) - most) :]

    async def trace(self, request_id: str | None = None) -> Trace:
        for trace in reversed(self._traces):
            if request_id in (None, trace.request_id):
                return trace
        raise NotFound(f"There is no trace of {request_id}.")

    async def ping(self) -> None:
        return

    async def close(self) -> None:
        return

    def _refuse_second(self, job: IngestJob) -> None:
        for other in self._jobs.values():
            same_book = other.book_id == job.book_id and other.job_id != job.job_id
            if same_book and job.status in _ACTIVE and other.status in _ACTIVE:
                raise Conflict(f"Book {job.book_id!r} is being ingested: job {other.job_id} is {other.status}.")


def _no_session(session_id: str) -> SessionNotFound:
    return SessionNotFound(f"There is no session {session_id}.")
