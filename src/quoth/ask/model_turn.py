"""The model's turn: question + evidence → the words of an answer, as a model writes them.

Decides what the model is shown, what it may do and when its turn ends; what a reader may see of its words is decided in
`writing`, and what is said when it fails in `reply`. In: a question, what was found for it, what was said before. Out:
text as it comes, and at the end one `Reply` with its citations, checked. The book has been searched before the model is
asked. The model may search again, a few times, within the reader's book and filters. It is never trusted: unknown tools
and wrong arguments come back to it as a message.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

from quoth.ask import prompts
from quoth.ask.check import GroundingPolicy
from quoth.ask.find import Retriever
from quoth.ask.spans import SILENT, Spans
from quoth.ask.tools import SearchBook, format_tool_error, format_tool_response
from quoth.ask.writing import Writing
from quoth.domain import (
    Chunk,
    Draft,
    Evidence,
    Message,
    ModelText,
    ModelTurn,
    ModelWork,
    Passage,
    PastTurn,
    Question,
    Reply,
    Tool,
    ToolCall,
    ToolUse,
    passes,
)
from quoth.errors import ModelUnavailable, WrongUsage
from quoth.ports import ChatModel, ChunkIndex, Library, Reader

# A turn has to end: a model that only searches would never answer, and each round costs another call.
_ROUNDS = 3  # rounds in which the model may call tools
_CALLS = 4  # calls that are carried out in one round
_NEIGHBOURS = 2  # passages shown on each side of the one that the model asks about

_SEARCH_BOOK = Tool(SearchBook.name, SearchBook.description, SearchBook.parameters())
TOOLS = (_SEARCH_BOOK, prompts.READ_SECTION)

logger = logging.getLogger(__name__)


class ModelWriter:
    """Lets a language model write the answer to a question."""

    def __init__(
        self,
        model: ChatModel,
        retriever: Retriever,
        index: ChunkIndex,
        library: Library,
        spans: Spans = SILENT,
        *,
        reader: Reader | None = None,
    ) -> None:
        """With a `reader`, sentences of which words alone leave a doubt are read beside their sources."""
        self._model = model
        self._reader = reader
        self._retriever = retriever
        self._index = index
        self._library = library
        self._spans = spans

    @property
    def model(self) -> ChatModel:
        return self._model

    def begin(
        self, question: Question, evidence: Evidence, policy: GroundingPolicy, *, refusal: str, whole: bool
    ) -> AnswerInProgress:
        """With `whole` the answer is read only when it is complete: its words come at the end, or not at all."""
        writing = Writing(evidence.passages, question.query, policy, refusal=refusal, whole=whole)
        work = ModelWork(model=self._model.name)
        return AnswerInProgress(question, evidence.asked, refusal, list(evidence.passages), writing, work)

    async def write(self, answer: AnswerInProgress, history: Sequence[PastTurn]) -> AsyncGenerator[str | Reply]:
        """Words, then one `Reply`. `ModelUnavailable` when the model failed before it had said anything. What it said
        before it broke off is kept, whether the reader has seen it already or not."""
        messages = prompts.opening(
            answer.question, answer.passages, history, searched=answer.searched, refusal=answer.refusal
        )
        try:
            for rounds_left in range(_ROUNDS, -1, -1):
                tools = TOOLS if rounds_left and answer.question.selected_text is None else ()
                answer.begin_round()
                async with aclosing(self._model.reply(messages, tools)) as events:
                    async for event in events:
                        if isinstance(event, ModelText):
                            await answer.writing.look_ahead(event.text, self._reader)
                        if piece := answer.take(event):
                            yield piece
                if not tools or not answer.turn.tool_calls:
                    break
                messages += await self._call_tools(answer)
        except ModelUnavailable as error:
            answer.cut_off = error
        await answer.writing.look_ahead("", self._reader, last=True)
        rest = answer.writing.finish()
        if not answer.complete and not answer.writing.begun and answer.refusal.startswith(rest.strip(" \n.")):
            limit = ModelUnavailable("The model was cut off by a limit before it had said anything.")
            raise answer.cut_off or limit
        if not answer.complete:
            logger.warning(
                "an answer is kept although it is incomplete: %s", answer.cut_off or "a limit of the model was reached"
            )
        if rest:
            yield rest
        await answer.writing.settle(self._reader)
        yield answer.reply()

    async def _call_tools(self, answer: AnswerInProgress) -> list[Message]:
        """What the model said in this round, and the results of its calls."""
        calls = answer.turn.tool_calls
        said = Message("assistant", "".join(answer.said), tool_calls=calls)
        return [said, *[await self._tool_result(at, call, answer) for at, call in enumerate(calls)]]

    async def _tool_result(self, at: int, call: ToolCall, answer: AnswerInProgress) -> Message:
        with self._spans.tool(call.name, call.id):
            query = ""
            try:
                arguments = _arguments(call)
                query = str(arguments.get("query", ""))
                found = await self._call(at, call.name, arguments, answer)
            except WrongUsage as error:
                said = Message("tool", format_tool_error(str(error), query), tool_call_id=call.id)
                answer.note(ToolUse(call, query, 0, 0.0, said.timestamp, str(error)))
                return said
            said = Message("tool", answer.show(found, query), tool_call_id=call.id)
            average = sum(passage.similarity for passage in found) / len(found) if found else 0.0
            answer.note(ToolUse(call, query, len(found), average, said.timestamp))
            return said

    async def _call(self, at: int, name: str, arguments: dict[str, Any], answer: AnswerInProgress) -> Sequence[Passage]:
        if at >= _CALLS:
            raise WrongUsage(f"At most {_CALLS} calls at once.")
        if name in SearchBook.names:
            return await self._search(arguments, answer.question)
        if name == prompts.READ_SECTION.name:
            return await self._around(answer.passage(arguments.get("chunk_id")), answer.question)
        raise WrongUsage(f"There is no tool {name!r}.", hint=f"There are {', '.join(t.name for t in TOOLS)}.")

    async def _search(self, arguments: dict[str, Any], question: Question) -> Sequence[Passage]:
        book = await self._library.book(question.book_id)
        search = SearchBook(self._retriever, book, question.filters, question.similarity_threshold)
        return (await search(arguments)).passages

    async def _around(self, near: Passage, question: Question) -> list[Passage]:
        """The passages before and after it that pass the reader's filters."""
        found: list[Chunk] = []
        view = self._index.view(question.book_id)
        for direction in ("prev_chunk_id", "next_chunk_id"):
            at = near.chunk
            for _ in range(_NEIGHBOURS):
                wanted = getattr(at, direction)
                chunks = await view.chunks([wanted]) if wanted else []
                if not chunks or not passes(chunks[0], question.filters):
                    break
                at = chunks[0]
                found.append(at)
        ordered = sorted(found, key=lambda chunk: chunk.chunk_index)
        return [Passage(chunk=chunk, score=near.score, similarity=near.similarity) for chunk in ordered]


@dataclass(slots=True)
class AnswerInProgress:
    """What one answer of a model has so far."""

    question: Question
    searched: str  # the query that found the first passages
    refusal: str  # the words with which it may refuse
    passages: list[Passage]  # shown to the model, in the order of their numbers
    writing: Writing
    work: ModelWork
    turn: ModelTurn = ModelTurn()  # the end of the last call
    said: list[str] = field(default_factory=list)  # by the model, in this round
    cut_off: ModelUnavailable | None = None  # why it failed in the middle

    @property
    def complete(self) -> bool:
        return not (self.cut_off or self.turn.truncated)

    def begin_round(self) -> None:
        self.said = []

    def take(self, event: ModelText | ModelTurn) -> str:
        """What the reader may see of it."""
        if isinstance(event, ModelText):
            self.said.append(event.text)
            return self.writing.feed(event.text)
        done, self.turn = self.work, event
        self.work = ModelWork(
            model=event.model or done.model,
            rounds=done.rounds + 1,
            tools=done.tools + event.tool_calls,
            tokens=done.tokens + event.tokens,
            prompt_tokens=done.prompt_tokens + event.prompt_tokens,
            searches=done.searches,
            retrieved=done.retrieved,
        )
        return ""

    def note(self, use: ToolUse) -> None:
        self.work = replace(self.work, searches=(*self.work.searches, use))

    def passage(self, chunk_id: object) -> Passage:
        """A model may look only around a passage that it was shown. Models give the number instead of the id, and
        may."""
        wanted = str(chunk_id).strip("[] ")
        for number, passage in enumerate(self.passages, start=1):
            if wanted in (str(number), passage.chunk.id):
                return passage
        raise WrongUsage(f"`chunk_id` must be the rank of a passage you were given, 1 to {len(self.passages)}.")

    def show(self, found: Sequence[Passage], query: str) -> str:
        """New passages get the next numbers; for those shown before only the number is repeated. So a rank is a number
        to cite, whichever search it came from."""
        ranks = {passage.chunk.id: number for number, passage in enumerate(self.passages, start=1)}
        known = frozenset(ranks)
        new = [passage for passage in found if passage.chunk.id not in known]
        ranks |= {passage.chunk.id: number for number, passage in enumerate(new, start=len(self.passages) + 1)}
        self.passages += new
        self.writing.add(new)
        self.work = replace(self.work, retrieved=self.work.retrieved + len(new))
        return format_tool_response(found, query, ranks=[ranks[passage.chunk.id] for passage in found], known=known)

    def draft(self) -> Draft:
        """What the reader has seen, with its citations."""
        return self.writing.so_far()[0]

    def reply(self) -> Reply:
        draft, grounding = self.writing.so_far()
        return Reply(draft, grounding, "full", complete=self.complete, work=self.work)


def _arguments(call: ToolCall) -> dict[str, Any]:
    try:
        found = json.loads(call.arguments or "{}")
    except ValueError as error:
        raise WrongUsage(f"The arguments of {call.name} are not JSON: {error}.") from error
    if not isinstance(found, dict):
        raise WrongUsage(f"The arguments of {call.name} must be an object.")
    return found
