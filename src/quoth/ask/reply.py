"""The reply to a question: by the language model, in the book's own sentences, or a refusal.

Decides who answers and what is said when a model fails, refuses or may not be used; what the evidence is worth is
decided in `judge`, and how a model's turn goes in `model_turn`. In: a question, what was found for it and the verdict
on it, what was said before. Out: the text in the pieces in which a reader gets it, then one `Reply`. A model that fails
is not an error here: readers get the passages instead. Knows no store and no transport.
"""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Literal

from quoth.ask import check, extract
from quoth.ask.asked import asks_nothing
from quoth.ask.check import GroundingPolicy
from quoth.ask.model_turn import ModelWriter
from quoth.ask.refusals import refusal_in
from quoth.ask.writing import drop_unsupported
from quoth.domain import (
    REFUSAL_SENTENCE,
    AnswerMode,
    Citation,
    Draft,
    Evidence,
    Grounding,
    ModelWork,
    PastTurn,
    Question,
    Reply,
    Verdict,
)
from quoth.errors import ModelUnavailable

NOT_IN_SELECTION = "I could not find that in the selected text"
ASKED_NOTHING = "Ask a question about the book: what something is, how to do it, why it is so."
MODEL_FAILED = "The language model gave no answer; these are the passages of the book that fit the question best."
MODEL_SPENT = "The language model's answers for today are used up; this is the book in its own words."
MODEL_STOPPED = "The language model broke off before its answer was complete."

_MARKED = re.compile(r"\[(\d{1,3})\]")

# Who answers: the model, the book in its own words, the book because the model's budget is spent, or nobody.
Answerer = Literal["model", "book", "book instead of the model", "nobody"]
MayUseModel = Callable[[], Awaitable[bool]]  # whether the budget of the caller allows one more answer by the model

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ReplyOptions:
    refusal: str = REFUSAL_SENTENCE
    grounding: GroundingPolicy = "mark"


@dataclass(slots=True)
class SoFar:
    """What a reader has of a reply that is still being made."""

    said: list[str] = field(default_factory=list)
    draft: Callable[[], Draft] = lambda: Draft("", ())  # with the citations of its markers
    work: Callable[[], ModelWork] = ModelWork  # of the model, so far


class Replies:
    def __init__(
        self, options: ReplyOptions, writer: ModelWriter | None, may_use_model: MayUseModel | None = None
    ) -> None:
        """Without `writer` there is no language model, and the book answers in its own sentences."""
        self._options = options
        self._writer = writer
        self._may_use_model = may_use_model

    async def answerer(self, verdict: Verdict) -> Answerer:
        """A model reads the passages itself, so only what is plainly outside the book is refused before it is asked.
        The book's own sentences need evidence that is worth quoting."""
        by_the_book: Answerer = "book" if verdict.should_answer else "nobody"
        if self._writer is None or verdict.outside:
            return by_the_book
        if self._may_use_model is not None and not await self._may_use_model():
            return "book instead of the model" if verdict.should_answer else "nobody"
        return "model"

    async def reply(
        self,
        by: Answerer,
        question: Question,
        evidence: Evidence,
        history: Sequence[PastTurn],
        so_far: SoFar,
        *,
        whole: bool,
    ) -> AsyncGenerator[str | Reply]:
        """Pieces that together are the answer; then the reply. With `whole` it is read only when it is complete."""
        if by == "model" and self._writer is not None:
            pieces = self._by_the_model(self._writer, question, evidence, history, so_far, whole=whole)
        else:
            spent = MODEL_SPENT if by == "book instead of the model" else ""
            pieces = self._by_the_book(question, evidence, so_far, fallback_message=spent)
        async with aclosing(pieces):
            async for piece in pieces:
                if isinstance(piece, str):
                    so_far.said.append(piece)
                yield piece

    def refuse(self, question: Question) -> Reply:
        """What is said without asking the model, because the verdict says no."""
        note = ASKED_NOTHING if question.selected_text is None and asks_nothing(question.query) else ""
        return Reply(Draft(self.refusal(question), ()), Grounding(), _mode(question, "no_results"), note)

    def broken_off(self, question: Question, by: Answerer, so_far: SoFar) -> Reply:
        """What was said so far, as a reply that will not be finished."""
        text, work = "".join(so_far.said), so_far.work()
        marked = {int(number) for number in _MARKED.findall(text)}
        draft = so_far.draft()
        citations = tuple(one for one in draft.citations if one.index in marked)
        mode: AnswerMode = "no_results"
        if by != "nobody":
            mode = "full" if work.model else "extractive"
        return Reply(
            Draft(text, citations),
            check.check(text, citations, question.query) if text else Grounding(),
            _mode(question, mode),
            # A model might have added something; the book's own sentences are complete when all of them have been said.
            complete=not work.model and text == draft.text != "",
            work=work,
        )

    def refusal(self, question: Question) -> str:
        return NOT_IN_SELECTION if question.selected_text is not None else self._options.refusal

    async def _by_the_book(
        self, question: Question, evidence: Evidence, so_far: SoFar, *, fallback_message: str = ""
    ) -> AsyncGenerator[str | Reply]:
        draft, removed = extract.draft(question.query, evidence), 0
        note = fallback_message or draft.note
        if self._options.grounding == "strict":  # before a word of it is shown
            draft, removed = drop_unsupported(draft, question.query)
        grounding = replace(check.check(draft.text, draft.citations, question.query), removed=removed)
        so_far.draft = lambda: draft
        for line in draft.text.splitlines(keepends=True):
            yield line
        yield Reply(draft, grounding, _mode(question, "extractive"), note)

    async def _by_the_model(
        self,
        writer: ModelWriter,
        question: Question,
        evidence: Evidence,
        history: Sequence[PastTurn],
        so_far: SoFar,
        *,
        whole: bool,
    ) -> AsyncGenerator[str | Reply]:
        refusal, policy = self.refusal(question), self._options.grounding
        answer = writer.begin(question, evidence, policy, refusal=refusal, whole=whole)
        so_far.draft, so_far.work = answer.draft, lambda: answer.work
        try:
            async with aclosing(writer.write(answer, history)) as pieces:
                async for piece in pieces:
                    yield piece if isinstance(piece, str) else self._finish(question, piece)
            return
        except ModelUnavailable as error:
            logger.warning("the language model failed: %s", error)
        spent = replace(answer.work, model="")  # the answer is not the model's, but its tokens were spent
        yield Reply(Draft("", _cite_whole(evidence)), Grounding(), "retrieval_only", MODEL_FAILED, work=spent)

    def _finish(self, question: Question, reply: Reply) -> Reply:
        """A model that only says that it cannot answer has refused, whatever its words."""
        stopped = "" if reply.complete else MODEL_STOPPED
        refusal = refusal_in(reply.draft.text, self.refusal(question), REFUSAL_SENTENCE, NOT_IN_SELECTION)
        if refusal != "whole":
            return replace(reply, mode=_mode(question, "full"), fallback_message=stopped, refusal=refusal)
        uncited = Draft(reply.draft.text, ())
        mode = _mode(question, "no_results")
        return replace(
            reply, draft=uncited, grounding=Grounding(), mode=mode, fallback_message=stopped, refusal=refusal
        )


def _mode(question: Question, mode: AnswerMode) -> AnswerMode:
    return mode if question.selected_text is None else "selected_text"


def _cite_whole(evidence: Evidence) -> tuple[Citation, ...]:
    """The passages themselves, for an answer that could not be written."""
    return tuple(
        Citation(number, passage.chunk, passage.chunk.text, passage.chunk.start, passage.chunk.end, passage.similarity)
        for number, passage in enumerate(evidence.passages, start=1)
    )
