"""The asking pipeline: question → find → judge → answer → check → remember, as one stream of events.

Every door consumes this one generator; what is streamed is what is stored and what is returned. Stages are handed in;
nothing here knows an engine, a model or a transport. A refusal is an answer like any other; an outage leaves as the
error it is and stores nothing.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import timedelta

from quoth import confidence, extractive, grounding, questions
from quoth.answering import Answering, Written
from quoth.calibration import Calibration
from quoth.confidence import ConfidenceOptions
from quoth.domain import (
    REFUSAL_SENTENCE,
    Answer,
    AnswerEvent,
    AnswerMode,
    Citation,
    Delta,
    Done,
    Draft,
    Evidence,
    Exchange,
    Grounded,
    Grounding,
    Question,
    Retrieved,
    SearchQuery,
    Sourced,
    Status,
    Suggestion,
    Turn,
    Verdict,
)
from quoth.errors import LibraryUnavailable, ModelUnavailable, SessionNotFound
from quoth.extractive import ExtractiveOptions
from quoth.grounding import GroundingPolicy
from quoth.ports import ChunkIndex, Clock, Library
from quoth.questions import FollowUpOptions
from quoth.recording import recorded
from quoth.requests import MAX_TOP_K, Search
from quoth.retrieval import Retriever
from quoth.selection import evidence_of_selection, judge_selection
from quoth.views import metadata_view, sources_view, unsupported_view

NOT_IN_SELECTION = "I could not find that in the selected text"
SUGGESTIONS = 3
MODEL_FAILED = "The language model could not be reached; these are the passages of the book that fit the question best."
MODEL_SPENT = "The language model's answers for today are used up; this is the book in its own words."
MODEL_STOPPED = "The language model broke off before its answer was complete."

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    refusal: str = REFUSAL_SENTENCE
    confidence: ConfidenceOptions = ConfidenceOptions()
    own_calibration: Callable[[str], Calibration | None] = lambda book_id: None  # of a book that was fitted to itself
    extractive: ExtractiveOptions = ExtractiveOptions()
    grounding: GroundingPolicy = "mark"
    follow_ups: FollowUpOptions = FollowUpOptions()
    keep_unanswered: timedelta | None = None  # how long their author may read them; None: they are not recorded
    may_use_model: Callable[[], Awaitable[bool]] | None = None  # whether the budget of whoever asks allows one more


@dataclass(frozen=True, slots=True)
class Reply:
    """What is said to a question, and how it came about."""

    draft: Draft
    grounding: Grounding
    mode: AnswerMode
    fallback_message: str = ""
    model: str = ""
    tokens: int = 0
    refused: bool = False  # by the model, after reading


@dataclass(slots=True)
class Stopwatch:
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


class Conversations:
    def __init__(
        self,
        retriever: Retriever,
        index: ChunkIndex,
        library: Library,
        clock: Clock,
        options: AnswerOptions = AnswerOptions(),
        answering: Answering | None = None,
    ) -> None:
        """Without `answering` there is no language model, and the book answers in its own sentences."""
        self._retriever = retriever
        self._index = index
        self._library = library
        self._clock = clock
        self._options = options
        self._answering = answering

    def unrecorded(self) -> Conversations:
        """The same pipeline for questions that no reader asked."""
        options = replace(self._options, keep_unanswered=None)
        return Conversations(self._retriever, self._index, self._library, self._clock, options, self._answering)

    def within(self, may_use_model: Callable[[], Awaitable[bool]]) -> Conversations:
        """The same pipeline for somebody whose model has a budget; beyond it the book answers in its own words."""
        options = replace(self._options, may_use_model=may_use_model)
        return Conversations(self._retriever, self._index, self._library, self._clock, options, self._answering)

    async def search(self, search: Search) -> tuple[Evidence, Verdict]:
        """Find and judge, without answering."""
        evidence = await self._retriever.find(
            search.text, book_id=search.book_id, filters=search.filters, limit=search.limit
        )
        return evidence, confidence.judge(evidence, self._confidence(search.book_id))

    async def answer(self, question: Question) -> Answer:
        """The same answer as the stream's, without the stream. Nobody has read half of it, so a model that breaks off
        is a model that failed."""
        async for event in self.ask(question, whole=True):
            if isinstance(event, Done):
                return event.answer
        raise AssertionError("the stream of an answer ends with Done")

    async def ask(self, question: Question, *, whole: bool = False) -> AsyncGenerator[AnswerEvent]:
        watch = Stopwatch(self._clock)
        yield Status("retrieving")
        history = await self._history(question)
        evidence = await self._find(question, history)
        watch.lap("retrieve")
        yield Retrieved(evidence)

        verdict = self._judge(question, evidence)
        watch.lap("judge")
        reply = Reply(Draft(self._refusal(question), ()), Grounding(), self._mode(question, "no_results"))
        if verdict.should_answer:
            yield Status("generating")
            async for piece in self._reply(question, evidence, history, whole=whole):
                if isinstance(piece, Reply):
                    reply = piece
                else:
                    yield Delta(piece)
        else:
            yield Delta(reply.draft.text)
        watch.lap("answer")

        answer = self._assembled(question, evidence, verdict, reply, watch)
        yield Sourced(answer)
        yield Grounded(answer.grounding)
        await self._remember(answer)
        await self._record(answer, evidence)
        yield Done(answer)

    async def _find(self, question: Question, history: Sequence[Turn]) -> Evidence:
        if question.selected_text is not None:  # only the selection may ground the answer: the index is not asked
            return evidence_of_selection(question.query, question.selected_text, book_id=question.book_id)
        query = await self._query(question, [questions.exchange_of(turn) for turn in history])
        found = await self._pointed_at(question, query) or await self._retriever.find(
            query.text, book_id=question.book_id, filters=question.filters, limit=question.top_k
        )
        return replace(found, told=query.told)

    async def _query(self, question: Question, history: Sequence[Exchange]) -> SearchQuery:
        """What to search: a follow-up is joined with the words of the conversation that it means."""
        ids = questions.terms_for(question.query, history)
        rarity = await self._index.idf(question.book_id, ids) if ids else {}
        return questions.rewrite(question.query, history, rarity, self._options.follow_ups)

    async def _history(self, question: Question) -> list[Turn]:
        """The last exchanges of this session about this book; none beside a selection, which is alone."""
        if question.selected_text is not None:
            return []
        try:
            turns, _ = await self._library.turns(question.session_id, limit=self._options.follow_ups.exchanges)
        except SessionNotFound:  # its first question
            return []
        return [turn for turn in turns if turn.metadata.get("book_id") == question.book_id]

    async def _pointed_at(self, question: Question, query: SearchQuery) -> Evidence | None:
        """The source that the question points at and what stands around it. The index is asked for them with all
        filters, so that one which they leave out, or which is gone, is not used."""
        if query.pinned is None:
            return None
        for chunk in await self._index.chunks(question.book_id, [query.pinned.chunk_id]):
            if question.filters.parent_doc_id in (None, chunk.parent_doc_id):
                page = replace(question.filters, parent_doc_id=chunk.parent_doc_id)
                found = await self._retriever.find(query.text, book_id=question.book_id, filters=page, limit=MAX_TOP_K)
                return questions.pinned_first(found, chunk, question.top_k)
        return None

    def _judge(self, question: Question, evidence: Evidence) -> Verdict:
        if question.selected_text is not None:
            return judge_selection(evidence)
        return confidence.judge(evidence, self._confidence(question.book_id), question.similarity_threshold)

    def _confidence(self, book_id: str) -> ConfidenceOptions:
        return replace(self._options.confidence, own=self._options.own_calibration(book_id))

    async def _reply(
        self, question: Question, evidence: Evidence, history: Sequence[Turn], *, whole: bool
    ) -> AsyncGenerator[str | Reply]:
        """The text in the pieces in which it is streamed, joined they are the answer; then the reply."""
        spent = self._answering is not None and not await self._may_use_model()
        if self._answering is None or spent:
            reply = self._in_the_books_words(question, evidence)
            reply = replace(reply, fallback_message=MODEL_SPENT if spent else "")
            for line in reply.draft.text.splitlines(keepends=True):
                yield line
            yield reply
            return
        # Whether a model that says the refusal means it is known when it has ended: until then nobody reads it.
        held: list[str] = []
        shown = False
        written: Written | None = None
        try:
            async with aclosing(
                self._answering.write(question, evidence, history, refusal=self._refusal(question))
            ) as words:
                async for piece in words:
                    if isinstance(piece, Written):
                        written = piece
                        continue
                    held.append(piece)
                    if not whole and (shown or not self._refusal(question).startswith("".join(held).strip(" \n."))):
                        shown = True
                        for text in held:
                            yield text
                        held.clear()
        except ModelUnavailable as error:
            logger.warning("the language model failed: %s", error)
        if written is None or not (shown or written.complete):
            yield Reply(
                Draft("", cited_whole(evidence)), Grounding(), self._mode(question, "retrieval_only"), MODEL_FAILED
            )
            return
        for text in held:
            yield text
        yield self._as_reply(question, written)

    async def _may_use_model(self) -> bool:
        return self._options.may_use_model is None or await self._options.may_use_model()

    def _in_the_books_words(self, question: Question, evidence: Evidence) -> Reply:
        draft = extractive.draft(question.query, evidence, self._options.extractive)
        if self._options.grounding == "strict":  # before a word of it is shown
            draft = grounding.sieved(draft, question.query)
        checked = grounding.check(draft.text, draft.citations, question.query)
        return Reply(draft, replace(checked, removed=draft.removed), self._mode(question, "extractive"))

    def _as_reply(self, question: Question, written: Written) -> Reply:
        refused = written.draft.text.strip().rstrip(".") == self._refusal(question).rstrip(".")
        return Reply(
            draft=written.draft if not refused else Draft(written.draft.text, ()),
            grounding=written.grounding if not refused else Grounding(),
            mode=self._mode(question, "no_results" if refused else "full"),
            fallback_message="" if written.complete else MODEL_STOPPED,
            model=written.model,
            tokens=written.tokens,
            refused=refused,
        )

    def _refusal(self, question: Question) -> str:
        return NOT_IN_SELECTION if question.selected_text is not None else self._options.refusal

    def _assembled(
        self, question: Question, evidence: Evidence, verdict: Verdict, reply: Reply, watch: Stopwatch
    ) -> Answer:
        watch.lap("check")
        in_book = question.selected_text is None
        if reply.refused:  # the model read the passages and did not find it there
            verdict = replace(verdict, should_answer=False, level="insufficient")
        unanswered = in_book and not verdict.should_answer
        return Answer(
            text=None if reply.mode == "retrieval_only" else reply.draft.text,
            mode=reply.mode,
            question=question,
            searched_query=evidence.query,
            citations=reply.draft.citations,
            verdict=verdict,
            grounding=reply.grounding,
            retrieval_count=len(evidence.passages) if in_book else 0,
            created_at=self._clock.now(),
            query_time_ms=watch.total_ms(),
            fallback_message=reply.fallback_message or None,
            suggestions=suggestions(evidence) if unanswered else (),
            missing_terms=evidence.missing_terms if unanswered else (),
            model=reply.model or None,
            tokens_used=reply.tokens,
            stage_ms=dict(watch.stages),
        )

    @staticmethod
    def _mode(question: Question, mode: AnswerMode) -> AnswerMode:
        return mode if question.selected_text is None or mode == "retrieval_only" else "selected_text"

    async def _remember(self, answer: Answer) -> None:
        await self._library.add_turn(
            Turn(
                session_id=answer.question.session_id,
                timestamp=answer.created_at,
                query=answer.question.query,
                response=answer.text or "",
                sources=tuple(sources_view(answer)),
                metadata={**metadata_view(answer), "unsupported": unsupported_view(answer.grounding)},
            )
        )

    async def _record(self, answer: Answer, evidence: Evidence) -> None:
        """For the author, if he wants it. The reader has the answer by now and it is stored: a note that cannot be
        taken is told to the operator and takes nothing away from it."""
        keep = self._options.keep_unanswered
        if keep is None or (question := recorded(answer, evidence)) is None:
            return
        try:
            await self._library.record_question(question, keep_since=answer.created_at - keep)
        except LibraryUnavailable as error:
            logger.warning("an unanswered question could not be recorded: %s", error)


def cited_whole(evidence: Evidence) -> tuple[Citation, ...]:
    """The passages themselves, for an answer that nobody could write."""
    return tuple(
        Citation(number, passage.chunk, passage.chunk.text, passage.chunk.start, passage.chunk.end, passage.similarity)
        for number, passage in enumerate(evidence.passages, start=1)
    )


def suggestions(evidence: Evidence) -> tuple[Suggestion, ...]:
    """The nearest sections, each once, for a reader who was refused."""
    nearest: dict[str, Suggestion] = {}
    for passage in evidence.passages:
        chunk = passage.chunk
        title = chunk.section_title or chunk.title
        nearest.setdefault(chunk.url, Suggestion(title=title, url=chunk.url, breadcrumb=chunk.breadcrumb))
    return tuple(nearest.values())[:SUGGESTIONS]
