"""The model's turn: question + evidence → the words of an answer, as they are written.

Comes in: a question, what was found for it, what was said before. Goes out: text as it comes, and at the end one
`Written` with its citations, checked. The book has been searched before the model is asked; the model may search again,
a few times, within the reader's book and filters. What it says is never trusted: unknown tools and wrong arguments come
back to it as a message, and whether a sentence is supported is decided by `grounding`, not by the model.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from quoth.ask import prompts
from quoth.ask.check import GroundingPolicy, Writing
from quoth.ask.find import Retriever
from quoth.ask.spans import SILENT, Spans
from quoth.ask.tools import SearchBook
from quoth.domain import (
    Chunk,
    Draft,
    Evidence,
    Grounding,
    Message,
    ModelText,
    ModelTurn,
    ModelWork,
    Passage,
    PastTurn,
    Question,
    Tool,
    ToolCall,
    passes,
)
from quoth.errors import ModelUnavailable, WrongUsage
from quoth.ports import ChatModel, ChunkIndex, Library


@dataclass(frozen=True, slots=True)
class AnsweringOptions:
    rounds: int = 3  # in which the model may call tools
    calls: int = 4  # of one round that are done
    neighbours: int = 2  # before and after a passage it wants to see more of
    grounding: GroundingPolicy = "mark"


@dataclass(frozen=True, slots=True)
class Written:
    """What a model wrote, its citations in order of appearance, each sentence checked."""

    draft: Draft
    grounding: Grounding
    model: str
    tokens: int
    searches: tuple[str, ...] = ()  # the queries it made itself
    complete: bool = True  # it came to an end of its own
    work: ModelWork = ModelWork()


class Answering:
    def __init__(
        self,
        model: ChatModel,
        retriever: Retriever,
        index: ChunkIndex,
        library: Library,
        options: AnsweringOptions = AnsweringOptions(),
        spans: Spans = SILENT,
    ) -> None:
        self._model = model
        self._retriever = retriever
        self._index = index
        self._library = library
        self._options = options
        self._spans = spans

    @property
    def model(self) -> ChatModel:
        return self._model

    def begin(self, question: Question, evidence: Evidence) -> Work:
        writing = Writing(evidence.passages, question.query, self._options.grounding)
        return Work(question, list(evidence.passages), writing)

    async def write(self, work: Work, history: Sequence[PastTurn], *, refusal: str) -> AsyncGenerator[str | Written]:
        """Words, then one `Written`. `ModelUnavailable` when not a single word could be had."""
        question = work.question
        messages = prompts.opening(question, work.shown, history, refusal=refusal)
        try:
            for rounds_left in range(self._options.rounds, -1, -1):
                tools = TOOLS if rounds_left and question.selected_text is None else ()
                said = len(work.said)
                async with aclosing(self._model.reply(messages, tools)) as events:
                    async for event in events:
                        if piece := work.take(event):
                            yield piece
                if not tools or not work.turn.tool_calls:
                    break
                messages.append(Message("assistant", "".join(work.said[said:]), tool_calls=work.turn.tool_calls))
                messages += [await self._done(at, call, question, work) for at, call in enumerate(work.turn.tool_calls)]
        except ModelUnavailable:
            if not work.given:
                raise
            work.cut_off = True
        if rest := work.finish():
            yield rest
        yield work.written(self._model.name)

    async def _done(self, at: int, call: ToolCall, question: Question, work: Work) -> Message:
        with self._spans.tool(call.name, call.id):
            return await self._called(at, call, question, work)

    async def _called(self, at: int, call: ToolCall, question: Question, work: Work) -> Message:
        try:
            if at >= self._options.calls:
                raise WrongUsage(f"At most {self._options.calls} calls at once.")
            arguments = _arguments(call)
            if call.name == SEARCH_BOOK.name:
                found = await self._search(arguments, question, work)
            elif call.name == prompts.READ_SECTION.name:
                found = await self._around(work.named(arguments.get("chunk_id")), question)
            else:
                raise WrongUsage(
                    f"There is no tool {call.name!r}.", hint=f"There are {', '.join(t.name for t in TOOLS)}."
                )
        except WrongUsage as error:
            return Message("tool", f"Error: {error}", tool_call_id=call.id)
        return Message("tool", work.show(found), tool_call_id=call.id)

    async def _search(self, arguments: dict[str, Any], question: Question, work: Work) -> Sequence[Passage]:
        search = SearchBook(self._retriever, await self._library.book(question.book_id), question.filters)
        evidence = await search(arguments)
        work.searches.append(evidence.query)
        return evidence.passages

    async def _around(self, near: Passage, question: Question) -> list[Passage]:
        """What stands before and after it, as far as the reader's filters let it."""
        found: list[Chunk] = []
        for direction in ("prev_chunk_id", "next_chunk_id"):
            at = near.chunk
            for _ in range(self._options.neighbours):
                wanted = getattr(at, direction)
                chunks = await self._index.chunks(question.book_id, [wanted]) if wanted else []
                if not chunks or not passes(chunks[0], question.filters):
                    break
                at = chunks[0]
                found.append(at)
        ordered = sorted(found, key=lambda chunk: chunk.chunk_index)
        return [Passage(chunk=chunk, score=near.score, similarity=near.similarity) for chunk in ordered]


@dataclass(slots=True)
class Work:
    """What one answer has so far."""

    question: Question
    shown: list[Passage]
    writing: Writing
    turn: ModelTurn = ModelTurn()
    said: list[str] = field(default_factory=list)  # by the model
    given: bool = False  # a word to the reader
    cut_off: bool = False
    tokens: int = 0
    searches: list[str] = field(default_factory=list)
    work: ModelWork = ModelWork()

    def take(self, event: ModelText | ModelTurn) -> str:
        if isinstance(event, ModelTurn):
            self.turn = event
            self.tokens += event.tokens
            done = self.work
            self.work = ModelWork(
                done.rounds + 1, done.tools + event.tool_calls, done.prompt_tokens + event.prompt_tokens
            )
            return ""
        self.said.append(event.text)
        return self._give(self.writing.feed(event.text))

    def finish(self) -> str:
        return self._give(self.writing.finish())

    def _give(self, piece: str) -> str:
        self.given = self.given or bool(piece)
        return piece

    def named(self, chunk_id: object) -> Passage:
        """Only what it was shown can be looked around in; models take the number for the id, and may."""
        wanted = str(chunk_id).strip("[] ")
        for number, passage in enumerate(self.shown, start=1):
            if wanted in (str(number), passage.chunk.id):
                return passage
        raise WrongUsage(f"`chunk_id` must be the number of a passage you were given, 1 to {len(self.shown)}.")

    def show(self, found: Sequence[Passage]) -> str:
        """New passages get the next numbers; those shown before are only named."""
        numbers = {passage.chunk.id: number for number, passage in enumerate(self.shown, start=1)}
        again = [f"[{numbers[passage.chunk.id]}]" for passage in found if passage.chunk.id in numbers]
        new = [passage for passage in found if passage.chunk.id not in numbers]
        text = prompts.numbered(new, first=len(self.shown) + 1)
        self.shown += new
        self.writing.add(new)
        return text + (f"\n\nFound again: {', '.join(again)}" if again else "")

    def draft(self) -> Draft:
        """What was given until now, with its citations."""
        return self.writing.settled()[0]

    def written(self, model: str) -> Written:
        draft, grounding = self.writing.settled()
        return Written(
            draft=draft,
            grounding=grounding,
            model=self.turn.model or model,
            tokens=self.tokens,
            searches=tuple(self.searches),
            complete=not (self.cut_off or self.turn.truncated),
            work=self.work,
        )


SEARCH_BOOK = Tool(SearchBook.name, SearchBook.description, SearchBook.parameters())
TOOLS = (SEARCH_BOOK, prompts.READ_SECTION)


def _arguments(call: ToolCall) -> dict[str, Any]:
    try:
        found = json.loads(call.arguments or "{}")
    except ValueError as error:
        raise WrongUsage(f"The arguments of {call.name} are not JSON: {error}.") from error
    if not isinstance(found, dict):
        raise WrongUsage(f"The arguments of {call.name} must be an object.")
    return found
