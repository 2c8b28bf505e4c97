"""Golden questions → results, through the pipeline that every door uses.

In: cases, and the parts that `bootstrap` has joined. Out: one Outcome for each case whose label is still in the book,
and the stale labels by name. A follow-up is asked in the conversation of its first question. The conversations of a run
are erased afterwards. An outage ends the run with an error; it must never count as a refusal.
"""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from quoth.ask.request import Search
from quoth.conversation import Conversations
from quoth.domain import Answer, Done, Evidence, Question, Retrieved
from quoth.errors import Outage, QuothError, SessionNotFound, Unreadable
from quoth.evals.cases import Case
from quoth.evals.labels import Place, Stale, place_labels
from quoth.evals.metrics import DEPTH
from quoth.evals.results import Result
from quoth.ports import ChunkIndex, Library, TellSteps
from quoth.text.offsets import line_in_file

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class RunOptions:
    top_k: int = 5
    similarity_threshold: float = 0.0
    concurrency: int = 1  # with one at a time, the latencies are those of a reader


@dataclass(frozen=True, slots=True)
class Outcome:
    """A result, and what the judge saw, to which the confidence can be refitted."""

    case: Case
    result: Result
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Run:
    outcomes: tuple[Outcome, ...]
    stale: tuple[Stale, ...]

    @property
    def results(self) -> list[Result]:
        return [outcome.result for outcome in self.outcomes]


class Runner:
    def __init__(
        self,
        conversations: Conversations,
        index: ChunkIndex,
        library: Library,
        *,
        book_id: str,
        options: RunOptions = RunOptions(),
    ) -> None:
        self._conversations = conversations.unrecorded()  # or authors would see their own golden questions recorded
        self._index = index
        self._library = library
        self._book_id = book_id
        self._options = options

    async def run(self, cases: Sequence[Case], tell: TellSteps = lambda done, total: None) -> Run:
        if not await self._index.view(self._book_id).count():
            raise Unreadable(f"The book {self._book_id!r} has no text.", hint="Ingest it: `quoth ingest PATH`.")
        places, stale = await place_labels(cases, self._index, self._book_id)
        lost = {label.id for label in stale}
        asked = [case for case in cases if case.id not in lost]
        free = asyncio.Semaphore(self._options.concurrency)
        done = 0

        async def one(case: Case) -> Outcome:
            nonlocal done
            async with free:
                outcome = await self._ask(case, places.get(case.id))
            done += 1
            tell(done, len(asked))
            return outcome

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(one(case)) for case in asked]
        except ExceptionGroup as failures:
            raise first_of(failures) from failures
        return Run(tuple(task.result() for task in tasks), stale)

    async def _ask(self, case: Case, place: Place | None) -> Outcome:
        session = str(uuid.uuid4())
        try:
            if case.first is not None:
                await self._conversations.answer(self._question(case.first, session, case))
            evidence, answer = await self._followed(self._question(case.question, session, case))
        finally:
            await self._forget(session)
        if answer.mode == "retrieval_only":
            raise Outage(
                f"The language model did not answer `{case.id}`: {answer.fallback_message}",
                hint="Without its model the run is worthless. Try again, or run without a model.",
            )
        ranks = await self._right_ranks(case, place, answer, evidence)
        return Outcome(case, result_of(case, place, answer, evidence, ranks), evidence)

    async def _followed(self, question: Question) -> tuple[Evidence, Answer]:
        evidence: Evidence | None = None
        answer: Answer | None = None
        async for event in self._conversations.ask(question):
            if isinstance(event, Retrieved):
                evidence = evidence or event.evidence
            elif isinstance(event, Done):
                answer = event.answer
        assert evidence is not None, "the stream of an answer tells what was retrieved"
        assert answer is not None, "and ends with Done"
        return evidence, answer

    def _question(self, query: str, session: str, case: Case) -> Question:
        return Question(
            query=query,
            book_id=self._book_id,
            session_id=session,
            request_id=str(uuid.uuid4()),
            selected_text=case.selected_text,
            filters=case.filters,
            top_k=self._options.top_k,
            similarity_threshold=self._options.similarity_threshold,
        )

    async def _right_ranks(
        self, case: Case, place: Place | None, answer: Answer, evidence: Evidence
    ) -> tuple[int, ...]:
        """Ranks of right passages in the first ten: those behind the answer, then more from a longer search."""
        if place is None or case.selected_text is not None:
            return ()
        search = Search(text=answer.searched_query, book_id=self._book_id, filters=case.filters, limit=DEPTH)
        deeper, _ = await self._conversations.search(search)
        passages = {passage.chunk.id: passage for passage in (*evidence.passages, *deeper.passages)}
        ranked = list(passages.values())[:DEPTH]
        return tuple(rank for rank, passage in enumerate(ranked, 1) if place.held_by(passage))

    async def _forget(self, session: str) -> None:
        try:
            await self._library.delete_conversation(session)
        except SessionNotFound:
            return  # it failed before anything was stored


def result_of(case: Case, place: Place | None, answer: Answer, evidence: Evidence, ranks: tuple[int, ...]) -> Result:
    answered = answer.verdict.should_answer
    citations = answer.citations if answered else ()
    return Result(
        id=case.id,
        kind=case.kind,
        question=case.question,
        searched=answer.searched_query,
        page=case.label.page if case.label else "",
        quote=case.label.quote if case.label else "",
        answerable=case.label is not None,
        answered=answered,
        mode=answer.mode,
        confidence=answer.verdict.confidence,
        level=answer.verdict.level,
        searches=case.selected_text is None,
        seen=len(evidence.passages),
        right_ranks=ranks,
        right_passages=len(place.texts) if place else 0,
        quote_recall=place.share_quoted(citations) if place else 0.0,
        citations=len(citations),
        right_citations=sum(place.opened_by(citation) for citation in citations) if place else 0,
        sentences=answer.grounding.total,
        supported=answer.grounding.supported,
        answer=answer.text or "",
        cited=tuple(
            f"{citation.chunk.source_file}:{line_in_file(citation.chunk, citation.start)}" for citation in citations
        ),
        total_ms=answer.query_time_ms,
        stage_ms=dict(answer.stage_ms),
        subject=case.subject,
        asks=case.asks,
        block_recall=place.share_of_block(citations) if place else None,
        gold_words=gold_words(case.label.quote, answer.text or "") if case.label and answered else 0.0,
    )


def gold_words(quote: str, answer: str) -> float:
    """The share of the label's words that are in the answer, however they are marked up."""
    wanted, said = _WORD.findall(quote.lower()), set(_WORD.findall(answer.lower()))
    return sum(word in said for word in wanted) / len(wanted) if wanted else 0.0


def first_of(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error to report: one of ours rather than a fault that followed from it."""
    leaves: list[BaseException] = []
    waiting: list[BaseException] = [failures]
    while waiting:
        failure = waiting.pop(0)
        if isinstance(failure, BaseExceptionGroup):
            waiting.extend(failure.exceptions)
        else:
            leaves.append(failure)
    return next((leaf for leaf in leaves if isinstance(leaf, QuothError)), leaves[0])
