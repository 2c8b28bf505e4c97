"""Looks on as an answer passes by, so that people can see what happens: one log line, one trace, figures.

Comes in: the events of an answer on their way from the pipeline to a door. Goes out: the same events, untouched; and
for each answer, also one that failed or that its reader left, one `Observation` to every watcher. Watchers are plain
functions that return at once: what takes time (storing a trace) is done when the reader has the answer.
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


@dataclass(slots=True)
class Observation:
    """What was seen of one answer. Without `answer` it failed (`error`) or its reader left."""

    question: Question
    evidence: Evidence | None = None
    answer: Answer | None = None
    first_word_ms: float | None = None
    error: QuothError | None = None


Watcher = Callable[[Observation], None]


class Observers:
    """Whoever wants to see answers. The doors add themselves while they are open."""

    def __init__(self, spans: Spans, *watchers: Watcher) -> None:
        self._spans = spans
        self.watchers = list(watchers)

    async def __call__(self, question: Question, events: AsyncGenerator[AnswerEvent]) -> AsyncGenerator[AnswerEvent]:
        seen, started = Observation(question), time.perf_counter()
        events = self._spans.answer(question, events)
        try:
            async with aclosing(events):
                async for event in events:
                    if isinstance(event, Delta):
                        if seen.first_word_ms is None:
                            seen.first_word_ms = (time.perf_counter() - started) * 1000
                    elif isinstance(event, Retrieved):
                        seen.evidence = event.evidence
                    elif isinstance(event, Done):
                        seen.answer = event.answer
                        self._tell(seen)
                    yield event
        except QuothError as error:
            seen.error = error
            raise
        finally:
            if seen.answer is None:
                self._tell(seen)

    def _tell(self, seen: Observation) -> None:
        for watcher in self.watchers:
            watcher(seen)


def log_answer(seen: Observation) -> None:
    """One line for each answer; what was asked only where the operator allowed it (see `quoth.logs`)."""
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


@dataclass(frozen=True, slots=True)
class TraceOptions:
    keep: timedelta = timedelta(days=14)
    most: int = 20_000  # in all: under load, days would be many gigabytes
    waiting: int = 1_000  # not yet stored; beyond that they are left out
    gather: float = 0.2  # seconds in which they are put together


class Traces:
    """Keeps a trace of each answer, a moment later and many at once. What cannot be kept takes nothing away from the
    answer, which the reader has by then."""

    def __init__(self, library: Library, clock: Clock, options: TraceOptions = TraceOptions()) -> None:
        self._library = library
        self._clock = clock
        self._options = options
        self._waiting: list[tuple[Answer, Evidence, float | None]] = []
        self._writing: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    def __call__(self, seen: Observation) -> None:
        if seen.answer is None or seen.evidence is None:
            return
        if len(self._waiting) >= self._options.waiting:
            logger.warning("a trace is left out: too many are waiting", extra={"request_id": seen.question.request_id})
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
                await asyncio.wait_for(self._closing.wait(), self._options.gather)
            answers, self._waiting = self._waiting, []
            try:
                await self._library.put_traces(
                    [trace_of(answer, evidence, first_word_ms=first) for answer, evidence, first in answers],
                    keep_since=self._clock.now() - self._options.keep,
                    most=self._options.most,
                )
            except QuothError as error:
                logger.warning("%d traces could not be kept: %s", len(answers), error)
