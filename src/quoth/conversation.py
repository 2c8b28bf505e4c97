"""The asking pipeline: question → find → judge → answer → check → remember, as one stream of events.

Decides the order of the stages and what becomes of their results; each stage decides what it does. Every door consumes
this one generator: what is streamed is also what is stored and returned, even when the reader leaves in the middle.
Stages are passed in; nothing here knows an engine, a model or a transport. A refusal is an answer like any other. An
outage is raised as an error and stores nothing.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial

from quoth.ask import extract, follow_up
from quoth.ask import judge as judging
from quoth.ask.calibration import Calibration
from quoth.ask.cited import sources_of
from quoth.ask.conclude import conclude
from quoth.ask.find import Retriever
from quoth.ask.judge import ConfidenceOptions
from quoth.ask.languages import words_cannot_tell
from quoth.ask.memory import Memory
from quoth.ask.model_turn import ModelWriter
from quoth.ask.prompts import first_search
from quoth.ask.reply import MayUseModel, Replies, ReplyOptions, SoFar
from quoth.ask.request import MAX_TOP_K, Search
from quoth.ask.selection import evidence_of_selection, judge_selection
from quoth.domain import (
    Answer,
    AnswerEvent,
    Delta,
    Done,
    Evidence,
    Grounded,
    PastTurn,
    Question,
    Reply,
    Retrieved,
    SearchQuery,
    Sourced,
    Status,
    Suggestion,
    Verdict,
    passes,
)
from quoth.errors import IndexUnavailable
from quoth.ports import BookView, ChunkIndex, Clock, Library, within

_NEIGHBOURS = 2  # steps from a passage to the chunks before and after it
_MOST_SUGGESTIONS = 3

AnswerEvents = AsyncGenerator[AnswerEvent]
Observer = Callable[[Question, AnswerEvents], AnswerEvents]


def _unobserved(question: Question, events: AnswerEvents) -> AnswerEvents:
    return events


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    confidence: ConfidenceOptions = ConfidenceOptions()
    own_calibration: Callable[[str], Calibration | None] = lambda book_id: None  # for a book with its own fit
    reply: ReplyOptions = ReplyOptions()
    index_seconds: float = 10.0  # how long to wait for the index
    keep_unanswered: timedelta | None = None  # how long unanswered questions are kept; None: not recorded
    observed: Observer = _unobserved  # watches each answer as it passes
    topics: bool = True  # may a model be asked for the topic of a long conversation?


@dataclass(slots=True)
class _Stopwatch:
    """How long each stage of one answer took."""

    clock: Clock
    stages: dict[str, float] = field(default_factory=dict)
    started: float = 0.0
    _last: float = 0.0

    def __post_init__(self) -> None:
        self.started = self._last = self.clock.monotonic()

    def lap(self, stage: str) -> None:
        now = self.clock.monotonic()
        self.stages[stage] = self.stages.get(stage, 0.0) + (now - self._last) * 1000
        self._last = now

    def total_ms(self) -> float:
        return (self.clock.monotonic() - self.started) * 1000

    def since(self, stage: str) -> timedelta:
        """How long ago the stage, which must be the first, ended."""
        return timedelta(milliseconds=self.total_ms() - self.stages[stage])


class Conversations:
    def __init__(
        self,
        retriever: Retriever,
        index: ChunkIndex,
        library: Library,
        clock: Clock,
        options: AnswerOptions = AnswerOptions(),
        writer: ModelWriter | None = None,
        *,
        may_use_model: MayUseModel | None = None,
        memory: Memory | None = None,
    ) -> None:
        """Without `writer` there is no language model, and the book answers in its own sentences. Conversations over
        the same sessions share one `memory`, which keeps their turns in order."""
        self._retriever = retriever
        self._index = index
        self._library = library
        self._clock = clock
        self._options = options
        self._writer = writer
        self._replies = Replies(options.reply, writer, may_use_model)
        model = writer.model if writer and options.topics else None
        self.memory = memory or Memory(library, keep_unanswered=options.keep_unanswered, model=model)

    def unrecorded(self) -> Conversations:
        """The same pipeline for questions that do not come from readers."""
        options = replace(self._options, keep_unanswered=None, topics=False, observed=_unobserved)
        retriever = self._retriever.remembering()
        return Conversations(retriever, self._index, self._library, self._clock, options, self._writer)

    def with_budget(self, may_use_model: MayUseModel) -> Conversations:
        """The same conversations for a caller with a model budget; beyond it, the book answers in its own words."""
        parts = (self._retriever, self._index, self._library, self._clock, self._options, self._writer)
        return Conversations(*parts, may_use_model=may_use_model, memory=self.memory)

    async def search(self, search: Search) -> tuple[Evidence, Verdict]:
        """Find and judge without answering."""
        evidence = await self._retriever.find(
            search.text,
            book_id=search.book_id,
            filters=search.filters,
            limit=search.limit,
            threshold=search.similarity_threshold,
            count=True,
        )
        return evidence, judging.judge(evidence, self._confidence(search.book_id))

    async def answer(self, question: Question) -> Answer:
        """The same answer without the stream. The reader has seen nothing yet, so a model that breaks off counts as a
        model that failed."""
        async with aclosing(self.ask(question, whole=True)) as events:
            async for event in events:
                if isinstance(event, Done):
                    return event.answer
        raise AssertionError("the stream of an answer ends with Done")

    def ask(self, question: Question, *, whole: bool = False) -> AnswerEvents:
        """Close it if you leave early: what was sent until then is stored as an interrupted turn."""
        return self._options.observed(question, self._ask(question, whole=whole))

    async def _ask(self, question: Question, *, whole: bool) -> AnswerEvents:
        yield Status("retrieving")
        async with self.memory.turn(question) as turn:
            watch = _Stopwatch(self._clock)
            history = await self.memory.recall(question)
            evidence = await self._find(question, history)
            watch.lap("retrieve")
            verdict = self._judge(question, evidence)
            watch.lap("judge")
            assemble = partial(self._assemble, question, evidence, verdict, watch)
            so_far = SoFar()
            by = await self._replies.answerer(verdict)
            if by in ("book", "book instead of the model"):
                evidence = await self._with_neighbours(question, evidence)
            turn.so_far = lambda: assemble(self._replies.broken_off(question, by, so_far))
            yield Retrieved(evidence, question.session_id)

            reply = self._replies.refuse(question)
            if by != "nobody":
                yield Status("generating")
                replying = self._replies.reply(by, question, evidence, history, so_far, whole=whole)
                async with aclosing(replying) as pieces:
                    async for piece in pieces:
                        if isinstance(piece, Reply):
                            reply = piece
                        else:
                            yield Delta(piece)
            else:
                turn.so_far = lambda: assemble(reply)
                yield Delta(reply.draft.text)
            watch.lap("answer")

            answer = assemble(reply)
            turn.so_far = lambda: answer
            yield Sourced(answer)
            yield Grounded(answer.grounding)
            await turn.store()
            await self.memory.record(answer, evidence)
            if answer.model:  # it works, and may be used
                self.memory.consider_topic(question)
        yield Done(answer)

    async def forget(self, session_id: str, *, owner: str = "") -> None:
        """Erase a conversation for good. `SessionNotFound` if there is none."""
        await self.memory.forget(session_id, owner=owner)

    async def close(self) -> None:
        """Store the unfinished turns as they are now."""
        await self.memory.close()

    async def _find(self, question: Question, history: Sequence[PastTurn]) -> Evidence:
        if question.selected_text is not None:  # only the selection may ground the answer: do not search
            return evidence_of_selection(question.query, question.selected_text, book_id=question.book_id)
        view = self._index.view(question.book_id)  # one publication serves the whole question
        query = await self._query(question, history, view)
        found = await self._pointed_at(question, query, view) or await self._retriever.find(
            query.text,
            book_id=question.book_id,
            filters=question.filters,
            limit=question.top_k,
            threshold=question.similarity_threshold,
            view=view,
            phrase=query.phrase,
            pages=query.pages,
            alone=not query.rules,
        )
        return replace(
            found,
            exclude_quotes=query.exclude_quotes,
            previous_quotes=query.previous_quotes,
            rules=query.rules,
            carried=query.carried,
            phrase=query.phrase,
            shown=query.shown,
        )

    async def _query(self, question: Question, history: Sequence[PastTurn], view: BookView) -> SearchQuery:
        """What to search for: a follow-up is joined with the words of the conversation it refers to."""
        ids = follow_up.terms_for(question.query, history)
        async with self._in_time():
            rarity = await view.idf(ids) if ids else {}
        return follow_up.rewrite(question.query, history, rarity)

    async def _pointed_at(self, question: Question, query: SearchQuery, view: BookView) -> Evidence | None:
        """The source that the question points at, and its surroundings. All filters apply, so a source that they
        exclude, or that is gone, is not used."""
        if query.pinned is None:
            return None
        async with self._in_time():
            pinned = await view.chunks([query.pinned.chunk_id])
        for chunk in pinned:
            if question.filters.parent_doc_id in (None, chunk.parent_doc_id):
                page = replace(question.filters, parent_doc_id=chunk.parent_doc_id)
                found = await self._retriever.find(
                    query.text,
                    book_id=question.book_id,
                    filters=page,
                    limit=MAX_TOP_K,
                    threshold=question.similarity_threshold,
                    view=view,
                    phrase=query.phrase,
                )
                return follow_up.pinned_first(found, chunk, question.top_k)
        return None

    async def _with_neighbours(self, question: Question, evidence: Evidence) -> Evidence:
        """With the chunks in which a block that may be quoted goes on, as far as the reader's filters allow."""
        for _ in range(_NEIGHBOURS):
            wanted = extract.unfinished(evidence)
            if not wanted:
                break
            async with self._in_time():
                chunks = await self._index.view(question.book_id).chunks(wanted)
            allowed = (chunk for chunk in chunks if passes(chunk, question.filters))
            evidence = replace(evidence, beside=(*evidence.beside, *allowed))
        return evidence

    def _in_time(self) -> AbstractAsyncContextManager[None]:
        return within(self._options.index_seconds, IndexUnavailable("The index does not answer.", hint="Ask again."))

    def _judge(self, question: Question, evidence: Evidence) -> Verdict:
        if question.selected_text is not None:
            return judge_selection(evidence)
        confidence = self._confidence(question.book_id)
        readings = follow_up.readings(question.query, evidence)
        verdict = max((judging.judge(one, confidence) for one in readings), key=lambda one: one.confidence)
        own_rule = confidence.policy == "spec" or confidence.threshold is not None  # the operator's, which is obeyed
        open_to_a_model = words_cannot_tell(question.query, evidence.terms) or bool(
            evidence.carried and follow_up.turns_to_unknown(question.query, evidence)
        )
        if verdict.outside and not own_rule and open_to_a_model:
            return replace(verdict, outside=False)
        return verdict

    def _confidence(self, book_id: str) -> ConfidenceOptions:
        return replace(self._options.confidence, own=self._options.own_calibration(book_id))

    def _assemble(
        self, question: Question, evidence: Evidence, verdict: Verdict, watch: _Stopwatch, reply: Reply
    ) -> Answer:
        watch.lap("check")
        in_book = question.selected_text is None
        verdict = conclude(verdict, reply)
        unanswered = in_book and not verdict.should_answer
        now = self._clock.now()
        first = first_search(evidence, now - watch.since("retrieve"))
        return Answer(
            text=None if reply.mode == "retrieval_only" else reply.draft.text,
            mode=reply.mode,
            question=question,
            searched_query=evidence.searched,
            citations=reply.draft.citations,
            sources=sources_of(reply.draft.citations, question.selected_text),
            verdict=verdict,
            grounding=reply.grounding,
            retrieval_count=len(evidence.passages) + reply.work.retrieved if in_book else 0,
            created_at=now,
            query_time_ms=watch.total_ms(),
            fallback_message=reply.fallback_message or None,
            suggestions=_suggestions(evidence) if unanswered else (),
            missing_terms=follow_up.as_asked(evidence).missing_terms if unanswered else (),
            stage_ms=dict(watch.stages),
            searches=(first, *reply.work.searches) if in_book else (),
            work=reply.work,
            interrupted=not reply.complete,
        )


def _suggestions(evidence: Evidence) -> tuple[Suggestion, ...]:
    """The nearest sections, each once, for a reader who was refused."""
    nearest: dict[str, Suggestion] = {}
    for passage in evidence.passages:
        chunk = passage.chunk
        title = chunk.section_title or chunk.title
        nearest.setdefault(chunk.url, Suggestion(title=title, url=chunk.url, breadcrumb=chunk.breadcrumb))
    return tuple(nearest.values())[:_MOST_SUGGESTIONS]
