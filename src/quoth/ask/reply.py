"""The reply to a question that may be answered: by the language model, or in the book's own sentences.

In: a question, what was found for it, what was said before. Out: the text in the pieces in which a reader gets it, then
one `Reply`: its citations, checked, and how it came about. A model that fails is not an error here: readers get the
passages instead. Knows no store and no transport.
"""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from quoth.ask import check, extract
from quoth.ask.check import GroundingPolicy
from quoth.ask.extract import ExtractiveOptions
from quoth.ask.model_turn import Answering, Written
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
    Verdict,
)
from quoth.errors import ModelUnavailable

NOT_IN_SELECTION = "I could not find that in the selected text"
MODEL_FAILED = "The language model could not be reached; these are the passages of the book that fit the question best."
MODEL_SPENT = "The language model's answers for today are used up; this is the book in its own words."
MODEL_STOPPED = "The language model broke off before its answer was complete."

_MARKED = re.compile(r"\[(\d{1,3})\]")

MayUseModel = Callable[[], Awaitable[bool]]  # whether the budget of whoever asks allows one more

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ReplyOptions:
    refusal: str = REFUSAL_SENTENCE
    extractive: ExtractiveOptions = ExtractiveOptions()
    grounding: GroundingPolicy = "mark"


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
    complete: bool = True
    work: ModelWork = ModelWork()


@dataclass(slots=True)
class SoFar:
    """What a reader has of a reply while it is being made."""

    said: list[str] = field(default_factory=list)
    written: Callable[[], Draft] = lambda: Draft("", ())  # what stands behind the markers of it
    model: str = ""


class Replying:
    def __init__(
        self, options: ReplyOptions, answering: Answering | None, may_use_model: MayUseModel | None = None
    ) -> None:
        """Without `answering` there is no language model, and the book answers in its own sentences."""
        self._options = options
        self._answering = answering
        self._may_use_model = may_use_model

    async def reply(
        self, question: Question, evidence: Evidence, history: Sequence[PastTurn], so_far: SoFar, *, whole: bool
    ) -> AsyncGenerator[str | Reply]:
        """Pieces, joined they are the answer; then the reply. With `whole` nobody reads half of it, so a model that
        breaks off is a model that failed."""
        spent = self._answering is not None and not await self._model_is_allowed()
        if self._answering is None or spent:
            reply = self._in_the_books_words(question, evidence)
            reply = replace(reply, fallback_message=MODEL_SPENT if spent else "")
            so_far.written = lambda: reply.draft
            for line in reply.draft.text.splitlines(keepends=True):
                so_far.said.append(line)
                yield line
            yield reply
            return
        # Whether a model that says the refusal means it is known when it has ended: until then nobody reads it.
        held: list[str] = []
        shown = False
        written: Written | None = None
        work = self._answering.begin(question, evidence)
        so_far.written, so_far.model = work.draft, self._answering.model.name
        try:
            async with aclosing(self._answering.write(work, history, refusal=self.refusal(question))) as words:
                async for piece in words:
                    if isinstance(piece, Written):
                        written = piece
                        continue
                    held.append(piece)
                    if not whole and (shown or not self.refusal(question).startswith("".join(held).strip(" \n."))):
                        shown = True
                        for text in held:
                            so_far.said.append(text)
                            yield text
                        held.clear()
        except ModelUnavailable as error:
            logger.warning("the language model failed: %s", error)
        if written is None or not (shown or written.complete):
            draft = Draft("", cited_whole(evidence))
            yield Reply(draft, Grounding(), mode_of(question, "retrieval_only"), MODEL_FAILED)
            return
        for text in held:
            so_far.said.append(text)
            yield text
        yield self._as_reply(question, written)

    def refusing(self, question: Question) -> Reply:
        """What is said without asking anybody, because the verdict says no."""
        return Reply(Draft(self.refusal(question), ()), Grounding(), mode_of(question, "no_results"))

    def broken_off(self, question: Question, verdict: Verdict, so_far: SoFar) -> Reply:
        """What was said, by a reply that will not be finished."""
        text = "".join(so_far.said)
        marked = {int(number) for number in _MARKED.findall(text)}
        written = so_far.written()
        citations = tuple(one for one in written.citations if one.index in marked)
        mode: AnswerMode = "no_results"
        if verdict.should_answer:
            mode = "full" if so_far.model else "extractive"
        return Reply(
            Draft(text, citations),
            check.check(text, citations, question.query) if text else Grounding(),
            mode_of(question, mode),
            model=so_far.model,
            complete=not so_far.model and text == written.text != "",  # what a model would have added nobody knows
        )

    def refusal(self, question: Question) -> str:
        return NOT_IN_SELECTION if question.selected_text is not None else self._options.refusal

    async def _model_is_allowed(self) -> bool:
        return self._may_use_model is None or await self._may_use_model()

    def _in_the_books_words(self, question: Question, evidence: Evidence) -> Reply:
        draft = extract.draft(question.query, evidence, self._options.extractive)
        if self._options.grounding == "strict":  # before a word of it is shown
            draft = check.sieved(draft, question.query)
        checked = check.check(draft.text, draft.citations, question.query)
        return Reply(draft, replace(checked, removed=draft.removed), mode_of(question, "extractive"))

    def _as_reply(self, question: Question, written: Written) -> Reply:
        refused = written.draft.text.strip().rstrip(".") == self.refusal(question).rstrip(".")
        return Reply(
            draft=written.draft if not refused else Draft(written.draft.text, ()),
            grounding=written.grounding if not refused else Grounding(),
            mode=mode_of(question, "no_results" if refused else "full"),
            fallback_message="" if written.complete else MODEL_STOPPED,
            model=written.model,
            tokens=written.tokens,
            work=written.work,
            refused=refused,
            complete=written.complete,
        )


def mode_of(question: Question, mode: AnswerMode) -> AnswerMode:
    return mode if question.selected_text is None or mode == "retrieval_only" else "selected_text"


def cited_whole(evidence: Evidence) -> tuple[Citation, ...]:
    """The passages themselves, for an answer that nobody could write."""
    return tuple(
        Citation(number, passage.chunk, passage.chunk.text, passage.chunk.start, passage.chunk.end, passage.similarity)
        for number, passage in enumerate(evidence.passages, start=1)
    )
