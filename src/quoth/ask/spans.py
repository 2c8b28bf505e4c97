"""Where the pipelines say which work begins and ends, so that an operator can follow an answer through the system.

In our own words, because nothing here may know a tracing library: `insight/telemetry.py` turns them into OpenTelemetry
spans if the operator wants that, and `SILENT`, the default, does nothing and costs nothing. A span says what it is
about (a book, a model, a tool), never what was asked or answered.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from quoth.domain import AnswerEvent, Question
from quoth.ports import ChatModel


class RequestSpan(Protocol):
    def end(self, door: str, status: int) -> None:
        """Note the route's template and the status, which are known only at the end."""


class Spans(Protocol):
    """A span lasts as long as its context is open; spans that begin inside it are its children."""

    def request(self, method: str, parent: str) -> AbstractContextManager[RequestSpan]:
        """A request to one of the doors. `parent` is its `traceparent` header, or empty."""

    def answer(self, question: Question, events: AsyncGenerator[AnswerEvent]) -> AsyncGenerator[AnswerEvent]:
        """The events of one answer, as they pass by."""

    def model(self, model: ChatModel) -> ChatModel:
        """The same model, with a span around each call."""

    def retrieval(self, book_id: str, limit: int) -> AbstractContextManager[None]: ...

    def embedding(self, embedder: str, dimensions: int) -> AbstractContextManager[None]: ...

    def tool(self, name: str, call_id: str) -> AbstractContextManager[None]: ...

    async def close(self) -> None:
        """Send the spans so far, if that takes no more than a moment."""


class _SilentRequest:
    def end(self, door: str, status: int) -> None:
        return


class _NoSpans:
    def request(self, method: str, parent: str) -> AbstractContextManager[RequestSpan]:
        return nullcontext(_SilentRequest())

    def answer(self, question: Question, events: AsyncGenerator[AnswerEvent]) -> AsyncGenerator[AnswerEvent]:
        return events

    def model(self, model: ChatModel) -> ChatModel:
        return model

    def retrieval(self, book_id: str, limit: int) -> AbstractContextManager[None]:
        return _NOTHING

    def embedding(self, embedder: str, dimensions: int) -> AbstractContextManager[None]:
        return _NOTHING

    def tool(self, name: str, call_id: str) -> AbstractContextManager[None]:
        return _NOTHING

    async def close(self) -> None:
        return


_NOTHING: AbstractContextManager[None] = nullcontext()  # it has no state, so one is enough
SILENT = _NoSpans()
