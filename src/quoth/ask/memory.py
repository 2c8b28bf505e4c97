"""One question at a time in each session; its turn is stored once, whatever happens to its reader.

In: questions as they come, answers whole or broken off. Out: turns in the library, unanswered questions for the author,
the topic of a long conversation. A follow-up has to know the answer before it, so a question waits while its session
has another under way (within this process; across processes the store keeps the order in which turns end). Storing
runs in a task of its own, so a reader who leaves, a server that stops or a caller that is cancelled twice cannot stop
it half-way; `close` waits for what is under way. Knows no transport.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from types import TracebackType
from typing import Any, Self

from quoth.ask import threads
from quoth.ask.cited import past_turn, turn_of
from quoth.ask.follow_up import EXCHANGES
from quoth.ask.gaps import gap_of
from quoth.domain import Answer, Evidence, ModelText, PastTurn, Question, Turn
from quoth.errors import LibraryUnavailable, Outage, QuothError, SessionNotFound
from quoth.ports import ChatModel, Library

# --- the order of a session ------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Queue:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)  # it is fair: first come, first served
    inside: int = 0  # callers that ask or wait


class SessionOrder:
    def __init__(self) -> None:
        self._queues: dict[tuple[str, str], _Queue] = {}

    @asynccontextmanager
    async def turn(self, owner: str, session_id: str) -> AsyncIterator[None]:
        """One question at a time. The same session id under another key is another session; neither waits for the
        other."""
        key = (owner, session_id)
        queue = self._queues.setdefault(key, _Queue())
        queue.inside += 1
        try:
            async with queue.lock:
                yield
        finally:
            queue.inside -= 1
            if not queue.inside:
                del self._queues[key]

    def waiting(self, *, owner: str, session_id: str) -> int:
        """How many callers wait behind the one that is being answered."""
        queue = self._queues.get((owner, session_id))
        return queue.inside - 1 if queue else 0

    def __len__(self) -> int:
        """The number of sessions in which a question is being answered or waits."""
        return len(self._queues)


# --- storing turns ---------------------------------------------------------------------------------------------------


CLOSING_SECONDS = 10.0  # time to store turns at the end; the store itself gives up sooner

logger = logging.getLogger(__name__)


class TurnInProgress:
    """One turn on its way into the store, as a context. When its reader leaves, what they were given is stored."""

    def __init__(self, memory: Memory, question: Question) -> None:
        self._memory = memory
        self.question = question
        self.so_far: Callable[[], Answer] | None = None  # what the reader has; None: nothing yet
        self.forgotten = False  # its session was erased meanwhile
        self._storing: asyncio.Task[None] | None = None

    async def store(self) -> None:
        """Store it as it is now, once: a second call waits for the first."""
        self.begin_to_store()
        if self._storing is not None:
            await asyncio.shield(self._storing)

    def begin_to_store(self) -> None:
        if self._storing is None and self.so_far is not None and not self.forgotten:
            self._storing = self._memory.in_background(self._memory.add(self.so_far()))

    async def interrupt(self) -> None:
        """The reader gets no more than they already have. Only the operator can still be told about a fault."""
        try:
            await self.store()
        except QuothError as error:
            logger.warning("an interrupted turn could not be stored: %s", error)

    async def __aenter__(self) -> Self:
        self._memory.under_way.add(self)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if isinstance(error, GeneratorExit | asyncio.CancelledError):
                await self.interrupt()
        finally:
            self._memory.under_way.discard(self)


class Memory:
    def __init__(
        self, library: Library, *, keep_unanswered: timedelta | None = None, model: ChatModel | None = None
    ) -> None:
        """Without `keep_unanswered` no question is recorded for the author; without `model` topics come from
        headings."""
        self._library = library
        self._keep_unanswered = keep_unanswered
        self._model = model
        self.order = SessionOrder()
        self._tasks: set[asyncio.Task[None]] = set()
        self._topics: dict[tuple[str, str], asyncio.Task[None]] = {}
        self.under_way: set[TurnInProgress] = set()

    @asynccontextmanager
    async def turn(self, question: Question) -> AsyncIterator[TurnInProgress]:
        """Wait until no other question of the session is under way."""
        async with self.order.turn(question.owner, question.session_id), TurnInProgress(self, question) as turn:
            yield turn

    async def recall(self, question: Question) -> list[PastTurn]:
        """The last exchanges of this session about this book; none with a selection, which is answered alone. Another
        key's session is never found, not even with a selection."""
        turns = await self._library.recent_turns(question.session_id, owner=question.owner, limit=EXCHANGES)
        if question.selected_text is not None:
            return []
        if question.history is not None:  # the client keeps it itself
            return list(question.history[-EXCHANGES:])
        return [past_turn(turn) for turn in turns if turn.book_id == question.book_id]

    async def add(self, answer: Answer) -> None:
        await self._library.add_turn(turn_of(answer))

    async def record(self, answer: Answer, evidence: Evidence) -> None:
        """For the author, if recording is on. By now the reader has the answer and it is stored, so only the operator
        hears of a failure."""
        keep = self._keep_unanswered
        if keep is None or (question := gap_of(answer, evidence)) is None:
            return
        try:
            session_id, since = answer.question.session_id, answer.created_at - keep
            await self._library.record_question(question, session_id=session_id, keep_since=since)
        except LibraryUnavailable as error:
            logger.warning("an unanswered question could not be recorded: %s", error)

    def consider_topic(self, question: Question) -> None:
        """Called after an answer, when nobody waits for it. One at a time in each session."""
        key = (question.owner, question.session_id)
        if self._model is None or key in self._topics:
            return
        self._topics[key] = self.in_background(self._find_topic(self._model, question))
        self._topics[key].add_done_callback(lambda _: self._topics.pop(key))

    async def forget(self, session_id: str, *, owner: str) -> None:
        """Erase the session for good, with any answer that is being written in it."""
        asked = {turn: turn.question for turn in self.under_way}
        concerned = [turn for turn, one in asked.items() if (one.session_id, one.owner) == (session_id, owner)]
        for turn in concerned:
            turn.forgotten = True
            await turn.interrupt()  # wait for what is already being stored, to erase it too
        try:
            await self._library.delete_conversation(session_id, owner=owner)
        except SessionNotFound:
            if not concerned:
                raise

    async def close(self) -> None:
        """Turns that are still under way are stored as they are; topics can wait for the next time."""
        for topic in list(self._topics.values()):
            topic.cancel()
        for turn in self.under_way:
            turn.begin_to_store()
        if not self._tasks:
            return
        done, hanging = await asyncio.wait(self._tasks, timeout=CLOSING_SECONDS)
        for task in hanging:
            task.cancel()
        lost = len(hanging) + sum(not task.cancelled() and task.exception() is not None for task in done)
        if lost:
            logger.warning("%d turns could not be stored before the end", lost)

    def in_background(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # marks it as seen, because there may be no caller that waits for the task

    async def _find_topic(self, model: ChatModel, question: Question) -> None:
        session, owner = question.session_id, question.owner
        try:
            conversation = await self._library.conversation(session, owner=owner)
            if not threads.topic_is_due(conversation.turns, conversation.topic_summary):
                return
            turns = await self._library.recent_turns(session, owner=owner, limit=threads.LIVE_TURNS)
            if topic := await self._topic(model, turns):
                await self._library.put_topic_summary(session, topic, owner=owner)
        except SessionNotFound:
            return  # erased meanwhile
        except Outage as error:
            logger.warning("a conversation could not be given a new topic: %s", error)

    @staticmethod
    async def _topic(model: ChatModel, turns: Sequence[Turn]) -> str:
        words: list[str] = []
        async with aclosing(model.reply(threads.topic_request(turns))) as events:
            async for event in events:
                if isinstance(event, ModelText):
                    words.append(event.text)
                if sum(map(len, words)) > 4 * threads.LONGEST_TOPIC:  # a model that does not stop
                    break
        return threads.one_line("".join(words))
