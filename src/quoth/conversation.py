"""The asking pipeline: question → find → judge → answer → check → remember, as one stream of events.

Every door consumes this one generator; what is streamed is what is stored and what is returned. Stages are handed in;
nothing here knows an engine, a model or a transport. A refusal is an answer like any other; an outage leaves as the
error it is and stores nothing.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field, replace

from quoth import confidence, extractive, grounding, questions
from quoth.calibration import Calibration
from quoth.confidence import ConfidenceOptions
from quoth.domain import (
    REFUSAL_SENTENCE,
    Answer,
    AnswerEvent,
    AnswerMode,
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
from quoth.errors import SessionNotFound
from quoth.extractive import ExtractiveOptions
from quoth.grounding import GroundingPolicy
from quoth.ports import ChunkIndex, Clock, Library
from quoth.questions import FollowUpOptions
from quoth.requests import MAX_TOP_K, Search
from quoth.retrieval import Retriever
from quoth.selection import evidence_of_selection, judge_selection
from quoth.views import metadata_view, sources_view, unsupported_view

NOT_IN_SELECTION = "I could not find that in the selected text"
SUGGESTIONS = 3


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    refusal: str = REFUSAL_SENTENCE
    confidence: ConfidenceOptions = ConfidenceOptions()
    own_calibration: Callable[[str], Calibration | None] = lambda book_id: None  # of a book that was fitted to itself
    extractive: ExtractiveOptions = ExtractiveOptions()
    grounding: GroundingPolicy = "mark"
    follow_ups: FollowUpOptions = FollowUpOptions()


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
    ) -> None:
        self._retriever = retriever
        self._index = index
        self._library = library
        self._clock = clock
        self._options = options

    async def search(self, search: Search) -> tuple[Evidence, Verdict]:
        """Find and judge, without answering."""
        evidence = await self._retriever.find(
            search.text, book_id=search.book_id, filters=search.filters, limit=search.limit
        )
        return evidence, confidence.judge(evidence, self._confidence(search.book_id))

    async def answer(self, question: Question) -> Answer:
        """The same answer as the stream's, without the stream."""
        async for event in self.ask(question):
            if isinstance(event, Done):
                return event.answer
        raise AssertionError("the stream of an answer ends with Done")

    async def ask(self, question: Question) -> AsyncGenerator[AnswerEvent]:
        watch = Stopwatch(self._clock)
        yield Status("retrieving")
        evidence = await self._find(question)
        watch.lap("retrieve")
        yield Retrieved(evidence)

        verdict = self._judge(question, evidence)
        watch.lap("judge")
        draft = None
        if verdict.should_answer:
            yield Status("generating")
            draft = extractive.draft(question.query, evidence, self._options.extractive)
            if self._options.grounding == "strict":  # before a word of it is shown
                draft = grounding.sieved(draft, question.query)
        for piece in self._pieces(question, draft):
            yield Delta(piece)
        watch.lap("answer")

        answer = self._assemble(question, evidence, verdict, draft, watch)
        yield Sourced(answer)
        yield Grounded(answer.grounding)
        await self._remember(answer)
        yield Done(answer)

    async def _find(self, question: Question) -> Evidence:
        if question.selected_text is not None:  # only the selection may ground the answer: the index is not asked
            return evidence_of_selection(question.query, question.selected_text, book_id=question.book_id)
        query = await self._query(question)
        found = await self._pointed_at(question, query) or await self._retriever.find(
            query.text, book_id=question.book_id, filters=question.filters, limit=question.top_k
        )
        return replace(found, told=query.told)

    async def _query(self, question: Question) -> SearchQuery:
        """What to search: a follow-up is joined with the words of the conversation that it means."""
        options = self._options.follow_ups
        history = await self._history(question, options.exchanges)
        ids = questions.terms_for(question.query, history)
        rarity = await self._index.idf(question.book_id, ids) if ids else {}
        return questions.rewrite(question.query, history, rarity, options)

    async def _history(self, question: Question, exchanges: int) -> list[Exchange]:
        """The last exchanges of this session about this book."""
        try:
            turns, _ = await self._library.turns(question.session_id, limit=exchanges)
        except SessionNotFound:  # its first question
            return []
        return [questions.exchange_of(turn) for turn in turns if turn.metadata.get("book_id") == question.book_id]

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

    def _pieces(self, question: Question, draft: Draft | None) -> list[str]:
        """The text in the pieces in which it is streamed: joined, they are the answer."""
        if draft is None:
            return [self._refusal(question)]
        return draft.text.splitlines(keepends=True)

    def _refusal(self, question: Question) -> str:
        return NOT_IN_SELECTION if question.selected_text is not None else self._options.refusal

    def _assemble(
        self, question: Question, evidence: Evidence, verdict: Verdict, draft: Draft | None, watch: Stopwatch
    ) -> Answer:
        given = draft or Draft(self._refusal(question), ())
        checked = Grounding()
        if draft is not None:
            checked = replace(grounding.check(draft.text, draft.citations, question.query), removed=draft.removed)
        watch.lap("check")
        in_book = question.selected_text is None
        return Answer(
            text=given.text,
            mode=self._mode(question, draft),
            question=question,
            searched_query=evidence.query,
            citations=given.citations,
            verdict=verdict,
            grounding=checked,
            retrieval_count=len(evidence.passages) if in_book else 0,
            created_at=self._clock.now(),
            query_time_ms=watch.total_ms(),
            suggestions=suggestions(evidence) if draft is None and in_book else (),
            missing_terms=evidence.missing_terms if draft is None and in_book else (),
            stage_ms=dict(watch.stages),
        )

    @staticmethod
    def _mode(question: Question, draft: Draft | None) -> AnswerMode:
        if question.selected_text is not None:
            return "selected_text"
        return "no_results" if draft is None else "extractive"

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


def suggestions(evidence: Evidence) -> tuple[Suggestion, ...]:
    """The nearest sections, each once, for a reader who was refused."""
    nearest: dict[str, Suggestion] = {}
    for passage in evidence.passages:
        chunk = passage.chunk
        title = chunk.section_title or chunk.title
        nearest.setdefault(chunk.url, Suggestion(title=title, url=chunk.url, breadcrumb=chunk.breadcrumb))
    return tuple(nearest.values())[:SUGGESTIONS]
