"""The relational store, as Protocols: keys, books, what was ingested, jobs, conversations. Part of `quoth.ports`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Protocol

from quoth.domain import (
    Book,
    Conversation,
    Feedback,
    IngestJob,
    IngestTimes,
    Key,
    PageRecord,
    RecordedQuestion,
    Trace,
    Turn,
)

# Why a queued or running job is marked as failed while another process holds the writer lock.
ABANDONED = "the process that ran it ended before it was finished"


class Keys(Protocol):
    """Who may ask. Keys are never forgotten, so a server that was closed once does not open by itself."""

    async def add(self, key: Key) -> None: ...

    async def find(self, key_id: str) -> Key | None:
        """None when there is none: a caller with a wrong key is not a fault."""

    async def all(self) -> list[Key]:
        """Oldest first, including those that are revoked or expired."""

    async def any(self) -> bool:
        """Whether one was ever made."""

    async def revoke(self, key_id: str, *, at: datetime) -> Key:
        """For good; a second call keeps the time of the first. `NotFound` when there is none."""

    async def spend(self, key_id: str, *, day: date, most: int) -> bool:
        """Count one answer of that day. False, without counting, when there were `most` already."""


class Library(Protocol):
    """The relational store: books, what was ingested, jobs, conversations, keys."""

    @property
    def keys(self) -> Keys: ...

    async def put_book(self, book: Book) -> None: ...

    async def book(self, book_id: str) -> Book:
        """`UnknownBook` when there is none."""

    async def books(self) -> list[Book]:
        """By id."""

    async def delete_book(self, book_id: str) -> None:
        """With its page records, jobs and recorded questions. Conversations stay: they belong to their readers."""

    async def page_records(self, book_id: str) -> dict[str, PageRecord]:
        """By source file."""

    async def put_page_records(self, records: Sequence[PageRecord]) -> None:
        """Insert or replace, all or none."""

    async def drop_page_records(self, book_id: str, source_files: Sequence[str]) -> None: ...

    async def start_job(self, job: IngestJob) -> IngestJob:
        """Store and number it. `Conflict` when another job of the book is queued or running."""

    async def save_job(self, job: IngestJob) -> None: ...

    async def job(self, job_id: int) -> IngestJob:
        """`NotFound` when there is none."""

    async def jobs(self, book_id: str | None = None, *, limit: int = 50, active: bool = False) -> list[IngestJob]:
        """Newest first; with `active` only those that are queued or running."""

    async def ingest_times(self, book_id: str) -> IngestTimes:
        """Of the completed jobs of the book; dry runs do not count."""

    async def fail_running_jobs(self, book_id: str, reason: str) -> int:
        """Jobs of a process that died. The caller holds the writer lock, so none of them can still run."""

    # A session belongs to the key that opened it. To any other `owner` it does not exist: `SessionNotFound`.

    async def add_turn(self, turn: Turn) -> Turn:
        """Creates the conversation with its first turn, keeps the order of the calls, and returns it numbered."""

    async def recent_turns(self, session_id: str, *, owner: str = "", limit: int = 5) -> list[Turn]:
        """The newest, oldest first; none for a session that has not been opened yet."""

    async def conversation(self, session_id: str, *, owner: str = "") -> Conversation:
        """`SessionNotFound` when there is none."""

    async def turns(
        self, session_id: str, *, owner: str = "", limit: int = 50, offset: int = 0
    ) -> tuple[list[Turn], int]:
        """The newest `limit` turns before the newest `offset`, oldest first, and how many there are in all.
        `SessionNotFound` when none."""

    async def put_feedback(
        self, session_id: str, request_id: str, feedback: Feedback | None, *, owner: str = ""
    ) -> None:
        """For the newest turn with this request id; None takes it back. `SessionNotFound` when there is no such turn.
        It is deleted with the conversation."""

    async def rated_turns(self, book_id: str | None = None, *, since: datetime, limit: int = 1000) -> list[Turn]:
        """Turns of all readers that have feedback and were asked at `since` or later, newest first."""

    async def share_turn(self, session_id: str, request_id: str, secret: str, *, owner: str = "") -> Turn:
        """From now on it can be read by its number and the secret. A turn that is already shared keeps its secret.
        `SessionNotFound` when there is no such turn."""

    async def shared_turn(self, turn_id: int, secret: str) -> Turn:
        """`NotFound` when none is shared under this number and secret."""

    async def put_topic_summary(self, session_id: str, text: str, *, owner: str = "") -> None:
        """Does nothing if the conversation has been deleted meanwhile."""

    async def put_tags(self, session_id: str, tags: Sequence[str], *, owner: str = "") -> None:
        """Replaces the previous ones. `SessionNotFound` when there is none."""

    async def delete_conversation(self, session_id: str, *, owner: str = "") -> None:
        """For good, with its traces and the questions recorded in it. `SessionNotFound` when there is none."""

    async def record_question(self, question: RecordedQuestion, *, session_id: str, keep_since: datetime) -> None:
        """Store it, unless its conversation has been deleted meanwhile, and drop those of all books that were asked
        before `keep_since`, in one go. A recorded question is deleted with its conversation but does not name it."""

    async def recorded_questions(
        self, book_id: str | None = None, *, since: datetime, limit: int = 1000
    ) -> list[RecordedQuestion]:
        """Those asked at `since` or later, newest first."""

    async def forget_questions(self, *, before: datetime) -> int:
        """Of all books; returns how many there were."""

    async def put_traces(self, traces: Sequence[Trace], *, keep_since: datetime, most: int) -> None:
        """Store them, except those whose conversation has been deleted meanwhile, and drop all that are older than
        `keep_since` or not among the newest `most` or so, in one go. They are deleted with their conversation."""

    async def trace(self, request_id: str | None = None) -> Trace:
        """The newest with this id, or of all; `NotFound` when there is none."""

    async def ping(self) -> None:
        """`LibraryUnavailable` when it cannot be reached."""

    async def close(self) -> None: ...
