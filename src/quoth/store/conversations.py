"""The conversations of the relational store: sessions, their turns, and who owns them.

A part of the `Library` port. The owner of a session is in every statement, so no caller can forget to check: another
key's session is never found.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Connection, Integer, String, and_, bindparam, case, func, select, update
from sqlalchemy.dialects.sqlite import Insert
from sqlalchemy.sql.dml import ReturningInsert

from quoth.domain import Conversation, Feedback, Turn
from quoth.errors import NotFound, SessionNotFound
from quoth.store import turns
from quoth.store.database import Database, delete_from, storable, upsert
from quoth.store.tables import SessionId, conversations, recorded_questions, sessions


def session_mark(session_id: str) -> str:
    """Leads from a session to the questions that were recorded in it, and never back: session ids are random, so they
    cannot be guessed from their marks."""
    return hmac.new(session_id.encode(), b"recorded question", hashlib.sha256).hexdigest()


class SqlConversations:
    _database: Database

    async def add_turn(self, turn: Turn) -> Turn:
        session = {
            "session_id": turn.session_id,
            "created_at": turn.timestamp,
            "last_active": turn.timestamp,
            "owner": turn.owner,
            "topic_summary": "",
            "tags": [],
        }

        def work(connection: Connection) -> int:
            if connection.execute(_touch_session(connection.dialect.name), session).first() is None:
                raise _no_session(turn.session_id)
            turn_id: int = connection.execute(_ADD_TURN, turns.to_row(turn)).scalar_one()
            return turn_id

        return replace(turn, turn_id=await self._database.write(work, order=turn.session_id))

    async def recent_turns(self, session_id: str, *, owner: str = "", limit: int = 5) -> list[Turn]:
        asked = {"session": session_id, "asking": owner, "most": max(limit, 1)}
        rows = await self._database.read(lambda connection: connection.execute(_RECENT, asked).all())
        if rows and rows[0].session_owner != owner:
            raise _no_session(session_id)
        return [turns.from_row(row, owner) for row in reversed(rows[:limit]) if row.id is not None]

    async def conversation(self, session_id: str, *, owner: str = "") -> Conversation:
        counted = _COUNTED.where(conversations.c.session_id == session_id).scalar_subquery().label("turns")
        query = select(sessions, counted).where(sessions.c.session_id == session_id, sessions.c.owner == owner)
        row = await self._database.read(lambda connection: connection.execute(query).first())
        if row is None:
            raise _no_session(session_id)
        return Conversation(**{**row._mapping, "tags": tuple(row.tags)})

    async def turns(
        self, session_id: str, *, owner: str = "", limit: int = 50, offset: int = 0
    ) -> tuple[list[Turn], int]:
        # One statement, so the count and the turns are of the same moment on every database.
        total = _COUNTED.where(conversations.c.session_id == session_id).scalar_subquery().label("total")
        query = (
            select(conversations, total)
            .join(sessions, sessions.c.session_id == conversations.c.session_id)
            .where(sessions.c.session_id == session_id, sessions.c.owner == owner)
            .order_by(conversations.c.id.desc())
            .limit(max(limit, 1))
            .offset(offset)
        )
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        if not rows:  # nothing that far back, or no such session
            return [], (await self.conversation(session_id, owner=owner)).turns
        return [turns.from_row(row, owner) for row in reversed(rows[:limit])], rows[0].total

    async def put_feedback(
        self, session_id: str, request_id: str, feedback: Feedback | None, *, owner: str = ""
    ) -> None:
        await self._change(session_id, request_id, owner, {"feedback": turns.feedback_json(feedback)})

    async def rated_turns(self, book_id: str | None = None, *, since: datetime, limit: int = 1000) -> list[Turn]:
        known = conversations.c.metadata
        query = (
            select(sessions.c.owner.label("session_owner"), conversations)
            .join(sessions, sessions.c.session_id == conversations.c.session_id)
            .where(conversations.c.timestamp >= since, known["feedback"]["rating"].as_string().in_(("up", "down")))
            .order_by(conversations.c.timestamp.desc(), conversations.c.id.desc())
            .limit(limit)
        )
        if book_id is not None:
            query = query.where(known["book_id"].as_string() == book_id)
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        return [turns.from_row(row, row.session_owner) for row in rows]

    async def share_turn(self, session_id: str, request_id: str, secret: str, *, owner: str = "") -> Turn:
        return await self._change(session_id, request_id, owner, {"share": secret}, keep=True)

    async def shared_turn(self, turn_id: int, secret: str) -> Turn:
        query = (
            select(sessions.c.owner.label("session_owner"), conversations)
            .join(sessions, sessions.c.session_id == conversations.c.session_id)
            .where(conversations.c.id == turn_id)
        )
        row = await self._database.read(lambda connection: connection.execute(query).first())
        turn = None if row is None else turns.from_row(row, row.session_owner)
        if turn is None or not turn.share or not hmac.compare_digest(turn.share.encode(), secret.encode()):
            raise NotFound("No answer is shared under this address.")
        return turn

    async def _change(
        self, session_id: str, request_id: str, owner: str, values: Mapping[str, Any], *, keep: bool = False
    ) -> Turn:
        """Change the newest turn of this request. With `keep` an existing value stays."""
        query = (
            select(conversations)
            .join(sessions, sessions.c.session_id == conversations.c.session_id)
            .where(sessions.c.session_id == session_id, sessions.c.owner == owner)
            .order_by(conversations.c.id.desc())
        )

        def work(connection: Connection) -> Turn:
            rows = connection.execute(query).all()
            row = next((row for row in rows if row._mapping["metadata"].get("request_id") == request_id), None)
            if row is None:
                raise _no_session(session_id)
            known = row._mapping["metadata"]
            new = {name: (keep and known.get(name)) or value for name, value in values.items()}
            changed = update(conversations).where(conversations.c.id == row.id).values(metadata={**known, **new})
            connection.execute(changed)
            return turns.from_row(connection.execute(query.where(conversations.c.id == row.id)).one(), owner)

        return await self._database.write(work, order=session_id)

    async def put_topic_summary(self, session_id: str, text: str, *, owner: str = "") -> None:
        mine = and_(sessions.c.session_id == session_id, sessions.c.owner == owner)
        statement = update(sessions).where(mine).values(topic_summary=storable(text))
        await self._database.write(lambda connection: connection.execute(statement))

    async def put_tags(self, session_id: str, tags: Sequence[str], *, owner: str = "") -> None:
        mine = and_(sessions.c.session_id == session_id, sessions.c.owner == owner)
        statement = update(sessions).where(mine).values(tags=[storable(tag) for tag in tags])
        if not await self._database.write(lambda connection: connection.execute(statement).rowcount):
            raise _no_session(session_id)

    async def delete_conversation(self, session_id: str, *, owner: str = "") -> None:
        mine = and_(sessions.c.session_id == session_id, sessions.c.owner == owner)

        def work(connection: Connection) -> None:
            if not delete_from(connection, sessions, mine):  # turns and traces go with it: ON DELETE CASCADE
                raise _no_session(session_id)
            marked = recorded_questions.c.session_mark == session_mark(session_id)
            delete_from(connection, recorded_questions, marked)

        await self._database.write(work, erases=True)


# --- statements, built once: building one costs more than running it ---

_ADD_TURN = conversations.insert().returning(conversations.c.id)
_COUNTED = select(func.count()).select_from(conversations)

# The session for every caller, its turns only for its owner: one look tells a new session from another key's.
_RECENT = (
    select(sessions.c.owner.label("session_owner"), conversations)
    .select_from(
        sessions.join(
            conversations,
            and_(
                conversations.c.session_id == sessions.c.session_id,
                sessions.c.owner == bindparam("asking", type_=String),
            ),
            isouter=True,
        )
    )
    .where(sessions.c.session_id == bindparam("session", type_=SessionId))
    .order_by(conversations.c.id.desc())
    .limit(bindparam("most", type_=Integer))
)


@cache
def _touch_session(dialect: str) -> ReturningInsert[tuple[str]]:
    """Open the session or note that it was active, and return its id; another key's session is left alone and nothing
    is returned. Clocks of two processes may differ, so `last_active` never goes back."""
    statement: Insert = upsert(dialect, sessions)
    later = case(
        (statement.excluded.last_active > sessions.c.last_active, statement.excluded.last_active),
        else_=sessions.c.last_active,
    )
    return statement.on_conflict_do_update(
        index_elements=[sessions.c.session_id],
        set_={"last_active": later},
        where=sessions.c.owner == statement.excluded.owner,
    ).returning(sessions.c.session_id)


def _no_session(session_id: str) -> SessionNotFound:
    return SessionNotFound(f"There is no session {session_id}.", hint="Ask without session_id to start a new one.")
