"""Observers of answers: one log line, one trace and some figures for each answer, so that operators see what happens.

In: the events of an answer on their way from the pipeline to a door. Out: the same events, untouched; and one
`Observation` for every watcher, even if the answer failed or its reader left. Watchers are functions that return at
once: slow work (storing a trace) is done after the reader has the answer.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from datetime import timedelta

from quoth.ask.spans import Spans
from quoth.domain import Answer, AnswerEvent, Delta, Done, Evidence, Question, Retrieved
from quoth.errors import QuothError
from quoth.insight.trace import trace_of
from quoth.ports import Clock, Library

logger = logging.getLogger(__name__)

# Of traces.
MOST_STORED = 20_000  # under load, the traces of a few days would take many gigabytes
MOST_WAITING = 1_000  # waiting to be stored; more are dropped
GATHER_SECONDS = 0.2  # before the waiting traces are stored together


@dataclass(slots=True)
class Observation:
    """What the observers saw of one answer. Without `answer`, it failed (`error`) or its reader left."""

    question: Question
    evidence: Evidence | None = None
    answer: Answer | None = None
    first_word_ms: float | None = None
    error: QuothError | None = None


Watcher = Callable[[Observation], None]


class Observers:
    """Everything that watches answers. A door adds its own watcher while it is open."""

    def __init__(self, spans: Spans, *watchers: Watcher) -> None:
        self._spans = spans
        self.watchers = list(watchers)

    async def __call__(self, question: Question, events: AsyncGenerator[AnswerEvent]) -> AsyncGenerator[AnswerEvent]:
        seen, began = Observation(question), time.perf_counter()
        events = self._spans.answer(question, events)
        try:
            async with aclosing(events):
                async for event in events:
                    if isinstance(event, Delta):
                        if seen.first_word_ms is None:
                            seen.first_word_ms = (time.perf_counter() - began) * 1000
                    elif isinstance(event, Retrieved):
                        seen.evidence = event.evidence
                    elif isinstance(event, Done):
                        seen.answer = event.answer
                        self._notify(seen)
                    yield event
        except QuothError as error:
            seen.error = error
            raise
        finally:
            if seen.answer is None:
                self._notify(seen)

    def _notify(self, seen: Observation) -> None:
        for watcher in self.watchers:
            watcher(seen)


def log_answer(seen: Observation) -> None:
    """One line for each answer. It holds the question only if the operator allows that (see `quoth.logs`)."""
    if not logger.isEnabledFor(logging.INFO):
        return
    answer, asked = seen.answer, seen.question
    line: dict[str, object] = {"request_id": asked.request_id, "book_id": asked.book_id, "question": asked.query}
    if answer is None:
        line["outcome"] = seen.error.code if seen.error else "interrupted"
    else:
        line |= {
            "outcome": "answered",
            "mode": answer.mode,
            "level": answer.verdict.level,
            "confidence": round(answer.verdict.confidence, 3),
            "passages": answer.retrieval_count,
            "model": answer.model,
            "tokens": answer.tokens_used,
            "ms": round(answer.query_time_ms, 1),
            "stage_ms": {stage: round(spent, 1) for stage, spent in answer.stage_ms.items()},
        }
    if seen.first_word_ms is not None:
        line["first_word_ms"] = round(seen.first_word_ms, 1)
    logger.info("answer", extra=line)


class Traces:
    """Stores a trace of each answer, a moment later and many at once. By then the reader has the answer, so it does no
    harm if a trace cannot be stored."""

    def __init__(self, library: Library, clock: Clock, *, keep: timedelta) -> None:
        self._library = library
        self._clock = clock
        self._keep = keep
        self._waiting: list[tuple[Answer, Evidence, float | None]] = []
        self._writing: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    def __call__(self, seen: Observation) -> None:
        if seen.answer is None or seen.evidence is None:
            return
        if len(self._waiting) >= MOST_WAITING:
            logger.warning("a trace was dropped: too many are waiting", extra={"request_id": seen.question.request_id})
            return
        self._waiting.append((seen.answer, seen.evidence, seen.first_word_ms))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write(), name="traces")

    async def close(self) -> None:
        self._closing.set()
        if self._writing is not None:
            await self._writing

    async def _write(self) -> None:
        while self._waiting:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), GATHER_SECONDS)
            answers, self._waiting = self._waiting, []
            try:
                await self._library.put_traces(
                    [trace_of(answer, evidence, first_word_ms=first) for answer, evidence, first in answers],
                    keep_since=self._clock.now() - self._keep,
                    most=MOST_STORED,
                )
            except QuothError as error:
                logger.warning("%d traces could not be stored: %s", len(answers), error)
