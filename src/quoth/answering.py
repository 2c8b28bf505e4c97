"""The model's turn: question + evidence → the words of an answer, as they are written.

Comes in: a question, what was found for it, what was said before. Goes out: text as it comes, its markers numbered in
order of appearance, and at the end a `Written` that says which passages were used. The book has been searched before
the model is asked; the model may search again, within the reader's filters, a few times. What it says is never trusted:
unknown tools, wrong arguments and wider filters come back to it as a message, markers of nothing are dropped. Whether
the answer is supported is checked elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from quoth import prompts
from quoth.domain import Chunk, Evidence, Filters, Message, ModelText, ModelTurn, Passage, Question, ToolCall, Turn
from quoth.errors import InvalidFilter, ModelUnavailable, WrongUsage
from quoth.markers import Markers
from quoth.ports import ChatModel, ChunkIndex
from quoth.requests import FilterFields, parse
from quoth.retrieval import Retriever

CALLS_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class AnsweringOptions:
    rounds: int = 3  # in which the model may call tools
    tool_passages: int = 5  # of one search of its own
    neighbours: int = 2  # before and after a passage it wants to see more of


@dataclass(frozen=True, slots=True)
class Written:
    """What a model wrote. `passages` are those it used: the first is marked [1] in the text."""

    text: str
    passages: tuple[Passage, ...]
    model: str
    tokens: int
    searches: tuple[str, ...] = ()  # the queries it made itself
    complete: bool = True  # it came to an end of its own


class Answering:
    def __init__(
        self, model: ChatModel, retriever: Retriever, index: ChunkIndex, options: AnsweringOptions = AnsweringOptions()
    ) -> None:
        self._model = model
        self._retriever = retriever
        self._index = index
        self._options = options

    async def write(
        self, question: Question, evidence: Evidence, history: Sequence[Turn], *, refusal: str
    ) -> AsyncGenerator[str | Written]:
        """Words, then one `Written`. `ModelUnavailable` when there was not a single word."""
        shown = list(evidence.passages)
        work = _Work(shown, Markers(lambda number: 0 < number <= len(shown)))
        messages = prompts.opening(question, shown, history, refusal=refusal)
        try:
            for round_ in range(self._options.rounds + 1):
                may_call = round_ < self._options.rounds and question.selected_text is None
                said = len(work.raw)
                async with aclosing(self._model.reply(messages, prompts.TOOLS if may_call else ())) as events:
                    async for event in events:
                        if piece := work.take(event):
                            yield piece
                if not (may_call and work.turn.tool_calls):
                    break
                messages.append(Message("assistant", "".join(work.raw[said:]), tool_calls=work.turn.tool_calls))
                messages += [await self._called(call, question, work) for call in work.turn.tool_calls]
        except ModelUnavailable:
            if not work.text:
                raise
            yield work.written(self._model.name, complete=False)
            return
        if rest := work.end():
            yield rest
        yield work.written(self._model.name, complete=not work.turn.truncated)

    async def _called(self, call: ToolCall, question: Question, work: _Work) -> Message:
        work.calls += 1
        try:
            if work.calls > CALLS_AT_ONCE * self._options.rounds:
                raise WrongUsage("That were enough calls; answer now.")
            arguments = _arguments(call)
            if call.name == prompts.SEARCH_BOOK.name:
                found = await self._search(arguments, question, work)
            elif call.name == prompts.READ_SECTION.name:
                found = await self._neighbours(arguments, question, work)
            else:
                known = " and ".join(tool.name for tool in prompts.TOOLS)
                raise WrongUsage(f"There is no tool {call.name!r}; there are {known}.")
        except WrongUsage as error:
            return Message("tool", f"Error: {error}", tool_call_id=call.id)
        return Message("tool", work.show(found), tool_call_id=call.id)

    async def _search(self, arguments: dict[str, Any], question: Question, work: _Work) -> list[Passage]:
        query = arguments.get("query")
        if not isinstance(query, str) or not query.strip():
            raise WrongUsage("`query` must be a text of at least one character.")
        top_k = arguments.get("top_k", self._options.tool_passages)
        if not isinstance(top_k, int) or isinstance(top_k, bool):
            raise WrongUsage("`top_k` must be a whole number from 1 to 10.")
        filters = narrowed(question.filters, arguments.get("filters"))
        work.searches.append(query.strip()[:1000])
        evidence = await self._retriever.find(
            work.searches[-1], book_id=question.book_id, filters=filters, limit=max(1, min(top_k, 10))
        )
        return list(evidence.passages)

    async def _neighbours(self, arguments: dict[str, Any], question: Question, work: _Work) -> list[Passage]:
        near = work.named(str(arguments.get("chunk_id", "")))
        found: list[Chunk] = []
        for direction in ("prev_chunk_id", "next_chunk_id"):
            at: Chunk | None = near.chunk
            for _ in range(self._options.neighbours):
                wanted = getattr(at, direction)
                chunks = await self._index.chunks(question.book_id, [wanted]) if wanted else []
                at = chunks[0] if chunks else None
                if at is None:
                    break
                found.append(at)
        ordered = sorted(found, key=lambda chunk: chunk.chunk_index)
        return [Passage(chunk=chunk, score=near.score, similarity=near.similarity) for chunk in ordered]


@dataclass(slots=True)
class _Work:
    """What one answer has so far."""

    shown: list[Passage]
    markers: Markers
    turn: ModelTurn = ModelTurn()
    raw: list[str] = field(default_factory=list)
    text: str = ""
    tokens: int = 0
    calls: int = 0
    searches: list[str] = field(default_factory=list)

    def take(self, event: ModelText | ModelTurn) -> str:
        if isinstance(event, ModelTurn):
            self.turn = event
            self.tokens += event.tokens
            return ""
        self.raw.append(event.text)
        return self._given(self.markers.feed(event.text))

    def end(self) -> str:
        return self._given(self.markers.end())

    def _given(self, piece: str) -> str:
        self.text += piece
        return piece

    def named(self, chunk_id: str) -> Passage:
        """Only what it was shown can be looked around in; models take the number for the id, and may."""
        for number, passage in enumerate(self.shown, start=1):
            if chunk_id.strip("[] ") in (str(number), passage.chunk.id):
                return passage
        raise WrongUsage(f"`chunk_id` must be the number of a passage you were given, 1 to {len(self.shown)}.")

    def show(self, found: Sequence[Passage]) -> str:
        """New passages get the next numbers; what was shown before is only named."""
        numbers = {passage.chunk.id: number for number, passage in enumerate(self.shown, start=1)}
        again = [numbers[passage.chunk.id] for passage in found if passage.chunk.id in numbers]
        new = [passage for passage in found if passage.chunk.id not in numbers]
        text = prompts.numbered(new, first=len(self.shown) + 1)
        self.shown += new
        return text + (f"\n\nFound again: {', '.join(f'[{number}]' for number in again)}" if again else "")

    def written(self, model: str, *, complete: bool) -> Written:
        return Written(
            text=self.text,
            passages=tuple(self.shown[number - 1] for number in self.markers.order),
            model=self.turn.model or model,
            tokens=self.tokens,
            searches=tuple(self.searches),
            complete=complete,
        )


def _arguments(call: ToolCall) -> dict[str, Any]:
    try:
        found = json.loads(call.arguments or "{}")
    except ValueError as error:
        raise WrongUsage(f"The arguments of {call.name} are not JSON: {error}.") from error
    if not isinstance(found, dict):
        raise WrongUsage(f"The arguments of {call.name} must be an object.")
    return found
