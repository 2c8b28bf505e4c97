"""Spans for OpenTelemetry, named by its conventions for generative AI. The extra `telemetry`.

In: what the pipelines report through `quoth.ask.spans`. Out: spans, sent in the background over OTLP (HTTP) to a
collector. The convention is still in development; this is semantic-conventions 0.66. Texts are never sent.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing, contextmanager
from dataclasses import dataclass
from typing import TypeVar

from opentelemetry import trace
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as ai
from opentelemetry.semconv.attributes import error_attributes, http_attributes
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from quoth.ask.prompts import READ_SECTION
from quoth.ask.spans import RequestSpan
from quoth.ask.tools import SearchBook
from quoth.domain import Answer, AnswerEvent, Done, Message, ModelEvent, ModelText, ModelTurn, Question, Tool
from quoth.domain.versions import __version__
from quoth.errors import ModelUnavailable, QuothError
from quoth.ports import ChatModel

T = TypeVar("T")
Facts = Mapping[str, str | int | bool]

AGENT = "quoth"
FLUSH_SECONDS = 2.0  # to send the last spans when the program ends
# A model may ask for a tool that does not exist; a name it made up must not become the name of a span.
TOOLS = SearchBook.names | {READ_SECTION.name}


def telemetry_for(endpoint: str) -> Telemetry:
    """Spans for this collector. OpenTelemetry's own variables set headers, sampling and so on."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    ours = Resource({SERVICE_NAME: AGENT, SERVICE_VERSION: __version__})
    provider = TracerProvider(resource=ours.merge(OTELResourceDetector().detect()), shutdown_on_exit=False)
    exporter = OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces")
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return Telemetry(provider, give_up=exporter.shutdown)


class Telemetry:
    """`quoth.ask.spans.Spans`."""

    def __init__(self, provider: TracerProvider, *, give_up: Callable[[], None] = lambda: None) -> None:
        self._provider = provider
        self._give_up = give_up  # stops trying to reach the collector
        self._tracer = provider.get_tracer("quoth", __version__)
        self._propagator = TraceContextTextMapPropagator()

    @contextmanager
    def request(self, method: str, parent: str) -> Iterator[RequestSpan]:
        context = self._propagator.extract({"traceparent": parent}) if parent else None
        attributes = {http_attributes.HTTP_REQUEST_METHOD: method}
        span = self._tracer.start_span(method, context, SpanKind.SERVER, attributes)
        with _ending(span), _current(span):
            yield _Request(span, method)

    async def answer(self, question: Question, events: AsyncGenerator[AnswerEvent]) -> AsyncGenerator[AnswerEvent]:
        attributes = {
            ai.GEN_AI_OPERATION_NAME: "invoke_agent",
            ai.GEN_AI_AGENT_NAME: AGENT,
            ai.GEN_AI_AGENT_VERSION: __version__,
            ai.GEN_AI_CONVERSATION_ID: question.session_id,
            ai.GEN_AI_DATA_SOURCE_ID: question.book_id,
            "quoth.request_id": question.request_id,
        }
        span = self._tracer.start_span(f"invoke_agent {AGENT}", kind=SpanKind.INTERNAL, attributes=attributes)
        with _ending(span):
            async with aclosing(_within(span, events)) as passing:
                async for event in passing:
                    if isinstance(event, Done):
                        _describe(span, event.answer)
                        span.end()  # once they have the answer, readers may leave the rest of the stream unread
                    yield event

    def model(self, model: ChatModel) -> ChatModel:
        return _TracedModel(model, self._tracer)

    def retrieval(self, book_id: str, limit: int) -> AbstractContextManager[None]:
        facts: Facts = {ai.GEN_AI_DATA_SOURCE_ID: book_id, ai.GEN_AI_REQUEST_TOP_K: limit}
        return self._part("retrieval", book_id, facts)

    def embedding(self, embedder: str, dimensions: int) -> AbstractContextManager[None]:
        facts: Facts = {ai.GEN_AI_REQUEST_MODEL: embedder, ai.GEN_AI_EMBEDDINGS_DIMENSION_COUNT: dimensions}
        return self._part("embeddings", embedder, facts)

    def tool(self, name: str, call_id: str) -> AbstractContextManager[None]:
        known = name if name in TOOLS else "unknown"
        facts: Facts = {
            ai.GEN_AI_TOOL_NAME: known,
            ai.GEN_AI_TOOL_TYPE: "datastore",
            ai.GEN_AI_TOOL_CALL_ID: call_id[:64],
        }
        return self._part("execute_tool", known, facts)

    @contextmanager
    def _part(self, operation: str, of: str, facts: Facts) -> Iterator[None]:
        named: Facts = {ai.GEN_AI_OPERATION_NAME: operation, **facts}
        with _ending(self._tracer.start_span(f"{operation} {of}", attributes=named)) as span, _current(span):
            yield

    async def close(self) -> None:
        sending = asyncio.create_task(asyncio.to_thread(self._provider.force_flush))
        done, _ = await asyncio.wait([sending], timeout=FLUSH_SECONDS)
        if not done:
            self._give_up()
        await sending
        await asyncio.to_thread(self._provider.shutdown)


@dataclass(frozen=True, slots=True)
class _Request:
    span: Span
    method: str

    def end(self, door: str, status: int) -> None:
        self.span.update_name(f"{self.method} {door}")
        self.span.set_attributes({http_attributes.HTTP_ROUTE: door, http_attributes.HTTP_RESPONSE_STATUS_CODE: status})
        if status >= 500:
            self.span.set_status(StatusCode.ERROR)
            self.span.set_attribute(error_attributes.ERROR_TYPE, str(status))


class _TracedModel:
    """`ports.ChatModel`: another model, with a span for each call."""

    def __init__(self, model: ChatModel, tracer: trace.Tracer) -> None:
        self._model = model
        self._tracer = tracer

    @property
    def name(self) -> str:
        return self._model.name

    async def reply(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> AsyncGenerator[ModelEvent]:
        attributes: Facts = {
            ai.GEN_AI_OPERATION_NAME: "chat",
            ai.GEN_AI_PROVIDER_NAME: "openai",  # the protocol; we do not know which server speaks it
            ai.GEN_AI_REQUEST_MODEL: self.name,
            ai.GEN_AI_REQUEST_STREAM: True,
        }
        span = self._tracer.start_span(f"chat {self.name}", kind=SpanKind.CLIENT, attributes=attributes)
        began, spoke = time.perf_counter(), False
        with _ending(span):
            async with aclosing(_within(span, self._model.reply(messages, tools))) as events:
                async for event in events:
                    if isinstance(event, ModelText) and not spoke:
                        spoke = True
                        span.set_attribute(ai.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK, time.perf_counter() - began)
                    elif isinstance(event, ModelTurn):
                        span.set_attributes(_usage(event))
                    yield event

    async def check(self, tools: Sequence[Tool] = ()) -> str:
        return await self._model.check(tools)

    async def fault(self) -> ModelUnavailable | None:
        return await self._model.fault()

    async def close(self) -> None:
        await self._model.close()


async def _within(span: Span, events: AsyncGenerator[T]) -> AsyncGenerator[T]:
    """Each step of the work belongs to the span. Between two steps the reader's code runs and must not find the span in
    its context, so the span is entered and left with each step."""
    async with aclosing(events):
        while True:
            with _current(span):
                try:
                    event = await anext(events)
                except StopAsyncIteration:
                    return
            yield event


def _current(span: Span) -> AbstractContextManager[Span]:
    return trace.use_span(span, record_exception=False, set_status_on_exception=False)


@contextmanager
def _ending(span: Span) -> Iterator[Span]:
    """A fault is named by its code: its message may repeat a reader's words."""
    try:
        yield span
    except QuothError as error:
        span.set_status(Status(StatusCode.ERROR, error.code))
        span.set_attribute(error_attributes.ERROR_TYPE, error.code)
        raise
    finally:
        if span.is_recording():
            span.end()


def _describe(span: Span, answer: Answer) -> None:
    span.set_attributes(
        {
            "quoth.mode": answer.mode,
            "quoth.confidence": round(answer.verdict.confidence, 4),
            "quoth.confidence_level": answer.verdict.level,
            "quoth.citations": len(answer.citations),
        }
    )
    if answer.model:
        span.set_attributes(
            {
                ai.GEN_AI_RESPONSE_MODEL: answer.model,
                ai.GEN_AI_USAGE_INPUT_TOKENS: answer.work.prompt_tokens,
                ai.GEN_AI_USAGE_OUTPUT_TOKENS: max(0, answer.tokens_used - answer.work.prompt_tokens),
            }
        )


def _usage(turn: ModelTurn) -> dict[str, str | int | list[str]]:
    reason = "length" if turn.truncated else "tool_calls" if turn.tool_calls else "stop"
    return {
        ai.GEN_AI_RESPONSE_MODEL: turn.model,
        ai.GEN_AI_RESPONSE_FINISH_REASONS: [reason],
        ai.GEN_AI_USAGE_INPUT_TOKENS: turn.prompt_tokens,
        ai.GEN_AI_USAGE_OUTPUT_TOKENS: max(0, turn.tokens - turn.prompt_tokens),
    }
